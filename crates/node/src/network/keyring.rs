//! How datagrams are sealed and, where a node is told so, encrypted.
//!
//! What is sealed is told from another's by the keyed hash of `slotcast_transport`. What is encrypted goes through
//! AES-256-GCM (NIST SP 800-38D): the header stays readable, since it says whose key it is, and is authenticated with the
//! body. Each incarnation of a node has a key of its own, derived from that of the cluster, and numbers all its datagrams:
//! so no nonce is used twice.

use std::collections::HashMap;

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, Tag, UnboundKey};
use slotcast_transport::{Datagram, HEADER_LEN, KIND_AT, KIND_BITS, Key, Refused, SEAL_LEN};

use crate::cluster::{ClusterKeys, Encryption, MAX_KEYS};

/// In the kind of a datagram: its body is encrypted. The bits between this and the kind are the key's number, modulo 8.
const ENCRYPTED: u8 = 0x80;
const NUMBER_SHIFT: u32 = 4;

/// Where the header says which incarnation of which node sent it, and the number of the datagram.
const SENDER_AT: std::ops::Range<usize> = 24..36;
const SEQUENCE_AT: std::ops::Range<usize> = 36..44;

/// Keys of so many incarnations are remembered; a cluster has fewer.
const MAX_KNOWN: usize = 4096;

/// The keys of a cluster, for one node.
pub(super) struct Keyring {
    /// The first is sent with.
    keys: Vec<RingKey>,
    encryption: Encryption,
    /// What this node encrypts with.
    own: LessSafeKey,
}

struct RingKey {
    number: u32,
    seal: Key,
    /// Of which keys of incarnations are derived.
    base: [u8; 32],
}

/// Why a datagram is not read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unread {
    /// It is not believed.
    Refused(Refused),
    /// It is not encrypted, and this node believes only what is.
    Plain,
}

impl From<Refused> for Unread {
    fn from(refused: Refused) -> Unread {
        Unread::Refused(refused)
    }
}

impl RingKey {
    /// The key of an incarnation of a node, as the header has them.
    fn of_sender(&self, sender: &[u8]) -> LessSafeKey {
        let hash = blake3::keyed_hash(&self.base, sender);
        let key = UnboundKey::new(&AES_256_GCM, hash.as_bytes()).expect("32 bytes are a key");
        LessSafeKey::new(key)
    }
}

fn slot(number: u32) -> usize {
    number as usize % MAX_KEYS
}

/// That of a datagram with this header.
fn nonce(header: &[u8]) -> Nonce {
    let mut nonce = [0; NONCE_LEN];
    nonce[NONCE_LEN - SEQUENCE_AT.len()..].copy_from_slice(&header[SEQUENCE_AT]);
    Nonce::assume_unique_for_key(nonce)
}

impl Keyring {
    /// The keys as `sender`, a node number and its incarnation, uses them.
    pub(super) fn new(keys: &ClusterKeys, encryption: Encryption, sender: (u32, u64)) -> Keyring {
        let of = |(number, secret): (u32, &[u8; 32])| RingKey {
            number,
            seal: Key::new(secret),
            base: blake3::derive_key("slotcast 2026-11 encryption of datagrams", secret),
        };
        let keys: Vec<RingKey> = keys.iter().map(of).collect();
        let mut own = sender.0.to_le_bytes().to_vec();
        own.extend_from_slice(&sender.1.to_le_bytes());
        let own = keys[0].of_sender(&own);
        Keyring { keys, encryption, own }
    }

    /// Numbers of the keys, that which is sent with first.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u32> {
        self.keys.iter().map(|key| key.number)
    }

    /// Appends a datagram to `out` as it goes over the wire; gives its length, which is the same in either way.
    pub(super) fn write(&self, datagram: &Datagram<'_>, out: &mut Vec<u8>) -> usize {
        let first = &self.keys[0];
        if self.encryption == Encryption::Off {
            return datagram.encode(&first.seal, out);
        }
        let start = out.len();
        let length = datagram.encode_open(out);
        let (header, body) = out[start..].split_at_mut(HEADER_LEN);
        // Smaller than 8.
        let number = u8::try_from(slot(first.number)).expect("a slot");
        header[KIND_AT] |= ENCRYPTED | number << NUMBER_SHIFT;
        let nonce = nonce(header);
        let (seal, authenticated) = header.split_at_mut(SEAL_LEN);
        let tag = self.own.seal_in_place_separate_tag(nonce, Aad::from(&*authenticated), body);
        seal.copy_from_slice(tag.expect("a datagram is not too long").as_ref());
        length
    }
}

/// Reads what others have sent.
#[derive(Default)]
pub(super) struct Opener {
    /// Of keys and incarnations that have sent something before.
    known: HashMap<(u32, [u8; 12]), LessSafeKey>,
}

