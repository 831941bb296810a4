//! What is stored.

use bytes::Bytes;
use slotcast_protocol::ChunkId;
use slotcast_store::Content;

use crate::Outcome;

/// Chunks of one size.
pub(crate) struct Workload {
    pub(crate) label: &'static str,
    pub(crate) remark: &'static str,
    pub(crate) chunks: u64,
    /// Length of their content in bytes; it begins with the number of the chunk.
    pub(crate) length: usize,
    /// Whether databases write the content, too, as a target beside them would.
    pub(crate) with_content: bool,
    /// Chunks that share a flush.
    pub(crate) batch: usize,
}

pub(crate) const WORKLOADS: [Workload; 2] = [
    Workload {
        label: "10GiB",
        remark: "128 KiB each, content written and flushed before its entry",
        chunks: 81_920,
        length: 128 << 10,
        with_content: true,
        batch: 16,
    },
    Workload {
        label: "1M",
        remark: "entries alone; the segments hold content of 8 bytes as well",
        chunks: 1_000_000,
        length: 8,
        with_content: false,
        batch: 64,
    },
];

impl Workload {
    pub(crate) fn content(&self, number: u64) -> Content {
        let mut bytes = vec![0xa5; self.length];
        bytes[..8].copy_from_slice(&number.to_le_bytes());
        Content::of(Bytes::from(bytes))
    }

    pub(crate) fn name(&self, number: u64) -> ChunkId {
        self.content(number).chunk()
    }
}

/// What is compared.
pub(crate) trait Index {
    /// Stores all chunks durably.
    fn insert(&mut self, workload: &Workload) -> Outcome<()>;
    fn holds(&self, chunk: &ChunkId) -> Outcome<bool>;
    /// Batches that were flushed.
    fn commits(&self) -> u64;
}
