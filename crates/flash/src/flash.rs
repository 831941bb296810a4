//! The translation layer.

use alloc::vec;
use alloc::vec::Vec;

use crate::blocks::FullBlocks;

/// What a device is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    /// Blocks, each erased as a whole.
    pub blocks: u32,
    /// Pages of a block.
    pub pages_per_block: u32,
    /// Pages that its user can write.
    pub logical_pages: u32,
    /// Free blocks below which blocks are cleaned; at least two, one of which is filled while another is cleaned.
    pub spare_blocks: u32,
}

/// A device that could not be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum GeometryError {
    /// Nothing to write to, or nothing to write.
    #[error("blocks, pages of a block and logical pages are more than zero")]
    Nothing,
    /// Too few spare blocks.
    #[error("{0} spare blocks; expected 2 at the least")]
    Spare(u32),
    /// No block would ever have a page that is not valid.
    #[error(
        "{logical} logical pages; {blocks} blocks of {pages} with {spare} spare ones have room for {most}"
    )]
    TooFull {
        /// Pages that were asked for.
        logical: u32,
        /// Blocks.
        blocks: u32,
        /// Pages of each.
        pages: u32,
        /// Spare blocks.
        spare: u32,
        /// Pages that would do.
        most: u64,
    },
}

/// What a call caused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Work {
    /// Pages programmed, those of the user included.
    pub programmed: u64,
    /// Pages read to be programmed again.
    pub relocated: u64,
    /// Blocks erased.
    pub erased: u64,
}

/// No page.
const NONE: u32 = u32::MAX;

/// A device with its translation layer.
#[derive(Debug, Clone)]
pub struct Flash {
    geometry: Geometry,
    /// Of every logical page, the physical one; [`NONE`] if it was never written, or trimmed.
    place: Vec<u32>,
    /// Of every physical page, the logical one that is valid there.
    holds: Vec<u32>,
    /// Of every block, its valid pages and how often it was erased.
    valid: Vec<u32>,
    erasures: Vec<u32>,
    full: FullBlocks,
    free: Vec<u32>,
    open: u32,
    /// Pages of the open block that are programmed.
    filled: u32,
    written: u64,
    work: Work,
}

impl Flash {
    /// An empty device.
    ///
    /// # Errors
    /// If it could not be written for ever.
    pub fn new(geometry: Geometry) -> Result<Flash, GeometryError> {
        let Geometry { blocks, pages_per_block, logical_pages, spare_blocks } = geometry;
        if blocks == 0 || pages_per_block == 0 || logical_pages == 0 {
            return Err(GeometryError::Nothing);
        }
        if spare_blocks < 2 {
            return Err(GeometryError::Spare(spare_blocks));
        }
        // The open block, the spare ones, and one page more than all that is valid.
        let full = u64::from(blocks.saturating_sub(spare_blocks.saturating_add(1)));
        let most = (full * u64::from(pages_per_block)).saturating_sub(1);
        let physical = u64::from(blocks) * u64::from(pages_per_block);
        if u64::from(logical_pages) > most || physical >= u64::from(NONE) {
            let (logical, pages, spare) = (logical_pages, pages_per_block, spare_blocks);
            return Err(GeometryError::TooFull { logical, blocks, pages, spare, most });
        }
        Ok(Flash {
            geometry,
            place: vec![NONE; logical_pages as usize],
            holds: vec![NONE; usize::try_from(physical).expect("below u32::MAX")],
            valid: vec![0; blocks as usize],
            erasures: vec![0; blocks as usize],
            full: FullBlocks::new(blocks, pages_per_block),
            free: (1..blocks).rev().collect(),
            open: 0,
            filled: 0,
            written: 0,
            work: Work::default(),
        })
    }

    /// Writes logical page `page`; cleans first if too few blocks are free.
    ///
    /// # Panics
    /// If there is no such page.
    pub fn write(&mut self, page: u32) -> Work {
        let before = self.work;
        self.written += 1;
        self.forget(page);
        self.program(page);
        while self.free.len() < self.geometry.spare_blocks as usize {
            self.clean();
        }
        Work {
            programmed: self.work.programmed - before.programmed,
            relocated: self.work.relocated - before.relocated,
            erased: self.work.erased - before.erased,
        }
    }

    /// Logical page `page` is no longer of use (TRIM): it is not written again when its block is cleaned.
    ///
    /// # Panics
    /// If there is no such page.
    pub fn trim(&mut self, page: u32) {
        self.forget(page);
        self.place[page as usize] = NONE;
    }

