//! A file system for tests that loses what was not flushed when its power fails.
//!
//! `kill -9` leaves the page cache, so a program that never calls `fsync` survives it. This file system is kept
//! in memory, mounted through FUSE, and knows of every sector, file length and directory entry what is on stable
//! storage and what is not. The program under test is the real binary and opens real files.
//!
//! ```text
//!  program ── open, write, fsync ──> kernel ── /dev/fuse ──> filesystem   replies, errors, stalls
//!                                                                │
//!                        faults   Rule: operations, path, effect ┤         pure
//!                        volume   files and folders, losses      ┘         pure
//! ```
//!
//! ```no_run
//! use std::path::Path;
//! use slotcast_lossy::{Effect, Error, LossyDisk, Operation, Rule};
//!
//! # fn main() -> std::io::Result<()> {
//! let mut disk = LossyDisk::mount(Path::new("/mnt/lossy"))?;
//! let rule = disk.inject(Rule::new(&[Operation::Flush], "target-000/*", Effect::Fail(Error::Io)));
//! // The program under test works on /mnt/lossy.
//! disk.withdraw(rule);
//! disk.cut_power();
//! // Kill the program: from here on it gets EIO and changes nothing.
//! let loss = disk.restore_power(7)?;
//! println!("{loss:?}");
//! # Ok(())
//! # }
//! ```
//!
//! # What a power failure leaves
//!
//! * What a file held at its last `fsync` or `fdatasync` is there.
//! * Of every sector of 512 bytes that was written since, one of the contents that it had since, or the flushed one; so a
//!   write may be there in part, and a later one without an earlier one. Of the length of a file likewise.
//! * Of the creations, renames and deletions since the last `fsync` of their folder any subset. A rename is one
//!   change. The `fsync` of a file flushes no name.
//! * Everything that the kernel had cached is gone: the file system is mounted anew.
//!
//! Equal calls with equal seeds lose the same.
//!
//! # What differs from a real disk
//!
//! * There is no page cache (`FOPEN_DIRECT_IO`): every `read` and `write` is a request, and `mmap` for writing
//!   is refused. The kernel splits requests at 1 MiB.
//! * With `O_DIRECT`, offsets and lengths must be multiples of 512, as on disks; the address in memory is not
//!   known here and not checked.
//! * An error changes nothing. A real disk may have done some of what it says has failed.
//! * A flush holds for all writes that were answered before it; a disk that reorders writes among each other is
//!   what the subset of sectors stands for.
//! * Names survive less than on journaling file systems, which keep the order of changes: a program that relies on
//!   no more than POSIX says must bear it.
//! * No owners, modes, times, links or extended attributes are kept. Locks are those of the kernel.
//!
//! Linux only: on other systems this crate is empty. It needs `/dev/fuse` and the right to mount.
#![cfg(target_os = "linux")]

mod disk;
mod faults;
mod file;
mod filesystem;
mod volume;

pub use disk::{LossyDisk, RuleId};
pub use faults::{Effect, Operation, Rule};
pub use volume::{Error, Loss};
