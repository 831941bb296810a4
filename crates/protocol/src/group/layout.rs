//! Where targets sit: dealt out, as it is said, or where there is room.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::{GroupMap, Member, Members, NOWHERE, Roles};
use crate::ids::{GroupId, TargetId};

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
}
