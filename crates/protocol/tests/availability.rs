//! Members that are not available are neither waited for nor counted, and a request that they are missing
//! for is refused soon.

mod cluster;

use cluster::{Ended, Fate, MessageFate, TestCluster, chunk};
use proptest::prelude::*;
use slotcast_protocol::{Delivery, Failure, Message, Offer, OfferAnswer, State, Target};
use slotcast_units::{Span, Time};

const BOTH: [Delivery; 2] = [Delivery::Multicast, Delivery::Unicast];
const REFUSE: Span = Span::from_ms(20);

fn cluster(delivery: Delivery, targets: u32) -> TestCluster {
    TestCluster::new(delivery, targets, 1, Fate::default()).refusing(REFUSE)
}

fn is_put(cluster: &TestCluster) -> bool {
    matches!(cluster.ended[..], [(_, Ended::Put { .. })])
}

/// Who has accepted a transfer and disappears is replaced at once, not when the time for its acknowledgement
/// is over.
#[test]
fn a_transfer_to_a_member_that_is_lost_goes_elsewhere_at_once() {
    for delivery in BOTH {
        let mut cluster = cluster(delivery, 5);
        cluster.put(1);
        while cluster.transfers.is_empty() {
            cluster.run_until(cluster.now + Span::from_us(1));
        }
        // The acceptances arrive before the transfers end.
        cluster.run_until(cluster.now + Span::from_us(10));
        let has_accepted = |t: &Target| {
            t.incoming().reservations().iter().any(|slot| slot.state == State::Accepted)
        };
        let lost =
            cluster.targets.iter().position(has_accepted).expect("a transfer has a receiver");
        cluster.lose(u32::try_from(lost).expect("few"));
        cluster.run();
        assert!(is_put(&cluster), "{:?}", cluster.ended);
        assert_eq!(cluster.replicas(1), 3, "{delivery:?}");
        assert!(cluster.last_end < Time::ZERO + Span::from_ms(5), "{}", cluster.last_end);
    }
}

/// Members that failed once are asked again when the others are not there, whatever is answered for those.
#[test]
fn members_that_failed_are_asked_again_when_nobody_else_is_available() {
    for delivery in BOTH {
        let fate = Fate { transfers: vec![false; 3], ..Fate::default() };
        let mut cluster = TestCluster::new(delivery, 4, 1, fate).refusing(REFUSE);
        cluster.dead = [3].into();
        cluster.put(1);
        cluster.run();
        assert!(is_put(&cluster), "{delivery:?} {:?}", cluster.ended);
        assert_eq!(cluster.replicas(1), 3);
    }
}

#[test]
fn a_put_without_enough_members_is_refused_soon() {
    for delivery in BOTH {
        let mut cluster = cluster(delivery, 4);
        cluster.dead = [0, 1].into();
        cluster.put(1);
        cluster.run();
        let reason = Failure::TooFewAvailable { stored: 2 };
        assert!(matches!(cluster.ended[..], [(_, Ended::Failed(r))] if r == reason));
        assert!(cluster.last_end <= Time::ZERO + REFUSE * 2, "{}", cluster.last_end);
        assert_eq!(cluster.live_reservations(), 0);
    }
}

/// Short absences are waited for.
#[test]
fn a_put_succeeds_if_the_missing_are_back_in_time() {
    for delivery in BOTH {
        let mut cluster = cluster(delivery, 4);
        let back = Time::ZERO + REFUSE / 2;
        (0..2).for_each(|t| cluster.crash(t, Time::ZERO, back));
        cluster.run_until(Time::ZERO);
        cluster.put(1);
        cluster.run();
        assert!(is_put(&cluster), "{:?}", cluster.ended);
    }
}

#[test]
fn not_found_is_said_by_all_or_not_at_all() {
    let mut cluster = cluster(Delivery::Multicast, 5);
    cluster.dead = [2].into();
    cluster.get(1);
    cluster.run();
    assert!(matches!(cluster.ended[..], [(_, Ended::Failed(Failure::Uncertain))]));
    assert!(cluster.last_end <= Time::ZERO + REFUSE * 2, "{}", cluster.last_end);
    cluster.dead.clear();
    cluster.get(1);
    cluster.run();
    assert!(matches!(cluster.ended[1..], [(_, Ended::Failed(Failure::NotFound))]));
}

