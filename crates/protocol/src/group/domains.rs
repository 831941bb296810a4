//! Failure domains: what fails together counts as one replica.

use super::{GroupMap, Members};
use crate::ids::{GroupId, TargetId};
use crate::message::MAX_REPLICAS;

impl GroupMap {
    /// The failure domain of `target`.
    pub fn domain(&self, target: TargetId) -> u32 {
        match &self.roles {
            None => target.0 / self.targets_per_domain,
            Some(roles) => roles.domains.get(target.0 as usize).copied().unwrap_or(u32::MAX),
        }
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
}
