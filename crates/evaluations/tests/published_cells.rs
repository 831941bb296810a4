//! The mean latencies of the Replicast paper's Tables 2 and 3, run as published, are met.

use slotcast_evaluations::published::tables_2_and_3;
use slotcast_lab::{Completions, Experiment, Runner};
use slotcast_sim::ProtocolKind;

/// How far a measured mean may be from the published one.
fn tolerance(kind: ProtocolKind) -> f64 {
    match kind {
        ProtocolKind::ReplicastM => 0.06,
        ProtocolKind::ReplicastH => 0.08,
        ProtocolKind::UchCcp | ProtocolKind::UchAimd => 0.04,
        other => panic!("the paper has no {other:?}"),
    }
}

#[test]
fn eighteen_mean_latencies_are_as_published() {
    let text = include_str!("../../../experiments/replicast.toml");
    let experiment = Experiment::from_toml("replicast.toml", text, &[]).unwrap();
    let runs = Runner::new(None)
        .unwrap()
        .run(&experiment.points, experiment.seeds, Completions::Drop, &|_| {})
        .unwrap();
    let mut found = 0;
    for (point, runs) in experiment.points.iter().zip(runs) {
        let scenario = &point.scenario;
        let kind = scenario.protocol.kind;
        let name = match kind {
            ProtocolKind::ReplicastM => "replicast-m",
            ProtocolKind::ReplicastH => "replicast-h",
            ProtocolKind::UchCcp | ProtocolKind::UchAimd => "uch-ccp",
            other => panic!("the paper has no {other:?}"),
        };
        let chunk_kib = scenario.workload.chunk_size.as_bytes() / 1024;
        let table = if scenario.disk.rate.as_bps() == (400 << 20) * 8 { 2 } else { 3 };
        let cell = tables_2_and_3()
            .iter()
            .find(|c| (c.table, c.chunk_kib, c.protocol) == (table, chunk_kib, name))
            .expect("every point is a cell");
        let mean = runs.iter().map(|run| run.report.latency.mean).sum::<f64>() / runs.len() as f64;
        let deviation = mean / cell.mean_latency_us - 1.0;
        assert!(
            deviation.abs() < tolerance(kind),
            "table {table}, {chunk_kib} KiB, {name}: {mean:.1} us, published {:.1} us",
            cell.mean_latency_us
        );
        found += 1;
    }
    assert_eq!(found, 18);
}
