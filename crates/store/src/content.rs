//! Content whose name is known to be right.

use core::fmt;

use bytes::Bytes;
use slotcast_protocol::ChunkId;

/// The content of a chunk together with its hash. Cheap to clone.
#[derive(Clone, PartialEq, Eq)]
pub struct Content {
    chunk: ChunkId,
    bytes: Bytes,
}

impl Content {
    /// Hashes `bytes` with BLAKE3: O(length), some GB/s.
    pub fn of(bytes: Bytes) -> Content {
        let chunk = ChunkId(*blake3::hash(&bytes).as_bytes());
        Content { chunk, bytes }
    }

    /// The same, if the hash is `chunk`.
    pub fn checked(chunk: ChunkId, bytes: Bytes) -> Option<Content> {
        Some(Content::of(bytes)).filter(|content| content.chunk == chunk)
    }

    /// The chunk's name.
    pub fn chunk(&self) -> ChunkId {
        self.chunk
    }

    /// The bytes.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Content({}, {} bytes)", self.chunk, self.bytes.len())
    }
}
