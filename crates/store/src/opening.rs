//! Finds out what is on disk: the footers of full segments, and the records of the others.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::chunks::max_segments;
use crate::footer::{self, Entry, Trailer};
use crate::index::Index;
use crate::io::{DiskError, Op, Output, SegmentId};
use crate::record::{BLOCK, Identity};
use crate::scan::Scan;
use crate::store::TRIES;

/// A segment that is not full: writing may go on after its last record.
#[derive(Debug)]
pub(crate) struct Unfinished {
    pub(crate) entries: Vec<Entry>,
    pub(crate) end: u64,
}

/// What was found.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) index: Index,
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

impl Found {
    /// Nothing so far; what is found goes to `index`.
    fn new(index: Index) -> Found {
        Found {
            index,
            unfinished: Vec::new(),
            newest: None,
            last_sequence: 0,
            damaged: 0,
            unreadable: 0,
        }
    }
}

/// What comes next.
#[derive(Debug)]
pub(crate) enum Step {
    /// This operation, and its result.
    Ask(Op),
    /// Everything is known.
    Found(Box<Found>),
    /// There is no store.
    Failed(DiskError),
}

#[derive(Debug)]
enum Stage {
    Listing,
    Trailer(SegmentId),
    Entries(SegmentId, Trailer),
    Scanning(SegmentId, Scan),
    Cutting,
}

/// Reads one segment after another.
#[derive(Debug)]
pub(crate) struct Opening {
    identity: Identity,
    size: u64,
    stage: Stage,
    rest: VecDeque<SegmentId>,
    /// What was asked for last, and how often.
    asked: (Op, u8),
    found: Found,
}

impl Opening {
    /// Begins with [`Op::List`].
    pub(crate) fn new(identity: Identity, size: u64, index: Index) -> Opening {
        let (rest, found) = (VecDeque::new(), Found::new(index));
        Opening { identity, size, stage: Stage::Listing, rest, asked: (Op::List, 1), found }
    }

    /// The result of the operation that was asked for last.
    pub(crate) fn done(&mut self, result: Result<Output, DiskError>) -> Step {
        let step = match result {
            Ok(output) => self.went_well(output),
            Err(error) => self.went_wrong(error),
        };
        if let Step::Ask(op) = &step {
            let tries = if self.asked.0 == *op { self.asked.1 + 1 } else { 1 };
            self.asked = (op.clone(), tries);
        }
        step
    }

    /// A read that failed is tried again. A segment that cannot be read is left alone: what it holds is not known,
    /// and the store will not write until it is. Without the list there is no store, nor where nothing can be
    /// written; but a disk that is only full has one.
    fn went_wrong(&mut self, error: DiskError) -> Step {
        let is_cutting = matches!(self.stage, Stage::Cutting);
        match error {
            DiskError::Failed if !is_cutting && self.asked.1 < TRIES => {
                Step::Ask(self.asked.0.clone())
            }
            DiskError::Failed if !is_cutting && !matches!(self.stage, Stage::Listing) => {
                self.found.unreadable += 1;
                self.next_segment()
            }
            // Its end is not cut off, so nothing is written behind its last record.
            DiskError::Full if matches!(self.asked.0, Op::Cut { .. }) => {
                self.found.unfinished.pop();
                self.next_segment()
            }
            error => Step::Failed(error),
        }
    }

    fn went_well(&mut self, output: Output) -> Step {
        match (&mut self.stage, output) {
            // A store never makes as many.
            (Stage::Listing, Output::Segments(segments))
                if segments.len() > max_segments(self.size) as usize =>
            {
                Step::Failed(DiskError::Full)
            }
            (Stage::Listing, Output::Segments(mut segments)) => {
                segments.sort_unstable();
                self.found.newest = segments.last().copied();
                self.found.index.segments.reserve(segments.len());
                self.rest = segments.into();
                self.next_segment()
            }
            (Stage::Trailer(segment), Output::Bytes(bytes)) => {
                let segment = *segment;
                let trailer = Trailer::decode(&bytes, &self.identity);
                let fits = |t: &Trailer| t.data_end + t.length() + footer::PROBE <= self.size;
                let Some(trailer) = trailer.filter(fits) else { return self.scan(segment) };
                self.stage = Stage::Entries(segment, trailer);
                Step::Ask(trailer.op(segment, self.size))
            }
            (Stage::Entries(segment, trailer), Output::Bytes(bytes)) => {
                let segment = *segment;
                let Some(entries) = trailer.entries(&bytes, &self.identity) else {
                    return self.scan(segment);
                };
                self.add(segment, &entries);
                self.next_segment()
            }
            (Stage::Scanning(segment, scan), Output::Bytes(bytes)) => {
                let segment = *segment;
                match scan.read(&bytes, &self.identity) {
                    Some((offset, length)) => Step::Ask(Op::Read { segment, offset, length }),
                    None => self.scanned(segment),
                }
            }
            (Stage::Cutting, Output::Done) => self.next_segment(),
            // The host gave the result of another operation.
            _ => Step::Failed(DiskError::Failed),
        }
    }

    fn scan(&mut self, segment: SegmentId) -> Step {
        let mut scan = Scan::new(self.size);
        let (offset, length) = scan.wants().expect("a segment has room for a record");
        self.stage = Stage::Scanning(segment, scan);
        Step::Ask(Op::Read { segment, offset, length })
    }

    /// The segment is read. What lies behind its last good record was never acknowledged, or is lost: it
    /// is cut off, so that nothing of it is ever taken for a record of later times.
    fn scanned(&mut self, segment: SegmentId) -> Step {
        let Stage::Scanning(_, scan) = core::mem::replace(&mut self.stage, Stage::Cutting) else {
            unreachable!("only a scan ends here")
        };
        self.found.damaged += scan.damaged;
        self.add(segment, &scan.entries);
        if scan.entries.is_empty() {
            // The spare one, or what is left of an attempt to make it.
            self.found.index.segments.remove(segment);
            return Step::Ask(Op::Delete { segment });
        }
        let end = scan.end.next_multiple_of(BLOCK);
        self.found.unfinished.push((segment, Unfinished { entries: scan.entries, end }));
        Step::Ask(Op::Cut { segment, offset: end, length: self.size })
    }

    fn add(&mut self, segment: SegmentId, entries: &[Entry]) {
        let last = entries.iter().map(|entry| entry.record.sequence).max().unwrap_or(0);
        self.found.last_sequence = self.found.last_sequence.max(last);
        self.found.index.found(segment, entries);
    }

    fn next_segment(&mut self) -> Step {
        if let Some(segment) = self.rest.pop_front() {
            self.stage = Stage::Trailer(segment);
            return Step::Ask(footer::probe(segment, self.size));
        }
        let none = Found::new(Index::new(self.size, 0));
        let mut found = core::mem::replace(&mut self.found, none);
        found.index.settle();
        let open = found.unfinished.iter().map(|(segment, _)| *segment).collect();
        found.index.segments.seal_all_but(&open);
        Step::Found(Box::new(found))
    }
}
