//! What is looked at each time that a node has done something: what its machines have heard and did, apart from
//! what they remember of it.

use slotcast_faults::DiskFaults;
use slotcast_member::{Note, Pass, StorageTarget};
use slotcast_protocol::tape::{InitiatorEntry, InitiatorHeard, TargetEntry, TargetHeard};
use slotcast_protocol::{ChunkId, Members, Message, State, TargetId};
use slotcast_store::{DiskError, StoreStatus};
use slotcast_transport::{Address, Body, Datagram, Purpose};
use slotcast_units::{Size, Time};

use super::cluster::Cluster;
use super::node::Leaving;

impl Cluster {
    /// A node has done something.
    pub(super) fn watch(&mut self, now: Time, node: u32) {
        let host = &mut self.nodes[node as usize];
        let Some(member) = &mut host.member else { return };
        let (targets, initiator) = member.take_tapes();
        let ids: Vec<TargetId> = host.disks.keys().copied().collect();
        for (target, tape) in ids.into_iter().zip(targets) {
            for entry in tape {
                self.target_did(now, target, &entry);
            }
        }
        for entry in initiator {
            self.initiator_did(now, node, &entry);
        }
    }

    fn target_did(&mut self, now: Time, target: TargetId, entry: &TargetEntry) {
        let timing = self.map.timing();
        let place = self.node_of(target);
        let host = &mut self.nodes[place];
        let Some(storage) = host.member.as_ref().and_then(|member| member.target(target)) else {
            return;
        };
        let negotiator = storage.negotiator();
        let disk = host.disks.get_mut(&target).expect("a disk of the node");
        let (_, position) = self.groups.seat(target);
        let found = match &entry.heard {
            TargetHeard::Message(message) => {
                if let Message::PutAccept(_) | Message::GetAccept(_) = message {
                    self.report.acceptances += 1;
                }
                let rules = (self.bound.0, timing.trip, self.bound.1);
                disk.accepted.handled(entry.now, message, (negotiator, position), rules)
            }
            TargetHeard::Received { request, .. } => {
                disk.accepted.came(*request);
                disk.accepted.received(*request);
                None
            }
            _ => None,
        };
        for effect in &entry.did {
            disk.accepted.did(entry.now, effect);
        }
        if let Some(found) = found {
            self.report.violated(format!("target {} at {now}: {found}", target.0));
        }
    }

    fn initiator_did(&mut self, now: Time, node: u32, entry: &InitiatorEntry) {
        let timing = self.map.timing();
        let host = &mut self.nodes[node as usize];
        if let Some(found) = host.egress.did(entry, timing.data_rate) {
            self.report.violated(format!("node {node} at {now}: {found}"));
        }
        if let Some(found) = self.nodes[node as usize].acks.did(entry) {
            self.report.violated(format!("node {node} at {now}: {found}"));
        }
        if let InitiatorHeard::PutAgain(chunk, ..) = entry.heard {
            self.check_put_again(now, node, &chunk);
        }
    }

    /// A node that does not drain replaces nothing while a member of the group may be back soon, or opens.
    fn check_put_again(&mut self, now: Time, node: u32, chunk: &ChunkId) {
        let host = &self.nodes[node as usize];
        if host.leaving != Leaving::No {
            return;
        }
        let Some(groups) = host.member.as_ref().map(|member| member.groups()) else { return };
        let group = groups.group_of(chunk);
        let holding = groups.members_for_gets(group);
        let members = (0..).zip(groups.members(group));
        for (_, member) in members.filter(|(position, _)| holding.contains(*position)) {
            let other = u32::try_from(self.node_of(*member)).expect("small");
            let down = host.down.get(&other);
            let is_away = down.is_some_and(|since| {
                now.saturating_since(*since) < self.plan.pace.gone_after * 9 / 10
            });
            let is_opening =
                other == node && host.target(*member).is_some_and(StorageTarget::is_opening);
            if is_away || is_opening {
                let what = format!(
                    "node {node} at {now} puts {chunk} again while node {other} may be back soon"
                );
                return self.report.violated(what);
            }
        }
    }

    /// Datagrams that a node has not believed.
    pub(super) fn refused(&self, node: u32) -> u64 {
        let link = self.nodes[node as usize].member.as_ref().and_then(|member| member.link());
        link.map_or(0, |link| {
            let counters = link.counters();
            counters.epoch
                + counters.version
                + counters.layout
                + counters.address
                + counters.replayed
                + counters.unproven
                + counters.malformed
        })
    }

