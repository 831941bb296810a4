//! The events of a Lustre file system.

use slotcast_engine::Event;

/// What happens at one time. Numbers are those of clients, OSTs, disks, RPCs and messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LustreEvent {
    /// A client begins its job, or reads what all have written.
    Begin { client: u32 },
    /// A client's pause is over.
    Resume { client: u32 },
    /// The first byte of a long message comes to the switch.
    Flow { message: u32 },
    /// The last byte of a message comes to the switch.
    Arrive { message: u32 },
    /// A message is handled.
    Deliver { message: u32 },
    /// The blocks of a piece of an RPC are known.
    Mapped { rpc: u32 },
    /// An elevator's delay is over.
    Unplug { disk: u32 },
    /// A disk has finished a request.
    Disk { disk: u32 },
    /// A piece has gone into or come out of the cache.
    Cached { rpc: u32 },
    /// The scheduler may give something now.
    Wake { ost: u32 },
    /// Early replies are due.
    Early { ost: u32 },
}

impl Event for LustreEvent {
    fn trace_word(&self) -> u64 {
        let (kind, number) = match *self {
            LustreEvent::Begin { client } => (1, client),
            LustreEvent::Resume { client } => (2, client),
            LustreEvent::Flow { message } => (3, message),
            LustreEvent::Arrive { message } => (4, message),
            LustreEvent::Deliver { message } => (5, message),
            LustreEvent::Mapped { rpc } => (6, rpc),
            LustreEvent::Unplug { disk } => (7, disk),
            LustreEvent::Disk { disk } => (8, disk),
            LustreEvent::Cached { rpc } => (9, rpc),
            LustreEvent::Wake { ost } => (10, ost),
            LustreEvent::Early { ost } => (11, ost),
        };
        kind << 32 | u64::from(number)
    }
}
