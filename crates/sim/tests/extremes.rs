//! Settings at the edge of sense are refused with a reason, or run to the end with finite figures.

use slotcast_sim::{Protocol, ProtocolKind, RunReport, Scenario, ScenarioError, check, run};
use slotcast_units::{Rate, Share, Size, Span};

const KINDS: [ProtocolKind; 3] =
    [ProtocolKind::ReplicastM, ProtocolKind::ReplicastH, ProtocolKind::UchCcp];

type Change = fn(&mut Scenario);

/// A small scenario with one thing changed.
fn with(kind: ProtocolKind, change: impl Fn(&mut Scenario)) -> Result<RunReport, ScenarioError> {
    let mut scenario = Scenario { protocol: Protocol { kind }, ..Scenario::default() };
    scenario.cluster.initiators = 18;
    scenario.cluster.targets = 18;
    scenario.run.length = Span::from_ms(3);
    scenario.run.warmup = Span::ZERO;
    change(&mut scenario);
    run(&scenario, 1)
}

fn is_finite(report: &RunReport) -> bool {
    let r = report;
    [r.chunks_per_s, r.latency.mean, r.disk_utilization, r.disk_queue_length, r.link_utilization]
        .iter()
        .all(|value| value.is_finite() && *value >= 0.0)
}

#[test]
fn what_can_run_ends_with_finite_figures() {
    let changes: [(&str, Change); 16] = [
        ("one byte", |s| s.workload.chunk_size = Size::from_bytes(1)),
        ("64 MiB", |s| s.workload.chunk_size = Size::from_mib(64)),
        ("a window of 1000", |s| s.workload.window = 1000),
        ("eight replicas", |s| s.cluster.replicas = 8),
        ("gets alone", |s| s.workload.get_share = Share::ONE),
        ("nothing to get", |s| {
            s.workload.get_share = Share::ONE;
            s.workload.preloaded_chunks = 0;
        }),
        ("a trip of a second", |s| s.network.trip = Span::from_secs(1)),
        ("a nanosecond", |s| s.run.length = Span::from_ns(1)),
        ("a slow link", |s| s.network.link_rate = Rate::from_bps(1_000_000)),
        ("a slow disk", |s| s.disk.rate = Rate::from_bps(1_000_000)),
        ("control takes nearly all", |s| s.replicast.control_share = Share::from_ppm(999_000)),
        ("no queue", |s| s.disk.queue_limit = Size::ZERO),
        ("a long queue", |s| s.disk.queue_limit = Size::from_mib(1 << 20)),
        ("one group of 18", |s| s.cluster.group_size = 18),
        ("a flood", |s| {
            s.workload.load = slotcast_sim::Load::Open;
            s.workload.arrivals_per_s = 100_000_000;
        }),
        ("many initiators", |s| s.cluster.initiators = 3000),
    ];
    for kind in KINDS {
        for (name, change) in changes {
            let report = with(kind, change);
            let report = report.unwrap_or_else(|error| panic!("{kind:?}, {name}: {error}"));
            assert!(is_finite(&report), "{kind:?}, {name}: {report:?}");
        }
    }
}

#[test]
fn a_group_that_is_all_down_fails_and_does_not_hang() {
    let report = with(ProtocolKind::ReplicastM, |s| {
        s.faults.targets_down = 18;
        s.run.length = Span::from_ms(50);
    })
    .unwrap();
    assert_eq!(report.counts.puts, 0);
    assert!(report.counts.failures > 0);
}

#[test]
fn what_makes_no_sense_names_the_setting() {
    let changes: [(&str, Change); 12] = [
        ("network.frame", |s| {
            s.network.frame = Size::from_bytes(64);
            s.network.link_rate = Rate::from_bps(10_000_000_000_000);
        }),
        ("replicast.control_share", |s| {
            s.network.link_rate = Rate::from_bps(1_000);
            s.replicast.control_share = Share::from_ppm(1);
        }),
        ("replicast.control_share", |s| s.replicast.control_share = Share::ONE),
        ("replicast.control_size", |s| s.replicast.control_size = Size::from_bytes(100)),
        ("replicast.answer_timeout", |s| s.replicast.answer_timeout = Span::from_ns(1)),
        ("replicast.ack_timeout", |s| s.replicast.ack_timeout = Span::from_us(100)),
        ("replicast.bid_multiplier", |s| s.replicast.bid_multiplier = Share::from_percent(50)),
        ("run.warmup", |s| {
            s.quirks.early_statistics = true;
            s.run.warmup = Span::from_ns(2_999_999);
        }),
        ("cluster.targets", |s| s.cluster.targets = 8),
        ("cluster.replicas", |s| s.cluster.replicas = 9),
        ("cluster.group_size", |s| s.cluster.group_size = 2),
        ("faults.up_at", |s| s.faults.up_at = Span::from_ns(1)),
    ];
    for (key, change) in changes {
        let mut scenario = Scenario::default();
        scenario.cluster.initiators = 18;
        scenario.cluster.targets = 18;
        scenario.run.length = Span::from_ms(3);
        scenario.run.warmup = Span::ZERO;
        scenario.faults.down_at = Span::from_ms(1);
        scenario.cluster.replicas = 3;
        change(&mut scenario);
        let error = check(&scenario).expect_err(key);
        assert_eq!(error.key, key, "{error}");
    }
}
