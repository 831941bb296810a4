//! Stripes with parity: units of data on one server each, and units that are sums of them on others, so that
//! any loss of as many servers as there are parity units can be made good.
//!
//! Whoever changes a data unit must change the parity units with it, and two who change different units of
//! one stripe conflict there. Two modes settle that, as in "Overcoming write penalties of conflicting client
//! operations in distributed storage systems" (2012):
//!
//! * [`locked`]: a client locks the stripe at a metadata server, reads, computes, and writes data and parity.
//! * [`coordinated`]: a client sends its unit to the data server, and data and parity servers settle the
//!   order among themselves. A lost client leaves nothing to clean up.
//!
//! Both are sets of state machines of one shape. A machine takes an [`Input`] with the time, and appends to a
//! list what is to be done ([`Effect`]): messages, reads and writes of stable storage, a time to be woken at,
//! the end of an operation. It has no clock, thread, socket or randomness; a host carries out the effects.
//! Messages may be lost, repeated and overtaken. Writes to stable storage become durable one by one in the
//! order in which they were asked for, whole or not at all.
//!
//! ```
//! use slotcast_stripe::coordinated::{Client, ClientConfig, Effect, Message};
//! use slotcast_stripe::{Bytes, ClientId, Code, Input, Operation, Peer};
//! use slotcast_units::{Span, Time};
//!
//! let mut client = Client::<Bytes>::new(ClientConfig {
//!     id: ClientId(7),
//!     code: Code::new(8, 1)?,
//!     unit_len: 4,
//!     retry: Span::from_ms(50),
//!     max_retries: None,
//!     rebuild_after: Some(3),
//! });
//! let mut effects = Vec::new();
//! let operation = Operation::Write { unit: 2, content: Bytes::from(vec![1, 2, 3, 4]) };
//! client.handle(Time::ZERO, Input::Start(operation), &mut effects);
//! let sent = &effects[0];
//! assert!(matches!(sent, Effect::Send { to: Peer::Data(2), message: Message::Ask { .. } }));
//! # Ok::<(), slotcast_stripe::CodeError>(())
//! ```
//!
//! What holds in both modes, as long as no more servers are lost at a time than there are parity units:
//!
//! * An acknowledged write is there. A write takes effect once, however often its messages arrive.
//! * A read never returns an older content than one that was read or acknowledged before it began.
//! * When nothing is under way, parity is that of the data.
//!
//! The stripe-lock mode has one exception: a client that dies in an update while a server is lost may cost
//! data; the lock server says so ([`Effect::Lost`]).
//!
//! The rules are checked by visiting all states of small stripes, and by random histories of larger ones:
//! `cargo run --release -p slotcast-stripe --example faults -- --seeds 10000`. `docs/simulate/stripes.md`
//! has the messages, the states, and what follows from each failure.
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
