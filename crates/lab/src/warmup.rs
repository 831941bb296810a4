//! Where the start of a run ends, by MSER-5.
//!
//! K. P. White: An Effective Truncation Heuristic for Bias Reduction in Simulation Output. Simulation
//! 69(6), 1997. Latencies in the order of completion are put into batches of five; the truncation point is
//! where the standard error of the mean of what is left is smallest, and it is accepted only in the first
//! half. The series is averaged over independent runs first, batch by batch, as Hoad, Robinson and Davies
//! do (Automating Warm-up Length Estimation, JORS 61(9), 2010): what all runs have in common is the start,
//! and the rest averages out.

use serde::{Deserialize, Serialize};
use slotcast_sim::{Completion, Scenario};
use slotcast_units::{Span, Time};

use crate::configuration::WarmupRule;
use crate::estimate::Estimate;

const BATCH: usize = 5;
/// The standard error of the last few batches may be small by chance alone.
const MIN_LEFT: usize = 5;
/// Fewer batches say nothing.
const FEWEST: usize = 2 * MIN_LEFT;

/// The latencies of one run in the order of completion, in batches of five.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Batches {
    /// Mean latency in microseconds.
    means: Vec<f64>,
    /// When the last request of each batch was completed, in ns of simulated time.
    ends: Vec<u64>,
}

impl Batches {
    /// Of a run's requests, warm-up included. A rest of fewer than five is left out.
    pub fn of(completions: &[Completion]) -> Batches {
        let batches = completions.chunks_exact(BATCH);
        let mean = |batch: &[Completion]| {
            batch.iter().map(|c| c.latency().as_us_f64()).sum::<f64>() / BATCH as f64
        };
        Batches {
            means: batches.clone().map(mean).collect(),
            ends: batches.map(|batch| batch[BATCH - 1].finished.as_ns()).collect(),
        }
    }

    /// Mean of the batches that end after `warmup`.
    fn mean_after(&self, warmup: Span) -> f64 {
        let from = self.ends.partition_point(|&end| end <= warmup.as_ns());
        let left = &self.means[from..];
        left.iter().sum::<f64>() / left.len() as f64
    }
}

/// How many of the first values of a series should be left out; none if that is not in its first half,
/// or if the series is too short.
///
/// Complexity: O(n).
pub fn mser(series: &[f64]) -> Option<usize> {
    if series.len() < FEWEST {
        return None;
    }
    // Backwards, so that each step adds one value to what is left (Welford).
    let (mut count, mut mean, mut squares) = (0.0, 0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    for (index, &value) in series.iter().enumerate().rev() {
        count += 1.0;
        let distance = value - mean;
        mean += distance / count;
        squares += distance * (value - mean);
        let error = squares / (count * count);
        if series.len() - index >= MIN_LEFT && error <= best.0 {
            best = (error, index);
        }
    }
    (best.1 <= series.len() / 2).then_some(best.1)
}

/// What MSER-5 says of some runs of one scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settling {
    /// They have settled by this time.
    By(Span),
    /// The runs are too short to say, or never settle.
    NotYet,
    /// There are too few requests to say.
    TooFewRequests,
}

impl Settling {
    /// Over the average of `runs`, cut to the shortest; the time is the latest of any run, in whole
    /// microseconds.
    pub fn of(runs: &[&Batches]) -> Settling {
        let length = runs.iter().map(|run| run.means.len()).min().unwrap_or(0);
        if length < FEWEST {
            return Settling::TooFewRequests;
        }
        let average =
            |batch: usize| runs.iter().map(|run| run.means[batch]).sum::<f64>() / runs.len() as f64;
        let series: Vec<f64> = (0..length).map(average).collect();
        match mser(&series) {
            None => Settling::NotYet,
            Some(0) => Settling::By(Span::ZERO),
            Some(left_out) => {
                let latest = runs.iter().map(|run| Time::from_ns(run.ends[left_out - 1])).max();
                let ns = latest.unwrap_or(Time::ZERO).as_ns();
                Settling::By(Span::from_us(ns.div_ceil(1000)))
            }
        }
    }
}

/// How often the length of pilot runs is doubled if they do not settle.
const DOUBLINGS: u32 = 3;

