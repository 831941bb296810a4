//! Rows: one published figure each, beside what was measured.

use slotcast_lab::paired::per_seed;
use slotcast_lab::{Figures, Findings, Measured, Mode, Row};

use super::{CellKey, DISKS, bars, chunk_name, figures, table_id};
use crate::published::{Cell, table_5, tables_2_and_3};

/// The paper's time from a put request to its accept: two control messages of 2.424 us and two trips.
const TENTATIVE_US: f64 = 7.0;
/// Negotiating groups of 90 targets, 9 in each.
const GROUPS: f64 = 10.0;

pub(super) fn as_published(measured: &[Measured]) -> Findings {
    let mode = Mode::AsPublished;
    let mut rows = Vec::new();
    for (cell, point) in cells(measured) {
        let latency = per_seed(point, |r| r.latency.mean);
        let implied: Vec<_> = latency.iter().map(|us| implied_chunks_per_s(point, *us)).collect();
        let published = implied_chunks_per_s(point, cell.mean_latency_us);
        let rate = per_seed(point, |r| r.chunks_per_s);
        let disk = per_seed(point, |r| r.disk_utilization * 100.0);
        rows.push(table_row(cell, "mean_latency", cell.mean_latency_us, &latency, "us", mode));
        rows.push(table_row(cell, "chunks_per_s", cell.chunks_per_s, &rate, "1/s", mode));
        rows.push(
            table_row(cell, "implied_chunks_per_s", published, &implied, "1/s", mode)
                .derived_from("mean_latency: 90 initiators over it, published and measured"),
        );
        rows.push(table_row(cell, "disk_utilization", cell.disk_utilization_pct, &disk, "%", mode));
    }
    rows.extend(table_5_rows(measured));
    rows.extend(figure_rows("figure9", 128, measured));
    rows.extend(figure_rows("figure10", 16, measured));
    rows.extend(scaling_rows(measured));

    let mut pictures = Figures::new();
    pictures.insert(
        "figure9",
        figures::throughput("Put throughput, 128 KiB chunks, 90 initiators", 128, measured),
    );
    pictures.insert(
        "figure10",
        figures::throughput("Put throughput, 16 KiB chunks, 90 initiators", 16, measured),
    );
    pictures.insert("figure11", figures::sorted_latencies(measured));
    Findings { rows, figures: pictures }
}

pub(super) fn steady_state(measured: &[Measured]) -> Findings {
    let mode = Mode::SteadyState;
    let mut rows = Vec::new();
    for (cell, point) in cells(measured) {
        let latency = per_seed(point, |r| r.latency.mean);
        let published = implied_chunks_per_s(point, cell.mean_latency_us);
        let rate = per_seed(point, |r| r.chunks_per_s);
        let disk = per_seed(point, |r| r.disk_utilization * 100.0);
        rows.push(table_row(cell, "mean_latency", cell.mean_latency_us, &latency, "us", mode));
        // The published chunks/s miss what was in flight at the end of so short a run.
        rows.push(
            table_row(cell, "steady_chunks_per_s", published, &rate, "1/s", mode)
                .derived_from("mean_latency: what is published is 90 over it")
                .with_note("steady_chunks_per_s is published as 90 / published mean latency"),
        );
        rows.push(table_row(cell, "disk_utilization", cell.disk_utilization_pct, &disk, "%", mode));
    }
    Findings { rows, figures: Figures::new() }
}

/// Little's law: a closed loop completes as many chunks in each mean latency as there are initiators.
fn implied_chunks_per_s(point: &Measured, mean_latency_us: f64) -> f64 {
    f64::from(point.scenario.cluster.initiators) * 1e6 / mean_latency_us
}

fn table_row(
    cell: &Cell,
    metric: &str,
    published: f64,
    samples: &[f64],
    unit: &'static str,
    mode: Mode,
) -> Row {
    Row::new(table_id(cell, metric), Some(published), samples, unit, mode)
}

pub(super) fn thirty_initiators(measured: &[Measured]) -> Findings {
    let mut rows = Vec::new();
    for (figure, chunk_kib) in [("figure12", 128), ("figure13", 1024)] {
        rows.extend(figure_rows(figure, chunk_kib, measured));
        for (key, point) in bars(chunk_kib, measured) {
            let id = format!("{figure}/{}MBps/{}/disk_utilization", key.disk_mbps, key.protocol);
            let samples = per_seed(point, |r| r.disk_utilization * 100.0);
            rows.push(Row::new(id, None, &samples, "%", Mode::AsPublished));
        }
    }
    for point in measured {
        let key = CellKey::of(&point.scenario);
        if key.chunk_kib == 16 {
            let id = format!("figure8/{}/mean_latency", key.protocol);
            let samples = per_seed(point, |r| r.latency.mean);
            rows.push(Row::new(id, None, &samples, "us", Mode::AsPublished));
        }
    }
    let mut pictures = Figures::new();
    pictures.insert("figure8", figures::latencies_by_chunk(measured));
    pictures.insert(
        "figure12",
        figures::throughput("Put throughput, 128 KiB chunks, 30 initiators", 128, measured),
    );
    pictures.insert(
        "figure13",
        figures::throughput("Put throughput, 1 MiB chunks, 30 initiators", 1024, measured),
    );
    Findings { rows, figures: pictures }
}

