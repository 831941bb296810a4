//! Sets of chunks in little memory, which may say of a chunk that it is in them although it is not.

use alloc::vec;
use alloc::vec::Vec;

use slotcast_protocol::ChunkId;

/// Chunks of the first part.
const FIRST: usize = 4096;

/// Bits for a chunk: with seven of them set for each, one of a hundred others seems to be in it (B. Bloom, Space/time
/// trade-offs in hash coding with allowable errors, 1970).
const BITS: usize = 10;

const HASHES: u64 = 7;

/// Parts of a set, 67 million chunks and 84 MB together. What is larger seems to have everything in it.
const MAX_PARTS: usize = 14;

/// A set that grows: a Bloom filter, and another one of twice the size when it is full. About 1.3 bytes for each chunk while
/// its last part is full. What was inserted is always found; of what was not about 2 % is, and another 2 % with another
/// salt. One of more than 67 million seems to have everything in it, so that its memory has a bound.
#[derive(Debug, Clone)]
pub struct Filter {
    salt: u64,
    parts: Vec<Part>,
    is_full: bool,
}

#[derive(Debug, Clone)]
struct Part {
    words: Vec<u64>,
    /// How many more it takes.
    room: usize,
}

impl Filter {
    /// Nothing is in it. Sets with different salts err about different chunks.
    pub fn new(salt: u64) -> Filter {
        Filter { salt, parts: Vec::new(), is_full: false }
    }

    /// Puts a chunk into it.
    pub fn insert(&mut self, chunk: &ChunkId) {
        if self.contains(chunk) {
            return;
        }
        if self.parts.last().is_none_or(|part| part.room == 0) {
            if self.parts.len() == MAX_PARTS {
                self.is_full = true;
                self.parts.clear();
                return;
            }
            let room = FIRST << self.parts.len();
            self.parts.push(Part { words: vec![0; (room * BITS).div_ceil(64)], room });
        }
        let places = places(self.salt, chunk);
        let Some(part) = self.parts.last_mut() else { return };
        part.room -= 1;
        let bits = part.words.len() as u64 * 64;
        for (word, bit) in places.map(|place| of(place, bits)) {
            part.words[word] |= bit;
        }
    }

    /// Whether a chunk was put into it, or seems to have been. O(log n).
    pub fn contains(&self, chunk: &ChunkId) -> bool {
        let is_in = |part: &Part| {
            let bits = part.words.len() as u64 * 64;
            places(self.salt, chunk)
                .map(|place| of(place, bits))
                .all(|(word, bit)| part.words[word] & bit != 0)
        };
        self.is_full || self.parts.iter().any(is_in)
    }
}

/// Two hashes make as many as are wanted (A. Kirsch, M. Mitzenmacher, Less hashing, same performance, 2006).
fn places(salt: u64, chunk: &ChunkId) -> impl Iterator<Item = u64> + use<> {
    let (first, step) = (chunk.mix(salt), chunk.mix(!salt) | 1);
    (0..HASHES).map(move |n| first.wrapping_add(step.wrapping_mul(n)))
}

fn of(place: u64, bits: u64) -> (usize, u64) {
    let bit = u64::try_from((u128::from(place) * u128::from(bits)) >> 64).unwrap_or(0);
    (usize::try_from(bit / 64).unwrap_or(0), 1 << (bit % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(n: u64) -> ChunkId {
        ChunkId(*blake3::hash(&n.to_le_bytes()).as_bytes())
    }

    #[test]
    fn what_was_inserted_is_found_and_little_else() {
        let mut filter = Filter::new(7);
        assert!(!filter.contains(&chunk(0)));
        (0..50_000).for_each(|n| filter.insert(&chunk(n)));
        assert!((0..50_000).all(|n| filter.contains(&chunk(n))));
        let wrong = |filter: &Filter| {
            (50_000..150_000).filter(|n| filter.contains(&chunk(*n))).collect::<Vec<_>>()
        };
        let first = wrong(&filter);
        assert!(first.len() < 4000, "{} of 100,000", first.len());
        let mut other = Filter::new(8);
        (0..50_000).for_each(|n| other.insert(&chunk(n)));
        let twice = first.iter().filter(|n| other.contains(&chunk(**n))).count();
        assert!(twice * 10 < first.len(), "{twice} of {}", first.len());
    }
}