/// Runs from a standing start that were done to find the warm-up.
#[derive(Debug, Clone)]
pub struct Pilots {
    /// Their latencies.
    pub batches: Vec<Batches>,
    /// How long they were.
    pub length: Span,
    /// What they say.
    pub settling: Settling,
}

impl Pilots {
    /// Finds where the start ends in each of some systems. `run` is asked for pilot runs of systems by
    /// index, each of a length: first of that in `lengths`, and of longer ones, up to eight times, as
    /// long as they do not settle.
    ///
    /// # Errors
    /// Those of `run`.
    pub fn settle<E>(
        lengths: &[Span],
        mut run: impl FnMut(&[(usize, Span)]) -> Result<Vec<Vec<Batches>>, E>,
    ) -> Result<Vec<Pilots>, E> {
        let mut settled: Vec<Option<Pilots>> = vec![None; lengths.len()];
        let mut open: Vec<_> = lengths.iter().copied().enumerate().collect();
        for _ in 0..=DOUBLINGS {
            for (&(system, length), batches) in open.iter().zip(run(&open)?) {
                let settling = Settling::of(&batches.iter().collect::<Vec<_>>());
                settled[system] = Some(Pilots { batches, length, settling });
            }
            let is_open = |system: usize| {
                !settled[system].as_ref().is_some_and(|p| matches!(p.settling, Settling::By(_)))
            };
            open.retain(|(system, _)| is_open(*system));
            open.iter_mut().for_each(|(_, length)| *length = *length * 2);
        }
        Ok(settled.into_iter().flatten().collect())
    }

    /// The warm-up of `measured` as these runs found it.
    pub(crate) fn judge(&self, measured: &Scenario, mean_latency: Estimate) -> Warmup {
        let batches: Vec<_> = self.batches.iter().collect();
        Warmup::new(WarmupRule::Found, measured, &batches, self.length, mean_latency)
    }
}

/// The warm-up of a point, and whether it is long enough.
#[derive(Debug, Clone, Serialize)]
pub struct Warmup {
    /// Where it comes from, as a word of `statistics.warmup`.
    pub rule: &'static str,
    /// Simulated time that was left out, in microseconds.
    pub used_us: f64,
    /// What MSER-5 says of the runs: `settled`, `not settled`, or `too few requests`.
    pub mser5: &'static str,
    /// The simulated time by which they have settled.
    pub mser5_us: Option<f64>,
    /// The runs that it was found in: pilots, if the rule is `found`.
    pub runs: usize,
    /// The length of these runs, in microseconds.
    pub length_us: f64,
    /// Whether what was left out is as long as what MSER-5 finds; none if it finds nothing.
    pub enough: Option<bool>,
    /// Where it is not: by what part of itself the mean latency changes if as much is left out as
    /// MSER-5 finds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_changes_by: Option<f64>,
    /// Whether figures may suffer: the runs have not settled, or what more should be left out changes the
    /// mean latency by more than half the width of its interval. Never for a published warm-up.
    pub warning: bool,
}

