//! How long a client waits.

use slotcast_units::{Share, Span, Time};

/// A client's timeout from the server's estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientTimeout {
    /// What the estimate is multiplied with.
    pub stretch: Share,
    /// What is added to that, beside the network's time.
    pub margin: Span,
    /// Never shorter than this.
    pub at_least: Span,
    /// Never longer than this.
    pub at_most: Span,
    /// Where nothing is known yet: the first request of a client.
    pub unknown: Span,
}

impl ClientTimeout {
    /// As Lustre has it today: 125 % and 5 s, from 5 to 600 s; 50 s while nothing is known, as in the
    /// published runs.
    pub const LUSTRE: ClientTimeout = ClientTimeout {
        stretch: Share::from_percent(125),
        margin: Span::from_secs(5),
        at_least: Span::from_secs(5),
        at_most: Span::from_secs(600),
        unknown: Span::from_secs(50),
    };

    /// As in the authors' paper: the network's time, at least 1 s, and `stretch` times the estimate.
    pub const fn published(stretch: Share) -> ClientTimeout {
        ClientTimeout { stretch, margin: Span::from_secs(1), ..ClientTimeout::LUSTRE }
    }

    /// How long to wait, with `network` for the way there and back.
    pub fn after(&self, estimate: Option<Span>, network: Span) -> Span {
        let Some(estimate) = estimate else { return self.unknown };
        let ns = u128::from(estimate.as_ns()) * u128::from(self.stretch.as_ppm()) / 1_000_000;
        let stretched =
            Time::ZERO.saturating_add(Span::from_ns(u64::try_from(ns).unwrap_or(u64::MAX)));
        let sum = stretched.saturating_add(self.margin).saturating_add(network);
        sum.saturating_since(Time::ZERO).clamp(self.at_least, self.at_most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_follow_the_estimate_within_bounds() {
        let lustre = ClientTimeout::LUSTRE;
        let network = Span::from_ms(10);
        assert_eq!(lustre.after(None, network), Span::from_secs(50));
        assert_eq!(lustre.after(Some(Span::from_secs(8)), network), Span::from_ms(15_010));
        assert_eq!(lustre.after(Some(Span::from_secs(10_000)), network), Span::from_secs(600));
        let paper = ClientTimeout::published(Share::from_percent(120));
        assert_eq!(paper.after(Some(Span::from_secs(10)), Span::ZERO), Span::from_secs(13));
        assert_eq!(paper.after(Some(Span::ZERO), Span::ZERO), Span::from_secs(5));
    }
}
