//! Carries out what a store asks of its disk: one thread writes and flushes, the others read and hash.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, IoSlice};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use bytes::Bytes;
use crossbeam_channel::{Receiver, Sender, unbounded};
use slotcast_store::{Content, DiskError, Op, OpId, Output, SegmentId};

use crate::buffers::{Buffer, Buffers};
use crate::folder::{Folder, read_at};

/// What an operation came to.
pub type DiskResult = Result<Output, DiskError>;

/// Told of every operation that has ended, from the thread that carried it out.
pub type Report = Arc<dyn Fn(OpId, DiskResult) + Send + Sync>;

type Task = (OpId, Op);

/// The files of one folder, open.
struct Files {
    folder: Folder,
    open: Mutex<BTreeMap<SegmentId, Arc<File>>>,
    buffers: Arc<Buffers>,
}

impl Files {
    fn get(&self, segment: SegmentId) -> io::Result<Arc<File>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = open.get(&segment) {
            return Ok(file.clone());
        }
        let file = Arc::new(self.folder.open_segment(segment)?);
        open.insert(segment, file.clone());
        Ok(file)
    }

    fn keep(&self, segment: SegmentId, file: Option<File>) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        match file {
            Some(file) => drop(open.insert(segment, Arc::new(file))),
            None => drop(open.remove(&segment)),
        }
    }

    fn buffer(&self, length: u64) -> io::Result<Buffer> {
        Ok(self.buffers.take(usize::try_from(length).map_err(io::Error::other)?))
    }

    fn carry_out(&self, op: Op) -> io::Result<Output> {
        match op {
            Op::List => return Ok(Output::Segments(self.folder.list()?)),
            Op::Create { segment, length } => {
                let file = self.folder.create_segment(segment, length)?;
                self.keep(segment, Some(file));
            }
            Op::Write { segment, offset, parts } => {
                write_all(&*self.get(segment)?, offset, &parts)?;
            }
            Op::Flush { segment } => self.get(segment)?.sync_data()?,
            Op::Cut { segment, offset, length } => {
                self.folder.cut_segment(&*self.get(segment)?, offset, length)?;
            }
            Op::Read { segment, offset, length } => {
                let mut buffer = self.buffer(length)?;
                let filled = read_at(&*self.get(segment)?, offset, buffer.as_mut())?;
                return Ok(Output::Bytes(Bytes::from_owner(buffer).slice(..filled)));
            }
            Op::ReadContent { segment, offset, length } => {
                let file = self.get(segment)?;
                let read = |place, piece: &mut [u8]| read_at(&file, offset + place as u64, piece);
                return Ok(Output::Content(Content::filled(self.buffer(length)?, read)?));
            }
            Op::Delete { segment } => {
                self.keep(segment, None);
                self.folder.delete_segment(segment)?;
            }
        }
        Ok(Output::Done)
    }
}

/// Most parts that one call of the system takes (`IOV_MAX`).
const PARTS: usize = 1024;

fn write_all(file: &File, mut offset: u64, parts: &[Bytes]) -> io::Result<()> {
    let mut parts: Vec<&[u8]> = parts.iter().map(|part| &part[..]).collect();
    let mut first = 0;
    while first < parts.len() {
        let last = parts.len().min(first + PARTS);
        let slices: Vec<IoSlice<'_>> =
            parts[first..last].iter().map(|part| IoSlice::new(part)).collect();
        let mut written = match rustix::io::pwritev(file, &slices, offset) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => written,
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        };
        offset += written as u64;
        while first < last && written >= parts[first].len() {
            written -= parts[first].len();
            first += 1;
        }
        if written > 0 {
            parts[first] = &parts[first][written..];
        }
    }
    Ok(())
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
    writes: Option<Sender<Task>>,
    reads: Option<Sender<Task>>,
    threads: Vec<JoinHandle<()>>,
}

impl Disk {
    /// Starts one thread that writes and `readers` that read, into `buffers`; `report` is told of every
    /// result.
    ///
    /// # Errors
    /// If the system gives no thread.
    pub fn start(
        folder: Folder,
        readers: usize,
        buffers: Arc<Buffers>,
        report: &Report,
    ) -> io::Result<Disk> {
        let files = Arc::new(Files { folder, open: Mutex::new(BTreeMap::new()), buffers });
        let (writes, to_write) = unbounded();
        let (reads, to_read) = unbounded();
        let mut threads = vec![spawn("disk-write", &files, to_write, report)?];
        for _ in 0..readers {
            threads.push(spawn("disk-read", &files, to_read.clone(), report)?);
        }
        Ok(Disk { writes: Some(writes), reads: Some(reads), threads })
    }

    /// Begins an operation.
    pub fn ask(&self, id: OpId, op: Op) {
        let is_read = matches!(op, Op::List | Op::Read { .. } | Op::ReadContent { .. });
        let queue = if is_read { &self.reads } else { &self.writes };
        if let Some(queue) = queue {
            // The threads live as long as the queues: this cannot fail.
            let _ = queue.send((id, op));
        }
    }
}

impl Drop for Disk {
    /// Waits for what was begun.
    fn drop(&mut self) {
        (self.writes, self.reads) = (None, None);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
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
        for (id, op) in tasks {
            report(id, files.carry_out(op).map_err(|error| meaning(&error)));
        }
    })
}
