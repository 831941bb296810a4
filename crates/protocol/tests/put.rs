//! A put ends with its replicas, whatever happens to messages, transfers and disks.

mod cluster;

use cluster::{Ended, Fate, TestCluster, any_fate};
use proptest::prelude::*;
use slotcast_protocol::{Delivery, Failure};
use slotcast_units::{Span, Time};

const BOTH: [Delivery; 2] = [Delivery::Multicast, Delivery::Unicast];

#[test]
fn three_replicas_are_stored() {
    for delivery in BOTH {
        let mut cluster = TestCluster::new(delivery, 9, 1, Fate::default());
        let request = cluster.put(1);
        cluster.run();
        assert!(matches!(cluster.ended[..], [(r, Ended::Put { .. })] if r == request));
        assert_eq!(cluster.replicas(1), 3, "{delivery:?}");
        assert_eq!(cluster.live_reservations(), 0, "nothing stays reserved");
    }
}

/// On an idle cluster: request, bid and the start of the payload, the transfer, the disk, the
/// acknowledgement. The times are those of the Replicast paper's network.
#[test]
fn a_lone_multicast_put_takes_the_ideal_time() {
    let mut cluster = TestCluster::new(Delivery::Multicast, 9, 1, Fate::default());
    cluster.put(1);
    let negotiation = cluster::timing().round_trip();
    let start = cluster::timing().control;
    let transfer = Span::from_ns(117_685) + cluster::timing().trip;
    let disk = Span::from_ns(312_500);
    let ack = cluster::timing().one_way();
    cluster.run();
    let ideal = negotiation + start + transfer + disk + ack;
    assert_eq!(ideal, Span::from_ns(6848 + 2424 + 118_685 + 312_500 + 3424));
    assert_eq!(cluster.last_end, Time::ZERO + ideal);
}

/// A host may answer every wish to be woken; replaced ones must not breed further ones.
#[test]
fn replaced_alarms_come_to_nothing() {
    let mut cluster = TestCluster::new(Delivery::Multicast, 9, 1, Fate::default());
    for n in 0..100 {
        cluster.put(n);
        cluster.run_until(cluster.now + Span::from_us(600));
    }
    cluster.run();
    assert_eq!(cluster.ended.len(), 100);
    // One for missing answers and one for missing acknowledgements.
    assert!(cluster.wakes <= 200, "{} wakes", cluster.wakes);
}

#[test]
fn a_multicast_put_costs_one_round_of_messages() {
    let mut cluster = TestCluster::new(Delivery::Multicast, 9, 1, Fate::default());
    cluster.put(1);
    cluster.run();
    assert_eq!(cluster.messages_sent, 9 + 9 + 9 + 3);
}

#[test]
fn a_chunk_that_is_there_is_not_sent_again() {
    for delivery in BOTH {
        let mut cluster = TestCluster::new(delivery, 9, 1, Fate::default());
        cluster.put(1);
        cluster.run();
        let before = cluster.messages_sent;
        cluster.put(1);
        cluster.run();
        assert_eq!(cluster.ended.len(), 2);
        assert_eq!(cluster.replicas(1), 3, "no fourth replica");
        assert_eq!(cluster.messages_sent - before, 9 + 9 + 9, "request, answers, cancellation");
        assert_eq!(cluster.live_reservations(), 0);
    }
}

#[test]
fn missing_replicas_are_added() {
    for delivery in BOTH {
        let mut cluster = TestCluster::new(delivery, 9, 1, Fate::default());
        cluster.disks[4].chunks.insert(cluster::chunk(1), cluster::CHUNK_SIZE);
        cluster.put(1);
        cluster.run();
        assert!(matches!(cluster.ended[..], [(_, Ended::Put { .. })]));
        assert_eq!(cluster.replicas(1), 3, "{delivery:?}");
    }
}

#[test]
fn dead_members_are_done_without() {
    for delivery in BOTH {
        let mut cluster = TestCluster::new(delivery, 9, 1, Fate::default());
        cluster.dead = [0, 1, 2, 3, 4].into();
        cluster.put(1);
        cluster.run();
        assert!(matches!(cluster.ended[..], [(_, Ended::Put { .. })]), "{:?}", cluster.ended);
        assert_eq!(cluster.replicas(1), 3);
    }
}

#[test]
fn too_few_members_are_told() {
    for delivery in BOTH {
        let mut cluster = TestCluster::new(delivery, 9, 1, Fate::default());
        cluster.dead = (0..7).collect();
        cluster.put(1);
        cluster.run();
        let failure = Failure::TooFewReplicas { stored: 2 };
        assert!(
            matches!(cluster.ended[..], [(_, Ended::Failed(f))] if f == failure),
            "{:?}",
            cluster.ended
        );
        assert_eq!(cluster.replicas(1), 2, "what could be stored is stored");
    }
}

#[test]
fn replicas_are_in_different_failure_domains() {
    for delivery in BOTH {
        // Three machines of three disks each: one group.
        let mut cluster = TestCluster::new(delivery, 9, 3, Fate::default());
        for n in 0..20 {
            cluster.put(n);
            cluster.run();
            let holders = (0..9u32)
                .filter(|&t| cluster.disks[t as usize].chunks.contains_key(&cluster::chunk(n)));
            let mut domains: Vec<u32> = holders.map(|t| t / 3).collect();
            domains.dedup();
            assert_eq!(domains.len(), 3, "{delivery:?} chunk {n}");
        }
    }
}

#[test]
fn many_puts_at_once_share_one_link() {
    for delivery in BOTH {
        let mut cluster = TestCluster::new(delivery, 18, 1, Fate::default());
        for n in 0..30 {
            cluster.put(n);
        }
        cluster.run();
        assert_eq!(cluster.ended.len(), 30);
        assert!(cluster.ended.iter().all(|(_, e)| matches!(e, Ended::Put { .. })));
        assert!((0..30).all(|n| cluster.replicas(n) == 3), "{delivery:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Faults stop at some time, so every put ends well; and what it reports is true.
    #[test]
    fn a_put_survives_faults(fate in any_fate(), multicast: bool, puts in 1u64..6) {
        let delivery = if multicast { Delivery::Multicast } else { Delivery::Unicast };
        let mut cluster = TestCluster::new(delivery, 9, 1, fate);
        for n in 0..puts {
            cluster.put(n);
        }
        cluster.run();
        prop_assert_eq!(cluster.ended.len() as u64, puts, "every request ends once");
        for (request, ended) in &cluster.ended {
            prop_assert!(matches!(ended, Ended::Put { .. }), "{request}: {ended:?}");
            prop_assert!(cluster.replicas(u64::from(request.serial)) >= 3);
        }
        prop_assert_eq!(cluster.initiator.active(), 0);
        prop_assert_eq!(cluster.live_reservations(), 0);
    }
}
