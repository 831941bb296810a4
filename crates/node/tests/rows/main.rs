//! Rows on a disk and simulated rows do the same.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "it has a real disk")]

mod contract;
mod disk;
mod kills;
mod taken_away;

use contract::{Contract, check};
use disk::RowsOnDisk;
use slotcast_faults::SimulatedRows;
use slotcast_object::{RowsError, RowsOp, RowsOpId, RowsOutput};

impl Contract for SimulatedRows {
    fn ask(&mut self, id: RowsOpId, op: RowsOp) {
        SimulatedRows::ask(self, id, op);
    }

    fn next(&mut self) -> (RowsOpId, Result<RowsOutput, RowsError>) {
        self.step().expect("something is under way")
    }

    fn interrupt(&mut self) -> Vec<(RowsOpId, Result<RowsOutput, RowsError>)> {
        self.crash();
        Vec::new()
    }
}

#[test]
fn rows_on_a_disk_do_as_promised() {
    for seed in 0..6 {
        check(&mut RowsOnDisk::new(), seed, 60);
    }
}

#[test]
fn simulated_rows_do_as_promised() {
    for seed in 0..300 {
        check(&mut SimulatedRows::new(seed), seed, 60);
    }
}
