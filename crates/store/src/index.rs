//! Which record of a chunk holds, and what of a segment is still of use.

use alloc::collections::BTreeMap;

use slotcast_protocol::ChunkId;
use slotcast_protocol::ranges::RangeSum;

use crate::footer::Entry;
use crate::io::SegmentId;
use crate::record::{Kind, Record};
use crate::segments::Segments;
use crate::sums::Sums;

/// Where a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) segment: SegmentId,
    pub(crate) offset: u32,
}

/// A chunk that is stored.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Live {
    pub(crate) place: Place,
    pub(crate) length: u32,
    /// As in its record.
    pub(crate) replicas: u8,
    /// The disk could not read it when that was last tried: it does not count as stored, and its record is kept,
    /// since it may be readable another time.
    pub(crate) is_unreadable: bool,
    sequence: u64,
}

/// A removal that must be kept, because a record that it voids is still on disk.
#[derive(Debug, Clone, Copy)]
struct Removal {
    place: Place,
    sequence: u64,
}

/// The index of a store. Every operation is O(log n).
///
/// About 100 bytes of memory a chunk.
#[derive(Debug)]
pub(crate) struct Index {
    chunks: BTreeMap<ChunkId, Live>,
    removals: BTreeMap<ChunkId, Removal>,
    /// Records of puts that hold no more and are still on disk, of each chunk that has any.
    void: BTreeMap<ChunkId, u32>,
    pub(crate) segments: Segments,
    live_bytes: u64,
    /// Chunks that could not be read.
    unreadable: usize,
    /// Of those that can be read.
    sums: Sums,
}

