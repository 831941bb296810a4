//! The segments of a store: what each holds, and which one compaction frees next.

use alloc::collections::{BTreeMap, BTreeSet};

use crate::io::SegmentId;

/// A full store compacts whatever gives back this much: a twentieth, in percent that must hold at most.
const FULL_STORE_SHARE: u64 = 95;

/// What a segment holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    /// Bytes of records, live or not.
    pub(crate) written: u64,
    /// Bytes of records that hold.
    pub(crate) live: u64,
}

/// How pressing compaction is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// The store has room: only segments of which little holds.
    Routine,
    /// The store is full: whatever gives room, if at most so many bytes of it hold.
    Room(u64),
}

#[derive(Debug, Default)]
struct Segment {
    usage: Usage,
    /// It has its footer, or will never get one: nothing more is written to it.
    is_sealed: bool,
    /// Compaction leaves it alone for now.
    is_avoided: bool,
    /// Chunks in it that could not be read: it is not compacted, since that would delete them.
    held: u32,
}

impl Segment {
    fn may_be_compacted(&self) -> bool {
        self.is_sealed && !self.is_avoided && self.held == 0
    }

    fn is_below(&self, share: u64) -> bool {
        let Usage { written, live } = self.usage;
        live * 100 < written * share || written == 0
    }
}

/// The segments that may be compacted and of which less than `share` percent holds, least live bytes first, and
/// of equal ones the oldest first.
#[derive(Debug)]
struct Candidates {
    share: u64,
    queue: BTreeSet<(u64, SegmentId)>,
}

impl Candidates {
    fn of(share: u64) -> Candidates {
        Candidates { share, queue: BTreeSet::new() }
    }

    fn insert(&mut self, id: SegmentId, segment: &Segment) {
        if segment.may_be_compacted() && segment.is_below(self.share) {
            self.queue.insert((segment.usage.live, id));
        }
    }

    fn remove(&mut self, id: SegmentId, segment: &Segment) {
        self.queue.remove(&(segment.usage.live, id));
    }
}

/// All segments with records, and two priority queues of those that compaction may take, kept up to date with
/// every change.
///
/// A change costs O(log segments) where the segment is in a queue, or gets there. The segment that is being
/// written never is. Finding the victim costs O(log segments), whatever the number of chunks.
#[derive(Debug)]
pub(crate) struct Segments {
    segments: BTreeMap<SegmentId, Segment>,
    avoided: BTreeSet<SegmentId>,
    routine: Candidates,
    full: Candidates,
    total: Usage,
}

