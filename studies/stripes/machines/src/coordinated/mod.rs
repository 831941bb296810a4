//! The coordinated mode: data and parity servers settle conflicting updates among themselves.
//!
//! ```text
//! client        data server i              parity servers
//!   |-- Ask -------->|                            |        "I have new content"
//!   |<------- Ready -|   (fetches the old unit)   |
//!   |== Write ======>|                            |
//!   |                |== Delta =================> |        new + old; both write to their disks
//!   |                |<---------------- Prepared -|
//!   |<----- Written -|-- Commit ----------------> |        the parity server merges its log
//! ```
//!
//! * A data server orders the updates of its unit, one at a time, and gives each a [`Stamp`]. It keeps
//!   the version before as long as an update is under way.
//! * A parity server takes deltas of all units in any order: they are sums, and sums commute. What it has
//!   in its log is not yet in its content; [`Commit`](Message::Commit), or the next delta of the same
//!   unit, says that it may be merged. Merging is the critical section, and it holds no message.
//! * An update is committed when the data server has the new content on stable storage and every parity
//!   server has the delta on stable storage. Nobody needs to write that down: whoever restarts asks the
//!   others.
//!
//! `docs/simulate/stripes.md` has the messages, the states, and what follows from each failure.
//!
//! [`Stamp`]: crate::Stamp

mod client;
mod data;
mod disk;
mod gather;
mod message;
mod parity;

use alloc::vec::Vec;

pub use client::{Client, ClientConfig};
pub use data::{DataConfig, DataServer};
pub use disk::{Disk, LogEntry, Record, Write};
pub use message::{Image, Message, Slot, Surrender, Want};
pub use parity::{ParityConfig, ParityServer};

use crate::machine::{self, Peer};

/// What a host tells a machine of the coordinated mode.
pub type Input<C> = machine::Input<Message<C>, Record<C>, C>;

/// What a machine of the coordinated mode wants of its host.
pub type Effect<C> = machine::Effect<Message<C>, Write<C>, C>;

fn send<C>(effects: &mut Vec<Effect<C>>, to: Peer, message: Message<C>) {
    effects.push(Effect::Send { to, message });
}
