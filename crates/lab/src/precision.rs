//! When there are seeds enough.
//!
//! Runs come in stages. After each one the interval of every headline figure is held against the
//! precision that is wanted, and the next stage is as large as that interval says is needed. So few looks
//! at the intervals, none with fewer than ten runs, keep small what looking does to them: runs that look
//! precise by chance stop early (A. M. Law: Simulation Modeling and Analysis, 5th edition, 9.4.1).

use serde::Serialize;
use slotcast_units::Share;

use crate::configuration::{Seeds, Statistics};
use crate::estimate::Estimate;
use crate::metrics::Metrics;

/// An interval over fewer runs is not trusted to stop.
const FEWEST: u32 = 10;

/// Why no more seeds ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stopped {
    /// Every headline figure is precise enough.
    Precise,
    /// `statistics.max_seeds` have run.
    MaxSeeds,
    /// `statistics.max_time` is over.
    MaxTime,
}

/// How precise the headline figures of a point are.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Precision {
    /// Half the width of the interval over the figure, at most.
    pub wanted: f64,
    /// How many seeds ran.
    pub seeds: usize,
    /// Why no more did.
    pub stopped: Stopped,
    /// What was reached, figure by figure.
    pub figures: Vec<Reached>,
}

/// One headline figure and its precision.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Reached {
    /// Its metric.
    pub name: &'static str,
    /// The figure.
    #[serde(flatten)]
    pub estimate: Estimate,
    /// Half the width of its interval over the figure; none without an interval.
    pub relative: Option<f64>,
}

/// What each stage of the runs of a point is decided by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stages {
    pub(crate) seeds: Seeds,
    pub(crate) statistics: Statistics,
}

impl Stages {
    fn is_sequential(&self) -> bool {
        self.statistics.precision > Share::ZERO
    }

    /// How many seeds run in any case.
    pub(crate) fn first(&self) -> u32 {
        if self.is_sequential() { self.seeds.count.max(FEWEST) } else { self.seeds.count }
    }

    /// How many seeds must have run after the next stage; none if `metrics` over `run` seeds are
    /// precise enough, or no more may run. Depends on the figures alone.
    pub(crate) fn next(&self, metrics: &Metrics, run: u32) -> Option<u32> {
        if !self.is_sequential() || run >= self.bound() {
            return None;
        }
        let off = worst(figures(metrics))?.relative.unwrap_or(f64::INFINITY) / self.wanted();
        if off <= 1.0 {
            return None;
        }
        // The width goes with one over the root of the number of runs. The first guesses are bad, so no
        // stage more than doubles what there is.
        let needed = (f64::from(run) * off * off).ceil().min(f64::from(u32::MAX)) as u32;
        Some(needed.clamp(run + run.div_ceil(5), run.saturating_mul(2)).min(self.bound()))
    }

    /// What was reached with `run` seeds; nothing if no precision is wanted.
    pub(crate) fn reached(&self, metrics: &Metrics, run: usize) -> Option<Precision> {
        if !self.is_sequential() {
            return None;
        }
        let wanted = self.wanted();
        let worst = worst(figures(metrics));
        let precise = worst.is_none_or(|w| w.relative.is_some_and(|r| r <= wanted));
        let stopped = match precise {
            true => Stopped::Precise,
            false if run >= self.bound() as usize => Stopped::MaxSeeds,
            false => Stopped::MaxTime,
        };
        Some(Precision { wanted, seeds: run, stopped, figures: figures(metrics).collect() })
    }

    fn wanted(&self) -> f64 {
        self.statistics.precision.as_f64()
    }

    fn bound(&self) -> u32 {
        self.statistics.max_seeds.max(self.first())
    }
}

fn figures(metrics: &Metrics) -> impl Iterator<Item = Reached> + use<> {
    metrics.headline().map(|(name, estimate)| Reached {
        name,
        estimate,
        relative: estimate.relative(),
    })
}

/// The figure that is the least precise; one without an interval is.
fn worst(figures: impl Iterator<Item = Reached>) -> Option<Reached> {
    let width = |figure: &Reached| figure.relative.unwrap_or(f64::INFINITY);
    figures.max_by(|a, b| width(a).total_cmp(&width(b)))
}

impl Precision {
    /// The figure that is the least precise.
    pub fn worst(&self) -> Option<Reached> {
        worst(self.figures.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::tests::report;

    fn stages(percent: u32, count: u32, max_seeds: u32) -> Stages {
        let precision = Share::from_percent(percent);
        Stages {
            seeds: Seeds { count, ..Seeds::default() },
            statistics: Statistics { precision, max_seeds, ..Statistics::default() },
        }
    }

    /// Runs of 500 requests each that take 1000 us, or `spread` more in every other run.
    fn metrics(runs: u64, spread: u64) -> Metrics {
        let runs: Vec<_> =
            (0..runs).map(|seed| report(seed, &[1000 + seed % 2 * spread; 500])).collect();
        Metrics::of(&runs.iter().collect::<Vec<_>>())
    }

    #[test]
    fn without_a_precision_the_seeds_are_what_they_are() {
        let plain = stages(0, 3, 1000);
        assert_eq!((plain.first(), plain.next(&metrics(3, 500), 3)), (3, None));
        assert_eq!(plain.reached(&metrics(3, 500), 3), None);
    }

    #[test]
    fn with_one_ten_runs_are_the_least_and_stages_grow_as_needed() {
        let stages = stages(1, 3, 1000);
        assert_eq!(stages.first(), 10);
        assert_eq!(stages.next(&metrics(10, 0), 10), None, "no spread at all");
        // The interval of the mean is 1025 ± 18.9: 1.84 %. That of the p99 is not known.
        assert_eq!(stages.next(&metrics(10, 50), 10), Some(20));
        assert_eq!(stages.next(&metrics(900, 400), 900), Some(1000), "the bound");
        assert_eq!(stages.next(&metrics(1000, 400), 1000), None);
    }

    #[test]
    fn what_was_reached_says_why_it_ended() {
        let stages = stages(1, 10, 20);
        let stopped =
            |runs, spread| stages.reached(&metrics(runs, spread), runs as usize).unwrap().stopped;
        assert_eq!(stopped(10, 0), Stopped::Precise);
        assert_eq!(stopped(20, 500), Stopped::MaxSeeds);
        assert_eq!(stopped(12, 500), Stopped::MaxTime);
        let reached = stages.reached(&metrics(12, 500), 12).unwrap();
        assert_eq!(reached.worst().unwrap().name, "latency_us.mean");
    }
}
