//! Data of the paper's pictures. The pictures themselves are lost, except where a table repeats them.

use slotcast_lab::paired::per_seed;
use slotcast_lab::{Estimate, Figure, FigureKind, Measured, Series};
use slotcast_sim::RunReport;

use super::{CellKey, PROTOCOLS, bars};

/// The two protocols that Figures 8 and 11 compare.
const COMPARED: [&str; 2] = ["uch-ccp", "replicast-m"];

/// Figures 9, 10, 12, 13: throughput over disk rate, with what was published of it.
pub(super) fn throughput(title: &str, chunk_kib: u64, measured: &[Measured]) -> Figure {
    let series = PROTOCOLS.into_iter().map(|protocol| {
        let mut series = Series { name: protocol.into(), ..Series::default() };
        for (key, point) in bars(chunk_kib, measured).filter(|(key, _)| key.protocol == protocol) {
            let Estimate { value, ci95 } = Estimate::of(&per_seed(point, |r| r.chunks_per_s));
            series.x.push(key.disk_mbps as f64);
            series.y.push(value);
            series.ci95.extend(ci95);
            series.published.extend(key.published_for(point).map(|cell| cell.chunks_per_s));
        }
        series
    });
    Figure {
        title: title.into(),
        kind: FigureKind::Bars,
        x: "disk rate (MiB/s)",
        y: "throughput (chunks/s)",
        series: series.collect(),
    }
}

/// Figure 8: latency of every chunk in the order of completion, of the first seed.
pub(super) fn latencies_by_chunk(measured: &[Measured]) -> Figure {
    Figure {
        title: "Put latency by chunk, 16 KiB chunks, 30 initiators, 400 MB/s disks".into(),
        kind: FigureKind::Points,
        x: "chunk number",
        y: "latency (us)",
        series: latencies(measured, |_| {}),
    }
}

/// Figure 11: the same, sorted, with 90 initiators.
pub(super) fn sorted_latencies(measured: &[Measured]) -> Figure {
    Figure {
        title: "Sorted put latency, 16 KiB chunks, 90 initiators, 400 MB/s disks".into(),
        kind: FigureKind::Sorted,
        x: "chunk number, by latency",
        y: "latency (us)",
        series: latencies(measured, |y| y.sort_unstable_by(f64::total_cmp)),
    }
}

fn latencies(measured: &[Measured], arrange: fn(&mut [f64])) -> Vec<Series> {
    let series = COMPARED.into_iter().filter_map(|protocol| {
        let key = CellKey { disk_mbps: 400, chunk_kib: 16, protocol };
        let point = measured.iter().find(|point| CellKey::of(&point.scenario) == key)?;
        let mut y = latencies_of(&point.runs.first()?.report);
        arrange(&mut y);
        let x = (1..=y.len()).map(|number| number as f64).collect();
        Some(Series::new(protocol, x, y))
    });
    series.collect()
}

fn latencies_of(report: &RunReport) -> Vec<f64> {
    report.completions.iter().map(|done| done.latency().as_us_f64()).collect()
}
