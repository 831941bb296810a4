//! The events of a fault simulation.

use slotcast_object::RowsOpId;
use slotcast_protocol::TargetId;
use slotcast_store::OpId;

use super::buckets::Use;

/// What can happen. What travels is a parcel, named by its slot.
#[derive(Debug, Clone, Copy)]
pub(super) enum Event {
    /// A datagram arrives at a node.
    Datagram { node: u32, parcel: u32 },
    /// The pieces of a transfer have left a node.
    Left { node: u32, incarnation: u32, transfer: u32 },
    /// A disk has carried something out.
    Disk { node: u32, target: TargetId, incarnation: u32, op: OpId },
    /// The rows of a target have carried something out.
    Rows { node: u32, target: TargetId, incarnation: u32, op: RowsOpId },
    /// The work of a target is done.
    Worked { node: u32, target: TargetId, incarnation: u32 },
    /// A node asked to be woken.
    Wake { node: u32, incarnation: u32 },
    /// A map that was written reaches a node.
    Map { node: u32, incarnation: u32, parcel: u32 },
    /// A node's proposal reaches the keeper of the map.
    Propose { parcel: u32 },
    /// A chunk of the catalogue is asked for, to see whether it is there.
    Check { chunk: u32 },
    /// A user wants something.
    Ask,
    /// A user puts a chunk of the catalogue that was put before; on as many targets as any user wants, or on some
    /// number.
    PutAgain { chunk: u32, on_most: bool },
    /// The network is fair from now on.
    Fair,
    /// A client wants something of a name.
    AskName,
    /// A client asks again what it was not answered.
    NameAgain { ask: u32 },
    /// A bucket is made, to be used and removed.
    MakeBucket,
    /// Something is done with such a bucket.
    UseBucket { bucket: u32, what: Use },
    /// A client goes on with an upload.
    UploadGoesOn { ask: u32 },
    /// A chunk is removed everywhere.
    Retire,
    /// A fault begins.
    Fault(Fault),
    /// A fault ends.
    Over { fault: Fault, of: u32, incarnation: u32 },
    /// What targets would offer is looked at.
    Look,
    /// A node is to leave.
    Drain { node: u32 },
    /// A node joins.
    Join,
}

/// What can go wrong, apart from the weather of the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Fault {
    Crash,
    Pause,
    Gone,
    Refused,
    Partition,
    Bit,
    LostWrite,
    Full,
    Slow,
    Failing,
    Stalled,
    Dying,
    Deaf,
    OtherLayout,
    Forget,
    RowsFailing,
    RowsStalled,
    RowsSlow,
}

impl slotcast_engine::Event for Event {
    fn trace_word(&self) -> u64 {
        let word = |kind: u64, a: u32, b: u32| kind << 58 ^ u64::from(a) << 32 ^ u64::from(b);
        match *self {
            Event::Datagram { node, parcel } => word(1, node, parcel),
            Event::Left { node, transfer, .. } => word(2, node, transfer),
            Event::Disk { node, target, op, .. } => word(3, node, target.0) ^ op.0 << 8,
            Event::Wake { node, incarnation } => word(4, node, incarnation),
            Event::Map { node, parcel, .. } => word(5, node, parcel),
            Event::Propose { parcel } => word(6, parcel, 0),
            Event::Check { chunk } => word(7, chunk, 0),
            Event::Ask => word(8, 0, 0),
            Event::Retire => word(9, 0, 0),
            Event::Fault(fault) => word(10, fault as u32, 0),
            Event::Over { fault, of, .. } => word(11, fault as u32, of),
            Event::Drain { node } => word(12, node, 0),
            Event::Join => word(13, 0, 0),
            Event::Look => word(14, 0, 0),
            Event::Fair => word(17, 0, 0),
            Event::PutAgain { chunk, .. } => word(16, chunk, 0),
            Event::Worked { node, target, .. } => word(15, node, target.0),
            Event::Rows { node, target, op, .. } => word(18, node, target.0) ^ op.0 << 8,
            Event::AskName => word(19, 0, 0),
            Event::NameAgain { ask } => word(20, ask, 0),
            Event::UploadGoesOn { ask } => word(21, ask, 0),
            Event::MakeBucket => word(22, 0, 0),
            Event::UseBucket { bucket, what } => word(23, bucket, what as u32),
        }
    }
}
