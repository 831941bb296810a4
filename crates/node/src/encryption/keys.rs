//! Keys of objects, and what they come from.

use std::fmt;

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use zeroize::Zeroizing;

use super::EncryptionError;
use crate::access::MasterKeys;

/// Bytes of the salt of a key that is derived.
pub(crate) const SALT: usize = 16;

/// Of what keys are derived: each purpose has another.
const SEALS_KEYS: &str = "slotcast 2026-11 master key that seals keys of objects";
const OF_CUSTOMER: &str = "slotcast 2026-11 key of an object, of one of a customer";
const CHECKS: &str = "slotcast 2026-11 check of a key of a customer";
const TAGS: &str = "slotcast 2026-11 entity tags with a key of a customer";

/// Random bytes.
pub(super) fn random<const N: usize>() -> Result<Zeroizing<[u8; N]>, EncryptionError> {
    let mut bytes = Zeroizing::new([0; N]);
    getrandom::fill(&mut *bytes).map_err(|_| EncryptionError::NoRandom)?;
    Ok(bytes)
}

pub(super) fn aes(bytes: &[u8; 32]) -> LessSafeKey {
    LessSafeKey::new(UnboundKey::new(&AES_256_GCM, bytes).expect("32 bytes are a key"))
}

fn derived(purpose: &str, key: &[u8; 32], salt: &[u8]) -> Zeroizing<[u8; 32]> {
    let material = Zeroizing::new([&key[..], salt].concat());
    Zeroizing::new(blake3::derive_key(purpose, &material))
}

/// The key of one object.
#[derive(Clone)]
pub(crate) struct ObjectKey(Zeroizing<[u8; 32]>);

impl fmt::Debug for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ObjectKey(…)")
    }
}

impl ObjectKey {
    /// One that no other object has.
    pub(super) fn random() -> Result<ObjectKey, EncryptionError> {
        random().map(ObjectKey)
    }

    /// What a run of frames with this header is encrypted with.
    pub(super) fn of_run(&self, header: &[u8]) -> LessSafeKey {
        let hash = Zeroizing::new(*blake3::keyed_hash(&self.0, header).as_bytes());
        aes(&hash)
    }
}

impl MasterKeys {
    /// The key of an object, sealed with the first of these; and the number of that.
    pub(super) fn seal_key(&self, key: &ObjectKey) -> Result<(u32, Vec<u8>), EncryptionError> {
        let nonce = random::<NONCE_LEN>()?;
        let (number, master) = self.first();
        let mut sealed = Zeroizing::new(key.0.to_vec());
        let about = Nonce::assume_unique_for_key(*nonce);
        let tag = aes(&derived(SEALS_KEYS, master, &[]))
            .seal_in_place_separate_tag(about, of_number(number), &mut sealed)
            .expect("a key is not too long");
        Ok((number, [&nonce[..], &sealed, tag.as_ref()].concat()))
    }

    /// The key that was sealed, if it was with the one of this number.
    pub(super) fn open_key(&self, number: u32, sealed: &[u8]) -> Option<ObjectKey> {
        let (_, master) = self.iter().find(|(other, _)| *other == number)?;
        let (nonce, sealed) = sealed.split_first_chunk::<NONCE_LEN>()?;
        let mut sealed = Zeroizing::new(sealed.to_vec());
        let about = Nonce::assume_unique_for_key(*nonce);
        let key = aes(&derived(SEALS_KEYS, master, &[]));
        let opened = key.open_in_place(about, of_number(number), &mut sealed).ok()?;
        let opened: &[u8; 32] = (&*opened).try_into().ok()?;
        Some(ObjectKey(Zeroizing::new(*opened)))
    }
}

/// What a sealed key is bound to.
fn of_number(number: u32) -> Aad<[u8; 4]> {
    Aad::from(number.to_be_bytes())
}

/// A key that a customer has, and that is not kept: it comes with each request.
#[derive(Clone)]
pub struct CustomerKey(Zeroizing<[u8; 32]>);

impl fmt::Debug for CustomerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CustomerKey(…)")
    }
}

impl CustomerKey {
    /// This key.
    pub fn new(bytes: &[u8; 32]) -> CustomerKey {
        CustomerKey(Zeroizing::new(*bytes))
    }

    pub(super) fn object_key(&self, salt: &[u8; SALT]) -> ObjectKey {
        ObjectKey(derived(OF_CUSTOMER, &self.0, salt))
    }

    /// What tells this key from others.
    pub(super) fn check(&self, salt: &[u8; SALT]) -> [u8; 32] {
        *derived(CHECKS, &self.0, salt)
    }

    /// Whether it is the key that this is the check of. The comparison takes constant time.
    pub(super) fn fits(&self, salt: &[u8; SALT], check: &[u8; 32]) -> bool {
        blake3::Hash::from_bytes(self.check(salt)) == blake3::Hash::from_bytes(*check)
    }

    /// What stands for the MD5 of content in an entity tag: equal for equal content under this key, and says nothing of the
    /// content to whoever does not have the key.
    pub(crate) fn tag(&self, md5: [u8; 16]) -> [u8; 16] {
        let tag = derived(TAGS, &self.0, &md5);
        let mut first = [0; 16];
        first.copy_from_slice(&tag[..16]);
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masters(text: &str) -> MasterKeys {
        MasterKeys::read(text).expect("keys")
    }

    #[test]
    fn a_sealed_key_is_opened_with_its_master_key_alone() {
        let (a, b) = ("a".repeat(64), "b".repeat(64));
        let key = ObjectKey::random().expect("random");
        let (number, sealed) = masters(&a).seal_key(&key).expect("random");
        assert_eq!((number, sealed.len()), (1, 60));
        let opened =
            |keys: &str, number| masters(keys).open_key(number, &sealed).map(|opened| opened.0);
        assert_eq!(opened(&a, 1), Some(key.0.clone()));
        assert_eq!(opened(&format!("2 {b}, 1 {a}"), 1), Some(key.0.clone()));
        assert!(opened(&b, 1).is_none() && opened(&format!("2 {a}"), 2).is_none());
        assert!(opened(&a, 2).is_none());
        let (newest, again) = masters(&format!("2 {b}, 1 {a}")).seal_key(&key).expect("random");
        assert_eq!(newest, 2);
        assert_ne!(again, sealed);
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert!(masters(&a).open_key(1, &changed).is_none(), "{at}");
        }
        assert!(masters(&a).open_key(1, &[]).is_none());
        assert_eq!(format!("{key:?}"), "ObjectKey(…)");
    }

    #[test]
    fn a_key_of_a_customer_is_told_from_others() {
        let (one, other) = (CustomerKey::new(&[1; 32]), CustomerKey::new(&[2; 32]));
        let (salt, salt_too) = ([3; SALT], [4; SALT]);
        let check = one.check(&salt);
        assert!(one.fits(&salt, &check));
        assert!(!other.fits(&salt, &check) && !one.fits(&salt_too, &check));
        assert_ne!(one.object_key(&salt).0, one.object_key(&salt_too).0);
        assert_ne!(*one.object_key(&salt).0, check);
        assert_ne!(one.tag([5; 16]), other.tag([5; 16]));
        assert_eq!(one.tag([5; 16]), one.tag([5; 16]));
    }
}
