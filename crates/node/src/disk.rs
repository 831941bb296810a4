//! Carries out what a store asks of its disk: some threads write and flush, others do the rest.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use bytes::Bytes;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};
use slotcast_store::{Content, DiskError, Op, OpId, Output, SegmentId, Work, Worked};
use slotcast_units::Rate;

use crate::buffers::{Buffer, Buffers};
use crate::direct::{self, Gather};
use crate::folder::{Folder, FolderError, cut_segment, read_at};
use crate::free_space::FreeSpace;
use crate::journal::Throttle;
use crate::limits::DiskLimit;
use crate::open_files::{self, is_shortage, remedy_for};
use crate::open_segments::{OpenSegments, SegmentFile, Way};

/// What an operation came to.
pub type DiskResult = Result<Output, DiskError>;

/// What a thread of a disk has done.
#[derive(Debug)]
pub enum Done {
    /// An operation has ended.
    Op(OpId, DiskResult),
    /// Work of the store is done.
    Work(Worked),
}

/// Told of everything that is done, from the thread that did it.
pub type Report = Arc<dyn Fn(Done) + Send + Sync>;

enum Task {
    Op(OpId, Op),
    Work(Work),
}

/// A store writes one batch at a time, and beside it the footer of the segment before.
pub(crate) const WRITERS: usize = 2;

/// Threads of the disk of a node's target that do all else.
pub(crate) const READERS: usize = 2;

/// How long a thread waits that could not open a file because the process, or the system, is out of them.
const SHORTAGE_PAUSE: Duration = Duration::from_millis(50);

/// How often a disk without work is looked at.
const LOOK: Duration = Duration::from_secs(1);

/// One folder.
struct Files {
    folder: Folder,
    open: OpenSegments,
    buffers: Arc<Buffers>,
    limit: Option<DiskLimit>,
    failures: Mutex<Throttle>,
    shortages: Mutex<Throttle>,
    is_gone: AtomicBool,
    /// The node ends: nothing is waited for any more.
    stops: AtomicBool,
}

impl Files {
    /// The result of `attempt`, made again as long as there are too few files or too little memory for it: that
    /// says nothing about the disk, and passes. What it has done when it fails so, it must be able to do again.
    fn persist<T>(&self, mut attempt: impl FnMut() -> io::Result<T>) -> io::Result<T> {
        loop {
            match attempt() {
                Err(error) if is_shortage(&error) => self.wait_out(error)?,
                result => return result,
            }
        }
    }

    /// Gives back the files that are not in use, or if all are, waits.
    fn wait_out(&self, shortage: io::Error) -> io::Result<()> {
        let mut shortages = self.shortages.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(left_out) = shortages.admit() {
            let (folder, limit) = (self.folder.segments().display(), open_files::limit());
            let (error, remedy) = (&shortage, remedy_for(&shortage));
            tracing::warn!(%folder, %error, limit, remedy, left_out, "disk operation waits");
        }
        drop(shortages);
        if self.stops.load(Ordering::Relaxed) {
            return Err(shortage);
        }
        if !self.look() {
            return Err(io::ErrorKind::NotFound.into());
        }
        if self.open.close_idle() == 0 {
            thread::sleep(SHORTAGE_PAUSE);
        }
        Ok(())
    }

    fn get(&self, segment: SegmentId, way: Way) -> io::Result<Arc<SegmentFile>> {
        self.persist(|| self.open.get(&self.folder, segment, way))
    }

    /// Puts on stable storage which segments there are.
    fn sync_names(&self) -> io::Result<()> {
        self.persist(|| self.folder.open_names())?.sync_all()
    }

    fn buffer(&self, length: u64) -> io::Result<Buffer> {
        Ok(self.buffers.take(usize::try_from(length).map_err(io::Error::other)?))
    }

