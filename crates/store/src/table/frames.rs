//! Memory for rows, in frames of one length: whatever grows or shrinks, no gaps of other lengths arise.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

/// Length of a frame in bytes: 32 rows of 39 bytes, which is what a row takes in an index of more than a million
/// chunks with segments of 64 MiB.
pub(super) const FRAME: usize = 1248;

/// Length of a row at most, and at least: with 8 bytes of its name left out.
const MAX_ROW: usize = 32 + super::MAX_VALUE;
const MIN_ROW: usize = 32 - 8 + super::MIN_VALUE;

/// Frames that are allocated together.
const SLAB: usize = 16;

/// Frames that there can be: 80 GB of rows.
pub(super) const MAX_FRAMES: usize = 1 << 26;

/// The number of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FrameId(pub(super) u32);

/// Frames in slabs. Taking and giving back are O(1); memory goes back to the system with [`Frames::truncate`].
#[derive(Debug, Default)]
pub(super) struct Frames {
    slabs: Vec<Box<[u8]>>,
    free: Vec<FrameId>,
}

impl Frames {
    /// A frame that is not in use, with any content.
    ///
    /// # Panics
    /// Above [`MAX_FRAMES`].
    pub(super) fn take(&mut self) -> FrameId {
        if let Some(free) = self.free.pop() {
            return free;
        }
        let first = self.slabs.len() * SLAB;
        assert!(first < MAX_FRAMES, "an index is shorter");
        let first = u32::try_from(first).expect("just looked");
        self.slabs.push(vec![0; SLAB * FRAME].into_boxed_slice());
        self.free.extend((first + 1..first + SLAB as u32).rev().map(FrameId));
        FrameId(first)
    }

    pub(super) fn give_back(&mut self, frame: FrameId) {
        self.free.push(frame);
    }

    /// Frames in use, and those that are not.
    pub(super) fn count(&self) -> (usize, usize) {
        (self.slabs.len() * SLAB - self.free.len(), self.free.len())
    }

    pub(super) fn get(&self, frame: FrameId) -> &[u8] {
        let (slab, at) = place(frame);
        &self.slabs[slab][at..at + FRAME]
    }

    pub(super) fn get_mut(&mut self, frame: FrameId) -> &mut [u8] {
        let (slab, at) = place(frame);
        &mut self.slabs[slab][at..at + FRAME]
    }

    /// Copies a row of `length` bytes from a place in one frame to a place in another: as two pieces of known
    /// lengths that overlap, which is several times faster than one of any length.
    pub(super) fn copy_row(
        &mut self,
        (from, from_byte): (FrameId, usize),
        (to, to_byte): (FrameId, usize),
        length: usize,
    ) {
        let row = &self.get(from)[from_byte..from_byte + length];
        let head: [u8; MIN_ROW] = *row.first_chunk().expect("no row is shorter");
        let tail: [u8; MAX_ROW - MIN_ROW] = *row.last_chunk().expect("no row is shorter");
        let row = &mut self.get_mut(to)[to_byte..to_byte + length];
        *row.first_chunk_mut().expect("as long as the other") = head;
        *row.last_chunk_mut().expect("as long as the other") = tail;
    }

    /// The free frames below number `end`: as many as there are frames in use from there on, if `end` is how many
    /// are in use.
    pub(super) fn holes(&self, end: usize) -> Vec<FrameId> {
        self.free.iter().copied().filter(|frame| (frame.0 as usize) < end).collect()
    }

    pub(super) fn copy(&mut self, from: FrameId, to: FrameId) {
        let mut content = [0; FRAME];
        content.copy_from_slice(self.get(from));
        self.get_mut(to).copy_from_slice(&content);
    }

    /// The frames in use are those below number `used`: gives back the memory of the others.
    pub(super) fn truncate(&mut self, used: usize) {
        self.slabs.truncate(used.div_ceil(SLAB));
        self.slabs.shrink_to_fit();
        let end = self.slabs.len() * SLAB;
        let id = |n: usize| FrameId(u32::try_from(n).expect("it was taken before"));
        self.free = (used..end).rev().map(id).collect();
    }
}

fn place(frame: FrameId) -> (usize, usize) {
    let frame = frame.0 as usize;
    (frame / SLAB, frame % SLAB * FRAME)
}