    /// Whether `page` was written, and not trimmed since.
    ///
    /// # Panics
    /// If there is no such page.
    pub fn holds(&self, page: u32) -> bool {
        let place = self.place[page as usize];
        place != NONE && self.holds[place as usize] == page
    }

    /// Pages programmed over pages written, since the start or the last [`reset`](Flash::reset); one before anything
    /// was written.
    pub fn write_amplification(&self) -> f64 {
        if self.written == 0 { 1.0 } else { self.work.programmed as f64 / self.written as f64 }
    }

    /// Forgets what was counted, and keeps what is stored and how worn it is.
    pub fn reset(&mut self) {
        (self.written, self.work) = (0, Work::default());
    }

    /// How often blocks were erased: the least, the mean and the most of any.
    pub fn wear(&self) -> (u32, f64, u32) {
        let least = self.erasures.iter().copied().min().unwrap_or(0);
        let most = self.erasures.iter().copied().max().unwrap_or(0);
        let sum: u64 = self.erasures.iter().map(|&count| u64::from(count)).sum();
        (least, sum as f64 / self.erasures.len() as f64, most)
    }

    /// What was at `page` is no longer valid.
    fn forget(&mut self, page: u32) {
        let place = self.place[page as usize];
        if place == NONE {
            return;
        }
        self.holds[place as usize] = NONE;
        let block = place / self.geometry.pages_per_block;
        let valid = self.valid[block as usize];
        self.valid[block as usize] = valid - 1;
        if block != self.open {
            self.full.lose_one(block, valid);
        }
    }

    /// Programs `page` into the open block, and opens the next one if that fills it.
    fn program(&mut self, page: u32) {
        let place = self.open * self.geometry.pages_per_block + self.filled;
        self.place[page as usize] = place;
        self.holds[place as usize] = page;
        self.valid[self.open as usize] += 1;
        self.filled += 1;
        self.work.programmed += 1;
        if self.filled == self.geometry.pages_per_block {
            self.full.insert(self.open, self.valid[self.open as usize]);
            self.open = self.free.pop().expect("one is spare while another is cleaned");
            self.filled = 0;
        }
    }

    /// Erases the block with the fewest valid pages, when those have been written elsewhere.
    fn clean(&mut self) {
        let block = self.full.take_emptiest().expect("not all blocks are free");
        let first = block * self.geometry.pages_per_block;
        // Its pages are not among the full blocks any more: what is valid moves without being counted there.
        for place in first..first + self.geometry.pages_per_block {
            let page = core::mem::replace(&mut self.holds[place as usize], NONE);
            if page != NONE {
                self.work.relocated += 1;
                self.program(page);
            }
        }
        self.valid[block as usize] = 0;
        self.erasures[block as usize] += 1;
        self.work.erased += 1;
        self.free.insert(0, block);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SMALL: Geometry =
        Geometry { blocks: 12, pages_per_block: 4, logical_pages: 30, spare_blocks: 2 };

    #[test]
    fn what_could_not_be_written_for_ever_is_refused() {
        assert_eq!(
            Flash::new(Geometry { blocks: 0, ..SMALL }).unwrap_err(),
            GeometryError::Nothing
        );
        assert_eq!(
            Flash::new(Geometry { spare_blocks: 1, ..SMALL }).unwrap_err(),
            GeometryError::Spare(1)
        );
        // Nine blocks of four pages beside two spare ones and the open one.
        let error = Flash::new(Geometry { logical_pages: 36, ..SMALL }).unwrap_err();
        assert!(matches!(error, GeometryError::TooFull { most: 35, .. }), "{error}");
        assert!(Flash::new(Geometry { logical_pages: 35, ..SMALL }).is_ok());
    }

    proptest! {
        /// Whatever is written and trimmed, in whatever order: what was written is held, each page once, and what
        /// was programmed is what was written and relocated.
        #[test]
        fn nothing_is_lost(calls in prop::collection::vec((0u32..35, 0u8..5), 1..800)) {
            let mut flash = Flash::new(Geometry { logical_pages: 35, ..SMALL }).unwrap();
            let mut expected = [false; 35];
            let mut written = 0;
            for (page, what) in calls {
                if what == 0 {
                    flash.trim(page);
                } else {
                    let work = flash.write(page);
                    written += 1;
                    prop_assert_eq!(work.programmed, 1 + work.relocated);
                }
                expected[page as usize] = what > 0;
                prop_assert!((0..35).all(|page| flash.holds(page) == expected[page as usize]));
                let valid: u32 = flash.valid.iter().sum();
                prop_assert_eq!(valid as usize, expected.iter().filter(|held| **held).count());
            }
            prop_assert!(flash.write_amplification() >= 1.0 || written == 0);
        }
    }
}
