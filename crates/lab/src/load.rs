//! What a load on a real store measured, in the form and under the names of a simulation.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;
use slotcast_sim::{PooledLatencies, SortedLatencies};
use slotcast_units::Span;

use crate::estimate::Estimate;
use crate::metrics::{LatencyMetrics, Metric, latency_metrics, metric_definitions};
use crate::report::SCHEMA;

/// Stretches of equal length that a load is cut into: what they differ by says how far its figures can
/// be trusted (batch means; A. M. Law: Simulation Modeling and Analysis, 9.5.3).
pub const SECTIONS: u32 = 10;

/// One request that ended well while the load was measured.
#[derive(Debug, Clone, Copy)]
pub struct Served {
    /// When it ended, from the beginning of the measurement.
    pub at: Duration,
    /// How long it took.
    pub latency: Duration,
}

/// What `slotcast bench --json` writes; `slotcast compare` reads it beside results of `sim`.
#[derive(Debug, Clone, Serialize)]
pub struct LoadReport {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Version of the program.
    pub version: String,
    /// `bench-put` or `bench-get`.
    pub name: String,
    /// The numbers of the sections, in the place of seeds.
    pub seeds: Vec<u64>,
    /// Time that was measured.
    pub wall_time_s: f64,
    /// The metrics below, with unit and direction.
    pub metric_definitions: Vec<Metric>,
    /// What was asked for.
    pub configuration: BTreeMap<&'static str, String>,
    /// Over all sections.
    pub metrics: LoadMetrics,
    /// Requests by how they ended.
    pub counts: BTreeMap<&'static str, u64>,
    /// One entry per section.
    pub runs: Vec<Section>,
}

/// The metrics of a simulation that can be seen from outside.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct LoadMetrics {
    /// Requests completed per second.
    pub chunks_per_s: Estimate,
    /// Their latency in microseconds.
    pub latency_us: LatencyMetrics,
}

/// One of [`SECTIONS`] stretches.
#[derive(Debug, Clone, Serialize)]
pub struct Section {
    /// Its number, from 1.
    pub seed: u64,
    /// Its figures by name; none where nothing ended.
    pub metrics: BTreeMap<String, Option<f64>>,
}

impl LoadReport {
    /// Over requests `served` within `measured`, and `failures` beside them.
    pub fn new(
        version: &str,
        operation: &'static str,
        configuration: BTreeMap<&'static str, String>,
        served: &[Served],
        failures: u64,
        measured: Duration,
    ) -> LoadReport {
        let length = measured / SECTIONS;
        let in_section = |section: u32| {
            let from = length * section;
            let is_in = move |one: &&Served| one.at >= from && one.at < from + length;
            let latencies = served.iter().filter(is_in).map(|one| span(one.latency));
            SortedLatencies::of(latencies)
        };
        let sets: Vec<_> = (0..SECTIONS).map(in_section).collect();
        let summaries: Vec<_> =
            sets.iter().map(|set| PooledLatencies::of([set]).summary()).collect();
        let rates: Vec<_> =
            sets.iter().map(|set| set.len() as f64 / length.as_secs_f64()).collect();
        let each: Vec<_> = sets.iter().map(|set| PooledLatencies::of([set])).collect();
        let means: Vec<_> = summaries.iter().collect();
        let latency_us = LatencyMetrics::of(&PooledLatencies::of(&sets), &each, &means);
        let runs = (1..).zip(rates.iter().zip(&summaries));
        let runs = runs.map(|(seed, (rate, latency))| {
            let rate = ("chunks_per_s".to_owned(), Some(*rate));
            let metrics = std::iter::once(rate).chain(latency_metrics("latency_us", latency));
            Section { seed, metrics: metrics.collect() }
        });
        let known = |metric: &Metric| {
            metric.name == "chunks_per_s" || metric.name.starts_with("latency_us.")
        };
        LoadReport {
            schema: SCHEMA,
            version: version.into(),
            name: format!("bench-{operation}"),
            seeds: (1..=u64::from(SECTIONS)).collect(),
            wall_time_s: measured.as_secs_f64(),
            metric_definitions: metric_definitions().into_iter().filter(known).collect(),
            configuration,
            metrics: LoadMetrics { chunks_per_s: Estimate::of(&rates), latency_us },
            counts: [
                (if operation == "put" { "puts" } else { "gets" }, served.len() as u64),
                ("failures", failures),
            ]
            .into(),
            runs: runs.collect(),
        }
    }
}

fn span(duration: Duration) -> Span {
    Span::from_ns(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_even_load_has_the_figures_of_every_section() {
        let served: Vec<_> = (0..1000)
            .map(|n| Served {
                at: Duration::from_millis(n * 10),
                latency: Duration::from_micros(100 + n % 10 * 10),
            })
            .collect();
        let report =
            LoadReport::new("1", "put", BTreeMap::new(), &served, 3, Duration::from_secs(10));
        assert_eq!(report.metrics.chunks_per_s.value, 100.0);
        assert_eq!(report.metrics.chunks_per_s.ci95, Some(0.0));
        assert!((report.metrics.latency_us.mean.value - 145.0).abs() < 1e-9);
        assert_eq!(report.metrics.latency_us.max.value, 190.0);
        assert_eq!((report.counts["puts"], report.counts["failures"]), (1000, 3));
        assert_eq!(report.runs.len(), 10);
        let names: Vec<_> = report.metric_definitions.iter().map(|m| m.name.as_ref()).collect();
        assert!(names.iter().all(|name| report.runs[0].metrics.contains_key(*name)), "{names:?}");
    }

    #[test]
    fn a_load_of_which_nothing_ended_has_no_latency() {
        let report = LoadReport::new("1", "get", BTreeMap::new(), &[], 5, Duration::from_secs(1));
        assert_eq!(report.metrics.chunks_per_s.value, 0.0);
        assert!(report.metrics.latency_us.mean.value.is_nan());
        assert_eq!(report.runs[3].metrics["latency_us.p99"], None);
    }
}
