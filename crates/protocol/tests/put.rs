//! A put ends with its replicas, whatever happens to messages, transfers and disks.

mod cluster;

use cluster::{Ended, Fate, MessageFate, TestCluster, any_fate};
use proptest::prelude::*;
use slotcast_protocol::selection::Ties;
use slotcast_protocol::{
    Bid, BidAnswer, Claim, Delivery, Failure, Message, Timing, Wanted, Window,
};
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

#[test]
fn each_put_has_as_many_replicas_as_it_wants() {
    for delivery in BOTH {
        let mut cluster = TestCluster::new(delivery, 9, 1, Fate::default());
        for replicas in 1..=8 {
            cluster.put_on(replicas, u64::from(replicas));
        }
        cluster.run();
        let is_put = |(_, ended): &(_, Ended)| matches!(ended, Ended::Put { .. });
        assert!(cluster.ended.len() == 8 && cluster.ended.iter().all(is_put));
        for replicas in 1..=8 {
            let n = u64::from(replicas);
            assert_eq!(cluster.replicas(n), usize::from(replicas), "{delivery:?}");
            assert_eq!(cluster.wanted(n), vec![Wanted::bare(replicas); usize::from(replicas)]);
        }
        assert_eq!(cluster.live_reservations(), 0);
    }
}

/// What is held for fewer replicas counts when the number is raised; nothing more is made than is missing.
#[test]
fn a_put_with_more_replicas_raises_those_that_are_there() {
    for delivery in BOTH {
        let mut cluster = TestCluster::new(delivery, 9, 1, Fate::default());
        for (replicas, wanted) in [(2, 2), (5, 5), (3, 5), (1, 5)] {
            let request = cluster.put_on(replicas, 1);
            cluster.run();
            let last = cluster.ended.last();
            assert!(matches!(last, Some((r, Ended::Put { .. })) if *r == request), "{last:?}");
            assert_eq!(
                cluster.wanted(1),
                vec![Wanted::bare(wanted); usize::from(wanted)],
                "{delivery:?}"
            );
        }
    }
}

/// What names want kept counts for a put without a name when its claim is raised; it is never lowered, and nothing is
/// sent for either.
#[test]
fn a_put_with_a_higher_claim_raises_those_that_are_there() {
    for delivery in BOTH {
        let mut cluster = TestCluster::new(delivery, 9, 1, Fate::default());
        let (bare, named) = (Wanted::bare, Wanted::named);
        for (put, wanted, holders) in [
            (named(3), named(3), 3),
            (bare(3), bare(3), 3),
            (named(3), bare(3), 3),
            (named(5), bare(5), 3),
            (bare(2), bare(5), 3),
        ] {
            let request = cluster.put_for(put, 1);
            cluster.run();
            let last = cluster.ended.last();
            assert!(matches!(last, Some((r, Ended::Put { .. })) if *r == request), "{last:?}");
            let told = cluster.wanted(1);
            let raised = told.iter().filter(|told| **told == wanted).count();
            assert!(raised >= holders, "{delivery:?}: {told:?} after {put:?}");
            assert_eq!(told.len(), usize::from(wanted.replicas), "{delivery:?}: {told:?}");
        }
    }
}

/// Repair asks with the claim of what it has: others that have a lower one raise it, and nothing is sent.
#[test]
fn whoever_asks_with_a_higher_claim_has_it_raised() {
    let mut cluster = TestCluster::new(Delivery::Unicast, 9, 1, Fate::default());
    cluster.put_for(Wanted::named(3), 1);
    cluster.run();
    for asks in [Wanted::named(3), Wanted::bare(3), Wanted::named(3)] {
        let asked = cluster.check(asks, 1);
        cluster.run();
        let last = cluster.ended.last();
        assert!(matches!(last, Some((r, Ended::Put { .. })) if *r == asked), "{last:?}");
        assert!(cluster.wanted(1).iter().all(|told| told.covers(asks)));
    }
    assert_eq!(cluster.wanted(1), [Wanted::bare(3); 3]);
}

/// Members were removed: what can be done is done, and the number is not forgotten.
#[test]
fn what_is_put_again_has_as_many_replicas_as_there_is_room_for() {
    for delivery in BOTH {
        let mut cluster = TestCluster::new(delivery, 4, 1, Fate::default());
        let request = cluster.put_again(Wanted::bare(6), 1);
        cluster.run();
        assert!(matches!(cluster.ended[..], [(r, Ended::Put { .. })] if r == request));
        assert_eq!(cluster.wanted(1), [Wanted::bare(6); 4]);
        let refused = cluster.put_on(6, 2);
        cluster.run();
        let reason = Failure::TooFewReplicas { stored: 4 };
        assert_eq!(cluster.ended.last(), Some(&(refused, Ended::Failed(reason))));
    }
}

