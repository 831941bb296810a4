//! A put through its group's proxy ends with its replicas, whatever happens to messages, transfers,
//! disks, members and the proxy itself.

mod cluster;

use cluster::{ANSWER_TIMEOUT, Ended, Fate, MessageFate, TestCluster, any_fate, chunk};
use proptest::prelude::*;
use slotcast_protocol::{
    Delivery, Failure, GroupId, InitiatorId, Members, Message, Occasion, ProxyAnswer, ProxyChoice,
    ProxyNotice, ProxyReply, ProxyReport, RequestId, Term, Timing, Window,
};
use slotcast_units::{Rate, Span, Time};

const EARLIEST: ProxyChoice = ProxyChoice::EarliestWrite;

/// One group of nine, asked by `initiators`.
fn proxied(initiators: u32, fate: Fate) -> TestCluster {
    TestCluster::new(Delivery::Multicast, 9, 1, fate).proxied(initiators, EARLIEST)
}

/// The same with a proxy that knows its members and has nothing to do.
fn settled(initiators: u32) -> TestCluster {
    let mut cluster = proxied(initiators, Fate::default());
    cluster.put(1000);
    cluster.run();
    cluster.ended.clear();
    cluster
}

fn all_done(cluster: &TestCluster, n: usize) {
    assert_eq!(cluster.ended.len(), n, "{:?}", cluster.ended);
    let done = cluster.ended.iter().all(|(_, ended)| matches!(ended, Ended::Put { .. }));
    assert!(done, "{:?}", cluster.ended);
}

#[test]
fn three_replicas_are_stored() {
    for choice in [EARLIEST, ProxyChoice::LeastIdle] {
        let cluster = TestCluster::new(Delivery::Multicast, 9, 1, Fate::default());
        let mut cluster = cluster.proxied(1, choice);
        let request = cluster.put(1);
        cluster.run();
        assert_eq!(cluster.ended, [(request, Ended::Put { rounds: 1 })]);
        assert_eq!(cluster.replicas(1), 3, "{choice:?}");
        assert_eq!(cluster.live_reservations(), 0, "nothing stays reserved");
        assert!(cluster.proxies[0].is_active());
        assert!(cluster.proxies[1..].iter().all(|proxy| !proxy.is_active()));
    }
}

/// One message to the proxy and one back; then the transfer, the disk, the acknowledgement.
#[test]
fn a_lone_put_takes_one_round_trip_and_the_ideal_time() {
    let mut cluster = settled(1);
    let (begin, sent) = (cluster.now, cluster.messages_sent);
    cluster.put(1);
    cluster.run();
    let transfer = Span::from_ns(117_685) + Timing::published().trip;
    let disk = Span::from_ns(312_500);
    let timing = Timing::published();
    let ideal = timing.round_trip() + transfer + disk + timing.one_way();
    assert_eq!(cluster.last_end, begin + ideal);
    // The proxy's own target is told, and reports, without a message.
    let itself = usize::from(cluster.disks[0].chunks.contains_key(&chunk(1)));
    assert_eq!(cluster.messages_sent - sent, 2 + 3 + 3 + 3 - 2 * itself);
}

/// Fifty initiators that ask at once are served in turn, and no window meets another.
#[test]
fn many_initiators_share_one_proxy() {
    for choice in [EARLIEST, ProxyChoice::LeastIdle] {
        let cluster = TestCluster::new(Delivery::Multicast, 9, 1, Fate::default());
        let mut cluster = cluster.proxied(50, choice);
        for n in 0..150 {
            cluster.put_by((n % 50) as u32, n);
        }
        cluster.run();
        all_done(&cluster, 150);
        assert!((0..150).all(|n| cluster.replicas(n) == 3));
        assert_eq!(cluster.live_reservations(), 0);
        // 150 chunks, three times each, on nine disks: the proxy spreads them evenly.
        let ideal = Span::from_ns(312_500) * 50;
        let span = cluster.last_end - Time::ZERO;
        assert!(span < ideal + ideal / 10, "{choice:?}: {span}, ideally {ideal}");
    }
}

