//! Which record of a chunk holds, and what of a segment is still of use.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use slotcast_protocol::ChunkId;
use slotcast_protocol::ranges::RangeSum;

use crate::chunks::Chunks;
use crate::footer::Entry;
use crate::io::SegmentId;
use crate::record::{Kind, Record};
use crate::segments::Segments;
use crate::sequences::Sequences;
use crate::sums::Sums;

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
    pub(crate) replicas: u8,
    /// The disk could not read it when that was last tried: it does not count as stored, and its record is kept,
    /// since it may be readable another time.
    pub(crate) is_unreadable: bool,
}

/// A removal that must be kept, because a record that it voids is still on disk.
#[derive(Debug, Clone, Copy)]
struct Removal {
    place: Place,
    sequence: u64,
}

/// Where a record comes from that is on disk now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// It was asked for, and no record is younger.
    New,
    /// Compaction has copied the record that was there, which held when the copy was made.
    CopyOf(Place),
}

/// What a new record means to the one of the chunk that holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Age {
    /// The store is open: what is older follows from where the record comes from.
    Known(Origin),
    /// It is being opened: sequence numbers decide.
    BySequence,
}

/// Entries that are gathered before they are added. In the order of names, neighbours go to the same part of the
/// index, which is then in the processor's cache.
const GATHERED: usize = 1 << 18;

