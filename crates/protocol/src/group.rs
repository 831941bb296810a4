//! Which targets negotiate over which chunk.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::ids::{ChunkId, GroupId, TargetId};
use crate::message::MAX_REPLICAS;

/// Positions in a negotiating group, at most [`Members::CAPACITY`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Members(u64);

impl Members {
    /// The largest negotiating group.
    pub const CAPACITY: usize = 64;
    /// Nobody.
    pub const NONE: Members = Members(0);

    /// The first `n` positions.
    pub fn first(n: usize) -> Members {
        assert!(n <= Members::CAPACITY, "a group of {n}");
        Members(if n == Members::CAPACITY { u64::MAX } else { (1 << n) - 1 })
    }

    /// The set of one position.
    pub fn only(position: u8) -> Members {
        let mut members = Members::NONE;
        members.insert(position);
        members
    }

    /// The set whose bit `i` stands for position `i`.
    pub const fn from_bits(bits: u64) -> Members {
        Members(bits)
    }

    /// Bit `i` stands for position `i`.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// Whether `position` is in the set.
    pub const fn contains(self, position: u8) -> bool {
        position < 64 && self.0 & (1 << position) != 0
    }

    /// Adds `position`.
    pub fn insert(&mut self, position: u8) {
        assert!(usize::from(position) < Members::CAPACITY, "position {position}");
        self.0 |= 1 << position;
    }

    /// Takes `position` out; says whether it was in.
    pub fn remove(&mut self, position: u8) -> bool {
        let was_in = self.contains(position);
        if was_in {
            self.0 &= !(1 << position);
        }
        was_in
    }

    /// Those in `self` and not in `other`.
    #[must_use]
    pub const fn without(self, other: Members) -> Members {
        Members(self.0 & !other.0)
    }

    /// Those in either.
    #[must_use]
    pub const fn union(self, other: Members) -> Members {
        Members(self.0 | other.0)
    }

    /// Those in both.
    #[must_use]
    pub const fn intersection(self, other: Members) -> Members {
        Members(self.0 & other.0)
    }

    /// How many.
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether there is nobody.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Positions in ascending order.
    pub fn iter(self) -> impl Iterator<Item = u8> {
        let mut bits = self.0;
        core::iter::from_fn(move || {
            if bits == 0 {
                return None;
            }
            #[expect(clippy::cast_possible_truncation, reason = "below 64")]
            let position = bits.trailing_zeros() as u8;
            bits &= bits - 1;
            Some(position)
        })
    }
}

/// Why targets cannot be laid out in negotiating groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// Fewer targets than one group needs.
    #[error("{targets} targets do not fill one negotiating group of {group_size}")]
    TooFewTargets {
        /// Targets in the cluster.
        targets: u32,
        /// Wanted members of a group.
        group_size: u32,
    },
    /// A group size that cannot be.
    #[error("a negotiating group has 1 to 64 members, not {0}")]
    GroupSize(u32),
    /// No targets share a failure domain.
    #[error("a failure domain has at least one target")]
    EmptyDomain,
    /// A target that has a place in two groups, or two in one.
    #[error("target {} has two seats", .0.0)]
    TwoSeats(TargetId),
    /// A target without a place in any group.
    #[error("target {} has no seat in any group", .0.0)]
    NoSeat(TargetId),
    /// No groups, or one without seats.
    #[error("there are groups, and each has seats")]
    NoSeats,
}

/// What a target has to do with a cluster that changes while it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Membership {
    /// It has a seat, and is not yet there: it is not asked.
    Joining,
    /// It takes part.
    Active,
    /// It gives what it holds away: it takes no chunks, and is asked for those that it has.
    Draining,
    /// All that it holds is held by others: it is not asked.
    Drained,
}

impl Membership {
    /// Whether chunks are put to it, and what it holds counts as a replica.
    pub const fn takes_puts(self) -> bool {
        matches!(self, Membership::Active)
    }

