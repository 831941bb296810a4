//! The key of a cluster, and the seal that it puts on every datagram.

use core::fmt;

/// Length of a seal.
pub(crate) const SEAL_LEN: usize = 16;

/// What only the nodes of one cluster know.
///
/// A seal is the keyed hash of BLAKE3 over all that follows it, cut to 16 bytes; its key is derived from
/// that of the cluster, so that the same secret can serve other purposes with other derived keys.
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

    /// Writes the seal of what follows the first 16 bytes into those.
    ///
    /// # Panics
    /// If there are no 16 bytes.
    pub fn seal(&self, datagram: &mut [u8]) {
        let (seal, sealed) = datagram.split_at_mut(SEAL_LEN);
        seal.copy_from_slice(&self.mac(sealed));
    }

    /// Whether the first 16 bytes are the seal of the rest. Takes the same time wherever they differ.
    pub fn is_sealed(&self, datagram: &[u8]) -> bool {
        let Some((seal, sealed)) = datagram.split_first_chunk::<SEAL_LEN>() else { return false };
        u128::from_le_bytes(*seal) ^ u128::from_le_bytes(self.mac(sealed)) == 0
    }

    fn mac(&self, sealed: &[u8]) -> [u8; SEAL_LEN] {
        let hash = blake3::keyed_hash(&self.0, sealed);
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
        fn every_changed_bit_breaks_the_seal(rest in proptest::collection::vec(any::<u8>(), 0..200), bit: usize) {
            let key = Key::new(&[7; 32]);
            let mut datagram = alloc::vec![0; SEAL_LEN];
            datagram.extend(rest);
            key.seal(&mut datagram);
            prop_assert!(key.is_sealed(&datagram));
            prop_assert!(!Key::new(&[8; 32]).is_sealed(&datagram));
            let bit = bit % (datagram.len() * 8);
            datagram[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(!key.is_sealed(&datagram));
        }
    }

    #[test]
    fn what_has_no_room_for_a_seal_is_not_sealed() {
        assert!(!Key::new(&[7; 32]).is_sealed(&[0; 15]));
    }
}
