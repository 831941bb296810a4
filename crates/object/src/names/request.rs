//! What may be asked about names, what is answered, and how long that may take.

use slotcast_units::Span;

use super::{Guard, ListRequest, Listed, Roots, RootsRequest};
use crate::key::Key;
use crate::message::NameRecord;
use crate::object::Entry;
use crate::register::record::{Outcome, Request};

/// What somebody wants of names.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "each is there once, and most are changes")]
pub enum NameRequest {
    /// Change what a name says, as long as another one says what this relies on.
    Update(Key, Request<Entry>, Option<Guard>),
    /// Know what it says.
    Read(Key),
    /// Know what it says, so that no change takes effect any more that had the promises of voters before, unless it is seen.
    Fence(Key),
    /// Know which names there are.
    List(ListRequest),
    /// Know what it says, so that nothing takes effect any more that is not seen, but what begins later. All voters have to
    /// answer.
    Agree(Key),
    /// Know which content the registers of a group name.
    Roots(RootsRequest),
}

/// What comes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NameAnswer {
    /// Of a change.
    Changed(Outcome),
    /// What the register says; none if it says nothing.
    Says(Option<NameRecord>),
    /// Names.
    Listed(Listed),
    /// Content.
    Roots(Roots),
    /// It was not carried out, or nobody knows whether it was.
    Failed(NameFailure),
}

/// Why a request about a name has no better answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NameFailure {
    /// Too few voters answer. Nothing was changed.
    #[error("too few of those that keep this name answer; nothing was changed")]
    Unavailable,
    /// Whether the name was changed is not known, and may be decided later.
    #[error(
        "too few of those that keep this name answer: it may have been changed, and may still be"
    )]
    Unknown,
    /// Some content that is to be named is not stored any more. Nothing was changed.
    #[error("some of the content is not stored any more: put it again; nothing was changed")]
    Missing,
    /// What the change relied on does not hold. Nothing was changed.
    #[error("what this relied on was changed meanwhile; nothing was changed")]
    Overtaken,
}

/// How long is waited for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NameTimes {
    /// After which a voter that has not answered is asked again, at first; longer each time.
    pub patience: Span,
    /// For how long a request goes on of which nothing is heard.
    pub silence: Span,
    /// For how long it goes on at all.
    pub most: Span,
    /// After which another node is asked again which stores it has, while it is not known who votes.
    pub stores: Span,
    /// For how long a deletion is remembered at least, once it is seen that it is one: whoever asks again for what it
    /// asked before the deletion has the answer that it had then.
    pub deletions: Span,
}
