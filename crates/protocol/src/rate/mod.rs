//! What a target measures while it runs: how fast its disk and its link are.

mod disk;
mod link;

pub use disk::DiskMeter;
pub use link::LinkMeter;

use slotcast_units::{Rate, Size, Span};

/// A rate as work over the time that it took, of which older parts count less and less.
///
/// A sample counts in full, and what was before it is cut to `memory / (memory + its time)`: after three
/// times the memory an eighth or less is left. A sample that says more than four times faster or slower
/// than the estimate is believed only up to four times: one flush that hangs moves the estimate by
/// little, and a device that has become ten times slower is known after a few samples.
#[derive(Debug, Clone, Copy)]
struct Weighed {
    bits: u128,
    /// In ns; never zero.
    time: u64,
    memory: Span,
    slowest: Rate,
    fastest: Rate,
}

/// By how much a sample may differ from the estimate to be believed in full.
const BELIEVED: u64 = 4;

impl Weighed {
    /// `first` is believed as if it had been measured for half of `memory`.
    fn new(first: Rate, memory: Span, slowest: Rate, fastest: Rate) -> Weighed {
        let time = (memory.as_ns() / 2).max(1);
        let bits = u128::from(first.bits_in(Span::from_ns(time)));
        Weighed { bits, time, memory, slowest, fastest }
    }

    fn rate(&self) -> Rate {
        let bps = self.bits * 1_000_000_000 / u128::from(self.time);
        let bps = u64::try_from(bps).unwrap_or(u64::MAX);
        Rate::from_bps(bps).clamp(self.slowest, self.fastest)
    }

    /// `size` took `time`.
    fn add(&mut self, size: Size, time: Span) {
        if size == Size::ZERO {
            return;
        }
        let expected = self.rate().time_for(size).as_ns().max(1);
        let time =
            time.as_ns().clamp(expected / BELIEVED, expected.saturating_mul(BELIEVED)).max(1);
        let memory = u128::from(self.memory.as_ns().max(1));
        let keep = |old: u128| old * memory / (memory + u128::from(time));
        self.bits = keep(self.bits) + u128::from(size.as_bits());
        let kept = u64::try_from(keep(u128::from(self.time))).unwrap_or(u64::MAX);
        self.time = kept.saturating_add(time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mb(per_s: u64) -> Rate {
        Rate::from_bytes_per_s(per_s * 1_000_000)
    }

    fn weighed() -> Weighed {
        Weighed::new(mb(400), Span::from_ms(200), mb(1), mb(10_000))
    }

    #[test]
    fn a_tenth_of_the_rate_is_known_within_a_second() {
        let mut weighed = weighed();
        let size = Size::from_bytes(400_000);
        for _ in 0..100 {
            weighed.add(size, Span::from_ms(10));
        }
        let bps = weighed.rate().as_bps() as f64 / mb(40).as_bps() as f64;
        assert!((0.95..1.1).contains(&bps), "{bps} of it");
    }

    #[test]
    fn one_sample_moves_the_estimate_by_little() {
        let mut weighed = weighed();
        weighed.add(Size::from_bytes(400_000), Span::from_secs(5));
        assert!(weighed.rate() > mb(350), "{}", weighed.rate());
    }

    proptest::proptest! {
        #[test]
        fn it_stays_within_its_bounds_and_comes_to_what_is_steady(
            samples in proptest::collection::vec((0u64..1 << 40, 0u64..1 << 40), 0..40),
            steady in 2u64..5_000,
        ) {
            let mut weighed = weighed();
            for (bytes, ns) in samples {
                weighed.add(Size::from_bytes(bytes), Span::from_ns(ns));
                proptest::prop_assert!((mb(1)..=mb(10_000)).contains(&weighed.rate()));
            }
            for _ in 0..400 {
                weighed.add(Size::from_bytes(steady * 10_000), Span::from_ms(10));
            }
            let error = weighed.rate().as_bps() as f64 / mb(steady).as_bps() as f64;
            proptest::prop_assert!((0.98..1.02).contains(&error), "{error}");
        }
    }
}
