//! The documented JSON objects. `docs/simulate/json.md` describes every field: change both
//! together.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use crate::evaluation::{Claim, Figure, Outcome, Row};
use crate::experiment::Experiment;
use crate::metrics::{
    Metric, Metrics, metric_definitions, named_counts, run_metrics, total_counts,
};
use crate::precision::Precision;
use crate::repeated::Repeated;
use crate::runner::{Execution, combined_hash, mix};
use crate::setting::{CLUSTER, Point};
use crate::statement::{Judged, NotRun};
use crate::study::Study;
use crate::tail::TailAtScale;
use crate::theory::Theory;
use crate::warmup::Warmup;

/// Version of the form of both objects. It grows when a field changes its meaning or goes away.
pub const SCHEMA: u32 = 2;

/// What `slotcast sim --json` writes.
#[derive(Debug, Clone, Serialize)]
pub struct SimReport {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Version of the program.
    pub version: String,
    /// Name of the experiment.
    pub name: String,
    /// Its title, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The first seed.
    pub seed: u64,
    /// Every seed.
    pub seeds: Vec<u64>,
    /// Events over all runs.
    pub events: u64,
    /// Time that the whole experiment took.
    pub wall_time_s: f64,
    /// Events per second of that time, over all threads.
    pub events_per_s: f64,
    /// Hash over the trace hashes of all runs, in hexadecimal.
    pub trace_hash: String,
    /// The metrics that have an interval, with unit and direction.
    pub metric_definitions: Vec<Metric>,
    /// The one point of an experiment without a sweep.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub point: Option<PointReport>,
    /// The points of a sweep.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub points: Option<Vec<PointReport>>,
}

/// What one point of an experiment found.
#[derive(Debug, Clone, Serialize)]
pub struct PointReport {
    /// The settings that the sweep varies; nothing without one.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sweep: BTreeMap<&'static str, String>,
    /// Every setting with its value, as an experiment file would say it.
    pub configuration: BTreeMap<&'static str, String>,
    /// Over the seeds.
    pub metrics: Metrics,
    /// Sums over the seeds.
    pub counts: BTreeMap<&'static str, u64>,
    /// How much of the start was left out, and whether that is enough.
    pub warmup: Warmup,
    /// How precise the headline figures are, if a precision was wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub precision: Option<Precision>,
    /// What a request sees that needs several answers, each as long as a request here.
    pub tail_at_scale: Vec<TailAtScale>,
    /// What theory says beside it.
    pub theory: Theory,
    /// One entry per seed.
    pub runs: Vec<RunSummary>,
}

/// One run of a point.
#[derive(Debug, Clone, Serialize)]
pub struct RunSummary {
    /// Its seed.
    pub seed: u64,
    /// Events executed.
    pub events: u64,
    /// Time that it took on its thread.
    pub wall_time_s: f64,
    /// Events per second of that time.
    pub events_per_s: f64,
    /// Hash over all its events, in hexadecimal.
    pub trace_hash: String,
    /// Requests per second.
    pub chunks_per_s: f64,
    /// Mean latency in microseconds.
    pub mean_latency_us: f64,
    /// Every metric of this run by name; none where it had nothing to measure.
    pub metrics: BTreeMap<String, Option<f64>>,
    /// What happened in it.
    pub counts: BTreeMap<&'static str, u64>,
}

fn hex(hash: u64) -> String {
    format!("{hash:016x}")
}

fn per_second(events: u64, wall: Duration) -> f64 {
    events as f64 / wall.as_secs_f64()
}

impl SimReport {
    /// Over the runs of `experiment`, one list per point, that took `wall` together.
    pub fn new(
        version: &str,
        experiment: &Experiment,
        runs: &[Vec<Execution>],
        wall: Duration,
    ) -> SimReport {
        let points = experiment.points.iter().zip(runs);
        let points = points.map(|(point, runs)| PointReport::new(experiment, point, runs));
        SimReport::over(version, experiment, points.collect(), runs, wall)
    }

    /// Over a study that took `wall`.
    pub fn of_study(version: &str, study: &Study, wall: Duration) -> SimReport {
        SimReport::over(version, &study.experiment, study.points.clone(), &study.runs, wall)
    }

    fn over(
        version: &str,
        experiment: &Experiment,
        mut points: Vec<PointReport>,
        runs: &[Vec<Execution>],
        wall: Duration,
    ) -> SimReport {
        let all = || runs.iter().flatten().map(|run| &run.report);
        let events = all().map(|report| report.events).sum();
        let most = runs.iter().max_by_key(|runs| runs.len()).map_or(&[][..], Vec::as_slice);
        SimReport {
            schema: SCHEMA,
            version: version.into(),
            name: experiment.name.clone(),
            title: experiment.title.clone(),
            seed: experiment.seeds.first,
            seeds: most.iter().map(|run| run.report.seed).collect(),
            events,
            wall_time_s: wall.as_secs_f64(),
            events_per_s: per_second(events, wall),
            trace_hash: hex(combined_hash(all())),
            metric_definitions: metric_definitions(),
            point: if experiment.is_sweep { None } else { points.pop() },
            points: experiment.is_sweep.then_some(points),
        }
    }

