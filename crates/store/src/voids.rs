//! What of removed and replaced chunks is still on disk.

#[cfg(test)]
use alloc::vec::Vec;

use slotcast_protocol::ChunkId;

use crate::chunks::PLACE_BITS;
use crate::index::Place;
use crate::record::HEADER;
use crate::segments::Segments;
use crate::table::{MAX_VALUE, Table, Value};

/// Bytes of a value: the count of void puts, whether a removal is on record, and its place.
const BYTES: usize = 9;
const COUNT_BITS: u32 = 29;

/// A count that is never exceeded, nor left again: 34 GB of records of one chunk. Its removal is kept.
const MAX_COUNT: u32 = (1 << COUNT_BITS) - 1;

/// What is void of a chunk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Void {
    /// Records of puts that hold no more and are still on disk.
    pub(crate) puts: u32,
    /// The removal that must be kept, because one of them would hold without it.
    pub(crate) removal: Option<Place>,
}

/// The chunks with records that hold no more, and their removals: some 40 bytes for each, names included. See
/// [`Table`] for what looking up and changing costs.
#[derive(Debug)]
pub(crate) struct Voids {
    table: Table,
    /// Lines of a segment.
    lines: u64,
}

impl Voids {
    /// None, in segments of this size.
    pub(crate) fn new(segment_size: u64) -> Voids {
        Voids { table: Table::new(BYTES), lines: segment_size / HEADER as u64 }
    }

    pub(crate) fn get(&self, chunk: &ChunkId, segments: &Segments) -> Void {
        self.table.get(chunk).map_or(Void::default(), |value| self.decode(&value, segments))
    }

    /// Changes what is known of a chunk. Where nothing is void and nothing removed, nothing is kept.
    pub(crate) fn set(&mut self, chunk: &ChunkId, void: Void, segments: &Segments) {
        if void == Void::default() {
            return self.table.remove(chunk);
        }
        let slot = void.removal.map_or(0, |place| segments.slot(place.segment));
        let (_, value) = self.row(chunk, void, slot);
        self.table.set(chunk, &value);
    }

    /// What [`Voids::fill`] takes for a chunk whose removal is in the segment in `slot`, if there is one.
    pub(crate) fn row(&self, chunk: &ChunkId, void: Void, slot: u32) -> (ChunkId, Value) {
        let line = void.removal.map_or(0, |place| u64::from(place.offset) / HEADER as u64);
        let place = if void.removal.is_some() { u64::from(slot) * self.lines + line } else { 0 };
        let bits = u128::from(place) << 1 | u128::from(void.removal.is_some());
        let bits = bits << COUNT_BITS | u128::from(void.puts.min(MAX_COUNT));
        let mut value = [0; MAX_VALUE];
        value[..BYTES].copy_from_slice(&bits.to_le_bytes()[..BYTES]);
        (*chunk, value)
    }

    /// As [`Table::fill`] does.
    pub(crate) fn fill(&mut self, prefix: u64, depth: u32, rows: &[(ChunkId, Value)]) {
        self.table.fill(prefix, depth, rows);
    }

    fn decode(&self, value: &Value, segments: &Segments) -> Void {
        let mut bits = [0; 16];
        bits[..BYTES].copy_from_slice(&value[..BYTES]);
        let bits = u128::from_le_bytes(bits);
        let removal = (bits >> COUNT_BITS & 1 == 1).then(|| {
            let place = u64::try_from(bits >> (COUNT_BITS + 1)).expect("it has fewer bits");
            let (slot, line) = (place / self.lines, place % self.lines);
            Place {
                segment: segments.in_slot(u32::try_from(slot).expect("few slots")),
                offset: u32::try_from(line * HEADER as u64).expect("a segment is short"),
            }
        });
        Void { puts: (bits & u128::from(MAX_COUNT)) as u32, removal }
    }

    /// Of all chunks of which something is void.
    #[cfg(test)]
    pub(crate) fn all(&self, segments: &Segments) -> Vec<(ChunkId, Void)> {
        let rows = self.table.rows(ChunkId([0; 32]));
        rows.map(|(chunk, value)| (chunk, self.decode(&value, segments))).collect()
    }
}

impl Void {
    /// One more record of a put is void.
    pub(crate) fn and_a_put(self) -> Void {
        Void { puts: (self.puts + 1).min(MAX_COUNT), ..self }
    }

    /// One fewer is on disk. A removal that voids nothing is of no use.
    pub(crate) fn less_a_put(self) -> Void {
        match self.puts {
            MAX_COUNT => self,
            0 | 1 => Void::default(),
            puts => Void { puts: puts - 1, ..self },
        }
    }
}

const _: () = assert!(COUNT_BITS + 1 + PLACE_BITS <= 8 * BYTES as u32);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::SegmentId;

    #[test]
    fn what_is_void_comes_back() {
        let size = 64 << 20;
        let mut segments = Segments::new(50);
        for n in [3, 9, u32::MAX] {
            segments.insert(SegmentId(n));
        }
        let mut voids = Voids::new(size);
        let last = u32::try_from(size - 64).expect("32 bits");
        let place = |n, offset| Some(Place { segment: SegmentId(n), offset });
        let some = [
            Void { puts: 1, removal: None },
            Void { puts: MAX_COUNT, removal: place(u32::MAX, last) },
            Void { puts: 0, removal: place(3, 0) },
            Void { puts: 7, removal: place(9, 64) },
        ];
        for (n, void) in (0..).zip(some) {
            voids.set(&ChunkId([n; 32]), void, &segments);
            assert_eq!(voids.get(&ChunkId([n; 32]), &segments), void);
        }
        assert_eq!(voids.get(&ChunkId([77; 32]), &segments), Void::default());
        assert_eq!(voids.all(&segments).len(), 4);
        voids.set(&ChunkId([3; 32]), Void::default(), &segments);
        assert_eq!(voids.all(&segments).len(), 3);
    }

    /// A removal is kept rather than lost when records of one chunk were not all counted.
    #[test]
    fn a_count_that_is_full_stays_so() {
        let full = Void { puts: MAX_COUNT - 1, removal: None }.and_a_put();
        assert_eq!(full.and_a_put(), full);
        assert_eq!(full.less_a_put(), full);
        assert_eq!(Void { puts: 1, removal: None }.less_a_put(), Void::default());
    }
}
