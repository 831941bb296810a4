//! Targets with several disks behind one link, and disks that take a time for each request.

use slotcast_sim::{
    Cluster, Disk, Load, ProtocolKind, Run, RunReport, Scenario, Workload, check, run,
};
use slotcast_units::{Rate, Share, Size, Span};

const SEEK: Span = Span::from_ms(10);

/// Six machines of twelve slow disks: an access takes 10 ms, 1 MiB of bytes another 5 ms.
fn machines(arrivals_per_s: u64, get_percent: u32) -> Scenario {
    Scenario {
        cluster: Cluster { initiators: 6, targets: 6, group_size: 6, ..Cluster::default() },
        disk: Disk {
            rate: Rate::from_bytes_per_s(200 << 20),
            access_time: SEEK,
            per_target: 12,
            ..Disk::default()
        },
        workload: Workload {
            load: Load::Open,
            window: 64,
            arrivals_per_s,
            chunk_size: Size::from_mib(1),
            get_share: Share::from_percent(get_percent),
            preloaded_chunks: 2000,
            ..Workload::default()
        },
        run: Run { length: Span::from_secs(5), warmup: Span::from_secs(1), ..Run::default() },
        ..Scenario::default()
    }
}

fn run_of(scenario: &Scenario) -> RunReport {
    let report = run(scenario, 1).unwrap();
    assert_eq!(report.counts.failures, 0);
    assert_eq!(report.counts.transfer_conflicts, 0);
    report
}

#[test]
fn all_disks_of_a_target_work_side_by_side() {
    // A put takes 3 times 15 ms of disk, and there are 72 disks: 1600 puts/s at most.
    let report = run_of(&machines(1200, 0));
    assert!((report.chunks_per_s / 1200.0 - 1.0).abs() < 0.05, "{}", report.chunks_per_s);
    let busy = report.chunks_per_s * 3.0 * 0.015 / 72.0;
    assert!((report.disk_utilization / busy - 1.0).abs() < 0.02, "{}", report.disk_utilization);
    // A chunk goes to a free disk of its target where there is one: hardly any of them waits.
    assert!(report.latency.p99 < 25_000.0, "{:?}", report.latency);
}

#[test]
fn a_chunk_is_read_from_the_disk_that_has_it() {
    for get_percent in [50, 100] {
        let report = run_of(&machines(1500, get_percent));
        let puts = f64::from(100 - get_percent) / 100.0;
        let accesses = puts * 3.0 + (1.0 - puts);
        let busy = report.chunks_per_s * accesses * 0.015 / 72.0;
        assert!((report.disk_utilization / busy - 1.0).abs() < 0.05, "{get_percent} %");
        // A target foretells when its disk has read a chunk: few windows pass unused.
        let again = report.counts.extra_rounds as f64 / report.counts.gets as f64;
        assert!(again < 0.05, "{get_percent} %: {again} rounds more per get");
    }
}

#[test]
fn the_disks_share_the_link_of_their_target() {
    // Disks for 100 Gb/s behind links of 10: the links bound it, as one very fast disk shows.
    let of = |per_target: u32| {
        let mut scenario = machines(1, 0);
        scenario.cluster.targets = 9;
        scenario.cluster.group_size = 9;
        scenario.cluster.initiators = 18;
        scenario.workload.load = Load::Closed;
        scenario.workload.window = 4;
        scenario.disk = Disk {
            rate: Rate::from_bps(100_000_000_000 / u64::from(per_target)),
            per_target,
            queue_limit: Size::from_mib(64),
            ..Disk::default()
        };
        scenario.run.length = Span::from_ms(300);
        scenario.run.warmup = Span::from_ms(50);
        run_of(&scenario)
    };
    let (one, ten) = (of(1), of(10));
    assert!(one.link_utilization > 0.6, "{}", one.link_utilization);
    assert!((ten.link_utilization / one.link_utilization - 1.0).abs() < 0.05);
}

#[test]
fn an_access_takes_its_time_with_every_protocol() {
    for kind in [ProtocolKind::ReplicastM, ProtocolKind::ReplicastH, ProtocolKind::UchCcp] {
        for get_percent in [0, 100] {
            let of = |access_time| {
                let mut scenario = machines(10, get_percent);
                scenario.protocol.kind = kind;
                scenario.disk.per_target = 1;
                scenario.disk.access_time = access_time;
                run_of(&scenario).latency.p50
            };
            // At ten requests per second there is nobody to wait for.
            let longer = of(SEEK) - of(Span::ZERO);
            assert!((longer - 10_000.0).abs() < 2.0, "{kind:?} {get_percent} %: {longer} us");
        }
    }
}

#[test]
fn several_disks_are_for_replicast() {
    let mut scenario = machines(100, 0);
    scenario.protocol.kind = ProtocolKind::UchCcp;
    assert_eq!(check(&scenario).unwrap_err().key, "disk.per_target");
    scenario.disk.per_target = 0;
    assert_eq!(check(&scenario).unwrap_err().key, "disk.per_target");
}
