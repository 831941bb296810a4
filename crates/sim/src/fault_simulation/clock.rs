//! The clocks of nodes: each begins at another time, and is a little too fast or too slow.

use slotcast_engine::Stream;
use slotcast_units::{Span, Time};

/// What a node's clock shows, as a function of the time of the simulation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    /// When it was set, and to what.
    set_at: Time,
    shows: Time,
    /// How much too fast it is, in millionths.
    drift: i64,
}

/// A millionth.
const MILLION: i128 = 1_000_000;

impl Clock {
    /// Set at `now` to any time within some days, and wrong by up to 200 millionths.
    pub(super) fn set(now: Time, chance: &mut Stream) -> Clock {
        let days = 4 * 24 * 3600 * 1_000_000_000;
        let drift = i64::try_from(chance.below(401)).expect("small") - 200;
        Clock { set_at: now, shows: Time::from_ns(1 << 60 | chance.below(days)), drift }
    }

    /// Its time at `now`.
    pub(super) fn local(&self, now: Time) -> Time {
        let passed = i128::from(now.saturating_since(self.set_at).as_ns());
        let shown = passed + passed * i128::from(self.drift) / MILLION;
        self.shows + Span::from_ns(u64::try_from(shown).expect("it goes forward"))
    }

    /// The first time of the simulation at which it shows `local` or more.
    pub(super) fn global(&self, local: Time) -> Time {
        if local == Time::NEVER {
            return Time::NEVER;
        }
        let shown = i128::from(local.saturating_since(self.shows).as_ns());
        let passed = shown * MILLION / (MILLION + i128::from(self.drift));
        let mut at = self.set_at + Span::from_ns(u64::try_from(passed).expect("it goes forward"));
        while self.local(at) < local {
            at += Span::from_ns(1);
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotcast_engine::Streams;

    #[test]
    fn a_clock_is_read_as_it_is_waited_for() {
        let mut chance = Streams::new(3).stream("clock", 0);
        for n in 1..200u64 {
            let clock = Clock::set(Time::from_ns(n * 77), &mut chance);
            let local = clock.shows + Span::from_ns(n * n * 1_234_567);
            let at = clock.global(local);
            assert!(clock.local(at) >= local);
            assert!(clock.local(Time::from_ns(at.as_ns() - 1)) < local);
        }
    }
}
