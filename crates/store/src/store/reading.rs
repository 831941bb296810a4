//! Gets: content is given out only if its hash is its name.

use alloc::vec::Vec;

use slotcast_protocol::{ChunkId, Wanted};

use super::{Effect, ReadError, Reading, Store, StoreStatus, Ticket};
use crate::index::Place;
use crate::io::{DiskError, Op, Output};
use crate::record::HEADER;

/// How often a read is tried that fails, one right after the other.
pub(crate) const TRIES: u8 = 3;

/// So many reads that failed for good, and none in between that went well: the disk is taken for broken. So many of what was
/// written anew, whatever else went well, say the same.
const TOO_MANY: u32 = 8;

/// Reads the content of the record at `place`.
pub(crate) fn content_at(place: Place, length: u32) -> Op {
    let offset = u64::from(place.offset) + HEADER as u64;
    Op::ReadContent { segment: place.segment, offset, length: u64::from(length) }
}

impl Store {
    pub(super) fn get(&mut self, ticket: Ticket, chunk: ChunkId, effects: &mut Vec<Effect>) {
        if matches!(self.status(), StoreStatus::Opening | StoreStatus::Failed(_)) {
            return effects.push(Effect::NotFetched(ticket, ReadError::NotOpen));
        }
        // What could not be read is tried again: disks have bad moments.
        let Some(live) = self.index.find(&chunk) else {
            return effects.push(Effect::NotFetched(ticket, ReadError::NotFound));
        };
        self.read_content((live.place, live.length), chunk, Some(ticket), effects);
    }

    /// A chunk was written anew that could not be read: it is read back at once. A disk that takes what it cannot give back
    /// would otherwise count as one more replica until somebody asks for that chunk.
    pub(super) fn read_back(&mut self, chunk: ChunkId, effects: &mut Vec<Effect>) {
        if let Some(live) = self.index.find(&chunk) {
            self.read_content((live.place, live.length), chunk, None, effects);
        }
    }

    fn read_content(
        &mut self,
        (place, length): (Place, u32),
        chunk: ChunkId,
        ticket: Option<Ticket>,
        effects: &mut Vec<Effect>,
    ) {
        let op = self.ask(content_at(place, length), effects);
        self.reading.insert(op, Reading { ticket, chunk, place, length, tries: 1 });
    }

    pub(super) fn read(
        &mut self,
        reading: &Reading,
        result: Result<Output, DiskError>,
        effects: &mut Vec<Effect>,
    ) {
        let &Reading { ticket, chunk, place, length, tries } = reading;
        match result {
            Ok(Output::Content(content)) if content.chunk() == chunk => {
                self.can_read(chunk, place);
                match ticket {
                    Some(ticket) => effects.push(Effect::Fetched(ticket, content)),
                    None => self.unread_again = 0,
                }
            }
            Ok(_) => {
                effects.extend(ticket.map(|of| Effect::NotFetched(of, ReadError::Corrupt)));
                self.lose(chunk, place, effects);
            }
            Err(DiskError::Failed) if tries < TRIES => {
                let op = self.ask(content_at(place, length), effects);
                let reading = Reading { ticket, chunk, place, length, tries: tries + 1 };
                self.reading.insert(op, reading);
            }
            Err(error) => {
                effects.extend(ticket.map(|of| Effect::NotFetched(of, ReadError::Disk)));
                self.unread_again += u32::from(ticket.is_none());
                self.cannot_read((chunk, place), error, effects);
            }
        }
    }

    /// The record at `place` could be read: the disk is not as bad as it looked.
    pub(super) fn can_read(&mut self, chunk: ChunkId, place: Place) {
        self.unread_in_a_row = 0;
        if self.index.unreadable() > 0 && self.index.set_unreadable(&chunk, place, false) {
            self.index.segments.release(place.segment);
        }
    }

    /// The disk cannot read the record at `place`. That says nothing of what is on it: the chunk does not count
    /// as stored, others make up for it, and its record stays. Where nothing can be read any more, nothing more
    /// is written either.
    pub(super) fn cannot_read(
        &mut self,
        (chunk, place): (ChunkId, Place),
        error: DiskError,
        effects: &mut Vec<Effect>,
    ) {
        // That a chunk of which it is known, or that is elsewhere by now, cannot be read says nothing new.
        if self.index.set_unreadable(&chunk, place, true) {
            self.index.segments.hold_back(place.segment);
            let wanted = self.index.find(&chunk).map_or(Wanted::bare(0), |live| live.wanted);
            effects.push(Effect::Unreadable(chunk, self.meant(wanted)));
            self.unread_in_a_row += 1;
        }
        let is_writing = matches!(self.status(), StoreStatus::Open | StoreStatus::Full);
        let unread = self.unread_in_a_row.max(self.unread_again);
        if unread >= TOO_MANY && is_writing {
            self.stop_writing(error, effects);
        }
    }

    /// The record at `place` is not what its name says: the chunk is not stored here any more.
    pub(super) fn lose(&mut self, chunk: ChunkId, place: Place, effects: &mut Vec<Effect>) {
        if let Some(live) = self.index.find(&chunk).filter(|live| live.place == place) {
            self.index.lose(chunk, place);
            if live.is_unreadable {
                self.index.segments.release(place.segment);
            }
            self.statistics.lost += 1;
            effects.push(Effect::Lost(chunk, self.meant(live.wanted)));
            self.note_lost(chunk);
        }
    }
}
