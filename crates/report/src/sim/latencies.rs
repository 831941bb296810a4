//! Pictures of the latencies of the first seed.

use slotcast_sim::{Completion, Operation, RunReport};
use slotcast_units::Time;

use super::{Results, Seen};
use crate::chart::{Chart, Mark, On, Plot, cdf, latency_by_number, sorted_latency};

/// Latency by number, sorted, and as a distribution; for a sweep only the last. Nothing of runs that
/// nobody has looked at.
pub(super) fn charts(results: &Results<'_>) -> Vec<Chart> {
    let Some(first) = results.seen.first() else { return Vec::new() };
    let seed = results.report.seed;
    let distribution = |lists: &[(String, Vec<f64>)]| {
        cdf("latency-cdf", "Distribution of latency", lists).with_caption(format!(
            "The part of the requests that took no longer than a time, of seed {seed}, warm-up left out. \
             Dashed lines mark 99 % and the 99th percentiles of this seed; the table has those of all seeds."
        ))
    };
    if results.experiment.is_sweep {
        let axes = super::axes::of(results.experiment);
        let points = results.experiment.points.iter().zip(results.seen);
        let list = |(point, seen): (_, &Seen)| {
            (super::axes::label(point, &axes), latencies(&seen.run, &|_| true))
        };
        return vec![distribution(&points.map(list).collect::<Vec<_>>())];
    }
    let run = &first.run;
    let lists = by_operation(run);
    let warm = run.completions.iter().filter(|c| !is_measured(run, c.finished)).count();
    let mut by_number = latency_by_number("latency", "Latency of every request", &everything(run))
        .with_caption(format!(
            "Every request of seed {seed}, in the order in which they ended, warm-up included."
        ));
    if let (Plot::Lines(lines), true) = (&mut by_number.plot, warm > 0) {
        let label = "end of warm-up".into();
        lines.marks.push(Mark { on: On::X, at: warm as f64 + 0.5, label, colour: None });
    }
    let sorted = sorted_latency("latency-sorted", "Sorted latency", &lists).with_caption(format!(
        "The requests of seed {seed} in rising order of their latency, warm-up left out."
    ));
    vec![by_number, sorted, distribution(&lists)]
}

fn is_measured(run: &RunReport, finished: Time) -> bool {
    finished >= Time::ZERO + run.warmup
}

/// Latencies of the requests that ended after the warm-up and are `wanted`.
fn latencies(run: &RunReport, wanted: &dyn Fn(Operation) -> bool) -> Vec<f64> {
    let measured = run.completions.iter().filter(|c| is_measured(run, c.finished));
    measured.filter(|c| wanted(c.operation)).map(|c| c.latency().as_us_f64()).collect()
}

/// Puts and gets apart, where there are both.
fn by_operation(run: &RunReport) -> Vec<(String, Vec<f64>)> {
    let of = |operation| latencies(run, &|this| this == operation);
    let lists = [("puts".to_string(), of(Operation::Put)), ("gets".into(), of(Operation::Get))];
    lists.into_iter().filter(|(_, list)| !list.is_empty()).collect()
}

/// Every request in order; gets and puts share the numbers, so a get's place is empty among the puts.
fn everything(run: &RunReport) -> Vec<(String, Vec<f64>)> {
    let of = |operation| {
        let of = |c: &Completion| match c.operation == operation {
            true => c.latency().as_us_f64(),
            false => f64::NAN,
        };
        run.completions.iter().map(of).collect::<Vec<f64>>()
    };
    let lists = [("puts".to_string(), of(Operation::Put)), ("gets".into(), of(Operation::Get))];
    lists.into_iter().filter(|(_, list)| list.iter().any(|us| us.is_finite())).collect()
}