    /// Whether gets ask it.
    pub const fn answers_gets(self) -> bool {
        matches!(self, Membership::Active | Membership::Draining)
    }

    /// Whether it leaves.
    pub const fn leaves(self) -> bool {
        matches!(self, Membership::Draining | Membership::Drained)
    }
}

/// A target of a layout with [`seats`](GroupMap::seated).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    /// Which.
    pub target: TargetId,
    /// Its failure domain.
    pub domain: u32,
    /// What it has to do with the cluster.
    pub membership: Membership,
}

/// Negotiating groups of a cluster, disjoint.
///
/// There are two ways to lay them out. [`new`](GroupMap::new) deals targets that all take part into groups of
/// equal size within one member. [`seated`](GroupMap::seated) is told who sits where, and is for clusters that
/// change while they run: the number of groups stays, so that a chunk stays in its group, and whoever joins
/// or leaves takes a seat or leaves it empty, so that everybody else keeps position.
///
/// Targets are numbered domain by domain: with `d` targets to a domain, target `t` is in domain
/// `t / d`. A group takes its members from as many domains as it can. With one target to a domain,
/// groups are consecutive blocks, as in the Replicast paper's runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupMap {
    order: Vec<TargetId>,
    starts: Vec<u32>,
    seats: Vec<(GroupId, u8)>,
    targets_per_domain: u32,
    /// Of a layout with seats; in others all members are alike.
    roles: Option<Roles>,
}

/// Who is who in a layout with seats.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Roles {
    /// By target.
    domains: Vec<u32>,
    /// By group.
    for_gets: Vec<Members>,
    for_puts: Vec<Members>,
}

/// The seat of a target that is not there.
const NOWHERE: GroupId = GroupId(u32::MAX);

impl GroupMap {
    /// Lays `targets` out in groups of `group_size` or one more.
    ///
    /// # Errors
    /// If there are too few targets for one group, or a number is out of range.
    pub fn new(
        targets: u32,
        group_size: u32,
        targets_per_domain: u32,
    ) -> Result<GroupMap, LayoutError> {
        if group_size == 0 || group_size as usize > Members::CAPACITY {
            return Err(LayoutError::GroupSize(group_size));
        }
        if targets_per_domain == 0 {
            return Err(LayoutError::EmptyDomain);
        }
        if targets < group_size {
            return Err(LayoutError::TooFewTargets { targets, group_size });
        }
        let groups = targets / group_size;
        let (size, larger) = (targets / groups, targets % groups);
        if (size + u32::from(larger > 0)) as usize > Members::CAPACITY {
            return Err(LayoutError::GroupSize(size + 1));
        }
        // All first targets of the domains, then all second ones: neighbours differ in domain.
        let mut order: Vec<TargetId> = (0..targets).map(TargetId).collect();
        order.sort_by_key(|t| (t.0 % targets_per_domain, t.0 / targets_per_domain));

        let mut starts = Vec::with_capacity(groups as usize + 1);
        let mut seats = alloc::vec![(GroupId(0), 0u8); targets as usize];
        let mut start = 0;
        for group in 0..groups {
            starts.push(start);
            let end = start + size + u32::from(group < larger);
            for (seat, target) in order[start as usize..end as usize].iter().enumerate() {
                #[expect(clippy::cast_possible_truncation, reason = "below 64")]
                let seat = seat as u8;
                seats[target.0 as usize] = (GroupId(group), seat);
            }
            start = end;
        }
        starts.push(start);
        debug_assert_eq!(start, targets, "every target has a seat");
        Ok(GroupMap { order, starts, seats, targets_per_domain, roles: None })
    }

