//! What the machines of a member want, until it is carried out.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use slotcast_protocol::{
    Bid, BidAnswer, ChunkId, Message, Offer, OfferAnswer, RequestId, TargetId, Wanted,
};
use slotcast_store::Content;
use slotcast_units::{Size, Time};

use crate::content_cache::ContentCache;
use crate::effect::Effect;
use crate::link::Link;

/// A message between machines of this node, or one of them that came from another node.
#[derive(Debug, Clone, PartialEq)]
pub enum Mail {
    /// For a target.
    ToTarget(TargetId, Message),
    /// For the initiator, or the finder.
    ToInitiator(Message),
}

/// What a target wants of the member around it.
#[derive(Debug, Clone, PartialEq)]
pub enum Want {
    /// Send a chunk to the initiator of the request, from this time on.
    Transfer {
        /// For which request; names the initiator.
        request: RequestId,
        /// What.
        content: Content,
        /// When.
        start: Time,
    },
    /// Ask the group whether so many targets hold a chunk.
    Check(ChunkId, Size, Wanted),
    /// Ask the other members of the group what they hold in ranges of names of so many bits, from the first one on,
    /// so many of them.
    Compare(u8, u32, u8),
    /// Ask them which of these chunks they hold, for what is wanted.
    Survey(u32, Vec<(ChunkId, Wanted)>),
    /// Ask them which of these chunks, which are released here, they hold, for what is wanted.
    Release(Vec<(ChunkId, Wanted)>),
    /// Put a chunk into the group again, on so many targets.
    PutAgain(Content, Wanted),
    /// Fetch a chunk, and put it into the group again on so many targets.
    Recover(ChunkId, Wanted),
    /// Wake its repair.
    WakeRepair(Time),
    /// It is open, or known not to open: it takes part from now on, or will never.
    Opened,
    /// Let it look after its disk.
    LookAtDisk(Time),
    /// It has failed, so that others are to make up for what it holds; or it is there again.
    Failed(bool),
}

/// Collects what is wanted; whoever tells a target something carries it out afterwards.
#[derive(Debug)]
pub struct Outbox {
    /// Between the machines.
    pub mail: VecDeque<Mail>,
    /// Of the targets.
    pub wants: Vec<(TargetId, Want)>,
    /// For the host.
    pub effects: Vec<Effect>,
    /// To other nodes.
    pub(crate) link: Option<Link>,
    /// Content that the targets here have written or read of late.
    pub(crate) cache: ContentCache,
}

impl Outbox {
    /// Nothing is wanted. Without a link all initiators are here. So many bytes of content are kept in memory.
    pub fn new(link: Option<Link>, cache_memory: u64) -> Outbox {
        Outbox {
            mail: VecDeque::new(),
            wants: Vec::new(),
            effects: Vec::new(),
            link,
            cache: ContentCache::new(cache_memory),
        }
    }

    /// A target says something to the initiator of a request.
    pub(crate) fn answer(&mut self, now: Time, message: Message) {
        let to = message.request().initiator;
        match &mut self.link {
            Some(link) if to.0 != link.node() => {
                link.tell_initiator(now, to.0, message, &mut self.effects);
            }
            _ => self.mail.push_back(Mail::ToInitiator(message)),
        }
    }
}

/// What is answered for a target that is not available, so that nobody waits for it.
pub(crate) fn answer_for(message: &Message, position: u8) -> Option<Message> {
    Some(match message {
        Message::PutRequest(asked) => Message::Bid(Bid {
            request: asked.request,
            round: asked.round,
            position,
            answer: BidAnswer::Unavailable,
        }),
        Message::GetRequest(asked) => Message::Offer(Offer {
            request: asked.request,
            round: asked.round,
            position,
            answer: OfferAnswer::Unavailable,
        }),
        _ => return None,
    })
}
