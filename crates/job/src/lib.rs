//! Jobs, without IO: work on many objects that a cluster does by itself, and that goes on through the loss of any node.
//!
//! ```text
//!   text      what is to be done; never changes             register "text"
//!   state     running, paused, finished, verified, …        register "state"
//!   unit 0    the plan: makes units, page after page        registers "unit-…"
//!   unit n    a range of names: lease, token, cursor, counts
//! ```
//!
//! A job is a few registers of names, in a bucket of its own that no client can name, each changed by compare-and-swap. Any
//! node that finds a free unit takes it. Nobody hands out work, and no node is needed for a job to go on, neither the
//! one that was asked to start it.
//!
//! * [`JobText`] says what is to be done with which objects.
//! * [`StateRecord`] says how the job stands, [`UnitRecord`] how a unit does.
//! * [`Worker`] is a node's part in all jobs: `handle(now, input, &mut effects)`. It takes units, carries them out, and
//!   says when a job is finished, verified, or has failed.
//! * [`output`] is what lets each output be made once, however often it is tried.
//!
//! # Leases and tokens
//!
//! A unit has a holder, whose record changes at least every third of a lease. A worker takes the unit of another one when
//! *it has seen* the same record for a whole lease, by its own clock: clocks are never compared. Who is merely slow loses its
//! unit, and that harms nothing: its next swap finds another version, and reads another token. What it still has under way is
//! harmless, too, since outputs are conditional and have keys that follow from what they are made of ([`output`]).
//!
//! # What is counted
//!
//! Counts change in the same swap as the cursor. Objects are counted where they are listed or read; outputs where they were
//! made or seen. A job is *finished* when both agree for all units. It is *verified* when, after that, all that is selected was
//! listed once more and the output of each source version was found. An object that was changed meanwhile gets its output then.
//!
//! # Failures
//!
//! An object with which a job fails is recorded with the reason, and the unit goes on. At its end it is given up for another
//! node to try again. What has failed [`Rules::attempts`] times stays, and with it the job ends as failed.
#![no_std]

extern crate alloc;

mod glob;
mod id;
mod mistake;
pub mod output;
pub mod page;
mod record;
mod template;
mod text;
mod worker;

pub use glob::{Glob, is_glob};
pub use id::{JobId, Register, WorkerId};
#[doc(hidden)]
pub use mistake::Mistake;
pub use page::{Item, Page, Source};
pub use record::{
    Counts, Cursor, Failure, Lease, MAX_FAILURES, MAX_REASON, Order, Range, Stage, StateRecord,
    Status, UnitRecord, read, write,
};
pub use template::{MAX_NAMES, NoTemplate, Template};
pub use text::{Existing, JobText, Kind, MAX_TEXT, NoJob, Place, Selection, Transform};
pub use worker::{Answer, Ask, Effect, Input, Make, Note, Rules, TaskId, Totals, Worker, verdict};
