use core::convert::Infallible;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng, TryRng};
use slotcast_units::Span;

use crate::mix::fold;
use crate::ziggurat;

/// The random streams of one run, all from one seed.
///
/// Each consumer asks for its own stream by name and index ("arrivals" of node 7), so that a consumer
/// that is added, or that draws more often, does not shift the draws of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Streams {
    seed: u64,
}

/// Two odd constants with about half of their bits set: digits of the golden ratio and of pi.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
const PI: u64 = 0xa409_3822_299f_31d1;

impl Streams {
    /// The streams of `seed`.
    pub const fn new(seed: u64) -> Streams {
        Streams { seed }
    }

    /// The stream with this name and index. Asked again, it starts again.
    ///
    /// With `fold(a, b)` for the exclusive or of the two halves of the 128-bit product `a * b`, the state
    /// of the seed begins as `fold(seed ^ G, P)`, takes in each byte of the name, its length and the index
    /// as `fold(state ^ word ^ G, P)`, and seeds xoshiro256++ through SplitMix64;
    /// `G = 0x9e3779b97f4a7c15`, `P = 0xa4093822299f31d1`.
    ///
    /// Complexity: O(length of the name).
    pub fn stream(&self, name: &str, index: u64) -> Stream {
        let take = |state: u64, word: u64| fold(state ^ word ^ GOLDEN, PI);
        let mut state = take(0, self.seed);
        for byte in name.bytes() {
            state = take(state, u64::from(byte));
        }
        state = take(state, name.len() as u64);
        state = take(state, index);
        Stream { generator: Xoshiro256PlusPlus::seed_from_u64(state) }
    }
}

/// One stream of random numbers: xoshiro256++, the same on every machine.
///
/// It is a generator of the `rand` crates, for other distributions. Those of `rand_distr` may use the
/// logarithm of the platform, which differs in the last bit; the methods here do not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stream {
    generator: Xoshiro256PlusPlus,
}

impl Stream {
    /// 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.generator.next_u64()
    }

    /// A whole number below `n`, each with the same chance.
    ///
    /// # Panics
    /// If `n` is zero.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        assert!(n > 0, "no number is below zero");
        // Lemire, "Fast random integer generation in an interval" (2019): the high half of a product is
        // even once the lowest `2^64 mod n` low halves are thrown away.
        let mut product = u128::from(self.next_u64()) * u128::from(n);
        if (product as u64) < n {
            let excess = n.wrapping_neg() % n;
            while (product as u64) < excess {
                product = u128::from(self.next_u64()) * u128::from(n);
            }
        }
        (product >> 64) as u64
    }

    /// True with probability `p`; always for one and above, never for zero and below.
    #[inline]
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    /// A number in [0, 1), a multiple of 2^-53.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        ziggurat::unit(self.next_u64())
    }

    /// A span from the exponential distribution, rounded to the nearest nanosecond.
    #[inline]
    pub fn exponential(&mut self, mean: Span) -> Span {
        let draw = ziggurat::exponential(|| self.next_u64());
        Span::from_ns((draw * mean.as_ns() as f64 + 0.5) as u64)
    }
}

impl TryRng for Stream {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.generator.try_next_u32()
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.generator.try_next_u64()
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.generator.try_fill_bytes(bytes)
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;
    use alloc::vec::Vec;

    use super::*;

    const DRAWS: usize = 200_000;

    fn stream(name: &str) -> Stream {
        Streams::new(1).stream(name, 7)
    }

    #[test]
    fn a_stream_draws_what_is_documented() {
        // Computed from the definitions, apart from this code.
        let mut stream = stream("arrivals");
        for expected in [0x95f3_faba_88a9_2312, 0x93a0_ece9_3f33_814f, 0xfecf_6439_4a0e_3f87] {
            assert_eq!(stream.next_u64(), expected);
        }
    }

    #[test]
    fn spans_and_choices_are_the_same_everywhere() {
        let mut stream = stream("golden");
        let spans = [(); 4].map(|()| stream.exponential(Span::from_ms(1)).as_ns());
        let below = [(); 4].map(|()| stream.below(1_000));
        assert_eq!(spans, [695_048, 1_207_478, 1_262_837, 1_253_919]);
        assert_eq!(below, [534, 200, 609, 722]);
        let sum = (0..DRAWS).fold(0, |sum, _| sum ^ stream.exponential(Span::from_secs(1)).as_ns());
        assert_eq!(sum, 4_921_079_266, "rare branches of the ziggurat");
    }

    #[test]
    fn seed_name_and_index_each_give_another_stream() {
        let first = |seed, name, index| Streams::new(seed).stream(name, index).next_u64();
        let mut seen = BTreeSet::new();
        for seed in 0..10 {
            for name in ["", "a", "b", "ab", "ba", "arrivals", "sizes"] {
                for index in 0..10 {
                    assert!(seen.insert(first(seed, name, index)), "{seed} {name} {index}");
                }
            }
        }
    }

    #[test]
    fn a_number_below_n_has_no_favourites() {
        let mut stream = stream("below");
        let mut counts = [0u64; 7];
        for _ in 0..DRAWS {
            counts[stream.below(7) as usize] += 1;
        }
        // Chi-squared with 6 degrees of freedom: 22.5 is passed once in a thousand.
        let expected = DRAWS as f64 / 7.0;
        let squares: f64 = counts.iter().map(|n| (*n as f64 - expected).powi(2) / expected).sum();
        assert!(squares < 22.5, "{counts:?}");
        assert_eq!(stream.below(1), 0);
    }

    #[test]
    fn chance_takes_its_share() {
        let mut stream = stream("chance");
        let hits = (0..DRAWS).filter(|_| stream.chance(0.3)).count() as f64;
        assert!((hits / DRAWS as f64 - 0.3).abs() < 0.004, "{hits}");
        assert!((0..1000).all(|_| stream.chance(1.0) && !stream.chance(0.0)));
    }

    #[test]
    fn exponential_spans_have_the_distribution_that_they_should() {
        let mut stream = stream("exponential");
        let mean = 1e6;
        let mut spans: Vec<f64> = (0..DRAWS)
            .map(|_| stream.exponential(Span::from_ms(1)).as_ns() as f64 / mean)
            .collect();
        spans.sort_by(f64::total_cmp);
        // Kolmogorov and Smirnov: the distance passes 1.95 / sqrt(n) once in a thousand.
        let distance = spans
            .iter()
            .enumerate()
            .map(|(i, x)| ((i as f64 + 0.5) / DRAWS as f64 - (1.0 - (-x).exp())).abs())
            .fold(0.0, f64::max);
        assert!(distance < 1.95 / (DRAWS as f64).sqrt(), "{distance}");
        assert!(spans.last().expect("draws") > &9.0, "the tail is drawn");
    }

    #[test]
    fn a_stream_is_a_generator_of_the_rand_crates() {
        fn draw(mut generator: impl Rng) -> u64 {
            generator.next_u64()
        }
        assert_eq!(draw(stream("a")), stream("a").next_u64());
    }
}
