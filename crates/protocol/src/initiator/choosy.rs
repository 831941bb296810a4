//! The choosy initiator: which wait for the best bid is worth taking, and when to ask again instead.
//!
//! Source: A. Aizman, "Choosy Initiator"; rules of SURGE 2f08961. An initiator whose best bid makes
//! it wait twice as long as it is ready to, cancels all bids and asks once more a little later. It
//! is then ready to wait twice as long, so that it asks again only a few times; and each new put
//! starts from the average of what it was ready for before, so that it settles near what the cluster
//! offers.

use slotcast_units::Span;

/// How choosy an initiator is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choosy {
    /// The wait that it is ready for at first.
    pub first_patience: Span,
    /// Once it has asked again, it takes windows that overlap its own transfers, as if its link could send both
    /// at full rate. The original does so (SURGE 2f08961).
    pub overlaps: bool,
}

/// The wait that an initiator is ready for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    now: Span,
    before: Span,
}

impl Patience {
    pub(super) fn new(rule: Choosy) -> Patience {
        Patience { now: rule.first_patience, before: rule.first_patience }
    }

    /// A new put starts.
    pub(super) fn next_put(&mut self) {
        let before = self.before;
        self.before = self.now;
        self.now = (self.now + before) / 2;
    }

    /// Whether a wait of `idle` is refused; if so, after what time to ask again.
    pub(super) fn refuses(&mut self, idle: Span) -> Option<Span> {
        if idle < self.now * 2 {
            return None;
        }
        self.now = self.now * 2;
        Some(self.now / 4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_doubles_when_it_is_tried_and_comes_back_slowly() {
        let us = Span::from_us;
        let mut patience = Patience::new(Choosy { first_patience: us(20), overlaps: false });
        assert_eq!(patience.refuses(us(39)), None);
        assert_eq!(patience.refuses(us(100)), Some(us(10)));
        assert_eq!(patience.refuses(us(100)), Some(us(20)));
        assert_eq!(patience.refuses(us(100)), None, "80 us of patience take a wait below 160");
        patience.next_put();
        assert_eq!(patience.now, us(50), "the mean of 80 and 20");
        patience.next_put();
        assert_eq!(patience.now, us(65), "the mean of 50 and 80");
    }
}
