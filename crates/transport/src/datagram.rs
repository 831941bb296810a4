//! What a datagram says, and how it is written.
//!
//! Every number is unsigned and little-endian; nothing is padded. Header:
//!
//! | offset | size | field |
//! |---:|---:|---|
//! | 0 | 16 | seal: keyed hash of all that follows; of a piece its value stands for it |
//! | 16 | 2 | magic: the letters `SD` |
//! | 18 | 1 | version: 2 to 4 |
//! | 19 | 1 | kind of body: 1 to 10 |
//! | 20 | 4 | epoch: version of the sender's cluster map |
//! | 24 | 4 | sender: its node number |
//! | 28 | 8 | incarnation: when the sender started, nanoseconds since 1970 |
//! | 36 | 8 | sequence: counts all datagrams of this incarnation |
//! | 44 | 8 | sent at: time on the sender's clock |
//! | 52 | 8 | echo: the last `sent at` that came from the receiver; 0 for none |
//! | 60 | 4 | held: nanoseconds since that came |
//!
//! Of an encrypted datagram, the seal is the tag of AES-256-GCM over header and body, the body is encrypted, and to its kind
//! 128 is added, and 16 times the number of the key, modulo 8.
//!
//! | kind | body from offset 64 on |
//! |---|---|
//! | 1 clock | answer wanted: 0 or 1 (1); from version 3 on the lowest and the highest version that the sender speaks (1 each) and the layout of its map (8); groups whose multicast of the receiver is heard (4 each, at most 64). In version 2 the last group may be the two versions instead: ff ff, lowest, highest, from the most significant byte on |
//! | 2 probe | the group to whose multicast address it was sent (4) |
//! | 3 control | to: 1 group, 2 initiator (1); group (4); set of positions (8); the message in its wire form |
//! | 4 data | purpose: 1 put, 2 get, 3 letter (1); last of its pass: 0 or 1 (1); pass (1); transfer (4); piece (2); length of a piece (2); length of the chunk (4); slack in microseconds (4); request (8); group (4); set of positions (8); name of the chunk (32); the piece |
//! | 5 report | transfer (4); pass (1); number of pieces (2); the missing ones, a bit each |
//! | 6 failed | groups (4 each, at most 64) with the set of the sender's positions there that have failed (8 each) |
//! | 7 survey | number (4); group (4); about: 1 ranges, 2 chunks (1). Ranges: bits (1); first (4); count (1). Chunks: name (32) and number of replicas (1) of each, at most 32; from version 4 on 0x10 is added to the number where names want the chunk kept, and nobody else |
//! | 8 survey reply | number (4); group (4); position (1); says: 0 nothing that counts, 1 sums, 2 chunks (1). Sums: of each range (8). Chunks: a bit for each (4) |
//! | 9 letter | what two nodes say to each other about names, which this layer does not read. What does not fit is sent in pieces, as a chunk is |
//! | 10 short | from version 4 on: which incarnations of all nodes the sender knows, hashed (8); whether the sender knows how many chunks have too few replicas as far as its targets can know: 0 or 1 (1); how many (8) |

mod claims;
mod clock;
mod read;
mod survey;
mod write;

use alloc::borrow::Cow;
use alloc::vec::Vec;

use slotcast_protocol::wire::WireError;
use slotcast_protocol::{ChunkId, GroupId, Members, Message, PartValue, RequestId, is_part_len};
use slotcast_units::{Span, Time};

use crate::pieces::Pieces;
pub use clock::{
    Clock, MAX_VERSION, MIN_VERSION, TELLS_CLAIMS, TELLS_LAYOUT, TELLS_SHORT, Versions,
};
pub use survey::{
    MAX_SURVEYED_CHUNKS, MAX_SURVEYED_RANGES, Survey, SurveyAbout, SurveyReply, SurveySays,
};

const MAGIC: [u8; 2] = *b"SD";

/// Length of the header.
pub const HEADER_LEN: usize = 64;

/// Length of the seal, with which a datagram begins.
pub const SEAL_LEN: usize = crate::key::SEAL_LEN;

/// Where the header has the kind of the body.
pub const KIND_AT: usize = 19;

/// Which bits of that are the kind; the others are for whoever encrypts the body.
pub const KIND_BITS: u8 = 0x0f;

const DATA_LEN: usize = 71;

/// What a datagram with a piece of a chunk has beside the piece.
pub const DATA_OVERHEAD: usize = HEADER_LEN + DATA_LEN;

/// The most pieces of one chunk: a report of all of them fits into the smallest datagram.
pub const MAX_PIECES: u32 = 1 << 13;

/// The most groups that a datagram names.
pub const MAX_GROUPS: usize = 64;

const CLOCK: u8 = 1;
const PROBE: u8 = 2;
const CONTROL: u8 = 3;
const DATA: u8 = 4;
const REPORT: u8 = 5;
const FAILED: u8 = 6;
const SURVEY: u8 = 7;
const SURVEY_REPLY: u8 = 8;
const LETTER: u8 = 9;
const SHORT: u8 = 10;

const GROUP: u8 = 1;
const INITIATOR: u8 = 2;

const PUT: u8 = 1;
const GET: u8 = 2;
const PIECES_OF_LETTER: u8 = 3;

