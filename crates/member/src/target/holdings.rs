//! What a target holds, as the machines see it that ask.

use core::ops::Bound;

use slotcast_protocol::ranges::RangeSum;
use slotcast_protocol::{ChunkId, Claim, Holdings, Inventory, Wanted};
use slotcast_store::Store;
use slotcast_units::{Rate, Size};

use super::releasing::Releasing;

fn size_in(store: &Store, chunk: &ChunkId) -> Option<Size> {
    store.length(chunk).map(|length| Size::from_bytes(u64::from(length)))
}

/// What a target holds, as its negotiator sees it.
pub(super) struct Shelf<'a>(pub(super) &'a Store, pub(super) &'a Releasing);

impl Holdings for Shelf<'_> {
    fn size_of(&self, chunk: &ChunkId) -> Option<Size> {
        size_in(self.0, chunk)
    }

    fn replicas_of(&self, chunk: &ChunkId) -> u8 {
        // What is being removed can be read, and does not count any more.
        self.0.replicas(chunk).filter(|_| !self.1.removes(chunk)).unwrap_or(0)
    }

    fn claim_of(&self, chunk: &ChunkId) -> Claim {
        self.0.claim(chunk).unwrap_or(Claim::Bare)
    }
}

/// The same, as its repair sees it.
pub(super) struct Stock<'a>(pub(super) &'a Store, pub(super) Rate);

impl Inventory for Stock<'_> {
    fn chunk_from(&self, from: Bound<ChunkId>) -> Option<ChunkId> {
        let (first, excluded) = match from {
            Bound::Unbounded => (ChunkId([0; 32]), None),
            Bound::Included(chunk) => (chunk, None),
            Bound::Excluded(chunk) => (chunk, Some(chunk)),
        };
        self.0.chunks(first).find(|chunk| excluded != Some(*chunk))
    }

    fn wanted(&self, chunk: &ChunkId) -> Option<Wanted> {
        self.0.wanted(chunk)
    }

    fn size(&self, chunk: &ChunkId) -> Option<Size> {
        size_in(self.0, chunk)
    }

    fn range_sum(&self, bits: u8, range: u32) -> RangeSum {
        self.0.range_sum(bits, range)
    }

    fn read_rate(&self) -> Rate {
        self.1
    }
}
