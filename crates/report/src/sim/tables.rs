//! Tables of metrics, counts and settings, and the same as data.

use slotcast_lab::setting::CLUSTER;
use slotcast_lab::{Configuration, Estimate, LatencyMetrics, Metrics, PointReport, SimReport};

use super::Results;
use crate::chart::{Mean, unit_text};
use crate::data::{self, Data};
use crate::number;
use crate::page::{Cell, Column, Table, Tone, numbers, words};

/// A metric of a point: what it is called, its mean, and its unit.
type Metric = (String, Mean, &'static str);

/// Every metric of a point, in the order of the tables. Parts of a whole are in percent.
fn all(metrics: &Metrics) -> Vec<Metric> {
    let percent = |part: Estimate| Mean {
        value: part.value * 100.0,
        ci95: part.ci95.map(|ci95| ci95 * 100.0),
    };
    let mut all = vec![("throughput".into(), Mean::from(metrics.chunks_per_s), "chunks/s")];
    let puts = metrics.put_latency_us.filter(|_| metrics.get_latency_us.is_some());
    all.extend(latency("latency", &metrics.latency_us));
    all.extend(puts.iter().flat_map(|puts| latency("put latency", puts)));
    all.extend(metrics.get_latency_us.iter().flat_map(|gets| latency("get latency", gets)));
    all.push(("disk utilisation".into(), percent(metrics.disk_utilization), "%"));
    all.push(("disk queue length".into(), metrics.disk_queue_length.into(), "chunks"));
    all.push(("wait for a disk".into(), metrics.disk_wait_us.into(), "us"));
    all.push(("link utilisation".into(), percent(metrics.link_utilization), "%"));
    all
}

fn latency(name: &str, of: &LatencyMetrics) -> Vec<Metric> {
    let parts = [
        ("mean", of.mean),
        ("p50", of.p50),
        ("p90", of.p90),
        ("p99", of.p99),
        ("p99.9", of.p999),
        ("longest", of.max),
    ];
    parts.map(|(part, value)| (format!("{name}, {part}"), value.into(), "us")).into()
}

pub(super) fn metrics(point: &PointReport) -> Table {
    let rows = all(&point.metrics).into_iter().map(|(name, mean, unit)| {
        vec![Cell::from(name), number::mean(mean).into(), unit_text(unit).into()]
    });
    Table {
        caption: "Metrics over the seeds".into(),
        columns: vec![words("metric"), numbers("value ± 95 %"), words("unit")],
        rows: rows.collect(),
        notes: vec![
            "Means are over the runs, quantiles over all requests of all runs together; the longest \
             latency has no interval, and a quantile has none where too few requests took longer."
                .into(),
        ],
        ..Table::default()
    }
}

pub(super) fn counts(point: &PointReport) -> Table {
    let happened = point.counts.iter().filter(|(name, count)| **count > 0 || **name == "failures");
    let rows = happened.map(|(name, &count)| {
        let is_bad = count > 0 && matches!(*name, "failures" | "transfer_conflicts");
        let tone = if is_bad { Tone::Bad } else { Tone::Plain };
        let text = number::count(usize::try_from(count).unwrap_or(usize::MAX));
        vec![name.replace('_', " ").into(), Cell { text, tone }]
    });
    Table {
        caption: "What happened, over all seeds, warm-up included".into(),
        columns: vec![words("event"), numbers("count")],
        rows: rows.collect(),
        ..Table::default()
    }
}

/// One row for each point of a sweep.
pub(super) fn points(results: &Results<'_>) -> Table {
    let swept: Vec<&str> = results
        .experiment
        .points
        .first()
        .map(|point| point.swept.iter().map(|(key, _)| *key).collect())
        .unwrap_or_default();
    let mut columns: Vec<Column> = swept.iter().map(|key| words(key)).collect();
    columns.extend(
        [
            "throughput (chunks/s)",
            "mean latency (µs)",
            "p99 (µs)",
            "disk utilisation (%)",
            "queue (chunks)",
            "link utilisation (%)",
            "failures",
        ]
        .map(numbers),
    );
    let wanted = ["throughput", "latency, mean", "latency, p99", "disk utilisation"];
    let wanted = wanted.into_iter().chain(["disk queue length", "link utilisation"]);
    let rows = results.report.all_points().map(|point| {
        let metrics = all(&point.metrics);
        let mut cells: Vec<Cell> =
            swept.iter().map(|key| Cell::from(point.sweep[key].as_str())).collect();
        cells.extend(wanted.clone().map(|name| {
            let found = metrics.iter().find(|(known, ..)| known == name);
            Cell::from(found.map_or("–".into(), |(_, mean, _)| number::mean(*mean)))
        }));
        let failures = point.counts.get("failures").copied().unwrap_or(0);
        let tone = if failures > 0 { Tone::Bad } else { Tone::Plain };
        cells.push(Cell { text: failures.to_string(), tone });
        cells
    });
    Table {
        caption: "Every point, over the seeds ± 95 %".into(),
        columns,
        rows: rows.collect(),
        ..Table::default()
    }
}

/// The settings that differ from their defaults, and all of them.
pub(super) fn settings(point: &PointReport) -> [Table; 2] {
    let defaults = Configuration::default();
    let default = |key: &str| CLUSTER.find(key).map(|setting| setting.text(&defaults));
    let table = |caption: &str, only_changed: bool| {
        let rows = point.configuration.iter().filter_map(|(key, value)| {
            let default = default(key).unwrap_or_default();
            let is_changed = *value != default && !point.sweep.contains_key(key);
            (is_changed || !only_changed)
                .then(|| vec![Cell::from(*key), value.as_str().into(), default.into()])
        });
        Table {
            caption: caption.into(),
            columns: vec![words("key"), words("value"), words("default")],
            rows: rows.collect(),
            folded: !only_changed,
            ..Table::default()
        }
    };
    let all = if point.sweep.is_empty() { "Every setting" } else { "Every setting, first point" };
    [table("Settings that differ from their defaults", true), table(all, false)]
}

/// One row for each run.
pub(super) fn runs_data(report: &SimReport) -> Data {
    let runs = || report.all_points().flat_map(|point| point.runs.iter().map(move |r| (point, r)));
    Data::new(
        "runs",
        vec![
            data::texts("point", runs().map(|(point, _)| label(point)).collect()),
            data::numbers("seed", runs().map(|(_, run)| run.seed as f64).collect()),
            data::numbers("events", runs().map(|(_, run)| run.events as f64).collect()),
            data::numbers("throughput_chunks_per_s", runs().map(|(_, r)| r.chunks_per_s).collect()),
            data::numbers("mean_latency_us", runs().map(|(_, r)| r.mean_latency_us).collect()),
            data::texts("trace_hash", runs().map(|(_, run)| run.trace_hash.clone()).collect()),
        ],
    )
}

/// One row for each metric of each point.
pub(super) fn metrics_data(report: &SimReport) -> Data {
    let metrics: Vec<(String, Metric)> = report
        .all_points()
        .flat_map(|point| all(&point.metrics).into_iter().map(|metric| (label(point), metric)))
        .collect();
    let each = || metrics.iter();
    Data::new(
        "metrics",
        vec![
            data::texts("point", each().map(|(point, _)| point.clone()).collect()),
            data::texts("metric", each().map(|(_, (name, ..))| name.clone()).collect()),
            data::texts("unit", each().map(|(_, (_, _, unit))| (*unit).into()).collect()),
            data::numbers("value", each().map(|(_, (_, mean, _))| mean.value).collect()),
            data::numbers(
                "ci95",
                each().map(|(_, (_, mean, _))| mean.ci95.unwrap_or(f64::NAN)).collect(),
            ),
        ],
    )
}

fn label(point: &PointReport) -> String {
    let parts: Vec<_> = point.sweep.iter().map(|(key, value)| format!("{key}={value}")).collect();
    parts.join(" ")
}
