//! Who keeps the names: the voters of each negotiating group, as the cluster map says.

use alloc::collections::BTreeMap;

use slotcast_protocol::GroupId;

use crate::register::voters::Voters;

/// The voters of the groups in one version of the cluster map.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rosters {
    /// The version.
    pub epoch: u64,
    /// The voters of each group; none of a group that keeps no names yet.
    pub groups: BTreeMap<GroupId, Voters>,
}

impl Rosters {
    /// The voters of a group.
    pub fn of(&self, group: GroupId) -> Option<&Voters> {
        self.groups.get(&group)
    }
}
