//! What is stored in each range of names, as a sum.

use alloc::vec;
use alloc::vec::Vec;

use slotcast_protocol::ranges::{RANGE_BITS, RangeSum, chunk_sum, range_of};
use slotcast_protocol::{ChunkId, Wanted};

/// The sums of ranges of all widths, from that of all names to the finest ones: 512 KiB.
#[derive(Debug)]
pub(crate) struct Sums {
    /// Those of `bits` bits begin at `1 << bits`.
    ranges: Vec<RangeSum>,
}

impl Default for Sums {
    fn default() -> Sums {
        Sums { ranges: vec![RangeSum::default(); 2 << RANGE_BITS] }
    }
}

impl Sums {
    /// A chunk is stored from now on. O(1).
    pub(crate) fn add(&mut self, chunk: &ChunkId, wanted: Wanted) {
        let sum = chunk_sum(chunk, wanted);
        self.change(chunk, |range| {
            range.sum = range.sum.wrapping_add(sum);
            range.chunks += 1;
        });
    }

    /// A chunk is stored, as [`Sums::fold`] will make known. O(1).
    pub(crate) fn add_finest(&mut self, chunk: &ChunkId, wanted: Wanted) {
        let at = (1 << RANGE_BITS) + range_of(chunk, RANGE_BITS) as usize;
        let range = &mut self.ranges[at];
        range.sum = range.sum.wrapping_add(chunk_sum(chunk, wanted));
        range.chunks += 1;
    }

    /// After finest ranges were added to, makes the sums of the wider ones. O(ranges).
    pub(crate) fn fold(&mut self) {
        for at in (1..1 << RANGE_BITS).rev() {
            let (low, high) = (self.ranges[2 * at], self.ranges[2 * at + 1]);
            let sum = low.sum.wrapping_add(high.sum);
            self.ranges[at] = RangeSum { sum, chunks: low.chunks + high.chunks };
        }
    }

    /// It is not any more. O(1).
    pub(crate) fn remove(&mut self, chunk: &ChunkId, wanted: Wanted) {
        let sum = chunk_sum(chunk, wanted);
        self.change(chunk, |range| {
            range.sum = range.sum.wrapping_sub(sum);
            range.chunks -= 1;
        });
    }

    fn change(&mut self, chunk: &ChunkId, change: impl Fn(&mut RangeSum)) {
        for bits in 0..=RANGE_BITS {
            change(&mut self.ranges[(1 << bits) + range_of(chunk, bits) as usize]);
        }
    }

    /// What is stored of the names whose first `bits` bits, 0 to 14, are `range`. O(1).
    pub(crate) fn get(&self, bits: u8, range: u32) -> RangeSum {
        let at = (1 << bits.min(RANGE_BITS)) + range as usize;
        self.ranges.get(at).copied().unwrap_or_default()
    }
}
