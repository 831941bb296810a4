//! The cluster map changes: nodes join, drain and are taken away, and the others learn of it one after another.

use std::rc::Rc;

use slotcast_engine::Agenda;
use slotcast_member::ClusterMap;
use slotcast_protocol::{ChunkId, Membership, TargetId, Wanted};
use slotcast_units::Time;

use super::catalogue::Known;
use super::cluster::Cluster;
use super::event::Event;
use super::node::{Leaving, NodeHost};
use super::parcel::Parcel;
use super::plan::address;

impl Cluster {
    /// Another map is kept from now on: each node hears of it in its time.
    fn write(&mut self, now: Time, map: ClusterMap, agenda: &mut Agenda<Event>) {
        self.groups = map.groups().expect("it may follow");
        if !map.only_collects_after(&self.map) {
            self.layout_epoch = map.epoch;
        }
        self.map = map;
        let map = Rc::new(self.map.clone());
        for node in 0..u32::try_from(self.nodes.len()).expect("small") {
            let host = &self.nodes[node as usize];
            if host.member.is_none() {
                continue;
            }
            let incarnation = host.incarnation;
            let delay = self.chance.exponential(self.plan.map_delay);
            let parcel = self.parcels.send(Parcel::Map(map.clone()));
            agenda.at(now + delay, Event::Map { node, incarnation, parcel });
        }
    }

    /// A node proposes a map in the place of the one before it.
    pub(super) fn proposed(&mut self, now: Time, map: &ClusterMap, agenda: &mut Agenda<Event>) {
        // The keeper tells the node of the map that is kept, and asks whether it still says so: who has another one
        // does not follow that, and has no say.
        let agrees = |host: &&NodeHost| host.right_map.is_none();
        let agree = self.nodes.iter().filter(agrees);
        let proposals = agree.filter_map(|host| host.member.as_ref()?.proposal());
        let proposals: Vec<ClusterMap> = proposals.filter(|of| of.epoch == map.epoch).collect();
        if map.epoch != self.map.epoch + 1 {
            return;
        }
        if !proposals.contains(map) {
            // It looks again: the node may say so another time, or something else.
            let next = proposals.into_iter().next().unwrap_or_else(|| map.clone());
            let parcel = self.parcels.send(Parcel::Map(Rc::new(next)));
            return agenda.at(now + self.plan.pace.keeper, Event::Propose { parcel });
        }
        self.write(now, map.clone(), agenda);
        if self.plan.drain.is_some_and(|drain| drain.is_hasty) {
            self.take_away(now, agenda);
        }
    }

    /// Somebody wants a node to leave, if its groups can do without it.
    pub(super) fn drain(&mut self, now: Time, node: u32, agenda: &mut Agenda<Event>) {
        let host = &self.nodes[node as usize];
        let can_be_spared = |target: &TargetId| {
            let (group, _) = self.groups.seat(*target);
            self.plan.can_spare(&self.groups, group, self.missing(group))
        };
        if host.leaving != Leaving::No || !host.disks.keys().all(can_be_spared) {
            return;
        }
        let Ok(map) = self.map.with_draining(node) else { return };
        self.report.drained += 1;
        self.nodes[node as usize].leaving = Leaving::Draining;
        self.write(now, map, agenda);
    }

    /// A new node joins the cluster.
    pub(super) fn join(&mut self, now: Time, agenda: &mut Agenda<Event>) {
        let node = u32::try_from(self.nodes.len()).expect("small");
        // Numbers and targets follow those that there ever were, also of nodes that were removed.
        if self.map.nodes.iter().map(|node| node.number + 1).max() != Some(node) {
            return;
        }
        let each = self.plan.each as usize;
        let Ok((map, joined)) = self.map.with_node(address(node), each, Membership::Joining) else {
            return;
        };
        if joined.targets[0].0 != node * self.plan.each {
            return;
        }
        self.report.joined += 1;
        self.write(now, map, agenda);
        self.add_node(now, node);
        self.start(now, node, agenda);
    }

    /// A node is taken out of the map: it is drained, or gone for good.
    pub(super) fn remove(
        &mut self,
        now: Time,
        node: u32,
        is_lost: bool,
        agenda: &mut Agenda<Event>,
    ) {
        if let Ok(map) = self.map.without_node(node, is_lost) {
            self.write(now, map, agenda);
        }
    }

