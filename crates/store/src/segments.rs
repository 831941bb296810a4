//! The segments of a store: what each holds, and which one compaction frees next.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

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

/// What is known of a segment, in 20 bytes: a store of 16 TB has a quarter of a million.
#[derive(Debug)]
struct Segment {
    id: SegmentId,
    /// As in [`Usage`]: a segment has at most 2 GiB.
    written: u32,
    live: u32,
    /// Chunks in it that could not be read: it is not compacted, since that would delete them.
    held: u32,
    /// It has its footer, or will never get one: nothing more is written to it.
    is_sealed: bool,
    /// Compaction leaves it alone for now.
    is_avoided: bool,
}

impl Segment {
    fn may_be_compacted(&self) -> bool {
        self.is_sealed && !self.is_avoided && self.held == 0
    }

    fn is_below(&self, share: u64) -> bool {
        let Usage { written, live } = self.usage();
        live * 100 < written * share || written == 0
    }

    fn usage(&self) -> Usage {
        Usage { written: u64::from(self.written), live: u64::from(self.live) }
    }
}

fn short(extent: u64) -> u32 {
    u32::try_from(extent).expect("a record is shorter than a segment")
}

/// The segments that may be compacted and of which less than `share` percent holds, least live bytes first, and
/// of equal ones the oldest first.
#[derive(Debug)]
struct Candidates {
    share: u64,
    queue: BTreeSet<(u32, SegmentId)>,
}

impl Candidates {
    fn of(share: u64) -> Candidates {
        Candidates { share, queue: BTreeSet::new() }
    }

    fn insert(&mut self, segment: &Segment) {
        if segment.may_be_compacted() && segment.is_below(self.share) {
            self.queue.insert((segment.live, segment.id));
        }
    }

    fn remove(&mut self, segment: &Segment) {
        self.queue.remove(&(segment.live, segment.id));
    }
}

/// All segments with records, and two priority queues of those that compaction may take, kept up to date with
/// every change.
///
/// A change costs O(log segments) where the segment is in a queue, or gets there. The segment that is being
/// written never is. Finding the victim costs O(log segments), whatever the number of chunks.
#[derive(Debug)]
pub(crate) struct Segments {
    /// By slot; those in free slots are what was there last.
    segments: Vec<Segment>,
    /// The slot of each segment, in the order of their numbers.
    slots: Vec<(SegmentId, u32)>,
    free_slots: BTreeSet<u32>,
    avoided: BTreeSet<SegmentId>,
    routine: Candidates,
    full: Candidates,
    total: Usage,
}

