//! Flash behind a translation layer: logical pages are written to whatever page of whatever block is free, a
//! block is erased as a whole, and what is still valid in it is written again before.
//!
//! ```text
//!    write(page) --> the open block --> full: the next free block
//!                                       few are free: clean the block with the fewest valid pages (greedy)
//! ```
//!
//! [`Flash`] knows no time: each call returns the [`Work`] that it caused, in pages that were programmed and blocks
//! that were erased. How much more is programmed than was written is the write amplification; [`theory`] computes it
//! for writes that are spread evenly.
//!
//! ```
//! use slotcast_flash::{Flash, Geometry};
//!
//! let geometry = Geometry { blocks: 64, pages_per_block: 32, logical_pages: 1600, spare_blocks: 2 };
//! let mut flash = Flash::new(geometry)?;
//! for page in 0..1600 {
//!     assert_eq!(flash.write(page).programmed, 1, "nothing is cleaned as long as blocks are free");
//! }
//! // One page after another is written again: blocks are empty when their turn comes.
//! for page in 0..1600 {
//!     flash.write(page);
//! }
//! assert!(flash.write_amplification() < 1.01);
//! # Ok::<(), slotcast_flash::GeometryError>(())
//! ```
#![no_std]

extern crate alloc;

mod blocks;
mod flash;
pub mod theory;

pub use flash::{Flash, Geometry, GeometryError, Work};
