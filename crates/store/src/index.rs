//! Which record of a chunk holds, and what of a segment is still of use.

mod filling;

use slotcast_protocol::ranges::RangeSum;
use slotcast_protocol::{ChunkId, Wanted};

use crate::chunks::Chunks;
use crate::footer::Entry;
use crate::io::SegmentId;
use crate::record::{Kind, Record};
use crate::segments::Segments;
use crate::sums::Sums;
use crate::voids::{Void, Voids};

/// Where a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) segment: SegmentId,
    pub(crate) offset: u32,
}

/// A chunk that is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Live {
    pub(crate) place: Place,
    pub(crate) length: u32,
    /// As in its record.
    pub(crate) wanted: Wanted,
    /// The disk could not read it when that was last tried: it does not count as stored, and its record is kept,
    /// since it may be readable another time.
    pub(crate) is_unreadable: bool,
}

/// Where a record comes from that is on disk now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// It was asked for, and no record is younger.
    New,
    /// Compaction has copied the record that was there, which held when the copy was made.
    CopyOf(Place),
}

/// The index of a store. Every operation is O(log n).
///
/// It is filled when the store is opened ([`Index::fill`]), by the sequence numbers of all records. Afterwards nothing
/// is known of these: a new record is younger than all others, and of a copy it is known which record it is a copy of.
#[derive(Debug)]
pub(crate) struct Index {
    chunks: Chunks,
    voids: Voids,
    pub(crate) segments: Segments,
    live_bytes: u64,
    /// Chunks that could not be read.
    unreadable: usize,
    /// Of those that can be read.
    sums: Sums,
}

impl Index {
    /// Of a store with segments of so many bytes, that compacts those of which less than `compact_below` percent
    /// holds.
    pub(crate) fn new(segment_size: u64, compact_below: u8) -> Index {
        Index {
            chunks: Chunks::new(segment_size),
            voids: Voids::new(segment_size),
            segments: Segments::new(compact_below),
            live_bytes: 0,
            unreadable: 0,
            sums: Sums::default(),
        }
    }

    /// A chunk that is stored, and can be read as far as is known.
    pub(crate) fn get(&self, chunk: &ChunkId) -> Option<Live> {
        self.find(chunk).filter(|live| !live.is_unreadable)
    }

    /// The same, whether it could be read or not.
    pub(crate) fn find(&self, chunk: &ChunkId) -> Option<Live> {
        self.chunks.get(chunk, &self.segments)
    }

    /// The record at `place` could not be read, or could; whether that is news.
    pub(crate) fn set_unreadable(
        &mut self,
        chunk: &ChunkId,
        place: Place,
        is_unreadable: bool,
    ) -> bool {
        let live = self.find(chunk).filter(|live| live.place == place);
        let Some(live) = live.filter(|live| live.is_unreadable != is_unreadable) else {
            return false;
        };
        self.chunks.set(chunk, &Live { is_unreadable, ..live }, &self.segments);
        match is_unreadable {
            true => {
                self.unreadable += 1;
                self.sums.remove(chunk, live.wanted);
            }
            false => {
                self.unreadable -= 1;
                self.sums.add(chunk, live.wanted);
            }
        }
        true
    }

    /// How many chunks could not be read.
    pub(crate) fn unreadable(&self) -> usize {
        self.unreadable
    }

    /// Whether something on disk would bring the chunk back if it were not removed: it is stored, or a
    /// record of it that could not be read still lies about.
    pub(crate) fn can_be_removed(&self, chunk: &ChunkId) -> bool {
        let void = self.void_of(chunk);
        self.chunks.contains(chunk) || (void.puts > 0 && void.removal.is_none())
    }

    pub(crate) fn len(&self) -> usize {
        self.chunks.len() - self.unreadable
    }

    /// Content of all stored chunks together, in bytes.
    pub(crate) fn content_bytes(&self) -> u64 {
        self.live_bytes
    }

    /// What is stored, and can be read, of a range of names. O(1).
    pub(crate) fn range_sum(&self, bits: u8, range: u32) -> RangeSum {
        self.sums.get(bits, range)
    }

    /// Names in order, from `from` on.
    pub(crate) fn names(&self, from: ChunkId) -> impl Iterator<Item = ChunkId> {
        self.chunks.readable(from)
    }

    /// A record was written, and is on disk.
    pub(crate) fn add(&mut self, segment: SegmentId, entry: Entry, origin: Origin) {
        let Entry { record, offset } = entry;
        let place = Place { segment, offset };
        self.segments.wrote(segment, record.extent());
        match record.kind {
            Kind::Put => self.add_put(record, place, origin),
            Kind::Removal => self.add_removal(record.chunk, place, origin),
        }
    }

