//! Whether a put ends when as many targets have said that they hold the chunk as was wanted: counted from what
//! the initiator has heard, apart from what it remembers.

use std::collections::BTreeMap;

use slotcast_protocol::tape::{InitiatorEntry, InitiatorHeard};
use slotcast_protocol::{
    AckOutcome, BidAnswer, GroupId, InitiatorEffect, Members, Message, RequestId,
};

/// What is known of one put.
#[derive(Debug)]
struct Put {
    group: GroupId,
    wanted: u8,
    holders: Members,
}

/// The puts of the users of one node.
#[derive(Debug, Default)]
pub(super) struct Acks {
    puts: BTreeMap<RequestId, Put>,
}

impl Acks {
    /// All is forgotten: the initiator has started anew.
    pub(super) fn clear(&mut self) {
        self.puts.clear();
    }

    /// Members of a group have started anew: what they had said is void.
    pub(super) fn restarted(&mut self, group: GroupId, members: Members) {
        let of_group = self.puts.values_mut().filter(|put| put.group == group);
        of_group.for_each(|put| put.holders = put.holders.without(members));
    }

    /// The initiator did something. Says what should not have been.
    pub(super) fn did(&mut self, entry: &InitiatorEntry) -> Option<String> {
        match &entry.heard {
            InitiatorHeard::Put(_, _, (Some(wanted), _)) => self.begun(*wanted, &entry.did),
            InitiatorHeard::Message(Message::Bid(bid))
                if bid.answer == BidAnswer::AlreadyStored =>
            {
                self.holds(bid.request, bid.position);
            }
            InitiatorHeard::Message(Message::ReplicaAck(ack))
                if ack.outcome == AckOutcome::Stored =>
            {
                self.holds(ack.request, ack.position);
            }
            _ => {}
        }
        let mut found = None;
        for effect in &entry.did {
            let (InitiatorEffect::PutDone { request, .. }
            | InitiatorEffect::Failed { request, .. }) = effect
            else {
                continue;
            };
            let Some(put) = self.puts.remove(request) else { continue };
            let is_done = matches!(effect, InitiatorEffect::PutDone { .. });
            if is_done && put.holders.len() < usize::from(put.wanted) {
                let (holders, wanted) = (put.holders.len(), put.wanted);
                found = Some(format!("{request} is done with {holders} of {wanted} replicas"));
            }
        }
        found
    }

    fn begun(&mut self, wanted: u8, did: &[InitiatorEffect]) {
        let asked = did.iter().find_map(|effect| match effect {
            InitiatorEffect::Multicast { message: Message::PutRequest(asked), .. } => Some(asked),
            _ => None,
        });
        if let Some(asked) = asked {
            let put = Put { group: asked.group, wanted, holders: Members::NONE };
            self.puts.insert(asked.request, put);
        }
    }

    fn holds(&mut self, request: RequestId, position: u8) {
        if let Some(put) = self.puts.get_mut(&request) {
            put.holders.insert(position);
        }
    }
}
