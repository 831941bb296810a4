//! Pictures of a sweep: lines over a numeric axis, bars over words, a heat map over two numeric axes.

use slotcast_lab::setting::Value;
use slotcast_lab::{Metrics, Point, PointReport};

use super::Results;
use super::axes::{self, Swept};
use crate::chart::{Axis, BarSeries, Bars, Chart, Heat, Line, Lines, Mark, Mean, Plot, Scale};
use crate::number;
use crate::palette;

/// Most lines, or colours of bars, that can still be told apart.
const MAX_LINES: usize = 12;

/// Most groups of bars that have room for their names.
const MAX_GROUPS: usize = 16;

/// Most heat maps of one metric.
const MAX_MAPS: usize = 4;

/// What is shown of each point.
pub(super) struct Metric {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) axis: (&'static str, &'static str),
    pub(super) of: fn(&Point, &Metrics) -> Mean,
}

const METRICS: [Metric; 3] = [
    Metric {
        name: "throughput",
        title: "Throughput",
        axis: ("throughput", "chunks/s"),
        of: |_, metrics| metrics.chunks_per_s.into(),
    },
    Metric {
        name: "mean-latency",
        title: "Mean latency",
        axis: ("mean latency", "us"),
        of: |_, metrics| metrics.latency_us.mean.into(),
    },
    Metric {
        name: "p99-latency",
        title: "99th percentile of the latency",
        axis: ("p99 latency", "us"),
        of: |_, metrics| metrics.latency_us.p99.into(),
    },
];

/// A point, and what it measured.
pub(super) type Measured<'a> = (&'a Point, &'a PointReport);

/// Which point does most, and which answers fastest. Where another one cannot be told apart from it,
/// that is said.
pub(super) fn answer(results: &Results<'_>) -> String {
    let points: Vec<Measured<'_>> =
        results.experiment.points.iter().zip(results.report.all_points()).collect();
    let axes = axes::of(results.experiment);
    let [throughput, _, p99] = &METRICS;
    let clauses = [
        best(&points, &axes, throughput, "the highest throughput", |a, b| a > b),
        best(&points, &axes, p99, "the lowest p99 of the latency", |a, b| a < b),
    ];
    let clauses: Vec<String> = clauses.into_iter().flatten().collect();
    if clauses.is_empty() {
        return "No request was completed anywhere.".into();
    }
    format!("Of {} points, {}.", points.len(), clauses.join("; "))
}

