//! Closed and open loops, windows, gets and puts, and Little's law over all of it.

use slotcast_sim::{
    Cluster, Fidelity, Grant, Load, Operation, Protocol, ProtocolKind, Run, RunReport, Scenario,
    TargetChoice, Unicast, Workload, run,
};
use slotcast_units::{Share, Span};

const ALL: [ProtocolKind; 4] = [
    ProtocolKind::ReplicastM,
    ProtocolKind::ReplicastH,
    ProtocolKind::UchCcp,
    ProtocolKind::ReplicastProxy,
];

fn scenario(kind: ProtocolKind, workload: Workload) -> Scenario {
    Scenario {
        cluster: Cluster { initiators: 36, targets: 36, ..Cluster::default() },
        protocol: Protocol { kind },
        workload,
        run: Run { length: Span::from_ms(250), warmup: Span::from_ms(50), ..Run::default() },
        ..Scenario::default()
    }
}

/// Requests in the system, from Little's law.
fn in_system(report: &RunReport) -> f64 {
    report.chunks_per_s * report.latency.mean / 1e6
}

#[test]
fn a_closed_loop_keeps_its_window_full() {
    for kind in ALL {
        for window in [1, 3] {
            let report =
                run(&scenario(kind, Workload { window, ..Workload::default() }), 1).unwrap();
            let expected = 36.0 * f64::from(window);
            let found = in_system(&report);
            assert!((found / expected - 1.0).abs() < 0.03, "{kind:?} {window}: {found}");
        }
    }
}

#[test]
fn a_larger_window_moves_more() {
    for kind in ALL {
        let of =
            |window| run(&scenario(kind, Workload { window, ..Workload::default() }), 1).unwrap();
        assert!(of(2).chunks_per_s > of(1).chunks_per_s, "{kind:?}");
    }
}

/// What a run has behind it costs nothing: twice the time is twice the events.
#[test]
fn events_do_not_pile_up() {
    for kind in ALL {
        let of = |ms| {
            let mut scenario = scenario(kind, Workload::default());
            scenario.run.length = Span::from_ms(ms);
            run(&scenario, 1).unwrap().events as f64
        };
        let ratio = of(800) / of(400);
        assert!((1.9..2.1).contains(&ratio), "{kind:?}: {ratio}");
    }
}

#[test]
fn an_open_loop_serves_what_arrives() {
    for kind in ALL {
        let workload =
            Workload { load: Load::Open, window: 8, arrivals_per_s: 15_000, ..Workload::default() };
        let report = run(&scenario(kind, workload), 1).unwrap();
        // 0.2 s of 15000 arrivals per second: 3000, with a standard deviation of 55.
        assert!(
            (report.chunks_per_s - 15_000.0).abs() < 1200.0,
            "{kind:?} {}",
            report.chunks_per_s
        );
        // Each chunk is written three times, in 312.5 us, on 36 disks.
        let expected = report.chunks_per_s * 3.0 * 312.5e-6 / 36.0;
        assert!((report.disk_utilization / expected - 1.0).abs() < 0.03, "{kind:?}");
        let received = report.chunks_per_s * 3.0 * 128.0 * 1024.0 * 8.0 / (36.0 * 9.9e9);
        assert!((report.link_utilization / received - 1.0).abs() < 0.03, "{kind:?}");
    }
}

#[test]
fn an_overload_shows_in_the_latency_not_in_the_throughput() {
    let at = |arrivals_per_s| {
        let workload =
            Workload { load: Load::Open, window: 1, arrivals_per_s, ..Workload::default() };
        run(&scenario(ProtocolKind::ReplicastM, workload), 1).unwrap()
    };
    let (busy, overloaded) = (at(25_000), at(80_000));
    assert!(overloaded.chunks_per_s < 45_000.0);
    assert!(overloaded.latency.mean > 10.0 * busy.latency.mean);
}

#[test]
fn gets_and_puts_come_in_the_wanted_ratio() {
    for kind in ALL {
        for fidelity in [Fidelity::Flow, Fidelity::Frame] {
            let workload = Workload { get_share: Share::from_percent(40), ..Workload::default() };
            let mut scenario = scenario(kind, workload);
            scenario.run.fidelity = fidelity;
            let report = run(&scenario, 1).unwrap();
            let gets = report.completions.iter().filter(|c| c.operation == Operation::Get).count();
            let share = gets as f64 / report.completions.len() as f64;
            assert!((share - 0.4).abs() < 0.03, "{kind:?}: {share}");
            assert_eq!(report.counts.failures, 0);
            assert!(report.get_latency.mean < report.put_latency.mean);
            assert_eq!(report.counts.transfer_conflicts, 0);
        }
    }
}

