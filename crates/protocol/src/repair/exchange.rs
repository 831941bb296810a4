//! What a repair is told, and what it wants.

use alloc::boxed::Box;
use alloc::vec::Vec;

use slotcast_units::Time;

use crate::claim::Wanted;
use crate::ids::ChunkId;

/// What a host tells of a repair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RepairInput {
    /// The target has opened, or a member of its group is gone or back: a scan begins, or another one
    /// after that which is under way.
    Changed,
    /// A held chunk turned out to be unreadable, and is not held any more. This was wanted of it.
    Lost(ChunkId, Wanted),
    /// The target drains, or stays after all.
    Draining(bool),
    /// A chunk was stored here.
    Stored,
    /// Somebody else was heard to put a chunk into the group, on so many targets with this claim.
    Heard(ChunkId, Wanted),
    /// What was asked for by a [`RepairEffect`] has ended.
    Ended(ChunkId, RepairOutcome),
    /// What the other members hold in the ranges that were asked about, as [`combined`](super::ranges::combined) says; none if
    /// somebody did not answer.
    Compared(Option<Box<[u64]>>),
    /// The members have answered to a [`RepairEffect::Survey`].
    Surveyed {
        /// Which survey.
        number: u32,
        /// Of each chunk, the first one in the least bit: whether it is on enough members.
        enough: u32,
        /// Of each chunk, in the same way: whether this target is not one of its [`keepers`](super::keepers).
        surplus: u32,
        /// Whose answers these are.
        answers: Answers,
    },
    /// What became of a [`RepairEffect::Release`]. Of each chunk, the first one in the least bit: whether that is
    /// settled, since it is removed, or is no surplus. Others are tried again later.
    Released {
        /// Which are.
        settled: u32,
    },
    /// The time that the machine asked to be woken at has come.
    Wake,
}

/// Who has answered to a survey.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answers {
    /// Every member that is not known to be down.
    All,
    /// Not every one of these. Whether a chunk is on too many is not known: another scan asks again before long.
    Some,
    /// Nobody was asked, and nothing is to be done for the others now: a member may soon be back.
    Awaited,
}

/// How the work for one chunk ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepairOutcome {
    /// There are enough replicas; or, of what was only to be read, it is readable.
    Complete,
    /// Of what was only asked about: there are too few, as far as the members answer.
    Lacking,
    /// There were too few, and now there are enough.
    Healed,
    /// There are still too few, or nobody knows.
    Failed,
    /// It is not to be had: not here, and for a recovery at no member of the group either.
    NotFound,
}

/// What a repair wants of its host. Each is to be answered, by [`RepairInput::Ended`] if nothing else is said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RepairEffect {
    /// Ask the other members what they hold in ranges of names of so many bits, from the first one on. Answered by
    /// [`RepairInput::Compared`].
    Compare {
        /// How many bits the names of a range have in common.
        bits: u8,
        /// The first range.
        first: u32,
        /// How many.
        count: u8,
    },
    /// Ask the other members which of these chunks they hold for so many replicas, with this claim or a higher one; at most 32. Answered by
    /// [`RepairInput::Surveyed`] of this number.
    Survey(u32, Vec<(ChunkId, Wanted)>),
    /// Remove these chunks, which are stored here for so many replicas with this claim, if the others suffice after all, as the
    /// documentation of [`keepers`](super::keepers) says; at most 32. Answered by [`RepairInput::Released`].
    Release(Vec<(ChunkId, Wanted)>),
    /// Ask the group whether the chunk is on as many targets as it is stored here for. It need not be read.
    Check(ChunkId),
    /// Read the chunk from the target's own disk, and put it into the group, on as many targets as it is
    /// stored here for.
    PutAgain(ChunkId),
    /// Read the chunk from the target's own disk; its hash is checked by that.
    Read(ChunkId),
    /// Get the chunk from the group, and put it into the group, on so many targets with this claim.
    Recover(ChunkId, Wanted),
    /// Say [`RepairInput::Wake`] at this time. Replaces an earlier wish. Not answered otherwise.
    WakeAt(Time),
}

/// Numbers for people, since the machine was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RepairStatistics {
    /// Scans that have ended.
    pub scans: u64,
    /// Chunks visited, each once in every scan.
    pub visited: u64,
    /// Scrubs that have ended.
    pub scrubs: u64,
    /// Chunks that scrubs have read, each once in every scrub.
    pub scrubbed: u64,
    /// Chunks found with too few replicas, and brought back.
    pub healed: u64,
    /// Unreadable chunks that were recovered from others; counted in `healed`, too.
    pub recovered: u64,
    /// Attempts that failed; a chunk can fail more than once.
    pub failed: u64,
    /// Chunks known at present to have too few replicas: they were found so and are not put again yet, or are
    /// lost and not yet recovered.
    pub under_replicated: u64,
    /// Of these, lost ones that nobody who answers holds, while others do not answer. They are tried again.
    pub unrecovered: u64,
    /// Chunks known at present to be stored on more targets than are wanted, and to be removed here.
    pub surplus: u64,
}
