//! Gives the room of void records back: what holds of a segment is written anew, and the segment
//! deleted.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::footer::{Entry, Trailer};
use crate::index::{Index, Place};
use crate::io::{DiskError, Op, OpId, Output, SegmentId};
use crate::record::{Identity, Kind};
use crate::store::{TRIES, content_at};

/// Bytes that are read or wait to be written at a time.
pub(crate) const AHEAD: u64 = 8 << 20;

#[derive(Debug)]
enum Stage {
    Trailer(OpId),
    Entries(OpId, Trailer),
    Copying,
    Deleting(OpId),
}

/// What a compaction has the store do.
#[derive(Debug)]
pub(crate) enum Step {
    /// Ask for this operation, and tell its number with `asked`.
    Ask(Op, Purpose),
    /// Write this record anew, with the content that was read.
    Copy(Entry, bytes::Bytes),
    /// What is read is not the chunk.
    Lost(Entry),
    /// The disk cannot read the record: what it holds must not be deleted.
    Unreadable(Entry, DiskError),
    /// The footer cannot be read: leave this segment alone.
    GiveUp,
    /// The segment is deleted.
    Deleted(Vec<Entry>),
}

/// Why an operation is asked for.
#[derive(Debug)]
pub(crate) enum Purpose {
    Entries(Trailer),
    /// So often was this content asked for.
    Content(Entry, u8),
    Delete,
}

/// One segment on its way out.
#[derive(Debug)]
pub(crate) struct Compaction {
    pub(crate) segment: SegmentId,
    /// Counts the compactions of a store.
    pub(crate) number: u64,
    size: u64,
    stage: Stage,
    entries: Vec<Entry>,
    next: usize,
    /// What is being read, and how often it was asked for.
    reading: BTreeMap<OpId, (Entry, u8)>,
    /// Copies that are not on disk yet.
    copying: u32,
    ahead: u64,
}

impl Compaction {
    /// Of `segment`, whose trailer is read by `op`.
    pub(crate) fn new(segment: SegmentId, number: u64, size: u64, op: OpId) -> Compaction {
        Compaction {
            segment,
            number,
            size,
            stage: Stage::Trailer(op),
            entries: Vec::new(),
            next: 0,
            reading: BTreeMap::new(),
            copying: 0,
            ahead: 0,
        }
    }

    /// Whether `op` is one of this compaction's.
    pub(crate) fn waits_for(&self, op: OpId) -> bool {
        match self.stage {
            Stage::Trailer(mine) | Stage::Entries(mine, _) | Stage::Deleting(mine) => mine == op,
            Stage::Copying => self.reading.contains_key(&op),
        }
    }

    /// An operation that was wanted has this number.
    pub(crate) fn asked(&mut self, op: OpId, purpose: &Purpose) {
        match purpose {
            Purpose::Entries(trailer) => self.stage = Stage::Entries(op, *trailer),
            Purpose::Content(entry, tries) => {
                self.reading.insert(op, (*entry, *tries));
            }
            Purpose::Delete => self.stage = Stage::Deleting(op),
        }
    }

    /// The result of an operation. Says what to do at once; more may follow from `proceed`.
    pub(crate) fn done(
        &mut self,
        op: OpId,
        result: Result<Output, DiskError>,
        identity: &Identity,
    ) -> Option<Step> {
        match (&self.stage, result) {
            (Stage::Trailer(_), Ok(Output::Bytes(bytes))) => {
                match Trailer::decode(&bytes, identity) {
                    Some(trailer) => {
                        let read = trailer.op(self.segment, self.size);
                        Some(Step::Ask(read, Purpose::Entries(trailer)))
                    }
                    None => Some(Step::GiveUp),
                }
            }
            (Stage::Entries(_, trailer), Ok(Output::Bytes(bytes))) => {
                match trailer.entries(&bytes, identity) {
                    Some(entries) => {
                        self.entries = entries;
                        self.stage = Stage::Copying;
                        None
                    }
                    None => Some(Step::GiveUp),
                }
            }
            (Stage::Copying, result) => {
                let (entry, tries) = self.reading.remove(&op)?;
                match result {
                    Ok(Output::Content(content)) if content.chunk() == entry.record.chunk => {
                        Some(Step::Copy(entry, content.bytes().clone()))
                    }
                    Err(DiskError::Failed) if tries < TRIES => {
                        Some(Step::Ask(self.content_of(&entry), Purpose::Content(entry, tries + 1)))
                    }
                    Err(error) => Some(Step::Unreadable(entry, error)),
                    Ok(_) => {
                        self.ahead -= entry.record.extent();
                        Some(Step::Lost(entry))
                    }
                }
            }
            (Stage::Deleting(_), Ok(_)) => Some(Step::Deleted(core::mem::take(&mut self.entries))),
            _ => Some(Step::GiveUp),
        }
    }

    fn content_of(&self, entry: &Entry) -> Op {
        let place = Place { segment: self.segment, offset: entry.offset };
        content_at(place, entry.record.length)
    }

    /// Whether it reads what it is to copy.
    pub(crate) fn is_reading(&self) -> bool {
        !self.reading.is_empty()
    }

    /// A record waits to be written anew.
    pub(crate) fn copies(&mut self) {
        self.copying += 1;
    }

    /// A copy is on disk, or will not be written after all.
    pub(crate) fn copied(&mut self, extent: u64) {
        self.copying -= 1;
        self.ahead -= extent;
    }

    /// A record that was read is void by now.
    pub(crate) fn skipped(&mut self, extent: u64) {
        self.ahead -= extent;
    }

    /// What to do next, if anything; call it until there is nothing. `is_read` says whether somebody
    /// still reads from the segment.
    pub(crate) fn proceed(&mut self, index: &Index, is_read: bool) -> Option<Step> {
        if !matches!(self.stage, Stage::Copying) {
            return None;
        }
        while let Some(entry) = self.entries.get(self.next).copied() {
            if self.ahead > 0 && self.ahead + entry.record.extent() > AHEAD {
                return None;
            }
            self.next += 1;
            if !index.holds(self.segment, &entry) {
                continue;
            }
            self.ahead += entry.record.extent();
            return Some(match entry.record.kind {
                Kind::Removal => Step::Copy(entry, bytes::Bytes::new()),
                Kind::Put => Step::Ask(self.content_of(&entry), Purpose::Content(entry, 1)),
            });
        }
        let is_over = self.reading.is_empty() && self.copying == 0 && !is_read;
        is_over.then(|| Step::Ask(Op::Delete { segment: self.segment }, Purpose::Delete))
    }
}
