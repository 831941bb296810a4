//! What an onlooker sees of a run while it goes on.

use core::fmt;

use slotcast_units::Time;

use crate::observation::Observation;

/// Where an event happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// An initiator, by number.
    Initiator(u32),
    /// A target, by number.
    Target(u32),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Initiator(n) => f.pad(&format!("i{n}")),
            Place::Target(n) => f.pad(&format!("t{n}")),
        }
    }
}

/// One executed event, as a line of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceLine {
    /// When.
    pub at: Time,
    /// The event's sequence number: with the time it gives the exact order.
    pub sequence: u64,
    /// Where.
    pub place: Place,
    /// What, in one word: `put-request`, `bid`, `written`, ...
    pub kind: &'static str,
    /// The request that it belongs to, as `initiator.serial`; empty if none.
    pub request: String,
    /// Kind-specific rest, for instance a window; may be empty.
    pub detail: String,
}

/// Something that watches a run. It sees nothing that it does not ask for, and changes nothing.
pub trait Observer {
    /// Whether [`Observer::event`] wants lines: making them costs time.
    fn wants_events(&self) -> bool {
        false
    }

    /// One executed event.
    fn event(&mut self, _line: TraceLine) {}

    /// Whether [`Observer::observe`] wants observations: making them costs time. Asked once, before
    /// the run.
    fn wants_observations(&self) -> bool {
        false
    }

    /// One thing that happened.
    fn observe(&mut self, _observation: Observation) {}

    /// Called about a hundred times per run with the time that has been reached.
    fn progress(&mut self, _reached: Time) {}
}

/// Watches nothing.
pub struct Unobserved;

impl Observer for Unobserved {}