    /// A layout in which it is said who sits where: for each group its targets in order of position. A seat
    /// of a target that is not among `members` is empty.
    ///
    /// # Errors
    /// If a group has no or too many seats, or a target none or two.
    pub fn seated(groups: &[Vec<TargetId>], members: &[Member]) -> Result<GroupMap, LayoutError> {
        if groups.is_empty() || groups.iter().any(Vec::is_empty) {
            return Err(LayoutError::NoSeats);
        }
        if let Some(large) = groups.iter().find(|group| group.len() > Members::CAPACITY) {
            return Err(LayoutError::GroupSize(u32::try_from(large.len()).unwrap_or(u32::MAX)));
        }
        let by_target: BTreeMap<TargetId, &Member> =
            members.iter().map(|member| (member.target, member)).collect();
        let highest = by_target.keys().next_back().map_or(0, |target| target.0 as usize);
        let mut seats = alloc::vec![(NOWHERE, 0u8); highest + 1];
        let mut domains = alloc::vec![u32::MAX; highest + 1];
        let mut starts = alloc::vec![0];
        let (mut order, mut for_gets, mut for_puts) = (Vec::new(), Vec::new(), Vec::new());
        for (group, targets) in (0..).map(GroupId).zip(groups) {
            let (mut gets, mut puts) = (Members::NONE, Members::NONE);
            for (position, target) in (0..).zip(targets) {
                let Some(member) = by_target.get(target) else { continue };
                let seat = &mut seats[target.0 as usize];
                if seat.0 != NOWHERE {
                    return Err(LayoutError::TwoSeats(*target));
                }
                *seat = (group, position);
                domains[target.0 as usize] = member.domain;
                if member.membership.answers_gets() {
                    gets.insert(position);
                }
                if member.membership.takes_puts() {
                    puts.insert(position);
                }
            }
            order.extend(targets);
            starts.push(u32::try_from(order.len()).expect("64 seats a group"));
            for_gets.push(gets);
            for_puts.push(puts);
        }
        let missing = by_target.keys().find(|target| seats[target.0 as usize].0 == NOWHERE);
        if let Some(target) = missing {
            return Err(LayoutError::NoSeat(*target));
        }
        let roles = Some(Roles { domains, for_gets, for_puts });
        Ok(GroupMap { order, starts, seats, targets_per_domain: 1, roles })
    }

    /// Whether what was laid out as in `before` is found in this layout: there are as many groups, so chunks
    /// stay in theirs, and every target that is in both sits where it sat.
    pub fn keeps_the_places_of(&self, before: &GroupMap) -> bool {
        let stays = |(target, seat): (u32, &(GroupId, u8))| {
            let now = self.find(TargetId(target));
            seat.0 == NOWHERE || now.is_none_or(|now| now == *seat)
        };
        self.groups() == before.groups() && (0..).zip(&before.seats).all(stays)
    }

    /// A group for each of `count` new targets of one failure domain: the one with the fewest of that domain,
    /// and of those the smallest. None if there are no free seats.
    pub fn places_for(&self, count: usize, domain: u32) -> Option<Vec<GroupId>> {
        let occupied = |group: GroupId| {
            let members = self.members(group).iter();
            members.filter(|target| self.find(**target).is_some()).count()
        };
        let of_domain = |group: GroupId| {
            let members = self.members(group).iter();
            members.filter(|t| self.find(**t).is_some() && self.domain(**t) == domain).count()
        };
        let mut load: Vec<(usize, usize, GroupId)> = (0..self.groups())
            .map(GroupId)
            .map(|group| (of_domain(group), occupied(group), group))
            .collect();
        let mut places = Vec::with_capacity(count);
        for _ in 0..count {
            let free = load.iter_mut().filter(|(_, members, _)| *members < Members::CAPACITY);
            let chosen = free.min()?;
            chosen.0 += 1;
            chosen.1 += 1;
            places.push(chosen.2);
        }
        Some(places)
    }

    /// Number of groups.
    pub fn groups(&self) -> u32 {
        u32::try_from(self.starts.len() - 1).expect("fewer groups than targets")
    }

    /// Number of targets.
    pub fn targets(&self) -> u32 {
        u32::try_from(self.order.len()).expect("counted in u32")
    }

