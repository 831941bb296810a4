//! Latencies of many requests: kept small, and summarised exactly.

use slotcast_units::Span;

/// Latencies in ascending order, 4 bytes each as long as all are below 4.29 s, else 8.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SortedLatencies(Nanoseconds);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Nanoseconds {
    Short(Vec<u32>),
    Long(Vec<u64>),
}

impl Default for SortedLatencies {
    fn default() -> SortedLatencies {
        SortedLatencies(Nanoseconds::Short(Vec::new()))
    }
}

impl SortedLatencies {
    /// Sorts `latencies`. Complexity: O(n log n).
    pub fn of(latencies: impl Iterator<Item = Span> + Clone) -> SortedLatencies {
        let short: Option<Vec<u32>> =
            latencies.clone().map(|span| u32::try_from(span.as_ns()).ok()).collect();
        SortedLatencies(match short {
            Some(mut short) => {
                short.sort_unstable();
                Nanoseconds::Short(short)
            }
            None => {
                let mut long: Vec<u64> = latencies.map(Span::as_ns).collect();
                long.sort_unstable();
                Nanoseconds::Long(long)
            }
        })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        match &self.0 {
            Nanoseconds::Short(short) => short.len(),
            Nanoseconds::Long(long) => long.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The longest, if there is one.
    pub fn longest(&self) -> Option<Span> {
        let ns = match &self.0 {
            Nanoseconds::Short(short) => short.last().copied().map(u64::from),
            Nanoseconds::Long(long) => long.last().copied(),
        };
        ns.map(Span::from_ns)
    }

    /// How many take no longer than `ns` nanoseconds. Complexity: O(log n).
    fn up_to(&self, ns: u64) -> usize {
        match &self.0 {
            Nanoseconds::Short(short) => short.partition_point(|&v| u64::from(v) <= ns),
            Nanoseconds::Long(long) => long.partition_point(|&v| v <= ns),
        }
    }

    /// All of them, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = Span> {
        let (short, long) = match &self.0 {
            Nanoseconds::Short(short) => (&short[..], &[][..]),
            Nanoseconds::Long(long) => (&[][..], &long[..]),
        };
        let ns = short.iter().map(|&ns| u64::from(ns)).chain(long.iter().copied());
        ns.map(Span::from_ns)
    }
}

/// Some sets of latencies taken as one, without copying them.
#[derive(Debug, Clone)]
pub struct PooledLatencies<'a> {
    sets: Vec<&'a SortedLatencies>,
    count: usize,
    longest: Span,
}

impl<'a> PooledLatencies<'a> {
    /// The union of `sets`.
    pub fn of(sets: impl IntoIterator<Item = &'a SortedLatencies>) -> PooledLatencies<'a> {
        let sets: Vec<_> = sets.into_iter().filter(|set| !set.is_empty()).collect();
        let longest = sets.iter().filter_map(|set| set.longest()).max();
        PooledLatencies {
            count: sets.iter().map(|set| set.len()).sum(),
            longest: longest.unwrap_or(Span::ZERO),
            sets,
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// How many take no longer than `latency`. Complexity: O(sets times log n).
    pub fn up_to(&self, latency: Span) -> usize {
        self.sets.iter().map(|set| set.up_to(latency.as_ns())).sum()
    }

    /// The latency of rank `rank`, counted from 1, when all are sorted; the longest beyond that.
    ///
    /// Complexity: O(sets times log n), by halving the range of values.
    ///
    /// # Panics
    /// If there are none.
    pub fn ranked(&self, rank: usize) -> Span {
        assert!(self.count > 0, "no latency has a rank");
        let rank = rank.clamp(1, self.count);
        let (mut low, mut high) = (0, self.longest.as_ns());
        while low < high {
            let middle = low + (high - low) / 2;
            let up_to: usize = self.sets.iter().map(|set| set.up_to(middle)).sum();
            if up_to >= rank {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Span::from_ns(low)
    }

    /// The quantile at `per_mille` thousandths, by nearest rank.
    ///
    /// # Panics
    /// If there are none.
    pub fn quantile(&self, per_mille: usize) -> Span {
        self.ranked((self.count * per_mille).div_ceil(1000))
    }

    /// Mean, quantiles and maximum; all zero when there are none.
    pub fn summary(&self) -> Latency {
        if self.count == 0 {
            return Latency::default();
        }
        let all = self.sets.iter().flat_map(|set| set.iter());
        let sum: u128 = all.map(|latency| u128::from(latency.as_ns())).sum();
        let at = |per_mille| self.quantile(per_mille).as_us_f64();
        Latency {
            count: self.count as u64,
            mean: sum as f64 / self.count as f64 / 1e3,
            p50: at(500),
            p90: at(900),
            p99: at(990),
            p999: at(999),
            max: self.longest.as_us_f64(),
        }
    }
}

/// Distribution of latencies in microseconds. Quantiles are exact (nearest rank).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Latency {
    /// Number of requests.
    pub count: u64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
    /// Longest.
    pub max: f64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sorted(ns: &[u64]) -> SortedLatencies {
        SortedLatencies::of(ns.iter().map(|&ns| Span::from_ns(ns)))
    }

    #[test]
    fn a_summary_is_by_nearest_rank() {
        let (odd, even) = (sorted(&[1000, 5000, 3000]), sorted(&[4000, 2000]));
        let summary = PooledLatencies::of([&odd, &even]).summary();
        assert_eq!((summary.count, summary.mean, summary.p50), (5, 3.0, 3.0));
        assert_eq!((summary.p90, summary.p999, summary.max), (5.0, 5.0, 5.0));
        assert_eq!(PooledLatencies::of([]).summary(), Latency::default());
    }

    #[test]
    fn long_latencies_keep_every_digit() {
        let long = sorted(&[u64::from(u32::MAX) + 1, 7, u64::MAX / 2]);
        let pool = PooledLatencies::of([&long]);
        assert_eq!(pool.ranked(1), Span::from_ns(7));
        assert_eq!(pool.ranked(2), Span::from_ns(u64::from(u32::MAX) + 1));
        assert_eq!(pool.ranked(99), Span::from_ns(u64::MAX / 2));
    }

    proptest! {
        #[test]
        fn ranks_of_the_pool_are_those_of_the_sorted_union(
            sets in prop::collection::vec(
                prop::collection::vec(prop_oneof![0..9u64, 0..1_000_000u64, 4_294_967_290..4_294_967_300u64], 0..30),
                1..6,
            ),
        ) {
            let mut union: Vec<u64> = sets.iter().flatten().copied().collect();
            union.sort_unstable();
            let sets: Vec<_> = sets.iter().map(|set| sorted(set)).collect();
            let pool = PooledLatencies::of(&sets);
            prop_assert_eq!(pool.count(), union.len());
            for (index, &ns) in union.iter().enumerate() {
                prop_assert_eq!(pool.ranked(index + 1), Span::from_ns(ns));
                let up_to = union.iter().filter(|&&other| other <= ns).count();
                prop_assert_eq!(pool.up_to(Span::from_ns(ns)), up_to);
            }
        }
    }
}
