//! A map from the names of chunks to short values, in order and with little memory beside them.
//!
//! Names are hashes, and so of the 32 bytes of a name among ten million the first two follow from its place. The
//! table is a tree of one level: leaves of at most [`MAX_ROWS`] rows, each for the names that begin with the same
//! bits, which splits in two when it is full, and is joined with its twin when both are nearly empty. Of a row a
//! leaf keeps only what does not follow from where it is. Names are kept whole, not as digests of any kind: a chunk
//! that is found is the one that was asked for, and a scan can give all names without reading a disk.
//!
//! Beside the rows there are, for each leaf, half a frame on average that is not full, four bytes a frame, and some
//! hundred bytes: 0.5 to 0.8 bytes a row in all, if there are more than some thousands of them.
//!
//! The tree does not rely on names being hashes. Names that begin with the same 64 bits, of which nobody can make
//! many, would share a leaf of any length, and an insertion there takes time in proportion to it.

mod frames;
mod leaf;

use alloc::collections::BTreeMap;

use slotcast_protocol::ChunkId;

use frames::Frames;
use leaf::{Leaf, head_of};

/// The longest value in bytes.
pub(crate) const MAX_VALUE: usize = 10;

/// The shortest one.
pub(crate) const MIN_VALUE: usize = 8;

/// A value: of a table for shorter ones, the bytes behind have no meaning.
pub(crate) type Value = [u8; MAX_VALUE];

/// Rows of a leaf that is full.
const MAX_ROWS: usize = 4096;

/// Twins that have fewer rows together are joined.
const MIN_ROWS: usize = MAX_ROWS / 8;

/// A map from names to values of one length. See the page of the module.
///
/// Looking up is O(log n), and so is changing a value; inserting and removing moves at most a row a frame of one
/// leaf, and the rows of one frame.
#[derive(Debug)]
pub(crate) struct Table {
    value: usize,
    /// By the first names that belong there.
    leaves: BTreeMap<u64, Leaf>,
    frames: Frames,
    len: usize,
}

