//! Which targets negotiate over which chunk.

mod digest;
mod domains;
mod layout;
mod members;

use alloc::vec::Vec;

pub use digest::LayoutDigest;
pub use layout::LayoutError;
pub use members::Members;

use crate::ids::{ChunkId, GroupId, TargetId};

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

    /// Whether it hands over what it holds.
    pub const fn is_draining(self) -> bool {
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
}

#[cfg(test)]
mod tests;