/// The index of a store. Every operation is O(log n).
///
/// Once the store is open nothing is known of the sequence numbers of its records: a new record is younger than all
/// others, and of a copy it is known which record it is a copy of.
#[derive(Debug)]
pub(crate) struct Index {
    chunks: Chunks,
    removals: BTreeMap<ChunkId, Removal>,
    /// Records of puts that hold no more and are still on disk, of each chunk that has any.
    void: BTreeMap<ChunkId, u32>,
    pub(crate) segments: Segments,
    /// Records that were found and are not added yet.
    found: Vec<(SegmentId, Entry)>,
    /// While the store is opened: of all records that were found.
    sequences: Sequences,
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
            removals: BTreeMap::new(),
            void: BTreeMap::new(),
            segments: Segments::new(compact_below),
            found: Vec::new(),
            sequences: Sequences::default(),
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
                self.sums.remove(chunk, live.replicas);
            }
            false => {
                self.unreadable -= 1;
                self.sums.add(chunk, live.replicas);
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
        self.chunks.contains(chunk)
            || (self.void.contains_key(chunk) && !self.removals.contains_key(chunk))
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

    /// These records were found in a segment when the store was opened. Segments may be told in any order, copies
    /// included. [`Index::settle`] must follow.
    pub(crate) fn found(&mut self, segment: SegmentId, entries: &[Entry]) {
        self.segments.insert(segment);
        self.sequences.add(segment, entries);
        self.found.extend(entries.iter().map(|entry| (segment, *entry)));
        if self.found.len() >= GATHERED {
            self.add_found();
        }
    }

    fn add_found(&mut self) {
        self.sequences.sort();
        let mut found = core::mem::take(&mut self.found);
        // Of equal records the one that was told last holds: this sort keeps their order.
        found.sort_by(|(_, a), (_, b)| {
            let (a, b) = (&a.record.chunk.0, &b.record.chunk.0);
            first_bytes(a).cmp(&first_bytes(b)).then_with(|| a.cmp(b))
        });
        for (segment, entry) in &found {
            self.add_of(*segment, *entry, Age::BySequence);
        }
        found.clear();
        self.found = found;
    }

    /// After everything was found: nothing is found any more, and removals that void nothing are of no use.
    pub(crate) fn settle(&mut self) {
        self.add_found();
        self.found = Vec::new();
        self.sequences = Sequences::default();
        let useless = |chunk: &ChunkId| !self.void.contains_key(chunk);
        let found: Vec<ChunkId> =
            self.removals.keys().filter(|chunk| useless(chunk)).copied().collect();
        for chunk in found {
            self.drop_removal(&chunk);
        }
    }

    /// A record was written, and is on disk; the store is open.
    pub(crate) fn add(&mut self, segment: SegmentId, entry: Entry, origin: Origin) {
        self.add_of(segment, entry, Age::Known(origin));
    }

    fn add_of(&mut self, segment: SegmentId, entry: Entry, age: Age) {
        let Entry { record, offset } = entry;
        let place = Place { segment, offset };
        self.segments.wrote(segment, record.extent());
        match record.kind {
            Kind::Put => self.add_put(record, place, age),
            Kind::Removal => self.add_removal(record, place, age),
        }
    }

    fn add_put(&mut self, record: Record, place: Place, age: Age) {
        let chunk = record.chunk;
        let live = self.find(&chunk);
        let beaten = match age {
            Age::Known(Origin::New) => false,
            // The copied record held: if another one does now, that was written meanwhile; and if none does, the chunk
            // was removed, or lost.
            Age::Known(Origin::CopyOf(from)) => live.is_none_or(|live| live.place != from),
            // Of two copies the one that was written later is as good, and stays when the other goes.
            Age::BySequence => {
                live.is_some_and(|live| self.sequences.of(live.place) > Some(record.sequence))
            }
        };
        let removed = self.removals.get(&chunk).is_some_and(|r| r.sequence > record.sequence);
        if beaten || removed {
            *self.void.entry(chunk).or_default() += 1;
            return;
        }
        if let Some(live) = live {
            self.count_out(&chunk, &live);
            *self.void.entry(chunk).or_default() += 1;
        }
        if let Some(removal) = self.removals.remove(&chunk) {
            self.segments.voids(removal.place.segment, REMOVAL_EXTENT);
        }
        let Record { length, replicas, .. } = record;
        let live = Live { place, length, replicas, is_unreadable: false };
        self.chunks.set(&chunk, &live, &self.segments);
        self.sums.add(&chunk, replicas);
        self.live_bytes += u64::from(length);
        self.segments.holds(place.segment, record.extent());
    }

    fn add_removal(&mut self, record: Record, place: Place, age: Age) {
        let chunk = record.chunk;
        if let Some(live) = self.find(&chunk) {
            let is_older = match age {
                Age::Known(Origin::New) => false,
                // The copied removal held, so the chunk was not stored: it was put meanwhile.
                Age::Known(Origin::CopyOf(_)) => true,
                Age::BySequence => self.sequences.of(live.place) > Some(record.sequence),
            };
            if is_older {
                return;
            }
            self.retire(chunk, &live);
        }
        if let Some(old) = self.removals.get(&chunk).copied() {
            // As of puts, of two copies the one that was written later stays: that may be in an older segment.
            if old.sequence > record.sequence {
                return;
            }
            self.segments.voids(old.place.segment, REMOVAL_EXTENT);
        }
        let Record { sequence, .. } = record;
        self.removals.insert(chunk, Removal { place, sequence });
        self.segments.holds(place.segment, REMOVAL_EXTENT);
    }

    /// A put's record holds no more, and is still on disk.
    fn retire(&mut self, chunk: ChunkId, live: &Live) {
        self.chunks.remove(&chunk);
        self.count_out(&chunk, live);
        *self.void.entry(chunk).or_default() += 1;
    }

    /// What was counted for a record is not any more.
    fn count_out(&mut self, chunk: &ChunkId, live: &Live) {
        self.unreadable -= usize::from(live.is_unreadable);
        if !live.is_unreadable {
            self.sums.remove(chunk, live.replicas);
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
            Kind::Removal => self.removals.get(chunk).is_some_and(|r| r.place == place),
        }
    }

    fn drop_removal(&mut self, chunk: &ChunkId) {
        let Some(removal) = self.removals.remove(chunk) else { return };
        self.segments.voids(removal.place.segment, REMOVAL_EXTENT);
    }

    /// The segment with these records is deleted; nothing in it holds.
    pub(crate) fn delete(&mut self, segment: SegmentId, entries: &[Entry]) {
        self.segments.remove(segment);
        for Entry { record, .. } in entries.iter().filter(|e| e.record.kind == Kind::Put) {
            let left = self.void.get_mut(&record.chunk).map(|count| {
                *count -= 1;
                *count
            });
            if left == Some(0) {
                self.void.remove(&record.chunk);
                self.drop_removal(&record.chunk);
            }
        }
    }
}

fn first_bytes(name: &[u8; 32]) -> u64 {
    u64::from_be_bytes(*name.first_chunk().expect("a name is longer"))
}

const REMOVAL_EXTENT: u64 = crate::record::HEADER as u64;

