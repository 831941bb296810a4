//! The collection of garbage: chunks that no object version names any more.
//!
//! A chunk that was put for names is garbage when nothing names it, and nobody who has found it stored is about to. Nobody
//! counts references, and no clock decides. Instead there are *rounds*, one after the other, the number of which is in the
//! cluster map ([`Collection`](crate::Collection)); whoever begins one *conducts* it:
//!
//! ```text
//!  Open(R) ----> all nodes          from now on each keeps which chunks are touched; uploads under way are touched again
//!  the map says R                   nobody began to use R as a stamp before
//!  Began(R) ---> all nodes          whoever was not started anew meanwhile knows all that was touched since R began
//!  Roots ------> all voters         each knows of R when it answers; where they differ about a register they are made to agree
//!  Mark -------> nodes of the chunk's group, and of all that lists list
//!  Sweep ------> all nodes          removes what was put for names, is not marked, and was not touched in R or R - 1
//! ```
//!
//! * A chunk is *touched* by a put that asks for it, by one who found it stored and answers so to repair, and before a name
//!   takes over content that was stored for another (a copy, an upload of many chunks).
//! * A change that names content carries the round that its node knew of before it began to store or touch it. A voter that
//!   knows of round R accepts none from before R - 1 ([`Stamp::upload`](crate::Stamp)).
//!
//! # Why nothing is removed that is named
//!
//! Take a register of which the voters have answered in round R.
//!
//! * All have accepted the same ballot. Each refuses what is older, and whoever has prepared anything later has seen it.
//! * They have accepted different ones. Then the register is read once more: every voter promises, and what any of them has
//!   accepted last is chosen. (To mark all that they have accepted would not do: what one voter holds may be written to
//!   another that has answered before, be overwritten where it was, and be chosen after all.)
//!
//! So what it says is marked, and nothing else that was accepted before can take effect. What follows names content with a stamp
//! of R - 1 or R. That was touched after all nodes had opened this round, and no node that knows of all that was touched in
//! R - 1 and R removes it. A node that was started anew does not know, and sits out until it has opened two rounds.
//!
//! Whoever does not answer stops the round: nothing is removed while anybody is missing.

mod filter;
mod message;
mod walk;

pub use crate::acceptor::deleted::is_deleted;
pub use crate::acceptor::roots::roots_of;
pub use filter::Filter;
pub use message::{Chunks, GarbageMessage, MAX_WAVE, Mark, Root, Swept, WaveId};
pub use walk::{LostList, Walk, WalkEffect, WalkKind};