    /// The group that negotiates over `chunk`.
    pub fn group_of(&self, chunk: &ChunkId) -> GroupId {
        // A multiply and shift maps 64 well-mixed bits evenly, without a division.
        let wide = u128::from(chunk.mix(0)) * u128::from(self.groups());
        GroupId(u32::try_from(wide >> 64).expect("below the number of groups"))
    }

    /// The members of `group`, in order of position.
    ///
    /// # Panics
    /// If there is no such group.
    pub fn members(&self, group: GroupId) -> &[TargetId] {
        let g = group.0 as usize;
        &self.order[self.starts[g] as usize..self.starts[g + 1] as usize]
    }

    /// The group of `target`, and its position there.
    ///
    /// # Panics
    /// If there is no such target.
    pub fn seat(&self, target: TargetId) -> (GroupId, u8) {
        self.seats[target.0 as usize]
    }

    /// The same, of a target that there may not be.
    pub fn find(&self, target: TargetId) -> Option<(GroupId, u8)> {
        self.seats.get(target.0 as usize).copied().filter(|(group, _)| *group != NOWHERE)
    }

    /// The members of `group` that puts ask.
    pub fn members_for_puts(&self, group: GroupId) -> Members {
        match &self.roles {
            None => Members::first(self.members(group).len()),
            Some(roles) => roles.for_puts[group.0 as usize],
        }
    }

    /// The members of `group` that gets ask.
    pub fn members_for_gets(&self, group: GroupId) -> Members {
        match &self.roles {
            None => Members::first(self.members(group).len()),
            Some(roles) => roles.for_gets[group.0 as usize],
        }
    }

    /// Of `members` of `group`, those whose chunks count as replicas.
    fn counting(&self, group: GroupId, members: Members) -> Members {
        match &self.roles {
            None => members,
            Some(roles) => members.intersection(roles.for_puts[group.0 as usize]),
        }
    }

    /// Whether every target is a failure domain of its own.
    fn is_flat(&self) -> bool {
        self.targets_per_domain == 1 && self.roles.is_none()
    }

    /// How many failure domains `members` of `group` are in; those that leave do not count.
    pub fn domains_of(&self, group: GroupId, members: Members) -> usize {
        if self.is_flat() {
            return members.len();
        }
        let members = self.counting(group, members);
        let targets = self.members(group);
        let domain = |position: u8| self.domain(targets[usize::from(position)]);
        let is_first =
            |p: &u8| members.iter().take_while(|q| q < p).all(|q| domain(q) != domain(*p));
        members.iter().filter(is_first).count()
    }

    /// The most targets on which any chunk can be, in different failure domains: as many as every group has,
    /// and at most [`MAX_REPLICAS`]. O(targets).
    pub fn most_replicas(&self) -> usize {
        let domains = |group| self.domains_of(group, self.members_for_puts(group));
        (0..self.groups()).map(|group| domains(GroupId(group))).fold(MAX_REPLICAS, usize::min)
    }

    /// All positions of `group` in a failure domain of one of `members`, these among them.
    pub fn sharing_a_domain(&self, group: GroupId, members: Members) -> Members {
        if self.is_flat() {
            return members;
        }
        let members = self.counting(group, members);
        let targets = self.members(group);
        let domain = |position: u8| self.domain(targets[usize::from(position)]);
        let mut sharing = Members::NONE;
        for position in Members::first(targets.len()).iter() {
            if members.iter().any(|member| domain(member) == domain(position)) {
                sharing.insert(position);
            }
        }
        sharing
    }

    /// The failure domain of `target`.
    pub fn domain(&self, target: TargetId) -> u32 {
        match &self.roles {
            None => target.0 / self.targets_per_domain,
            Some(roles) => roles.domains.get(target.0 as usize).copied().unwrap_or(u32::MAX),
        }
    }
}

#[cfg(test)]
mod tests {
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
            let members: Vec<_> =
                there.iter().map(|t| member(*t, *t, Membership::Active)).collect();
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
}