    /// A node has believed a datagram: of a round that it ends nothing is promised any more.
    pub(super) fn check_cancelled(&mut self, now: Time, node: u32, datagram: &Datagram<'_>) {
        let Body::Control(Address::Group(group, members), Message::PutAccept(accept)) =
            &datagram.body
        else {
            return;
        };
        let host = &self.nodes[node as usize];
        let Some(member) =
            host.member.as_ref().filter(|m| m.link().is_some_and(|l| l.has_joined()))
        else {
            return;
        };
        for target in member.targets().filter(|target| target.is_available()) {
            let (of, position) = self.groups.find(target.id()).unwrap_or((*group, u8::MAX));
            let is_told = of == *group && members.contains(position);
            if !is_told || accept.grants.of(position).is_some() {
                continue;
            }
            let kept = target.negotiator().incoming().reservations().iter().find(|slot| {
                slot.request == accept.request
                    && slot.round <= accept.round
                    && slot.state == State::Tentative
            });
            if let Some(slot) = kept {
                let (target, window) = (target.id().0, slot.window);
                let what = format!(
                    "target {target} at {now}: {} was cancelled, and still has {window}",
                    accept.request
                );
                return self.report.violated(what);
            }
        }
    }

    /// The chunk of a put leaves when that was planned, or right after the same for another node.
    pub(super) fn check_pass(&mut self, now: Time, node: u32, pass: &Pass) {
        if pass.purpose != Purpose::Put
            || pass.pass > 0
            || pass.pieces.len() == 1 && pass.start <= now
        {
            return;
        }
        let size = Size::from_bytes(pass.content.bytes().len() as u64);
        let length = self.map.timing().transfer(size);
        let egress = &self.nodes[node as usize].egress;
        let nodes = self.nodes.len() as u64;
        let local = self.nodes[node as usize].clock.local(now);
        let is_late =
            pass.start > local && !egress.is_planned(pass.request, pass.start, length, nodes);
        if is_late {
            let what = format!("node {node} at {now} sends {} at {}", pass.request, pass.start);
            self.report.violated(what);
        }
    }

    /// A node notes something.
    pub(super) fn noted(&mut self, now: Time, node: u32, note: &Note) {
        match note {
            Note::Target {
                target,
                before: StoreStatus::Opening,
                status: StoreStatus::Open,
                ..
            } => {
                self.check_found(now, *target);
            }
            Note::Target { target, status: StoreStatus::Failed(error), .. } => {
                let disk = self.disk(*target);
                let is_refused = disk.is_refused() && *error == DiskError::Gone;
                if !is_refused && disk.disk.faults == DiskFaults::default() {
                    let what = format!("target {} at {now} does not open: {error}", target.0);
                    self.report.violated(what);
                }
            }
            Note::ChunkLost { target, chunk } if !self.disk(*target).disk.excuses(chunk) => {
                let what = format!("target {} at {now} lost {chunk} without a reason", target.0);
                self.report.violated(what);
            }
            Note::PeerUp(peer, _) => {
                self.nodes[node as usize].down.remove(peer);
            }
            Note::PeerDown(peer, ..) => {
                self.nodes[node as usize].down.insert(*peer, now);
            }
            Note::PeerRestarted(peer) => {
                self.nodes[node as usize].restarts.insert(*peer, now);
                let of_peer = self.map.node(*peer).map(|node| node.targets.clone());
                for target in of_peer.into_iter().flatten() {
                    self.acks_are_void(node, target);
                }
            }
            Note::PeerTargetFailed(_, target) => self.acks_are_void(node, *target),
            Note::HandedOver => self.handed_over(now, node),
            _ => {}
        }
    }

    /// What a target has acknowledged does not count for `node` any more; nothing that was taken away does. It has
    /// told its position, of which the node thinks as its own map says: that may have another layout.
    fn acks_are_void(&mut self, node: u32, target: TargetId) {
        let host = &mut self.nodes[node as usize];
        let seat = host.member.as_ref().and_then(|member| member.groups().find(target));
        if let Some((group, position)) = seat {
            host.acks.restarted(group, Members::only(position));
        }
    }
}
