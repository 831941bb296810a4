//! Makes the index of a store from all of its records.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use bytes::Bytes;

use crate::footer::{ENTRY, Entry, Trailer};
use crate::index::Index;
use crate::io::SegmentId;
use crate::record::Identity;
use crate::rows::Rows;
use crate::scan::Scan;

/// Rows that are indexed in one piece of work: some milliseconds.
const PIECE: usize = 1 << 15;

/// A footer as it was read.
#[derive(Debug)]
pub(crate) struct Footer {
    pub(crate) segment: SegmentId,
    pub(crate) trailer: Trailer,
    pub(crate) entries: Bytes,
}

/// All that was found so far, and the index that is made of it.
#[derive(Debug)]
pub(crate) struct Recovery {
    identity: Identity,
    rows: Rows,
    index: Index,
    /// The highest sequence number of all records.
    last_sequence: u64,
}

impl Recovery {
    /// Nothing is found yet; what is found goes to `index`, which is empty.
    pub(crate) fn new(identity: Identity, index: Index) -> Recovery {
        Recovery { identity, rows: Rows::new(), index, last_sequence: 0 }
    }

    /// These segments are there, in order. Segments have slots in their order, so that of two copies of a record the
    /// one in the later segment is known by its slot.
    fn list(&mut self, segments: &[SegmentId]) {
        self.index.segments.reserve(segments.len());
        segments.iter().for_each(|segment| self.index.segments.insert(*segment));
    }

    /// Adds what the footer lists; false, and nothing happens, if it is not what was written.
    fn add_footer(&mut self, footer: &Footer) -> bool {
        let entries = footer.trailer.checked(&footer.entries, &self.identity);
        if let Some(entries) = entries {
            self.add(footer.segment, entries);
        }
        entries.is_some()
    }

    /// Adds the records of a segment, each once.
    pub(crate) fn add(&mut self, segment: SegmentId, entries: &[[u8; ENTRY]]) {
        let slot = self.index.segments.slot(segment);
        let mut extents = 0;
        for entry in entries {
            let record = Entry::decode(entry).record;
            extents += record.extent();
            self.last_sequence = self.last_sequence.max(record.sequence);
            self.rows.push(entry, slot);
        }
        self.index.segments.found(segment, extents);
    }

    /// Reads on in a scan. Once it has ended, adds what it has found.
    fn scan(&mut self, segment: SegmentId, scan: &mut Scan, bytes: &Bytes) -> Option<(u64, u64)> {
        let wants = scan.read(bytes, &self.identity);
        if wants.is_none() {
            let entries: Vec<_> = scan.entries.iter().map(Entry::encode).collect();
            self.add(segment, &entries);
        }
        wants
    }

    /// Indexes the next rows; false if there are none, and the index is complete.
    pub(crate) fn build(&mut self) -> bool {
        let mut done = 0;
        while done < PIECE {
            let Some(section) = self.rows.section() else { return false };
            done += section.len();
            self.index.fill(&section);
        }
        true
    }

    /// After everything was indexed: `gone` are no segments of the store, and all but `open` are sealed.
    pub(crate) fn finish(mut self, gone: &[SegmentId], open: &BTreeSet<SegmentId>) -> (Index, u64) {
        gone.iter().for_each(|segment| self.index.segments.remove(*segment));
        self.index.filled();
        self.index.segments.seal_all_but(open);
        (self.index, self.last_sequence)
    }
}

/// What is to be done next.
#[derive(Debug)]
pub(crate) enum Task {
    /// These segments are there, in order.
    List(Vec<SegmentId>),
    /// Check and add these.
    Footers(Vec<Footer>),
    /// Go on with the scan of a segment.
    Scan(SegmentId, Scan, Bytes),
    /// Index some of what was found; in the end these are no segments, and all but those are sealed.
    Build(Vec<SegmentId>, BTreeSet<SegmentId>),
}

/// What came of it.
#[derive(Debug)]
pub(crate) enum Outcome {
    Listed,
    /// These are not what was written.
    Refused(Vec<SegmentId>),
    /// What to read next, as offset and length; none when the scan is over.
    Scanned(SegmentId, Scan, Option<(u64, u64)>),
    /// There is more to index.
    Building(Vec<SegmentId>, BTreeSet<SegmentId>),
    /// The index is complete; the highest sequence number of all records.
    Built(Box<Index>, u64),
}

/// A piece of the work of opening a store: a pure computation of some milliseconds, to be done where nobody waits
/// for it. See [`Store::take_work`](crate::Store::take_work).
#[derive(Debug)]
pub struct Work {
    pub(crate) recovery: Box<Recovery>,
    pub(crate) task: Task,
}

/// [`Work`] that is done: tell the store with [`Input::Worked`](crate::Input::Worked).
#[derive(Debug)]
pub struct Worked {
    /// None when all is done.
    pub(crate) recovery: Option<Box<Recovery>>,
    pub(crate) outcome: Outcome,
}

impl Work {
    /// Does it. O(bytes that were read), or O(n log n) for some tens of thousands of records.
    #[must_use]
    pub fn run(self) -> Worked {
        let Work { mut recovery, task } = self;
        let outcome = match task {
            Task::List(segments) => {
                recovery.list(&segments);
                Outcome::Listed
            }
            Task::Footers(footers) => {
                let refused = footers.into_iter().filter(|footer| !recovery.add_footer(footer));
                Outcome::Refused(refused.map(|footer| footer.segment).collect())
            }
            Task::Scan(segment, mut scan, bytes) => {
                let wants = recovery.scan(segment, &mut scan, &bytes);
                Outcome::Scanned(segment, scan, wants)
            }
            Task::Build(gone, open) if recovery.build() => Outcome::Building(gone, open),
            Task::Build(gone, open) => {
                let (index, last_sequence) = recovery.finish(&gone, &open);
                return Worked {
                    recovery: None,
                    outcome: Outcome::Built(Box::new(index), last_sequence),
                };
            }
        };
        Worked { recovery: Some(recovery), outcome }
    }
}