    /// Whether the folder is still there; once gone it stays so.
    fn look(&self) -> bool {
        if !self.folder.is_there() {
            self.is_gone.store(true, Ordering::Relaxed);
        }
        !self.is_gone.load(Ordering::Relaxed)
    }

    /// What an error means to the store. What the system says is of use to people only.
    fn failed(&self, error: &io::Error) -> DiskError {
        let meaning = meaning(error);
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        // A disk that is full is tried again and again, and its target says that it is.
        if meaning != DiskError::Full
            && let Some(left_out) = failures.admit()
        {
            let folder = self.folder.segments().display();
            tracing::warn!(%folder, %error, left_out, "disk operation failed");
        }
        meaning
    }

    fn carry_out(&self, op: Op, gather: &mut Gather) -> io::Result<Output> {
        match op {
            Op::List => return Ok(Output::Segments(self.persist(|| self.folder.list())?)),
            Op::Create { segment, length } => {
                if !FreeSpace::of(self.folder.segments())?.has_room_for_segment(length) {
                    return Err(io::ErrorKind::StorageFull.into());
                }
                cut_segment(&self.persist(|| self.folder.new_segment(segment))?, 0, length)?;
                self.sync_names()?;
            }
            Op::Write { segment, offset, parts } => {
                let is_aligned = direct::is_aligned(offset, &parts);
                let way = if is_aligned { Way::Direct } else { Way::Cached };
                let segment = self.get(segment, way)?;
                self.persist(|| match segment.is_direct {
                    true => gather.write(&segment.file, offset, &parts),
                    false => direct::write_through_cache(&segment.file, offset, &parts),
                })?;
                // Whatever goes wrong here is final: what was not flushed may be lost already.
                segment.file.sync_data()?;
                if !self.look() {
                    return Err(io::ErrorKind::NotFound.into());
                }
            }
            Op::Cut { segment, offset, length } => {
                cut_segment(&self.get(segment, Way::Cached)?.file, offset, length)?;
            }
            Op::Read { segment, offset, length } => {
                let mut buffer = self.buffer(length)?;
                let segment = self.get(segment, Way::Cached)?;
                let filled = self.persist(|| read_at(&segment.file, offset, buffer.as_mut()))?;
                return Ok(Output::Bytes(Bytes::from_owner(buffer).slice(..filled)));
            }
            Op::ReadContent { segment, offset, length } => {
                let segment = self.get(segment, Way::Cached)?;
                let read = |place, piece: &mut [u8]| {
                    self.persist(|| read_at(&segment.file, offset + place as u64, piece))
                };
                return Ok(Output::Content(Content::filled(self.buffer(length)?, read)?));
            }
            Op::Delete { segment } => {
                self.open.close(segment);
                self.persist(|| self.folder.remove_segment(segment))?;
                self.sync_names()?;
            }
        }
        Ok(Output::Done)
    }
}

fn meaning(error: &io::Error) -> DiskError {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => DiskError::Full,
        io::ErrorKind::ReadOnlyFilesystem => DiskError::ReadOnly,
        io::ErrorKind::NotFound => DiskError::Gone,
        _ => DiskError::Failed,
    }
}

/// The threads of one folder.
pub struct Disk {
    /// None of a folder that cannot be used: every operation fails with this.
    files: Result<Arc<Files>, (DiskError, Report)>,
    writes: Option<Sender<Task>>,
    others: Option<Sender<Task>>,
    threads: Vec<JoinHandle<()>>,
}

