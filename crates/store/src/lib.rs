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
//!   so that the chunk can be replicated anew. (Rot that hits the note of a removal can bring the chunk
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
#![no_std]

extern crate alloc;

mod batch;
mod chunks;
mod compaction;
mod footer;
mod index;
mod opening;
mod record;
mod scan;
mod segments;
mod sequences;
mod store;
mod sums;
mod table;

use slotcast_disk::{content, io};

pub use content::Content;
pub use io::{DiskError, Op, OpId, Output, SegmentId};
pub use record::Identity;
pub use store::{
    Config, Effect, Input, ReadError, Statistics, Store, StoreStatus, Ticket, WriteError,
};