    fn add_put(&mut self, record: Record, place: Place, origin: Origin) {
        let chunk = record.chunk;
        let live = self.find(&chunk);
        if let Origin::CopyOf(from) = origin
            && live.is_none_or(|live| live.place != from)
        {
            // The copied record held: if another one does now, that was written meanwhile; and if none does, the chunk
            // was removed, or lost.
            return self.set_void(&chunk, self.void_of(&chunk).and_a_put());
        }
        if let Some(live) = live {
            self.count_out(&chunk, &live);
            self.set_void(&chunk, self.void_of(&chunk).and_a_put());
        }
        self.drop_removal(&chunk);
        let Record { length, wanted, .. } = record;
        let live = Live { place, length, wanted, is_unreadable: false };
        self.chunks.set(&chunk, &live, &self.segments);
        self.sums.add(&chunk, wanted);
        self.live_bytes += u64::from(length);
        self.segments.holds(place.segment, record.extent());
    }

    fn add_removal(&mut self, chunk: ChunkId, place: Place, origin: Origin) {
        match origin {
            // The copied removal held: if it does no more, the chunk was put meanwhile.
            Origin::CopyOf(from) if self.void_of(&chunk).removal != Some(from) => return,
            Origin::CopyOf(_) => {}
            Origin::New => {
                if let Some(live) = self.find(&chunk) {
                    self.retire(chunk, &live);
                }
            }
        }
        // Compaction may have deleted what it was to void.
        if self.void_of(&chunk).puts == 0 {
            return;
        }
        self.drop_removal(&chunk);
        self.set_void(&chunk, Void { removal: Some(place), ..self.void_of(&chunk) });
        self.segments.holds(place.segment, REMOVAL_EXTENT);
    }

    /// A put's record holds no more, and is still on disk.
    fn retire(&mut self, chunk: ChunkId, live: &Live) {
        self.chunks.remove(&chunk);
        self.count_out(&chunk, live);
        self.set_void(&chunk, self.void_of(&chunk).and_a_put());
    }

    fn void_of(&self, chunk: &ChunkId) -> Void {
        self.voids.get(chunk, &self.segments)
    }

    fn set_void(&mut self, chunk: &ChunkId, void: Void) {
        self.voids.set(chunk, void, &self.segments);
    }

    /// What was counted for a record is not any more.
    fn count_out(&mut self, chunk: &ChunkId, live: &Live) {
        self.unreadable -= usize::from(live.is_unreadable);
        if !live.is_unreadable {
            self.sums.remove(chunk, live.wanted);
        }
        self.live_bytes -= u64::from(live.length);
        self.segments.voids(live.place.segment, extent_of(live.length));
    }

    /// The record at `place` cannot be read: the chunk is not stored here any more. Its record counts
    /// as void until its segment is deleted.
    pub(crate) fn lose(&mut self, chunk: ChunkId, place: Place) {
        if let Some(live) = self.find(&chunk).filter(|live| live.place == place) {
            self.retire(chunk, &live);
        }
    }

    /// Whether the record holds: a put that is the chunk's, or a removal that voids something.
    pub(crate) fn holds(&self, segment: SegmentId, entry: &Entry) -> bool {
        let place = Place { segment, offset: entry.offset };
        let chunk = &entry.record.chunk;
        match entry.record.kind {
            Kind::Put => self.find(chunk).is_some_and(|live| live.place == place),
            Kind::Removal => self.void_of(chunk).removal == Some(place),
        }
    }

    fn drop_removal(&mut self, chunk: &ChunkId) {
        let void = self.void_of(chunk);
        let Some(place) = void.removal else { return };
        self.set_void(chunk, Void { removal: None, ..void });
        self.segments.voids(place.segment, REMOVAL_EXTENT);
    }

    #[cfg(test)]
    fn known_void(&self) -> alloc::vec::Vec<(ChunkId, Void)> {
        self.voids.all(&self.segments)
    }

    /// The segment with these records is deleted; nothing in it holds.
    pub(crate) fn delete(&mut self, segment: SegmentId, entries: &[Entry]) {
        for Entry { record, offset } in entries {
            let void = self.void_of(&record.chunk);
            match record.kind {
                Kind::Put if void.puts == 1 => {
                    self.drop_removal(&record.chunk);
                    self.set_void(&record.chunk, Void::default());
                }
                Kind::Put if void.puts > 0 => self.set_void(&record.chunk, void.less_a_put()),
                // Where bits have rotted: its place must not be taken for one in another segment.
                Kind::Removal if void.removal == Some(Place { segment, offset: *offset }) => {
                    self.drop_removal(&record.chunk);
                }
                _ => {}
            }
        }
        self.segments.remove(segment);
    }
}

const REMOVAL_EXTENT: u64 = crate::record::HEADER as u64;

fn extent_of(length: u32) -> u64 {
    let chunk = ChunkId([0; 32]);
    Record { kind: Kind::Put, chunk, sequence: 0, length, wanted: Wanted::bare(0) }.extent()
}

#[cfg(test)]
mod one_by_one;
#[cfg(test)]
mod tests;