    /// The points, with a sweep or without.
    pub fn all_points(&self) -> impl Iterator<Item = &PointReport> {
        self.point.iter().chain(self.points.iter().flatten())
    }
}

impl PointReport {
    /// Over the runs of `point`, one of `experiment`, which must still have their latencies.
    pub(crate) fn new(experiment: &Experiment, point: &Point, runs: &[Execution]) -> PointReport {
        let reports: Vec<_> = runs.iter().map(|run| &run.report).collect();
        let configuration = experiment.configuration(point);
        let metrics = Metrics::of(&reports);
        PointReport {
            sweep: point.swept.iter().map(|(key, value)| (*key, value.to_string())).collect(),
            configuration: CLUSTER
                .settings
                .iter()
                .map(|setting| (setting.key, setting.text(&configuration)))
                .collect(),
            counts: total_counts(&reports).into_iter().collect(),
            warmup: Warmup::new(
                experiment.statistics.warmup,
                &point.scenario,
                &runs.iter().map(|run| &run.batches).collect::<Vec<_>>(),
                point.scenario.run.length,
                metrics.latency_us.mean,
            ),
            metrics,
            precision: None,
            tail_at_scale: TailAtScale::of_runs(
                &reports.iter().map(|r| r.latencies.both().to_vec()).collect::<Vec<_>>(),
            ),
            theory: Theory::of(&reports),
            runs: runs.iter().map(RunSummary::new).collect(),
        }
    }
}

impl RunSummary {
    fn new(run: &Execution) -> RunSummary {
        let report = &run.report;
        RunSummary {
            seed: report.seed,
            events: report.events,
            wall_time_s: run.wall.as_secs_f64(),
            events_per_s: per_second(report.events, run.wall),
            trace_hash: hex(report.trace_hash),
            chunks_per_s: report.chunks_per_s,
            mean_latency_us: report.latency.mean,
            metrics: run_metrics(report),
            counts: named_counts(&report.counts).into_iter().collect(),
        }
    }
}

/// What `slotcast reproduce --json` writes.
#[derive(Debug, Clone, Serialize)]
pub struct ReproduceReport {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Version of the program.
    pub version: String,
    /// Names of the evaluations.
    pub names: Vec<&'static str>,
    /// Number of runs.
    pub runs: usize,
    /// Events over all runs.
    pub events: u64,
    /// Time that everything took.
    pub wall_time_s: f64,
    /// Events per second of that time, over all threads.
    pub events_per_s: f64,
    /// Hash over the trace hashes of all runs, in hexadecimal.
    pub trace_hash: String,
    /// How each evaluation came out.
    pub repeated: Vec<Repeated>,
    /// Every figure, published and measured.
    pub rows: Vec<Row>,
    /// Everything that was judged, and whether it holds.
    pub claims: Vec<Claim>,
    /// What the sources say, in their words, with verdicts; then what they do not say.
    pub statements: Vec<Judged>,
    /// What was published and is not repeated, with reasons.
    pub not_run: Vec<NotRun>,
    /// Data of the pictures.
    pub figures: BTreeMap<&'static str, Figure>,
}

impl ReproduceReport {
    /// Over evaluations that took `wall` together.
    pub fn new(version: &str, outcomes: Vec<Outcome>, wall: Duration) -> ReproduceReport {
        let events = outcomes.iter().map(|outcome| outcome.events).sum();
        let hash = outcomes.iter().map(|outcome| outcome.trace_hash).reduce(mix);
        let mut report = ReproduceReport {
            schema: SCHEMA,
            version: version.into(),
            names: Vec::new(),
            runs: outcomes.iter().map(|outcome| outcome.runs).sum(),
            events,
            wall_time_s: wall.as_secs_f64(),
            events_per_s: per_second(events, wall),
            trace_hash: hex(hash.unwrap_or(0)),
            repeated: outcomes.iter().map(Repeated::of).collect(),
            rows: Vec::new(),
            claims: Vec::new(),
            statements: outcomes.iter().flat_map(Outcome::judged).collect(),
            not_run: outcomes.iter().flat_map(|outcome| outcome.not_run).copied().collect(),
            figures: BTreeMap::new(),
        };
        for outcome in outcomes {
            report.names.push(outcome.name);
            report.rows.extend(outcome.findings.rows);
            report.claims.extend(outcome.claims);
            report.figures.extend(outcome.findings.figures);
        }
        report
    }
}