/// Several gets at once to one initiator come one after another, each in its window.
#[test]
fn gets_do_not_meet_on_the_link() {
    for kind in [ProtocolKind::ReplicastM, ProtocolKind::ReplicastH, ProtocolKind::ReplicastProxy] {
        for share in [50, 100] {
            let workload = Workload {
                get_share: Share::from_percent(share),
                window: 8,
                ..Workload::default()
            };
            let report = run(&scenario(kind, workload), 1).unwrap();
            assert!(report.counts.gets > 1000, "{:?}", report.counts);
            assert_eq!(report.counts.transfer_conflicts, 0, "{kind:?} {share} %");
            assert_eq!(report.counts.failures, 0, "{kind:?} {share} %");
            assert!(report.link_utilization > 0.05);
        }
    }
}

/// Initiators that start late have used the disks for a part of the run only; what the warm-up
/// leaves out must not dilute that.
#[test]
fn the_warm_up_is_left_out_of_the_disks_figures() {
    let late = Workload { start_spread: Span::from_ms(100), ..Workload::default() };
    let mut scenario = scenario(ProtocolKind::ReplicastM, late);
    scenario.run.warmup = Span::from_ms(120);
    let with = run(&scenario, 1).unwrap();
    scenario.run.warmup = Span::ZERO;
    let without = run(&scenario, 1).unwrap();
    assert!(with.disk_utilization > without.disk_utilization + 0.1);
    let expected = with.chunks_per_s * 3.0 * 312.5e-6 / 36.0;
    assert!((with.disk_utilization / expected - 1.0).abs() < 0.03);
}

/// Frame by frame, payload waits for control messages of the same sender: with one initiator alone
/// that is all that tells the two fidelities apart.
#[test]
fn control_messages_get_between_frames() {
    let of = |fidelity, window| {
        let workload = Workload { window, ..Workload::default() };
        let mut scenario = scenario(ProtocolKind::ReplicastH, workload);
        scenario.cluster.initiators = 1;
        scenario.run.fidelity = fidelity;
        run(&scenario, 1).unwrap().completions
    };
    assert_eq!(of(Fidelity::Frame, 1), of(Fidelity::Flow, 1));
    assert_ne!(of(Fidelity::Frame, 4), of(Fidelity::Flow, 4));
}

/// From a standing start, when all ask at once, renegotiation pays.
#[test]
fn choosy_initiators_are_faster_from_a_standing_start() {
    use slotcast_sim::SequenceChoice;
    let of = |choosy| {
        let mut scenario = scenario(ProtocolKind::ReplicastH, Workload::default());
        scenario.replicast.choosy = choosy;
        scenario.replicast.sequence = SequenceChoice::Revised;
        scenario.disk.rate = slotcast_units::Rate::from_bytes_per_s(1000 << 20);
        scenario.run.length = Span::from_ms(10);
        scenario.run.warmup = Span::ZERO;
        run(&scenario, 1).unwrap().latency.mean
    };
    assert!(of(true) < 0.97 * of(false), "{} against {}", of(true), of(false));
}

#[test]
fn the_peers_variants_run() {
    for (unicast, kind, fidelity) in [
        (
            Unicast { target_choice: TargetChoice::Ring, ..Unicast::default() },
            ProtocolKind::UchCcp,
            Fidelity::Flow,
        ),
        (
            Unicast { grant: Grant::Serial, ..Unicast::default() },
            ProtocolKind::UchCcp,
            Fidelity::Flow,
        ),
        (
            Unicast { grant: Grant::Serial, ..Unicast::default() },
            ProtocolKind::UchCcp,
            Fidelity::Frame,
        ),
        (Unicast::default(), ProtocolKind::UchAimd, Fidelity::Frame),
    ] {
        let mut scenario = scenario(kind, Workload::default());
        scenario.unicast = unicast.clone();
        scenario.run.fidelity = fidelity;
        let report = run(&scenario, 1).unwrap();
        let ccp = run(&self::scenario(ProtocolKind::UchCcp, Workload::default()), 1).unwrap();
        // None of the variants is as good as equal shares with random targets, nor hopeless.
        let ratio = report.latency.mean / ccp.latency.mean;
        assert!((0.95..4.0).contains(&ratio), "{kind:?} {unicast:?}: {ratio}");
    }
}

/// However many senders there are, a port passes on what its rate allows.
#[test]
fn ports_do_not_carry_more_than_their_rate() {
    for kind in [ProtocolKind::UchCcp, ProtocolKind::UchAimd, ProtocolKind::ReplicastM] {
        let mut scenario = scenario(kind, Workload::default());
        scenario.cluster.targets = 9;
        scenario.disk.rate = slotcast_units::Rate::from_bytes_per_s(100_000 << 20);
        scenario.disk.queue_limit = slotcast_units::Size::from_mib(64);
        scenario.run.fidelity = Fidelity::Frame;
        scenario.run.length = Span::from_ms(100);
        let report = run(&scenario, 1).unwrap();
        let utilization = report.link_utilization;
        assert!((0.3..1.0).contains(&utilization), "{kind:?}: {utilization}");
    }
}

#[test]
fn aimd_has_no_flow_fidelity() {
    let scenario = scenario(ProtocolKind::UchAimd, Workload::default());
    let error = run(&scenario, 1).unwrap_err();
    assert_eq!(error.key, "run.fidelity");
    assert!(error.problem.contains("frame"), "{error}");
}
