//! How a run went over time, for the charts of a report: disks and links in bins, and a timeline of
//! reservations.
//!
//! Nothing is sampled: what falls into a bin is integrated from the times at which it began and ended.

use slotcast_lab::{InputError, Progress, Watch};
use slotcast_sim::{Observation, Observer, Place, RunReport, Scenario, measured_until};
use slotcast_units::{Rate, Time};

use crate::timeline::{Timeline, TimelineSpec};

/// Most bins that a series has; more than that no screen shows.
pub const MAX_BINS: usize = 2000;

/// What to keep of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeriesSpec {
    /// Number of equal bins over the whole run, warm-up included; cut to 1 to [`MAX_BINS`].
    pub bins: usize,
    /// Which reservations to keep.
    pub timeline: TimelineSpec,
}

impl SeriesSpec {
    /// 200 bins, and the reservations of [`TimelineSpec::after_warmup`].
    pub fn new(scenario: &Scenario) -> SeriesSpec {
        SeriesSpec { bins: 200, timeline: TimelineSpec::after_warmup(scenario) }
    }
}

/// A run over time. All vectors have one value per bin.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSeries {
    /// The middle of each bin, in milliseconds of simulated time.
    pub time_ms: Vec<f64>,
    /// Part of the time in which a disk is busy, from 0 to 1; of several disks of a target their mean.
    pub disk_utilization: MeanAndMax,
    /// Chunks at a disk, the one in service included; of several disks of a target their mean.
    pub disk_queue_length: MeanAndMax,
    /// Payload that arrives at a target's port over what the usable link rate could carry. A flow whose
    /// rate is changed too late may make it more than 1 for a moment.
    pub link_in_utilization: MeanAndMax,
    /// Payload that leaves a target's port over what the usable link rate could carry.
    pub link_out_utilization: MeanAndMax,
    /// Reservations of some targets for some time.
    pub timeline: Timeline,
}

/// The mean over the targets and the largest of them, bin by bin.
#[derive(Debug, Clone, PartialEq)]
pub struct MeanAndMax {
    /// The mean over all targets.
    pub mean: Vec<f64>,
    /// The target with the most in this bin, not always the same.
    pub max: Vec<f64>,
}

/// Runs `scenario` with `seed`, and keeps what `spec` says. The report is that of
/// [`slotcast_sim::run`].
///
/// Takes 32 bytes per target and bin, and so many rows as the timeline allows, however long the run.
///
/// # Errors
/// If the scenario cannot be run.
pub fn collect_series(
    scenario: &Scenario,
    seed: u64,
    spec: &SeriesSpec,
    progress: Progress<'_>,
) -> Result<(RunReport, RunSeries), Box<InputError>> {
    let watch = Watch::new(scenario, progress);
    let mut collector = Collector { series: SeriesCollector::new(scenario, spec), watch };
    let report = slotcast_sim::run_observed(scenario, seed, &mut collector)
        .map_err(|error| InputError::plain(format!("this cannot be run: {error}")))?;
    collector.watch.finish();
    Ok((report, collector.series.finish()))
}

struct Collector<'a> {
    series: SeriesCollector,
    watch: Watch<'a>,
}

impl Observer for Collector<'_> {
    fn progress(&mut self, reached: Time) {
        self.watch.progress(reached);
    }

    fn wants_observations(&self) -> bool {
        true
    }

    fn observe(&mut self, observation: Observation) {
        self.series.observe(observation);
    }
}

/// The observer behind [`collect_series`].
#[derive(Debug)]
pub struct SeriesCollector {
    usable: Rate,
    disks_per_target: f64,
    disk_busy: Binned,
    at_disk: Binned,
    bits_in: Binned,
    bits_out: Binned,
    timeline: Timeline,
}

