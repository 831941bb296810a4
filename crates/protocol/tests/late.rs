//! What is said in a datagram may be lost: who waits for it asks, as soon as it is late, and nothing is stored or sent that
//! need not be.

mod cluster;

use cluster::{Ended, Fate, TestCluster, chunk};
use slotcast_protocol::{Delivery, LateRules};
use slotcast_units::{Rate, Span, Time};

const BOTH: [Delivery; 2] = [Delivery::Multicast, Delivery::Unicast];
const LATE: LateRules = LateRules { first: Span::from_us(1500), least: Span::from_us(300) };

fn cluster(delivery: Delivery) -> TestCluster {
    TestCluster::new(delivery, 5, 1, Fate::default()).refusing(Span::from_ms(20)).asking(LATE)
}

fn puts(cluster: &TestCluster) -> usize {
    cluster.ended.iter().filter(|(_, ended)| matches!(ended, Ended::Put { .. })).count()
}

#[test]
fn a_lost_acknowledgement_is_asked_for() {
    for delivery in BOTH {
        for lost in 1..=3 {
            let mut cluster = cluster(delivery);
            cluster.lost_acks = lost;
            cluster.put(1);
            cluster.run();
            assert_eq!(puts(&cluster), 1, "{:?}", cluster.ended);
            assert_eq!(cluster.replicas(1), 3, "{delivery:?}: nothing is stored once more");
            assert!(cluster.last_end < Time::ZERO + Span::from_ms(5), "{}", cluster.last_end);
            assert_eq!(cluster.live_reservations(), 0);
        }
    }
}

/// Whoever asks hears that it is being written, and waits on: no other target gets the chunk.
#[test]
fn a_slow_disk_is_waited_for() {
    for delivery in BOTH {
        let mut cluster = cluster(delivery).with_disks_of(Rate::from_bytes_per_s(20 << 20));
        cluster.put(1);
        cluster.run();
        assert_eq!(puts(&cluster), 1, "{:?}", cluster.ended);
        assert_eq!(cluster.replicas(1), 3, "{delivery:?}");
        assert!(cluster.last_end > Time::ZERO + Span::from_ms(6), "slower than it waits at first");
        let asked = cluster.requests.iter().filter(|request| request.round > 0).count();
        assert!(asked > 0, "{delivery:?}: it was asked");
    }
}

/// What is usual is learned: disks that are always slow are not asked each time.
#[test]
fn who_is_always_slow_is_asked_less_and_less() {
    let mut cluster = cluster(Delivery::Multicast).with_disks_of(Rate::from_bytes_per_s(20 << 20));
    let mut rounds = Vec::new();
    for n in 0..20 {
        cluster.put(n);
        cluster.run();
        rounds.push(cluster.requests.len());
    }
    assert_eq!(puts(&cluster), 20, "{:?}", cluster.ended);
    let asked = |from: usize, to: usize| rounds[to] - rounds[from] - (to - from);
    assert!(asked(10, 19) < 3, "of the last nine puts: {rounds:?}");
}

#[test]
fn a_get_whose_acceptance_is_lost_asks_somebody_else() {
    let mut cluster = cluster(Delivery::Multicast);
    for disk in &mut cluster.disks {
        disk.chunks.insert(chunk(1), cluster::CHUNK_SIZE);
    }
    for lost in 0..4 {
        cluster.ended.clear();
        cluster.lost_accepts = lost;
        let began = cluster.now;
        cluster.get(1);
        cluster.run();
        assert!(matches!(cluster.ended[..], [(_, Ended::Got { .. })]), "{:?}", cluster.ended);
        let took = cluster.last_end.saturating_since(began);
        assert!(took < Span::from_ms(10) * u64::from(lost.max(1)), "{lost}: {took}");
    }
}