impl Index {
    /// Of a store that compacts segments of which less than `compact_below` percent holds.
    pub(crate) fn new(compact_below: u8) -> Index {
        Index {
            chunks: BTreeMap::new(),
            removals: BTreeMap::new(),
            void: BTreeMap::new(),
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
        self.chunks.get(chunk).copied()
    }

    /// The record at `place` could not be read, or could; whether that is news.
    pub(crate) fn set_unreadable(
        &mut self,
        chunk: &ChunkId,
        place: Place,
        is_unreadable: bool,
    ) -> bool {
        let Some(live) = self.chunks.get_mut(chunk).filter(|live| live.place == place) else {
            return false;
        };
        let is_news = live.is_unreadable != is_unreadable;
        live.is_unreadable = is_unreadable;
        match (is_news, is_unreadable) {
            (true, true) => {
                self.unreadable += 1;
                self.sums.remove(chunk, live.replicas);
            }
            (true, false) => {
                self.unreadable -= 1;
                self.sums.add(chunk, live.replicas);
            }
            (false, _) => {}
        }
        is_news
    }

    /// How many chunks could not be read.
    pub(crate) fn unreadable(&self) -> usize {
        self.unreadable
    }

    /// Whether something on disk would bring the chunk back if it were not removed: it is stored, or a
    /// record of it that could not be read still lies about.
    pub(crate) fn can_be_removed(&self, chunk: &ChunkId) -> bool {
        self.chunks.contains_key(chunk)
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
    pub(crate) fn names(&self, from: ChunkId) -> impl Iterator<Item = &ChunkId> {
        let readable = |(_, live): &(&ChunkId, &Live)| !live.is_unreadable;
        self.chunks.range(from..).filter(readable).map(|(chunk, _)| chunk)
    }

    /// A record is on disk. Records may be told in any order, copies included.
    pub(crate) fn add(&mut self, segment: SegmentId, entry: Entry) {
        let Entry { record, offset } = entry;
        let place = Place { segment, offset };
        self.segments.wrote(segment, record.extent());
        match record.kind {
            Kind::Put => self.add_put(record, place),
            Kind::Removal => self.add_removal(record, place),
        }
    }

    fn add_put(&mut self, record: Record, place: Place) {
        let chunk = record.chunk;
        let live = self.chunks.get(&chunk).copied();
        // Of two copies the one that was written later is as good, and stays when the other goes.
        let beaten = live.is_some_and(|live| live.sequence > record.sequence);
        let removed = self.removals.get(&chunk).is_some_and(|r| r.sequence > record.sequence);
        if beaten || removed {
            *self.void.entry(chunk).or_default() += 1;
            return;
        }
        if let Some(live) = live {
            self.retire(chunk, live);
        }
        if let Some(removal) = self.removals.remove(&chunk) {
            self.segments.voids(removal.place.segment, REMOVAL_EXTENT);
        }
        let Record { length, sequence, replicas, .. } = record;
        let live = Live { place, length, replicas, is_unreadable: false, sequence };
        self.chunks.insert(chunk, live);
        self.sums.add(&chunk, replicas);
        self.live_bytes += u64::from(length);
        self.segments.holds(place.segment, record.extent());
    }

    fn add_removal(&mut self, record: Record, place: Place) {
        let chunk = record.chunk;
        if let Some(live) = self.chunks.get(&chunk).copied() {
            if live.sequence > record.sequence {
                return;
            }
            self.retire(chunk, live);
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
    fn retire(&mut self, chunk: ChunkId, live: Live) {
        self.forget(chunk, live);
        *self.void.entry(chunk).or_default() += 1;
    }

    fn forget(&mut self, chunk: ChunkId, live: Live) {
        self.chunks.remove(&chunk);
        self.unreadable -= usize::from(live.is_unreadable);
        if !live.is_unreadable {
            self.sums.remove(&chunk, live.replicas);
        }
        self.live_bytes -= u64::from(live.length);
        self.segments.voids(live.place.segment, extent_of(live.length));
    }

    /// The record at `place` cannot be read: the chunk is not stored here any more. Its record counts
    /// as void until its segment is deleted.
    pub(crate) fn lose(&mut self, chunk: ChunkId, place: Place) {
        if let Some(live) = self.chunks.get(&chunk).copied().filter(|live| live.place == place) {
            self.retire(chunk, live);
        }
    }

    /// Whether the record holds: a put that is the chunk's, or a removal that voids something.
    pub(crate) fn holds(&self, segment: SegmentId, entry: &Entry) -> bool {
        let place = Place { segment, offset: entry.offset };
        let chunk = &entry.record.chunk;
        match entry.record.kind {
            Kind::Put => self.chunks.get(chunk).is_some_and(|live| live.place == place),
            Kind::Removal => self.removals.get(chunk).is_some_and(|r| r.place == place),
        }
    }

    /// After everything was added: removals that void nothing are of no use.
    pub(crate) fn settle(&mut self) {
        let useless = |chunk: &ChunkId| !self.void.contains_key(chunk);
        let found: alloc::vec::Vec<ChunkId> =
            self.removals.keys().filter(|chunk| useless(chunk)).copied().collect();
        for chunk in found {
            self.drop_removal(&chunk);
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

const REMOVAL_EXTENT: u64 = crate::record::HEADER as u64;

fn extent_of(length: u32) -> u64 {
    let chunk = ChunkId([0; 32]);
    Record { kind: Kind::Put, chunk, sequence: 0, length, replicas: 0 }.extent()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    fn entry(kind: Kind, chunk: u8, sequence: u64, offset: u32) -> Entry {
        let length = if kind == Kind::Put { 100 } else { 0 };
        let chunk = ChunkId([chunk; 32]);
        Entry { record: Record { kind, chunk, sequence, length, replicas: 0 }, offset }
    }

    #[test]
    fn a_removal_is_needed_as_long_as_what_it_voids_is_on_disk() {
        let mut index = Index::new(50);
        let put = entry(Kind::Put, 1, 1, 0);
        let removal = entry(Kind::Removal, 1, 2, 0);
        index.add(SegmentId(0), put);
        index.add(SegmentId(1), removal);
        assert!(index.get(&ChunkId([1; 32])).is_none());
        assert!(index.holds(SegmentId(1), &removal));
        index.delete(SegmentId(0), &[put]);
        assert!(!index.holds(SegmentId(1), &removal));
        assert_eq!(index.segments.usage(SegmentId(1)).map(|usage| usage.live), Some(0));
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
                let mut index = Index::new(50);
                for (segment, entry) in records {
                    index.add(*segment, *entry);
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
