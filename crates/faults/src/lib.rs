//! Simulated devices that fail as real ones do: a disk that forgets what was not flushed, tears and
//! rots what it has written, and whose operations of any kind fail or hang when told
//! ([`DiskFaults`]).
//!
//! They are pure as the machines that they are there to test: all that happens to them follows from
//! a seed and from what their user asks. The fault simulation of the whole store has them, and the
//! tests of its parts.
#![no_std]

extern crate alloc;

mod disk;
mod disk_faults;
mod harm;

pub use disk::SimulatedDisk;
pub use disk_faults::{DiskFaults, Hang, OpFaults, Transient};
