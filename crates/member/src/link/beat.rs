//! What is said to the peers whether there is something to say or not.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use slotcast_protocol::GroupId;
use slotcast_transport::{Body, Clock, TELLS_LAYOUT};
use slotcast_units::Time;

use super::{Link, LinkEvent};
use crate::effect::Effect;

impl Link {
    /// Sees who has fallen silent, and says something to every peer.
    pub(super) fn beat(
        &mut self,
        now: Time,
        effects: &mut Vec<Effect>,
        events: &mut Vec<LinkEvent>,
    ) {
        let (mut all_are_known, mut changes) = (true, Vec::new());
        let nodes: Vec<u32> = self.peers.keys().copied().collect();
        for node in &nodes {
            let is_believed = self.has_agreed(*node);
            let Some(peer) = self.peers.get_mut(node) else { continue };
            peer.state.look((now, is_believed), &self.times.silence, &mut changes);
            events.extend(changes.drain(..).map(|change| LinkEvent::Peer(*node, change)));
            all_are_known &= peer.state.is_up();
        }
        for node in nodes {
            self.ask_clock(now, node, effects);
            self.tell_failed(now, node, effects);
        }
        self.tell_short(now, effects);
        let is_young = now.saturating_since(self.began) < self.times.youth;
        let beat = if all_are_known || !is_young { self.times.beat } else { self.times.first_beat };
        self.next_beat = now + beat;
    }

    /// Asks `node` for an answer with its clock, and says in which groups its multicast is heard.
    pub(super) fn ask_clock(&mut self, now: Time, node: u32, effects: &mut Vec<Effect>) {
        let heard = self.reach.heard_of(now, node).collect();
        let clock = Clock { wants_answer: true, heard, ..self.clock(self.version_for([node])) };
        self.send_to(now, node, Body::Clock(clock), effects);
    }

    /// What this node says of itself in a clock datagram of `version`.
    pub(super) fn clock(&self, version: u8) -> Clock {
        Clock {
            wants_answer: false,
            versions: self.versions.are_told().then_some(self.versions),
            layout: self.own_layout().filter(|_| version >= TELLS_LAYOUT),
            heard: Vec::new(),
        }
    }

    /// Sends a probe to the multicast address of each group with members elsewhere.
    pub(super) fn probe(&mut self, now: Time, effects: &mut Vec<Effect>) {
        self.next_probe = now + self.times.probe;
        if self.map.multicast.is_none() {
            self.next_probe = Time::NEVER;
            return;
        }
        let groups: BTreeSet<GroupId> =
            self.peers.values().flat_map(|peer| peer.groups.iter().copied()).collect();
        for group in groups {
            if let Some(address) = self.multicast_of(group) {
                let of_group = self.peers.iter().filter(|(_, peer)| peer.groups.contains(&group));
                let version = self.version_for(of_group.map(|(node, _)| *node));
                self.send_multicast(now, (address, version), Body::Probe(group), effects);
            }
        }
    }
}
