//! Targets that promise a window to two initiators keep it for one of them, and the other one's chunk
//! is stored as well.

mod cluster;

use cluster::{Ended, Fate, TestCluster, any_fate};
use proptest::prelude::*;
use slotcast_protocol::{Delivery, LateReject, Message, RequestId, State};
use slotcast_units::{Span, Time};

/// Every initiator puts `puts` chunks, at times that are `gap` apart.
fn crowd(cluster: TestCluster, initiators: u32, puts: u64, gap: Span) -> TestCluster {
    let mut cluster = cluster.initiators(initiators).double_booking();
    for n in 0..puts {
        for i in 0..initiators {
            cluster.put_by(i, u64::from(i) * 1000 + n);
            cluster.run_until(cluster.now + gap);
        }
    }
    cluster.run();
    cluster
}

fn chunk_of(request: RequestId) -> u64 {
    u64::from(request.initiator.0) * 1000 + u64::from(request.serial)
}

fn double_bookings(cluster: &TestCluster) -> u64 {
    cluster.targets.iter().map(|t| t.incoming().double_bookings()).sum()
}

fn late_rejects(cluster: &TestCluster) -> u64 {
    cluster.targets.iter().map(slotcast_protocol::Target::late_rejects).sum()
}

/// On a network that keeps its promises the loser always knows in time.
#[test]
fn no_transfers_meet() {
    for gap in [0, 1_000, 3_000, 4_000, 9_000] {
        let cluster = TestCluster::new(Delivery::Unicast, 9, 1, Fate::default());
        let cluster = crowd(cluster, 12, 5, Span::from_ns(gap));
        assert_eq!(cluster.ended.len(), 60);
        for (request, ended) in &cluster.ended {
            assert!(matches!(ended, Ended::Put { .. }), "{request}: {ended:?}");
            assert_eq!(cluster.replicas(chunk_of(*request)), 3);
        }
        assert_eq!(cluster.meetings, 0);
        assert_eq!(cluster.live_reservations(), 0, "nothing stays reserved");
        if gap == 3_000 {
            assert!(double_bookings(&cluster) > 20, "{}", double_bookings(&cluster));
            assert!(late_rejects(&cluster) > 5, "{}", late_rejects(&cluster));
        }
    }
}

/// The accepted windows of one put, and when the first of them begins.
fn accepted(cluster: &TestCluster) -> Vec<(u8, Time)> {
    let mut all = Vec::new();
    for (position, target) in (0..).zip(&cluster.targets) {
        let slots = target.incoming().reservations().iter();
        let mut slots = slots.filter(|r| r.state == State::Accepted);
        all.extend(slots.next().map(|r| (position, r.window.start)));
    }
    all
}

/// An initiator whose put has accepted two windows and uses the first, and the two in order.
fn with_windows() -> (TestCluster, RequestId, [(u8, Time); 2]) {
    let mut cluster = TestCluster::new(Delivery::Unicast, 9, 1, Fate::default()).double_booking();
    let request = cluster.put(1);
    // A round trip until the choice, and the way of the acceptance.
    cluster.run_until(Time::from_ns(6848));
    assert!(cluster.receiving.iter().all(Vec::is_empty), "transfers are held");
    cluster.run_until(Time::from_ns(6848 + 3424));
    let mut windows = accepted(&cluster);
    windows.sort_by_key(|(_, start)| *start);
    assert!(windows[0].1 < cluster.now && windows[1].1 > cluster.now);
    (cluster, request, windows.try_into().expect("two windows"))
}

#[test]
fn a_window_that_is_taken_back_is_not_used_and_another_is_asked_for() {
    let (mut cluster, request, [_, (position, start)]) = with_windows();
    let sent = cluster.messages_sent;
    cluster.hear(Message::LateReject(LateReject { request, round: 0, position }));
    assert_eq!(cluster.messages_sent - sent, 8, "all are asked but the one that keeps its window");
    // A dead member gets no other window.
    cluster.dead.insert(u32::from(position));
    cluster.run_until(start + Span::from_ns(1));
    assert!(cluster.receiving[usize::from(position)].is_empty());
    cluster.run();
    assert!(matches!(cluster.ended[..], [(_, Ended::Put { .. })]), "{:?}", cluster.ended);
    assert_eq!(cluster.replicas(1), 3);
}

