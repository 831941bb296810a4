//! What arithmetic says of a scenario, against what its run finds.

use slotcast_sim::{Cluster, Disk, Load, ProtocolKind, Run, Scenario, Workload, demand, run};
use slotcast_units::{Rate, Share, Size, Span};

fn scenario() -> Scenario {
    Scenario {
        cluster: Cluster { initiators: 18, targets: 18, ..Cluster::default() },
        workload: Workload {
            load: Load::Open,
            window: 32,
            arrivals_per_s: 2_000,
            chunk_size: Size::from_mib(1),
            mix: "200KiB:50% 1MiB:30% 2500KiB:20%".parse().unwrap(),
            preloaded_chunks: 300,
            ..Workload::default()
        },
        disk: Disk {
            rate: Rate::from_bytes_per_s(1000 << 20),
            access_time: Span::from_us(500),
            per_target: 3,
            ..Disk::default()
        },
        run: Run { length: Span::from_secs(2), warmup: Span::from_ms(200), ..Run::default() },
        ..Scenario::default()
    }
}

#[test]
fn the_disks_are_as_busy_as_computed() {
    for kind in [ProtocolKind::ReplicastM, ProtocolKind::ReplicastH] {
        for get_percent in [0, 50, 100] {
            let mut scenario = scenario();
            scenario.protocol.kind = kind;
            scenario.workload.get_share = Share::from_percent(get_percent);
            let report = run(&scenario, 1).unwrap();
            let expected = demand(&scenario).disks * report.chunks_per_s;
            let found = report.disk_utilization;
            assert!(
                (found / expected - 1.0).abs() < 0.05,
                "{kind:?} {get_percent} %: {found} {expected}"
            );
        }
    }
}

#[test]
fn the_links_carry_what_is_computed() {
    for (kind, unused) in [
        (ProtocolKind::ReplicastM, 1.45),
        (ProtocolKind::ReplicastH, 1.3),
        (ProtocolKind::ReplicastProxy, 1.3),
    ] {
        let mut scenario = scenario();
        scenario.protocol.kind = kind;
        let report = run(&scenario, 1).unwrap();
        let taken = demand(&scenario).target_in * report.chunks_per_s;
        // Ports are taken for more than the payload: for the slack of a window, and at the rate
        // that control messages leave.
        let found = report.link_utilization;
        assert!(found < taken && taken < found * unused, "{kind:?}: {found} {taken}");
    }
    let mut peer = scenario();
    peer.protocol.kind = ProtocolKind::UchCcp;
    peer.disk.per_target = 1;
    peer.disk.access_time = Span::ZERO;
    peer.workload.mix = "none".parse().unwrap();
    let report = run(&peer, 1).unwrap();
    let expected = demand(&peer).target_in * report.chunks_per_s;
    assert!((report.link_utilization / expected - 1.0).abs() < 0.02);
}

#[test]
fn no_run_sustains_more_than_the_capacity() {
    for kind in [
        ProtocolKind::ReplicastM,
        ProtocolKind::ReplicastH,
        ProtocolKind::ReplicastProxy,
        ProtocolKind::UchCcp,
    ] {
        for disk in [200u64, 20_000] {
            let mut scenario = scenario();
            scenario.protocol.kind = kind;
            scenario.workload.mix = "none".parse().unwrap();
            scenario.disk = Disk { rate: Rate::from_bytes_per_s(disk << 20), ..Disk::default() };
            let capacity = demand(&scenario).capacity();
            scenario.workload.arrivals_per_s = (capacity * 1.5) as u64;
            scenario.run.length = Span::from_secs(1);
            let found = run(&scenario, 1).unwrap().chunks_per_s;
            assert!(found < capacity * 1.01, "{kind:?} {disk} MiB/s: {found} of {capacity}");
            assert!(found > capacity * 0.6, "{kind:?} {disk} MiB/s: {found} of {capacity}");
        }
    }
}

#[test]
fn a_wider_cluster_carries_more() {
    let of = |targets, per_target| {
        let mut scenario = scenario();
        scenario.cluster.targets = targets;
        scenario.disk.per_target = per_target;
        scenario.disk.rate = Rate::from_bytes_per_s(100 << 20);
        demand(&scenario).capacity()
    };
    assert!(of(36, 1) > of(18, 1));
    assert!((of(18, 2) / of(18, 1) - 2.0).abs() < 1e-9, "the disks are the limit");
}
