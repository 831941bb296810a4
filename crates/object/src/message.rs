//! What nodes say to each other about names.

use alloc::string::String;
use alloc::vec::Vec;

use minicbor::{Decode, Encode};
use slotcast_protocol::TargetId;

use crate::code;
use crate::garbage::{GarbageMessage, Root};
use crate::key::{Key, Name, SlotId};
use crate::object::Entry;
use crate::register::ballot::Ballot;
use crate::register::fence::{Fenced, Stamp};
use crate::register::record::{Record, Version};
use crate::register::row::{Ask, Reply, Tag};
use crate::register::voters::Voter;

/// The most rows of a page.
pub const MAX_PAGE: u32 = 1000;

/// The register of a name, as its voters hold it.
pub type NameRecord = Record<Entry>;

/// To whom an answer goes: a request of a node, and which of its questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub struct Asker {
    /// Numbers what the node has under way.
    #[n(0)]
    pub id: u64,
    /// Of which attempt.
    #[n(1)]
    pub tag: Tag,
}

/// A question to a voter.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct VoterQuestion {
    /// To whom.
    #[n(0)]
    pub to: Voter,
    /// For the answer.
    #[n(1)]
    pub asker: Asker,
    /// What the asker knows of the cluster map.
    #[n(2)]
    pub stamp: Stamp,
    /// What is asked.
    #[n(3)]
    pub about: About,
}

/// What a voter is asked.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum About {
    /// About one register.
    #[n(0)]
    Register(#[n(0)] Key, #[n(1)] Ask<NameRecord>),
    /// Which names there are in a slot.
    #[n(1)]
    Page(#[n(0)] PageAsk),
    /// Which registers it keeps.
    #[n(2)]
    Keys(#[n(0)] KeysAsk),
    /// Which content its registers name.
    #[n(3)]
    Roots(#[n(0)] KeysAsk),
    /// Which registers say nothing any more, or have only promised something. (An earlier program does not know this
    /// question; it is asked of a voter of the same node.)
    #[n(4)]
    Deleted(#[n(0)] KeysAsk),
}

/// Which registers are asked for, of all slots, in order of their keys.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct KeysAsk {
    /// From this key on, as on storage.
    #[n(0)]
    #[cbor(with = "minicbor::bytes")]
    pub from: Vec<u8>,
    /// At most so many, 1 to [`MAX_PAGE`], and those that it is writing.
    #[n(1)]
    pub limit: u32,
}

/// Which rows of a slot are asked for, in order of their names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct PageAsk {
    /// The slot.
    #[n(0)]
    pub slot: SlotId,
    /// Where it begins.
    #[n(1)]
    pub from: From,
    /// Only names that begin so.
    #[n(2)]
    pub prefix: String,
    /// At most so many rows, 1 to [`MAX_PAGE`].
    #[n(3)]
    pub limit: u32,
    /// All versions of a name, not only the latest.
    #[n(4)]
    pub versions: bool,
    /// It is to be said of which rows a later ballot was promised than the one in which something was accepted.
    #[n(5)]
    #[cbor(default)]
    pub promises: bool,
}

/// Where a page begins.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub enum From {
    /// With the first name.
    #[n(0)]
    Start,
    /// After this name.
    #[n(1)]
    After(#[n(0)] Name),
    /// With the first name that is not less than this text, which need not be a name.
    #[n(2)]
    At(#[n(0)] String),
}

/// What a voter says.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct VoterAnswer {
    /// Who.
    #[n(0)]
    pub from: Voter,
    /// To what.
    #[n(1)]
    pub asker: Asker,
    /// What.
    #[n(2)]
    pub says: Says,
}

/// What a voter says of a register, or of a slot.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum Says {
    /// Of a register.
    #[n(0)]
    Register(#[n(0)] Reply<NameRecord>),
    /// Rows.
    #[n(1)]
    Page(#[n(0)] PageRows),
    /// It does not believe whoever asks for a page.
    #[n(2)]
    Fenced(#[n(0)] Fenced),
    /// Keys.
    #[n(3)]
    Keys(#[n(0)] KeysPage),
    /// Content.
    #[n(4)]
    Roots(#[n(0)] RootsPage),
}

/// Which registers a voter keeps: all of which it has accepted something before it was asked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode)]
pub struct KeysPage {
    /// Their keys, in no order.
    #[n(0)]
    pub keys: Vec<Key>,
    /// It has looked at all before this key on storage; at all there are, without one.
    #[n(1)]
    #[cbor(with = "minicbor::bytes")]
    pub next: Option<Vec<u8>>,
}

/// Which content the registers of a voter name: all that it has accepted before it was asked, whether a majority has or not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode)]
pub struct RootsPage {
    /// In no order.
    #[n(0)]
    pub rows: Vec<RootsRow>,
    /// As in [`KeysPage`].
    #[n(1)]
    #[cbor(with = "minicbor::bytes")]
    pub next: Option<Vec<u8>>,
}

/// What one register names, as a voter has accepted it.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct RootsRow {
    /// Which.
    #[n(0)]
    pub key: Key,
    /// In which ballot this was accepted.
    #[n(1)]
    pub ballot: Ballot,
    /// Content of all versions.
    #[n(2)]
    pub roots: Vec<Root>,
}

/// Rows of one voter, in order of their names.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct PageRows {
    /// The rows of which something was accepted; those of which something was promised, too, where that was asked for.
    #[n(0)]
    pub rows: Vec<PageRow>,
    /// The voter has looked at all names up to this one; at all there are, without one.
    #[n(1)]
    pub up_to: Option<Name>,
    /// It was asked for promises, and says them. (An earlier program does not.)
    #[n(2)]
    #[cbor(default)]
    pub promises: bool,
}

/// One row of a page.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct PageRow {
    /// The name.
    #[n(0)]
    pub name: Name,
    /// In which ballot this was accepted.
    #[n(1)]
    pub ballot: Ballot,
    /// The versions, newest first; only the first, unless all were asked for. None of a tombstone. Content that is in
    /// the register is left out.
    #[n(2)]
    pub versions: Vec<Version<Entry>>,
    /// A later ballot was promised: something may be accepted soon. Said only where that was asked for.
    #[n(3)]
    #[cbor(default)]
    pub is_promised: bool,
}

/// What one node says to another.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum Message {
    /// A question to a voter of the receiver.
    #[n(0)]
    Question(#[n(0)] VoterQuestion),
    /// An answer to a question of the receiver.
    #[n(1)]
    Answer(#[n(0)] VoterAnswer),
    /// Which stores the receiver has for names?
    #[n(2)]
    WhichStores,
    /// The targets of the sender, each with the store that it has for names.
    #[n(3)]
    Stores(#[n(0)] Vec<Store>),
    /// About the collection of garbage.
    #[n(4)]
    Garbage(#[n(0)] GarbageMessage),
}

/// A store for names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub struct Store {
    /// Of which target.
    #[n(0)]
    #[cbor(with = "crate::code::target")]
    pub target: TargetId,
    /// Its identity; none if it has failed.
    #[n(1)]
    pub store: Option<u64>,
}

impl Message {
    /// In bytes.
    pub fn encode(&self) -> Vec<u8> {
        code::encode(self)
    }

    /// What these bytes say, if that is a message.
    pub fn decode(bytes: &[u8]) -> Option<Message> {
        code::decode(bytes)
    }
}
