//! The rows of one target on its disk: carries out what an [`Acceptor`](slotcast_object::Acceptor) asks for.
//!
//! ```text
//!  ask --- Open, Write, Clear ---> one thread, in order: waiting writes share one flush ---> Database
//!      \-- Get, Scan ------------> a few threads, beside it ------------------------------->   (fjall)
//! ```
//!
//! A write is reported when `fdatasync` has put it into the journal of the database; readers see it only then. After an
//! error of storage everything fails until the rows are opened anew, which reads them from the disk.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread::{self, JoinHandle};

use crossbeam_channel::{Receiver, Sender, unbounded};
use slotcast_object::{RowsError, RowsOp, RowsOpId, RowsOutput};

use crate::free_space::FreeSpace;
use crate::journal::Throttle;
pub(crate) use database::TABLE_FILES;
use database::{Database, Writes};
use failure::Failure;
use home::{Home, Store};

mod database;
mod failure;
mod home;
mod journal;
mod mark;

/// What an operation on rows came to.
pub type RowsResult = Result<RowsOutput, RowsError>;

/// Told of every result, from the thread that has it.
pub type RowsReport = Arc<dyn Fn(RowsOpId, RowsResult) + Send + Sync>;

/// Writes that wait share a flush until they have so many bytes.
const MAX_JOINED: usize = 1 << 20;

type Task = (RowsOpId, RowsOp);

/// Rows that can be used, if they can.
type Opened = Option<(Store, Database)>;

/// The rows of one target.
struct Shared {
    home: Home,
    opened: RwLock<Opened>,
    failures: Mutex<Throttle>,
}

impl Shared {
    fn replace(&self, opened: Opened) -> Opened {
        let mut place = self.opened.write().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut place, opened)
    }

    fn attempt<T>(
        &self,
        attempt: impl FnOnce(Store, &Database) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let opened = self.opened.read().unwrap_or_else(PoisonError::into_inner);
        let (store, database) = opened.as_ref().ok_or(Failure::Closed)?;
        database.attempt(|database| attempt(*store, database))
    }

    fn carry_out(&self, op: RowsOp) -> Result<RowsOutput, Failure> {
        match op {
            RowsOp::Open => {
                // Two at a time would be in each other's way.
                drop(self.replace(None));
                let open = std::panic::AssertUnwindSafe(|| self.home.open());
                let opened = std::panic::catch_unwind(open).unwrap_or(Err(Failure::Panicked))?;
                let identity = opened.0.identity;
                self.replace(Some(opened));
                Ok(RowsOutput::Opened(identity))
            }
            RowsOp::Get(key) => self.attempt(|_, rows| rows.get(&key)).map(RowsOutput::Got),
            RowsOp::Scan { from, before, limit } => {
                self.attempt(|_, rows| rows.scan(from, before, limit))
            }
            RowsOp::Write(writes) => self.write(writes.into_iter().collect()),
            RowsOp::Clear => {
                let cleared = self.attempt(|store, _| self.home.clear(store))?;
                let store = cleared.0;
                drop(self.replace(Some(cleared)));
                // That is done already; what is left is taken away at the next start.
                if let Err(failure) = self.home.remove_others(store) {
                    self.failed(&failure);
                }
                Ok(RowsOutput::Done)
            }
        }
    }

    fn write(&self, writes: Writes) -> Result<RowsOutput, Failure> {
        self.attempt(|_, rows| rows.write(writes))?;
        // What cannot be asked is no reason to refuse anything.
        let space = FreeSpace::of(self.home.folder());
        let is_nearly_full = space.is_ok_and(FreeSpace::is_nearly_full);
        Ok(if is_nearly_full { RowsOutput::NearlyFull } else { RowsOutput::Done })
    }

    /// What a failure means to a voter. What it says is of use to people only.
    fn failed(&self, failure: &Failure) -> RowsError {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        if !matches!(failure, Failure::Closed)
            && let Some(left_out) = failures.admit()
        {
            let folder = self.home.folder().display();
            tracing::warn!(%folder, error = %failure, left_out, "operation on rows failed");
        }
        RowsError
    }

    /// Carries out what waits, in order.
    fn work_in_order(&self, tasks: &Receiver<Task>, report: &RowsReport) {
        let mut next = None;
        while let Some((id, op)) = next.take().or_else(|| tasks.recv().ok()) {
            let (mut ids, result);
            match op {
                RowsOp::Write(writes) => {
                    ids = vec![id];
                    let (mut joined, mut bytes) = (Writes::new(), 0);
                    add(&mut joined, &mut bytes, writes);
                    while bytes < MAX_JOINED && next.is_none() {
                        match tasks.try_recv() {
                            Ok((id, RowsOp::Write(writes))) => {
                                ids.push(id);
                                add(&mut joined, &mut bytes, writes);
                            }
                            Ok(other) => next = Some(other),
                            Err(_) => break,
                        }
                    }
                    result = self.write(joined);
                }
                op => {
                    ids = vec![id];
                    result = self.carry_out(op);
                }
            }
            let result = result.map_err(|failure| self.failed(&failure));
            ids.into_iter().for_each(|id| report(id, result.clone()));
        }
    }

    /// Carries out what waits beside others.
    fn work(&self, tasks: &Receiver<Task>, report: &RowsReport) {
        for (id, op) in tasks {
            report(id, self.carry_out(op).map_err(|failure| self.failed(&failure)));
        }
    }
}

