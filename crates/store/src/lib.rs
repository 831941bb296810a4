//! The chunk store of one target, without IO.
//!
//! Chunks are appended to *segments*, files of one size. What waits is written together, in one
//! *batch*, and acknowledged when the disk says that the batch is on stable storage; so one flush
//! serves many puts. The index is kept in memory and rebuilt when the store is opened: a full segment
//! ends with a list of what it holds, and only one that was not yet full has to be read.
//!
//! [`Store`] is a state machine as those of the protocol are: inputs go in, [`Effect`]s come out, among
//! them the disk operations that its host is to carry out ([`Op`]), whose results come back as inputs.
//! The node runs it on files, the simulator on disks that tear, lose and rot what was written.
//!
//! # What it promises
//!
//! * A put is reported as stored, and a chunk as removed, only after the disk has confirmed a flush
//!   of the record that says so.
//! * After a crash at any moment, with any part of what was not flushed on the disk or not, every
//!   stored chunk is there, and none that was removed.
//! * A put is reported as stored only when the number of replicas on record is at least the wanted one.
//! * Content is given out only if its hash is its name. A record that fails is given up and reported,
//!   so that the chunk can be replicated anew; a removal says so on the disk, or the next start would count it
//!   again. (Rot that hits the note of a removal can bring the chunk
//!   back, with the right content.)
//! * A batch begins at a block of its own: no block with acknowledged data is ever written again.
//!
//! # Layout of a segment
//!
//! ```text
//! 0                                                                                segment size
//! | batch, padded to 4096 | batch, padded | … free …         | footer entries … | trailer 64 B |
//!   record: header 64 B, content, padding to 64
//! ```
//!
//! A header, and the entry of a footer, say on how many targets the chunk is wanted; 0 stands for the
//! cluster's number, whatever that is when it is read. A put of a stored chunk with a higher number writes the
//! chunk anew, and what was there before is void; one with a lower number changes nothing.
//!
//! Headers and trailers carry a check keyed with the identity of the store, so that content which
//! looks like a record is never taken for one.
//!
//! # A put on a disk that loses its power
//!
//! ```
//! use slotcast_faults::SimulatedDisk;
//! use slotcast_protocol::Claim;
//! use slotcast_store::{Config, Content, Effect, Identity, Input, Store, Ticket};
//!
//! /// Carries out what the store asks of the disk until there is no more, and returns what it found.
//! fn run(store: &mut Store, disk: &mut SimulatedDisk, mut effects: Vec<Effect>) -> Vec<Effect> {
//!     let mut found = Vec::new();
//!     loop {
//!         for effect in effects.drain(..) {
//!             match effect {
//!                 Effect::Disk(id, op) => disk.ask(id, op),
//!                 // What takes long is done elsewhere, beside the disk.
//!                 Effect::Work => {}
//!                 other => found.push(other),
//!             }
//!         }
//!         if let Some(work) = store.take_work() {
//!             store.handle(Input::Worked(work.run()), &mut effects);
//!         } else if let Some((id, result)) = disk.step() {
//!             store.handle(Input::Disk(id, result), &mut effects);
//!         } else {
//!             return found;
//!         }
//!     }
//! }
//!
//! let config = Config { segment_size: 64 << 10, ..Config::new(Identity([7; 32])) };
//! let mut disk = SimulatedDisk::new(1);
//! let mut effects = Vec::new();
//! let mut store = Store::open(config, &mut effects);
//! assert_eq!(run(&mut store, &mut disk, effects), [Effect::Opened]);
//!
//! let content = Content::of("to be kept".into());
//! let mut effects = Vec::new();
//! store.handle(Input::Put(Ticket(1), content.clone(), None, Claim::Bare), &mut effects);
//! let stored = Effect::Stored { ticket: Ticket(1), already: false };
//! assert_eq!(run(&mut store, &mut disk, effects), [stored]);
//!
//! // What was not flushed is gone. What was reported as stored had been flushed before.
//! disk.crash();
//! let mut effects = Vec::new();
//! let mut store = Store::open(config, &mut effects);
//! run(&mut store, &mut disk, effects);
//! assert!(store.holds(&content.chunk()));
//! ```
#![no_std]

extern crate alloc;

mod batch;
mod chunks;
mod compaction;
mod footer;
mod index;
mod opening;
mod record;
mod recovery;
mod rows;
mod scan;
mod segments;
mod store;
mod sums;
mod table;
mod voids;

use slotcast_disk::{content, io};

pub use content::Content;
pub use io::{DiskError, Op, OpId, Output, SegmentId};
pub use record::Identity;
pub use recovery::{Work, Worked};
pub use store::{
    Config, Effect, Input, ReadError, Statistics, Store, StoreStatus, Ticket, WriteError,
};
