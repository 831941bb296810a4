//! A get ends with the chunk if any member of its group holds it.

mod cluster;

use cluster::{Ended, Fate, TestCluster, any_fate, chunk};
use proptest::prelude::*;
use slotcast_protocol::{Delivery, Failure};

fn with_chunk(n: u64, holders: &[usize], fate: Fate) -> TestCluster {
    let mut cluster = TestCluster::new(Delivery::Multicast, 9, 1, fate);
    for &t in holders {
        cluster.disks[t].chunks.insert(chunk(n), cluster::CHUNK_SIZE);
    }
    cluster
}

#[test]
fn a_stored_chunk_is_fetched_from_one_holder() {
    let mut cluster = with_chunk(1, &[2, 5, 7], Fate::default());
    cluster.get(1);
    cluster.run();
    assert!(matches!(cluster.ended[..], [(_, Ended::Got { rounds: 1 })]));
    assert_eq!(cluster.live_reservations(), 0, "the other offers are cancelled");
}

#[test]
fn what_nobody_holds_is_not_found() {
    let mut cluster = with_chunk(1, &[], Fate::default());
    cluster.get(1);
    cluster.run();
    assert!(matches!(cluster.ended[..], [(_, Ended::Failed(Failure::NotFound))]));
}

#[test]
fn silence_is_not_absence() {
    let mut cluster = with_chunk(1, &[2], Fate::default());
    cluster.dead.insert(2);
    cluster.get(1);
    cluster.run();
    assert!(matches!(cluster.ended[..], [(_, Ended::Failed(Failure::Undelivered))]));
}

#[test]
fn a_failing_holder_is_replaced() {
    let fate = Fate { disks: vec![false, false], ..Fate::default() };
    let mut cluster = with_chunk(1, &[2, 5, 7], fate);
    cluster.get(1);
    cluster.run();
    assert!(matches!(cluster.ended[..], [(_, Ended::Got { rounds: 3 })]), "{:?}", cluster.ended);
}

/// Offers of an earlier round are no offers.
#[test]
fn stale_offers_are_ignored() {
    use slotcast_protocol::{Message, Offer, OfferAnswer};
    let mut cluster = with_chunk(1, &[2], Fate::default());
    let request = cluster.get(1);
    for position in 0..9 {
        let answer = OfferAnswer::NotHeld;
        cluster.hear(Message::Offer(Offer { request, round: 3, position, answer }));
    }
    cluster.run();
    assert!(matches!(cluster.ended[..], [(_, Ended::Got { rounds: 1 })]), "{:?}", cluster.ended);
}

/// A holder that failed is left out as long as there are others.
#[test]
fn a_failed_holder_is_not_asked_at_once() {
    let fate = Fate { disks: vec![false], ..Fate::default() };
    let mut cluster = with_chunk(1, &[2, 5], fate);
    cluster.get(1);
    cluster.run();
    assert_eq!(cluster.reads.len(), 2);
    assert_ne!(cluster.reads[0], cluster.reads[1], "the other holder is next");
}

#[test]
fn gets_and_puts_go_on_side_by_side() {
    let mut cluster = with_chunk(100, &[0, 1, 2], Fate::default());
    for n in 0..10 {
        cluster.put(n);
        cluster.get(100);
    }
    cluster.run();
    assert_eq!(cluster.ended.len(), 20);
    assert!(cluster.ended.iter().all(|(_, e)| !matches!(e, Ended::Failed(_))));
}

/// A window in the next century is no reason to wait for it.
#[test]
fn nonsense_is_not_believed() {
    use slotcast_protocol::{Bid, BidAnswer, Message, Window};
    use slotcast_units::{Span, Time};
    let mut cluster = TestCluster::new(Delivery::Multicast, 9, 1, Fate::default());
    let request = cluster.put(1);
    let window = Window::new(Time::from_ns(1 << 61), Span::from_ms(1));
    for position in 0..9 {
        let answer = BidAnswer::Window { window, backlog: Span::ZERO };
        cluster.hear(Message::Bid(Bid { request, round: 0, position, answer }));
    }
    cluster.run();
    assert!(matches!(cluster.ended[..], [(_, Ended::Put { .. })]), "{:?}", cluster.ended);
    assert!(cluster.last_end < Time::from_ns(1_000_000_000));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_get_survives_faults(fate in any_fate(), gets in 1u64..6) {
        let mut cluster = with_chunk(1, &[2, 5, 7], fate);
        for _ in 0..gets {
            cluster.get(1);
        }
        cluster.run();
        prop_assert_eq!(cluster.ended.len() as u64, gets);
        for (request, ended) in &cluster.ended {
            prop_assert!(matches!(ended, Ended::Got { .. }), "{request}: {ended:?}");
        }
        prop_assert_eq!(cluster.accepted_reservations(), 0);
    }
}
