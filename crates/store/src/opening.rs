//! Finds out what is on disk: the footers of full segments, and the records of the others.
//!
//! It asks for several reads at a time, in the order of segments, and hands what was read over to pieces of [`Work`],
//! of which one is done at a time and beside the reads. So nothing that takes time in proportion to the number of
//! chunks is done here, where others may wait for it.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;

use bytes::Bytes;

use crate::chunks::max_segments;
use crate::footer::{self, Entry, Trailer};
use crate::index::Index;
use crate::io::{DiskError, Op, OpId, Output, SegmentId};
use crate::record::{BLOCK, Identity};
use crate::recovery::{Footer, Outcome, Recovery, Task, Work, Worked};
use crate::scan::Scan;
use crate::store::TRIES;

/// Reads that are under way at a time.
const READS: usize = 16;

/// Bytes that are read ahead of the work on them, unless one footer is longer.
const MAX_AHEAD: u64 = 8 << 20;

/// Bytes of footers that are worth a piece of work.
const MIN_HANDED: u64 = 256 << 10;

/// How much of the end of a segment is read at first, at most: a segment of another size has a footer of another
/// length than the one before.
const MAX_TAIL: u64 = 1 << 20;

/// A segment that is not full: writing may go on after its last record.
#[derive(Debug)]
pub(crate) struct Unfinished {
    pub(crate) entries: Vec<Entry>,
    pub(crate) end: u64,
}

/// What was found.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) index: Box<Index>,
    /// Segments without a footer, oldest first.
    pub(crate) unfinished: Vec<(SegmentId, Unfinished)>,
    pub(crate) newest: Option<SegmentId>,
    /// The highest sequence number of all records.
    pub(crate) last_sequence: u64,
    /// Records whose content is not what their name says.
    pub(crate) damaged: u32,
    /// Segments of which nothing could be read.
    pub(crate) unreadable: u32,
}

/// What comes next.
#[derive(Debug)]
pub(crate) enum Step {
    /// Ask for this operation, and tell its number with [`Opening::asked`].
    Ask(Asked),
    /// Have this done, and tell what came of it with [`Opening::worked`].
    Work(Work),
    /// Everything is known.
    Found(Found),
    /// There is no store.
    Failed(DiskError),
}

/// What an operation is for.
#[derive(Debug)]
enum Purpose {
    List,
    /// The trailer of a segment, and what lies before it.
    Tail(SegmentId),
    Trailer(SegmentId),
    Entries(SegmentId, Trailer),
    Scan(SegmentId, Scan),
    /// The end of a segment is cut off, or it is deleted.
    Cut,
}

/// An operation, and how often it was asked for.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) op: Op,
    purpose: Purpose,
    tries: u8,
}

impl Asked {
    fn first(op: Op, purpose: Purpose) -> Asked {
        Asked { op, purpose, tries: 1 }
    }

    fn bytes(&self) -> u64 {
        if let Op::Read { length, .. } = self.op { length } else { 0 }
    }
}

/// Opens a store. Call [`Opening::next`] until there is nothing, at the beginning and after each result.
#[derive(Debug)]
pub(crate) struct Opening {
    identity: Identity,
    size: u64,
    /// Bytes that were written together at most, if they are of more than one record.
    batch: u64,
    /// Segments whose footers were not asked for yet.
    unread: VecDeque<SegmentId>,
    /// What to ask for before anything else.
    next: VecDeque<Asked>,
    under_way: BTreeMap<OpId, Asked>,
    /// How much of the end of a segment is its footer, as far as can be guessed.
    tail: u64,
    /// What was read and is not worked on.
    read: Vec<Footer>,
    /// Bytes of reads under way and of what was read.
    ahead: u64,
    /// Segments without a good footer.
    unfinished: BTreeSet<SegmentId>,
    /// What is to be done before anything else.
    task: Option<Task>,
    /// None while it is worked on.
    recovery: Option<Box<Recovery>>,
    /// Segments that could not be read, and those without a record.
    gone: Vec<SegmentId>,
    /// The end.
    built: Option<(Box<Index>, u64)>,
    error: Option<DiskError>,
    scanned: Vec<(SegmentId, Unfinished)>,
    newest: Option<SegmentId>,
    damaged: u32,
    unreadable: u32,
}

impl Opening {
    /// Begins with [`Op::List`].
    pub(crate) fn new(identity: Identity, (size, batch): (u64, u64), index: Index) -> Opening {
        Opening {
            identity,
            size,
            batch,
            unread: VecDeque::new(),
            next: [Asked::first(Op::List, Purpose::List)].into(),
            under_way: BTreeMap::new(),
            tail: BLOCK,
            read: Vec::new(),
            ahead: 0,
            unfinished: BTreeSet::new(),
            task: None,
            recovery: Some(Box::new(Recovery::new(identity, index))),
            gone: Vec::new(),
            built: None,
            error: None,
            scanned: Vec::new(),
            newest: None,
            damaged: 0,
            unreadable: 0,
        }
    }