    /// The node that the map says is drained is taken away, and its disks with it. True if there was one.
    pub(super) fn take_away(&mut self, now: Time, agenda: &mut Agenda<Event>) -> bool {
        let is_drained = |node: &&slotcast_member::MapNode| node.membership == Membership::Drained;
        let Some(node) = self.map.nodes.iter().find(is_drained).map(|node| node.number) else {
            return false;
        };
        self.stop(now, node, agenda);
        let host = &mut self.nodes[node as usize];
        host.leaving = Leaving::Gone;
        let mistake = self.plan.mistake;
        host.disks.values_mut().for_each(|disk| disk.wipe(mistake));
        self.report.taken_away += 1;
        self.remove(now, node, false, agenda);
        true
    }

    /// A node says that it has handed over: every chunk that it holds is with as many others as it is wanted on.
    pub(super) fn handed_over(&mut self, now: Time, node: u32) {
        if self.nodes[node as usize].leaving == Leaving::Draining {
            self.nodes[node as usize].leaving = Leaving::HandedOver;
            self.report.handed_over += 1;
        }
        let targets: Vec<TargetId> = self.nodes[node as usize].disks.keys().copied().collect();
        for target in targets {
            let held = self.nodes[node as usize].target(target);
            let held: Vec<ChunkId> = held.iter().flat_map(|target| target.chunks()).collect();
            for chunk in held {
                self.check_handed_over(now, target, &chunk);
            }
        }
    }

    /// Of members whose disks were harmed nobody can know; they may have said that they hold it.
    fn check_handed_over(&mut self, now: Time, target: TargetId, chunk: &ChunkId) {
        if self.catalogue.known(chunk) == Known::Retired {
            return;
        }
        let wanted = self.nodes[self.node_of(target)].target(target);
        let Some(wanted) = wanted.and_then(|target| target.wanted(chunk)) else { return };
        let members = self.groups.members(self.groups.group_of(chunk)).iter();
        let others = members.filter(|other| {
            let Some(host) = self.nodes.get(self.node_of(**other)) else { return false };
            let Some(disk) = host.disks.get(other) else { return false };
            let keeps = |held: Wanted| held.covers(wanted);
            let may_have = host.leaving == Leaving::No || host.is_gone() && disk.harmed;
            may_have
                && (disk.harmed
                    || match host.target(**other).filter(|_| host.is_open(**other)) {
                        // What it cannot read at present is there.
                        Some(other) => {
                            other.wanted(chunk).map_or(disk.disk.has_flushed(chunk), keeps)
                        }
                        // What it held when it stopped it holds when it starts.
                        None => disk.held.contains(chunk) || disk.disk.has_flushed(chunk),
                    })
        });
        let found = others.count();
        // As far as the node knows that hands over: it may not have heard yet who has joined.
        let member = self.nodes[self.node_of(target)].member.as_ref();
        let groups = member.map_or(&self.groups, |member| member.groups());
        let group = groups.group_of(chunk);
        let possible = groups.domains_of(group, groups.members_for_puts(group));
        if found < usize::from(wanted.replicas).min(possible) {
            let what = format!(
                "target {} at {now} says that it has handed over, and {chunk} is on {found} \
                 others instead of {wanted:?}: {}",
                target.0,
                self.states_of(chunk)
            );
            self.report.violated(what);
        }
    }

    /// Whether everybody follows the map that is kept.
    pub(super) fn all_follow(&self) -> bool {
        let members = self.nodes.iter().filter_map(|host| host.member.as_ref());
        let mut all = members.filter_map(|member| member.membership_status());
        all.all(|status| status.epoch >= self.layout_epoch)
    }

    /// Whether whoever was told to leave, and is still there, has handed over, and the map says so.
    pub(super) fn has_handed_over(&self) -> bool {
        let is_leaving = |node: &slotcast_member::MapNode| {
            let is_gone = self.nodes.get(node.number as usize).is_some_and(NodeHost::is_gone);
            let is_leaving = match node.membership {
                Membership::Joining => true,
                Membership::Draining => !self.has_to_vote(node.number),
                Membership::Active | Membership::Drained => false,
            };
            is_leaving && !is_gone
        };
        !self.map.nodes.iter().any(is_leaving)
    }
}
