//! The key of a cluster, and the seal that it puts on every datagram.

use core::fmt;

/// Length of a seal.
pub(crate) const SEAL_LEN: usize = 16;

/// What only the nodes of one cluster know.
///
/// A seal is the keyed hash of BLAKE3 over all that follows it, cut to 16 bytes; its key is derived from
/// that of the cluster, so that the same secret can serve other purposes with other derived keys. A piece of
/// a chunk is not hashed for it: its value as a part of the chunk, a hash that is needed anyway, stands for it.
#[derive(Clone)]
pub struct Key([u8; 32]);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(secret)")
    }
}

impl Key {
    /// The key of the cluster whose secret is `secret`.
    pub fn new(secret: &[u8; 32]) -> Key {
        Key(blake3::derive_key("slotcast 2026-11 seal of datagrams", secret))
    }

    /// Writes the seal of what follows the first 16 bytes, and of `more`, into those.
    ///
    /// # Panics
    /// If there are no 16 bytes.
    pub fn seal(&self, datagram: &mut [u8], more: &[u8]) {
        let (seal, sealed) = datagram.split_at_mut(SEAL_LEN);
        seal.copy_from_slice(&self.mac(sealed, more));
    }

    /// Whether the first 16 bytes are the seal of the rest and `more`. Takes the same time wherever they
    /// differ.
    pub fn is_sealed(&self, datagram: &[u8], more: &[u8]) -> bool {
        let Some((seal, sealed)) = datagram.split_first_chunk::<SEAL_LEN>() else { return false };
        u128::from_le_bytes(*seal) ^ u128::from_le_bytes(self.mac(sealed, more)) == 0
    }

    fn mac(&self, sealed: &[u8], more: &[u8]) -> [u8; SEAL_LEN] {
        let hash = blake3::Hasher::new_keyed(&self.0).update(sealed).update(more).finalize();
        let (mac, _) = hash.as_bytes().split_first_chunk().expect("a hash has 32 bytes");
        *mac
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_changed_bit_breaks_the_seal(
            rest in proptest::collection::vec(any::<u8>(), 0..200),
            more in any::<[u8; 32]>(),
            bit: usize,
        ) {
            let key = Key::new(&[7; 32]);
            let mut datagram = alloc::vec![0; SEAL_LEN];
            datagram.extend(rest);
            key.seal(&mut datagram, &more);
            prop_assert!(key.is_sealed(&datagram, &more));
            prop_assert!(!Key::new(&[8; 32]).is_sealed(&datagram, &more));
            prop_assert!(!key.is_sealed(&datagram, &[]));
            let mut other = more;
            other[bit % 32] ^= 1;
            prop_assert!(!key.is_sealed(&datagram, &other));
            let bit = bit % (datagram.len() * 8);
            datagram[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(!key.is_sealed(&datagram, &more));
        }
    }

    #[test]
    fn what_has_no_room_for_a_seal_is_not_sealed() {
        assert!(!Key::new(&[7; 32]).is_sealed(&[0; 15], &[]));
    }
}