/// The cells of the tables with their runs, in the tables' order.
fn cells(measured: &[Measured]) -> impl Iterator<Item = (&'static Cell, &Measured)> {
    tables_2_and_3().iter().filter_map(|cell| {
        let point = measured.iter().find(|point| {
            CellKey::of(&point.scenario).published().is_some_and(|found| std::ptr::eq(found, cell))
        });
        point.map(|point| (cell, point))
    })
}

/// One row per bar of a throughput picture. With 30 initiators the published bars are lost.
fn figure_rows(figure: &str, chunk_kib: u64, measured: &[Measured]) -> Vec<Row> {
    bars(chunk_kib, measured)
        .map(|(key, point)| {
            let paper = key.published_for(point);
            let id = format!("{figure}/{}MBps/{}/chunks_per_s", key.disk_mbps, key.protocol);
            let samples = per_seed(point, |r| r.chunks_per_s);
            let published = paper.map(|cell| cell.chunks_per_s);
            let row = Row::new(id, published, &samples, "1/s", Mode::AsPublished);
            match published {
                Some(_) => {
                    row.derived_from("chunks_per_s of Tables 2 and 3: the figures show them")
                }
                None => row,
            }
        })
        .collect()
}

/// How much faster disks help: 1000 against 400 MB/s, in mean latency and in throughput.
fn scaling_rows(measured: &[Measured]) -> Vec<Row> {
    let mut rows = Vec::new();
    for (slow_cell, slow) in cells(measured).filter(|(cell, _)| cell.disk_mbps == DISKS[0]) {
        let fast = cells(measured).find(|(cell, _)| {
            (cell.disk_mbps, cell.chunk_kib, cell.protocol)
                == (DISKS[1], slow_cell.chunk_kib, slow_cell.protocol)
        });
        let Some((fast_cell, fast)) = fast else { continue };
        let mut row = |metric: &str, published: f64, over: &[f64], under: &[f64]| {
            // Seed by seed: the same random choices before and after.
            let ratios: Vec<_> = over.iter().zip(under).map(|(a, b)| a / b).collect();
            let chunk = chunk_name(slow_cell.chunk_kib);
            let id = format!("scaling/{chunk}/{}/{metric}", slow_cell.protocol);
            let row = Row::new(id, Some(published), &ratios, "ratio", Mode::AsPublished);
            rows.push(row.derived_from("Tables 2 and 3: Table 3 over Table 2"));
        };
        row(
            "mean_latency",
            slow_cell.mean_latency_us / fast_cell.mean_latency_us,
            &per_seed(slow, |r| r.latency.mean),
            &per_seed(fast, |r| r.latency.mean),
        );
        row(
            "chunks_per_s",
            fast_cell.chunks_per_s / slow_cell.chunks_per_s,
            &per_seed(fast, |r| r.chunks_per_s),
            &per_seed(slow, |r| r.chunks_per_s),
        );
    }
    rows
}

/// Table 5 follows from the throughput of Replicast-M in Table 3.
fn table_5_rows(measured: &[Measured]) -> Vec<Row> {
    let mut rows = Vec::new();
    if let Some(point) = measured.first() {
        let network = &point.scenario.network;
        let control = network.usable_rate().share(point.scenario.replicast.control_share);
        let message = control.time_for(point.scenario.replicast.control_size);
        let both_ways = (message + network.trip) * 2;
        let id = "table5/round_trip".into();
        rows.push(
            Row::new(id, Some(TENTATIVE_US), &[both_ways.as_us_f64()], "us", Mode::AsPublished)
                .derived_from("the scenario: a control message and a trip, twice"),
        );
    }
    for line in table_5() {
        let key =
            CellKey { disk_mbps: DISKS[1], chunk_kib: line.chunk_kib, protocol: "replicast-m" };
        let Some(point) = measured.iter().find(|point| CellKey::of(&point.scenario) == key) else {
            continue;
        };
        let between: Vec<_> =
            per_seed(point, |r| r.chunks_per_s).iter().map(|rate| GROUPS * 1e6 / rate).collect();
        let chance: Vec<_> =
            between.iter().map(|us| (1.0 - (-TENTATIVE_US / us).exp()) * 100.0).collect();
        let chunk = chunk_name(line.chunk_kib);
        let mode = Mode::AsPublished;
        let id = format!("table5/{chunk}/put_interarrival");
        let rounded = "table5: the paper rounds 11.0, 56.8 and 503.8 us to 11, 50 and 500";
        rows.push(
            Row::new(id, Some(line.interarrival_us), &between, "us", mode).with_note(rounded),
        );
        let id = format!("table5/{chunk}/poisson_probability");
        let rounded = "table5: its probabilities follow from the rounded times";
        rows.push(Row::new(id, Some(line.probability_pct), &chance, "%", mode).with_note(rounded));
    }
    rows
}
