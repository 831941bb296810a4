//! How far the clock of a peer is from one's own.
//!
//! Every datagram says when it was sent, and echoes the last stamp that its sender has received, with the
//! time for which it was held. With that each arrival is an exchange of four stamps as in NTP (RFC 5905,
//! section 8): the delay of the round trip is `(t4 − t1) − (t3 − t2)`, and the clock of the peer is ahead
//! by `((t2 − t1) + (t3 − t4)) / 2`, wrong by half of the delay at most.

use slotcast_units::{Span, Time};

/// Samples of which the best is believed: those of the last eight exchanges that were good, as in NTP.
const SAMPLES: usize = 8;

/// How fast two clocks may drift apart: 15 parts per million (RFC 5905, section 7.3).
const DRIFT_PPM: u64 = 15;

/// The four stamps of one exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamps {
    /// When the echoed datagram left here, on this clock.
    pub sent: Time,
    /// How long the peer held it before it answered.
    pub held: Span,
    /// When the answer left, on the peer's clock.
    pub answered: Time,
    /// When it arrived, on this clock.
    pub received: Time,
}

#[derive(Debug, Clone, Copy)]
struct Sample {
    /// By how much the peer's clock is ahead.
    ahead: i64,
    delay: Span,
    taken: Time,
}

impl Sample {
    /// By how much it may be wrong at `now`.
    fn doubt(&self, now: Time) -> Span {
        let age = now.saturating_since(self.taken);
        self.delay / 2 + Span::from_ns(age.as_ns() / (1_000_000 / DRIFT_PPM))
    }
}

/// Estimates by how much the clock of a peer is ahead, from the exchange with the shortest round trip: it
/// has waited least in queues. Older ones are trusted less.
#[derive(Debug, Clone, Default)]
pub struct ClockOffset {
    samples: [Option<Sample>; SAMPLES],
    next: usize,
}

impl ClockOffset {
    /// Nothing is known.
    pub fn new() -> ClockOffset {
        ClockOffset::default()
    }

    /// Takes an exchange into account. One that cannot have been is left out.
    pub fn exchanged(&mut self, stamps: &Stamps) {
        let Stamps { sent, held, answered, received } = *stamps;
        let elapsed = received.saturating_since(sent);
        if received < sent || held > elapsed {
            return;
        }
        let delay = elapsed - held;
        // In the middle between leaving and arriving, the peer's clock showed the middle of its stamps.
        let ahead = difference(answered, received) + signed(delay.as_ns() / 2);
        self.samples[self.next] = Some(Sample { ahead, delay, taken: received });
        self.next = (self.next + 1) % SAMPLES;
        // A burst must not push a good sample out: it stays as long as it is the best.
        if let Some(Some(next)) = self.samples.get(self.next)
            && self.best(received).is_some_and(|best| best.taken == next.taken)
        {
            self.next = (self.next + 1) % SAMPLES;
        }
    }

    /// By how many nanoseconds the peer's clock is ahead; none before the first exchange.
    pub fn ahead(&self, now: Time) -> Option<i64> {
        self.best(now).map(|sample| sample.ahead)
    }

    /// By how much that may be wrong.
    pub fn doubt(&self, now: Time) -> Option<Span> {
        self.best(now).map(|sample| sample.doubt(now))
    }

    fn best(&self, now: Time) -> Option<Sample> {
        self.samples.iter().flatten().min_by_key(|sample| sample.doubt(now)).copied()
    }
}

fn signed(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

/// `a − b` in nanoseconds.
pub(crate) fn difference(a: Time, b: Time) -> i64 {
    signed(a.saturating_since(b).as_ns()) - signed(b.saturating_since(a).as_ns())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(ns: i64) -> Time {
        Time::from_ns(u64::try_from(ns).expect("after the start of the clock"))
    }

    const BASE: i64 = 1_000_000_000_000;

    /// One exchange with a peer whose clock is ahead by `ahead`, at `now` on this clock.
    fn exchange(now: i64, ahead: i64, there: i64, held: i64, back: i64) -> Stamps {
        Stamps {
            sent: at(now),
            held: Span::from_ns(held.unsigned_abs()),
            answered: at(now + there + held + ahead),
            received: at(now + there + held + back),
        }
    }

    proptest! {
        #[test]
        fn the_error_is_within_the_doubt(
            ahead in -900_000_000_000i64..900_000_000_000,
            drift in -15i64..=15,
            trips in proptest::collection::vec((1i64..5_000_000, 0i64..1_000_000_000, 1i64..5_000_000, 0i64..500_000_000), 1..60),
        ) {
            let mut offset = ClockOffset::new();
            let mut now = BASE;
            for (there, held, back, pause) in trips {
                let ahead_now = ahead + (now - BASE) * drift / 1_000_000;
                offset.exchanged(&exchange(now, ahead_now, there, held, back));
                now += there + held + back + pause;
                let truth = ahead + (now - BASE) * drift / 1_000_000;
                let error = offset.ahead(at(now)).unwrap() - truth;
                // The clocks drift while the peer holds a stamp, too.
                let held_drift = 15 * 1_200;
                let doubt = signed(offset.doubt(at(now)).unwrap().as_ns()) + held_drift;
                prop_assert!(error.abs() <= doubt, "off by {error}, doubt {doubt}");
            }
        }
    }

    #[test]
    fn one_quick_exchange_outweighs_many_slow_ones() {
        let mut offset = ClockOffset::new();
        offset.exchanged(&exchange(BASE, 5_000, 20_000, 100, 20_000));
        for n in 1..100 {
            // Queues on the way back only: each of these is wrong by 2 ms.
            offset.exchanged(&exchange(BASE + n * 1_000_000, 5_000, 20_000, 100, 4_020_000));
        }
        assert_eq!(offset.ahead(at(BASE + 100_000_000)), Some(5_000));
    }

    #[test]
    fn what_cannot_have_been_is_left_out() {
        let mut offset = ClockOffset::new();
        let stamps = exchange(BASE, 0, 100, 100, 100);
        offset.exchanged(&Stamps { held: Span::from_ns(301), ..stamps });
        offset.exchanged(&Stamps { received: at(BASE - 1), ..stamps });
        assert_eq!(offset.ahead(at(BASE)), None);
    }
}
