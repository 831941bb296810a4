//! Quantiles of the requests of all runs together, and how far they can be trusted.
//!
//! The distance of a run's own quantile from that of all runs (sectioning) does not say it where requests
//! are few or their latencies are lumped. Runs that are too short for a quantile have another one in the
//! mean; and where most latencies lie near a few values, as those of a disk that writes one chunk after
//! another do, quantiles of runs stay at a value while the true one moves to the next. The part of the
//! requests that are at or below a latency has neither problem: it is a ratio of two means over the runs.
//! So the interval is that of the part, taken back to latencies (R. S. Woodruff: Confidence Intervals for
//! Medians and Other Position Measures. Journal of the American Statistical Association 47, 1952; W. G.
//! Cochran: Sampling Techniques, 3rd edition, 6.3 and 9A.1 for clusters of unequal size).

use slotcast_sim::PooledLatencies;
use slotcast_units::Span;

use crate::estimate::{Estimate, student_95};

/// Requests beyond the quantile, over the square of Student's t, from which the interval holds. With
/// fewer its ends are among the longest latencies that were seen, or beyond them, and a long interval is
/// seen less often than a short one.
const ENOUGH: f64 = 8.0;

/// The latency of rank `rank` in `pool`, which is its `level` quantile, with an interval over the `runs`
/// that the pool is made of.
///
/// The half width is that of the longer side. None with fewer than two runs, and where there are too few
/// requests beyond the quantile for one.
///
/// # Panics
/// If the pool is empty.
pub fn quantile(
    pool: &PooledLatencies<'_>,
    runs: &[PooledLatencies<'_>],
    rank: usize,
    level: f64,
) -> Estimate {
    let latency = pool.ranked(rank);
    let value = latency.as_us_f64();
    let ends = levels(pool, runs, rank, level).and_then(|[low, high]| {
        let count = pool.count() as f64;
        let (low, high) = ((count * low).floor(), (count * high).ceil());
        (low >= 1.0 && high <= count)
            .then(|| [low, high].map(|rank| pool.ranked(rank as usize).as_us_f64()))
    });
    // From the figures as they are told, so that an end that is a true value is held to the last digit:
    // of lumped latencies many are.
    let half = |[low, high]: [f64; 2]| (value - low).max(high - value);
    Estimate { value, ci95: ends.map(half) }
}

/// The part of the requests of all `runs` that take longer than `limit`, with Student's interval over the runs
/// for a ratio of two means. Not a number without requests.
pub fn part_beyond(runs: &[PooledLatencies<'_>], limit: Span) -> Estimate {
    let (within, error) = part_within(runs, limit);
    let runs = runs.iter().filter(|run| run.count() > 0).count();
    let ci95 = (runs >= 2).then(|| student_95(runs as f64 - 1.0) * error);
    Estimate { value: 1.0 - within, ci95 }
}

/// The part of the requests that take no longer than `latency`, and its standard error.
fn part_within(runs: &[PooledLatencies<'_>], latency: Span) -> (f64, f64) {
    let runs: Vec<_> = runs.iter().filter(|run| run.count() > 0).collect();
    let (n, count) = (runs.len() as f64, runs.iter().map(|run| run.count()).sum::<usize>() as f64);
    let within: Vec<_> = runs.iter().map(|run| run.up_to(latency) as f64).collect();
    let part = within.iter().sum::<f64>() / count;
    let squares: f64 = within
        .iter()
        .zip(&runs)
        .map(|(within, run)| (within - part * run.count() as f64).powi(2))
        .sum();
    (part, (squares * n / (n - 1.0)).sqrt() / count)
}

/// The parts of all requests between which the true quantile lies with 95 % probability.
fn levels(
    pool: &PooledLatencies<'_>,
    runs: &[PooledLatencies<'_>],
    rank: usize,
    level: f64,
) -> Option<[f64; 2]> {
    let n = runs.iter().filter(|run| run.count() > 0).count();
    if n < 2 {
        return None;
    }
    let t = student_95(n as f64 - 1.0);
    if pool.count() as f64 * level.min(1.0 - level) < ENOUGH * t * t {
        return None;
    }
    let (_, error) = part_within(runs, pool.ranked(rank));
    Some([level - t * error, level + t * error])
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotcast_sim::SortedLatencies;

    fn sorted(us: impl Iterator<Item = u64> + Clone) -> SortedLatencies {
        SortedLatencies::of(us.map(Span::from_us))
    }

    fn of(sets: &[SortedLatencies], per_mille: usize) -> Estimate {
        let pool = PooledLatencies::of(sets);
        let runs: Vec<_> = sets.iter().map(|set| PooledLatencies::of([set])).collect();
        let rank = (pool.count() * per_mille).div_ceil(1000);
        quantile(&pool, &runs, rank, per_mille as f64 / 1000.0)
    }

    /// Two runs of the numbers to 1000 and two of those from 101 to 1100.
    #[test]
    fn the_interval_is_that_of_the_part_taken_back_to_latencies() {
        let set = |first: u64| sorted(first..first + 1000);
        let found = of(&[set(1), set(101), set(1), set(101)], 500);
        assert_eq!(found.value, 550.0);
        // 550 and 450 of 1000 are within it, so the part's error is sqrt(4 * 50^2 * 4 / 3) / 4000 = 2.887 %,
        // and with t(3) = 3.1824 the ends are at 40.81 and 59.19 %.
        assert_eq!(found.ci95, Some(92.0), "the latency of rank 2368 is 642");
    }

    #[test]
    fn the_part_beyond_a_limit_is_a_ratio_of_means() {
        let sets = [sorted(1..1001), sorted(101..1101)];
        let runs = sets.each_ref().map(|set| PooledLatencies::of([set]));
        let beyond = part_beyond(&runs, Span::from_us(1000));
        assert!((beyond.value - 0.05).abs() < 1e-12, "{beyond:?}");
        // 0 and 100 of 1000: 50 off each, so sqrt(2 * 50^2 * 2) / 2000 = 5 %, and t(1) = 12.706.
        assert!((beyond.ci95.unwrap() - 0.05 * 12.706_205).abs() < 1e-6, "{beyond:?}");
        assert_eq!(
            part_beyond(&runs, Span::from_us(1100)),
            Estimate { value: 0.0, ci95: Some(0.0) }
        );
        assert_eq!(part_beyond(&runs[..1], Span::from_us(500)).ci95, None);
        assert!(part_beyond(&[], Span::ZERO).value.is_nan());
    }

    #[test]
    fn nothing_is_said_with_too_few_requests_beyond() {
        let sets = |each: u64| vec![sorted(1..each), sorted(1..each), sorted(1..each)];
        // t(2)^2 = 18.5: 149 requests must be beyond the quantile.
        assert_eq!(of(&sets(4000), 990).ci95, None);
        assert_eq!(
            of(&sets(6000), 990).ci95,
            Some(1.0),
            "all runs agree, to the rounding of a rank"
        );
        assert_eq!(of(&sets(6000), 999).ci95, None);
        assert_eq!(of(&sets(6000)[..1], 500).ci95, None, "one run says nothing");
    }

    /// Half of the runs have no slow request at all: the true p99 may be beyond all that was seen.
    #[test]
    fn nothing_is_said_where_the_interval_leaves_what_was_seen() {
        let fast = || sorted((0..1000).map(|_| 1));
        let slow = || sorted((0..1000).map(|i| if i < 960 { 1 } else { 2 }));
        assert_eq!(of(&[fast(), slow(), fast(), slow()], 990).ci95, None);
        assert!(of(&[slow(), slow(), slow(), slow()], 970).ci95.is_some());
    }
}
