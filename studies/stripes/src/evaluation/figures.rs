//! Pictures over the number of clients.

use slotcast_lab::{Estimate, Figure, FigureKind, Figures, Series};

use super::Measured;
use super::rows::{mean, per_seed, theory_ops, words};
use crate::{Mode, Report, Step};

/// The names of a cluster's pictures: throughput, and the steps of both modes.
fn names(cluster: &str) -> Option<[&'static str; 3]> {
    match cluster {
        "suno" => Some(["stripes_throughput", "stripes_steps_lock", "stripes_steps_coordinated"]),
        "griffon" => Some([
            "stripes_griffon_throughput",
            "stripes_griffon_steps_lock",
            "stripes_griffon_steps_coordinated",
        ]),
        _ => None,
    }
}

/// Throughput at the parity block as lines; the share of each step in the latency as stacked bars, a series
/// for each step from the bottom up.
pub(super) fn over_clients(cluster: &str, measured: &[Measured<'_>]) -> Figures {
    let Some([throughput, lock, coordinated]) = names(cluster) else { return Figures::new() };
    let modes = [Mode::StripeLock, Mode::Coordinated];
    let of = |mode: Mode| -> Vec<&Measured<'_>> {
        measured.iter().filter(|point| point.point.scenario.stripes.mode == mode).collect()
    };
    let clients = |points: &[&Measured<'_>]| -> Vec<f64> {
        points.iter().map(|point| f64::from(point.point.scenario.clients.count)).collect()
    };
    let mut series = Vec::new();
    for mode in modes {
        let points = of(mode);
        let x = clients(&points);
        let found = points.iter().map(|point| Estimate::of(&per_seed(point, Report::ops_per_s)));
        let found: Vec<Estimate> = found.collect();
        let y = found.iter().map(|estimate| estimate.value).collect();
        // None of a single run: then there are no intervals.
        let ci95 = found.iter().map(|estimate| estimate.ci95).collect::<Option<_>>();
        let line = Series::new(words(mode), x.clone(), y);
        series.push(Series { ci95: ci95.unwrap_or_default(), ..line });
        let y = points.iter().map(|point| theory_ops(&point.point.scenario)).collect();
        series.push(Series::new(format!("{}, from the costs", words(mode)), x, y));
    }
    let mut figures = Figures::new();
    let title = format!("Throughput at the parity block, cluster {cluster}");
    let (x, y) = ("clients", "throughput (1/s)");
    figures.insert(throughput, Figure { title, kind: FigureKind::Lines, x, y, series });
    for (mode, name) in modes.into_iter().zip([lock, coordinated]) {
        let points = of(mode);
        let share = |report: &Report, step| 100.0 * report.step_ms(step) / report.mean_latency_ms();
        let series = Step::ALL.map(|step| {
            let y = points.iter().map(|point| mean(point, |report| share(report, step)));
            Series::new(step.name(), clients(&points), y.collect())
        });
        let title =
            format!("What a write's latency is made of, {}, cluster {cluster}", words(mode));
        let (x, y) = ("clients", "share of the latency (%)");
        let kind = FigureKind::Stacked;
        figures.insert(name, Figure { title, kind, x, y, series: series.into() });
    }
    figures
}