impl Segments {
    /// No segments; those of which less than `compact_below` percent holds are worth a compaction.
    pub(crate) fn new(compact_below: u8) -> Segments {
        Segments {
            segments: Vec::new(),
            slots: Vec::new(),
            free_slots: BTreeSet::new(),
            avoided: BTreeSet::new(),
            routine: Candidates::of(u64::from(compact_below)),
            full: Candidates::of(FULL_STORE_SHARE),
            total: Usage::default(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Takes memory for so many more segments.
    pub(crate) fn reserve(&mut self, count: usize) {
        self.segments.reserve_exact(count);
        self.slots.reserve_exact(count);
    }

    fn find(&self, id: SegmentId) -> Result<usize, usize> {
        self.slots.binary_search_by_key(&id, |(id, _)| *id)
    }

    /// Bytes of records that hold no more, in all segments. O(1).
    pub(crate) fn void_bytes(&self) -> u64 {
        self.total.written - self.total.live
    }

    /// A segment that records are written to, or read from; nothing happens if it is known.
    pub(crate) fn insert(&mut self, id: SegmentId) {
        let Err(at) = self.find(id) else { return };
        let segment =
            Segment { id, written: 0, live: 0, held: 0, is_sealed: false, is_avoided: false };
        let slot = match self.free_slots.pop_first() {
            Some(slot) => {
                self.segments[slot as usize] = segment;
                slot
            }
            None => {
                self.segments.push(segment);
                u32::try_from(self.segments.len() - 1).expect("segments are numbered with 32 bits")
            }
        };
        self.slots.insert(at, (id, slot));
    }

    /// The slot of a segment: the least number that no other segment had when it was made, so that places take few
    /// bits.
    ///
    /// # Panics
    /// If there is no such segment.
    pub(crate) fn slot(&self, id: SegmentId) -> u32 {
        let at = self.find(id).expect("a segment with records is known");
        self.slots[at].1
    }

    /// The segment in a slot.
    pub(crate) fn in_slot(&self, slot: u32) -> SegmentId {
        self.segments[slot as usize].id
    }

    /// Nothing more is written to the segment.
    pub(crate) fn seal(&mut self, id: SegmentId) {
        self.change(id, |segment| segment.is_sealed = true);
    }

    /// Every segment is sealed but those. O(segments).
    pub(crate) fn seal_all_but(&mut self, open: &BTreeSet<SegmentId>) {
        for (id, slot) in &self.slots {
            let segment = &mut self.segments[*slot as usize];
            segment.is_sealed = !open.contains(id);
            self.routine.insert(segment);
            self.full.insert(segment);
        }
    }

    /// Records of so many bytes together were found in a segment; all of them hold as far as is known.
    pub(crate) fn found(&mut self, id: SegmentId, extents: u64) {
        self.total.written += extents;
        self.total.live += extents;
        self.change(id, |segment| {
            segment.written += short(extents);
            segment.live += short(extents);
        });
    }

    /// A record of `extent` bytes that was found does not hold; the segment in `slot` is not sealed yet. O(1).
    pub(crate) fn void_in(&mut self, slot: u32, extent: u64) {
        let segment = &mut self.segments[slot as usize];
        debug_assert!(!segment.is_sealed, "it may be in a queue");
        segment.live -= short(extent);
        self.total.live -= extent;
    }

    /// A record of `extent` bytes is on disk.
    pub(crate) fn wrote(&mut self, id: SegmentId, extent: u64) {
        self.insert(id);
        self.total.written += extent;
        self.change(id, |segment| segment.written += short(extent));
    }

    /// A record of `extent` bytes holds.
    pub(crate) fn holds(&mut self, id: SegmentId, extent: u64) {
        self.total.live += extent;
        self.change(id, |segment| segment.live += short(extent));
    }

    /// A record of `extent` bytes holds no more. Where bits have rotted, its segment may have been deleted before
    /// it: nothing happens then.
    pub(crate) fn voids(&mut self, id: SegmentId, extent: u64) {
        if self.find(id).is_ok() {
            self.total.live -= extent;
            self.change(id, |segment| segment.live -= short(extent));
        }
    }

    /// The segment is deleted. O(segments), of which there are few to move.
    pub(crate) fn remove(&mut self, id: SegmentId) {
        let Ok(at) = self.find(id) else { return };
        let (_, slot) = self.slots.remove(at);
        let segment = &self.segments[slot as usize];
        self.routine.remove(segment);
        self.full.remove(segment);
        self.avoided.remove(&id);
        self.free_slots.insert(slot);
        let Usage { written, live } = segment.usage();
        self.total.written -= written;
        self.total.live -= live;
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
        (u64::from(*live) <= room).then_some(*id)
    }

    fn change(&mut self, id: SegmentId, change: impl FnOnce(&mut Segment)) {
        let Ok(at) = self.find(id) else { return };
        let segment = &mut self.segments[self.slots[at].1 as usize];
        if segment.may_be_compacted() {
            self.routine.remove(segment);
            self.full.remove(segment);
        }
        change(segment);
        self.routine.insert(segment);
        self.full.insert(segment);
    }

    #[cfg(test)]
    pub(crate) fn usage(&self, id: SegmentId) -> Option<Usage> {
        self.usages().find(|(known, _)| *known == id).map(|(_, usage)| usage)
    }

    #[cfg(test)]
    pub(crate) fn usages(&self) -> impl Iterator<Item = (SegmentId, Usage)> {
        self.slots.iter().map(|(id, slot)| (*id, self.segments[*slot as usize].usage()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
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
                let slots: BTreeSet<_> = known.keys().map(|id| segments.slot(*id)).collect();
                prop_assert_eq!(slots.len(), known.len());
                prop_assert!(known.keys().all(|id| segments.in_slot(segments.slot(*id)) == *id));
                prop_assert!(segments.segments.len() <= 12);
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