    /// What to do now; none if a result is to come before.
    pub(crate) fn next(&mut self) -> Option<Step> {
        if let Some(error) = self.error {
            return Some(Step::Failed(error));
        }
        if let Some(asked) = self.next.pop_front().or_else(|| self.read_on()) {
            return Some(Step::Ask(asked));
        }
        if let Some((index, last_sequence)) = self.built.take() {
            return Some(Step::Found(Found {
                index,
                unfinished: core::mem::take(&mut self.scanned),
                newest: self.newest,
                last_sequence,
                damaged: self.damaged,
                unreadable: self.unreadable,
            }));
        }
        let recovery = self.recovery.take()?;
        match self.task.take().or_else(|| self.task()) {
            Some(task) => Some(Step::Work(Work { recovery, task })),
            None => {
                self.recovery = Some(recovery);
                self.scan_on().map(Step::Ask)
            }
        }
    }

    /// An operation that was wanted has this number.
    pub(crate) fn asked(&mut self, op: OpId, asked: Asked) {
        self.ahead += asked.bytes();
        self.under_way.insert(op, asked);
    }

    /// Whether `op` is one of those that were wanted.
    pub(crate) fn waits_for(&self, op: OpId) -> bool {
        self.under_way.contains_key(&op)
    }

    /// The next footer, if there is room for it.
    fn read_on(&mut self) -> Option<Asked> {
        let has_room = self.ahead == 0 || self.ahead + self.tail <= MAX_AHEAD;
        if self.under_way.len() >= READS || !has_room {
            return None;
        }
        let segment = self.unread.pop_front()?;
        let op = footer::tail(segment, self.size, self.tail.min(self.size));
        Some(Asked::first(op, Purpose::Tail(segment)))
    }

    fn is_reading(&self) -> bool {
        !(self.unread.is_empty() && self.next.is_empty() && self.under_way.is_empty())
    }

    /// What can be done with what is there.
    fn task(&mut self) -> Option<Task> {
        let bytes: u64 = self.read.iter().map(|footer| footer.entries.len() as u64).sum();
        let is_worth_it = bytes >= MIN_HANDED || self.ahead == bytes || !self.is_reading();
        if !self.read.is_empty() && is_worth_it {
            self.ahead -= bytes;
            return Some(Task::Footers(core::mem::take(&mut self.read)));
        }
        // The list comes first.
        let is_over = !self.is_reading() && self.unfinished.is_empty();
        is_over.then(|| {
            let open = self.scanned.iter().map(|(segment, _)| *segment).collect();
            Task::Build(core::mem::take(&mut self.gone), open)
        })
    }

    /// After all footers: one segment without a footer after another.
    fn scan_on(&mut self) -> Option<Asked> {
        if self.is_reading() {
            return None;
        }
        let segment = self.unfinished.pop_first()?;
        let mut scan = Scan::new(self.size, self.batch);
        let wants = scan.wants().expect("a segment has room for a record");
        Some(scanning(segment, scan, wants))
    }

    /// The result of an operation.
    pub(crate) fn done(&mut self, op: OpId, result: Result<Output, DiskError>) {
        let Some(asked) = self.under_way.remove(&op) else { return };
        self.ahead -= asked.bytes();
        match result {
            Ok(output) => self.went_well(asked, output),
            Err(error) => self.went_wrong(asked, error),
        }
    }

    /// A read that failed is tried again. A segment that cannot be read is left alone: what it holds is not known,
    /// and the store will not write until it is. Without the list there is no store, nor where nothing can be
    /// written; but a disk that is only full has one.
    fn went_wrong(&mut self, asked: Asked, error: DiskError) {
        let Asked { op, purpose, tries } = asked;
        match (error, purpose) {
            // What was read beyond the trailer may be what cannot be read.
            (DiskError::Failed, Purpose::Tail(segment)) => {
                let probe = footer::probe(segment, self.size);
                self.next.push_back(Asked::first(probe, Purpose::Trailer(segment)));
            }
            // Its end is not cut off, so nothing is written behind its last record.
            (DiskError::Full, Purpose::Cut) if matches!(op, Op::Cut { .. }) => {
                self.scanned.pop();
            }
            (error, Purpose::Cut) => self.error = Some(error),
            (DiskError::Failed, purpose) if tries < TRIES => {
                self.next.push_back(Asked { op, purpose, tries: tries + 1 });
            }
            (
                DiskError::Failed,
                Purpose::Trailer(segment)
                | Purpose::Entries(segment, _)
                | Purpose::Scan(segment, _),
            ) => {
                self.unreadable += 1;
                self.gone.push(segment);
            }
            (error, _) => self.error = Some(error),
        }
    }

