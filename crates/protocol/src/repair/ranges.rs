//! Which ranges of names need not be looked at again.
//!
//! Members of a group hold different chunks of it, so their contents cannot be compared with each other. But what each
//! of them holds in a range of names has a sum, and when every chunk of this target in that range was found to be on
//! enough members, the sums of all of them are remembered. As long as nobody's sum changes, nothing has to be asked
//! again: a whole range costs a number in a message. What has changed anywhere in the group, also while somebody was
//! away, shows as another sum.
//!
//! Sums make scans fast and decide nothing for ever: after some time a scan believes none.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Bound;

use super::Inventory;
use crate::claim::Wanted;
use crate::ids::ChunkId;

/// The finest ranges are those of names that have so many bits in common.
pub const RANGE_BITS: u8 = 14;

/// Ranges that are compared at a time.
pub const COMPARED_RANGES: u8 = 64;

/// Chunks that there should be in a range, about.
const CHUNKS_PER_RANGE: u64 = 128;

/// What a target holds in a range of names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RangeSum {
    /// The sum of [`chunk_sum`] of its chunks, which wraps.
    pub sum: u64,
    /// How many chunks it has.
    pub chunks: u64,
}

/// What a chunk of which this is wanted adds to the sum of its range. O(1).
pub fn chunk_sum(chunk: &ChunkId, wanted: Wanted) -> u64 {
    chunk.mix(0x7261_6e67_6573_0000 + u64::from(wanted.to_byte()))
}

/// The range of names with `bits` bits in common that a chunk is in; 0 to 14 bits.
pub fn range_of(chunk: &ChunkId, bits: u8) -> u32 {
    let first = u32::from(u16::from_be_bytes([chunk.0[0], chunk.0[1]]));
    first >> (16 - u32::from(bits))
}

/// The first name of a range.
fn first_of(range: u32, bits: u8) -> ChunkId {
    let mut first = ChunkId([0; 32]);
    let shifted = range << (16 - u32::from(bits));
    first.0[..2].copy_from_slice(&u16::try_from(shifted).unwrap_or(u16::MAX).to_be_bytes());
    first
}

/// The names of a range.
pub(super) fn names_of(range: u32, bits: u8) -> (Bound<ChunkId>, Bound<ChunkId>) {
    let end = match u64::from(range) + 1 < 1 << bits {
        true => Bound::Excluded(first_of(range + 1, bits)),
        false => Bound::Unbounded,
    };
    (Bound::Included(first_of(range, bits)), end)
}

/// Mixes what a member says into what those before it have said.
fn mixed(before: u64, said: u64) -> u64 {
    (before.rotate_left(23) ^ said).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// What all other members hold in each of some ranges, in one number each: `said` has what each member says, in the
/// order of positions; none of one of which nothing counts. `epoch` is that of the cluster map.
pub fn combined(epoch: u32, said: &[(u8, Option<&[u64]>)], ranges: usize) -> Vec<u64> {
    let of_range = |range: usize| {
        said.iter().fold(mixed(1, u64::from(epoch)), |sum, (position, sums)| {
            let sum = mixed(sum, u64::from(*position) + 1);
            match sums {
                Some(sums) => mixed(sum, sums.get(range).copied().unwrap_or(0)),
                None => mixed(sum, u64::MAX),
            }
        })
    };
    (0..ranges).map(of_range).collect()
}

/// How a range is, before its chunks are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// The members have to be asked first.
    Unknown {
        /// The first range to be asked about.
        first: u32,
        /// How many.
        count: u8,
    },
    /// As it was when all of its chunks were on enough members.
    Same,
    /// Anything else.
    Differs,
}

/// Ranges that were asked about together.
#[derive(Debug, Clone)]
struct Block {
    first: u32,
    /// What the others hold; none if somebody did not answer.
    others: Option<Box<[u64]>>,
}

impl Block {
    fn has(&self, range: u32) -> bool {
        (self.first..self.first + u32::from(COMPARED_RANGES)).contains(&range)
    }
}

/// A range whose chunks are looked at.
#[derive(Debug, Clone, Copy)]
struct Open {
    /// What all members held when it was begun; none if that is not known.
    all: Option<u64>,
    /// What this target held.
    own: u64,
    /// Chunks that are asked about.
    asked: u32,
    /// Every chunk so far was found on enough.
    is_clean: bool,
}

/// See the [module](self).
#[derive(Debug, Clone)]
pub(super) struct Ranges {
    bits: u8,
    /// Where the scan began.
    first: u32,
    /// Of each range, what all members held when all was in order; 0 where that never was.
    settled: Vec<u64>,
    block: Option<Block>,
    open: BTreeMap<u32, Open>,
}

