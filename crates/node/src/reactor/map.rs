//! What changes when the cluster map does.

use slotcast_protocol::{GroupMap, Membership};
use slotcast_units::Time;

use super::{Due, Reactor};
use crate::cluster::ClusterMap;
use crate::target::TargetHost;

impl Reactor {
    /// Takes a map that may follow the present one: groups and seats stay. Requests under way go on, and see
    /// the new members in their next step.
    pub(super) fn take_map(&mut self, now: Time, map: &ClusterMap) {
        let (Some(remote), Ok(groups)) = (&mut self.remote, map.groups()) else { return };
        let gone_after = remote.suspicions.gone_after();
        let new = remote.take(now, map, &groups);
        let before = std::mem::replace(&mut self.groups, groups);
        for node in new {
            self.at(now + gone_after, Due::NodeGone(node));
        }
        let node_of = map.node_of_targets();
        let here: Vec<_> = self.targets.keys().copied().collect();
        for target in here {
            let membership = node_of.get(&target).and_then(|node| map.node(*node));
            let membership = membership.map_or(Membership::Active, |node| node.membership);
            if let Some(host) = self.targets.get_mut(&target) {
                host.set_membership(now, membership, &mut self.wishes, &mut self.news);
                self.heed(now, target);
            }
        }
        self.make_up_for_the_removed(now, &before);
    }

    /// Where a member has been removed, the others see to it that nothing is missing.
    fn make_up_for_the_removed(&mut self, now: Time, before: &GroupMap) {
        for group in (0..before.groups()).map(slotcast_protocol::GroupId) {
            let was_there = |target: &&_| before.find(**target).is_some();
            let mut members = before.members(group).iter().filter(was_there);
            if members.any(|target| self.groups.find(*target).is_none()) {
                self.expect_walk(now, group);
            }
        }
    }

    /// While this node leaves, says whether it may be stopped.
    pub(super) fn tell_whether_handed_over(&self) {
        let Some(remote) = &self.remote else { return };
        if self.targets.values().any(TargetHost::leaves) {
            let has_handed_over = self.targets.values().all(TargetHost::has_handed_over);
            let mut standing = remote.shared().standing();
            if has_handed_over && !standing.has_handed_over {
                tracing::info!("drained: may be stopped");
            }
            standing.has_handed_over = has_handed_over;
        }
    }
}
