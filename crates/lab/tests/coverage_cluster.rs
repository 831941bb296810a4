//! Whether 95 % intervals of simulated clusters are what they say: of every metric, for Replicast-M and
//! Replicast-H, in a closed and in an open loop. The truth is that of all runs of all repetitions together.
//!
//! The short test has 100 repetitions of small clusters. The long one has the 200 repetitions of ten runs
//! that docs/simulate/statistics.md speaks of: `cargo test -p slotcast-lab --test coverage_cluster --
//! --ignored --nocapture` prints its table.

use slotcast_lab::{
    Completions, Estimate, Experiment, LatencyMetrics, Metrics, Runner, metric_definitions,
};
use slotcast_sim::RunReport;

/// How often, with how many seeds, and of what size.
#[derive(Debug, Clone, Copy)]
struct Effort {
    repetitions: usize,
    seeds: usize,
    /// Initiators and targets.
    nodes: u32,
    /// Of a run, with a fifth of it before as warm-up.
    measured_ms: u32,
    /// Parts of the intervals that may hold the truth.
    allowed: (f64, f64),
}

const SHORT: Effort =
    Effort { repetitions: 100, seeds: 6, nodes: 18, measured_ms: 100, allowed: (0.88, 1.0) };
const LONG: Effort =
    Effort { repetitions: 200, seeds: 10, nodes: 18, measured_ms: 100, allowed: (0.91, 1.0) };

fn experiment(protocol: &str, load: &str, effort: Effort) -> Experiment {
    let Effort { nodes, measured_ms, .. } = effort;
    let warmup = measured_ms / 5;
    let load = match load {
        "open" => format!(
            "load = \"open\"\nwindow = 8\narrivals_per_s = {}\n",
            // Two thirds of what the disks can do.
            nodes * 667
        ),
        load => format!("load = \"{load}\"\n"),
    };
    let text = format!(
        "[cluster]\ninitiators = {nodes}\ntargets = {nodes}\n[protocol]\nkind = \"{protocol}\"\n\
         [workload]\n{load}[run]\nlength = \"{}ms\"\nwarmup = \"{warmup}ms\"\n\
         [seeds]\ncount = {}\n",
        measured_ms + warmup,
        effort.repetitions * effort.seeds,
    );
    Experiment::from_toml("coverage.toml", &text, &[]).expect("a right experiment")
}

/// The metric called `name`.
fn metric(metrics: &Metrics, name: &str) -> Option<Estimate> {
    let latency = |latency: &LatencyMetrics, part: &str| {
        let parts = latency.parts();
        let part = if part == "p999" { "p99.9" } else { part };
        parts.into_iter().find(|(name, _)| *name == part).map(|(_, estimate)| estimate)
    };
    match name.split_once('.') {
        Some(("latency_us", part)) => latency(&metrics.latency_us, part),
        Some(_) => None,
        None => Some(match name {
            "chunks_per_s" => metrics.chunks_per_s,
            "disk_utilization" => metrics.disk_utilization,
            "disk_queue_length" => metrics.disk_queue_length,
            "disk_wait_us" => metrics.disk_wait_us,
            "link_utilization" => metrics.link_utilization,
            other => panic!("{other} is new: say where it is"),
        }),
    }
}

/// Checks every metric, and says in how many repetitions it has an interval, and in how many of those
/// that holds the truth.
fn check(protocol: &str, load: &str, effort: Effort) {
    let experiment = experiment(protocol, load, effort);
    let runner = Runner::new(None).expect("threads");
    let runs = runner
        .run(&experiment.points, experiment.seeds, Completions::Drop, &|_| ())
        .expect("it can be run");
    let reports: Vec<&RunReport> = runs[0].iter().map(|run| &run.report).collect();
    let truth = Metrics::of(&reports);
    let found: Vec<Metrics> = reports.chunks(effort.seeds).map(Metrics::of).collect();
    let mut wrong = Vec::new();
    for definition in metric_definitions() {
        let Some(truth) = metric(&truth, &definition.name) else { continue };
        let found = found.iter().filter_map(|metrics| metric(metrics, &definition.name));
        let known: Vec<_> = found.filter_map(|found| Some((found.value, found.ci95?))).collect();
        let held =
            known.iter().filter(|(value, half)| (value - truth.value).abs() <= *half).count();
        let part = held as f64 / known.len() as f64;
        let line = format!(
            "{protocol} {load:6} {:22} {:10.4} known {:3} of {}, held by {:5.1} %",
            definition.name,
            truth.value,
            known.len(),
            effort.repetitions,
            part * 100.0
        );
        println!("{line}");
        // Where an interval is rare, the part of those that hold says nothing.
        let (least, most) = effort.allowed;
        if known.len() * 2 >= effort.repetitions && !(least..=most).contains(&part) {
            wrong.push(line);
        }
        let is_quantile = definition.name.starts_with("latency_us.p");
        if !is_quantile && known.len() < effort.repetitions {
            wrong.push(format!("{} has no interval", definition.name));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

fn check_all(effort: Effort) {
    for protocol in ["replicast-m", "replicast-h"] {
        for load in ["closed", "open"] {
            check(protocol, load, effort);
        }
    }
}

#[test]
fn intervals_of_every_metric_hold_the_truth_in_both_loops() {
    check_all(SHORT);
}

#[test]
#[ignore = "it takes minutes"]
fn intervals_of_every_metric_hold_the_truth_with_ten_seeds() {
    check_all(LONG);
}
