//! Members join and leave while puts and gets are under way.

mod cluster;

use cluster::{Ended, Fate, TestCluster, any_fate, chunk};
use proptest::prelude::*;
use slotcast_protocol::{
    Delivery, Failure, GroupMap, Intake, Member, Members, Membership, TargetId, TargetInput,
};
use slotcast_units::{Span, Time};

/// The one group of a cluster of nine, with some members in another part than the rest.
fn groups(of: &[(u32, Membership)]) -> GroupMap {
    let membership = |t: u32| {
        of.iter().find(|(target, _)| *target == t).map_or(Membership::Active, |(_, role)| *role)
    };
    let member = |t| Member { target: TargetId(t), domain: t, membership: membership(t) };
    let members: Vec<Member> = (0..9).map(member).collect();
    GroupMap::seated(&[(0..9).map(TargetId).collect()], &members).unwrap()
}

fn intake(takes_puts: bool) -> Intake {
    if takes_puts { Intake::Open } else { Intake::Closed }
}

fn change(cluster: &mut TestCluster, of: &[(u32, Membership)]) {
    cluster.groups = groups(of);
    for (target, membership) in of {
        cluster.targets[*target as usize].set_intake(intake(membership.takes_puts()));
    }
}

fn holders(cluster: &TestCluster, n: u64) -> Members {
    let mut holders = Members::NONE;
    for (t, disk) in (0..).zip(&cluster.disks) {
        if disk.chunks.contains_key(&chunk(n)) {
            holders.insert(t);
        }
    }
    holders
}

/// The map reaches a member that leaves before it reaches those who ask.
#[test]
fn what_a_leaving_member_holds_does_not_count_for_who_has_not_heard_of_it() {
    let mut cluster = TestCluster::new(Delivery::Unicast, 9, 1, Fate::default());
    cluster.put(1);
    cluster.run();
    let before = holders(&cluster, 1);
    let leaving = before.iter().next().expect("three hold it");
    cluster.targets[usize::from(leaving)].set_intake(Intake::Closed);
    cluster.put(1);
    cluster.run();
    assert!(matches!(cluster.ended.last(), Some((_, Ended::Put { .. }))));
    assert_eq!(holders(&cluster, 1).without(Members::only(leaving)).len(), 3);
}

#[test]
fn what_a_leaving_member_holds_is_found_and_does_not_count() {
    for delivery in [Delivery::Unicast, Delivery::Multicast] {
        let mut cluster = TestCluster::new(delivery, 9, 1, Fate::default());
        cluster.put(1);
        cluster.run();
        let before = holders(&cluster, 1);
        let leaving: Vec<_> = before.iter().map(|t| (u32::from(t), Membership::Draining)).collect();
        change(&mut cluster, &leaving);
        cluster.get(1);
        cluster.run();
        assert!(matches!(cluster.ended.last(), Some((_, Ended::Got { .. }))), "{delivery:?}");
        // Put again, as its repair does, it is where it was and on three others.
        cluster.put(1);
        cluster.run();
        assert!(matches!(cluster.ended.last(), Some((_, Ended::Put { .. }))), "{delivery:?}");
        assert_eq!(holders(&cluster, 1).without(before).len(), 3, "{delivery:?}");
        let left: Vec<_> = leaving.iter().map(|(t, _)| (*t, Membership::Drained)).collect();
        change(&mut cluster, &left);
        cluster.get(1);
        cluster.run();
        assert!(matches!(cluster.ended.last(), Some((_, Ended::Got { .. }))), "{delivery:?}");
    }
}

#[test]
fn who_joins_and_who_is_drained_is_not_asked() {
    let mut cluster = TestCluster::new(Delivery::Unicast, 9, 1, Fate::default());
    let away = [(0, Membership::Joining), (1, Membership::Drained)];
    change(&mut cluster, &away);
    // They are not even there: nobody waits for them.
    cluster.dead.extend([0, 1]);
    cluster.put(1);
    cluster.get(2);
    cluster.run();
    let ended: Vec<Ended> = cluster.ended.iter().map(|(_, how)| *how).collect();
    assert!(ended.contains(&Ended::Failed(Failure::NotFound)), "{ended:?}");
    assert!(ended.iter().any(|how| matches!(how, Ended::Put { .. })), "{ended:?}");
    assert!(cluster.last_end < Time::ZERO + Span::from_ms(20), "{}", cluster.last_end);
}

/// A request from somebody who does not know yet that a member leaves.
#[test]
fn a_leaving_member_bids_for_nothing_that_it_does_not_hold() {
    let mut cluster = TestCluster::new(Delivery::Unicast, 9, 1, Fate::default());
    (0..6).for_each(|t: u32| cluster.targets[t as usize].set_intake(Intake::Closed));
    for n in 0..20 {
        cluster.put(n);
        cluster.run();
        assert_eq!(holders(&cluster, n), Members::from_bits(0b1_1100_0000), "{n}");
    }
    // What was granted before is taken.
    let mut cluster = TestCluster::new(Delivery::Multicast, 9, 1, Fate::default());
    cluster.put(1);
    cluster.run_until(Time::ZERO + Span::from_us(50));
    (0..9).for_each(|t: u32| cluster.targets[t as usize].set_intake(Intake::Closed));
    cluster.run();
    assert_eq!(cluster.replicas(1), 3);
    let mut effects = Vec::new();
    let shelf = &cluster.disks[0];
    let request = slotcast_protocol::Message::PutRequest(cluster.requests[0]);
    cluster.targets[0].handle(cluster.now, TargetInput::Message(&request), &shelf, &mut effects);
    assert_eq!(effects.len(), 1, "it answers all the same");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever is lost, and whenever some members begin to leave: a put that ends after that has all its
    /// replicas on members that stay, and what was acknowledged is found.
    #[test]
    fn a_put_that_ends_after_a_change_does_not_count_on_who_leaves(
        by_multicast: bool,
        fate in any_fate(),
        leaving in prop::collection::btree_set(0u32..9, 1..6),
        joining in prop::option::of(0u32..9),
        after in 0u64..3_000_000,
    ) {
        let delivery = if by_multicast { Delivery::Multicast } else { Delivery::Unicast };
        let mut cluster = TestCluster::new(delivery, 9, 1, fate);
        let joining = joining.filter(|target| !leaving.contains(target));
        if let Some(target) = joining {
            change(&mut cluster, &[(target, Membership::Joining)]);
        }
        let requests: Vec<_> = (0..8).map(|n| (n, cluster.put(n))).collect();
        cluster.run_until(Time::from_ns(after));
        let before = cluster.ended.len();
        let mut of: Vec<_> =
            leaving.iter().map(|target| (*target, Membership::Draining)).collect();
        of.extend(joining.map(|target| (target, Membership::Active)));
        change(&mut cluster, &of);
        cluster.run();
        let mut gone = Members::NONE;
        leaving.iter().for_each(|target| gone.insert(*target as u8));
        let ended = cluster.ended.clone();
        for (at, (request, how)) in ended.iter().enumerate() {
            let Ended::Put { .. } = how else { continue };
            let (n, _) = requests.iter().find(|(_, r)| r == request).expect("one of these");
            let held = holders(&cluster, *n);
            let counted = if at < before { held } else { held.without(gone) };
            prop_assert!(counted.len() >= 3, "chunk {}: {:?} without {:?}", n, held, gone);
            cluster.get(*n);
            cluster.run();
            // The faults may make this get fail, but not make it say that nothing is there.
            let last = cluster.ended.last().expect("it ended").1;
            prop_assert!(last != Ended::Failed(Failure::NotFound), "chunk {}", n);
        }
    }
}
