//! What goes wrong costs time, and nothing else: requests end well, and promises hold.

use slotcast_sim::{
    Cluster, Faults, Load, Protocol, ProtocolKind, Run, RunReport, Scenario, Workload, run,
};
use slotcast_units::{Share, Span};

const REPLICAST: [ProtocolKind; 3] =
    [ProtocolKind::ReplicastM, ProtocolKind::ReplicastH, ProtocolKind::ReplicastProxy];

fn with(kind: ProtocolKind, faults: Faults) -> RunReport {
    let scenario = Scenario {
        cluster: Cluster { initiators: 18, targets: 36, ..Cluster::default() },
        protocol: Protocol { kind },
        workload: Workload { get_share: Share::from_percent(25), ..Workload::default() },
        faults,
        run: Run { length: Span::from_ms(40), warmup: Span::from_ms(5), ..Run::default() },
        ..Scenario::default()
    };
    let report = run(&scenario, 3).unwrap();
    assert_eq!(report.counts.failures, 0, "{kind:?}");
    assert!(report.counts.puts > 200 && report.counts.gets > 50, "{:?}", report.counts);
    report
}

#[test]
fn lost_repeated_and_late_messages() {
    for kind in REPLICAST {
        let clean = with(kind, Faults::default());
        assert_eq!(clean.counts.messages_lost, 0);
        assert_eq!(clean.counts.transfer_conflicts, 0);
        let faulty = with(
            kind,
            Faults {
                message_loss: Share::from_percent(2),
                message_duplication: Share::from_percent(2),
                message_delay: Span::from_us(20),
                ..Faults::default()
            },
        );
        assert!(faulty.counts.messages_lost > 100, "{:?}", faulty.counts);
        assert!(faulty.latency.mean > clean.latency.mean);
    }
}

#[test]
fn damaged_transfers_are_sent_again() {
    for kind in REPLICAST {
        let faulty =
            with(kind, Faults { transfer_corruption: Share::from_percent(5), ..Faults::default() });
        assert!(faulty.counts.extra_rounds > 10, "{:?}", faulty.counts);
    }
}

#[test]
fn targets_that_go_away_and_come_back() {
    for kind in REPLICAST {
        let faulty = with(
            kind,
            Faults {
                targets_down: 4,
                down_at: Span::from_ms(10),
                up_at: Span::from_ms(25),
                ..Faults::default()
            },
        );
        // While targets are away the group goes on without them.
        let away = faulty.completions.iter().filter(|c| {
            let at = c.finished.as_ns();
            (15_000_000..25_000_000).contains(&at)
        });
        assert!(away.count() > 30);
    }
}

#[test]
fn slow_disks_get_less_to_do() {
    for kind in REPLICAST {
        let slow = with(
            kind,
            Faults { slow_disks: 4, slow_factor: Share::from_percent(25), ..Faults::default() },
        );
        let clean = with(kind, Faults::default());
        // Four of 36 disks at a quarter of their rate: hashing alone would make every third chunk
        // wait for one of them.
        assert!(
            slow.latency.p50 < 1.3 * clean.latency.p50,
            "{kind:?}: {} against {}",
            slow.latency.p50,
            clean.latency.p50
        );
    }
}

#[test]
fn the_peers_refuse_what_they_cannot_survive() {
    let scenario = Scenario {
        protocol: Protocol { kind: ProtocolKind::UchCcp },
        faults: Faults { message_loss: Share::from_percent(1), ..Faults::default() },
        ..Scenario::default()
    };
    assert_eq!(run(&scenario, 1).unwrap_err().key, "faults.message_loss");
}

#[test]
fn a_rebuild_takes_its_share_of_the_disks_of_the_group_that_lost_a_target() {
    let utilization = |share| {
        let mut scenario = Scenario::default();
        scenario.cluster.targets = 18;
        scenario.cluster.initiators = 18;
        scenario.workload.load = Load::Open;
        scenario.workload.arrivals_per_s = 100;
        scenario.disk.per_target = 4;
        scenario.faults.targets_down = 1;
        scenario.faults.rebuild_share = Share::from_percent(share);
        scenario.run =
            Run { length: Span::from_ms(200), warmup: Span::from_ms(50), ..Run::default() };
        run(&scenario, 1).expect("it can be run").disk_utilization
    };
    // Eight of eighteen targets share a group with the one that is down.
    let more = utilization(20) - utilization(0);
    assert!((more - 0.2 * 8.0 / 18.0).abs() < 0.005, "{more}");
}
