//! The rows of a range of names, in order: a tiered vector.
//!
//! Rows lie in frames, all of which are full but the last. Each frame is a ring: to make room for a row, the last
//! row of every later frame goes to the front of the next one, which moves one row a frame and not all of them.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::mem;
use core::ops::Range;

use slotcast_protocol::ChunkId;

use super::frames::{FRAME, FrameId, Frames, MAX_FRAMES};
use super::{MAX_VALUE, Value};

/// Buckets of a leaf that is worth shortening names for: a bucket takes four bytes.
const MAX_BUCKET_BITS: u32 = 7;

/// Rows that are looked at where a name is expected, before the rest is halved.
const MAX_GUESSES: u32 = 8;

/// A frame, and which of its rows is the first: in the last bits, since a frame has fewer than 64 rows.
#[derive(Debug, Clone, Copy)]
struct Ring(u32);

impl Ring {
    const HEAD_BITS: u32 = 6;

    fn new(FrameId(frame): FrameId) -> Ring {
        Ring(frame << Ring::HEAD_BITS)
    }

    fn frame(self) -> FrameId {
        FrameId(self.0 >> Ring::HEAD_BITS)
    }

    fn head(self) -> usize {
        (self.0 & ((1 << Ring::HEAD_BITS) - 1)) as usize
    }

    fn set_head(&mut self, head: usize) {
        let head = u32::try_from(head).expect("a frame has few rows");
        self.0 = self.0 >> Ring::HEAD_BITS << Ring::HEAD_BITS | head;
    }

    fn set_frame(&mut self, FrameId(frame): FrameId) {
        self.0 = frame << Ring::HEAD_BITS | self.head() as u32;
    }
}

const _: () =
    assert!(FRAME / 24 < 1 << Ring::HEAD_BITS, "names are not shortened by more than 8 bytes");
const _: () = assert!(MAX_FRAMES <= 1 << (u32::BITS - Ring::HEAD_BITS));

/// The rows of all names that begin with the same `depth` bits.
///
/// A row has the name without its first bytes, and the value. The bytes left out follow from where the row is: the
/// first bits from the leaf, the others, at most 7, from the bucket.
#[derive(Debug)]
pub(super) struct Leaf {
    /// The first bits of its names; zero behind them.
    prefix: u64,
    depth: u32,
    value: usize,
    /// Length of a row.
    width: usize,
    rows_in_frame: usize,
    len: usize,
    rings: Vec<Ring>,
    /// Where each bucket begins, and where the last one ends.
    starts: Box<[u32]>,
}

/// The first bits of a name.
pub(super) fn head_of(name: &ChunkId) -> u64 {
    u64::from_be_bytes(*name.0.first_chunk().expect("a name is longer"))
}

fn first_bytes(row: &[u8]) -> u64 {
    u64::from_be_bytes(*row.first_chunk().expect("a row has at least 24 bytes of its name"))
}

/// The bits of `head` behind the first `depth`, as a number.
fn bits_behind(head: u64, depth: u32, count: u32) -> usize {
    if count == 0 {
        return 0;
    }
    usize::try_from(head << depth >> (u64::BITS - count)).expect("at most 7 bits")
}

impl Leaf {
    /// Of names that begin with the first `depth` bits of `prefix`; values have `value` bytes.
    pub(super) fn new(prefix: u64, depth: u32, value: usize) -> Leaf {
        let mut leaf = Leaf {
            prefix,
            depth,
            value,
            width: 0,
            rows_in_frame: 0,
            len: 0,
            rings: Vec::new(),
            starts: Box::default(),
        };
        leaf.width = 32 - leaf.left_out() + value;
        leaf.rows_in_frame = FRAME / leaf.width;
        leaf.starts = vec![0; (1 << leaf.bucket_bits()) + 1].into_boxed_slice();
        leaf
    }

