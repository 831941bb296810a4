//! The interface between a chunk store and its disk, as values.
//!
//! A store asks for operations ([`io::Op`]), and a host that has a disk reports for each an [`io::Output`] or
//! an [`io::DiskError`]. The crate carries nothing out: it is what a store and a disk agree on, so that
//! neither has to know the other.
//!
//! ```text
//!    slotcast-store ---- (OpId, Op) ----> slotcast-node    files of a folder, threads, flushes
//!         ^                               slotcast-faults  a simulated disk, for tests and fault simulations
//!         +---- (OpId, Result<Output, DiskError>) ----+
//! ```
//!
//! * [`io::SegmentId`] names a segment, a file that only the store gives a meaning to.
//! * [`io::Op`] lists, creates, writes, cuts, reads and deletes segments. Its documentation says when an
//!   operation counts as done: a write, when it is on stable storage.
//! * [`content::Content`] is the bytes of a chunk together with the BLAKE3 hash that is the chunk's name. The
//!   hash is computed where the content is made, so content that has changed on a disk is found when it is
//!   read.
//!
//! ```
//! use bytes::Bytes;
//! use slotcast_disk::content::Content;
//! use slotcast_disk::io::{DiskError, Op, Output, SegmentId};
//!
//! /// A disk with one segment, in memory.
//! fn carry_out(disk: &[u8], op: &Op) -> Result<Output, DiskError> {
//!     match *op {
//!         Op::List => Ok(Output::Segments(vec![SegmentId(0)])),
//!         Op::ReadContent { segment: SegmentId(0), offset, length } => {
//!             let (from, length) = (offset as usize, length as usize);
//!             let bytes = disk.get(from..from + length).ok_or(DiskError::Failed)?;
//!             Ok(Output::Content(Content::of(Bytes::copy_from_slice(bytes))))
//!         }
//!         _ => Err(DiskError::ReadOnly),
//!     }
//! }
//!
//! let written = Content::of(Bytes::from_static(b"a chunk"));
//! let read = Op::ReadContent { segment: SegmentId(0), offset: 0, length: 7 };
//! assert_eq!(carry_out(b"a chunk", &read), Ok(Output::Content(written.clone())));
//!
//! // A bit has changed on the disk: the content has another name than what was written.
//! let Ok(Output::Content(rotten)) = carry_out(b"a chunj", &read) else { panic!("it is read") };
//! assert_ne!(rotten.chunk(), written.chunk());
//! ```
//!
//! Operations that were asked for may be carried out in any order and side by side: the store asks for one
//! only after those that must come before it are done. Errors have four kinds, by what a store can do about
//! them ([`io::DiskError`]); what the system said in words is for the log of the host.
#![no_std]

extern crate alloc;

pub mod content;
pub mod io;
