//! What goes wrong with the operations of simulated rows, kind by kind.

use slotcast_object::RowsOp;

use crate::disk_faults::Hang;

/// Faults of rows by kind of operation; none by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RowsFaults {
    /// Of [`RowsOp::Open`].
    pub open: RowsOpFaults,
    /// Of [`RowsOp::Get`].
    pub get: RowsOpFaults,
    /// Of [`RowsOp::Write`].
    pub write: RowsOpFaults,
    /// Of [`RowsOp::Scan`].
    pub scan: RowsOpFaults,
    /// Of [`RowsOp::Clear`].
    pub clear: RowsOpFaults,
}

/// Faults of one kind of operation; none by default. After one that fails all others fail, until the rows are opened
/// anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RowsOpFaults {
    /// One operation in so many fails, at random; at least 1.
    pub one_in: Option<u64>,
    /// Every operation fails.
    pub lasting: bool,
    /// Every operation that is asked for from now on hangs: it is taken, and not answered.
    pub hang: Option<Hang>,
}

impl RowsFaults {
    /// The same faults for every kind of operation.
    pub const fn of_every_kind(faults: RowsOpFaults) -> RowsFaults {
        RowsFaults { open: faults, get: faults, write: faults, scan: faults, clear: faults }
    }

    /// Those of the kind of `op`.
    pub const fn of(&self, op: &RowsOp) -> &RowsOpFaults {
        match op {
            RowsOp::Open => &self.open,
            RowsOp::Get(_) => &self.get,
            RowsOp::Write(_) => &self.write,
            RowsOp::Scan { .. } => &self.scan,
            RowsOp::Clear => &self.clear,
        }
    }

    /// Ends [`Hang::UntilReleased`] of every kind.
    pub(crate) fn release(&mut self) {
        let RowsFaults { open, get, write, scan, clear } = self;
        for faults in [open, get, write, scan, clear] {
            faults.hang.take_if(|hang| *hang == Hang::UntilReleased);
        }
    }
}
