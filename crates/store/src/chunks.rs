//! Where each stored chunk is: rows of a table, packed to the bit.

use slotcast_protocol::ChunkId;

use crate::index::{Live, Place};
use crate::record::{HEADER, wanted_from};
use crate::segments::Segments;
use crate::table::{MAX_VALUE, Table, Value};

/// Bits of what is wanted, as they are in a record, and one for what cannot be read.
const STATE_BITS: u32 = 6;
const UNREADABLE: u128 = 1 << 5;

/// Bits of a place, in lines of 64 bytes: segments of 128 TiB together.
pub(crate) const PLACE_BITS: u32 = 41;

/// How what is known of a chunk becomes the value of a row: state, length and place, behind one another from the
/// least bit on. A place is the number of a slot times the lines of a segment, and the line in the segment.
#[derive(Debug, Clone, Copy)]
struct Format {
    /// Lines of a segment.
    lines: u64,
    length_bits: u32,
    /// Bytes of a value.
    bytes: usize,
}

impl Format {
    fn of(segment_size: u64) -> Format {
        let length_bits = u64::BITS - (segment_size / 4).leading_zeros();
        let bits = STATE_BITS + length_bits + PLACE_BITS;
        Format {
            lines: segment_size / HEADER as u64,
            length_bits,
            bytes: bits.div_ceil(u8::BITS) as usize,
        }
    }

    /// The segment of the chunk has this slot.
    fn encode(&self, live: &Live, slot: u32) -> Value {
        let line = u64::from(live.place.offset) / HEADER as u64;
        let place = u64::from(slot) * self.lines + line;
        let unreadable = if live.is_unreadable { UNREADABLE } else { 0 };
        let bits = u128::from(place) << self.length_bits | u128::from(live.length);
        let bits = bits << STATE_BITS | unreadable | u128::from(live.wanted.to_byte());
        let mut value = [0; MAX_VALUE];
        value[..self.bytes].copy_from_slice(&bits.to_le_bytes()[..self.bytes]);
        value
    }

    fn decode(&self, value: &Value, segments: &Segments) -> Live {
        let mut bits = [0; 16];
        bits[..self.bytes].copy_from_slice(&value[..self.bytes]);
        let bits = u128::from_le_bytes(bits);
        let rest = bits >> STATE_BITS;
        let place = rest >> self.length_bits;
        let (place, length) = (narrowed(place), narrowed(rest & ((1 << self.length_bits) - 1)));
        let (slot, line) = (place / self.lines, place % self.lines);
        Live {
            place: Place {
                segment: segments.in_slot(u32::try_from(slot).expect("few slots")),
                offset: u32::try_from(line * HEADER as u64).expect("a segment is short"),
            },
            length: u32::try_from(length).expect("a chunk is short"),
            wanted: wanted_from((bits & (UNREADABLE - 1)) as u8),
            is_unreadable: bits & UNREADABLE != 0,
        }
    }
}

fn narrowed(bits: u128) -> u64 {
    u64::try_from(bits).expect("it has fewer bits")
}

/// Segments that a store can have whose segments have this size, in bytes: 128 TiB of them.
pub(crate) fn max_segments(segment_size: u64) -> u32 {
    let slots = (1 << PLACE_BITS) / (segment_size / HEADER as u64);
    u32::try_from(slots).unwrap_or(u32::MAX)
}

/// The stored chunks of a target. See [`Table`] for what looking up and changing costs.
///
/// With segments of 64 MiB a chunk takes 9 bytes and its name, less what follows from its place: below 40 bytes for
/// ten million chunks, everything included.
#[derive(Debug)]
pub(crate) struct Chunks {
    table: Table,
    format: Format,
}

impl Chunks {
    /// No chunks.
    pub(crate) fn new(segment_size: u64) -> Chunks {
        let format = Format::of(segment_size);
        Chunks { table: Table::new(format.bytes), format }
    }

    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    pub(crate) fn contains(&self, chunk: &ChunkId) -> bool {
        self.table.get(chunk).is_some()
    }

    pub(crate) fn get(&self, chunk: &ChunkId, segments: &Segments) -> Option<Live> {
        self.table.get(chunk).map(|value| self.format.decode(&value, segments))
    }

    /// Inserts a chunk, or changes what is known of it. Its segment has a slot.
    pub(crate) fn set(&mut self, chunk: &ChunkId, live: &Live, segments: &Segments) {
        let slot = segments.slot(live.place.segment);
        self.table.set(chunk, &self.format.encode(live, slot));
    }

    /// What [`Chunks::fill`] takes for a chunk whose segment has this slot.
    pub(crate) fn row(&self, chunk: &ChunkId, live: &Live, slot: u32) -> (ChunkId, Value) {
        (*chunk, self.format.encode(live, slot))
    }

    /// As [`Table::fill`] does.
    pub(crate) fn fill(&mut self, prefix: u64, depth: u32, rows: &[(ChunkId, Value)]) {
        self.table.fill(prefix, depth, rows);
    }

    pub(crate) fn remove(&mut self, chunk: &ChunkId) {
        self.table.remove(chunk);
    }

    /// Names of chunks that are not known to be unreadable, in order, from `from` on.
    pub(crate) fn readable(&self, from: ChunkId) -> impl Iterator<Item = ChunkId> {
        let is_readable = |value: &Value| u128::from(value[0]) & UNREADABLE == 0;
        self.table.rows(from).filter(move |(_, value)| is_readable(value)).map(|(chunk, _)| chunk)
    }
}

const _: () = assert!(STATE_BITS + 30 + PLACE_BITS <= 8 * MAX_VALUE as u32);

#[cfg(test)]
mod tests {
    use slotcast_protocol::{Claim, Wanted};

    use super::*;
    use crate::io::SegmentId;

    #[test]
    fn what_is_known_of_a_chunk_comes_back() {
        for size in [64 << 10, 64 << 20, (1 << 30) + 4096, 2 << 30] {
            let mut segments = Segments::new(50);
            segments.insert(SegmentId(3));
            segments.insert(SegmentId(u32::MAX));
            let mut chunks = Chunks::new(size);
            let last = u32::try_from(size - 64).expect("32 bits");
            for (n, segment, offset, length) in
                [(1, 3, 0, 0), (2, u32::MAX, last, size / 4), (3, u32::MAX, 64, 1), (4, 3, last, 7)]
            {
                let place = Place { segment: SegmentId(segment), offset };
                let length = u32::try_from(length).expect("32 bits");
                let claim = if n < 3 { Claim::Names } else { Claim::Bare };
                let wanted = Wanted { replicas: n * 2, claim };
                let live = Live { place, length, wanted, is_unreadable: n % 2 == 0 };
                let chunk = ChunkId([n; 32]);
                chunks.set(&chunk, &live, &segments);
                assert_eq!(chunks.get(&chunk, &segments), Some(live));
            }
            assert!(chunks.readable(ChunkId([0; 32])).eq([1, 3].map(|n| ChunkId([n; 32]))));
        }
    }

    #[test]
    fn the_last_slot_has_room_in_a_row() {
        for size in [64 << 10, 64 << 20, 2 << 30] {
            let format = Format::of(size);
            let last = u64::from(max_segments(size)) * format.lines;
            assert!(last <= 1 << PLACE_BITS, "{size}");
        }
        assert_eq!(Format::of(64 << 20).bytes, 9);
        assert_eq!(max_segments(64 << 20), 2 << 20);
    }
}