impl Table {
    /// Empty, for values of `value` bytes.
    pub(crate) fn new(value: usize) -> Table {
        let range = MIN_VALUE..=MAX_VALUE;
        assert!(range.contains(&value), "a value has {range:?} bytes, not {value}");
        let leaves = BTreeMap::from([(0, Leaf::new(0, 0, value))]);
        Table { value, leaves, frames: Frames::default(), len: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    fn leaf(&self, name: &ChunkId) -> &Leaf {
        let (_, leaf) = self.leaves.range(..=head_of(name)).next_back().expect("one begins at 0");
        leaf
    }

    fn leaf_mut(&mut self, name: &ChunkId) -> (u64, &mut Leaf, &mut Frames) {
        let mut found = self.leaves.range_mut(..=head_of(name));
        let (prefix, leaf) = found.next_back().expect("one begins at 0");
        (*prefix, leaf, &mut self.frames)
    }

    pub(crate) fn get(&self, name: &ChunkId) -> Option<Value> {
        let leaf = self.leaf(name);
        let at = leaf.search(&self.frames, name).ok()?;
        Some(leaf.value(&self.frames, at))
    }

    /// Inserts a row, or changes its value.
    pub(crate) fn set(&mut self, name: &ChunkId, value: &Value) {
        loop {
            let (prefix, leaf, frames) = self.leaf_mut(name);
            match leaf.search(frames, name) {
                Ok(at) => return leaf.set_value(frames, at, value),
                Err(at) if leaf.len() < MAX_ROWS || leaf.depth() == u64::BITS => {
                    leaf.insert(frames, at, name, value);
                    self.len += 1;
                    return;
                }
                Err(_) => self.split(prefix),
            }
        }
    }

    /// Adds these rows, in order, to a table that has none of names with the same first `depth` bits as `prefix`, nor
    /// of later ones. A table that is filled so begins empty, and is whole when all prefixes had their turn in order.
    /// O(rows).
    pub(crate) fn fill(&mut self, prefix: u64, depth: u32, rows: &[(ChunkId, Value)]) {
        debug_assert!(rows.is_sorted_by(|(a, _), (b, _)| a < b), "rows are in order");
        if rows.len() > MAX_ROWS && depth < u64::BITS {
            let bit = 1 << (u64::BITS - 1 - depth);
            let (low, high) =
                rows.split_at(rows.partition_point(|(name, _)| head_of(name) & bit == 0));
            self.fill(prefix, depth + 1, low);
            self.fill(prefix | bit, depth + 1, high);
            return;
        }
        let mut leaf = Leaf::new(prefix, depth, self.value);
        leaf.fill(&mut self.frames, rows);
        self.len += rows.len();
        self.leaves.insert(prefix, leaf);
    }

    /// Removes the row, if there is one.
    pub(crate) fn remove(&mut self, name: &ChunkId) {
        let (prefix, leaf, frames) = self.leaf_mut(name);
        let Ok(at) = leaf.search(frames, name) else { return };
        leaf.remove(frames, at, name);
        self.len -= 1;
        self.join(prefix);
        let (used, free) = self.frames.count();
        // So much is moved only after about as much was removed.
        if free > used / 4 + 64 {
            self.give_memory_back();
        }
    }

    /// The rows in the order of their names, from `from` on.
    pub(crate) fn rows(&self, from: ChunkId) -> impl Iterator<Item = (ChunkId, Value)> {
        let first = self.leaf(&from);
        let start = first.search(&self.frames, &from).unwrap_or_else(|at| at);
        let later = self.leaves.range(head_of(&from)..).map(|(_, leaf)| leaf);
        let later = later.filter(move |leaf| !core::ptr::eq(*leaf, first));
        core::iter::once((first, start)).chain(later.map(|leaf| (leaf, 0))).flat_map(
            move |(leaf, start)| {
                let mut bucket = 0;
                (start..leaf.len()).map_while(move |at| leaf.read(&self.frames, at, &mut bucket))
            },
        )
    }

    /// Halves the range of the leaf at `prefix`.
    fn split(&mut self, prefix: u64) {
        let mut leaf = self.leaves.remove(&prefix).expect("it is full");
        let bit = 1 << (u64::BITS - 1 - leaf.depth());
        let mut low = Leaf::new(prefix, leaf.depth() + 1, self.value);
        let mut high = Leaf::new(prefix | bit, leaf.depth() + 1, self.value);
        move_rows(&mut leaf, &mut self.frames, |frames, name, value| {
            let half = if head_of(name) & bit == 0 { &mut low } else { &mut high };
            half.push(frames, name, value);
        });
        self.leaves.insert(prefix, low);
        self.leaves.insert(prefix | bit, high);
    }

    /// Joins the leaf at `prefix` with its twin if both are nearly empty, and so on.
    fn join(&mut self, mut prefix: u64) {
        loop {
            let Some(leaf) = self.leaves.get(&prefix).filter(|leaf| leaf.depth() > 0) else {
                return;
            };
            let depth = leaf.depth();
            let bit = 1 << (u64::BITS - depth);
            let (low, high) = (prefix & !bit, prefix | bit);
            let rows = |at| self.leaves.get(at).filter(|twin| twin.depth() == depth).map(Leaf::len);
            let Some(together) = rows(&low).zip(rows(&high)).map(|(a, b)| a + b) else { return };
            if together > MIN_ROWS {
                return;
            }
            let mut joined = Leaf::new(low, depth - 1, self.value);
            for twin in [low, high] {
                let mut twin = self.leaves.remove(&twin).expect("just looked");
                move_rows(&mut twin, &mut self.frames, |frames, name, value| {
                    joined.push(frames, name, value);
                });
            }
            self.leaves.insert(low, joined);
            prefix = low;
        }
    }

    fn give_memory_back(&mut self) {
        let (used, _) = self.frames.count();
        let mut holes = self.frames.holes(used);
        for leaf in self.leaves.values_mut() {
            leaf.move_below(&mut self.frames, used, &mut holes);
        }
        self.frames.truncate(used);
    }

    #[cfg(test)]
    fn memory(&self) -> (usize, usize, usize) {
        let (used, free) = self.frames.count();
        (self.leaves.len(), used, free)
    }
}

/// Takes all rows out of `from`, in order, and hands them to `push`.
fn move_rows(
    from: &mut Leaf,
    frames: &mut Frames,
    mut push: impl FnMut(&mut Frames, &ChunkId, &Value),
) {
    let (mut at, mut bucket) = (0, 0);
    while let Some((name, value)) = from.read(frames, at, &mut bucket) {
        push(frames, &name, &value);
        at += 1;
    }
    from.clear(frames);
}

#[cfg(test)]
mod tests;
