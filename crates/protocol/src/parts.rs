//! Parts of a chunk, whose values together give its name.
//!
//! A chunk's name is the BLAKE3 hash of its content, and BLAKE3 is the root of a tree: the value of a part
//! that is a whole subtree can be computed alone, and the values of all parts give the name without another
//! look at the bytes. So who takes a chunk in parts hashes each of them once, where a hash of each part for
//! itself and one of the whole would take two passes.
//!
//! Source: BLAKE3 paper, sections 2.1 and 6.4 (the tree, and verified streaming).

use alloc::sync::Arc;
use alloc::vec::Vec;

use blake3::Hasher;
use blake3::hazmat::{HasherExt, Mode, merge_subtrees_non_root, merge_subtrees_root};

use crate::ids::ChunkId;

/// The value of a part: that of the subtree over it, at its place. It is no name, not even where the part is
/// the whole chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PartValue(pub [u8; 32]);

impl PartValue {
    /// The value of the part that is `bytes`, and that begins `offset` bytes after the beginning of its
    /// chunk. O(length): some GB/s for parts of 4 KiB and more, less for shorter ones.
    ///
    /// # Panics
    /// If there are no bytes, or no part of this length begins there.
    pub fn of(offset: u64, bytes: &[u8]) -> PartValue {
        PartValue(Hasher::new().set_input_offset(offset).update(bytes).finalize_non_root())
    }
}

/// Whether chunks can be cut into parts of `len` bytes: 1024 times a power of two, to 1 GiB.
pub const fn is_part_len(len: u32) -> bool {
    len.is_power_of_two() && len >= 1 << 10 && len <= 1 << 30
}

/// The values of all parts of one chunk. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts {
    len: u32,
    values: Arc<[PartValue]>,
}

impl Parts {
    /// Of `bytes` in parts of `len`, the last of which may be shorter.
    ///
    /// # Panics
    /// Unless [`is_part_len`].
    pub fn of(bytes: &[u8], len: u32) -> Parts {
        let values = (0..).zip(bytes.chunks(len as usize));
        let value = |(i, part)| PartValue::of(i * u64::from(len), part);
        Parts::new(len, values.map(value).collect())
    }

    /// Of parts of `len` bytes, from their values in order.
    ///
    /// # Panics
    /// Unless [`is_part_len`].
    pub fn new(len: u32, values: Vec<PartValue>) -> Parts {
        assert!(is_part_len(len), "parts of {len} bytes are no subtrees");
        Parts { len, values: values.into() }
    }

    /// How long each part but the last one is, in bytes.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether there are none: those of an empty chunk.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The value of part `i`.
    pub fn value(&self, i: usize) -> Option<PartValue> {
        self.values.get(i).copied()
    }

    /// The name of the chunk, whose content is `bytes`. They are looked at only where they are one part or
    /// none; else this takes O(parts).
    pub fn name(&self, bytes: &[u8]) -> ChunkId {
        let hash = match split(&self.values) {
            Some((left, right)) => merge_subtrees_root(&merged(left), &merged(right), Mode::Hash),
            None => blake3::hash(bytes),
        };
        ChunkId(*hash.as_bytes())
    }
}

/// The two halves of a tree over some parts: the left one is the largest full tree that leaves something.
fn split(values: &[PartValue]) -> Option<(&[PartValue], &[PartValue])> {
    let left = values.len().checked_sub(1).filter(|rest| *rest > 0)?;
    Some(values.split_at(1 << left.ilog2()))
}

fn merged(values: &[PartValue]) -> [u8; 32] {
    match split(values) {
        Some((left, right)) => merge_subtrees_non_root(&merged(left), &merged(right), Mode::Hash),
        None => values[0].0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn content(length: usize) -> Vec<u8> {
        (0..length).map(|n| (n * 7 + n / 251) as u8).collect()
    }

    proptest! {
        #[test]
        fn the_values_of_all_parts_give_the_name(length in 0usize..300_000, log in 0u32..6) {
            let bytes = content(length);
            let parts = Parts::of(&bytes, 1024 << log);
            prop_assert_eq!(parts.name(&bytes).0, *blake3::hash(&bytes).as_bytes());
        }
    }

    #[test]
    fn lengths_beside_those_of_whole_parts_and_trees() {
        for count in [1, 2, 3, 4, 5, 7, 8, 9, 127, 128, 129] {
            for length in [count * 1024 - 1, count * 1024, count * 1024 + 1] {
                let bytes = content(length);
                let name = *blake3::hash(&bytes).as_bytes();
                assert_eq!(Parts::of(&bytes, 1024).name(&bytes).0, name, "{length} bytes");
            }
        }
    }

    #[test]
    fn the_value_of_a_part_is_that_of_its_place() {
        let part = [5; 2048];
        assert_ne!(PartValue::of(0, &part), PartValue::of(2048, &part));
        assert_ne!(PartValue::of(0, &part).0, *blake3::hash(&part).as_bytes());
    }

    #[test]
    fn what_is_no_subtree_is_no_part() {
        assert!(is_part_len(1024) && is_part_len(8192) && is_part_len(1 << 20));
        assert!(!is_part_len(0) && !is_part_len(512) && !is_part_len(3072) && !is_part_len(1000));
    }
}
