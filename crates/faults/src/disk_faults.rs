//! What goes wrong with the operations of a simulated disk, kind by kind.

use alloc::vec::Vec;

use slotcast_disk::io::{DiskError, Op};

/// Faults of a disk by kind of operation; none by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DiskFaults {
    /// Of [`Op::List`].
    pub list: OpFaults,
    /// Of [`Op::Create`].
    pub create: OpFaults,
    /// Of [`Op::Write`], which flushes what it has written.
    pub write: OpFaults,
    /// Of [`Op::Cut`].
    pub cut: OpFaults,
    /// Of [`Op::Read`].
    pub read: OpFaults,
    /// Of [`Op::ReadContent`].
    pub read_content: OpFaults,
    /// Of [`Op::Delete`].
    pub delete: OpFaults,
}

/// Faults of one kind of operation; none by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OpFaults {
    /// Some operations fail.
    pub transient: Option<Transient>,
    /// Every operation fails with this.
    pub lasting: Option<DiskError>,
    /// Every operation that is asked for from now on hangs: it is taken, and not answered.
    pub hang: Option<Hang>,
}

/// An error that passes: the next operation of the kind may succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transient {
    /// One operation in so many fails, at random; at least 1.
    pub one_in: u64,
    /// What it fails with.
    pub error: DiskError,
}

/// How long an operation hangs. A power failure ends it in any case: nobody knows then whether it
/// was carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hang {
    /// Until [`release`](crate::SimulatedDisk::release).
    UntilReleased,
    /// Until the power fails.
    UntilCrash,
}

/// Ends [`Hang::UntilReleased`] of these operations; gives those that hung so, in order.
pub(crate) fn released<'a, I>(pending: impl Iterator<Item = (I, &'a mut Option<Hang>)>) -> Vec<I> {
    let hung = pending
        .filter_map(|(id, hang)| hang.take_if(|hang| *hang == Hang::UntilReleased).map(|_| id));
    hung.collect()
}

impl DiskFaults {
    /// The same faults for every kind of operation.
    pub const fn of_every_kind(faults: OpFaults) -> DiskFaults {
        DiskFaults {
            list: faults,
            create: faults,
            write: faults,
            cut: faults,
            read: faults,
            read_content: faults,
            delete: faults,
        }
    }

    /// Those of the kind of `op`.
    pub const fn of(&self, op: &Op) -> &OpFaults {
        match op {
            Op::List => &self.list,
            Op::Create { .. } => &self.create,
            Op::Write { .. } => &self.write,
            Op::Cut { .. } => &self.cut,
            Op::Read { .. } => &self.read,
            Op::ReadContent { .. } => &self.read_content,
            Op::Delete { .. } => &self.delete,
        }
    }

    /// Ends [`Hang::UntilReleased`] of every kind.
    pub(crate) fn release(&mut self) {
        let DiskFaults { list, create, write, cut, read, read_content, delete } = self;
        for faults in [list, create, write, cut, read, read_content, delete] {
            faults.hang.take_if(|hang| *hang == Hang::UntilReleased);
        }
    }
}
