//! Layouts: of the paper, over domains, with seats.

use super::*;
use alloc::collections::BTreeSet;
use proptest::prelude::*;

#[test]
fn the_papers_cluster_has_ten_consecutive_groups() {
    let map = GroupMap::new(90, 9, 1).unwrap();
    assert_eq!(map.groups(), 10);
    let expected: Vec<TargetId> = (9..18).map(TargetId).collect();
    assert_eq!(map.members(GroupId(1)), expected);
    assert_eq!(map.seat(TargetId(11)), (GroupId(1), 2));
}

#[test]
fn a_group_spreads_over_domains() {
    let map = GroupMap::new(36, 9, 4).unwrap();
    for group in 0..map.groups() {
        let members = map.members(GroupId(group));
        let domains: BTreeSet<u32> = members.iter().map(|&t| map.domain(t)).collect();
        assert_eq!(domains.len(), 9, "group {group}: {members:?}");
    }
}

#[test]
fn no_chunk_can_be_on_more_targets_than_its_group_has_domains() {
    let most = |targets, size, domain| {
        GroupMap::new(targets, size, domain).map(|groups| groups.most_replicas())
    };
    assert_eq!(most(9, 9, 1), Ok(8));
    assert_eq!(most(12, 6, 1), Ok(6));
    assert_eq!(most(12, 12, 4), Ok(3));
}

#[test]
fn members_are_counted_by_domain() {
    // Three machines with three disks each.
    let map = GroupMap::new(9, 9, 3).unwrap();
    let group = GroupId(0);
    let at = |targets: &[u32]| {
        let mut members = Members::NONE;
        targets.iter().for_each(|&t| members.insert(map.seat(TargetId(t)).1));
        members
    };
    assert_eq!(map.domains_of(group, at(&[0, 1, 2])), 1);
    assert_eq!(map.domains_of(group, at(&[0, 4, 5, 8])), 3);
    assert_eq!(map.sharing_a_domain(group, at(&[1])), at(&[0, 1, 2]));
    assert_eq!(map.sharing_a_domain(group, at(&[3, 8])), at(&[3, 4, 5, 6, 7, 8]));
    assert_eq!(map.sharing_a_domain(group, Members::NONE), Members::NONE);
}

fn member(target: u32, domain: u32, membership: Membership) -> Member {
    Member { target: TargetId(target), domain, membership }
}

fn seats(groups: &[&[u32]]) -> Vec<Vec<TargetId>> {
    groups.iter().map(|group| group.iter().copied().map(TargetId).collect()).collect()
}

#[test]
fn members_with_seats_are_asked_for_what_they_do() {
    use Membership::{Active, Drained, Draining, Joining};
    let members =
        [(0, 0, Active), (1, 1, Draining), (2, 2, Drained), (4, 3, Joining), (5, 0, Active)];
    let members = members.map(|(target, domain, role)| member(target, domain, role));
    let groups = seats(&[&[0, 1, 2, 3, 4], &[5]]);
    let map = GroupMap::seated(&groups, &members).unwrap();
    let group = GroupId(0);
    assert_eq!(map.members(group).len(), 5);
    assert_eq!(map.members_for_puts(group), Members::from_bits(0b00001));
    assert_eq!(map.members_for_gets(group), Members::from_bits(0b00011));
    assert_eq!(map.domains_of(group, Members::first(5)), 1, "only what stays counts");
    assert_eq!(map.sharing_a_domain(group, Members::from_bits(0b10)), Members::NONE);
    assert_eq!(map.find(TargetId(3)), None, "the seat is empty");
    assert_eq!(map.find(TargetId(99)), None);
    assert_eq!(map.find(TargetId(5)), Some((GroupId(1), 0)));
    // Two in the same domain count once.
    let both = [member(0, 7, Active), member(1, 7, Active)];
    let map = GroupMap::seated(&seats(&[&[0, 1]]), &both).unwrap();
    assert_eq!(map.domains_of(group, Members::first(2)), 1);
    assert_eq!(map.sharing_a_domain(group, Members::first(1)), Members::first(2));
}

#[test]
fn seats_that_cannot_be_are_refused() {
    let two = [0, 1].map(|target| member(target, target, Membership::Active));
    let refused = |groups: &[&[u32]]| GroupMap::seated(&seats(groups), &two).unwrap_err();
    assert_eq!(refused(&[]), LayoutError::NoSeats);
    assert_eq!(refused(&[&[0, 1], &[]]), LayoutError::NoSeats);
    assert_eq!(refused(&[&[0], &[0, 1]]), LayoutError::TwoSeats(TargetId(0)));
    assert_eq!(refused(&[&[0]]), LayoutError::NoSeat(TargetId(1)));
    let many: Vec<u32> = (0..65).collect();
    assert_eq!(refused(&[&many]), LayoutError::GroupSize(65));
}

