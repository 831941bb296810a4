//! The events of a storm.

use slotcast_store::OpId;

/// What can happen. What travels is a parcel, named by its slot.
#[derive(Debug, Clone, Copy)]
pub(super) enum Event {
    /// A message or a chunk arrives at a target.
    ToTarget { target: u32, parcel: u32 },
    /// A message or a chunk arrives at an initiator.
    ToInitiator { initiator: u32, parcel: u32 },
    /// A chunk has left a target.
    Sent { target: u32, parcel: u32, life: u32 },
    /// A chunk of the catalogue is asked for, to see whether it is there.
    Check { chunk: u32 },
    /// A disk has carried something out.
    Disk { target: u32, life: u32, op: OpId },
    /// An initiator asked to be woken.
    WakeInitiator { initiator: u32, life: u32 },
    /// The repair of a target asked to be woken.
    WakeRepair { target: u32, life: u32 },
    /// A user wants something.
    Ask,
    /// A chunk is removed everywhere.
    Retire,
    /// A fault begins.
    Fault(Fault),
    /// A fault ends.
    Over { fault: Fault, of: u32, life: u32 },
    /// A target is to leave.
    Drain { target: u32 },
    /// The others notice that a target is gone, or back.
    Noticed { target: u32, life: u32 },
}

/// What can go wrong, apart from the weather of the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Fault {
    Crash,
    Gone,
    Partition,
    Bit,
    LostWrite,
    Full,
    Slow,
    Failing,
    Restart,
    Forget,
}

impl slotcast_engine::Event for Event {
    fn trace_word(&self) -> u64 {
        let word = |kind: u64, a: u32, b: u32| kind << 58 ^ u64::from(a) << 32 ^ u64::from(b);
        match *self {
            Event::ToTarget { target, parcel } => word(1, target, parcel),
            Event::ToInitiator { initiator, parcel } => word(2, initiator, parcel),
            Event::Sent { target, parcel, .. } => word(3, target, parcel),
            Event::Check { chunk } => word(4, chunk, 0),
            Event::Disk { target, life, op } => word(5, target, life) ^ op.0 << 8,
            Event::WakeInitiator { initiator, life } => word(6, initiator, life),
            Event::WakeRepair { target, life } => word(7, target, life),
            Event::Ask => word(8, 0, 0),
            Event::Retire => word(9, 0, 0),
            Event::Fault(fault) => word(10, fault as u32, 0),
            Event::Over { fault, of, .. } => word(11, fault as u32, of),
            Event::Noticed { target, life } => word(12, target, life),
            Event::Drain { target } => word(13, target, 0),
        }
    }
}