/// Adds writes to others; the later one of a key counts.
fn add(joined: &mut Writes, bytes: &mut usize, writes: Vec<(Vec<u8>, Option<Vec<u8>>)>) {
    for (key, value) in writes {
        *bytes += key.len() + value.as_ref().map_or(0, Vec::len);
        joined.insert(key, value);
    }
}

/// The threads of the rows of one target.
///
/// ```
/// use std::sync::Arc;
/// use slotcast_node::Rows;
/// use slotcast_object::{RowsOp, RowsOpId, RowsOutput};
///
/// let folder = tempfile::tempdir()?;
/// let (tell, told) = crossbeam_channel::unbounded();
/// let report = Arc::new(move |id, result| drop(tell.send((id, result))));
/// let rows = Rows::start(folder.path().join("names"), 2, report)?;
/// rows.ask(RowsOpId(0), RowsOp::Open);
/// rows.ask(RowsOpId(1), RowsOp::Write(vec![(b"name".to_vec(), Some(b"row".to_vec()))]));
/// let results: Vec<_> = told.iter().take(2).collect();
/// assert!(matches!(results[0], (RowsOpId(0), Ok(RowsOutput::Opened(store))) if store != 0));
/// assert_eq!(results[1], (RowsOpId(1), Ok(RowsOutput::Done)));
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Rows {
    in_order: Option<Sender<Task>>,
    beside: Option<Sender<Task>>,
    threads: Vec<JoinHandle<()>>,
}

impl Rows {
    /// Starts a thread that opens, writes and clears rows in `folder`, and `readers` that read them; `report` is told
    /// of every result. Nothing is opened yet.
    ///
    /// # Errors
    /// If the system gives no thread.
    pub fn start(folder: PathBuf, readers: usize, report: RowsReport) -> io::Result<Rows> {
        let shared = Arc::new(Shared {
            home: Home::new(folder),
            opened: RwLock::new(None),
            failures: Mutex::new(Throttle::new()),
        });
        let (in_order, to_do_in_order) = unbounded();
        let (beside, to_do) = unbounded();
        let mut rows = Rows { in_order: Some(in_order), beside: Some(beside), threads: Vec::new() };
        for _ in 0..readers {
            let (shared, tasks, report) = (shared.clone(), to_do.clone(), report.clone());
            let reader = thread::Builder::new().name("rows".into());
            rows.threads.push(reader.spawn(move || shared.work(&tasks, &report))?);
        }
        let writer = thread::Builder::new().name("rows-write".into());
        let work = move || shared.work_in_order(&to_do_in_order, &report);
        rows.threads.push(writer.spawn(work)?);
        Ok(rows)
    }

    /// Begins an operation. Operations that change anything are carried out in order. What is read has all that was
    /// reported before it was asked for.
    pub fn ask(&self, id: RowsOpId, op: RowsOp) {
        let is_read = matches!(op, RowsOp::Get(_) | RowsOp::Scan { .. });
        let queue = if is_read { &self.beside } else { &self.in_order };
        if let Some(queue) = queue {
            // The threads live as long as the queues: this cannot fail.
            let _ = queue.send((id, op));
        }
    }
}

impl Drop for Rows {
    /// Waits for what was begun, and closes the rows.
    fn drop(&mut self) {
        (self.in_order, self.beside) = (None, None);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