/// Several chunks of one initiator at once: its own link carries one at a time.
#[test]
fn an_initiators_own_link_is_kept_free() {
    let mut cluster =
        TestCluster::new(Delivery::Multicast, 27, 1, Fate::default()).proxied(1, EARLIEST);
    for n in 0..30 {
        cluster.put(n);
    }
    cluster.run();
    all_done(&cluster, 30);
    assert!((0..30).all(|n| cluster.replicas(n) == 3));
}

/// The answer is lost; the repeated request gets the same one.
#[test]
fn a_repeated_request_is_answered_with_the_same_grant() {
    // 8 queries, 8 reports, the request before them; then the reply.
    let mut messages = vec![MessageFate::Arrives; 17];
    messages.push(MessageFate::Lost);
    let mut cluster = proxied(1, Fate { messages, ..Fate::default() });
    cluster.put(1);
    cluster.run_until(Time::from_ns(100_000));
    assert_eq!(cluster.accepted_reservations(), 3, "the members have been told");
    assert!(cluster.receiving.iter().all(Vec::is_empty), "the initiator has not");
    cluster.run();
    // The window has passed when the answer is repeated, so a later round gets another one; it
    // replaces the first.
    assert!(matches!(cluster.ended[..], [(_, Ended::Put { rounds: 2 })]), "{:?}", cluster.ended);
    assert_eq!(cluster.replicas(1), 3);
    assert_eq!(cluster.live_reservations(), 0);
}

/// A request that arrives twice is granted once.
#[test]
fn a_duplicated_request_is_granted_once() {
    let fate = Fate { messages: vec![MessageFate::TwiceAfter(50_000)], ..Fate::default() };
    let mut cluster = proxied(1, fate);
    cluster.put(1);
    cluster.run();
    assert!(matches!(cluster.ended[..], [(_, Ended::Put { rounds: 1 })]));
    assert_eq!(cluster.replicas(1), 3);
    assert_eq!(cluster.live_reservations(), 0);
}

/// A member that was not told refuses the chunk, and another one takes its place.
#[test]
fn a_lost_notice_costs_a_round_and_no_replica() {
    let mut messages = vec![MessageFate::Arrives; 18];
    messages.push(MessageFate::Lost);
    let mut cluster = proxied(1, Fate { messages, ..Fate::default() });
    cluster.put(1);
    cluster.run();
    assert!(matches!(cluster.ended[..], [(_, Ended::Put { rounds: 2 })]), "{:?}", cluster.ended);
    assert_eq!(cluster.replicas(1), 3);
}

/// The proxy dies, and the next member takes over. What the dead one granted is kept, and no window
/// of the new one meets it.
#[test]
fn the_next_member_takes_over() {
    let mut cluster = settled(20);
    let begin = cluster.now;
    for n in 0..20 {
        cluster.put_by(n, u64::from(n));
    }
    // In the middle of the queue: some have a grant, some have not.
    cluster.crash(0, begin + Span::from_us(60), Time::from_ns(1 << 40));
    cluster.run_until(begin + Span::from_secs(1));
    all_done(&cluster, 20);
    assert!((0..20).all(|n| cluster.replicas(n) >= 3));
    assert!(cluster.proxies[1].is_active());

    // From then on nobody asks the dead one.
    let (begin, done) = (cluster.now, cluster.ended.len());
    cluster.put_by(7, 100);
    cluster.run_until(begin + Span::from_secs(1));
    assert_eq!(cluster.ended[done].1, Ended::Put { rounds: 1 });
    assert!(cluster.last_end - begin < Span::from_ms(1));
}

/// Who comes back from a crash knows nothing, and says so to nobody: members tell it who is the
/// proxy, and it sends initiators there.
#[test]
fn a_proxy_that_comes_back_sends_initiators_on() {
    let mut cluster = settled(3);
    cluster.crash(0, cluster.now, cluster.now + Span::from_ms(5));
    cluster.put_by(0, 1);
    cluster.run();
    assert!(cluster.proxies[1].is_active());
    // An initiator that has not heard of it.
    cluster.put_by(1, 2);
    cluster.run();
    all_done(&cluster, 2);
    assert!(cluster.proxies[1].is_active() && !cluster.proxies[0].is_active());
    let begin = cluster.now;
    cluster.put_by(1, 3);
    cluster.run();
    assert_eq!(cluster.ended[2].1, Ended::Put { rounds: 1 });
    assert!(cluster.last_end - begin < Span::from_ms(1));
}

