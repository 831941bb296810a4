//! Records of what a machine heard and did, to be played to another one: a machine that is told the same at
//! the same times does the same, whoever hosts it.

use alloc::vec::Vec;

use slotcast_units::{Rate, Size, Time};

use crate::claim::{Claim, Wanted};
use crate::group::Members;
use crate::ids::{ChunkId, GroupId, RequestId};
use crate::initiator::{InitiatorEffect, InitiatorInput};
use crate::message::Message;
use crate::target::{TargetEffect, TargetInput};

/// One input of a machine, and what it did about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry<H, E> {
    /// When.
    pub now: Time,
    /// What it was told.
    pub heard: H,
    /// What it wanted to be done.
    pub did: Vec<E>,
}

/// An entry of a target.
pub type TargetEntry = Entry<TargetHeard, TargetEffect>;

/// An entry of an initiator.
pub type InitiatorEntry = Entry<InitiatorHeard, InitiatorEffect>;

/// A [`TargetInput`] that is kept.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(missing_docs, reason = "the same fields as there")]
pub enum TargetHeard {
    /// A message arrived.
    Message(Message),
    /// A chunk arrived.
    Received { request: RequestId, chunk: ChunkId, size: Size, intact: bool },
    /// A write ended.
    Written { request: RequestId, stable: bool },
    /// A read ended.
    Read { request: RequestId, intact: bool },
    /// A transfer has left.
    Sent { request: RequestId },
    /// The disks were measured.
    DiskRate { rate: Rate, queue_limit: Size },
    /// See [`TargetInput::ReadRate`].
    ReadRate(Rate),
    /// The link was measured.
    LinkRate(Rate),
}

impl From<TargetInput<'_>> for TargetHeard {
    fn from(input: TargetInput<'_>) -> TargetHeard {
        match input {
            TargetInput::Message(message) => TargetHeard::Message(*message),
            TargetInput::Received { request, chunk, size, intact } => {
                TargetHeard::Received { request, chunk, size, intact }
            }
            TargetInput::Written { request, stable } => TargetHeard::Written { request, stable },
            TargetInput::Read { request, intact } => TargetHeard::Read { request, intact },
            TargetInput::Sent { request } => TargetHeard::Sent { request },
            TargetInput::DiskRate { rate, queue_limit } => {
                TargetHeard::DiskRate { rate, queue_limit }
            }
            TargetInput::ReadRate(rate) => TargetHeard::ReadRate(rate),
            TargetInput::LinkRate(rate) => TargetHeard::LinkRate(rate),
        }
    }
}

impl TargetHeard {
    /// As it is told to a target.
    pub fn input(&self) -> TargetInput<'_> {
        match *self {
            TargetHeard::Message(ref message) => TargetInput::Message(message),
            TargetHeard::Received { request, chunk, size, intact } => {
                TargetInput::Received { request, chunk, size, intact }
            }
            TargetHeard::Written { request, stable } => TargetInput::Written { request, stable },
            TargetHeard::Read { request, intact } => TargetInput::Read { request, intact },
            TargetHeard::Sent { request } => TargetInput::Sent { request },
            TargetHeard::DiskRate { rate, queue_limit } => {
                TargetInput::DiskRate { rate, queue_limit }
            }
            TargetHeard::ReadRate(rate) => TargetInput::ReadRate(rate),
            TargetHeard::LinkRate(rate) => TargetInput::LinkRate(rate),
        }
    }
}

/// What an initiator is told: requests of its user, and its inputs.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(missing_docs, reason = "the same fields as in `InitiatorInput`")]
pub enum InitiatorHeard {
    /// Put this chunk on so many targets, or on as many as the rules say, with this claim.
    Put(ChunkId, Size, (Option<u8>, Claim)),
    /// Put this chunk again, which was on so many targets with this claim.
    PutAgain(ChunkId, Size, Wanted),
    /// Ask whether this chunk is on so many targets with this claim.
    Check(ChunkId, Size, Wanted),
    /// Get this chunk.
    Get(ChunkId),
    /// A message arrived.
    Message(Message),
    /// The time to wake has come.
    Wake,
    /// A chunk arrived for a get.
    Delivered { request: RequestId, intact: bool },
    /// All of the chunk of a put has come to members.
    Reached { request: RequestId, members: Members },
    /// Members of a group are not heard any more.
    Unavailable { group: GroupId, members: Members },
    /// Members of a group have started anew.
    Restarted { group: GroupId, members: Members },
}

impl From<InitiatorInput<'_>> for InitiatorHeard {
    fn from(input: InitiatorInput<'_>) -> InitiatorHeard {
        match input {
            InitiatorInput::Message(message) => InitiatorHeard::Message(*message),
            InitiatorInput::Wake => InitiatorHeard::Wake,
            InitiatorInput::Delivered { request, intact } => {
                InitiatorHeard::Delivered { request, intact }
            }
            InitiatorInput::Reached { request, members } => {
                InitiatorHeard::Reached { request, members }
            }
            InitiatorInput::Unavailable { group, members } => {
                InitiatorHeard::Unavailable { group, members }
            }
            InitiatorInput::Restarted { group, members } => {
                InitiatorHeard::Restarted { group, members }
            }
        }
    }
}
