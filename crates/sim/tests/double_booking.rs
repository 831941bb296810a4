//! Windows that are booked twice: more is asked of every message, and nothing of what was promised is
//! lost.

use slotcast_sim::{
    Fidelity, Protocol, ProtocolKind, Replicast, Run, RunReport, Scenario, Workload, run,
};
use slotcast_units::{Rate, Share, Size, Span};

/// A busy cluster whose disks do not hold it back.
fn scenario(double_booking: bool) -> Scenario {
    let mut scenario = Scenario {
        protocol: Protocol { kind: ProtocolKind::ReplicastH },
        replicast: Replicast { double_booking, ..Replicast::default() },
        workload: Workload { chunk_size: Size::from_kib(16), ..Workload::default() },
        run: Run { length: Span::from_ms(12), warmup: Span::from_ms(4), ..Run::default() },
        ..Scenario::default()
    };
    scenario.cluster.initiators = 36;
    scenario.cluster.targets = 36;
    scenario.disk.rate = Rate::from_bytes_per_s(4000 << 20);
    scenario
}

fn report(scenario: &Scenario) -> RunReport {
    let report = run(scenario, 1).unwrap();
    assert_eq!(report.counts.failures, 0);
    assert!(report.counts.puts > 1000, "{:?}", report.counts);
    report
}

#[test]
fn on_a_good_network_it_is_faster_and_no_transfers_meet() {
    for fidelity in [Fidelity::Flow, Fidelity::Frame] {
        let with = |double_booking| {
            let mut scenario = scenario(double_booking);
            scenario.run.fidelity = fidelity;
            report(&scenario)
        };
        let (plain, double) = (with(false), with(true));
        assert_eq!((plain.counts.double_bookings, plain.counts.late_rejects), (0, 0));
        let counts = double.counts;
        assert!(counts.double_bookings > counts.puts, "{counts:?}");
        assert!(counts.late_rejects > counts.puts / 10, "{counts:?}");
        assert!(counts.double_bookings > counts.late_rejects, "most are cancelled: {counts:?}");
        assert_eq!(counts.transfer_conflicts, 0);
        assert!(double.latency.mean < plain.latency.mean);
    }
}

/// A rejection that is lost or late lets two transfers meet. That is counted, the one without a
/// reservation is refused, and every put ends with its replicas.
#[test]
fn lost_and_late_rejections_cost_time_and_nothing_else() {
    let mut scenario = scenario(true);
    scenario.workload.window = 2;
    scenario.faults.message_loss = Share::from_percent(2);
    scenario.faults.message_duplication = Share::from_percent(2);
    scenario.faults.message_delay = Span::from_us(20);
    let report = report(&scenario);
    assert!(report.counts.late_rejects > 100 && report.counts.messages_lost > 100);
    assert!(report.counts.transfer_conflicts > 0, "{:?}", report.counts);
}

#[test]
fn only_replicast_h_can_do_it() {
    let multicast =
        Scenario { protocol: Protocol { kind: ProtocolKind::ReplicastM }, ..scenario(true) };
    let error = run(&multicast, 1).unwrap_err();
    assert_eq!(error.key, "replicast.double_booking");
    assert!(error.problem.contains("replicast-h"), "{error}");
}

/// As the hashes in `determinism.rs`: another machine must find the same.
#[test]
fn it_is_the_same_on_every_machine() {
    let mut choosy = scenario(true);
    choosy.replicast.choosy = true;
    let hashes =
        [scenario(true), choosy].map(|s| format!("{:016x}", run(&s, 1).unwrap().trace_hash));
    assert_eq!(hashes, ["a7258a26eadb9b20", "451cae12eb68392b"]);
}