impl Ranges {
    pub(super) fn new() -> Ranges {
        Ranges { bits: 0, first: 0, settled: vec![0], block: None, open: BTreeMap::new() }
    }

    /// A scan begins at `start`, over so many chunks. What is known of ranges is kept, unless they have become much too large
    /// or small.
    pub(super) fn begin(&mut self, start: &ChunkId, chunks: u64) {
        let wanted = (chunks / CHUNKS_PER_RANGE).checked_ilog2().unwrap_or(0);
        let wanted = u8::try_from(wanted).unwrap_or(u8::MAX).min(RANGE_BITS);
        if wanted.abs_diff(self.bits) > 1 || (wanted == 0 && self.bits > 0) {
            self.bits = wanted;
            self.settled = vec![0; 1 << wanted];
        }
        self.first = self.of(start);
        self.block = None;
        self.open.clear();
    }

    pub(super) fn bits(&self) -> u8 {
        self.bits
    }

    pub(super) fn of(&self, chunk: &ChunkId) -> u32 {
        range_of(chunk, self.bits)
    }

    /// Whether the scan began in this range, perhaps in the middle of it, and will come back to it.
    pub(super) fn is_first(&self, range: u32) -> bool {
        self.first == range
    }

    /// How a range is.
    pub(super) fn look(&self, range: u32, inventory: &impl Inventory) -> Look {
        if self.open.contains_key(&range) {
            return Look::Differs;
        }
        let known = self.block.as_ref().filter(|block| block.has(range));
        let Some(block) = known else {
            let first = range - range % u32::from(COMPARED_RANGES);
            let left = (1_u32 << self.bits) - first;
            let count = u8::try_from(left).unwrap_or(u8::MAX).min(COMPARED_RANGES);
            return Look::Unknown { first, count };
        };
        let own = inventory.range_sum(self.bits, range).sum;
        match self.all(block, range, own) {
            Some(all) if all == self.settled[range as usize] => Look::Same,
            _ => Look::Differs,
        }
    }

    fn all(&self, block: &Block, range: u32, own: u64) -> Option<u64> {
        let others = block.others.as_ref()?.get((range - block.first) as usize)?;
        // 0 stands for never.
        Some(mixed(*others, own).max(1))
    }

    /// The other members have answered, all of them if there are sums.
    pub(super) fn compared(&mut self, first: u32, others: Option<Box<[u64]>>) {
        self.block = Some(Block { first, others });
    }

    /// A chunk of a range is asked about, or passed over. Of a range that is not whole, since the scan began in it and
    /// passed its other part, nothing is concluded.
    pub(super) fn ask(
        &mut self,
        range: u32,
        (is_asked, is_whole): (bool, bool),
        inventory: &impl Inventory,
    ) {
        if !self.open.contains_key(&range) {
            let own = inventory.range_sum(self.bits, range).sum;
            let all = self.block.as_ref().filter(|block| block.has(range));
            let all = all.and_then(|block| self.all(block, range, own));
            self.open.insert(range, Open { all, own, asked: 0, is_clean: is_whole });
        }
        if let Some(open) = self.open.get_mut(&range) {
            open.asked += u32::from(is_asked);
            open.is_clean &= is_asked;
        }
    }

    /// A chunk that was asked about is on enough members, or not.
    pub(super) fn answered(&mut self, chunk: &ChunkId, is_on_enough: bool) {
        let range = self.of(chunk);
        if let Some(open) = self.open.get_mut(&range) {
            open.asked = open.asked.saturating_sub(1);
            open.is_clean &= is_on_enough;
        }
    }

    /// The scan is in this range, or has none any more: others have been left, and what is known of them is kept.
    pub(super) fn leave(&mut self, current: Option<u32>, inventory: &impl Inventory) {
        let first = current.map(|_| self.first);
        let is_left = |range: &u32, open: &mut Open| {
            Some(*range) != current && Some(*range) != first && open.asked == 0
        };
        for (range, open) in self.open.extract_if(.., is_left) {
            let is_as_begun = inventory.range_sum(self.bits, range).sum == open.own;
            let is_settled = open.is_clean && is_as_begun;
            // What is not known now may well be as it was when it was settled.
            if let Some(all) = open.all {
                self.settled[range as usize] = if is_settled { all } else { 0 };
            }
        }
        let is_in = |block: &Block| current.is_some_and(|range| block.has(range));
        self.block = self.block.take_if(|block| is_in(block));
    }
}
