//! The plain reference of filling an index: takes one record after another, and sequence numbers decide which holds.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use slotcast_protocol::ChunkId;

use super::{Index, Live, Place};
use crate::footer::Entry;
use crate::io::SegmentId;
use crate::record::Kind;
use crate::segments::Usage;
use crate::voids::Void;

/// What is known after some of the records.
#[derive(Debug, Default)]
pub(super) struct OneByOne {
    live: BTreeMap<ChunkId, (Place, Entry)>,
    removals: BTreeMap<ChunkId, (Place, Entry)>,
    void: BTreeMap<ChunkId, u32>,
    usages: BTreeMap<SegmentId, Usage>,
}

impl OneByOne {
    /// Segments come in the order of their numbers: of equal records the one that comes last holds.
    pub(super) fn add(&mut self, segment: SegmentId, entry: Entry) {
        let place = Place { segment, offset: entry.offset };
        self.usages.entry(segment).or_default().written += entry.record.extent();
        match entry.record.kind {
            Kind::Put => self.add_put(place, entry),
            Kind::Removal => self.add_removal(place, entry),
        }
    }

    fn add_put(&mut self, place: Place, entry: Entry) {
        let chunk = entry.record.chunk;
        let is_younger = |other: Option<&(Place, Entry)>| {
            other.is_some_and(|(_, other)| other.record.sequence > entry.record.sequence)
        };
        if is_younger(self.live.get(&chunk)) || is_younger(self.removals.get(&chunk)) {
            *self.void.entry(chunk).or_default() += 1;
            return;
        }
        if self.live.remove(&chunk).is_some() {
            *self.void.entry(chunk).or_default() += 1;
        }
        self.removals.remove(&chunk);
        self.live.insert(chunk, (place, entry));
    }

    fn add_removal(&mut self, place: Place, entry: Entry) {
        let chunk = entry.record.chunk;
        if let Some((_, live)) = self.live.get(&chunk) {
            if live.record.sequence > entry.record.sequence {
                return;
            }
            self.live.remove(&chunk);
            *self.void.entry(chunk).or_default() += 1;
        }
        let before = self.removals.get(&chunk);
        if before.is_none_or(|(_, before)| before.record.sequence <= entry.record.sequence) {
            self.removals.insert(chunk, (place, entry));
        }
    }

    /// After all records: removals that void nothing are of no use.
    pub(super) fn settle(&mut self) {
        self.removals.retain(|chunk, _| self.void.contains_key(chunk));
        for (place, entry) in self.live.values().chain(self.removals.values()) {
            let usage = self.usages.get_mut(&place.segment).expect("it was added");
            usage.live += entry.record.extent();
        }
    }

    /// Panics unless `index` is in the same state.
    pub(super) fn assert_is(&self, index: &Index) {
        let live = self.live.iter().map(|(chunk, (place, entry))| {
            let (length, wanted) = (entry.record.length, entry.record.wanted);
            (*chunk, Live { place: *place, length, wanted, is_unreadable: false })
        });
        let names: Vec<_> = index.names(ChunkId([0; 32])).collect();
        let found = names.iter().map(|name| (*name, index.find(name).expect("it has a name")));
        assert!(live.eq(found), "{:?}, not {:?}", names, self.live);
        assert_eq!((index.len(), index.unreadable()), (self.live.len(), 0));
        let bytes = self.live.values().map(|(_, entry)| u64::from(entry.record.length)).sum();
        assert_eq!(index.content_bytes(), bytes);
        self.assert_sums(index);
        let void = self.void.iter().map(|(chunk, puts)| {
            let removal = self.removals.get(chunk).map(|(place, _)| *place);
            (*chunk, Void { puts: *puts, removal })
        });
        assert!(void.eq(index.known_void()), "void is not {:?}, {:?}", self.void, self.removals);
        assert!(self.usages.clone().into_iter().eq(index.segments.usages()));
        let void = self.usages.values().map(|usage| usage.written - usage.live).sum::<u64>();
        assert_eq!(index.segments.void_bytes(), void);
    }

    fn assert_sums(&self, index: &Index) {
        let mut sums = crate::sums::Sums::default();
        for (chunk, (_, entry)) in &self.live {
            sums.add(chunk, entry.record.wanted);
        }
        for bits in 0..=14 {
            for range in 0..1 << bits {
                assert_eq!(index.range_sum(bits, range), sums.get(bits, range));
            }
        }
    }
}
