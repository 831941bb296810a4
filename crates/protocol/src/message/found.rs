//! Where a chunk is: a question to its group that reserves nothing.

use slotcast_units::Size;

use crate::ids::{ChunkId, GroupId, RequestId};

/// Asks a negotiating group which of its members hold a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FindRequest {
    /// The request.
    pub request: RequestId,
    /// The group that is asked.
    pub group: GroupId,
    /// The chunk's name.
    pub chunk: ChunkId,
}

/// Answers a find request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FindReply {
    /// The request.
    pub request: RequestId,
    /// The target's position in the group.
    pub position: u8,
    /// What it found.
    pub answer: FindAnswer,
}

/// Whether a target holds a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FindAnswer {
    /// It is here, on stable storage.
    Held {
        /// The size of the chunk.
        size: Size,
        /// Targets that are to hold it, as it was stored here, 1 to [`super::MAX_REPLICAS`].
        replicas: u8,
    },
    /// It is not here.
    NotHeld,
}
