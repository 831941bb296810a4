//! What a point measured, over all its seeds. The names are the same in every experiment.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use slotcast_sim::{Counts, Latency, PooledLatencies, RunReport, SortedLatencies};

use crate::estimate::Estimate;
use crate::quantile::quantile;

/// Which way a metric gets better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// Less is better: latency.
    Lower,
    /// More is better: throughput.
    Higher,
    /// Neither: a utilisation.
    Neither,
}

/// What a metric is called, and how it is read. Whatever deals with metrics by this alone works for
/// any model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metric {
    /// Its place in a point's `metrics`, and its name in a run's: `latency_us.p99`.
    pub name: Cow<'static, str>,
    /// Its unit; `share` is a part of a whole, from 0 to 1.
    pub unit: Cow<'static, str>,
    /// Which way it gets better.
    pub better: Better,
}

/// The metrics of one point over all its runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Metrics {
    /// Requests completed per second.
    pub chunks_per_s: Estimate,
    /// Latency of all requests in microseconds.
    pub latency_us: LatencyMetrics,
    /// Latency of puts, if there were any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub put_latency_us: Option<LatencyMetrics>,
    /// Latency of gets, if there were any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub get_latency_us: Option<LatencyMetrics>,
    /// Part of the time in which a disk is busy, from 0 to 1.
    pub disk_utilization: Estimate,
    /// Chunks at a disk, the one in service included.
    pub disk_queue_length: Estimate,
    /// Time that a chunk waits for its disk, in microseconds.
    pub disk_wait_us: Estimate,
    /// Payload received over what a target's link could carry, from 0 to 1.
    pub link_utilization: Estimate,
}

/// Mean and quantiles of a latency. The mean is one over the runs; a quantile is that of all requests
/// of all runs together. A quantile of several runs without an interval is not known at this length: too
/// few requests took longer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LatencyMetrics {
    /// Arithmetic mean.
    pub mean: Estimate,
    /// Median.
    pub p50: Estimate,
    /// 90th percentile.
    pub p90: Estimate,
    /// 99th percentile.
    pub p99: Estimate,
    /// 99.9th percentile.
    pub p999: Estimate,
    /// Longest of all. More runs find a longer one, so there is nothing for an interval to hold.
    pub max: Estimate,
}

impl LatencyMetrics {
    /// Of all that `pool` holds; `runs` are the same requests run by run, and `means` their means. Runs
    /// that completed nothing have no latency at all, not one of zero.
    pub(crate) fn of(
        pool: &PooledLatencies<'_>,
        runs: &[PooledLatencies<'_>],
        means: &[&Latency],
    ) -> LatencyMetrics {
        let means = means.iter().filter(|latency| latency.count > 0).map(|latency| latency.mean);
        let count = pool.count();
        let nothing = Estimate { value: f64::NAN, ci95: None };
        let at = |per_mille: usize| match count {
            0 => nothing,
            _ => {
                let rank = (count * per_mille).div_ceil(1000);
                quantile(pool, runs, rank, per_mille as f64 / 1000.0)
            }
        };
        let longest = if count > 0 { pool.ranked(count).as_us_f64() } else { f64::NAN };
        LatencyMetrics {
            mean: Estimate::of(&means.collect::<Vec<_>>()),
            p50: at(500),
            p90: at(900),
            p99: at(990),
            p999: at(999),
            max: Estimate { value: longest, ci95: None },
        }
    }
}

impl LatencyMetrics {
    /// Every figure with its name for people.
    pub fn parts(&self) -> [(&'static str, Estimate); 6] {
        [
            ("mean", self.mean),
            ("p50", self.p50),
            ("p90", self.p90),
            ("p99", self.p99),
            ("p99.9", self.p999),
            ("max", self.max),
        ]
    }
}

/// Which latencies of a run are meant.
type Sets = fn(&RunReport) -> Vec<&SortedLatencies>;
type Summary = fn(&RunReport) -> &Latency;

/// The latencies of a point, with their place in [`Metrics`].
const POPULATIONS: [(&str, Sets, Summary); 3] = [
    ("latency_us", |r| r.latencies.both().to_vec(), |r| &r.latency),
    ("put_latency_us", |r| vec![&r.latencies.puts], |r| &r.put_latency),
    ("get_latency_us", |r| vec![&r.latencies.gets], |r| &r.get_latency),
];

impl Metrics {
    /// Over the runs of one point, which must still have their latencies.
    pub fn of(runs: &[&RunReport]) -> Metrics {
        let over = |of: fn(&RunReport) -> f64| {
            Estimate::of(&runs.iter().map(|run| of(run)).collect::<Vec<_>>())
        };
        let [all, puts, gets] = POPULATIONS.map(|(_, sets, summary)| {
            let summaries: Vec<_> = runs.iter().map(|run| summary(run)).collect();
            let pool = PooledLatencies::of(runs.iter().flat_map(|run| sets(run)));
            let each: Vec<_> = runs.iter().map(|run| PooledLatencies::of(sets(run))).collect();
            let any = summaries.iter().any(|s| s.count > 0);
            (any, LatencyMetrics::of(&pool, &each, &summaries))
        });
        let if_any = |(any, latency): (bool, LatencyMetrics)| any.then_some(latency);
        Metrics {
            chunks_per_s: over(|r| r.chunks_per_s),
            latency_us: all.1,
            put_latency_us: if_any(puts),
            get_latency_us: if_any(gets),
            disk_utilization: over(|r| r.disk_utilization),
            disk_queue_length: over(|r| r.disk_queue_length),
            disk_wait_us: over(|r| r.disk_wait.measured),
            link_utilization: over(|r| r.link_utilization),
        }
    }

