//! Requests for objects of mixed sizes, cut into chunks.

use slotcast_sim::{
    Cluster, Faults, Load, Mix, Operation, ProtocolKind, Run, RunReport, Scenario, Workload, check,
    run,
};
use slotcast_units::{Share, Size, Span};

const KINDS: [ProtocolKind; 2] = [ProtocolKind::ReplicastM, ProtocolKind::ReplicastH];

fn scenario(mix: &str, workload: &Workload) -> Scenario {
    Scenario {
        cluster: Cluster { initiators: 18, targets: 18, ..Cluster::default() },
        workload: Workload {
            mix: mix.parse().expect("a right mix"),
            preloaded_chunks: 200,
            ..workload.clone()
        },
        run: Run { length: Span::from_ms(500), warmup: Span::from_ms(50), ..Run::default() },
        ..Scenario::default()
    }
}

fn checked_run(scenario: &Scenario) -> RunReport {
    let report = run(scenario, 1).unwrap();
    assert_eq!((report.counts.failures, report.counts.transfer_conflicts), (0, 0));
    report
}

/// Bytes over the ports, or on the disks, against what the finished objects hold.
fn bytes_on_disk(report: &RunReport, scenario: &Scenario) -> f64 {
    let disks = f64::from(scenario.cluster.targets);
    report.disk_utilization * disks * scenario.disk.rate.as_bps() as f64 / 8.0
}

#[test]
fn a_mix_of_one_chunk_is_the_same_as_none() {
    for kind in KINDS {
        for get_percent in [0, 40] {
            let get_share = Share::from_percent(get_percent);
            let of = |mix| {
                let mut scenario = scenario(mix, &Workload { get_share, ..Workload::default() });
                scenario.protocol.kind = kind;
                run(&scenario, 3).unwrap().chunks_per_s
            };
            let (none, one) = (of("none"), of("128KiB:100%"));
            // Preloaded objects are drawn from another place in the same stream.
            assert!((one / none - 1.0).abs() < 0.03, "{kind:?} {get_percent} %: {one} {none}");
            if get_percent == 0 {
                assert_eq!(one, none, "the same draws, the same run");
            }
        }
    }
}

#[test]
fn an_object_is_stored_when_all_its_chunks_are() {
    for kind in KINDS {
        let of = |mix, window| {
            let mut scenario = scenario(mix, &Workload { window, ..Workload::default() });
            scenario.cluster.initiators = 1;
            scenario.protocol.kind = kind;
            checked_run(&scenario)
        };
        let (chunk, ten) = (of("none", 1), of("1280KiB:100%", 1));
        // With a window of one chunk the chunks come one after another.
        let ratio = ten.latency.mean / chunk.latency.mean;
        assert!((9.5..10.5).contains(&ratio), "{kind:?}: {ratio}");
        assert!((chunk.chunks_per_s / ten.chunks_per_s / 10.0 - 1.0).abs() < 0.05);
        // A wider window lets them overlap, where a chunk is sent once for all its replicas.
        if kind == ProtocolKind::ReplicastM {
            let wide = of("1280KiB:100%", 10).latency.mean;
            assert!(wide < 0.6 * ten.latency.mean, "{wide}");
        }
    }
}

#[test]
fn sizes_come_as_often_as_the_mix_says() {
    let mix = "32KiB:50% 128KiB:30% 1MiB:20%";
    for kind in KINDS {
        for get_percent in [0, 60] {
            let workload = Workload {
                load: Load::Open,
                window: 16,
                arrivals_per_s: 4_000,
                get_share: Share::from_percent(get_percent),
                ..Workload::default()
            };
            let mut scenario = scenario(mix, &workload);
            scenario.protocol.kind = kind;
            let report = checked_run(&scenario);
            assert!((report.chunks_per_s / 4_000.0 - 1.0).abs() < 0.08, "{kind:?}");
            let part = f64::from(get_percent) / 100.0;
            let accesses = 3.0 * (1.0 - part) + part;
            let mean = (0.5 * 32.0 + 0.3 * 128.0 + 0.2 * 1024.0) * 1024.0;
            let expected = report.chunks_per_s * accesses * mean;
            let found = bytes_on_disk(&report, &scenario);
            assert!((found / expected - 1.0).abs() < 0.1, "{kind:?}: {found} {expected}");
            let gets = report.completions.iter().filter(|c| c.operation == Operation::Get).count();
            let share = gets as f64 / report.completions.len() as f64;
            assert!((share - part).abs() < 0.05, "{kind:?}: {share}");
        }
    }
}

/// A closed loop of `window` chunks keeps them busy with any mix.
#[test]
fn a_window_counts_chunks() {
    let of = |mix, initiators, window| {
        let mut scenario = scenario(mix, &Workload { window, ..Workload::default() });
        scenario.cluster.initiators = initiators;
        checked_run(&scenario).disk_utilization
    };
    let chunks = of("none", 6, 3);
    let objects = of("1MiB:100%", 6, 3);
    assert!((objects / chunks - 1.0).abs() < 0.05, "{objects} {chunks}");
}

#[test]
fn an_object_that_loses_a_chunk_fails_once() {
    let mut scenario = scenario("1MiB:100%", &Workload::default());
    scenario.cluster.initiators = 1;
    scenario.replicast.max_rounds = 1;
    scenario.faults = Faults { transfer_corruption: Share::from_percent(5), ..Faults::default() };
    let report = run(&scenario, 1).unwrap();
    let (failed, stored) = (report.counts.failures as f64, report.counts.puts as f64);
    // A chunk is stored if none of its three replicas is damaged, an object if its eight chunks
    // are: 0.95 ^ 24 = 0.29.
    let part = stored / (stored + failed);
    assert!((0.2..0.4).contains(&part), "{part} of {}", stored + failed);
}

#[test]
fn what_cannot_be_cut_is_refused() {
    let mut wrong = scenario("1GiB:100%", &Workload::default());
    wrong.workload.chunk_size = Size::from_kib(4);
    let error = check(&wrong).unwrap_err();
    assert_eq!(error.key, "workload.mix");
    assert!(error.problem.contains("use larger chunks"), "{error}");
    let mut peer = scenario("1MiB:100%", &Workload::default());
    peer.protocol.kind = ProtocolKind::UchCcp;
    assert_eq!(check(&peer).unwrap_err().key, "workload.mix");
    assert_eq!(Mix::default(), Workload::default().mix);
}
