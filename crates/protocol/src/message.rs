//! What initiators and targets say to each other.
//!
//! Times in messages are on the sender's clock; a host whose clocks differ translates them before
//! the machine sees them.

mod found;
mod proxied;

use core::ops::Deref;

use slotcast_units::{Size, Span};

use crate::claim::{Claim, Wanted};
use crate::group::Members;
use crate::ids::{ChunkId, GroupId, RequestId};
use crate::timing::Delivery;
use crate::window::Window;
use slotcast_units::Time;

pub use found::{FindAnswer, FindReply, FindRequest};
pub use proxied::{
    MAX_TAKEN, Occasion, ProxyAnswer, ProxyNotice, ProxyQuery, ProxyReply, ProxyReport,
    ProxyRequest, Taken,
};

/// The most replicas that one message can grant.
pub const MAX_REPLICAS: usize = 8;

/// A control message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message {
    /// Initiator to group: when could you take this chunk?
    PutRequest(PutRequest),
    /// Target to initiator: the answer to a put request.
    Bid(Bid),
    /// Initiator to group: the chosen targets; everybody else's bid is cancelled.
    PutAccept(PutAccept),
    /// Target to initiator: the fate of one replica.
    ReplicaAck(ReplicaAck),
    /// Initiator to group: who has this chunk, and when could you send it?
    GetRequest(GetRequest),
    /// Target to initiator: the answer to a get request.
    Offer(Offer),
    /// Initiator to group: the chosen target; everybody else's offer is cancelled.
    GetAccept(GetAccept),
    /// Target to initiator: an accepted get cannot be delivered.
    Undelivered(Undelivered),
    /// Target to initiator: a window that was bid, or accepted, is not to be had any more.
    LateReject(LateReject),
    /// Initiator to proxy: find a window for this chunk, and accept it for me.
    ProxyRequest(ProxyRequest),
    /// Proxy to initiator: the answer to a proxied request.
    ProxyReply(ProxyReply),
    /// Proxy to members: what has been accepted for them.
    ProxyNotice(ProxyNotice),
    /// Proxy to members: what have you promised?
    ProxyQuery(ProxyQuery),
    /// Member to proxy: what it has promised, and when its disk is done.
    ProxyReport(ProxyReport),
    /// Finder to group: who has this chunk? Nothing is reserved.
    FindRequest(FindRequest),
    /// Target to finder: the answer to a find request.
    FindReply(FindReply),
}

/// Asks a negotiating group for windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PutRequest {
    /// The request.
    pub request: RequestId,
    /// Counts the rounds of asking of this request; a later round replaces an earlier one.
    pub round: u8,
    /// The group that is asked.
    pub group: GroupId,
    /// Members that need not answer: chosen already, holding the chunk, or failed.
    pub skip: Members,
    /// The chunk's name.
    pub chunk: ChunkId,
    /// Its size.
    pub size: Size,
    /// The initiator cannot send before this time.
    pub not_before: Time,
    /// Targets that are to hold the chunk, 1 to [`MAX_REPLICAS`], however many of them do already: whoever
    /// stores it keeps this number with it.
    pub replicas: u8,
    /// Who wants it kept; stored with it, too.
    pub claim: Claim,
}

impl PutRequest {
    /// What a target stores with the chunk.
    pub fn wanted(&self) -> Wanted {
        Wanted { replicas: self.replicas, claim: self.claim }
    }
}

/// Answers a put request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bid {
    /// The request.
    pub request: RequestId,
    /// The round that is answered.
    pub round: u8,
    /// The target's position in the group.
    pub position: u8,
    /// What it offers.
    pub answer: BidAnswer,
}

/// What a target offers for a put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BidAnswer {
    /// Link and disk are tentatively reserved.
    Window {
        /// The reserved window.
        window: Window,
        /// How long the target's disk would be busy with what it has been given and with what has been
        /// accepted and is still to come; of several disks, the one that would be done first. It promises
        /// nothing: initiators only compare it ([`crate::selection::Ties`]). An addition to the paper's bid.
        backlog: Span,
    },
    /// The chunk is here already, for at least as many replicas and with at least this claim, and counts as one.
    AlreadyStored,
    /// The chunk is here already, for fewer replicas or with a lower claim. What is wanted is being put on stable
    /// storage, and a [`ReplicaAck`] follows; nothing is to be sent. Also said of a chunk that came for the same request and
    /// is being written.
    Raising,
    /// No reservation can be made; it is worth asking again after this long.
    NotNow {
        /// How long to wait.
        retry_after: Span,
    },
    /// The target cannot be used at present: it is not open, or it failed, or its node is not heard. Whether it
    /// holds the chunk is not known.
    Unavailable,
    /// The chunk is not here, for so many replicas and with this claim, and there is no room for it.
    Full,
}

/// A window granted to one member of the group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant {
    /// The member's position.
    pub position: u8,
    /// The accepted window, inside the one that it bid.
    pub window: Window,
}

/// Up to [`MAX_REPLICAS`] grants, in place.
#[derive(Clone, Copy)]
pub struct Grants {
    len: u8,
    items: [Grant; MAX_REPLICAS],
}

impl Grants {
    /// No grants: everything is cancelled.
    pub const NONE: Grants = Grants {
        len: 0,
        items: [Grant { position: 0, window: Window { start: Time::ZERO, end: Time::ZERO } };
            MAX_REPLICAS],
    };

