//! Who keeps the names: the voters of each negotiating group, as the cluster map says.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use slotcast_protocol::GroupId;

use crate::register::voters::{Voter, Voters};

/// The voters of the groups in one version of the cluster map.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rosters {
    /// The version.
    pub epoch: u64,
    /// The voters of each group; none of a group that keeps no names yet.
    pub groups: BTreeMap<GroupId, Voters>,
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
        (groups != self.groups).then_some(Rosters { epoch, groups })
    }
}
