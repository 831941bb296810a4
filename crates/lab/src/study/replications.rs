//! The runs of each point, from the first one to the report.

use slotcast_sim::Latencies;

use crate::configuration::Seeds;
use crate::experiment::Experiment;
use crate::metrics::Metrics;
use crate::precision::{Precision, Reached, Stages};
use crate::report::PointReport;
use crate::runner::{Completions, Execution, Job};
use crate::setting::Point;
use crate::warmup::{Batches, Pilots};

/// The runs of a point, as they come in.
pub(super) struct Replications<'a> {
    experiment: &'a Experiment,
    point: &'a Point,
    pilots: Option<&'a Pilots>,
    stages: Stages,
    completions: Completions,
    /// In any order.
    runs: Vec<Execution>,
    /// How many runs make the stage complete.
    wanted: u32,
    /// What was found, once there are runs enough.
    report: Option<PointReport>,
}

impl<'a> Replications<'a> {
    pub(super) fn new(
        experiment: &'a Experiment,
        point: &'a Point,
        pilots: Option<&'a Pilots>,
        completions: Completions,
    ) -> Replications<'a> {
        let Experiment { seeds, statistics, .. } = *experiment;
        let stages = Stages { seeds, statistics };
        let (runs, wanted) = (Vec::new(), stages.first());
        Replications { experiment, point, pilots, stages, completions, runs, wanted, report: None }
    }

    /// The runs that this stage still wants, with their place among all runs of the point.
    pub(super) fn missing(&self) -> impl Iterator<Item = (usize, Job<'a>)> + use<'a> {
        let wanted = if self.report.is_none() { self.wanted } else { 0 };
        let seeds = Seeds { count: wanted, ..self.stages.seeds };
        let scenario = &self.point.scenario;
        let missing = seeds.iter().enumerate().skip(self.runs.len());
        missing.map(move |(nth, seed)| (nth, Job { scenario, seed }))
    }

    /// Takes in a run; the last one of a stage decides how it goes on.
    pub(super) fn add(&mut self, execution: Execution) {
        self.runs.push(execution);
        if self.runs.len() < self.wanted as usize {
            return;
        }
        self.in_order();
        match self.stages.next(&self.metrics(), self.wanted) {
            Some(wanted) => self.wanted = wanted,
            None => self.sum_up(),
        }
    }

    /// Puts the runs into the order of their seeds, and drops what comes after a gap.
    fn in_order(&mut self) {
        let first = self.stages.seeds.first;
        self.runs.sort_by_key(|run| run.report.seed.wrapping_sub(first));
        let nth = |run: &Execution| run.report.seed.wrapping_sub(first);
        let kept = self.runs.iter().zip(0u64..).take_while(|(run, n)| nth(run) == *n).count();
        self.runs.truncate(kept);
    }

    fn metrics(&self) -> Metrics {
        Metrics::of(&self.runs.iter().map(|run| &run.report).collect::<Vec<_>>())
    }

    /// The figure that keeps the runs going.
    pub(super) fn least_precise(&self) -> Option<Reached> {
        if self.report.is_some() {
            return None;
        }
        self.precision(&self.metrics())?.worst()
    }

    fn precision(&self, metrics: &Metrics) -> Option<Precision> {
        self.stages.reached(metrics, self.runs.len())
    }

    /// Makes the report, and frees what only it needed.
    fn sum_up(&mut self) {
        let mut report = PointReport::new(self.experiment, self.point, &self.runs);
        report.precision = self.precision(&report.metrics);
        if let Some(pilots) = self.pilots {
            let mean_latency = report.metrics.latency_us.mean;
            report.warmup = pilots.judge(&self.point.scenario, mean_latency);
        }
        self.report = Some(report);
        if self.completions == Completions::Drop {
            for run in &mut self.runs {
                run.report.latencies = Latencies::default();
                run.batches = Batches::default();
            }
        }
    }

    /// What was found, and the runs behind it.
    pub(super) fn end(mut self) -> (PointReport, Vec<Execution>) {
        if self.report.is_none() {
            // Time is over, and the stage is not complete.
            self.in_order();
            self.sum_up();
        }
        (self.report.expect("it was summed up"), self.runs)
    }
}