impl Opener {
    /// The datagram in `bytes`, decrypted in place, and where its key is counted.
    pub(super) fn open<'a>(
        &mut self,
        keyring: &Keyring,
        bytes: &'a mut [u8],
    ) -> Result<(Datagram<'a>, usize), Unread> {
        match bytes.get(KIND_AT) {
            Some(kind) if kind & ENCRYPTED != 0 && bytes.len() >= HEADER_LEN => {
                self.decrypt(keyring, bytes)
            }
            _ if keyring.encryption == Encryption::Only => Err(Unread::Plain),
            _ => {
                let mut refused = Refused::Seal;
                for key in &keyring.keys {
                    match Datagram::decode(&key.seal, bytes) {
                        Ok(datagram) => return Ok((datagram, slot(key.number))),
                        Err(Refused::Seal) => {}
                        Err(error) => {
                            refused = error;
                            break;
                        }
                    }
                }
                Err(refused.into())
            }
        }
    }

    fn decrypt<'a>(
        &mut self,
        keyring: &Keyring,
        bytes: &'a mut [u8],
    ) -> Result<(Datagram<'a>, usize), Unread> {
        let (header, body) = bytes.split_at_mut(HEADER_LEN);
        let number = usize::from((header[KIND_AT] & !ENCRYPTED) >> NUMBER_SHIFT);
        let Some(key) = keyring.keys.iter().find(|key| slot(key.number) == number) else {
            return Err(Refused::Seal.into());
        };
        let sender: [u8; 12] = header[SENDER_AT].try_into().expect("12 bytes");
        let tag = Tag::try_from(&header[..SEAL_LEN]).map_err(|_| Refused::Seal)?;
        let (nonce, aad) = (nonce(header), Aad::from(&header[SEAL_LEN..]));
        let place = (key.number, sender);
        let new = (!self.known.contains_key(&place)).then(|| key.of_sender(&sender));
        let sender_key = new.as_ref().or_else(|| self.known.get(&place)).ok_or(Refused::Seal)?;
        sender_key
            .open_in_place_separate_tag(nonce, aad, tag, body, 0..)
            .map_err(|_| Refused::Seal)?;
        // Only what the cluster has sent is worth remembering.
        if let Some(new) = new {
            if self.known.len() >= MAX_KNOWN {
                self.known.clear();
            }
            self.known.insert(place, new);
        }
        header[KIND_AT] &= KIND_BITS;
        Ok((Datagram::decode_opened(bytes)?, number))
    }
}

#[cfg(test)]
mod tests {
    use slotcast_transport::{Body, Header};
    use slotcast_units::Time;

    use super::*;

    fn keyring(text: &str, encryption: Encryption, sender: (u32, u64)) -> Keyring {
        Keyring::new(&text.parse().expect("keys"), encryption, sender)
    }

    fn key(digit: &str) -> String {
        digit.repeat(64)
    }

    fn letter(sequence: u64) -> Datagram<'static> {
        let header = Header {
            version: 4,
            epoch: 1,
            sender: 3,
            incarnation: 5,
            sequence,
            sent_at: Time::from_ns(9),
            echo: None,
        };
        Datagram { header, body: Body::Letter(b"nobody else reads this".as_slice().into()) }
    }

    fn written(keyring: &Keyring, sequence: u64) -> Vec<u8> {
        let mut bytes = b"before".to_vec();
        let length = keyring.write(&letter(sequence), &mut bytes);
        assert_eq!(bytes.len(), length + 6);
        bytes.split_off(6)
    }

    fn opens(keyring: &Keyring, bytes: &[u8]) -> Result<usize, Unread> {
        let mut bytes = bytes.to_vec();
        let (datagram, slot) = Opener::default().open(keyring, &mut bytes)?;
        assert_eq!(datagram, letter(datagram.header.sequence));
        Ok(slot)
    }

    #[test]
    fn what_is_encrypted_is_read_with_the_key_alone_and_differs_each_time() {
        let ring = keyring(&key("a"), Encryption::Only, (3, 5));
        let bytes = written(&ring, 1);
        assert!(!bytes.windows(6).any(|part| part == b"nobody"));
        assert_eq!(opens(&ring, &bytes), Ok(1));
        assert_ne!(written(&ring, 2)[HEADER_LEN..], bytes[HEADER_LEN..]);
        assert_ne!(
            written(&keyring(&key("a"), Encryption::Only, (3, 6)), 1)[HEADER_LEN..],
            bytes[HEADER_LEN..]
        );
        let other = keyring(&key("b"), Encryption::Only, (3, 5));
        assert_eq!(opens(&other, &bytes), Err(Refused::Seal.into()));
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut changed = bytes.clone();
                changed[at] ^= 1 << bit;
                assert!(opens(&ring, &changed).is_err(), "bit {bit} of byte {at}");
            }
            assert!(opens(&ring, &bytes[..at]).is_err(), "cut to {at}");
        }
    }

    #[test]
    fn what_is_not_encrypted_is_believed_unless_only_that_is() {
        let [off, both, only] = [Encryption::Off, Encryption::Sends, Encryption::Only]
            .map(|encryption| keyring(&key("a"), encryption, (3, 5)));
        let (plain, encrypted) = (written(&off, 1), written(&both, 1));
        assert_eq!(plain.len(), encrypted.len());
        for ring in [&off, &both, &only] {
            assert_eq!(opens(ring, &encrypted), Ok(1));
        }
        assert_eq!(opens(&off, &plain), Ok(1));
        assert_eq!(opens(&both, &plain), Ok(1));
        assert_eq!(opens(&only, &plain), Err(Unread::Plain));
    }

    #[test]
    fn every_key_is_believed_and_the_first_is_sent_with() {
        let id = "0".repeat(32);
        let two = format!("cluster {id}\n12 {}\n1 {}\n", key("b"), key("a"));
        for encryption in [Encryption::Off, Encryption::Sends] {
            let [old, new, both] = [
                format!("cluster {id}\n1 {}", key("a")),
                format!("cluster {id}\n12 {}", key("b")),
                two.clone(),
            ]
            .map(|text| keyring(&text, encryption, (3, 5)));
            assert_eq!(both.numbers().collect::<Vec<_>>(), [12, 1]);
            assert_eq!(opens(&both, &written(&old, 1)), Ok(1));
            assert_eq!(opens(&both, &written(&new, 1)), Ok(4));
            assert_eq!(opens(&new, &written(&both, 1)), Ok(4));
            assert_eq!(opens(&old, &written(&both, 1)), Err(Refused::Seal.into()));
        }
    }
}
