//! What is kept of each initiator and each target, and what travels between them.

use std::collections::BTreeMap;
use std::ops::Bound;

use slotcast_faults::SimulatedDisk;
use slotcast_protocol::{ChunkId, Initiator, Inventory, Message, Repair, RequestId};
use slotcast_store::{Content, Standing, StoringTarget};
use slotcast_units::Size;

use super::drain::Leaving;
use super::windows::Accepted;

/// Why a chunk is put or fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A user wants it.
    User,
    /// To see whether the cluster keeps its word: it must succeed.
    Check,
    /// A target puts again what it holds.
    PutAgain,
    /// A target asks whether there are enough replicas of what it holds.
    Ask,
    /// A target fetches, and puts, what it has lost.
    Recover,
}

#[derive(Debug, Clone)]
pub(super) enum Kind {
    /// Whether a replica had to be made.
    Put { content: Content, made: bool },
    /// Nothing is sent: only the answers count.
    Question(Size),
    /// What has come, and whether the chunk had been acknowledged when it was asked for.
    Get { content: Option<Content>, must_be_there: bool },
}

/// A request under way.
#[derive(Debug, Clone)]
pub(super) struct Running {
    pub(super) chunk: ChunkId,
    /// On how many targets it is put, or to be put when it has come.
    pub(super) replicas: u8,
    pub(super) purpose: Purpose,
    pub(super) kind: Kind,
}

/// One initiator: of users, or of the repair of a target.
#[derive(Debug)]
pub(super) struct InitiatorHost {
    pub(super) machine: Initiator,
    pub(super) running: BTreeMap<RequestId, Running>,
    /// Counts restarts.
    pub(super) life: u32,
}

/// One target with its disk.
#[derive(Debug)]
pub(super) struct TargetHost {
    /// None while it is down.
    pub(super) machine: Option<StoringTarget>,
    pub(super) disk: SimulatedDisk,
    pub(super) repair: Repair,
    /// What its repair is reading, and whether to put it then.
    pub(super) reading: BTreeMap<ChunkId, bool>,
    pub(super) accepted: Accepted,
    /// Counts crashes and starts.
    pub(super) life: u32,
    /// How many times slower than usual the disk is.
    pub(super) slowness: u64,
    /// It may have lost replicas since the last heal.
    pub(super) harmed: bool,
    /// What it held when it last stopped: all of that must be there when it starts, but for what was harmed.
    pub(super) held: Vec<ChunkId>,
    /// It is gone and never comes back.
    pub(super) dark: bool,
    /// Whether it was told to leave, and what it says of that.
    pub(super) leaving: Leaving,
    /// The others know that it is gone.
    pub(super) known_gone: bool,
}

impl TargetHost {
    /// All that is stored here.
    pub(super) fn chunks(&self) -> Vec<ChunkId> {
        let mut chunks = Vec::new();
        let mut next = Bound::Unbounded;
        while let Some(chunk) = self.machine.as_ref().and_then(|m| m.chunk_from(next)) {
            chunks.push(chunk);
            next = Bound::Excluded(chunk);
        }
        chunks
    }

    /// Whether its store knows what it holds.
    pub(super) fn is_open(&self) -> bool {
        let standing = self.machine.as_ref().map(StoringTarget::standing);
        matches!(standing, Some(Standing::Open | Standing::Full | Standing::ReadOnly(_)))
    }

    /// Whether it has no room for puts, and is well otherwise.
    pub(super) fn is_full(&self) -> bool {
        self.machine.as_ref().is_some_and(|machine| machine.standing() == Standing::Full)
    }

    /// Whether it does all that a target does.
    pub(super) fn is_well(&self) -> bool {
        let standing = self.machine.as_ref().map(StoringTarget::standing);
        matches!(standing, Some(Standing::Open | Standing::Opening))
    }
}

/// What travels, or waits for its time.
#[derive(Debug, Clone)]
pub(super) enum Parcel {
    Message(Message),
    Chunk(RequestId, Content),
    Damaged(RequestId, ChunkId),
    Request(RequestId),
}

/// Parcels under way, named by their slots.
#[derive(Debug, Default)]
pub(super) struct Parcels {
    slots: Vec<Option<Parcel>>,
    free: Vec<u32>,
}

impl Parcels {
    pub(super) fn send(&mut self, parcel: Parcel) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = Some(parcel);
            return slot;
        }
        self.slots.push(Some(parcel));
        u32::try_from(self.slots.len() - 1).expect("counted in u32")
    }

    pub(super) fn take(&mut self, slot: u32) -> Parcel {
        self.free.push(slot);
        self.slots[slot as usize].take().expect("each parcel arrives once")
    }
}
