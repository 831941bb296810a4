//! Which node has which member of a group.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use slotcast_protocol::{GroupId, GroupMap, Members, TargetId};

use crate::map::ClusterMap;

/// The node of an empty seat.
const NOBODY: u32 = u32::MAX;

/// The nodes of all seats.
#[derive(Debug, Clone)]
pub(crate) struct Seats {
    /// Of each group, in order of position.
    nodes: Vec<Vec<u32>>,
    /// The members of each group that hold chunks.
    holding: Vec<Members>,
}

impl Seats {
    pub(crate) fn new(map: &ClusterMap, groups: &GroupMap) -> Seats {
        let node_of = map.node_of_targets();
        let of = |target: &TargetId| node_of.get(target).copied().unwrap_or(NOBODY);
        let all = (0..groups.groups()).map(GroupId);
        let seats = all.map(|group| {
            let nodes: Vec<u32> = groups.members(group).iter().map(of).collect();
            (nodes, groups.members_for_gets(group))
        });
        let (nodes, holding) = seats.unzip();
        Seats { nodes, holding }
    }

    fn of(&self, group: GroupId) -> &[u32] {
        self.nodes.get(group.0 as usize).map_or(&[], |nodes| nodes)
    }

    /// Of `members` of `group`, those on `node`, and the others by their nodes.
    pub(crate) fn split(
        &self,
        node: u32,
        group: GroupId,
        members: Members,
    ) -> (Members, Vec<(u32, Members)>) {
        let mut here = Members::NONE;
        let mut away: Vec<(u32, Members)> = Vec::new();
        let nodes = self.of(group);
        for position in members.iter() {
            let Some(&of) = nodes.get(usize::from(position)) else { continue };
            if of == node {
                here.insert(position);
            } else if let Some((_, members)) = away.iter_mut().find(|(other, _)| *other == of) {
                members.insert(position);
            } else {
                away.push((of, Members::only(position)));
            }
        }
        (here, away)
    }

    /// The node of the member of `group` at this position.
    pub(crate) fn node(&self, group: GroupId, position: u8) -> Option<u32> {
        self.of(group).get(usize::from(position)).copied().filter(|node| *node != NOBODY)
    }

    /// The members of `group` that are on `node`. The group may be none: it may come from another node.
    pub(crate) fn members_on(&self, node: u32, group: GroupId) -> Members {
        let mut members = Members::NONE;
        let of_node = (0..).zip(self.of(group)).filter(|(_, of)| **of == node);
        of_node.for_each(|(position, _)| members.insert(position));
        members
    }

    /// The groups that a node has members of, and their positions there.
    pub(crate) fn groups_of(&self, node: u32) -> BTreeMap<GroupId, Members> {
        let groups = (0..).map(GroupId).zip(&self.nodes).map(|(group, _)| group);
        let members = groups.map(|group| (group, self.members_on(node, group)));
        members.filter(|(_, members)| !members.is_empty()).collect()
    }

    /// The nodes of members of `group`, each once.
    pub(crate) fn nodes_of(&self, group: GroupId, members: Members) -> BTreeSet<u32> {
        let nodes = self.of(group);
        members.iter().filter_map(|position| nodes.get(usize::from(position)).copied()).collect()
    }

    /// The nodes of the members of `group` that hold chunks, each once.
    pub(crate) fn holders(&self, group: GroupId) -> BTreeSet<u32> {
        let holding = self.holding.get(group.0 as usize).copied().unwrap_or(Members::NONE);
        self.nodes_of(group, holding)
    }
}
