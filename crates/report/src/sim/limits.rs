//! The page of `slotcast sweep FILE --report`: the verdict in GB/s and ms, with the limits in every picture.

use slotcast_lab::{Estimate, Metrics, Point, PointReport};
use slotcast_sim::{Scenario, demand};
use slotcast_units::Span;

use super::sweep::{Measured, Metric, charts_of};
use super::{Results, axes, notes, page, setup, tables};
use crate::chart::{Chart, Line, Mark, Mean, On, Plot, Style};
use crate::number;
use crate::page::{Block, Note, Page, Section, Tone};

/// Mean size of what is asked for, in bytes.
fn mean_size(scenario: &Scenario) -> f64 {
    let workload = &scenario.workload;
    match workload.mix.is_none() {
        true => workload.chunk_size.as_bytes() as f64,
        false => workload.mix.mean(|size| size.as_bytes() as f64),
    }
}

fn scaled(of: Estimate, by: f64) -> Mean {
    Mean { value: of.value * by, ci95: of.ci95.map(|ci95| ci95 * by) }
}

fn gigabytes(point: &Point, metrics: &Metrics) -> Mean {
    scaled(metrics.chunks_per_s, mean_size(&point.scenario) / 1e9)
}

/// GB/s that arithmetic allows, at the very most.
fn allowed(point: &Point) -> f64 {
    demand(&point.scenario).capacity() * mean_size(&point.scenario) / 1e9
}

fn in_ms(us: Option<Estimate>) -> Mean {
    us.map_or(f64::NAN.into(), |us| scaled(us, 1e-3))
}

const THROUGHPUT: Metric =
    Metric { name: "throughput", title: "Throughput", axis: ("throughput", "GB/s"), of: gigabytes };

/// The p99 of all requests, or of writes and of reads where there are both.
const P99: Metric = Metric {
    name: "p99",
    title: "99th percentile of the latency",
    axis: ("p99", "ms"),
    of: |_, metrics| in_ms(Some(metrics.latency_us.p99)),
};
const KINDS: [Metric; 2] = [
    Metric {
        name: "write-p99",
        title: "99th percentile of writes",
        axis: ("p99 of writes", "ms"),
        of: |_, metrics| in_ms(metrics.put_latency_us.map(|latency| latency.p99)),
    },
    Metric {
        name: "read-p99",
        title: "99th percentile of reads",
        axis: ("p99 of reads", "ms"),
        of: |_, metrics| in_ms(metrics.get_latency_us.map(|latency| latency.p99)),
    },
];