impl Segments {
    /// No segments; those of which less than `compact_below` percent holds are worth a compaction.
    pub(crate) fn new(compact_below: u8) -> Segments {
        Segments {
            segments: BTreeMap::new(),
            avoided: BTreeSet::new(),
            routine: Candidates::of(u64::from(compact_below)),
            full: Candidates::of(FULL_STORE_SHARE),
            total: Usage::default(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.segments.len()
    }

    /// Bytes of records that hold no more, in all segments. O(1).
    pub(crate) fn void_bytes(&self) -> u64 {
        self.total.written - self.total.live
    }

    /// A segment that records are written to, or read from; nothing happens if it is known.
    pub(crate) fn insert(&mut self, id: SegmentId) {
        self.segments.entry(id).or_default();
    }

    /// Nothing more is written to the segment.
    pub(crate) fn seal(&mut self, id: SegmentId) {
        self.change(id, |segment| segment.is_sealed = true);
    }

    /// Every segment is sealed but those. O(segments).
    pub(crate) fn seal_all_but(&mut self, open: &BTreeSet<SegmentId>) {
        for (id, segment) in &mut self.segments {
            segment.is_sealed = !open.contains(id);
            self.routine.insert(*id, segment);
            self.full.insert(*id, segment);
        }
    }

    /// A record of `extent` bytes is on disk.
    pub(crate) fn wrote(&mut self, id: SegmentId, extent: u64) {
        self.insert(id);
        self.total.written += extent;
        self.change(id, |segment| segment.usage.written += extent);
    }

    /// A record of `extent` bytes holds.
    pub(crate) fn holds(&mut self, id: SegmentId, extent: u64) {
        self.total.live += extent;
        self.change(id, |segment| segment.usage.live += extent);
    }

    /// A record of `extent` bytes holds no more. Where bits have rotted, its segment may have been deleted before
    /// it: nothing happens then.
    pub(crate) fn voids(&mut self, id: SegmentId, extent: u64) {
        if self.segments.contains_key(&id) {
            self.total.live -= extent;
            self.change(id, |segment| segment.usage.live -= extent);
        }
    }

    /// The segment is deleted.
    pub(crate) fn remove(&mut self, id: SegmentId) {
        if let Some(segment) = self.segments.remove(&id) {
            self.routine.remove(id, &segment);
            self.full.remove(id, &segment);
            self.avoided.remove(&id);
            self.total.written -= segment.usage.written;
            self.total.live -= segment.usage.live;
        }
    }

    /// Compaction leaves the segment alone until [`Segments::avoid_none`]: its footer cannot be read, or there
    /// was no room.
    pub(crate) fn avoid(&mut self, id: SegmentId) {
        self.avoided.insert(id);
        self.change(id, |segment| segment.is_avoided = true);
    }

    /// O(avoided segments × log segments), each of which was avoided once.
    pub(crate) fn avoid_none(&mut self) {
        for id in core::mem::take(&mut self.avoided) {
            self.change(id, |segment| segment.is_avoided = false);
        }
    }

    /// One chunk more keeps the segment from being compacted.
    pub(crate) fn hold_back(&mut self, id: SegmentId) {
        self.change(id, |segment| segment.held += 1);
    }

    /// One chunk fewer does.
    pub(crate) fn release(&mut self, id: SegmentId) {
        self.change(id, |segment| segment.held = segment.held.saturating_sub(1));
    }

    /// The sealed segment of which the least holds, if that is little enough, among those that are not avoided or
    /// held back.
    pub(crate) fn victim(&self, need: Need) -> Option<SegmentId> {
        let (candidates, room) = match need {
            Need::Routine => (&self.routine, u64::MAX),
            Need::Room(room) => (&self.full, room),
        };
        let (live, id) = candidates.queue.first()?;
        (*live <= room).then_some(*id)
    }

    fn change(&mut self, id: SegmentId, change: impl FnOnce(&mut Segment)) {
        let Some(segment) = self.segments.get_mut(&id) else { return };
        if segment.may_be_compacted() {
            self.routine.remove(id, segment);
            self.full.remove(id, segment);
        }
        change(segment);
        self.routine.insert(id, segment);
        self.full.insert(id, segment);
    }

    #[cfg(test)]
    pub(crate) fn usage(&self, id: SegmentId) -> Option<Usage> {
        self.segments.get(&id).map(|segment| segment.usage)
    }

    #[cfg(test)]
    pub(crate) fn usages(&self) -> impl Iterator<Item = (SegmentId, Usage)> {
        self.segments.iter().map(|(id, segment)| (*id, segment.usage))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    const COMPACT_BELOW: u8 = 50;

    /// What a segment is, kept apart from what is tested.
    #[derive(Debug, Clone, Default)]
    struct Known {
        records: Vec<(u64, bool)>,
        is_sealed: bool,
        is_avoided: bool,
        held: u32,
    }

    /// Looks at every segment, as the definition of a victim has it.
    fn scan(known: &BTreeMap<SegmentId, Known>, need: Need) -> Option<SegmentId> {
        let (share, room) = match need {
            Need::Routine => (u64::from(COMPACT_BELOW), u64::MAX),
            Need::Room(room) => (95, room),
        };
        let usage = |segment: &Known| {
            let sum = |only_live: bool| -> u64 {
                segment.records.iter().filter(|(_, live)| *live || !only_live).map(|r| r.0).sum()
            };
            (sum(false), sum(true))
        };
        known
            .iter()
            .filter(|(_, segment)| segment.is_sealed && !segment.is_avoided && segment.held == 0)
            .map(|(id, segment)| (*id, usage(segment)))
            .filter(|(_, (written, live))| live * 100 < written * share || *written == 0)
            .filter(|(_, (_, live))| *live <= room)
            .min_by_key(|(id, (_, live))| (*live, *id))
            .map(|(id, _)| id)
    }

    fn apply(
        segments: &mut Segments,
        known: &mut BTreeMap<SegmentId, Known>,
        (what, id, n): (u8, u32, u64),
    ) {
        let id = SegmentId(id);
        let Some(segment) = known.get_mut(&id) else {
            segments.insert(id);
            known.insert(id, Known::default());
            return;
        };
        match what {
            0..=3 => {
                segments.wrote(id, n * 64);
                segments.holds(id, n * 64);
                segment.records.push((n * 64, true));
            }
            4..=8 => {
                if let Some((extent, live)) = segment.records.iter_mut().find(|(_, live)| *live) {
                    segments.voids(id, *extent);
                    *live = false;
                }
            }
            9..=11 => {
                segments.seal(id);
                segment.is_sealed = true;
            }
            12 => {
                segments.avoid(id);
                segment.is_avoided = true;
            }
            13 => {
                segments.avoid_none();
                known.values_mut().for_each(|segment| segment.is_avoided = false);
            }
            14 => {
                segments.hold_back(id);
                segment.held += 1;
            }
            15 => {
                segments.release(id);
                segment.held = segment.held.saturating_sub(1);
            }
            16 => {
                segments.remove(id);
                known.remove(&id);
            }
            _ => {
                let open: BTreeSet<_> = known
                    .iter()
                    .filter(|(_, segment)| !segment.is_sealed)
                    .map(|(id, _)| *id)
                    .collect();
                segments.seal_all_but(&open);
            }
        }
    }

    proptest! {
        /// After every change, for any need, the victim is the one that a look at all segments finds.
        #[test]
        fn the_victim_is_the_one_that_a_scan_finds(
            changes in proptest::collection::vec((0u8..18, 0u32..12, 1u64..20), 1..300),
            room in 0u64..3000,
        ) {
            let mut segments = Segments::new(COMPACT_BELOW);
            let mut known = BTreeMap::new();
            for change in changes {
                apply(&mut segments, &mut known, change);
                for need in [Need::Routine, Need::Room(room), Need::Room(u64::MAX)] {
                    prop_assert_eq!(segments.victim(need), scan(&known, need), "{:?}", need);
                }
                let void = known.values().flat_map(|segment| &segment.records);
                let void: u64 = void.filter(|(_, live)| !live).map(|(extent, _)| extent).sum();
                prop_assert_eq!(segments.void_bytes(), void);
                prop_assert_eq!(segments.len(), known.len());
            }
        }
    }

    /// The queues have what may be compacted, and nothing of what is left alone.
    #[test]
    fn what_is_left_alone_costs_a_search_nothing() {
        let mut segments = Segments::new(COMPACT_BELOW);
        for n in 0..1000 {
            segments.wrote(SegmentId(n), 640);
            segments.seal(SegmentId(n));
            segments.hold_back(SegmentId(n));
        }
        assert!(segments.routine.queue.is_empty() && segments.full.queue.is_empty());
        segments.release(SegmentId(7));
        assert_eq!(segments.full.queue.len(), 1);
        assert_eq!(segments.victim(Need::Routine), Some(SegmentId(7)));
    }
}
