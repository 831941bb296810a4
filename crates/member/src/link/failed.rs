//! Targets that have failed: nodes tell each other which of theirs.

use alloc::vec::Vec;

use slotcast_protocol::{GroupId, Members};
use slotcast_transport::{Body, MAX_GROUPS};
use slotcast_units::Time;

use super::{Link, LinkEvent};
use crate::effect::Effect;

impl Link {
    /// A target of this node has failed, or is there again: all peers hear it at once, and again with each beat.
    pub(crate) fn set_failed(
        &mut self,
        now: Time,
        (group, position): (GroupId, u8),
        has_failed: bool,
        effects: &mut Vec<Effect>,
    ) {
        let failed = self.failed.entry(group).or_insert(Members::NONE);
        if has_failed {
            failed.insert(position);
        } else {
            failed.remove(position);
        }
        if self.has_joined {
            for node in self.peers.keys().copied().collect::<Vec<_>>() {
                self.tell_failed(now, node, effects);
            }
        }
    }

    /// Whether a member of `group` at `node` has failed, as that says.
    pub(crate) fn has_failed(&self, node: u32, group: GroupId) -> bool {
        let failed = self.peers.get(&node).and_then(|peer| peer.failed.get(&group));
        failed.is_some_and(|members| !members.is_empty())
    }

    /// Tells `node` which targets of this node have failed, in groups where one ever has.
    pub(super) fn tell_failed(&mut self, now: Time, node: u32, effects: &mut Vec<Effect>) {
        let failed: Vec<_> = self.failed.iter().map(|(group, at)| (*group, *at)).collect();
        for part in failed.chunks(MAX_GROUPS) {
            self.send_to(now, node, Body::Failed(part.to_vec()), effects);
        }
    }

    /// A peer says which of its members of groups have failed. What it says of others does not count.
    pub(super) fn heard_failed(
        &mut self,
        node: u32,
        failed: &[(GroupId, Members)],
        events: &mut Vec<LinkEvent>,
    ) {
        let Some(peer) = self.peers.get_mut(&node) else { return };
        for (group, members) in failed {
            let here = self.seats.members_on(node, *group);
            if here.is_empty() {
                continue;
            }
            let members = members.intersection(here);
            let known = peer.failed.entry(*group).or_insert(Members::NONE);
            let new = members.without(*known);
            *known = members;
            if !new.is_empty() {
                events.push(LinkEvent::Failed(node, *group, new));
            }
        }
    }
}