/// Whoever asks is told, nothing is sent, and nobody keeps a window for it. Holders that raise their number are
/// waited for.
#[test]
fn whoever_only_asks_learns_whether_there_are_enough_replicas() {
    for delivery in BOTH {
        let mut cluster = TestCluster::new(delivery, 9, 1, Fate::default());
        cluster.put_on(3, 1);
        cluster.run();
        for (replicas, n, stored) in [(3, 1, None), (1, 1, None), (5, 1, Some(3)), (3, 2, Some(0))]
        {
            let asked = cluster.check(Wanted::bare(replicas), n);
            cluster.run();
            match (cluster.ended.last(), stored) {
                (Some((request, Ended::Put { .. })), None) => assert_eq!(*request, asked),
                (Some((request, Ended::Failed(reason))), Some(stored)) => {
                    assert_eq!((*request, *reason), (asked, Failure::TooFewReplicas { stored }));
                }
                (ended, _) => panic!("{ended:?} to {replicas} of {n}"),
            }
        }
        // Holders are told of the higher number all the same, and keep it.
        assert_eq!(cluster.wanted(1), [Wanted::bare(5); 3], "{delivery:?}");
        assert_eq!(cluster.wanted(2), []);
        assert!(cluster.targets.iter().all(|t| t.incoming().reservations().is_empty()));
    }
}

