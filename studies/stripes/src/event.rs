use slotcast_engine::Event;
use slotcast_stripe::Timer;

/// An event of the model; a `slot` is where what it is about is kept.
#[derive(Debug, Clone, Copy)]
pub(super) enum Happening {
    /// A client starts its next write.
    Start { client: u32 },
    /// An effect that had to wait for a calculation takes place.
    Leave { slot: u32 },
    /// A message on the network may have ended.
    LinkChange,
    /// A message arrives.
    Arrive { slot: u32 },
    /// The lock server has dealt with a message and acts on it.
    Serve { slot: u32 },
    /// A disk has written, or a read has ended.
    Disk { slot: u32 },
    /// A timer of a machine.
    Wake { machine: u32, timer: Timer },
}

impl Event for Happening {
    fn trace_word(&self) -> u64 {
        let (kind, of) = match *self {
            Happening::Start { client } => (0, client),
            Happening::Leave { slot } => (1, slot),
            Happening::LinkChange => (2, 0),
            Happening::Arrive { slot } => (3, slot),
            Happening::Serve { slot } => (4, slot),
            Happening::Disk { slot } => (5, slot),
            Happening::Wake { machine, .. } => (6, machine),
        };
        kind << 32 | u64::from(of)
    }
}
