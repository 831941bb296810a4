//! Pictures of a plan: every one has the limit in it.

use slotcast_lab::Estimate;
use slotcast_plan::{Check, ClusterPlan};
use slotcast_units::Span;

use super::Told;
use crate::chart::{Axis, BarSeries, Bars, Chart, Line, Lines, Mark, Mean, On, Plot, Scale};

/// The colours of writes and of reads.
const WRITES: usize = 0;
const READS: usize = 1;

/// From this ratio of the longest p99 to its limit on, the axis of the latency is logarithmic.
const FAR: f64 = 8.0;

pub(super) fn ms(span: Span) -> f64 {
    span.as_ns() as f64 / 1e6
}

fn in_ms(us: Estimate) -> Mean {
    Mean { value: us.value / 1e3, ci95: us.ci95.map(|ci95| ci95 / 1e3) }
}

fn gigabytes(check: &Check) -> f64 {
    (check.write_bytes_per_s + check.read_bytes_per_s) / 1e9
}

fn mark(on: On, at: f64, label: &str, colour: Option<usize>) -> Mark {
    Mark { on, at, label: label.into(), colour }
}

/// The limits of writes and reads, as lines across; one where they are the same.
fn limits(plan: &ClusterPlan) -> Vec<Mark> {
    let (puts, gets) = (plan.target.puts, plan.target.gets);
    let of = |limits: Option<slotcast_plan::Limits>| limits.map(|limits| ms(limits.p99));
    match (of(puts), of(gets)) {
        (Some(a), Some(b)) if a == b => vec![mark(On::Y, a, "limit of the p99", None)],
        (puts, gets) => {
            let puts = puts.map(|at| mark(On::Y, at, "limit of writes", Some(WRITES)));
            let gets = gets.map(|at| mark(On::Y, at, "limit of reads", Some(READS)));
            puts.into_iter().chain(gets).collect()
        }
    }
}

