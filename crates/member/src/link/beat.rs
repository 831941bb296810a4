//! What is said to the peers whether there is something to say or not.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use slotcast_protocol::GroupId;
use slotcast_transport::Body;
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
        for (node, peer) in &mut self.peers {
            peer.state.look(now, &self.times.silence, &mut changes);
            events.extend(changes.drain(..).map(|change| LinkEvent::Peer(*node, change)));
            all_are_known &= peer.state.is_up();
        }
        for node in self.peers.keys().copied().collect::<Vec<_>>() {
            self.ask_clock(now, node, effects);
            self.tell_failed(now, node, effects);
        }
        let is_young = now.saturating_since(self.began) < self.times.youth;
        let beat = if all_are_known || !is_young { self.times.beat } else { self.times.first_beat };
        self.next_beat = now + beat;
    }

    /// Asks `node` for an answer with its clock, and says in which groups its multicast is heard.
    pub(super) fn ask_clock(&mut self, now: Time, node: u32, effects: &mut Vec<Effect>) {
        let heard = self.reach.heard_of(now, node).collect();
        self.send_to(now, node, Body::Clock { wants_answer: true, heard }, effects);
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
                self.send_multicast(now, address, Body::Probe(group), effects);
            }
        }
    }
}
