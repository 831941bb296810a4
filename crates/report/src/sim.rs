//! The page of `slotcast sim FILE`: one experiment, at one point or along a sweep.

mod axes;
mod latencies;
mod limits;
mod sweep;
mod tables;

use slotcast_lab::{Experiment, PointReport, SimReport};
use slotcast_sim::RunReport;
use slotcast_trace::RunSeries;

use crate::chart::Mean;
use crate::number;
use crate::observed;
use crate::page::{Block, Note, Page, Section, Tone};

pub use limits::sweep_page;

/// Most points whose runs are worth looking at: more cannot be told apart in one picture.
pub const MAX_SEEN: usize = 6;

/// What was found.
#[derive(Debug, Clone)]
pub struct Results<'a> {
    /// The experiment as it ran.
    pub experiment: &'a Experiment,
    /// Its report.
    pub report: &'a SimReport,
    /// The first seed's run of every point, or nothing if there are more than [`MAX_SEEN`].
    pub seen: &'a [Seen],
    /// What the runs say about themselves, a line each. One that starts with `warning:` says that
    /// figures should not be trusted.
    pub notes: Vec<&'a str>,
}

/// A run that was looked at.
#[derive(Debug)]
pub struct Seen {
    /// Its report, with every request.
    pub run: RunReport,
    /// How it went over time.
    pub series: RunSeries,
}

/// The page of `results`.
pub fn page(results: &Results<'_>) -> Page {
    let Results { experiment, report, .. } = results;
    let (answer, sections) = match &report.point {
        Some(point) => (point_answer(point), point_sections(results, point)),
        None => (sweep::answer(results), sweep_sections(results)),
    };
    let seeds = match (report.seeds.first(), report.seeds.last()) {
        (Some(first), Some(last)) if first != last => format!("{first} to {last}"),
        _ => report.seed.to_string(),
    };
    let runs: usize = report.all_points().map(|point| point.runs.len()).sum();
    let lengths: Vec<_> = experiment.points.iter().map(|point| point.scenario.run.length).collect();
    let length = match (lengths.iter().min(), lengths.iter().max()) {
        (Some(least), Some(most)) if least != most => format!("{least} to {most}"),
        (Some(length), _) => length.to_string(),
        _ => String::new(),
    };
    let events = usize::try_from(report.events).unwrap_or(usize::MAX);
    Page {
        title: report.title.clone().unwrap_or_else(|| report.name.clone()),
        question: experiment.description.clone().unwrap_or_default(),
        answer,
        facts: [
            ("experiment", report.name.clone()),
            ("seeds", seeds),
            ("runs", number::count(runs)),
            ("simulated time of a run", length),
            ("simulated events", number::count(events)),
            ("trace hash", report.trace_hash.clone()),
        ]
        .map(|(name, value)| (name.to_string(), value))
        .into(),
        sections,
        data: vec![tables::runs_data(report), tables::metrics_data(report)],
    }
}

fn notes(results: &Results<'_>) -> Block {
    let note = |line: &&str| {
        let tone = if line.starts_with("warning:") { Tone::Bad } else { Tone::Plain };
        Note { text: line.replace(" us", " µs"), tone }
    };
    Block::Notes(results.notes.iter().map(note).collect())
}

fn point_answer(point: &PointReport) -> String {
    let metrics = &point.metrics;
    let mean = |of: slotcast_lab::Estimate, unit| number::mean_with_unit(Mean::from(of), unit);
    let latency = &metrics.latency_us;
    format!(
        "The cluster completes {}; a request takes {} on average, and 99 % of them take no longer than {}.",
        mean(metrics.chunks_per_s, "chunks/s"),
        mean(latency.mean, "us"),
        mean(latency.p99, "us"),
    )
}

fn point_sections(results: &Results<'_>, point: &PointReport) -> Vec<Section> {
    let mut sections = vec![Section::new(
        "result",
        "Result",
        vec![
            Block::Table(tables::metrics(point)),
            notes(results),
            Block::Table(tables::counts(point)),
        ],
    )];
    let latencies = latencies::charts(results);
    if !latencies.is_empty() {
        let blocks = latencies.into_iter().map(Block::Chart).collect();
        sections.push(Section::new("latency", "Latency", blocks));
    }
    if let [Seen { series, .. }] = results.seen {
        let charts = [observed::utilisation(series), observed::queue_length(series)];
        let charts = charts.into_iter().chain(observed::reservations(&series.timeline));
        let blocks = charts.map(Block::Chart).collect();
        sections.push(Section::new("over-time", "Over time", blocks));
    }
    sections.push(setup(point));
    sections
}

fn sweep_sections(results: &Results<'_>) -> Vec<Section> {
    let mut sections = Vec::new();
    let charts = sweep::charts(results);
    if !charts.is_empty() {
        let blocks = charts.into_iter().map(Block::Chart).collect();
        sections.push(Section::new("sweep", "Over the sweep", blocks));
    }
    sections.push(Section::new(
        "points",
        "Every point",
        vec![Block::Table(tables::points(results))],
    ));
    let latencies = latencies::charts(results);
    if !latencies.is_empty() {
        let blocks = latencies.into_iter().map(Block::Chart).collect();
        sections.push(Section::new("latency", "Latency", blocks));
    }
    sections.extend(results.report.all_points().next().map(setup));
    sections
}

fn setup(point: &PointReport) -> Section {
    let [changed, all] = tables::settings(point);
    Section::new("setup", "What was simulated", vec![Block::Table(changed), Block::Table(all)])
}