    pub(super) fn depth(&self) -> u32 {
        self.depth
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Bytes that are left out of every name.
    fn left_out(&self) -> usize {
        (self.depth + MAX_BUCKET_BITS) as usize / 8
    }

    fn bucket_bits(&self) -> u32 {
        (self.left_out() * 8) as u32 - self.depth
    }

    fn bucket_of(&self, name: &ChunkId) -> usize {
        bits_behind(head_of(name), self.depth, self.bucket_bits())
    }

    /// The frame of row `at`, and its place there.
    fn place(&self, at: usize) -> (FrameId, usize) {
        let (width, count) = (self.width, self.rows_in_frame);
        let ring = self.rings[at / count];
        let slot = ring.head() + at % count;
        let slot = if slot < count { slot } else { slot - count };
        (ring.frame(), slot * width)
    }

    fn row<'a>(&self, frames: &'a Frames, at: usize) -> &'a [u8] {
        let (frame, place) = self.place(at);
        &frames.get(frame)[place..place + self.width]
    }

    fn row_mut<'a>(&self, frames: &'a mut Frames, at: usize) -> &'a mut [u8] {
        let (frame, place) = self.place(at);
        &mut frames.get_mut(frame)[place..place + self.width]
    }

    /// The last row of the full frame `ring` becomes the first of the next one, which has room at its front.
    fn move_on(&mut self, frames: &mut Frames, ring: usize) {
        let (width, count) = (self.width, self.rows_in_frame);
        let (from, to) = (self.rings[ring], &mut self.rings[ring + 1]);
        let last = if from.head() == 0 { count - 1 } else { from.head() - 1 };
        to.set_head(if to.head() == 0 { count - 1 } else { to.head() - 1 });
        frames.copy_row((from.frame(), last * width), (to.frame(), to.head() * width), width);
    }

    /// The first row of the frame behind `ring` becomes its last one: `ring` has room for one row.
    fn move_back(&mut self, frames: &mut Frames, ring: usize) {
        let (width, count) = (self.width, self.rows_in_frame);
        let (to, from) = (self.rings[ring], &mut self.rings[ring + 1]);
        let first = from.head();
        let last = if to.head() == 0 { count - 1 } else { to.head() - 1 };
        frames.copy_row((from.frame(), first * width), (to.frame(), last * width), width);
        from.set_head(if first + 1 == count { 0 } else { first + 1 });
    }

    /// In the frame `ring`, copies rows one place on, the last one first, or one place back, the first one first.
    fn shift(&self, frames: &mut Frames, ring: usize, rows: Range<usize>, is_on: bool) {
        let (width, count) = (self.width, self.rows_in_frame);
        let (frame, head) = (frames.get_mut(self.rings[ring].frame()), self.rings[ring].head());
        let place = |row: usize| {
            let slot = head + row;
            (if slot < count { slot } else { slot - count }) * width
        };
        for n in 0..rows.len() {
            let (from, to) = match is_on {
                true => (rows.end - 1 - n, rows.end - n),
                false => (rows.start + n, rows.start + n - 1),
            };
            let from = place(from);
            frame.copy_within(from..from + width, place(to));
        }
    }

    /// Where the row of `name` is, or where it would have to be. O(log rows).
    ///
    /// Names are hashes: how many rows lie between two of them follows from the names to a few rows. So each row that is
    /// looked at says where to look next; other names are found by halves.
    pub(super) fn search(&self, frames: &Frames, name: &ChunkId) -> Result<usize, usize> {
        let bucket = self.bucket_of(name);
        let rest = &name.0[self.left_out()..];
        let key = first_bytes(rest);
        let (mut low, mut high) = (self.starts[bucket] as usize, self.starts[bucket + 1] as usize);
        let rows = (high - low) as u128;
        let expected = |span: u64| {
            usize::try_from((u128::from(span) * rows) >> u64::BITS).expect("fewer than rows")
        };
        let (mut at, mut guesses) = (low + expected(key), MAX_GUESSES);
        while low < high {
            let here = if guesses > 0 { at.clamp(low, high - 1) } else { low.midpoint(high) };
            guesses = guesses.saturating_sub(1);
            let row = self.row(frames, here);
            let first = first_bytes(row);
            match first.cmp(&key).then_with(|| row[8..rest.len()].cmp(&rest[8..])) {
                Ordering::Equal => return Ok(here),
                Ordering::Less => (low, at) = (here + 1, here + 1 + expected(key - first)),
                Ordering::Greater => {
                    (high, at) = (here, here.saturating_sub(1 + expected(first - key)));
                }
            }
        }
        Err(low)
    }

    /// The value of row `at`.
    pub(super) fn value(&self, frames: &Frames, at: usize) -> Value {
        let mut value = [0; MAX_VALUE];
        value[..self.value].copy_from_slice(&self.row(frames, at)[32 - self.left_out()..]);
        value
    }

    pub(super) fn set_value(&self, frames: &mut Frames, at: usize, value: &Value) {
        let from = 32 - self.left_out();
        self.row_mut(frames, at)[from..].copy_from_slice(&value[..self.value]);
    }

    /// Row `at`, with its name. O(1) for rows in order: `bucket` is that of the row before, or 0.
    pub(super) fn read(
        &self,
        frames: &Frames,
        at: usize,
        bucket: &mut usize,
    ) -> Option<(ChunkId, Value)> {
        if at >= self.len {
            return None;
        }
        while self.starts[*bucket + 1] as usize <= at {
            *bucket += 1;
        }
        let mut head = self.prefix;
        if self.bucket_bits() > 0 {
            head |= (*bucket as u64) << (u64::BITS - self.depth - self.bucket_bits());
        }
        let mut name = [0; 32];
        name[..8].copy_from_slice(&head.to_be_bytes());
        let left_out = self.left_out();
        name[left_out..].copy_from_slice(&self.row(frames, at)[..32 - left_out]);
        Some((ChunkId(name), self.value(frames, at)))
    }

    /// Puts a row at `at`, where `search` has said. O(rows in a frame + frames).
    pub(super) fn insert(&mut self, frames: &mut Frames, at: usize, name: &ChunkId, value: &Value) {
        let count = self.rows_in_frame;
        if self.len == self.rings.len() * count {
            if self.rings.len() == self.rings.capacity() {
                self.rings.reserve_exact(8);
            }
            self.rings.push(Ring::new(frames.take()));
        }
        let (first, last) = (at / count, self.rings.len() - 1);
        (first..last).rev().for_each(|ring| self.move_on(frames, ring));
        let end = if first == last { self.len - first * count } else { count - 1 };
        self.shift(frames, first, at - first * count..end, true);
        self.len += 1;
        let bucket = self.bucket_of(name);
        self.starts[bucket + 1..].iter_mut().for_each(|start| *start += 1);
        let left_out = self.left_out();
        self.row_mut(frames, at)[..32 - left_out].copy_from_slice(&name.0[left_out..]);
        self.set_value(frames, at, value);
    }

    /// Takes the row of `name` out, which is at `at`. O(rows in a frame + frames).
    pub(super) fn remove(&mut self, frames: &mut Frames, at: usize, name: &ChunkId) {
        let count = self.rows_in_frame;
        let (first, last) = (at / count, self.rings.len() - 1);
        let end = if first == last { self.len - first * count } else { count };
        self.shift(frames, first, at - first * count + 1..end, false);
        (first..last).for_each(|ring| self.move_back(frames, ring));
        self.len -= 1;
        if self.len == last * count
            && let Some(empty) = self.rings.pop()
        {
            frames.give_back(empty.frame());
        }
        let bucket = self.bucket_of(name);
        self.starts[bucket + 1..].iter_mut().for_each(|start| *start -= 1);
    }

    /// Adds a row behind all others.
    pub(super) fn push(&mut self, frames: &mut Frames, name: &ChunkId, value: &Value) {
        self.insert(frames, self.len, name, value);
    }

    /// Takes these rows, in order, where there were none. O(rows).
    pub(super) fn fill(&mut self, frames: &mut Frames, rows: &[(ChunkId, Value)]) {
        debug_assert!(self.len == 0, "there are rows already");
        let (width, count, left_out) = (self.width, self.rows_in_frame, self.left_out());
        self.rings.reserve_exact(rows.len().div_ceil(count));
        for rows in rows.chunks(count) {
            let ring = Ring::new(frames.take());
            self.rings.push(ring);
            let places = frames.get_mut(ring.frame()).chunks_exact_mut(width);
            for (place, (name, value)) in places.zip(rows) {
                let (of_name, of_value) = place.split_at_mut(32 - left_out);
                of_name.copy_from_slice(&name.0[left_out..]);
                of_value.copy_from_slice(&value[..self.value]);
                let bucket = self.bucket_of(name);
                self.starts[bucket + 1] += 1;
            }
        }
        self.len = rows.len();
        for bucket in 1..self.starts.len() {
            self.starts[bucket] += self.starts[bucket - 1];
        }
    }

    /// Gives its frames back.
    pub(super) fn clear(&mut self, frames: &mut Frames) {
        mem::take(&mut self.rings).into_iter().for_each(|ring| frames.give_back(ring.frame()));
        self.len = 0;
        self.starts.fill(0);
    }

    /// Moves what is in frames from number `end` on to those of `holes`.
    pub(super) fn move_below(&mut self, frames: &mut Frames, end: usize, holes: &mut Vec<FrameId>) {
        for ring in self.rings.iter_mut().filter(|ring| ring.frame().0 as usize >= end) {
            let hole = holes.pop().expect("as many holes as frames to move");
            frames.copy(ring.frame(), hole);
            ring.set_frame(hole);
        }
    }
}
