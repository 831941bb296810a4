//! What changes when the cluster map does, and what this node has to say in it.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use slotcast_protocol::{GroupId, GroupMap, MAX_REPLICAS, Membership};
use slotcast_units::Time;

use super::Member;
use crate::effect::{Effect, Note};
use crate::map::ClusterMap;
use crate::mistake::Mistake;
use crate::naming::Naming;
use crate::target::{StorageTarget, TargetInput};
use crate::timers::Timer;

impl Member {
    /// What this node has to do with the cluster.
    pub(super) fn membership(&self) -> Membership {
        let node = self.map.as_ref().and_then(|map| map.node(self.node));
        node.map_or(Membership::Active, |node| node.membership)
    }

    /// A map was read: followed if it is another one, and may follow the present one.
    pub(super) fn take_map(&mut self, now: Time, map: ClusterMap) {
        self.map_problem = None;
        let Some(present) = self.map.as_deref() else { return };
        if map == *present {
            self.not_followed = None;
            return;
        }
        match self.may_follow(&map, present) {
            Ok(groups) => self.follow(now, map, groups),
            Err(problem) => {
                self.map_problem = Some(problem);
                self.not_followed = self.not_followed.max(Some(map.epoch));
            }
        }
    }

    fn may_follow(&self, map: &ClusterMap, present: &ClusterMap) -> Result<GroupMap, String> {
        if !(self.errs(Mistake::FollowsStaleMap) && map.epoch < present.epoch) {
            map.may_follow(present)?;
        }
        let number = self.node;
        let (Some(node), Some(before)) = (map.node(number), present.node(number)) else {
            return Err(format!(
                "epoch {} is without node {number}: this node is out of the cluster, and may be stopped",
                map.epoch
            ));
        };
        if (&node.targets, node.address) != (&before.targets, before.address) {
            return Err(format!(
                "node {number} has other targets, or another address: start it anew to take that"
            ));
        }
        map.groups().map_err(|error| format!("{error}"))
    }

    /// Groups and seats stay. Requests under way go on, and see the new members in their next step.
    fn follow(&mut self, now: Time, map: ClusterMap, groups: GroupMap) {
        let Some(link) = &mut self.outbox.link else { return };
        let gone_after = link.suspicions.gone_after();
        for node in link.take(now, (&map, &groups), &mut self.events) {
            self.timers.at(now + gone_after, Timer::PeerGone(node));
        }
        let before = core::mem::replace(&mut self.groups, groups);
        let known = self.map.replace(Box::new(map.clone()));
        if known.is_some_and(|known| map.only_collects_after(&known)) {
            self.outbox.effects.push(Effect::KeepMap(Box::new(map)));
            return self.learn_voters(now);
        }
        self.layout_epoch = map.epoch;
        self.has_handed_over = false;
        self.upsets += 1;
        let membership = self.membership();
        self.outbox.effects.push(Effect::Note(Note::MapTaken(map.epoch, membership)));
        self.outbox.effects.push(Effect::KeepMap(Box::new(map)));
        for target in self.targets.keys().copied().collect::<Vec<_>>() {
            self.tell_target(now, target, TargetInput::Membership(membership));
        }
        self.learn_voters(now);
        self.make_up_for_the_removed(now, &before);
        self.use_more_domains(now, &before);
    }

    /// Where there were fewer failure domains than a chunk may have replicas, and there are more now, some chunks
    /// lack replicas that they can have.
    fn use_more_domains(&mut self, now: Time, before: &GroupMap) {
        let domains = |groups: &GroupMap, group| {
            groups.domains_of(group, groups.members_for_puts(group)).min(MAX_REPLICAS)
        };
        for group in (0..before.groups()).map(GroupId) {
            let is_more = domains(&self.groups, group) > domains(before, group);
            if is_more && !self.errs(Mistake::NoScanWhenJoined) {
                self.expect_scan(now, group);
            }
        }
    }

    /// Where a member has been removed, the others see to it that nothing is missing.
    fn make_up_for_the_removed(&mut self, now: Time, before: &GroupMap) {
        for group in (0..before.groups()).map(GroupId) {
            let was_there = |target: &&_| before.find(**target).is_some();
            let mut members = before.members(group).iter().filter(was_there);
            let is_removed = members.any(|target| self.groups.find(*target).is_none());
            if is_removed && !self.errs(Mistake::NoScanWhenRemoved) {
                self.expect_scan(now, group);
            }
        }
    }

    /// What this node has to say in the map now: one that joins is active when it hears most of the others, one
    /// that drains is drained when others hold all that it holds. It may be withdrawn: whoever writes it asks
    /// right before.
    pub fn proposal(&self) -> Option<ClusterMap> {
        let map = self.map.as_deref().filter(|_| !self.errs(Mistake::ProposesNothing))?;
        // Nor does it write over a map that it does not follow. One that came late is not there any more.
        if self.not_followed >= Some(map.epoch) {
            return None;
        }
        let next = match self.membership() {
            Membership::Joining if self.link()?.hears_most() => map.with_active(self.node),
            Membership::Draining if self.have_handed_over() => map.with_drained(self.node),
            // One that leaves may have brought the registers of a group to its new voters.
            Membership::Active | Membership::Draining => return self.map_with_voters(),
            Membership::Joining | Membership::Drained => return None,
        };
        next.ok()
    }

    /// What has just changed in a group is looked at first. Whoever keeps names is replaced before.
    fn have_handed_over(&self) -> bool {
        self.changing.is_empty()
            && self.targets.values().all(StorageTarget::has_handed_over)
            && !self.naming.as_ref().is_some_and(Naming::votes)
    }

    /// Says so when this node has something to say in the map, and when others hold all that it holds.
    pub(super) fn see_membership(&mut self) {
        let has_nothing_to_say = match self.membership() {
            Membership::Active => {
                self.roster_changes.is_empty() && self.collection_to_propose().is_none()
            }
            Membership::Drained => true,
            Membership::Joining | Membership::Draining => false,
        };
        if has_nothing_to_say {
            return;
        }
        if self.membership() == Membership::Draining {
            let has_handed_over = self.have_handed_over();
            if has_handed_over && !self.has_handed_over {
                self.outbox.effects.push(Effect::Note(Note::HandedOver));
            }
            self.has_handed_over = has_handed_over;
        }
        let next = self.proposal();
        let epoch = next.as_ref().map(|next| next.epoch);
        if self.proposed != epoch {
            self.proposed = epoch;
            let next = next.map(Box::new);
            self.outbox.effects.extend(next.map(Effect::Propose));
        }
    }
}