/// On an idle cluster: request, bid and the start of the payload, the transfer, the disk, the
/// acknowledgement. The times are those of the Replicast paper's network.
#[test]
fn a_lone_multicast_put_takes_the_ideal_time() {
    let mut cluster = TestCluster::new(Delivery::Multicast, 9, 1, Fate::default());
    cluster.put(1);
    let negotiation = Timing::published().round_trip();
    let start = Timing::published().control;
    let transfer = Span::from_ns(117_685) + Timing::published().trip;
    let disk = Span::from_ns(312_500);
    let ack = Timing::published().one_way();
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

/// Two copies on one machine are one replica.
#[test]
fn replicas_that_share_a_domain_do_not_count() {
    for delivery in BOTH {
        let mut cluster = TestCluster::new(delivery, 9, 3, Fate::default());
        for t in 0..3 {
            cluster.disks[t].chunks.insert(cluster::chunk(1), cluster::CHUNK_SIZE);
        }
        cluster.put(1);
        cluster.run();
        assert!(matches!(cluster.ended[..], [(_, Ended::Put { .. })]));
        assert_eq!(cluster.domains(1), 3, "{delivery:?}");
    }
}

/// A machine whose disks all failed for a while is asked again, if there is no other.
#[test]
fn a_failed_domain_gets_another_chance() {
    for delivery in BOTH {
        let mut cluster = TestCluster::new(delivery, 9, 3, Fate::default());
        cluster.damaging = Some((6..9, Time::from_ns(3_000_000)));
        cluster.put(1);
        cluster.run();
        assert!(matches!(cluster.ended[..], [(_, Ended::Put { .. })]), "{:?}", cluster.ended);
        assert_eq!(cluster.domains(1), 3);
        assert!(cluster.last_end > Time::from_ns(3_000_000));
    }
}

/// An acceptance that is repeated while the chunk is being written makes no failure of it.
#[test]
fn a_repeated_acceptance_does_no_harm() {
    // 9 requests, 9 bids, and then the acceptances: the chosen members' come twice, the second time
    // after the transfer, before the disk is done.
    let late = (0..18)
        .map(|_| MessageFate::Arrives)
        .chain((0..9).map(|_| MessageFate::TwiceAfter(200_000)))
        .collect();
    let fate = Fate { messages: late, ..Fate::default() };
    let mut cluster = TestCluster::new(Delivery::Multicast, 9, 1, fate);
    cluster.put(1);
    cluster.run();
    assert!(matches!(cluster.ended[..], [(_, Ended::Put { rounds: 1 })]), "{:?}", cluster.ended);
    assert_eq!(cluster.replicas(1), 3);
}

/// Members without room say when to ask again, and are asked then.
#[test]
fn a_full_group_is_asked_again_when_it_said() {
    let mut cluster = TestCluster::new(Delivery::Multicast, 9, 1, Fate::default());
    let request = cluster.put(1);
    let retry_after = Span::from_ms(2);
    for position in 0..9 {
        let answer = BidAnswer::NotNow { retry_after };
        cluster.hear(Message::Bid(Bid { request, round: 0, position, answer }));
    }
    cluster.run();
    assert!(matches!(cluster.ended[..], [(_, Ended::Put { rounds: 2 })]));
    let soonest = Time::ZERO + retry_after;
    assert!(cluster.last_end > soonest && cluster.last_end < soonest + Span::from_ms(1));
}

/// A choosy initiator refuses a long wait twice, each time ready to wait twice as long, and then
/// takes what there is.
#[test]
fn a_choosy_initiator_asks_again() {
    for delivery in BOTH {
        let patience = Span::from_us(20);
        let mut cluster = TestCluster::new(delivery, 9, 1, Fate::default()).choosy(patience);
        let request = cluster.put(1);
        let far = |round: u8| {
            move |position: u8| {
                let window = Window::new(Time::from_ns(150_000), Span::from_us(400));
                let answer = BidAnswer::Window { window, backlog: Span::ZERO };
                Message::Bid(Bid { request, round, position, answer })
            }
        };
        let sent = cluster.messages_sent;
        (0..9).map(far(0)).for_each(|bid| cluster.hear(bid));
        assert!(cluster.receiving.iter().all(Vec::is_empty), "a wait of 150 us is refused");
        assert_eq!(cluster.messages_sent - sent, 9, "and all bids are cancelled");
        // A quarter of the doubled patience later it asks again; the targets are free at once.
        cluster.run();
        assert!(matches!(cluster.ended[0], (_, Ended::Put { rounds: 2.. })), "{:?}", cluster.ended);
        assert_eq!(cluster.replicas(1), 3);
        assert_eq!(cluster.live_reservations(), 0);
    }
}

/// Whoever refuses what was bid behind its own transfer asks for what comes first, and that is when its
/// link is free, not when its last window ends.
#[test]
fn a_refusal_forgets_what_was_asked_for_before() {
    let mut cluster = TestCluster::new(Delivery::Unicast, 9, 1, Fate::default()).revised_sequence();
    cluster = cluster.choosy(Span::from_us(30));
    cluster.put(1);
    cluster.run();
    assert_eq!(cluster.replicas(1), 3);
    let [.., second, _] = cluster.transfers[..] else { panic!("{:?}", cluster.transfers) };
    let [.., behind, refused] = cluster.requests[..] else { panic!("{:?}", cluster.requests) };
    let window_end = second.start + Span::from_ns(129_553);
    assert_eq!((behind.not_before, refused.not_before), (window_end, second.end));
}

/// Members on the initiator's own node bid windows that begin before it would expect any, and answer at once. Where its
/// link is taken then, it asks for one from the end of that on: to ask for the same again would use up all rounds.
#[test]
fn whoever_is_sending_asks_for_a_window_after_that() {
    let mut cluster = TestCluster::new(Delivery::Multicast, 9, 1, Fate::default());
    let width = Span::from_ns(129_553);
    let bids = |cluster: &mut TestCluster, request, start| {
        for position in 0..9 {
            let window = Window::new(start, width);
            let answer = BidAnswer::Window { window, backlog: Span::ZERO };
            cluster.hear(Message::Bid(Bid { request, round: 0, position, answer }));
        }
    };
    let request = cluster.put(1);
    bids(&mut cluster, request, Time::from_ns(150_000));
    let [first] = cluster.transfers[..] else { panic!("{:?}", cluster.transfers) };
    cluster.run_until(first.end - Span::from_us(8));
    let request = cluster.put(2);
    bids(&mut cluster, request, first.end - Span::from_us(4));
    let asked = cluster.requests.last().expect("it was asked again");
    assert_eq!((asked.request, asked.round, asked.not_before), (request, 1, first.end));
    cluster.run();
    assert_eq!((cluster.replicas(1), cluster.replicas(2)), (3, 3));
}

/// Of members that could take the chunk at the same time, those of the least busy disks get it; the names of
/// chunks decide between equals.
#[test]
fn the_least_busy_disks_are_chosen() {
    let answers = |backlogs: [u64; 9], starts: [u64; 9], ties, delivery, n| {
        let fate = Fate::default();
        let mut cluster = TestCluster::new(delivery, 9, 1, fate).ties(ties);
        let request = cluster.put(n);
        for position in 0..9u8 {
            let at = usize::from(position);
            let window = Window::new(Time::from_ns(starts[at]), Span::from_ms(2));
            let backlog = Span::from_ns(backlogs[at]);
            let answer = BidAnswer::Window { window, backlog };
            cluster.hear(Message::Bid(Bid { request, round: 0, position, answer }));
        }
        let mut chosen: Vec<u8> = (0..9u8)
            .filter(|&position| !cluster.receiving[usize::from(position)].is_empty())
            .collect();
        chosen.sort_unstable();
        chosen
    };
    let backlogs = [500, 40, 600, 700, u64::MAX, 30, 800, 50, 900];
    // The request takes longer to some than to others. No transfer begins before its acceptance has left.
    let early = [0, 900, 20, 30, 5, 1200, 10, 2000, 40];
    for delivery in BOTH {
        let chosen = |ties, n| answers(backlogs, early, ties, delivery, n);
        assert_eq!(chosen(Ties::ByBacklog, 1), [1, 5, 7], "{delivery:?}");
        assert_eq!(chosen(Ties::ByName, 1), [0, 4, 6], "{delivery:?}");
        // A later window is a later window, however idle its disk.
        let late = early.map(|start| if start == 1200 { 900_000 } else { start });
        let chosen = answers(backlogs, late, Ties::ByBacklog, delivery, 1);
        assert_eq!(chosen, [0, 1, 7], "{delivery:?}");
        // Idle disks are equals.
        let all: std::collections::BTreeSet<Vec<u8>> =
            (0..40).map(|n| answers([0; 9], early, Ties::ByBacklog, delivery, n)).collect();
        assert!(all.len() > 20, "{delivery:?}: {} of 84 sets", all.len());
    }
}

/// Answers of an earlier round are no answers.
#[test]
fn stale_bids_are_ignored() {
    let mut cluster = TestCluster::new(Delivery::Multicast, 9, 1, Fate::default());
    let request = cluster.put(1);
    let window = Window::new(Time::from_ns(20_000), Span::from_us(400));
    for position in 0..9 {
        let answer = BidAnswer::Window { window, backlog: Span::ZERO };
        cluster.hear(Message::Bid(Bid { request, round: 7, position, answer }));
    }
    assert!(cluster.receiving.iter().all(Vec::is_empty), "nothing is sent for them");
    cluster.run();
    assert_eq!(cluster.replicas(1), 3);
}

/// An acknowledgement that comes after its time counts nevertheless.
#[test]
fn a_late_acknowledgement_counts() {
    // The acknowledgements of the first round come 15 ms late, after 10 ms of patience.
    let fates = (0..27)
        .map(|_| MessageFate::Arrives)
        .chain((0..3).map(|_| MessageFate::Late(11_000_000)))
        .collect();
    let fate = Fate { messages: fates, ..Fate::default() };
    let mut cluster = TestCluster::new(Delivery::Multicast, 9, 1, fate);
    // All other members are dead, so that nobody else can store it.
    cluster.die_after_round = Some(0);
    cluster.put(1);
    cluster.run();
    assert!(matches!(cluster.ended[..], [(_, Ended::Put { .. })]), "{:?}", cluster.ended);
    assert_eq!(cluster.replicas(1), 3, "no more than the first three");
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
            assert_eq!((cluster.domains(n), cluster.replicas(n)), (3, 3), "{delivery:?} chunk {n}");
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
    fn a_put_survives_faults(
        fate in any_fate(),
        multicast: bool,
        puts in 1u64..6,
        three_machines: bool,
        choosy: bool,
    ) {
        let delivery = if multicast { Delivery::Multicast } else { Delivery::Unicast };
        let domain = if three_machines { 3 } else { 1 };
        let mut cluster = TestCluster::new(delivery, 9, domain, fate);
        if choosy {
            cluster = cluster.choosy(Span::from_us(20));
        }
        for n in 0..puts {
            cluster.put(n);
        }
        cluster.run();
        prop_assert_eq!(cluster.ended.len() as u64, puts, "every request ends once");
        for (request, ended) in &cluster.ended {
            prop_assert!(matches!(ended, Ended::Put { .. }), "{request}: {ended:?}");
            prop_assert!(cluster.domains(u64::from(request.serial)) >= 3);
        }
        prop_assert_eq!(cluster.initiators[0].active(), 0);
        prop_assert_eq!(cluster.accepted_reservations(), 0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever is lost, late or damaged: a put that is done has its replicas, and each that counts knows of
    /// how many, and of its claim.
    #[test]
    fn an_acknowledged_put_is_known_for_its_number_by_as_many(
        fate in any_fate(),
        unicast: bool,
        puts in prop::collection::vec((1u8..=6, any::<bool>(), 0u64..3), 1..8),
    ) {
        let delivery = if unicast { Delivery::Unicast } else { Delivery::Multicast };
        let mut cluster = TestCluster::new(delivery, 9, 1, fate);
        for (replicas, is_named, n) in puts {
            let claim = if is_named { Claim::Names } else { Claim::Bare };
            let put = Wanted { replicas, claim };
            let request = cluster.put_for(put, n);
            cluster.run();
            if matches!(cluster.ended.last(), Some((r, Ended::Put { .. })) if *r == request) {
                let told = cluster.wanted(n).into_iter().filter(|wanted| wanted.covers(put));
                prop_assert!(told.count() >= usize::from(replicas), "{:?}", cluster.wanted(n));
            }
        }
    }
}
