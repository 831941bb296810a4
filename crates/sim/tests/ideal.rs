//! One initiator alone takes exactly the time that the protocol's steps add up to.

use slotcast_sim::{Cluster, Disk, Fidelity, Protocol, ProtocolKind, Run, Scenario, Workload, run};
use slotcast_units::{Rate, Size, Span};

fn alone(kind: ProtocolKind, fidelity: Fidelity) -> Scenario {
    Scenario {
        cluster: Cluster { initiators: 1, ..Cluster::default() },
        disk: Disk { rate: Rate::from_bytes_per_s(1000 << 20), ..Disk::default() },
        protocol: Protocol { kind },
        workload: Workload { chunk_size: Size::from_kib(128), ..Workload::default() },
        run: Run { length: Span::from_ms(5), warmup: Span::ZERO, fidelity },
        ..Scenario::default()
    }
}

/// All latencies of a run with one initiator, in ns.
fn latencies(scenario: &Scenario) -> Vec<u64> {
    let report = run(scenario, 1).unwrap();
    assert_eq!(report.counts.transfer_conflicts, 0);
    report.completions.iter().map(|c| c.latency().as_ns()).collect()
}

// Times of the Replicast paper's network, from its constants: see `slotcast_protocol::Timing`.
const ONE_WAY: u64 = 2424 + 1000;
const TRIP: u64 = 1000;
const DISK: u64 = 125_000;
/// 14 frames of 8080 ns and one of 5072 bytes, in whole nanoseconds.
const TRANSFER: u64 = 14 * 8080 + 4553;

#[test]
fn replicast_m() {
    for fidelity in [Fidelity::Flow, Fidelity::Frame] {
        let ideal = 2 * ONE_WAY + 2424 + TRANSFER + TRIP + DISK + ONE_WAY;
        let all = latencies(&alone(ProtocolKind::ReplicastM, fidelity));
        assert!(all.len() > 10);
        assert!(all.iter().all(|&l| l == ideal), "{fidelity:?}: {ideal} {all:?}");
    }
}

#[test]
fn replicast_h() {
    for fidelity in [Fidelity::Flow, Fidelity::Frame] {
        // The stretched bids of idle targets have room for two windows of 129.553 us in a row. The
        // third replica is asked for two control messages before the end of the second window, so
        // its own starts a lead and a trip later than asked: the bubble between replicas.
        let bubble = 2 * 2424 + TRIP + ONE_WAY - 2 * 2424;
        let ideal = 2 * ONE_WAY + 2424 + 2 * 129_553 + bubble + TRANSFER + TRIP + DISK + ONE_WAY;
        let all = latencies(&alone(ProtocolKind::ReplicastH, fidelity));
        assert!(all.len() > 8);
        assert!(all.iter().all(|&l| l == ideal), "{fidelity:?}: {ideal} {all:?}");
    }
}

#[test]
fn replicast_proxy() {
    for fidelity in [Fidelity::Flow, Fidelity::Frame] {
        // One message to the proxy and one back; the payload leaves when that is here.
        let ideal = 2 * ONE_WAY + TRANSFER + TRIP + DISK + ONE_WAY;
        let all = latencies(&alone(ProtocolKind::ReplicastProxy, fidelity));
        assert!(all.len() > 10);
        // The first request to each of the ten groups finds no proxy: its first member asks the
        // others before it grants anything.
        let take_over = 2 * ONE_WAY;
        assert!(all.iter().all(|&l| l == ideal || l == ideal + take_over), "{ideal} {all:?}");
        assert!(all.iter().filter(|&&l| l > ideal).count() <= 10);
        assert_eq!(all.last(), Some(&ideal));
    }
}

#[test]
fn uch_ccp() {
    for fidelity in [Fidelity::Flow, Fidelity::Frame] {
        let round_trip = 2 * (80 + TRIP);
        let (frame, last) = (7272, 4098);
        // The next replica is asked for when the last frame of the one before starts; its first
        // frame waits until the sender's bucket has recovered from that last frame.
        let all = latencies(&alone(ProtocolKind::UchCcp, fidelity));
        let shortest = 3 * (round_trip + 14 * frame) + last + TRIP + DISK + 80 + TRIP;
        assert!(all.len() > 8);
        for &latency in &all {
            assert!(
                (shortest..shortest + 2 * (last + 100)).contains(&latency),
                "{fidelity:?}: {latency} against {shortest}"
            );
        }
    }
}

#[test]
fn a_chunk_on_an_idle_cluster_is_fetched_in_the_ideal_time() {
    use slotcast_units::Share;
    let workload = |w: Workload| Workload { get_share: Share::ONE, ..w };
    let mut scenario = alone(ProtocolKind::ReplicastM, Fidelity::Flow);
    scenario.workload = workload(scenario.workload);
    // Request, offer and acceptance; the target reads when it is chosen, and then sends.
    let ideal = 3 * ONE_WAY + DISK + TRANSFER + TRIP;
    let all = latencies(&scenario);
    assert!(all.iter().all(|&l| l == ideal), "{ideal} {all:?}");

    let mut scenario = alone(ProtocolKind::UchCcp, Fidelity::Flow);
    scenario.workload = workload(scenario.workload);
    let ideal = (80 + TRIP) + DISK + 14 * 7272 + 4098 + TRIP;
    let all = latencies(&scenario);
    assert!(all.iter().all(|&l| l == ideal), "{ideal} {all:?}");
}
