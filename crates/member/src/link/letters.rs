//! Letters: what nodes say to each other about names, of any length.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use slotcast_object::Message;
use slotcast_protocol::{GroupId, InitiatorId, Members, RequestId};
use slotcast_store::Content;
use slotcast_transport::{Availability, Body, HEADER_LEN, Purpose, TELLS_LAYOUT};
use slotcast_units::Time;

use super::chunks::ToSend;
use super::{Link, LinkEvent};
use crate::effect::Effect;

impl Link {
    /// Says something about names to a node, if that may hear it. It may be lost: whoever needs an answer asks again.
    pub(crate) fn write_letter(
        &mut self,
        now: Time,
        node: u32,
        message: &Message,
        effects: &mut Vec<Effect>,
    ) {
        // Voters answer when their disk has: that one does not within the times of bids means nothing.
        let is_down = self.suspicions.told(now, node, false) == Availability::Down;
        if is_down || self.version_for([node]) < TELLS_LAYOUT {
            return;
        }
        let bytes = message.encode();
        if HEADER_LEN + bytes.len() <= self.map.datagram {
            return self.send_to(now, node, Body::Letter(Cow::Owned(bytes)), effects);
        }
        let Some(address) = self.address_of(node) else { return };
        let letter = ToSend {
            request: RequestId { initiator: InitiatorId(self.node), serial: self.letters },
            group: GroupId(0),
            members: Members::NONE,
            content: Content::of(bytes.into()),
            start: now,
            purpose: Purpose::Letter,
            source: None,
        };
        self.letters = self.letters.wrapping_add(1);
        self.send(now, letter, [(node, Members::NONE)].into(), (address, false), effects);
    }

    /// A letter came.
    pub(super) fn read_letter(&mut self, node: u32, letter: &[u8], events: &mut Vec<LinkEvent>) {
        match Message::decode(letter) {
            Some(message) => events.push(LinkEvent::Names(node, message)),
            None => self.counters.malformed += 1,
        }
    }
}
