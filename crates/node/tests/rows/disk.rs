//! Rows in a folder that is deleted when the test is over.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, unbounded};
use slotcast_node::{Rows, RowsResult};
use slotcast_object::{RowsOp, RowsOpId, RowsOutput};
use tempfile::TempDir;

use crate::contract::Contract;

/// Longer than any operation takes.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct RowsOnDisk {
    rows: Option<Rows>,
    tell: Sender<(RowsOpId, RowsResult)>,
    told: Receiver<(RowsOpId, RowsResult)>,
    folder: TempDir,
}

impl RowsOnDisk {
    pub(crate) fn new() -> RowsOnDisk {
        let (tell, told) = unbounded();
        let folder = tempfile::tempdir().expect("a folder");
        let mut rows = RowsOnDisk { rows: None, tell, told, folder };
        rows.start();
        rows
    }

    /// Where they are.
    pub(crate) fn names(&self) -> PathBuf {
        self.folder.path().join("names")
    }

    pub(crate) fn stop(&mut self) {
        self.rows = None;
    }

    pub(crate) fn start(&mut self) {
        let tell = self.tell.clone();
        let report = Arc::new(move |id, result| drop(tell.send((id, result))));
        self.rows = Some(Rows::start(self.names(), 2, report).expect("threads"));
    }

    /// What an operation comes to while no other is under way.
    pub(crate) fn run(&mut self, op: RowsOp) -> RowsResult {
        self.ask(RowsOpId(u64::MAX), op);
        self.next().1
    }

    pub(crate) fn open(&mut self) -> u64 {
        match self.run(RowsOp::Open) {
            Ok(RowsOutput::Opened(store)) => store,
            other => panic!("{other:?}"),
        }
    }
}

impl Contract for RowsOnDisk {
    fn ask(&mut self, id: RowsOpId, op: RowsOp) {
        self.rows.as_ref().expect("it runs").ask(id, op);
    }

    fn next(&mut self) -> (RowsOpId, RowsResult) {
        self.told.recv_timeout(PATIENCE).expect("it answers")
    }

    fn interrupt(&mut self) -> Vec<(RowsOpId, RowsResult)> {
        // What was begun is done.
        self.rows = None;
        self.start();
        self.told.try_iter().collect()
    }
}