#[test]
fn a_rejection_that_comes_too_late_or_astray_changes_nothing() {
    let (mut cluster, request, [first, second]) = with_windows();
    let sent = cluster.messages_sent;
    // A transfer that has begun; another round; a member that has no window; nobody.
    for (round, position) in [(0, first.0), (1, second.0), (9, first.0), (0, 63)] {
        cluster.hear(Message::LateReject(LateReject { request, round, position }));
    }
    let nobodys = RequestId { serial: 77, ..request };
    cluster.hear(Message::LateReject(LateReject { request: nobodys, round: 0, position: 0 }));
    assert_eq!(cluster.messages_sent, sent);
    cluster.run();
    assert!(matches!(cluster.ended[..], [(_, Ended::Put { rounds: 2 })]), "{:?}", cluster.ended);
    assert_eq!(cluster.replicas(1), 3);
}

/// A rejection before the choice makes the bid void; so does one that overtakes its bid.
#[test]
fn a_void_bid_is_not_chosen() {
    for heard_at in [0, 3424, 6847] {
        let mut cluster =
            TestCluster::new(Delivery::Unicast, 9, 1, Fate::default()).double_booking();
        let request = cluster.put(1);
        cluster.run_until(Time::from_ns(heard_at));
        for position in 0..9 {
            if position != 4 {
                let message = LateReject { request, round: 0, position };
                cluster.hear(Message::LateReject(message));
            }
        }
        cluster.run_until(Time::from_ns(6848 + 3424));
        assert_eq!(accepted(&cluster).iter().map(|w| w.0).collect::<Vec<_>>(), [4]);
        cluster.run();
        assert!(matches!(cluster.ended[..], [(_, Ended::Put { .. })]), "{:?}", cluster.ended);
        assert_eq!(cluster.replicas(1), 3);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Faults stop at some time, so every put ends well; and what it reports is true. No target takes
    /// two chunks at a time, even where lost rejections let two be sent.
    #[test]
    fn puts_survive_faults_with_double_booking(
        fate in any_fate(),
        initiators in 1u32..8,
        puts in 1u64..4,
        gap in 0u64..10_000,
        three_machines: bool,
        choosy: bool,
    ) {
        let domain = if three_machines { 3 } else { 1 };
        let mut cluster = TestCluster::new(Delivery::Unicast, 9, domain, fate);
        if choosy {
            cluster = cluster.choosy(Span::from_us(20));
        }
        let mut cluster = crowd(cluster, initiators, puts, Span::from_ns(gap));
        prop_assert_eq!(cluster.ended.len() as u64, puts * u64::from(initiators));
        for (request, ended) in &cluster.ended {
            prop_assert!(matches!(ended, Ended::Put { .. }), "{request}: {ended:?}");
            prop_assert!(cluster.domains(chunk_of(*request)) >= 3);
        }
        prop_assert!(cluster.initiators.iter().all(|i| i.active() == 0));
        // A window that its initiator did not need in the end is forgotten with its time.
        cluster.now += Span::from_ms(1);
        prop_assert_eq!(cluster.accepted_reservations(), 0);
    }
}

/// Makes sure that the property above sees what it is about.
#[test]
fn faults_meet_double_bookings() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let (mut doubled, mut rejected, mut met) = (0, 0, 0);
    for _ in 0..100 {
        let fate = any_fate().new_tree(&mut runner).unwrap().current();
        let cluster = TestCluster::new(Delivery::Unicast, 9, 1, fate);
        let cluster = crowd(cluster, 7, 3, Span::from_us(3));
        doubled += double_bookings(&cluster);
        rejected += late_rejects(&cluster);
        met += cluster.meetings;
    }
    assert!(doubled > 500 && rejected > 100 && met > 0, "{doubled} {rejected} {met}");
}