/// A proxy that was away for so short a time that nobody missed it asks its members before it grants.
#[test]
fn a_restarted_proxy_asks_its_members_first() {
    let mut cluster = settled(30);
    let begin = cluster.now;
    for n in 0..30 {
        cluster.put_by(n, u64::from(n));
    }
    cluster.crash(0, begin + Span::from_us(100), begin + Span::from_us(110));
    cluster.run();
    all_done(&cluster, 30);
    assert!(cluster.proxies[0].is_active());
}

/// Two members in a row are dead: the third takes over.
#[test]
fn several_dead_proxies_are_passed_over() {
    let mut cluster = proxied(2, Fate::default());
    cluster.dead = [0, 1].into();
    cluster.put_by(0, 1);
    cluster.put_by(1, 2);
    cluster.run();
    all_done(&cluster, 2);
    assert!(cluster.proxies[2].is_active());
    let three_tries = ANSWER_TIMEOUT * 3;
    assert!(cluster.last_end > Time::ZERO + three_tries * 2);
    assert!(cluster.last_end < Time::ZERO + three_tries * 2 + Span::from_ms(2));
}

#[test]
fn dead_members_are_done_without() {
    let mut cluster = proxied(2, Fate::default());
    cluster.dead = [0, 2, 4, 5, 8].into();
    for n in 0..6 {
        cluster.put_by((n % 2) as u32, n);
    }
    cluster.run();
    all_done(&cluster, 6);
    assert!((0..6).all(|n| cluster.replicas(n) == 3));
}

/// A member dies: its proxy grants nothing more in its name once its report is overdue.
#[test]
fn a_member_that_dies_is_noticed() {
    let mut cluster = settled(1);
    cluster.crash(3, cluster.now, Time::from_ns(1 << 40));
    let mut rounds = Vec::new();
    for n in 0..30 {
        cluster.put(n);
        cluster.run_until(cluster.now + Span::from_secs(1));
        let Some((_, Ended::Put { rounds: taken })) = cluster.ended.last().copied() else {
            panic!("{:?}", cluster.ended)
        };
        rounds.push(taken);
    }
    assert!(rounds.iter().filter(|&&taken| taken > 1).count() == 1, "{rounds:?}");
}

#[test]
fn too_few_members_are_told() {
    let mut cluster = proxied(1, Fate::default());
    cluster.dead = (0..7).collect();
    cluster.put(1);
    cluster.run();
    let failure = Failure::TooFewReplicas { stored: 2 };
    assert!(matches!(cluster.ended[..], [(_, Ended::Failed(f))] if f == failure));
    assert_eq!(cluster.replicas(1), 2, "what could be stored is stored");
}

#[test]
fn nobody_answers() {
    let mut cluster = proxied(1, Fate::default());
    cluster.dead = (0..9).collect();
    cluster.put(1);
    cluster.run();
    let failure = Failure::TooFewReplicas { stored: 0 };
    assert!(matches!(cluster.ended[..], [(_, Ended::Failed(f))] if f == failure));
}

#[test]
fn replicas_are_in_different_failure_domains() {
    for choice in [EARLIEST, ProxyChoice::LeastIdle] {
        // Three machines of three disks each: one group.
        let cluster = TestCluster::new(Delivery::Multicast, 9, 3, Fate::default());
        let mut cluster = cluster.proxied(4, choice);
        for n in 0..40 {
            cluster.put_by((n % 4) as u32, n);
        }
        cluster.run();
        all_done(&cluster, 40);
        assert!((0..40).all(|n| (cluster.domains(n), cluster.replicas(n)) == (3, 3)));
    }
}

/// A chosen member that holds the chunk says so at once, and counts.
#[test]
fn a_member_that_holds_the_chunk_counts() {
    let mut cluster = settled(1);
    for disk in &mut cluster.disks {
        disk.chunks.insert(chunk(1), cluster::CHUNK_SIZE);
    }
    let begin = cluster.now;
    cluster.put(1);
    cluster.run();
    all_done(&cluster, 1);
    assert!(cluster.last_end - begin < Span::from_us(20), "before any transfer could be over");
    assert_eq!(cluster.live_reservations(), 0);
}