/// The latencies that are drawn, and held against a limit.
fn latencies(results: &Results<'_>) -> &'static [Metric] {
    static ALL: [Metric; 1] = [P99];
    static APART: [Metric; 2] = KINDS;
    let has_both = |point: &PointReport| {
        point.metrics.put_latency_us.is_some() && point.metrics.get_latency_us.is_some()
    };
    if results.report.all_points().all(has_both) { &APART } else { &ALL }
}

/// The page of a sweep. `limit` is the p99 that must be kept, if one is; `sentences` say where more stops
/// paying.
pub fn sweep_page(results: &Results<'_>, limit: Option<Span>, sentences: &[String]) -> Page {
    let plain = page(results);
    let points: Vec<Measured<'_>> =
        results.experiment.points.iter().zip(results.report.all_points()).collect();
    let of = |text: &String| Note { text: text.clone(), tone: Tone::Plain };
    let said = Block::Notes(sentences.iter().map(of).collect());
    let charts = charts(results, &points, limit).into_iter().map(Block::Chart).collect();
    let mut sections = vec![
        Section::new("verdict", "Verdict", vec![said, notes(results)]),
        Section::new("sweep", "In GB/s and ms", charts),
        Section::new("points", "Every point", vec![Block::Table(tables::points(results))]),
    ];
    sections.extend(results.report.all_points().next().map(setup));
    let question = match (plain.question.as_str(), limit) {
        ("", Some(limit)) => {
            format!("What is done within a p99 of {} ms?", number::tick(ms(limit)))
        }
        (question, _) => question.into(),
    };
    let answer = verdict(results, &points, limit);
    Page { question, answer, sections, ..plain }
}

fn ms(span: Span) -> f64 {
    span.as_ns() as f64 / 1e6
}

/// The most that is done, within the limit where there is one.
fn verdict(results: &Results<'_>, points: &[Measured<'_>], limit: Option<Span>) -> String {
    let axes = axes::of(results.experiment);
    let latencies = latencies(results);
    // The whole interval must lie below; what has none is not known to.
    let keeps = |point: &Point, report: &PointReport, limit: Span| {
        latencies.iter().all(|metric| {
            let p99 = (metric.of)(point, &report.metrics);
            p99.ci95.is_some_and(|ci95| p99.value + ci95 <= ms(limit))
        })
    };
    let best = points
        .iter()
        .filter(|(point, report)| limit.is_none_or(|limit| keeps(point, report, limit)))
        .map(|(point, report)| (*point, *report, gigabytes(point, &report.metrics)))
        .filter(|(_, _, mean)| mean.value.is_finite())
        .max_by(|a, b| a.2.value.total_cmp(&b.2.value));
    let within = limit.map(|limit| format!("a p99 of {} ms", number::tick(ms(limit))));
    let Some((point, report, mean)) = best else {
        return match within {
            Some(within) => format!("No: no point is surely within {within}."),
            None => "No request was completed anywhere.".into(),
        };
    };
    let p99s: Vec<String> = latencies
        .iter()
        .map(|metric| {
            let p99 = number::mean_with_unit((metric.of)(point, &report.metrics), "ms");
            format!("the {} is {p99}", metric.axis.0)
        })
        .collect();
    let within = within.map_or(String::new(), |within| format!(" within {within}"));
    format!(
        "The most that is done{within} is {}, with {}; {} there.",
        number::mean_with_unit(mean, "GB/s"),
        axes::label(point, &axes),
        p99s.join(" and ")
    )
}

fn charts(results: &Results<'_>, points: &[Measured<'_>], limit: Option<Span>) -> Vec<Chart> {
    let axes = axes::of(results.experiment);
    let most: Vec<f64> = points.iter().map(|(point, _)| allowed(point)).collect();
    let (low, high) = (
        most.iter().copied().fold(f64::INFINITY, f64::min),
        most.iter().copied().fold(0.0, f64::max),
    );
    let is_same = high - low <= high * 1e-3;
    let at = |at, label: &str| Mark { on: On::Y, at, label: label.into(), colour: None };
    // Where it is far away it would flatten everything.
    let marks = if is_same { vec![at(high, "what arithmetic allows")] } else { Vec::new() };
    let mut throughput = charts_of(&THROUGHPUT, &axes, points, &marks);
    if let (false, Some(Chart { plot: Plot::Lines(lines), .. })) = (is_same, throughput.first_mut())
        && let [line] = &lines.lines[..]
        && let Some(x) = axes.iter().find(|axis| axis.makes_a_line())
    {
        let mut places: Vec<(f64, f64)> = points
            .iter()
            .map(|(point, _)| (x.place(axes::value(point, x)), allowed(point)))
            .collect();
        places.sort_by(|a, b| a.0.total_cmp(&b.0));
        if places.len() == line.x.len() {
            let (x, y) = places.into_iter().unzip();
            let line = Line::new("what arithmetic allows", 3, x, y).with_style(Style::Marked);
            lines.lines.push(line);
        }
    }
    let marks: Vec<Mark> = limit.iter().map(|limit| at(ms(*limit), "limit of the p99")).collect();
    let latencies = latencies(results).iter();
    let latencies = latencies.flat_map(|metric| charts_of(metric, &axes, points, &marks));
    throughput.into_iter().chain(latencies.collect::<Vec<_>>()).collect()
}
