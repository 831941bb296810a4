//! Who keeps the names: the voters of each negotiating group, as the cluster map says.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use minicbor::{Decode, Encode};
use slotcast_protocol::GroupId;

use crate::register::voters::{Voter, Voters};

/// The latest round of the collection of garbage that has begun; see [`garbage`](crate::garbage).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct Collection {
    /// Which; 0 before the first.
    #[n(0)]
    pub round: u64,
    /// Who began it: no two have the same number.
    #[n(1)]
    pub by: u64,
}

/// The voters of the groups in one version of the cluster map.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rosters {
    /// The version.
    pub epoch: u64,
    /// The voters of each group; none of a group that keeps no names yet.
    pub groups: BTreeMap<GroupId, Voters>,
    /// The latest round of collection.
    pub collection: Collection,
}

/// What is to change of who votes in a group. It is nothing any more where others vote than when it was chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RosterChange {
    /// These are the first.
    First(Vec<Voter>),
    /// Those who vote since this epoch are to be replaced by these, and vote together with them at first.
    Replace(u64, Vec<Voter>),
    /// Two sets vote since this epoch, and all registers have been brought to the new one, which votes alone.
    Settle(u64),
}

impl Rosters {
    /// The voters of a group.
    pub fn of(&self, group: GroupId) -> Option<&Voters> {
        self.groups.get(&group)
    }

    /// With a further round of collection, in a later epoch; none unless it is the next one.
    pub fn collecting(&self, epoch: u64, collection: Collection) -> Option<Rosters> {
        let is_next = collection.round == self.collection.round + 1;
        is_next.then(|| Rosters { epoch, collection, ..self.clone() })
    }

    /// With these changes, in a later epoch; none if nothing changes.
    pub fn changed(
        &self,
        epoch: u64,
        changes: &BTreeMap<GroupId, RosterChange>,
    ) -> Option<Rosters> {
        let mut groups = self.groups.clone();
        for (group, change) in changes {
            let voters = match (self.of(*group), change) {
                (None, RosterChange::First(voters)) => Voters::first(epoch, voters).ok(),
                (Some(present), RosterChange::Replace(since, voters))
                    if present.epoch() == *since =>
                {
                    present.joint(epoch, voters).ok()
                }
                (Some(present), RosterChange::Settle(since))
                    if present.epoch() == *since && present.is_joint() =>
                {
                    Some(present.settled(epoch))
                }
                _ => None,
            };
            groups.extend(voters.map(|voters| (*group, voters)));
        }
        let collection = self.collection;
        (groups != self.groups).then_some(Rosters { epoch, groups, collection })
    }
}
