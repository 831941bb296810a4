//! The interface between a chunk store and its disk, as values: the store asks for an [`io::Op`],
//! and whoever has the disk reports a [`Result`] of [`io::Output`] or [`io::DiskError`].
//!
//! `slotcast-store` asks; `slotcast-node` carries operations out on files, and `slotcast-faults` on a simulated
//! disk. None of these needs to know another.
#![no_std]

extern crate alloc;

pub mod content;
pub mod io;