#[test]
fn a_layout_keeps_the_places_of_another_if_nobody_has_moved() {
    let map = |groups: &[&[u32]], there: &[u32]| {
        let members: Vec<_> = there.iter().map(|t| member(*t, *t, Membership::Active)).collect();
        GroupMap::seated(&seats(groups), &members).unwrap()
    };
    let before = map(&[&[0, 1], &[2, 3]], &[0, 1, 2, 3]);
    assert!(map(&[&[0, 1, 4], &[2, 3]], &[0, 1, 2, 3, 4]).keeps_the_places_of(&before));
    assert!(map(&[&[0, 1], &[2, 3]], &[0, 2, 3]).keeps_the_places_of(&before));
    assert!(map(&[&[0, 4], &[2, 3]], &[0, 2, 3, 4]).keeps_the_places_of(&before));
    assert!(!map(&[&[1, 0], &[2, 3]], &[0, 1, 2, 3]).keeps_the_places_of(&before));
    assert!(!map(&[&[0, 2], &[3]], &[0, 2, 3]).keeps_the_places_of(&before));
    assert!(!map(&[&[0, 1, 2, 3]], &[0, 1, 2, 3]).keeps_the_places_of(&before));
    assert!(GroupMap::new(4, 2, 1).unwrap().keeps_the_places_of(&before));
}

#[test]
fn who_joins_gets_the_smallest_groups_without_its_neighbours() {
    let members: Vec<_> = (0..5).map(|t| member(t, t, Membership::Active)).collect();
    let map = GroupMap::seated(&seats(&[&[0, 1, 2], &[3, 4]]), &members).unwrap();
    let places = |count, domain| map.places_for(count, domain);
    assert_eq!(places(1, 9), Some(alloc::vec![GroupId(1)]));
    assert_eq!(places(2, 9), Some(alloc::vec![GroupId(1), GroupId(0)]), "one a group");
    assert_eq!(places(1, 3), Some(alloc::vec![GroupId(0)]), "where it is not yet");
    assert_eq!(places(123, 9).map(|all| all.len()), Some(123));
    assert_eq!(places(124, 9), None, "64 seats a group");
}

#[test]
fn impossible_layouts_are_refused() {
    assert!(matches!(GroupMap::new(8, 9, 1), Err(LayoutError::TooFewTargets { .. })));
    assert!(matches!(GroupMap::new(90, 0, 1), Err(LayoutError::GroupSize(0))));
    assert!(matches!(GroupMap::new(90, 65, 1), Err(LayoutError::GroupSize(65))));
    assert!(matches!(GroupMap::new(127, 64, 1), Err(LayoutError::GroupSize(_))));
    assert!(matches!(GroupMap::new(90, 9, 0), Err(LayoutError::EmptyDomain)));
}

proptest! {
    #[test]
    fn every_target_has_exactly_one_seat(targets in 1u32..500, size in 1u32..32, domain in 1u32..20) {
        prop_assume!(targets >= size);
        let map = GroupMap::new(targets, size, domain).unwrap();
        let mut seen = BTreeSet::new();
        for g in 0..map.groups() {
            let members = map.members(GroupId(g));
            prop_assert!(members.len() >= size as usize);
            for (seat, &t) in members.iter().enumerate() {
                prop_assert!(seen.insert(t));
                prop_assert_eq!(map.seat(t), (GroupId(g), seat as u8));
            }
        }
        prop_assert_eq!(seen.len(), targets as usize);
    }

    #[test]
    fn chunks_spread_evenly(seed: u64) {
        let map = GroupMap::new(90, 9, 1).unwrap();
        let mut counts = [0u32; 10];
        for i in 0..2000u64 {
            let mut id = [0; 32];
            id[..8].copy_from_slice(&(seed ^ i).to_le_bytes());
            counts[map.group_of(&ChunkId(id)).0 as usize] += 1;
        }
        // Six standard deviations around 200.
        prop_assert!(counts.iter().all(|&c| (120..=280).contains(&c)), "{counts:?}");
    }

    #[test]
    fn member_sets_behave_as_sets(a: u64, b: u64, p in 0u8..64) {
        let (a, b) = (Members::from_bits(a), Members::from_bits(b));
        prop_assert_eq!(a.iter().count(), a.len());
        prop_assert!(a.iter().all(|p| a.contains(p)));
        prop_assert!(a.without(b).iter().all(|p| a.contains(p) && !b.contains(p)));
        let mut c = a;
        c.insert(p);
        prop_assert!(c.contains(p) && c.remove(p) && !c.contains(p) && !c.remove(p));
    }
}
