//! Stripes.
#![no_std]

extern crate alloc;
// The checks are also part of an example, which knows this crate by its name.
#[cfg(test)]
extern crate self as slotcast_stripe;

mod code;
mod content;
pub mod coordinated;
mod lineage;
pub mod locked;
mod machine;
#[cfg(test)]
mod mistake;

pub use code::{Code, CodeError};
pub use content::{Bytes, Content};
pub use lineage::{Birth, ClientId, Lineage, RequestId, Stamp, Vector};
pub use machine::{Effect, Failure, Input, Load, Mark, Operation, Outcome, Peer, Timer};

#[cfg(test)]
#[path = "../tests/check/mod.rs"]
mod check;