fn extent_of(length: u32) -> u64 {
    let chunk = ChunkId([0; 32]);
    Record { kind: Kind::Put, chunk, sequence: 0, length, replicas: 0 }.extent()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entry(kind: Kind, chunk: u8, sequence: u64, offset: u32) -> Entry {
        let length = if kind == Kind::Put { 100 } else { 0 };
        let chunk = ChunkId([chunk; 32]);
        Entry { record: Record { kind, chunk, sequence, length, replicas: 0 }, offset }
    }

    #[test]
    fn a_removal_is_needed_as_long_as_what_it_voids_is_on_disk() {
        let mut index = Index::new(64 << 20, 50);
        let put = entry(Kind::Put, 1, 1, 0);
        let removal = entry(Kind::Removal, 1, 2, 0);
        index.found(SegmentId(0), &[put]);
        index.found(SegmentId(1), &[removal]);
        index.settle();
        assert!(index.get(&ChunkId([1; 32])).is_none());
        assert!(index.holds(SegmentId(1), &removal));
        index.delete(SegmentId(0), &[put]);
        assert!(!index.holds(SegmentId(1), &removal));
        assert_eq!(index.segments.usage(SegmentId(1)).map(|usage| usage.live), Some(0));
    }

    /// Of a copy it is known which record it is a copy of, and that is enough.
    #[test]
    fn a_copy_holds_only_where_the_original_does() {
        let chunk = ChunkId([1; 32]);
        let original = Place { segment: SegmentId(0), offset: 0 };
        let copy = Origin::CopyOf(original);
        let mut index = Index::new(64 << 20, 50);
        index.add(SegmentId(0), entry(Kind::Put, 1, 1, 0), Origin::New);
        index.add(SegmentId(1), entry(Kind::Put, 1, 1, 0), copy);
        let place = |index: &Index| index.find(&chunk).map(|live| live.place.segment.0);
        assert_eq!(place(&index), Some(1));
        // Put anew while a second copy of it was on its way.
        index.add(SegmentId(2), entry(Kind::Put, 1, 2, 0), Origin::New);
        index.add(SegmentId(3), entry(Kind::Put, 1, 1, 0), copy);
        assert_eq!(place(&index), Some(2));
        // Removed, put again, and then comes a copy of the removal.
        index.add(SegmentId(4), entry(Kind::Removal, 1, 3, 0), Origin::New);
        index.add(SegmentId(5), entry(Kind::Put, 1, 1, 0), copy);
        assert_eq!(place(&index), None);
        index.add(SegmentId(6), entry(Kind::Put, 1, 4, 0), Origin::New);
        let removal = Place { segment: SegmentId(4), offset: 0 };
        index.add(SegmentId(7), entry(Kind::Removal, 1, 3, 0), Origin::CopyOf(removal));
        assert_eq!(place(&index), Some(6));
    }

    proptest! {
        /// However the segments are read, the same holds in the end.
        #[test]
        fn the_order_of_reading_does_not_matter(
            kinds in proptest::collection::vec((any::<bool>(), 0u8..4), 1..30),
            order in any::<u64>(),
        ) {
            let records: Vec<(SegmentId, Entry)> = kinds
                .iter()
                .enumerate()
                .map(|(n, (is_put, chunk))| {
                    let kind = if *is_put { Kind::Put } else { Kind::Removal };
                    let n = u32::try_from(n).unwrap();
                    (SegmentId(n / 3), entry(kind, *chunk, u64::from(n), n % 3 * 4096))
                })
                .collect();
            let build = |records: &[(SegmentId, Entry)]| {
                let mut index = Index::new(64 << 20, 50);
                for (segment, entry) in records {
                    index.found(*segment, &[*entry]);
                }
                index.settle();
                index
            };
            let mut shuffled = records.clone();
            let mut state = order;
            for i in (1..shuffled.len()).rev() {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                shuffled.swap(i, usize::try_from(state >> 33).unwrap() % (i + 1));
            }
            let (straight, other) = (build(&records), build(&shuffled));
            for (segment, entry) in &records {
                prop_assert_eq!(straight.holds(*segment, entry), other.holds(*segment, entry));
            }
            for (segment, usage) in straight.segments.usages() {
                prop_assert_eq!(Some(usage), other.segments.usage(segment));
                let held = records.iter().filter(|(s, e)| *s == segment && straight.holds(*s, e));
                prop_assert_eq!(usage.live, held.map(|(_, e)| e.record.extent()).sum::<u64>());
            }
            // The last record of a chunk decides.
            for chunk in 0..4 {
                let last = kinds.iter().rev().find(|(_, c)| *c == chunk);
                let stored = straight.get(&ChunkId([chunk; 32])).is_some();
                prop_assert_eq!(stored, last.is_some_and(|(is_put, _)| *is_put));
            }
        }
    }
}
