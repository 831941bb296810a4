//! Simulated devices that fail as real ones do, for tests of a store and for the fault simulation of the
//! cluster: a disk for chunks, and ordered rows for names.
//!
//! [`SimulatedDisk`] carries out the operations of `slotcast-disk` on segments in memory. It loses what was
//! not flushed when the power fails, tears writes at sectors of 512 bytes, rots and loses what was written,
//! lies about flushes, and fails or hangs as [`DiskFaults`] says for each kind of operation.
//!
//! ```text
//!    ask(id, op) ---> pending ---> step() or finish(id) ---> (id, Result<Output, DiskError>)
//!                        |             |
//!                      crash()       faults: OpFaults for each kind of operation
//!                        |             transient: one in n fails;  lasting: all fail;  hang: no answer
//!                        v
//!             each pending operation, and each sector that is not flushed, is on the disk or not
//! ```
//!
//! * [`SimulatedDisk::step`] carries out any of the operations under way, [`SimulatedDisk::finish`] a certain
//!   one.
//! * [`SimulatedDisk::crash`], [`SimulatedDisk::rot`], [`SimulatedDisk::lose_write`] and
//!   [`SimulatedDisk::wipe`] do harm at a moment; `room` and `lies` are fields that a test may set at any
//!   time.
//! * [`SimulatedDisk::excuses`] knows whether harm was done to a record of a chunk. A chunk that is lost
//!   without such an excuse was lost by the store.
//!
//! ```
//! use bytes::Bytes;
//! use slotcast_disk::io::{DiskError, Op, OpId, Output, SegmentId};
//! use slotcast_faults::{DiskFaults, OpFaults, SimulatedDisk};
//!
//! let mut disk = SimulatedDisk::new(7);
//! let segment = SegmentId(0);
//! disk.ask(OpId(0), Op::Create { segment, length: 8192 });
//! assert_eq!(disk.finish(OpId(0)), Some(Ok(Output::Done)));
//!
//! // A write that is done is on stable storage: it survives a power failure.
//! disk.ask(OpId(1), Op::Write { segment, offset: 0, parts: vec![Bytes::from_static(b"kept")] });
//! assert_eq!(disk.finish(OpId(1)), Some(Ok(Output::Done)));
//! disk.crash();
//! let read = Op::Read { segment, offset: 0, length: 4 };
//! disk.ask(OpId(2), read.clone());
//! assert_eq!(disk.step(), Some((OpId(2), Ok(Output::Bytes(Bytes::from_static(b"kept"))))));
//!
//! // From now on the device fails every operation; what was asked for gets an error.
//! let lasting = OpFaults { lasting: Some(DiskError::Failed), ..OpFaults::default() };
//! disk.faults = DiskFaults::of_every_kind(lasting);
//! disk.ask(OpId(3), read);
//! assert_eq!(disk.step(), Some((OpId(3), Err(DiskError::Failed))));
//! ```
//!
//! [`SimulatedRows`] carries out the operations of `slotcast-object` on rows in memory. It loses changes that were not
//! flushed, the latest ones first and each of them whole, lies about flushes, and fails or hangs as [`RowsFaults`] says.
//! `slotcast-node` has the real ones, and a test holds both to the same behaviour.
//!
//! Everything that happens follows from the seed and the calls: equal calls on two disks of one seed do the
//! same. The disk has no time; its user decides when an operation ends. It panics where a store breaks the
//! rules of `slotcast-disk`: a segment that is created twice, a write to one that is not there or over
//! acknowledged data.
#![no_std]

extern crate alloc;

mod disk;
mod disk_faults;
mod harm;
mod rows;
mod rows_faults;

pub use disk::{SimulatedDisk, TakenFile};
pub use disk_faults::{DiskFaults, Hang, OpFaults, Transient};
pub use rows::SimulatedRows;
pub use rows_faults::{RowsFaults, RowsOpFaults};