impl Warmup {
    /// The warm-up of `measured`, which MSER-5 judges by `runs` of length `length`. `mean_latency` is what
    /// was measured.
    pub(crate) fn new(
        rule: WarmupRule,
        measured: &Scenario,
        runs: &[&Batches],
        length: Span,
        mean_latency: Estimate,
    ) -> Warmup {
        let used = measured.run.warmup;
        let (mser5, found) = match Settling::of(runs) {
            Settling::By(found) => ("settled", Some(found)),
            Settling::NotYet => ("not settled", None),
            Settling::TooFewRequests => ("too few requests", None),
        };
        let enough = found.map(|found| found <= used);
        let mean_after =
            |warmup| runs.iter().map(|run| run.mean_after(warmup)).sum::<f64>() / runs.len() as f64;
        let change = |found| mean_after(found) / mean_after(used) - 1.0;
        let mean_changes_by =
            found.filter(|_| enough == Some(false)).map(change).filter(|change| change.is_finite());
        let matters = |change: f64| change.abs() > mean_latency.relative().unwrap_or(0.0);
        Warmup {
            rule: match rule {
                WarmupRule::AsSet => "as-set",
                WarmupRule::Found => "found",
                WarmupRule::AsPublished => "as-published",
            },
            used_us: used.as_us_f64(),
            mser5,
            mser5_us: found.map(Span::as_us_f64),
            runs: runs.len(),
            length_us: length.as_us_f64(),
            enough,
            mean_changes_by,
            warning: rule != WarmupRule::AsPublished
                && (mser5 == "not settled" || mean_changes_by.is_some_and(matters)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotcast_sim::Operation;

    /// Numbers from 0 to 1 of a fixed sequence.
    fn noise() -> impl FnMut() -> f64 {
        let mut state = 7u64;
        move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        }
    }

    #[test]
    fn a_step_is_cut_where_it_ends() {
        let mut noise = noise();
        let series: Vec<f64> =
            (0..200).map(|i| noise() + if i < 37 { 10.0 } else { 0.0 }).collect();
        // By chance a few more may go with it.
        let cut = mser(&series).unwrap();
        assert!((37..42).contains(&cut), "{cut}");
    }

    /// By hand: the squares of 9, 1, 1, ... around their mean over n² is least without the 9.
    #[test]
    fn a_level_series_is_kept_and_one_outlier_dropped() {
        assert_eq!(mser(&[1.0; 12]), Some(0));
        let mut series = [1.0; 12];
        series[0] = 9.0;
        assert_eq!(mser(&series), Some(1));
    }

    #[test]
    fn a_series_that_never_settles_has_no_truncation_point() {
        let ramp: Vec<f64> = (0..100).map(|i| f64::from(i * i)).collect();
        assert_eq!(mser(&ramp), None);
        assert_eq!(mser(&[1.0; 9]), None, "too short");
        let late: Vec<f64> = (0..100).map(|i| if i < 60 { 5.0 } else { 1.0 }).collect();
        assert_eq!(mser(&late), None, "in the second half");
    }

    fn completions(latencies: impl Iterator<Item = u64>) -> Vec<Completion> {
        (1..)
            .zip(latencies)
            .map(|(i, us)| {
                let finished = Time::from_ns(i * 1_000_000);
                Completion {
                    started: finished.saturating_sub(Span::from_us(us)),
                    finished,
                    operation: Operation::Put,
                }
            })
            .collect()
    }

    /// One request a millisecond; each of the first 60 takes 500 us longer than the others.
    fn run(shift: u64) -> Batches {
        Batches::of(&completions((0..400).map(|i| {
            let start = if i < 60 { 500 } else { 0 };
            start + 100 + shift + i % 2 * 10
        })))
    }

    #[test]
    fn the_truncation_is_told_as_the_time_of_the_last_request_left_out() {
        let (a, b) = (run(0), run(3));
        assert_eq!(Settling::of(&[&a, &b]), Settling::By(Span::from_ms(60)));
        assert_eq!(Settling::of(&[]), Settling::TooFewRequests);
        let few = Batches::of(&completions(std::iter::repeat_n(5, 49)));
        assert_eq!(Settling::of(&[&a, &few]), Settling::TooFewRequests);
    }

    #[test]
    fn a_warm_up_that_is_too_short_says_what_it_does_to_the_mean() {
        let runs = [run(0), run(3)];
        let mean = Estimate { value: 181.5, ci95: Some(20.0) };
        let of = |rule, warmup, mean| {
            let mut scenario = Scenario::default();
            scenario.run.warmup = warmup;
            Warmup::new(rule, &scenario, &runs.each_ref(), Span::from_ms(400), mean)
        };
        let enough = of(WarmupRule::AsSet, Span::from_ms(60), mean);
        assert_eq!((enough.enough, enough.mean_changes_by), (Some(true), None));
        assert!(!enough.warning);
        assert!(!of(WarmupRule::AsPublished, Span::ZERO, mean).warning);
        let wide = Estimate { ci95: Some(100.0), ..mean };
        assert!(!of(WarmupRule::AsSet, Span::ZERO, wide).warning, "lost in the interval");
        let short = of(WarmupRule::AsSet, Span::ZERO, mean);
        assert!(short.warning);
        assert_eq!((short.enough, short.mser5_us), (Some(false), Some(60_000.0)));
        // Without the start 106.5 us; with it 60 of 400 requests take 500 us longer.
        let change = short.mean_changes_by.unwrap();
        assert!((change - (106.5 / 181.5 - 1.0)).abs() < 1e-9, "{change}");
    }
}
