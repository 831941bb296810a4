//! Tail at scale: what a request sees that needs several answers.
//!
//! A request that needs N answers is as slow as the slowest of them. If the answers are independent, the
//! chance that all are within a time is that of one to the power of N, so a rare latency of one becomes a
//! common one of many (J. Dean, L. A. Barroso: The Tail at Scale. CACM 56(2), 2013).

use serde::Serialize;
use slotcast_sim::{PooledLatencies, SortedLatencies};

use crate::estimate::Estimate;
use crate::quantile::quantile;

/// How many answers the reports speak of.
const ANSWERS: [u32; 3] = [10, 100, 1000];

/// The chance that at least one of `answers` independent answers takes longer than a time within which
/// one stays with probability `within`.
pub fn at_least_one_beyond(within: f64, answers: u32) -> f64 {
    // 1 - within^n, without the loss of digits where that is small.
    -(f64::from(answers) * within.ln()).exp_m1()
}

/// What a request sees that needs `answers` answers, each as long as a request of the runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TailAtScale {
    /// How many answers it needs.
    pub answers: u32,
    /// The chance that at least one takes longer than 99 of 100 requests do.
    pub beyond_p99: f64,
    /// Median in microseconds; not a number (`null` in JSON) where so rare a latency was not measured.
    pub p50: Estimate,
    /// 99th percentile, likewise.
    pub p99: Estimate,
}

impl TailAtScale {
    /// From the latencies of each run, for 10, 100 and 1000 answers.
    pub(crate) fn of_runs(runs: &[Vec<&SortedLatencies>]) -> Vec<TailAtScale> {
        let pool = PooledLatencies::of(runs.iter().flatten().copied());
        let runs: Vec<_> =
            runs.iter().map(|sets| PooledLatencies::of(sets.iter().copied())).collect();
        let runs: Vec<_> = runs.into_iter().filter(|run| run.count() > 0).collect();
        let tail = |&answers: &u32| TailAtScale {
            answers,
            beyond_p99: at_least_one_beyond(0.99, answers),
            p50: slowest(&pool, &runs, answers, 0.5),
            p99: slowest(&pool, &runs, answers, 0.99),
        };
        ANSWERS.iter().map(tail).collect()
    }
}

/// The `level` quantile of the slowest of `answers` draws from `pool`, with an interval where it is known.
fn slowest(
    pool: &PooledLatencies<'_>,
    runs: &[PooledLatencies<'_>],
    answers: u32,
    level: f64,
) -> Estimate {
    // All draws are within the latency of rank k with probability (k / n)^answers.
    let of_one = level.powf(1.0 / f64::from(answers));
    let rank = |count: usize| (count as f64 * of_one * (1.0 - 1e-12)).ceil() as usize;
    if rank(pool.count()) >= pool.count() {
        return Estimate { value: f64::NAN, ci95: None };
    }
    quantile(pool, runs, rank(pool.count()), of_one)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published;
    use slotcast_units::Span;

    #[test]
    fn one_slow_answer_in_many_is_as_likely_as_published() {
        let lines = published::tail_at_scale();
        assert_eq!(lines.len(), 2);
        for line in lines {
            let pct = at_least_one_beyond(line.within, line.servers) * 100.0;
            assert!(
                (pct - line.beyond_pct).abs() < 0.05 * line.beyond_pct.min(1.0),
                "{pct} {line:?}"
            );
        }
        assert_eq!(format!("{:.1}", at_least_one_beyond(0.99, 100) * 100.0), "63.4");
        assert_eq!(format!("{:.3}", at_least_one_beyond(0.999_99, 1000) * 100.0), "0.995");
        assert_eq!(at_least_one_beyond(1.0, 1000), 0.0);
    }

    /// 1 to 1000 us, each as likely.
    fn uniform() -> SortedLatencies {
        SortedLatencies::of((1..=1000).map(Span::from_us))
    }

    #[test]
    fn the_slowest_of_many_uniform_draws_is_where_theory_says() {
        let (a, b) = (uniform(), uniform());
        let tails = TailAtScale::of_runs(&[vec![&a], vec![&b]]);
        // The median of the slowest of 10 is 1000 * 0.5^(1/10) = 933.03, its p99 998.995.
        assert_eq!((tails[0].answers, tails[0].p50.value, tails[0].p99.value), (10, 934.0, 999.0));
        assert_eq!(tails[0].p50.ci95, None, "134 requests took longer, too few for two runs");
        assert_eq!(tails[1].p50.value, 994.0);
        assert!(tails[1].p99.value.is_nan(), "one in 10 000 is not to be seen in 2000");
        assert!((tails[2].beyond_p99 - 0.999_956_8).abs() < 1e-6);
    }

    #[test]
    fn nothing_measured_has_no_tail() {
        let tails = TailAtScale::of_runs(&[vec![]]);
        assert!(tails.iter().all(|tail| tail.p50.value.is_nan() && tail.p99.ci95.is_none()));
    }
}