impl Disk {
    /// Starts threads that write and flush, and `readers` for all else, reading into `buffers`; `report` is
    /// told of every result. At most `max_open` files of segments are open at any time, and one for each thread
    /// at least. With a `rate` the disk is no faster than that.
    ///
    /// # Errors
    /// If the system gives no thread.
    pub fn start(
        folder: Folder,
        readers: usize,
        buffers: Arc<Buffers>,
        max_open: usize,
        rate: Option<Rate>,
        report: &Report,
    ) -> io::Result<Disk> {
        let files = Arc::new(Files {
            folder,
            open: OpenSegments::new(max_open.max(WRITERS + readers)),
            buffers,
            limit: rate.map(DiskLimit::new),
            failures: Mutex::new(Throttle::new()),
            shortages: Mutex::new(Throttle::new()),
            is_gone: AtomicBool::new(false),
            stops: AtomicBool::new(false),
        });
        let (writes, to_write) = unbounded();
        let (others, to_do) = unbounded();
        let mut threads = Vec::new();
        for _ in 0..WRITERS {
            threads.push(spawn("disk-write", &files, to_write.clone(), report)?);
        }
        for _ in 0..readers {
            threads.push(spawn("disk", &files, to_do.clone(), report)?);
        }
        Ok(Disk { files: Ok(files), writes: Some(writes), others: Some(others), threads })
    }

    /// Whether its folder is not there any more, as was last seen: after every flush, and every second.
    pub fn is_gone(&self) -> bool {
        self.files.as_ref().is_ok_and(|files| files.is_gone.load(Ordering::Relaxed))
    }

    /// The disk of a folder that cannot be used: its target fails to open, and the node goes on with the rest.
    pub(crate) fn unusable(error: &FolderError, report: Report) -> Disk {
        let meaning = match error {
            FolderError::Io { error, .. } => meaning(error),
            FolderError::Refused(_) | FolderError::Locked(_) => DiskError::Gone,
        };
        let files = Err((meaning, report));
        Disk { files, writes: None, others: None, threads: Vec::new() }
    }

    /// Begins an operation.
    pub fn ask(&self, id: OpId, op: Op) {
        if let Err((error, report)) = &self.files {
            return report(Done::Op(id, Err(*error)));
        }
        // Puts wait for these: what takes long, as making a segment does, must not be in their way.
        let is_write = matches!(op, Op::Write { .. });
        let queue = if is_write { &self.writes } else { &self.others };
        if let Some(queue) = queue {
            // The threads live as long as the queues: this cannot fail.
            let _ = queue.send(Task::Op(id, op));
        }
    }

    /// Has work of the store done by one of the threads that read.
    pub fn work(&self, work: Work) {
        match (&self.files, &self.others) {
            (Ok(_), Some(queue)) => drop(queue.send(Task::Work(work))),
            (Err((_, report)), _) => report(Done::Work(work.run())),
            (Ok(_), None) => {}
        }
    }
}

impl Drop for Disk {
    /// Waits for what was begun.
    fn drop(&mut self) {
        if let Ok(files) = &self.files {
            files.stops.store(true, Ordering::Relaxed);
        }
        (self.writes, self.others) = (None, None);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Bytes that an operation moves.
fn content_of(op: &Op) -> u64 {
    match op {
        Op::Write { parts, .. } => parts.iter().map(|part| part.len() as u64).sum(),
        Op::Read { length, .. } | Op::ReadContent { length, .. } => *length,
        _ => 0,
    }
}

fn spawn(
    name: &str,
    files: &Arc<Files>,
    tasks: Receiver<Task>,
    report: &Report,
) -> io::Result<JoinHandle<()>> {
    let (files, report) = (files.clone(), report.clone());
    thread::Builder::new().name(name.into()).spawn(move || {
        let mut gather = Gather::default();
        loop {
            match tasks.recv_timeout(LOOK) {
                Ok(Task::Work(work)) => report(Done::Work(work.run())),
                Ok(Task::Op(id, op)) => {
                    let limit = files.limit.as_ref();
                    let until = limit.map(|limit| limit.begin(content_of(&op)));
                    let result =
                        files.carry_out(op, &mut gather).map_err(|error| files.failed(&error));
                    if let (Some(limit), Some(until)) = (limit, until) {
                        limit.wait(until);
                    }
                    report(Done::Op(id, result));
                }
                Err(RecvTimeoutError::Timeout) => drop(files.look()),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    })
}
