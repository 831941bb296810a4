//! What nodes say to each other about the collection of garbage.

use alloc::vec::Vec;

use minicbor::{Decode, Encode};
use slotcast_protocol::ChunkId;

use crate::address::Address;
use crate::code;
use crate::object::{Body, Entry};
use crate::roster::Collection;

/// The most chunks of one message.
pub const MAX_WAVE: usize = 512;

/// Content that a register names, and does not hold itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct Root {
    /// The chunk.
    #[n(0)]
    #[cbor(with = "crate::code::chunk")]
    pub chunk: ChunkId,
    /// Whether it is a list of others.
    #[n(1)]
    pub is_list: bool,
}

impl Root {
    /// What this names.
    pub fn of(entry: &Entry) -> Option<Root> {
        match entry.object()?.body {
            Body::Inline(..) => None,
            Body::Chunk(chunk) => Some(Root { chunk, is_list: false }),
            Body::List(chunk) => Some(Root { chunk, is_list: true }),
        }
    }
}

impl From<Address> for Root {
    fn from(address: Address) -> Root {
        Root { chunk: address.chunk(), is_list: matches!(address, Address::List(_)) }
    }
}

/// One wave of a walk: which, and by whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct WaveId {
    /// The walk of the asker.
    #[n(0)]
    pub walk: u64,
    /// Counts its waves.
    #[n(1)]
    pub wave: u32,
}

/// What one node says to another.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum GarbageMessage {
    /// Whoever is to remove garbage in this round keeps from now on which chunks are touched.
    #[n(0)]
    Open(#[n(0)] u64),
    /// The latest round that was opened, by this incarnation of the sender; all its uploads under way have been touched in
    /// that round or the one before.
    #[n(1)]
    Opened(#[n(0)] u64, #[n(1)] u64),
    /// The round has begun. This incarnation had opened it before, and so knows all that is touched in it.
    #[n(2)]
    Began(#[n(0)] Collection, #[n(1)] u64),
    /// It has heard so.
    #[n(3)]
    Begun(#[n(0)] u64),
    /// These chunks are not to be removed for two rounds. Which of them are here?
    #[n(4)]
    Touch(#[n(0)] WaveId, #[n(1)] Chunks),
    /// They are touched. Two bytes for each: in how many failure domains it is stored here, and on how many targets it is
    /// wanted.
    #[n(5)]
    Touched(
        #[n(0)] WaveId,
        #[n(1)]
        #[cbor(with = "minicbor::bytes")]
        Vec<u8>,
    ),
    /// These chunks are named, as whoever began this round has found.
    #[n(6)]
    Mark(#[n(0)] Mark, #[n(1)] Chunks),
    /// They are kept.
    #[n(7)]
    Marked(#[n(0)] WaveId),
    /// All that is named was marked: so many waves. What is neither marked nor touched is to be removed.
    #[n(8)]
    Sweep(#[n(0)] Mark),
    /// What came of it.
    #[n(9)]
    Swept(#[n(0)] u64, #[n(1)] Swept),
}

/// A wave of marks, or how many there were.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct Mark {
    /// In which round.
    #[n(0)]
    pub round: u64,
    /// Who began the round.
    #[n(1)]
    pub by: u64,
    /// Which wave; of a sweep, how many the receiver was sent.
    #[n(2)]
    pub wave: WaveId,
}

/// How far a node is with a sweep.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct Swept {
    /// Replicas removed.
    #[n(0)]
    pub removed: u64,
    /// Bytes of their content.
    #[n(1)]
    pub bytes: u64,
    /// It has looked at all that it holds.
    #[n(2)]
    pub is_done: bool,
    /// It removes nothing in this round: it does not know of all that was touched.
    #[n(3)]
    pub sits_out: bool,
    /// Chunks looked at.
    #[n(4)]
    pub seen: u64,
}

/// Chunks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Chunks(pub Vec<ChunkId>);

impl<C> Encode<C> for Chunks {
    fn encode<W: minicbor::encode::Write>(
        &self,
        e: &mut minicbor::Encoder<W>,
        _: &mut C,
    ) -> Result<(), minicbor::encode::Error<W::Error>> {
        let all: Vec<u8> = self.0.iter().flat_map(|chunk| chunk.0).collect();
        e.bytes(&all)?.ok()
    }
}

impl<'b, C> Decode<'b, C> for Chunks {
    fn decode(d: &mut minicbor::Decoder<'b>, _: &mut C) -> Result<Chunks, minicbor::decode::Error> {
        let (chunks, rest) = d.bytes()?.as_chunks::<32>();
        match rest.is_empty() && chunks.len() <= MAX_WAVE {
            true => Ok(Chunks(chunks.iter().map(|bytes| ChunkId(*bytes)).collect())),
            false => Err(minicbor::decode::Error::message("not as many names as a wave has")),
        }
    }
}

impl GarbageMessage {
    /// In bytes.
    pub fn encode(&self) -> Vec<u8> {
        code::encode(self)
    }
}