/// How long the pieces of a chunk are in datagrams of `datagram` bytes: as long as parts of a chunk can be
/// that fit; none if there is no room for any.
pub fn piece_len(datagram: usize) -> Option<u16> {
    let room = u16::try_from(datagram.checked_sub(DATA_OVERHEAD)?).unwrap_or(u16::MAX);
    let len = 1 << room.checked_ilog2()?;
    is_part_len(u32::from(len)).then_some(len)
}

/// Who sent a datagram, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// In which version the datagram is written, 2 to 4; that of a clock datagram may be a later one.
    pub version: u8,
    /// Version of the sender's cluster map.
    pub epoch: u32,
    /// The sender's node number.
    pub sender: u32,
    /// When the sender started, in nanoseconds since 1970: a later start has a higher one.
    pub incarnation: u64,
    /// Counts all datagrams of this incarnation.
    pub sequence: u64,
    /// When it was sent, on the sender's clock.
    pub sent_at: Time,
    /// The last stamp that came from the receiver, and for how long it was held.
    pub echo: Option<(Time, Span)>,
}

/// For whom a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Address {
    /// Members of a group that the receiving node has.
    Group(GroupId, Members),
    /// The initiator of the receiving node.
    Initiator,
}

/// What pieces are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Purpose {
    /// The chunk of a put.
    Put,
    /// The chunk that answers a get.
    Get,
    /// What a node says to another, where that is too long for a datagram. Its name is the hash of its content, as that
    /// of a chunk is.
    Letter,
}

/// One piece of a chunk, or of a letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Data<'a> {
    /// What it is of.
    pub purpose: Purpose,
    /// The sender awaits a report when this has arrived.
    pub is_last: bool,
    /// Counts the times that pieces were repeated.
    pub pass: u8,
    /// Counts the transfers of the sender's incarnation.
    pub transfer: u32,
    /// Which piece.
    pub piece: u16,
    /// How long every piece but the last one is.
    pub piece_len: u16,
    /// How long the chunk is.
    pub length: u32,
    /// How long to wait for a further piece before a report.
    pub slack: Span,
    /// For which request; of a letter, the sender and a count.
    pub request: RequestId,
    /// The negotiating group; 0 of a letter.
    pub group: GroupId,
    /// The members that it is for; with a get, the one from which it comes; none of a letter.
    pub members: Members,
    /// The chunk's name.
    pub name: ChunkId,
    /// The piece.
    pub bytes: &'a [u8],
    /// Its value as a part of the chunk.
    pub value: PartValue,
}

impl Data<'_> {
    /// The value of the piece that is `bytes`, number `piece` of pieces of `piece_len`.
    pub fn value_of(piece: u16, piece_len: u16, bytes: &[u8]) -> PartValue {
        PartValue::of(u64::from(piece) * u64::from(piece_len), bytes)
    }

    /// How many pieces the chunk has.
    pub fn count(&self) -> u32 {
        self.length.div_ceil(u32::from(self.piece_len))
    }
}

/// What a receiver lacks of a chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Of which of the sender's transfers.
    pub transfer: u32,
    /// The last pass that it has seen.
    pub pass: u8,
    /// The missing pieces; if none is missing, the chunk is there.
    pub missing: Pieces,
}

/// What a datagram says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body<'a> {
    /// The stamps in the header, and what nodes must agree on.
    Clock(Clock),
    /// Sent by multicast, to find out who hears it.
    Probe(GroupId),
    /// A message between machines.
    Control(Address, Message),
    /// A piece of a chunk.
    Data(Data<'a>),
    /// What is missing of a chunk.
    Report(Report),
    /// Of each of these groups, the members at the sender that have failed: they can be read at best, and nothing
    /// that they hold counts. Of groups that are not named nothing has changed.
    Failed(Vec<(GroupId, Members)>),
    /// Asks the members of a group at the receiver what they hold.
    Survey(Survey),
    /// The answer of one of them.
    SurveyReply(SurveyReply),
    /// What is said about names.
    Letter(Cow<'a, [u8]>),
    /// How many chunks have too few replicas.
    Short(Short),
}

/// How many chunks have too few replicas, as far as the targets of the sender can know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Short {
    /// Which incarnations of all nodes, in which epoch, the sender knows, hashed: what it says of others is of no use to a
    /// node that knows of a later one.
    pub view: u64,
    /// How many; none while it does not know.
    pub chunks: Option<u64>,
}

/// Why a datagram is not believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Not even a header.
    #[error("a datagram of {0} bytes has no room for the header of {HEADER_LEN}")]
    TooShort(usize),
    /// Somebody else's datagram.
    #[error("it is not a datagram of Slotcast")]
    Foreign,
    /// A sender of another version, and it does not say which ones it speaks.
    #[error("version {0} of datagrams is not known")]
    Version(u8),
    /// The seal is not that of this cluster's key.
    #[error("the seal is wrong: it was changed on the way, or sealed with another key")]
    Seal,
    /// An unknown kind of body.
    #[error("there is no body of kind {0}")]
    Kind(u8),
    /// The body is not of its kind.
    #[error("the body of kind {0} is malformed")]
    Body(u8),
    /// The message is malformed.
    #[error("the message is malformed: {0}")]
    Message(WireError),
}

/// A header and a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Datagram<'a> {
    /// Who sent it, and when.
    pub header: Header,
    /// What it says.
    pub body: Body<'a>,
}

#[cfg(test)]
mod tests;
