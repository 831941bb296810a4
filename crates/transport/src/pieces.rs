//! A set of the pieces of one chunk.

use alloc::vec::Vec;

/// Numbers below a given count, each in or out. One bit each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pieces {
    words: Vec<u64>,
    count: u32,
    held: u32,
}

impl Pieces {
    /// None of `count` pieces.
    pub fn none(count: u32) -> Pieces {
        Pieces { words: alloc::vec![0; count.div_ceil(64) as usize], count, held: 0 }
    }

    /// All of `count` pieces.
    pub fn all(count: u32) -> Pieces {
        let mut words = alloc::vec![u64::MAX; count.div_ceil(64) as usize];
        if let Some(last) = words.last_mut().filter(|_| !count.is_multiple_of(64)) {
            *last = (1 << (count % 64)) - 1;
        }
        Pieces { words, count, held: count }
    }

    /// Reads the set from bytes as [`Pieces::bytes`] gives them; none if they are not of `count` pieces.
    pub fn read(count: u32, bytes: &[u8]) -> Option<Pieces> {
        if bytes.len() != count.div_ceil(8) as usize {
            return None;
        }
        let mut pieces = Pieces::none(count);
        for (word, bytes) in pieces.words.iter_mut().zip(bytes.chunks(8)) {
            let mut whole = [0; 8];
            whole[..bytes.len()].copy_from_slice(bytes);
            *word = u64::from_le_bytes(whole);
        }
        let beyond = pieces.words.last().is_some_and(|word| {
            let used = count % 64;
            used != 0 && word >> used != 0
        });
        pieces.held = pieces.words.iter().map(|word| word.count_ones()).sum();
        (!beyond).then_some(pieces)
    }

    /// The set as bytes: piece *i* is bit *i* mod 8 of byte *i* / 8.
    pub fn bytes(&self) -> impl Iterator<Item = u8> {
        let bytes = self.words.iter().flat_map(|word| word.to_le_bytes());
        bytes.take(self.count.div_ceil(8) as usize)
    }

    /// Adds `piece`; says whether it was out.
    ///
    /// # Panics
    /// If there is no such piece.
    pub fn insert(&mut self, piece: u32) -> bool {
        assert!(piece < self.count, "piece {piece} of {}", self.count);
        let (word, bit) = (&mut self.words[piece as usize / 64], 1 << (piece % 64));
        let was_out = *word & bit == 0;
        *word |= bit;
        self.held += u32::from(was_out);
        was_out
    }

    /// Takes `piece` out, if it is in.
    pub fn remove(&mut self, piece: u32) {
        if self.contains(piece) {
            self.words[piece as usize / 64] &= !(1 << (piece % 64));
            self.held -= 1;
        }
    }

    /// Whether `piece` is in.
    pub fn contains(&self, piece: u32) -> bool {
        piece < self.count && self.words[piece as usize / 64] & (1 << (piece % 64)) != 0
    }

    /// Adds all of `other`, a set of the same pieces.
    pub fn add(&mut self, other: &Pieces) {
        debug_assert_eq!(self.count, other.count, "sets of pieces of one chunk");
        self.words.iter_mut().zip(&other.words).for_each(|(word, other)| *word |= other);
        self.held = self.words.iter().map(|word| word.count_ones()).sum();
    }

    /// Those that are out.
    #[must_use]
    pub fn others(&self) -> Pieces {
        let mut others = Pieces::all(self.count);
        others.words.iter_mut().zip(&self.words).for_each(|(word, held)| *word &= !held);
        others.held = self.count - self.held;
        others
    }

    /// The first that is in, from `from` on.
    pub fn next(&self, from: u32) -> Option<u32> {
        let mut at = from as usize / 64;
        let mut word = self.words.get(at)? & (u64::MAX << (from % 64));
        while word == 0 {
            at += 1;
            word = *self.words.get(at)?;
        }
        u32::try_from(at * 64).ok().map(|base| base + word.trailing_zeros())
    }

    /// How many are in.
    pub fn len(&self) -> u32 {
        self.held
    }

    /// Whether none is in.
    pub fn is_empty(&self) -> bool {
        self.held == 0
    }

    /// Whether all are in.
    pub fn is_full(&self) -> bool {
        self.held == self.count
    }

    /// Of how many pieces this is a set.
    pub fn count(&self) -> u32 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_behaves_as_a_set(count in 1u32..300, steps in proptest::collection::vec((any::<bool>(), 0u32..300), 0..100)) {
            let mut pieces = Pieces::none(count);
            let mut set = BTreeSet::new();
            for (insert, piece) in steps {
                let piece = piece % count;
                if insert {
                    prop_assert_eq!(pieces.insert(piece), set.insert(piece));
                } else {
                    pieces.remove(piece);
                    set.remove(&piece);
                }
            }
            prop_assert_eq!(pieces.len() as usize, set.len());
            let bytes: Vec<u8> = pieces.bytes().collect();
            prop_assert_eq!(Pieces::read(count, &bytes), Some(pieces.clone()));
            let mut listed = Vec::new();
            let mut from = 0;
            while let Some(piece) = pieces.next(from) {
                listed.push(piece);
                from = piece + 1;
            }
            prop_assert_eq!(listed, set.into_iter().collect::<Vec<_>>());
            let mut whole = pieces.others();
            prop_assert_eq!(whole.len(), count - pieces.len());
            whole.add(&pieces);
            prop_assert!(whole.is_full());
        }
    }

    #[test]
    fn bits_beyond_the_last_piece_are_refused() {
        assert!(Pieces::read(3, &[0b111]).is_some_and(|pieces| pieces.is_full()));
        assert_eq!(Pieces::read(3, &[0b1111]), None);
        assert_eq!(Pieces::read(3, &[0, 0]), None);
        assert!(Pieces::read(64, &[255; 8]).is_some_and(|pieces| pieces.is_full()));
    }
}
