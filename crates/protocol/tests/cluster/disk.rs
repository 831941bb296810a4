//! What a target of the test cluster stores, and for what.

use std::collections::BTreeMap;

use slotcast_protocol::{ChunkId, Claim, Holdings, Wanted};
use slotcast_units::{Size, Time};

#[derive(Debug, Default)]
pub struct Disk {
    pub chunks: BTreeMap<ChunkId, Size>,
    /// What is wanted of each, as far as that was said.
    pub wanted: BTreeMap<ChunkId, Wanted>,
    pub(super) free_at: Time,
}

impl Disk {
    /// What is wanted of `chunk` is on stable storage, if it was said. What was wanted before is not lowered.
    pub(super) fn is_stored_for(&mut self, chunk: ChunkId, wanted: Option<Wanted>) {
        if let Some(wanted) = wanted {
            let before = self.wanted.get(&chunk).copied();
            self.wanted.insert(chunk, before.map_or(wanted, |before| before.and(wanted)));
        }
    }
}

impl Holdings for &Disk {
    fn size_of(&self, chunk: &ChunkId) -> Option<Size> {
        self.chunks.get(chunk).copied()
    }

    fn replicas_of(&self, chunk: &ChunkId) -> u8 {
        self.wanted.get(chunk).map_or(8, |wanted| wanted.replicas)
    }

    fn claim_of(&self, chunk: &ChunkId) -> Claim {
        self.wanted.get(chunk).map_or(Claim::Bare, |wanted| wanted.claim)
    }
}