#[test]
fn damaged_chunks_are_sent_again() {
    let mut cluster = settled(1);
    cluster.damaging = Some((0..9, cluster.now + Span::from_us(200)));
    cluster.put(1);
    cluster.run();
    all_done(&cluster, 1);
    assert_eq!(cluster.replicas(1), 3);
}

#[test]
fn gets_take_their_own_way() {
    let mut cluster = settled(1);
    for n in 0..10 {
        cluster.put(n);
        cluster.get(1000);
    }
    cluster.run();
    assert_eq!(cluster.ended.len(), 20);
    assert!(cluster.ended.iter().all(|(_, e)| !matches!(e, Ended::Failed(_))));
}

/// What does not fit the put is not believed: another round's answer, a window in the next century, a
/// member that does not exist.
#[test]
fn nonsense_is_not_believed() {
    let mut cluster = proxied(1, Fate::default());
    let request = cluster.put(1);
    let soon = Window::new(Time::from_ns(50_000), Span::from_us(200));
    let late = Window::new(Time::from_ns(1 << 61), Span::from_ms(1));
    let term = Term { count: 1, position: 0 };
    let three = Members::first(3);
    for (round, term, window, members) in [
        (3, term, soon, three),
        (0, term, late, three),
        (0, term, soon, Members::NONE),
        (0, term, soon, Members::first(4)),
        (0, term, soon, Members::from_bits(1 << 9)),
        (0, Term { count: 1, position: 9 }, soon, three),
    ] {
        let answer = ProxyAnswer::Granted { window, members };
        cluster.hear(Message::ProxyReply(ProxyReply { request, round, term, answer }));
        assert!(cluster.receiving.iter().all(Vec::is_empty), "nothing is sent for it");
    }
    // Sent away to itself, it stays.
    let answer = ProxyAnswer::Moved;
    cluster.hear(Message::ProxyReply(ProxyReply { request, round: 0, term, answer }));
    cluster.run();
    assert_eq!(cluster.ended, [(request, Ended::Put { rounds: 1 })]);
}

/// A proxy says how long it takes, and is neither asked again before, nor taken for dead.
#[test]
fn who_is_told_to_wait_waits() {
    let mut cluster = proxied(1, Fate::default());
    cluster.dead.insert(0);
    let request = cluster.put(1);
    let answer = ProxyAnswer::NotNow { retry_after: Span::from_ms(2) };
    let term = Term { count: 1, position: 0 };
    cluster.hear(Message::ProxyReply(ProxyReply { request, round: 0, term, answer }));
    cluster.run_until(Time::from_ns(2_100_000));
    assert_eq!(cluster.messages_sent, 1, "the request, and no repetition");
    cluster.dead.clear();
    cluster.run();
    assert_eq!(cluster.ended, [(request, Ended::Put { rounds: 2 })]);
    assert!(cluster.proxies[0].is_active());
}

/// A window that a replaced proxy grants is refused by the member, and the proxy hears why.
#[test]
fn members_refuse_a_replaced_proxy() {
    use slotcast_protocol::{AckOutcome, Holdings, TargetEffect, TargetInput};
    struct Nothing;
    impl Holdings for Nothing {
        fn size_of(&self, _: &slotcast_protocol::ChunkId) -> Option<slotcast_units::Size> {
            None
        }
    }
    let mut cluster = settled(1);
    let target = &mut cluster.targets[4];
    let request = RequestId { initiator: InitiatorId(0), serial: 77 };
    let notice = |term| {
        Message::ProxyNotice(ProxyNotice {
            request,
            round: 0,
            group: GroupId(0),
            term,
            skip: Members::NONE,
            chunk: chunk(9),
            size: cluster::CHUNK_SIZE,
            window: Window::new(cluster.now + Span::from_us(10), Span::from_us(200)),
            members: Members::first(9),
        })
    };
    let mut effects = Vec::new();
    let (first, second) = (Term { count: 2, position: 1 }, Term { count: 1, position: 0 });
    let message = notice(first);
    target.handle(cluster.now, TargetInput::Message(&message), &Nothing, &mut effects);
    assert_eq!(effects, []);
    let message = notice(second);
    target.handle(cluster.now, TargetInput::Message(&message), &Nothing, &mut effects);
    match effects[..] {
        [
            TargetEffect::Send { message: Message::ReplicaAck(ack), .. },
            TargetEffect::Report { to: 0, message: Message::ProxyReport(report) },
        ] => {
            assert_eq!(ack.outcome, AckOutcome::NoReservation);
            assert_eq!((report.term, report.occasion), (first, Occasion::Asked));
        }
        _ => panic!("{effects:?}"),
    }
}