/// The p99 of each kind, by how it is taken from a check.
type Kind = (&'static str, usize, fn(&Check) -> Option<Estimate>);
const KINDS: [Kind; 2] = [
    ("p99 of writes", WRITES, |check| check.write_p99_us),
    ("p99 of reads", READS, |check| check.read_p99_us),
];

fn latency_axis(plan: &ClusterPlan, means: impl Iterator<Item = f64>) -> Axis {
    let limit = plan.target.limits().map(|limits| ms(limits.p99)).fold(0.0, f64::max);
    let longest = means.filter(|value| value.is_finite()).fold(0.0, f64::max);
    let scale = if longest > limit * FAR { Scale::Log } else { Scale::FromZero };
    Axis::new("latency", "ms").with_scale(scale)
}

/// The p99 over the load, with what is asked for and what is held.
pub(super) fn latency(told: &Told) -> Chart {
    let Told { plan, report, .. } = told;
    let loads = &report.limit.loads;
    let lines = KINDS.iter().filter_map(|(name, colour, of)| {
        let known: Vec<(f64, Mean)> = loads
            .iter()
            .filter_map(|check| Some((gigabytes(check), in_ms(of(check)?))))
            .filter(|(_, mean)| mean.value.is_finite())
            .collect();
        let (x, means): (Vec<f64>, Vec<Mean>) = known.into_iter().unzip();
        (!x.is_empty()).then(|| Line::of_means(*name, *colour, x, &means))
    });
    let lines: Vec<Line> = lines.collect();
    let y = latency_axis(plan, lines.iter().flat_map(|line| line.y.iter().copied()));
    let mut marks = limits(plan);
    marks.push(mark(On::X, gigabytes(&report.at_target), "asked for", None));
    if report.limit.holds_at.is_some() {
        marks.push(mark(On::X, gigabytes(&report.limit.at), "held", None));
    }
    let plot = Plot::Lines(Lines { lines, marks });
    let x = Axis::new("objects written and read", "GB/s");
    let chart = Chart::new("latency-over-load", "Latency over load", x, y, plot);
    chart.with_caption(
        "The 99th percentile of writes and of reads with its 95 % interval, at every load that was simulated. \
         Dashed: the limits, the load that is asked for, and the largest that is held.",
    )
}

/// Checks with what is wrong in them.
fn conditions(told: &Told) -> Vec<&Check> {
    let report = &told.report;
    let faults = [&report.node_down, &report.two_nodes_down, &report.rack_down, &report.rebuilding];
    std::iter::once(&report.at_target).chain(faults.into_iter().flatten()).collect()
}

/// The p99 with each thing wrong.
pub(super) fn faults(told: &Told) -> Chart {
    let checks = conditions(told);
    let groups = checks.iter().map(|check| check.condition.words().to_string()).collect();
    let series = KINDS.iter().filter_map(|(name, colour, of)| {
        let bars: Vec<Mean> =
            checks.iter().map(|check| of(check).map_or(f64::NAN.into(), in_ms)).collect();
        let is_there = bars.iter().any(|bar| bar.value.is_finite());
        is_there.then(|| BarSeries { name: (*name).into(), bars, colour: *colour, light: false })
    });
    let bars = Bars { groups, series: series.collect(), stacked: false, marks: limits(&told.plan) };
    let y = Axis::new("latency", "ms").with_scale(Scale::FromZero);
    let x = Axis::new("at the target", "");
    let chart = Chart::new("faults", "Latency with something wrong", x, y, Plot::Bars(bars));
    chart.with_caption("The 99th percentile at the load that is asked for. Dashed: the limits.")
}

/// How much of disks and links is used with each thing wrong.
pub(super) fn used(told: &Told) -> Chart {
    let checks = conditions(told);
    let groups = checks.iter().map(|check| check.condition.words().to_string()).collect();
    let of = |name: &str, colour, part: fn(&Check) -> f64| BarSeries {
        name: name.into(),
        bars: checks.iter().map(|check| Mean::from(part(check) * 100.0)).collect(),
        colour,
        light: false,
    };
    let series = vec![
        of("disks", 0, |check| check.used.disks),
        of("nodes' links", 1, |check| check.used.node_links),
        of("clients' links", 2, |check| check.used.client_links),
    ];
    let marks = vec![mark(On::Y, 100.0, "full", None)];
    let bars = Bars { groups, series, stacked: false, marks };
    let y = Axis::new("used", "%").with_scale(Scale::FromZero);
    let x = Axis::new("at the target", "");
    let chart = Chart::new("used", "What is used", x, y, Plot::Bars(bars));
    chart.with_caption("Mean over all that are up, at the load that is asked for. Dashed: full.")
}

/// What is stored over the months, with what there is room for; none if nothing is said of it.
pub(super) fn room(told: &Told) -> Option<Chart> {
    let room = &told.report.room;
    let stored = room.stored? / 1e12;
    let growth = told.plan.data.growth.as_bytes() as f64 / 1e12;
    let asked = f64::from(told.plan.target.months.unwrap_or(0));
    let last = room.full_in_months.unwrap_or(12.0).max(asked).mul_add(1.2, 1.0).ceil().min(720.0);
    let months: Vec<f64> = (0..=last as u32).map(f64::from).collect();
    let y = months.iter().map(|month| stored + growth * month).collect();
    let line = Line::new("stored", 0, months, y);
    let mut marks = vec![
        mark(On::Y, room.usable / 1e12, "usable", None),
        mark(On::Y, room.filled / 1e12, "with the reserve of a rebuild", Some(1)),
    ];
    marks.extend(
        told.plan.target.months.map(|months| mark(On::X, f64::from(months), "asked for", None)),
    );
    let plot = Plot::Lines(Lines { lines: vec![line], marks });
    let y = Axis::new("objects", "TB").with_scale(Scale::FromZero);
    let chart = Chart::new("room", "When it is full", Axis::new("months from now", ""), y, plot);
    Some(chart.with_caption("Objects before replicas. Dashed: what there is room for."))
}

/// The largest load of each point.
pub(super) fn largest(told: &[Told]) -> Chart {
    let bars = told.iter().map(|told| match told.report.limit.holds_at {
        Some(_) => Mean::from(gigabytes(&told.report.limit.at)),
        None => Mean::from(0.0),
    });
    let series =
        BarSeries { name: "largest load".into(), bars: bars.collect(), colour: 0, light: false };
    let marks = vec![mark(On::Y, gigabytes(&told[0].report.at_target), "asked for", None)];
    let groups = told.iter().map(|told| told.label.clone()).collect();
    let bars = Bars { groups, series: vec![series], stacked: false, marks };
    let y = Axis::new("held", "GB/s").with_scale(Scale::FromZero);
    let chart = Chart::new("largest-load", "Largest load", Axis::new("", ""), y, Plot::Bars(bars));
    chart.with_caption("Objects written and read. Dashed: what the first of them is asked for.")
}

/// The p99 of each point at its target.
pub(super) fn p99_of_each(told: &[Told]) -> Chart {
    let series = KINDS.iter().filter_map(|(name, colour, of)| {
        let bar = |told: &Told| of(&told.report.at_target).map_or(f64::NAN.into(), in_ms);
        let bars: Vec<Mean> = told.iter().map(bar).collect();
        let is_there = bars.iter().any(|bar| bar.value.is_finite());
        is_there.then(|| BarSeries { name: (*name).into(), bars, colour: *colour, light: false })
    });
    let groups = told.iter().map(|told| told.label.clone()).collect();
    let marks = limits(&told[0].plan);
    let bars = Bars { groups, series: series.collect(), stacked: false, marks };
    let y = Axis::new("latency", "ms").with_scale(Scale::FromZero);
    let chart =
        Chart::new("latency", "Latency at the target", Axis::new("", ""), y, Plot::Bars(bars));
    chart.with_caption(
        "The 99th percentile with its 95 % interval. Dashed: the limits of the first.",
    )
}
