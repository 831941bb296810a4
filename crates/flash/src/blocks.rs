//! Full blocks by the number of their valid pages, for the cleaner to find one with the fewest.

use alloc::vec;
use alloc::vec::Vec;

/// Full blocks in buckets: moving one, and finding one with the fewest valid pages, take constant time but for the
/// search of the lowest bucket, which starts where the last one ended.
#[derive(Debug, Clone)]
pub(crate) struct FullBlocks {
    /// By number of valid pages, the blocks that have so many.
    buckets: Vec<Vec<u32>>,
    /// Of every block, its place in its bucket.
    places: Vec<u32>,
    lowest: usize,
}

impl FullBlocks {
    pub(crate) fn new(blocks: u32, pages_per_block: u32) -> FullBlocks {
        FullBlocks {
            buckets: vec![Vec::new(); pages_per_block as usize + 1],
            places: vec![0; blocks as usize],
            lowest: 0,
        }
    }

    /// `block` is full, with `valid` pages.
    pub(crate) fn insert(&mut self, block: u32, valid: u32) {
        let bucket = &mut self.buckets[valid as usize];
        self.places[block as usize] = u32::try_from(bucket.len()).expect("fewer than blocks");
        bucket.push(block);
        self.lowest = self.lowest.min(valid as usize);
    }

    /// A page of `block` is no longer valid; it had `valid`.
    pub(crate) fn lose_one(&mut self, block: u32, valid: u32) {
        let bucket = &mut self.buckets[valid as usize];
        let place = self.places[block as usize];
        bucket.swap_remove(place as usize);
        if let Some(&moved) = bucket.get(place as usize) {
            self.places[moved as usize] = place;
        }
        self.insert(block, valid - 1);
    }

    /// Takes one of those with the fewest valid pages.
    pub(crate) fn take_emptiest(&mut self) -> Option<u32> {
        while self.lowest < self.buckets.len() {
            if let Some(block) = self.buckets[self.lowest].pop() {
                return Some(block);
            }
            self.lowest += 1;
        }
        None
    }
}