    /// Adds one.
    ///
    /// # Panics
    /// If there are [`MAX_REPLICAS`] already.
    pub fn push(&mut self, grant: Grant) {
        self.items[usize::from(self.len)] = grant;
        self.len += 1;
    }

    /// The grant of the member at `position`.
    pub fn of(&self, position: u8) -> Option<Grant> {
        self.iter().find(|grant| grant.position == position).copied()
    }

    /// The members that have a grant.
    pub fn members(&self) -> Members {
        let mut members = Members::NONE;
        self.iter().for_each(|grant| members.insert(grant.position));
        members
    }
}

impl Deref for Grants {
    type Target = [Grant];
    fn deref(&self) -> &[Grant] {
        &self.items[..usize::from(self.len)]
    }
}

impl PartialEq for Grants {
    fn eq(&self, other: &Grants) -> bool {
        self[..] == other[..]
    }
}

impl Eq for Grants {}

impl core::fmt::Debug for Grants {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl FromIterator<Grant> for Grants {
    fn from_iter<I: IntoIterator<Item = Grant>>(grants: I) -> Grants {
        let mut all = Grants::NONE;
        grants.into_iter().for_each(|grant| all.push(grant));
        all
    }
}

/// Ends a round of asking: who is chosen, and by that who is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PutAccept {
    /// The request.
    pub request: RequestId,
    /// The round that ends.
    pub round: u8,
    /// How the payload will come.
    pub delivery: Delivery,
    /// The chosen members; empty cancels all bids of the round.
    pub grants: Grants,
}

/// What became of one replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplicaAck {
    /// The request.
    pub request: RequestId,
    /// The target's position in the group.
    pub position: u8,
    /// The outcome.
    pub outcome: AckOutcome,
}

/// The outcome of a transfer to one target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AckOutcome {
    /// The chunk is on stable storage, and its content is what its name says.
    Stored,
    /// There was no reservation for it any more.
    NoReservation,
    /// The content does not match the name.
    Damaged,
    /// The disk failed to write it.
    DiskFailed,
}

/// Asks a negotiating group for a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GetRequest {
    /// The request.
    pub request: RequestId,
    /// Counts the rounds of asking of this request.
    pub round: u8,
    /// The group that is asked.
    pub group: GroupId,
    /// Members that need not answer: they failed before.
    pub skip: Members,
    /// The chunk's name.
    pub chunk: ChunkId,
    /// The initiator cannot receive before this time.
    pub not_before: Time,
}

/// Answers a get request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offer {
    /// The request.
    pub request: RequestId,
    /// The round that is answered.
    pub round: u8,
    /// The target's position in the group.
    pub position: u8,
    /// What it offers.
    pub answer: OfferAnswer,
}

/// What a target offers for a get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfferAnswer {
    /// It can send the chunk in this window.
    Window {
        /// The window.
        window: Window,
        /// The size of the chunk.
        size: Size,
    },
    /// It does not hold the chunk.
    NotHeld,
    /// It holds the chunk, but no reservation can be made.
    NotNow {
        /// How long to wait.
        retry_after: Span,
    },
    /// As [`BidAnswer::Unavailable`].
    Unavailable,
}

/// Ends a round of asking for a get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GetAccept {
    /// The request.
    pub request: RequestId,
    /// The round that ends.
    pub round: u8,
    /// The chosen member; none cancels all offers of the round.
    pub grant: Option<Grant>,
}

/// Tells that an accepted get failed at the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Undelivered {
    /// The request.
    pub request: RequestId,
    /// The target's position in the group.
    pub position: u8,
}

/// Takes a bid back: another initiator had the same window, and its acceptance came first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LateReject {
    /// The request.
    pub request: RequestId,
    /// The round of the bid.
    pub round: u8,
    /// The target's position in the group.
    pub position: u8,
}

impl Message {
    /// The request that the message belongs to.
    pub fn request(&self) -> RequestId {
        match self {
            Message::PutRequest(m) => m.request,
            Message::Bid(m) => m.request,
            Message::PutAccept(m) => m.request,
            Message::ReplicaAck(m) => m.request,
            Message::GetRequest(m) => m.request,
            Message::Offer(m) => m.request,
            Message::GetAccept(m) => m.request,
            Message::Undelivered(m) => m.request,
            Message::LateReject(m) => m.request,
            Message::ProxyRequest(m) => m.request,
            Message::ProxyReply(m) => m.request,
            Message::ProxyNotice(m) => m.request,
            Message::ProxyQuery(m) => m.request,
            Message::ProxyReport(m) => m.request,
            Message::FindRequest(m) => m.request,
            Message::FindReply(m) => m.request,
        }
    }

    /// The message's name, as in traces.
    pub fn name(&self) -> &'static str {
        match self {
            Message::PutRequest(_) => "put-request",
            Message::Bid(_) => "bid",
            Message::PutAccept(_) => "put-accept",
            Message::ReplicaAck(_) => "replica-ack",
            Message::GetRequest(_) => "get-request",
            Message::Offer(_) => "offer",
            Message::GetAccept(_) => "get-accept",
            Message::Undelivered(_) => "undelivered",
            Message::LateReject(_) => "late-reject",
            Message::ProxyRequest(_) => "proxy-request",
            Message::ProxyReply(_) => "proxy-reply",
            Message::ProxyNotice(_) => "proxy-notice",
            Message::ProxyQuery(_) => "proxy-query",
            Message::ProxyReport(_) => "proxy-report",
            Message::FindRequest(_) => "find-request",
            Message::FindReply(_) => "find-reply",
        }
    }
}
