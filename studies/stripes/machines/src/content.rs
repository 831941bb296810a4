use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use rustfs_erasure_codec::galois_8::{mul, mul_slice_xor};

/// What a unit of a stripe holds, as a row of bytes in GF(2^8).
///
/// The machines move contents, add them and scale them, and look at nothing else. So a store can use
/// [`Bytes`], a model checker one byte, and a simulator a few bytes that stand for a whole unit.
pub trait Content: Clone + Eq + fmt::Debug {
    /// The number of bytes. Units of one stripe are equally long; what is not is refused.
    fn len(&self) -> usize;

    /// Whether there are no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds `factor` times `other`, byte by byte in GF(2^8). Both have the same length.
    fn add_scaled(&mut self, factor: u8, other: &Self);

    /// This content times `factor`.
    #[must_use]
    fn scaled(&self, factor: u8) -> Self {
        // x + (factor - 1) x, and in GF(2^8) subtracting one is flipping the lowest bit.
        let mut scaled = self.clone();
        scaled.add_scaled(factor ^ 1, self);
        scaled
    }

    /// The sum of this content and `other`, which in GF(2^8) is also their difference: what must be
    /// added to one to get the other.
    #[must_use]
    fn plus(mut self, other: &Self) -> Self {
        self.add_scaled(1, other);
        self
    }
}

/// The bytes of a unit. A clone shares them.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Bytes(Arc<[u8]>);

impl Bytes {
    /// The bytes themselves.
    pub fn as_slice(&self) -> &[u8] {
        &self.0
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Bytes {
        Bytes(bytes.into())
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bytes({})", self.0.len())
    }
}

impl Content for Bytes {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn add_scaled(&mut self, factor: u8, other: &Bytes) {
        mul_slice_xor(factor, &other.0, Arc::make_mut(&mut self.0));
    }
}

/// A few bytes that stand for a unit.
impl<const N: usize> Content for [u8; N] {
    fn len(&self) -> usize {
        N
    }

    fn add_scaled(&mut self, factor: u8, other: &[u8; N]) {
        for (byte, added) in self.iter_mut().zip(other) {
            *byte ^= mul(factor, *added);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bytes_and_a_few_bytes_are_one_arithmetic(a: [u8; 7], b: [u8; 7], factor: u8) {
            let mut few = a;
            few.add_scaled(factor, &b);
            let mut many = Bytes::from(a.to_vec());
            many.add_scaled(factor, &Bytes::from(b.to_vec()));
            prop_assert_eq!(many.as_slice(), &few);
            prop_assert_eq!(a.scaled(1), a);
            prop_assert_eq!(a.scaled(0), [0; 7]);
            prop_assert_eq!(a.plus(&b).plus(&b), a);
            prop_assert_eq!(a.plus(&b.scaled(factor)), few);
        }
    }

    #[test]
    fn a_clone_keeps_its_bytes() {
        let mut first = Bytes::from(alloc::vec![1, 2, 3]);
        let second = first.clone();
        first.add_scaled(1, &second);
        assert_eq!((first.as_slice(), second.as_slice()), (&[0, 0, 0][..], &[1, 2, 3][..]));
    }
}
