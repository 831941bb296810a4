//! How long after its offer a get is accepted.

use slotcast_units::{Span, Time};

/// An acceptance says nothing about those that come so much later.
const LASTS: Span = Span::from_secs(1);

/// The longest of late, slowly forgotten by those that are shorter, and at once by a second in which no offer
/// was accepted. Without that a target whose offers were once accepted late would offer windows so late ever
/// after that others are chosen, and would never learn better.
#[derive(Debug, Clone, Copy)]
pub(super) struct AcceptanceLag {
    /// On a network that keeps its promises.
    round_trip: Span,
    longest: Span,
    observed_at: Time,
}

impl AcceptanceLag {
    /// A round trip is expected.
    pub(super) fn new(round_trip: Span) -> AcceptanceLag {
        AcceptanceLag { round_trip, longest: round_trip, observed_at: Time::ZERO }
    }

    /// When an offer of `now` will be accepted at the latest, if it is.
    pub(super) fn expected(&self, now: Time) -> Span {
        match now.saturating_since(self.observed_at) < LASTS {
            true => self.longest,
            false => self.round_trip,
        }
    }

    /// An offer was accepted at `now`, so long after it was made.
    pub(super) fn observed(&mut self, now: Time, lag: Span) {
        let known = self.expected(now);
        self.longest = lag.max(known - known / 16);
        self.observed_at = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_is_forgotten_slowly_by_others_and_at_once_by_quiet() {
        let (at, us) = (|ms| Time::ZERO + Span::from_ms(ms), Span::from_us);
        let mut lag = AcceptanceLag::new(us(200));
        lag.observed(at(1), us(16_000));
        assert_eq!(lag.expected(at(2)), us(16_000));
        lag.observed(at(3), us(100));
        assert_eq!(lag.expected(at(4)), us(15_000));
        assert_eq!(lag.expected(at(1002)), us(15_000));
        assert_eq!(lag.expected(at(1003)), us(200));
        lag.observed(at(1004), us(300));
        assert_eq!(lag.expected(at(1004)), us(300));
    }
}