    fn went_well(&mut self, asked: Asked, output: Output) {
        let wanted = asked.bytes();
        match (asked.purpose, output) {
            (Purpose::List, Output::Segments(segments)) => self.listed(segments),
            // The segment is shorter than it was made.
            (Purpose::Tail(segment) | Purpose::Trailer(segment), Output::Bytes(bytes))
                if bytes.len() as u64 != wanted =>
            {
                self.unfinished.insert(segment);
            }
            (Purpose::Tail(segment) | Purpose::Trailer(segment), Output::Bytes(bytes)) => {
                self.trailer(segment, &bytes);
            }
            (Purpose::Entries(segment, trailer), Output::Bytes(entries)) => {
                self.has_read(Footer { segment, trailer, entries });
            }
            (Purpose::Scan(segment, scan), Output::Bytes(bytes)) => {
                self.task = Some(Task::Scan(segment, scan, bytes));
            }
            (Purpose::Cut, Output::Done) => {}
            // The host gave the result of another operation.
            _ => self.error = Some(DiskError::Failed),
        }
    }

    fn listed(&mut self, mut segments: Vec<SegmentId>) {
        // A store never makes as many.
        if segments.len() > max_segments(self.size) as usize {
            self.error = Some(DiskError::Full);
            return;
        }
        segments.sort_unstable();
        self.newest = segments.last().copied();
        self.unread = segments.iter().copied().collect();
        self.task = Some(Task::List(segments));
    }

    /// The end of a segment.
    fn trailer(&mut self, segment: SegmentId, bytes: &Bytes) {
        let trailer = Trailer::decode(bytes, &self.identity);
        let fits = |t: &Trailer| t.data_end + t.length() + footer::PROBE <= self.size;
        let Some(trailer) = trailer.filter(fits) else {
            self.unfinished.insert(segment);
            return;
        };
        let before = bytes.len() as u64 - footer::PROBE;
        self.tail = (trailer.length() + footer::PROBE).next_multiple_of(BLOCK).min(MAX_TAIL);
        match before.checked_sub(trailer.length()) {
            Some(start) => {
                let range = usize::try_from(start).ok().zip(usize::try_from(before).ok());
                let (start, end) = range.expect("within what was read");
                self.has_read(Footer { segment, trailer, entries: bytes.slice(start..end) });
            }
            None => {
                let op = trailer.op(segment, self.size);
                self.next.push_back(Asked::first(op, Purpose::Entries(segment, trailer)));
            }
        }
    }

    fn has_read(&mut self, footer: Footer) {
        self.ahead += footer.entries.len() as u64;
        self.read.push(footer);
    }

    /// A piece of work is done.
    pub(crate) fn worked(&mut self, worked: Worked) {
        self.recovery = worked.recovery;
        match worked.outcome {
            Outcome::Listed => {}
            Outcome::Refused(segments) => self.unfinished.extend(segments),
            Outcome::Scanned(segment, scan, Some(wants)) => {
                self.next.push_back(scanning(segment, scan, wants));
            }
            Outcome::Scanned(segment, scan, None) => self.scanned(segment, scan),
            Outcome::Building(gone, open) => self.task = Some(Task::Build(gone, open)),
            Outcome::Built(index, last_sequence) => self.built = Some((index, last_sequence)),
        }
    }

    /// The segment is read. What lies behind its last good record was never acknowledged, or is lost: it
    /// is cut off, so that nothing of it is ever taken for a record of later times.
    fn scanned(&mut self, segment: SegmentId, scan: Scan) {
        self.damaged += scan.damaged;
        let op = if scan.entries.is_empty() {
            // The spare one, or what is left of an attempt to make it.
            self.gone.push(segment);
            Op::Delete { segment }
        } else {
            let end = scan.end.next_multiple_of(BLOCK);
            self.scanned.push((segment, Unfinished { entries: scan.entries, end }));
            Op::Cut { segment, offset: end, length: self.size }
        };
        self.next.push_back(Asked::first(op, Purpose::Cut));
    }
}

/// Reads what a scan wants.
fn scanning(segment: SegmentId, scan: Scan, (offset, length): (u64, u64)) -> Asked {
    Asked::first(Op::Read { segment, offset, length }, Purpose::Scan(segment, scan))
}
