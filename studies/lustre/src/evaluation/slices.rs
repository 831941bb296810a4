//! Time slices and deadlines: what classes get over time.

use slotcast_lab::{Figure, FigureKind, Figures, Findings, Series};

use super::rows::{at, row};
use super::runs::Measured;
use crate::{LustreReport, Sample};

/// Both classes have work until then, in seconds.
const BOTH_UNTIL: usize = 60;

/// What a class got in each second.
fn per_second(report: &LustreReport, class: usize, per_s: usize) -> Vec<f64> {
    let samples = report.samples.get(class).map_or(&[][..], Vec::as_slice);
    let mib = |second: &[Sample]| {
        second.iter().map(|sample| sample.bytes as f64).sum::<f64>() / f64::from(1 << 20)
    };
    samples.chunks(per_s).map(mib).collect()
}

/// Slices of 7:3 of epochs of 10 s and of 1 s.
pub(super) fn time_slices(measured: &[Measured]) -> Findings {
    let (mut rows, mut figures) = (Vec::new(), Figures::new());
    for (epoch, figure, step) in [("10s", "lustre-slices-10s", 1), ("1s", "lustre-slices-1s", 10)] {
        let Some(measured) = at(measured, &[("scheduler.epoch", epoch)]) else { continue };
        let seconds = if epoch == "10s" { 10 } else { 1 };
        // In percent, for every whole epoch after the first.
        let shares = |report: &LustreReport| -> Vec<f64> {
            let [a, b] = [0, 1].map(|class| per_second(report, class, 10));
            let until = BOTH_UNTIL.min(a.len()).min(b.len());
            let sum = |line: &[f64], from: usize| line[from..from + seconds].iter().sum::<f64>();
            (seconds..until + 1 - seconds)
                .step_by(seconds)
                .map(|from| sum(&a, from) / (sum(&a, from) + sum(&b, from)) * 100.0)
                .collect()
        };
        let mean = |shares: &[f64]| shares.iter().sum::<f64>() / shares.len() as f64;
        let deviation = |shares: &[f64]| {
            let mean = mean(shares);
            let squares: f64 = shares.iter().map(|share| (share - mean).powi(2)).sum();
            (squares / shares.len() as f64).sqrt()
        };
        let place = format!("time-slices/{epoch}");
        let share = measured.per_seed(|report| mean(&shares(report)));
        rows.push(row(format!("{place}/share_of_a"), Some(70.0), &share, "%"));
        let unsteady = measured.per_seed(|report| deviation(&shares(report)));
        rows.push(row(format!("{place}/deviation_between_epochs"), None, &unsteady, "points"));
        figures.insert(figure, over_time(&measured.reports[0], epoch, step));
    }
    Findings { rows, figures }
}

/// Bandwidth of both classes over time, averaged over `step` samples of 0.1 s.
fn over_time(report: &LustreReport, epoch: &str, step: usize) -> Figure {
    let line = |(class, name): (usize, &str)| {
        let y: Vec<f64> = per_second(report, class, step)
            .into_iter()
            .take(BOTH_UNTIL * 10 / step)
            .map(|mib| mib * 10.0 / step as f64)
            .collect();
        let x = (0..y.len()).map(|nth| (nth * step) as f64 / 10.0).collect();
        Series::new(format!("class {name}"), x, y)
    };
    Figure {
        title: format!("Bandwidth of two client classes with slices of 7:3, epoch {epoch}"),
        kind: FigureKind::Lines,
        x: "time (s)",
        y: "bandwidth (MiB/s)",
        series: [(0, "A"), (1, "B")].into_iter().map(line).collect(),
    }
}

/// Response times of normal and urgent requests with the two-level deadline, and without.
pub(super) fn deadlines(measured: &[Measured]) -> Findings {
    let (mut rows, mut figures) = (Vec::new(), Figures::new());
    for (policy, figure) in [("frr", "lustre-deadlines-off"), ("frr-deadline", "lustre-deadlines")]
    {
        let Some(measured) = at(measured, &[("scheduler.policy", policy)]) else { continue };
        // The slides show the run with deadlines.
        let said = |value: f64| (policy == "frr-deadline").then_some(value);
        let longest = |class: usize| {
            measured.per_seed(|report| {
                let samples = report.samples.get(class).map_or(&[][..], Vec::as_slice);
                let longest = samples.iter().map(|sample| sample.longest).max().unwrap_or_default();
                longest.as_secs_f64()
            })
        };
        let place = format!("deadlines/{policy}");
        rows.push(row(format!("{place}/longest_urgent"), said(5.0), &longest(1), "s"));
        rows.push(row(format!("{place}/longest_normal"), said(25.0), &longest(0), "s"));
        let peak = measured.per_seed(|report| report.queue_peak as f64);
        rows.push(row(format!("{place}/queue_peak"), said(8000.0), &peak, "RPCs"));
        figures.insert(figure, responses(&measured.reports[0], policy));
    }
    Findings { rows, figures }
}

fn responses(report: &LustreReport, policy: &str) -> Figure {
    let line = |(class, name): (usize, &str)| {
        let samples = report.samples.get(class).map_or(&[][..], Vec::as_slice);
        let answered = (0..).zip(samples).filter(|(_, sample)| sample.rpcs > 0);
        let (x, y) = answered
            .map(|(second, sample)| {
                (f64::from(second), sample.response.as_secs_f64() / sample.rpcs as f64)
            })
            .unzip();
        Series::new(format!("{name} requests"), x, y)
    };
    let queue: Vec<f64> =
        report.queue_samples.iter().map(|length| *length as f64 / 1000.0).collect();
    let seconds = (0..queue.len()).map(|second| second as f64).collect();
    let mut series: Vec<Series> = [(0, "normal"), (1, "urgent")].into_iter().map(line).collect();
    series.push(Series::new("queued RPCs, in thousands", seconds, queue));
    Figure {
        title: format!("Response time of normal and urgent requests, {policy}"),
        kind: FigureKind::Lines,
        x: "time of the answer (s)",
        y: "mean response time (s)",
        series,
    }
}
