//! Pictures over the number of clients.

use slotcast_sim::stripes::{Mode, Report, Step};

use super::Measured;
use super::rows::{mean, theory_ops, words};
use crate::evaluation::{Figure, Figures, Series};

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
        let y = points.iter().map(|point| mean(point, Report::ops_per_s)).collect();
        series.push(Series { name: words(mode).into(), x: x.clone(), y });
        let y = points.iter().map(|point| theory_ops(&point.point.scenario)).collect();
        series.push(Series { name: format!("{}, from the costs", words(mode)), x, y });
    }
    let mut figures = Figures::new();
    let title = format!("Throughput at the parity block, cluster {cluster}");
    let (x, y) = ("clients", "throughput (1/s)");
    figures.insert(throughput, Figure { title, x, y, series });
    for (mode, name) in modes.into_iter().zip([lock, coordinated]) {
        let points = of(mode);
        let share = |report: &Report, step| 100.0 * report.step_ms(step) / report.mean_latency_ms();
        let series = Step::ALL.map(|step| Series {
            name: step.name().into(),
            x: clients(&points),
            y: points.iter().map(|point| mean(point, |report| share(report, step))).collect(),
        });
        let title =
            format!("What a write's latency is made of, {}, cluster {cluster}", words(mode));
        let (x, y) = ("clients", "share of the latency (%), stacked");
        figures.insert(name, Figure { title, x, y, series: series.into() });
    }
    figures
}
