//! What the collection of garbage wants of the member around it.

use alloc::vec::Vec;

use slotcast_object::garbage::{GarbageMessage, LostList, WalkEffect};
use slotcast_object::{NameFailure, RootsRequest};
use slotcast_protocol::ChunkId;

/// What the collection wants of the member around it.
#[derive(Debug)]
pub(crate) enum GarbageEffect {
    /// Say this to a node, which may be this one.
    Say(u32, GarbageMessage),
    /// Fetch a list for a walk.
    Fetch(u64, ChunkId),
    /// Ask a voter what its registers name; with a number for the answer.
    Roots(u64, RootsRequest),
    /// Fetch a chunk for a walk, and put it again on so many targets.
    Restore(u64, ChunkId, u8),
    /// What a task of names names was touched when this round had begun; or it is not all stored.
    Touched(u64, Result<u64, NameFailure>),
    /// A list cannot be had: nothing is removed before that is mended.
    Lost(LostList),
}

/// What a walk wants.
pub(super) fn carry(walk: u64, effects: &mut Vec<WalkEffect>, to_do: &mut Vec<GarbageEffect>) {
    to_do.extend(effects.drain(..).map(|effect| match effect {
        WalkEffect::Fetch(list) => GarbageEffect::Fetch(walk, list),
        WalkEffect::Say(node, message) => GarbageEffect::Say(node, message),
        WalkEffect::Restore(chunk, replicas) => GarbageEffect::Restore(walk, chunk, replicas),
    }));
}