    /// The figure of the metric called `name`; none where nothing was measured.
    pub fn named(&self, name: &str) -> Option<Estimate> {
        let json = serde_json::to_value(self).expect("metrics are JSON");
        let place = name.split('.').try_fold(&json, |value, part| value.get(part))?;
        let number = |name| place.get(name).and_then(serde_json::Value::as_f64);
        Some(Estimate { value: number("value")?, ci95: number("ci95") })
    }

    /// The figures that `statistics.precision` is about, where there was something to measure.
    pub fn headline(&self) -> impl Iterator<Item = (&'static str, Estimate)> + use<> {
        let figures = [
            ("chunks_per_s", self.chunks_per_s),
            ("latency_us.mean", self.latency_us.mean),
            ("latency_us.p99", self.latency_us.p99),
        ];
        figures.into_iter().filter(|(_, figure)| figure.value > 0.0)
    }
}

/// A metric that is not a latency: name, unit, direction, and its value in one run.
type Plain = (&'static str, &'static str, Better, fn(&RunReport) -> f64);

const PLAIN: [Plain; 5] = [
    ("chunks_per_s", "1/s", Better::Higher, |r| r.chunks_per_s),
    ("disk_utilization", "share", Better::Neither, |r| r.disk_utilization),
    ("disk_queue_length", "chunks", Better::Neither, |r| r.disk_queue_length),
    ("disk_wait_us", "us", Better::Neither, |r| r.disk_wait.measured),
    ("link_utilization", "share", Better::Neither, |r| r.link_utilization),
];

/// A figure of a run's latency: its name, and whether it has an interval over the runs.
type Part = (&'static str, bool, fn(&Latency) -> f64);

const PARTS: [Part; 6] = [
    ("mean", true, |l| l.mean),
    ("p50", true, |l| l.p50),
    ("p90", true, |l| l.p90),
    ("p99", true, |l| l.p99),
    ("p999", true, |l| l.p999),
    ("max", false, |l| l.max),
];

/// The metrics that can be compared: those with an interval. What is said of puts and gets alone is
/// among them, for points that have both.
pub fn metric_definitions() -> Vec<Metric> {
    let plain = PLAIN.iter().map(|&(name, unit, better, _)| Metric {
        name: name.into(),
        unit: unit.into(),
        better,
    });
    let latencies = POPULATIONS.iter().flat_map(|(population, ..)| {
        PARTS.iter().filter(|(_, has_interval, _)| *has_interval).map(move |(part, ..)| Metric {
            name: format!("{population}.{part}").into(),
            unit: "us".into(),
            better: Better::Lower,
        })
    });
    let mut all: Vec<_> = plain.collect();
    all.splice(1..1, latencies);
    all
}

/// Every metric of one run by name; none where the run had nothing to measure. Puts and gets are told
/// apart only if the run has both.
pub fn run_metrics(run: &RunReport) -> BTreeMap<String, Option<f64>> {
    let mut metrics: BTreeMap<_, _> =
        PLAIN.iter().map(|(name, .., of)| ((*name).to_string(), Some(of(run)))).collect();
    let told = if run.put_latency.count > 0 && run.get_latency.count > 0 { 3 } else { 1 };
    for (population, _, summary) in &POPULATIONS[..told] {
        metrics.extend(latency_metrics(population, summary(run)));
    }
    metrics
}

/// The figures of one latency of a run by name; none where it had nothing to measure.
pub(crate) fn latency_metrics<'a>(
    population: &'a str,
    latency: &'a Latency,
) -> impl Iterator<Item = (String, Option<f64>)> + 'a {
    PARTS.iter().map(move |(part, _, of)| {
        (format!("{population}.{part}"), (latency.count > 0).then(|| of(latency)))
    })
}

/// The counts of a run by name.
pub fn named_counts(counts: &Counts) -> [(&'static str, u64); 13] {
    // Taken apart so that a new count cannot be forgotten here.
    let Counts {
        puts,
        gets,
        failures,
        abandoned,
        extra_rounds,
        messages_lost,
        transfer_conflicts,
        double_bookings,
        late_rejects,
        frames_marked,
        frames_dropped,
        retransmissions,
        timeouts,
    } = *counts;
    [
        ("puts", puts),
        ("gets", gets),
        ("failures", failures),
        ("abandoned", abandoned),
        ("extra_rounds", extra_rounds),
        ("messages_lost", messages_lost),
        ("transfer_conflicts", transfer_conflicts),
        ("double_bookings", double_bookings),
        ("late_rejects", late_rejects),
        ("frames_marked", frames_marked),
        ("frames_dropped", frames_dropped),
        ("retransmissions", retransmissions),
        ("timeouts", timeouts),
    ]
}

/// The counts with the numbers that `of` gives for their names.
pub(crate) fn counts_named(of: impl Fn(&str) -> u64) -> Counts {
    Counts {
        puts: of("puts"),
        gets: of("gets"),
        failures: of("failures"),
        abandoned: of("abandoned"),
        extra_rounds: of("extra_rounds"),
        messages_lost: of("messages_lost"),
        transfer_conflicts: of("transfer_conflicts"),
        double_bookings: of("double_bookings"),
        late_rejects: of("late_rejects"),
        frames_marked: of("frames_marked"),
        frames_dropped: of("frames_dropped"),
        retransmissions: of("retransmissions"),
        timeouts: of("timeouts"),
    }
}

/// The counts of some runs together.
pub fn total_counts(runs: &[&RunReport]) -> Vec<(&'static str, u64)> {
    let mut total = named_counts(&Counts::default());
    for run in runs {
        for (sum, (_, count)) in total.iter_mut().zip(named_counts(&run.counts)) {
            sum.1 += count;
        }
    }
    total.to_vec()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use slotcast_sim::{Completion, DiskWait, Latencies, Little, Operation};
    use slotcast_units::{Span, Time};

    /// A made-up report: `latencies` in microseconds, puts, one after another.
    pub(crate) fn report(seed: u64, latencies: &[u64]) -> RunReport {
        let spans = || latencies.iter().map(|&us| Span::from_us(us));
        let sorted = Latencies { puts: SortedLatencies::of(spans()), ..Latencies::default() };
        let summary = PooledLatencies::of(sorted.both()).summary();
        RunReport {
            seed,
            length: Span::from_ms(10),
            warmup: Span::ZERO,
            events: 100 * latencies.len() as u64,
            trace_hash: seed.wrapping_mul(0x9e37_79b9),
            chunks_per_s: latencies.len() as f64 * 100.0,
            latency: summary,
            put_latency: summary,
            get_latency: Latency::default(),
            disk_utilization: 0.5,
            disk_queue_length: 1.5,
            link_utilization: 0.25,
            disk_wait: DiskWait { measured: 20.0, at_random: Some(25.0) },
            requests: Little::default(),
            chunks_at_disks: Little::default(),
            counts: Counts { puts: latencies.len() as u64, ..Counts::default() },
            port_queues: None,
            completions: spans()
                .map(|span| Completion {
                    started: Time::ZERO,
                    finished: Time::ZERO + span,
                    operation: Operation::Put,
                })
                .collect(),
            latencies: sorted,
        }
    }

    #[test]
    fn means_are_over_runs_and_quantiles_over_requests() {
        let runs = [report(1, &[100, 200]), report(2, &[300, 400])];
        let metrics = Metrics::of(&runs.each_ref());
        assert_eq!(metrics.latency_us.mean.value, 250.0);
        assert!(metrics.latency_us.mean.ci95.unwrap() > 0.0);
        assert_eq!(metrics.latency_us.max, Estimate { value: 400.0, ci95: None });
        assert_eq!(metrics.latency_us.p50, Estimate { value: 200.0, ci95: None });
        assert_eq!(metrics.put_latency_us.unwrap().mean.value, 250.0);
        assert!(metrics.get_latency_us.is_none());
        assert_eq!(total_counts(&runs.each_ref())[0], ("puts", 4));
    }

    #[test]
    fn every_metric_of_a_run_is_defined_and_has_its_place_in_the_metrics() {
        let mut run = report(1, &[100, 200]);
        (run.get_latency, run.latencies.gets) = (run.latency, run.latencies.puts.clone());
        let metrics = serde_json::to_value(Metrics::of(&[&run])).unwrap();
        let told = run_metrics(&run);
        for Metric { name, .. } in metric_definitions() {
            let place = name.split('.').fold(&metrics, |value, part| &value[part]);
            assert_eq!(place["value"].as_f64(), told[name.as_ref()], "{name}");
            let named = Metrics::of(&[&run]).named(&name).map(|figure| figure.value);
            assert_eq!(named, told[name.as_ref()], "{name}");
        }
        assert_eq!(told.len(), metric_definitions().len() + 3, "all but the three maxima");
        assert!(!run_metrics(&report(1, &[100])).contains_key("put_latency_us.mean"));
        assert_eq!(run_metrics(&report(1, &[]))["latency_us.mean"], None);
    }

    #[test]
    fn a_run_without_requests_does_not_pull_the_latency_to_zero() {
        let runs = [report(1, &[]), report(2, &[300])];
        assert_eq!(Metrics::of(&runs.each_ref()).latency_us.mean.value, 300.0);
    }
}