impl SeriesCollector {
    /// For one run of `scenario`.
    pub fn new(scenario: &Scenario, spec: &SeriesSpec) -> SeriesCollector {
        let end = measured_until(scenario);
        let binned = Binned::new(end, spec.bins.clamp(1, MAX_BINS), scenario.cluster.targets);
        SeriesCollector {
            usable: scenario.network.usable_rate(),
            disks_per_target: f64::from(scenario.disk.per_target),
            disk_busy: binned.clone(),
            at_disk: binned.clone(),
            bits_in: binned.clone(),
            bits_out: binned,
            timeline: Timeline::new(spec.timeline),
        }
    }

    /// What was collected.
    pub fn finish(self) -> RunSeries {
        let width = self.disk_busy.width;
        let bits = width * self.usable.as_bps() as f64 / 1e9;
        let middle = |bin: usize| (bin as f64 + 0.5) * width / 1e6;
        RunSeries {
            time_ms: (0..self.disk_busy.bins).map(middle).collect(),
            disk_utilization: self.disk_busy.over(width * self.disks_per_target),
            disk_queue_length: self.at_disk.over(width * self.disks_per_target),
            link_in_utilization: self.bits_in.over(bits),
            link_out_utilization: self.bits_out.over(bits),
            timeline: self.timeline.finish(),
        }
    }
}

impl Observer for SeriesCollector {
    fn wants_observations(&self) -> bool {
        true
    }

    fn observe(&mut self, observation: Observation) {
        let span = |begin: Time, end: Time| (end - begin).as_ns() as f64;
        match observation {
            Observation::Disk { target, queued, begin, end, .. } => {
                self.disk_busy.add(target, begin, end, span(begin, end));
                self.at_disk.add(target, queued, end, span(queued, end));
            }
            Observation::Received { to: Place::Target(target), course, .. } => {
                for piece in course.pieces() {
                    self.bits_in.add(target, piece.begin, piece.end, piece.size.as_bits() as f64);
                }
            }
            Observation::Sent { from: Place::Target(target), course, .. } => {
                for piece in course.pieces() {
                    self.bits_out.add(target, piece.begin, piece.end, piece.size.as_bits() as f64);
                }
            }
            Observation::WindowClosed(window) => self.timeline.add(&window),
            _ => {}
        }
    }
}

/// An amount per target and bin.
#[derive(Debug, Clone)]
struct Binned {
    bins: usize,
    /// Of a bin, in ns.
    width: f64,
    end: f64,
    /// The bins of the first target, those of the second, and so on.
    amounts: Vec<f64>,
}

impl Binned {
    fn new(end: Time, bins: usize, targets: u32) -> Binned {
        let end = end.as_ns() as f64;
        let width = end / bins as f64;
        Binned { bins, width, end, amounts: vec![0.0; bins * targets as usize] }
    }

    /// Spreads `amount` evenly over the time from `begin` to `end`. What lies after the end of the run
    /// is left out.
    fn add(&mut self, target: u32, begin: Time, end: Time, amount: f64) {
        let (begin, end) = (begin.as_ns() as f64, end.as_ns() as f64);
        if begin >= self.end {
            return;
        }
        let per_ns = amount / (end - begin).max(1.0);
        let until = end.min(self.end);
        let offset = target as usize * self.bins;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below `bins`")]
        let first = ((begin / self.width) as usize).min(self.bins - 1);
        for bin in first..self.bins {
            let (from, to) = (bin as f64 * self.width, (bin + 1) as f64 * self.width);
            if from >= until {
                break;
            }
            let overlap = (until.min(to) - begin.max(from)).max(0.0);
            self.amounts[offset + bin] += overlap * per_ns;
        }
    }

    /// Mean and maximum over the targets of the amounts over `full`.
    fn over(&self, full: f64) -> MeanAndMax {
        let targets = || self.amounts.chunks_exact(self.bins);
        let of = |fold: &dyn Fn(f64, f64) -> f64, over: f64| {
            let bin = |bin: usize| targets().map(|t| t[bin]).fold(0.0, fold) / over;
            (0..self.bins).map(bin).collect()
        };
        let mean = of(&|sum, amount| sum + amount, full * targets().len() as f64);
        MeanAndMax { mean, max: of(&f64::max, full) }
    }
}
