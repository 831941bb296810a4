//! The stripe-lock mode: a client locks the stripe at a metadata server, and does the rest itself.
//!
//! ```text
//! client                lock server      data server i       parity servers
//!   |-- Acquire ----------->|                 |                     |
//!   |<---------- Granted ---|                 |                     |
//!   |-- Read ---------------------------------------------------->  |     what it does not have
//!   |<====================================================== Unit --|
//!   |== Write ===============================>|                     |     at the same time
//!   |== Write ====================================================> |
//!   |<----------------------------- Stored ---|------------ Stored -|
//!   |-- Release ----------->|                 |                     |
//! ```
//!
//! * A holding of the lock has a *token*; later ones have greater tokens. Servers take no write with a
//!   smaller token than the last, so a client that is too slow does no harm (a fencing token).
//! * A lease ends a holding whose client is silent. The lock server then *seals* the stripe: all servers
//!   promise to take no older write, and tell what they have. If parity does not fit the data it is
//!   computed anew, before anybody gets the lock.
//! * Every unit has its lineage with it, so that a write which was made but not acknowledged is found by
//!   its client, and not made again.
//!
//! `docs/simulate/stripes.md` has the messages, the states, and what follows from each failure.

mod client;
mod disk;
mod lock;
mod message;
mod recovery;
mod unit;

use alloc::vec::Vec;

pub use client::{Client, ClientConfig};
pub use disk::{Disk, Record, Write};
pub use lock::{LockConfig, LockServer};
pub use message::Message;
pub use unit::{UnitConfig, UnitServer};

use crate::machine::{self, Peer};

/// What a host tells a machine of the stripe-lock mode.
pub type Input<C> = machine::Input<Message<C>, Record<C>, C>;

/// What a machine of the stripe-lock mode wants of its host.
pub type Effect<C> = machine::Effect<Message<C>, Write<C>, C>;

fn send<C>(effects: &mut Vec<Effect<C>>, to: Peer, message: Message<C>) {
    effects.push(Effect::Send { to, message });
}