/// A holder that is only busy is waited for.
#[test]
fn a_busy_holder_is_not_taken_for_missing() {
    let mut cluster = cluster(Delivery::Multicast, 3);
    cluster.dead = [1, 2].into();
    let request = cluster.get(1);
    // Whatever the target itself says, which holds nothing, comes later and does not count.
    for round in 0..30 {
        let answer = OfferAnswer::NotNow { retry_after: Span::from_ms(1) };
        cluster.hear(Message::Offer(Offer { request, round, position: 0, answer }));
        cluster.run_until(cluster.now + Span::from_us(1002));
    }
    assert!(cluster.now > Time::ZERO + REFUSE && cluster.ended.is_empty(), "{:?}", cluster.ended);
}

/// Answers that all come later than they are waited for show that the members are there: nothing is concluded
/// from that, however long it lasts, and what they do not hold is not found.
#[test]
fn members_that_are_late_are_not_missing() {
    let late = MessageFate::Late(700_000);
    for held in [true, false] {
        // For each of more than REFUSE / 0.9 ms rounds, a request in time and an answer late, by 0.5 ms.
        let fate = Fate { messages: [MessageFate::Arrives, late].repeat(30), ..Fate::default() };
        let mut cluster = TestCluster::new(Delivery::Multicast, 1, 1, fate).refusing(REFUSE);
        if held {
            cluster.disks[0].chunks.insert(chunk(1), cluster::CHUNK_SIZE);
        }
        cluster.get(1);
        cluster.run();
        match held {
            true => assert!(matches!(cluster.ended[..], [(_, Ended::Got { .. })])),
            false => assert!(matches!(cluster.ended[..], [(_, Ended::Failed(Failure::NotFound))])),
        }
        assert_eq!(held, cluster.now > Time::ZERO + REFUSE, "{}", cluster.now);
    }
}

/// A member that says late that it does not hold the chunk is none that may hold it: whoever is silent is not waited
/// for longer on its account.
#[test]
fn late_answers_do_not_put_off_that_nothing_is_certain() {
    let late = MessageFate::Late(700_000);
    // In each round two are asked, and one that is dead: of the two answers one is late.
    for round in [
        [
            MessageFate::Arrives,
            MessageFate::Arrives,
            MessageFate::Arrives,
            MessageFate::Arrives,
            late,
        ],
        [MessageFate::Arrives, MessageFate::Arrives, MessageFate::Arrives, late, late],
    ] {
        let fate = Fate { messages: round.repeat(100), ..Fate::default() };
        let mut cluster = TestCluster::new(Delivery::Multicast, 3, 1, fate).refusing(REFUSE);
        cluster.dead = [2].into();
        cluster.get(1);
        cluster.run();
        assert!(
            matches!(cluster.ended[..], [(_, Ended::Failed(Failure::Uncertain))]),
            "{:?}",
            cluster.ended
        );
        assert!(cluster.last_end <= Time::ZERO + REFUSE * 2, "{}", cluster.last_end);
    }
}

/// What a member has acknowledged and then lost, before the put was done, is not counted.
#[test]
fn a_replica_that_its_holder_has_lost_does_not_count() {
    let mut cluster = cluster(Delivery::Unicast, 6);
    cluster.put(1);
    while cluster.replicas(1) == 0 {
        cluster.run_until(cluster.now + Span::from_us(1));
    }
    // The acknowledgement comes, and those of the others take longer.
    cluster.run_until(cluster.now + Span::from_us(40));
    assert!(cluster.ended.is_empty());
    let holder = (0..6).find(|t| !cluster.disks[*t as usize].chunks.is_empty());
    cluster.replace(holder.expect("it has been acknowledged"));
    cluster.run();
    assert!(is_put(&cluster), "{:?}", cluster.ended);
    assert!(cluster.replicas(1) >= 3, "{}", cluster.replicas(1));
}

proptest! {
    /// No put fails that has enough members, whoever else disappears and whenever, and it takes no longer than
    /// a few rounds.
    #[test]
    fn no_put_fails_that_has_enough_members(
        unicast: bool,
        lost in proptest::collection::btree_map(0u32..6, 0u64..2_000, 0..=3),
    ) {
        let delivery = BOTH[usize::from(unicast)];
        let mut cluster = cluster(delivery, 6);
        for n in 0..8 {
            cluster.put(n);
        }
        let mut lost: Vec<(u64, u32)> = lost.into_iter().map(|(t, us)| (us, t)).collect();
        lost.sort_unstable();
        for (us, t) in lost {
            cluster.run_until(Time::ZERO + Span::from_us(us));
            cluster.lose(t);
        }
        cluster.run();
        prop_assert_eq!(cluster.ended.len(), 8);
        for (_, ended) in &cluster.ended {
            prop_assert!(matches!(ended, Ended::Put { .. }), "{:?}", ended);
        }
        prop_assert!(cluster.last_end < Time::ZERO + Span::from_ms(60), "{}", cluster.last_end);
    }
}