fn best(
    points: &[Measured<'_>],
    axes: &[Swept],
    metric: &Metric,
    what: &str,
    is_better: fn(f64, f64) -> bool,
) -> Option<String> {
    let means =
        || points.iter().map(|(point, report)| (*point, (metric.of)(point, &report.metrics)));
    let (point, mean) = means()
        .filter(|(_, mean)| mean.value.is_finite())
        .reduce(|a, b| if is_better(b.1.value, a.1.value) { b } else { a })?;
    let overlaps = |other: Mean| {
        let reach = mean.ci95.unwrap_or(0.0) + other.ci95.unwrap_or(0.0);
        (other.value - mean.value).abs() <= reach
    };
    let rivals = means().filter(|(_, other)| overlaps(*other)).count() - 1;
    let rest = match (rivals, mean.ci95) {
        (_, None) => " (of a single seed, so without an interval)".to_string(),
        (0, _) => String::new(),
        (1, _) => " (the intervals do not tell it apart from 1 other point)".into(),
        (n, _) => format!(" (the intervals do not tell it apart from {n} other points)"),
    };
    let value = number::mean_with_unit(mean, metric.axis.1);
    Some(format!("{what} is {value}, with {}{rest}", axes::label(point, axes)))
}

/// The pictures of every metric.
pub(super) fn charts(results: &Results<'_>) -> Vec<Chart> {
    let points: Vec<Measured<'_>> =
        results.experiment.points.iter().zip(results.report.all_points()).collect();
    let axes = axes::of(results.experiment);
    METRICS.iter().flat_map(|metric| charts_of(metric, &axes, &points, &[])).collect()
}

pub(super) fn charts_of(
    metric: &Metric,
    axes: &[Swept],
    points: &[Measured<'_>],
    marks: &[Mark],
) -> Vec<Chart> {
    let mut numeric: Vec<&Swept> = axes.iter().filter(|axis| axis.is_numeric()).collect();
    numeric.sort_by_key(|axis| std::cmp::Reverse(axis.values.len()));
    let plain = match numeric.first() {
        Some(x) if x.makes_a_line() => lines(metric, x, axes, points, marks),
        _ => bars(metric, axes, points, marks),
    };
    let mut charts: Vec<Chart> = plain.into_iter().collect();
    if let [x, y, ..] = numeric[..]
        && x.makes_a_line()
    {
        charts.extend(maps(metric, x, y, axes, points));
    }
    charts
}

/// What distinguishes the points of one line: the values of all axes but some, and a name for them.
fn combinations(
    axes: &[Swept],
    without: &[&str],
    points: &[Measured<'_>],
) -> Vec<(Vec<Value>, String)> {
    let others: Vec<&Swept> = axes.iter().filter(|axis| !without.contains(&axis.key)).collect();
    let mut found: Vec<(Vec<Value>, String)> = Vec::new();
    for (point, _) in points {
        let values: Vec<Value> = others.iter().map(|axis| axes::value(point, axis)).collect();
        if !found.iter().any(|(known, _)| *known == values) {
            let names =
                others.iter().zip(&values).map(|(axis, value)| axes::named(axis.key, *value));
            let name = names.collect::<Vec<_>>().join(", ");
            found.push((values, name));
        }
    }
    found
}

fn matching<'a>(
    axes: &'a [Swept],
    without: &'a [&str],
    values: &'a [Value],
    points: &'a [Measured<'a>],
) -> impl Iterator<Item = &'a Measured<'a>> {
    points.iter().filter(move |(point, _)| {
        let others = axes.iter().filter(|axis| !without.contains(&axis.key));
        others.zip(values).all(|(axis, value)| axes::value(point, axis) == *value)
    })
}

fn caption(what: &str) -> String {
    format!("{what}: mean over the seeds with its 95 % interval.")
}

fn value_axis(metric: &Metric) -> Axis {
    Axis::new(metric.axis.0, metric.axis.1).with_scale(Scale::FromZero)
}

fn lines(
    metric: &Metric,
    x: &Swept,
    axes: &[Swept],
    points: &[Measured<'_>],
    marks: &[Mark],
) -> Option<Chart> {
    let without = [x.key];
    let combinations = combinations(axes, &without, points);
    if combinations.len() > MAX_LINES {
        return None;
    }
    let line = |(colour, (values, name)): (usize, (Vec<Value>, String))| {
        let mut found: Vec<(f64, Mean)> = matching(axes, &without, &values, points)
            .map(|(point, report)| {
                (x.place(axes::value(point, x)), (metric.of)(point, &report.metrics))
            })
            .collect();
        found.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (places, means): (Vec<f64>, Vec<Mean>) = found.into_iter().unzip();
        let name = if name.is_empty() { metric.axis.0.into() } else { name };
        Line::of_means(name, colour, places, &means)
    };
    let lines = combinations.into_iter().enumerate().map(line).collect();
    let plot = Plot::Lines(Lines { lines, marks: marks.to_vec() });
    let title = format!("{} over {}", metric.title, x.key);
    let chart = Chart::new(metric.name, title, x.axis(), value_axis(metric), plot);
    Some(chart.with_caption(caption(metric.title)))
}

/// The colours of the bars are the values of the last axis of words, which is most often what is
/// compared; the groups are all else.
fn bars(metric: &Metric, axes: &[Swept], points: &[Measured<'_>], marks: &[Mark]) -> Option<Chart> {
    let compared = match axes {
        [] | [_] => None,
        [.., last] => axes.iter().rev().find(|axis| !axis.is_numeric()).or(Some(last)),
    };
    let without: Vec<&str> = compared.iter().map(|axis| axis.key).collect();
    let groups = combinations(axes, &without, points);
    let colours = compared.map_or(1, |axis| axis.values.len());
    if groups.len() > MAX_GROUPS || colours > MAX_LINES {
        return None;
    }
    let series = (0..colours).map(|colour| {
        let wanted = compared.map(|axis| (axis, axis.values[colour]));
        let bar = |(values, _): &(Vec<Value>, String)| {
            let mut found = matching(axes, &without, values, points);
            let found = found.find(|(point, _)| {
                wanted.is_none_or(|(axis, value)| axes::value(point, axis) == value)
            });
            found.map_or(f64::NAN.into(), |(point, report)| (metric.of)(point, &report.metrics))
        };
        BarSeries {
            name: wanted.map_or(metric.axis.0.into(), |(axis, value)| axes::named(axis.key, value)),
            bars: groups.iter().map(bar).collect(),
            colour,
            light: palette::round(colour) > 0,
        }
    });
    let label = |(values, _): &(Vec<Value>, String)| {
        values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    };
    let plot = Plot::Bars(Bars {
        groups: groups.iter().map(label).collect(),
        series: series.collect(),
        stacked: false,
        marks: marks.to_vec(),
    });
    let keys = axes.iter().map(|axis| axis.key).filter(|key| !without.contains(key));
    let keys = keys.collect::<Vec<_>>().join(", ");
    let title = format!("{} over {keys}", metric.title);
    let chart = Chart::new(metric.name, title, Axis::new(keys, ""), value_axis(metric), plot);
    Some(chart.with_caption(caption(metric.title)))
}

fn maps(
    metric: &Metric,
    x: &Swept,
    y: &Swept,
    axes: &[Swept],
    points: &[Measured<'_>],
) -> Vec<Chart> {
    let without = [x.key, y.key];
    let combinations = combinations(axes, &without, points);
    if combinations.len() > MAX_MAPS {
        return Vec::new();
    }
    let map = |(index, (values, name)): (usize, (Vec<Value>, String))| {
        let cell = |row: &Value, column: &Value| {
            let mut found = matching(axes, &without, &values, points);
            let found = found.find(|(point, _)| {
                axes::value(point, x) == *column && axes::value(point, y) == *row
            });
            found.map_or(f64::NAN, |(point, report)| (metric.of)(point, &report.metrics).value)
        };
        let row = |row: &Value| x.values.iter().map(|column| cell(row, column)).collect();
        let heat = Heat {
            columns: x.values.iter().map(ToString::to_string).collect(),
            rows: y.values.iter().map(ToString::to_string).collect(),
            values: y.values.iter().map(row).collect(),
            label: metric.axis.0.into(),
            unit: metric.axis.1.into(),
        };
        let of = if name.is_empty() { String::new() } else { format!(": {name}") };
        let number = if values.is_empty() { String::new() } else { format!("-{}", index + 1) };
        Chart::new(
            format!("{}-map{number}", metric.name),
            format!("{} over {} and {}{of}", metric.title, x.key, y.key),
            Axis::new(x.key, ""),
            Axis::new(y.key, ""),
            Plot::Heat(heat),
        )
        .with_caption(format!("{}: mean over the seeds.", metric.title))
    };
    combinations.into_iter().enumerate().map(map).collect()
}
