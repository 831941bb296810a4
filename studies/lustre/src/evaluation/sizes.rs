//! The paper's figure of bandwidth by transfer size, for one OST of the 144.

use slotcast_lab::{Figure, FigureKind, Figures, Findings, Series};

use super::published;
use super::rows::{Way, all_seeks, at, bandwidth, row};
use super::runs::Measured;

/// OSTs of the published figure.
const OSTS: f64 = 144.0;

pub(super) fn transfer_sizes(measured: &[Measured]) -> Findings {
    let mut rows = Vec::new();
    let mut series: Vec<Series> = Vec::new();
    for policy in ["fcfs", "frr"] {
        let mut lines = Way::BOTH
            .map(|way| Series::new(format!("{policy}, {}", way.name()), Vec::new(), Vec::new()));
        for table in published::transfer_sizes() {
            let transfer = table.transfer();
            let wanted = [("job.transfer", transfer.as_str()), ("scheduler.policy", policy)];
            let Some(measured) = at(measured, &wanted) else { continue };
            let osts = f64::from(measured.scenario().ost.count);
            let published = table.policies.of(policy);
            let place = format!("transfer-sizes/{transfer}/{policy}");
            for (way, series) in Way::BOTH.into_iter().zip(&mut lines) {
                let rate: Vec<f64> =
                    bandwidth(measured, way).into_iter().map(|rate| rate / osts).collect();
                let read_off = published.rate(way) * 1000.0 / OSTS;
                series.x.push(f64::from(table.transfer_kib));
                series.y.push(rate.iter().sum::<f64>() / rate.len() as f64);
                series.published.push(read_off);
                let id = format!("{place}/{}_bandwidth", way.name());
                rows.push(row(id, Some(read_off), &rate, "MiB/s per OST").with_note(READ_OFF));
            }
            let per_s = all_seeks(measured);
            rows.push(row(format!("{place}/seeks"), Some(published.seeks), &per_s, "1/s"));
        }
        series.extend(lines);
    }
    let figure = Figure {
        title: "Bandwidth of one OST by transfer size".into(),
        kind: FigureKind::Bars,
        x: "transfer (KiB)",
        y: "bandwidth (MiB/s)",
        series,
    };
    Findings { rows, figures: Figures::from([("lustre-transfer-sizes", figure)]) }
}

const READ_OFF: &str =
    "transfer-sizes: published figures are read off a picture, to 0.3 GB/s of 144 OSTs";