/// A proxy that hears of a later one stops granting, and sends on who waits.
#[test]
fn a_replaced_proxy_steps_down() {
    use slotcast_protocol::{ProxyEffect, ProxyInput};
    let mut cluster = settled(1);
    let request = RequestId { initiator: InitiatorId(0), serial: 5 };
    let report = Message::ProxyReport(ProxyReport {
        request,
        group: GroupId(0),
        position: 3,
        term: Term { count: 9, position: 4 },
        occasion: Occasion::Asked,
        free_from: Time::ZERO,
        disk_done: Time::ZERO,
        disk_rate: Rate::from_bps(1),
    });
    let mut effects: Vec<ProxyEffect> = Vec::new();
    let proxy = &mut cluster.proxies[0];
    proxy.handle(cluster.now, ProxyInput::Message(&report), &mut effects);
    assert!(!proxy.is_active() && effects.is_empty());
    // Initiators that still ask it are sent to member 4, which takes over.
    cluster.put(1);
    cluster.run();
    all_done(&cluster, 1);
    assert!(cluster.proxies[4].is_active() && !cluster.proxies[0].is_active());
}

/// Who crashes, when, and for how long, in us.
fn crashes() -> impl Strategy<Value = Vec<(u32, u64, u64)>> {
    prop::collection::vec((0u32..9, 0u64..3_000, 1u64..5_000), 0..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Faults stop at some time, so every put ends well, within bounds; and what it reports is true.
    /// After every step the windows that a member has promised do not overlap, and no member takes in
    /// two chunks at a time (see the cluster).
    #[test]
    fn a_proxied_put_survives_faults(
        fate in any_fate(),
        crashes in crashes(),
        initiators in 1u32..5,
        puts in 1u64..12,
        three_machines: bool,
        least_idle: bool,
        gaps in prop::collection::vec(0u64..400, 12),
    ) {
        let domain = if three_machines { 3 } else { 1 };
        let choice = if least_idle { ProxyChoice::LeastIdle } else { EARLIEST };
        let cluster = TestCluster::new(Delivery::Multicast, 9, domain, fate);
        let mut cluster = cluster.proxied(initiators, choice);
        cluster.sends_may_meet = true;
        for (t, from, length) in crashes {
            let from = Time::ZERO + Span::from_us(from);
            cluster.crash(t, from, from + Span::from_us(length));
        }
        let mut chunks = std::collections::BTreeMap::new();
        for n in 0..puts {
            let request = cluster.put_by((n % u64::from(initiators)) as u32, n);
            chunks.insert(request, n);
            cluster.run_until(cluster.now + Span::from_us(gaps[n as usize]));
        }
        cluster.run();
        prop_assert_eq!(cluster.ended.len() as u64, puts, "every request ends once");
        for (request, ended) in &cluster.ended {
            prop_assert!(matches!(ended, Ended::Put { .. }), "{request}: {ended:?}");
            prop_assert!(cluster.domains(chunks[request]) >= 3);
        }
        prop_assert!(cluster.last_end < Time::ZERO + Span::from_secs(1));
        prop_assert!(cluster.initiators.iter().all(|initiator| initiator.active() == 0));
    }

    /// Crashes alone, of the proxy and of members, with a network that keeps its promises and no two
    /// proxies at a time: then nothing even meets on the wire.
    #[test]
    fn crashes_alone_make_no_transfers_meet(
        crashes in prop::collection::vec((0u32..9, 0u64..3_000), 0..5),
        initiators in 1u32..12,
        puts in 1u64..30,
        gap in 0u64..100,
    ) {
        let mut cluster = proxied(initiators, Fate::default());
        for (t, from) in crashes {
            let from = Time::ZERO + Span::from_us(from);
            cluster.crash(t, from, Time::from_ns(1 << 40));
        }
        for n in 0..puts {
            cluster.put_by((n % u64::from(initiators)) as u32, n);
            cluster.run_until(cluster.now + Span::from_us(gap));
        }
        cluster.run_until(Time::from_ns(1 << 39));
        all_done(&cluster, puts as usize);
    }
}
