//! Jaguar and its transfer sizes, and how bandwidth goes with the number of clients.

use slotcast_lab::{Estimate, Figure, FigureKind, Figures, Findings, Series};

use super::published;
use super::rows::{Way, at, bandwidth, row};
use super::runs::Measured;

/// 32 to 8192 clients write 16 GiB.
pub(super) fn scalability(measured: &[Measured]) -> Findings {
    let mut rows = Vec::new();
    let mut series = Series::new("write", Vec::new(), Vec::new());
    for table in published::scalability() {
        let clients = table.clients.to_string();
        let Some(measured) = at(measured, &[("job.clients", clients.as_str())]) else { continue };
        let place = format!("scalability/{clients}-clients");
        let rate = bandwidth(measured, Way::Write);
        let Estimate { value, ci95 } = Estimate::of(&rate);
        series.x.push(f64::from(table.clients));
        series.y.push(value);
        series.ci95.extend(ci95);
        series.published.push(table.write);
        rows.push(row(format!("{place}/write_bandwidth"), Some(table.write), &rate, "MiB/s"));
        let opens = measured.per_seed(|report| {
            report.opens.map_or(0.0, |(first, last)| (last - first).as_secs_f64())
        });
        rows.push(row(format!("{place}/open_time"), table.open_s, &opens, "s"));
    }
    let figure = Figure {
        title: "16 GiB written by all clients together, 144 OSTs".into(),
        kind: FigureKind::Bars,
        x: "clients",
        y: "write bandwidth (MiB/s)",
        series: vec![series],
    };
    Findings { rows, figures: Figures::from([("lustre-scalability", figure)]) }
}

const NO_CACHE: &str = "without-cache: beside the published simulator, which has none either";
const CACHE: &str = "with-cache: beside the machine, whose storage has a very big one";

/// The machine beside the published simulator and this one, with and without a storage cache.
pub(super) fn jaguar(measured: &[Measured]) -> Findings {
    let (mut rows, mut figures) = (Vec::new(), Figures::new());
    for (way, name) in [(Way::Write, "lustre-jaguar-write"), (Way::Read, "lustre-jaguar-read")] {
        let tables: Vec<_> = published::jaguar().collect();
        let x: Vec<f64> = tables.iter().map(|table| f64::from(table.transfer_kib)).collect();
        let of = |name: &str, y: Vec<f64>| Series::new(name, x.clone(), y);
        let mut series = vec![
            of("Jaguar", tables.iter().map(|table| table.machine.rate(way)).collect()),
            of(
                "published simulator",
                tables.iter().map(|table| table.simulator.rate(way)).collect(),
            ),
        ];
        for (cache, label) in [("0B", "without-cache"), ("4MiB", "with-cache")] {
            let mut line = Vec::new();
            for table in &tables {
                let transfer = table.transfer();
                let wanted = [("job.transfer", transfer.as_str()), ("cache.size", cache)];
                let Some(measured) = at(measured, &wanted) else { continue };
                let rate = bandwidth(measured, way);
                line.push(rate[0]);
                // The slides: the simulator has no cache, the machine a very big one.
                let (published, note) = match label {
                    "without-cache" => (table.simulator, NO_CACHE),
                    _ => (table.machine, CACHE),
                };
                let id = format!("jaguar/{transfer}/{label}/{}_bandwidth", way.name());
                rows.push(row(id, Some(published.rate(way)), &rate, "MiB/s").with_note(note));
            }
            series.push(of(&label.replace('-', " "), line));
        }
        let title = format!("Jaguar, {}: bandwidth by transfer size", way.name());
        let kind = FigureKind::Bars;
        let figure = Figure { title, kind, x: "transfer (KiB)", y: "bandwidth (MiB/s)", series };
        figures.insert(name, figure);
    }
    Findings { rows, figures }
}
