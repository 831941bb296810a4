//! Where a name is kept: its bucket, its slot, its place in the order of names.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use minicbor::{Decode, Encode};
use slotcast_protocol::{ChunkId, GroupId, GroupMap};

/// The most bytes of a name.
pub const MAX_NAME: usize = 1024;

/// The most slots of a bucket.
pub const MAX_SLOTS: u32 = 1 << 16;

/// A bucket, over its life: one that is made anew under the same name has another number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct BucketId(#[n(0)] pub u64);

impl BucketId {
    /// The bucket whose names are those of all buckets. It has one slot.
    pub const ROOT: BucketId = BucketId(0);
}

/// A part of the names of a bucket, kept by the voters of one negotiating group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct SlotId {
    /// Of which bucket.
    #[n(0)]
    pub bucket: BucketId,
    /// Which of its slots, counted from 0.
    #[n(1)]
    pub number: u32,
}

fn digest(bytes: &[u8]) -> ChunkId {
    ChunkId(blake3::hash(bytes).into())
}

/// Bytes of a [`SlotId`] in front of each key.
const SLOT_LEN: usize = 12;

impl SlotId {
    /// The slot of `name` in a bucket of so many slots, at least one.
    pub fn of(bucket: BucketId, slots: u32, name: &Name) -> SlotId {
        let mixed = digest(name.as_str().as_bytes()).mix(0);
        #[expect(clippy::cast_possible_truncation, reason = "less than the number of slots")]
        let number = (mixed % u64::from(slots.max(1))) as u32;
        SlotId { bucket, number }
    }

    /// The negotiating group whose voters keep it.
    pub fn group(self, groups: &GroupMap) -> GroupId {
        groups.group_of(&digest(&self.bytes()))
    }

    /// What all its keys begin with.
    fn bytes(self) -> [u8; SLOT_LEN] {
        let mut bytes = [0; SLOT_LEN];
        bytes[..8].copy_from_slice(&self.bucket.0.to_be_bytes());
        bytes[8..].copy_from_slice(&self.number.to_be_bytes());
        bytes
    }

    /// Where the rows of names after `name` begin on stable storage; those of all names without one.
    pub fn after(self, name: Option<&Name>) -> Vec<u8> {
        let mut from = self.bytes().to_vec();
        if let Some(name) = name {
            from.extend_from_slice(name.as_str().as_bytes());
            // Nothing is between a name and the same with a byte of zero, which no name has.
            from.push(0);
        }
        from
    }

    /// Where the rows of names from `name` on begin, which need not be a name.
    pub fn from(self, name: &str) -> Vec<u8> {
        let mut from = self.bytes().to_vec();
        from.extend_from_slice(name.as_bytes());
        from
    }

    /// Where the rows of names that begin with `prefix` end, of all its names if that is empty; none if they may go on to
    /// the last one of all.
    pub fn past(self, prefix: &str) -> Option<Vec<u8>> {
        let mut end = self.from(prefix);
        while let Some(last) = end.pop() {
            if last < u8::MAX {
                end.push(last + 1);
                return Some(end);
            }
        }
        None
    }
}

/// The name of an object in its bucket, or of a bucket: 1 to [`MAX_NAME`] bytes of UTF-8 without a NUL. Names are
/// ordered by their bytes. They are no paths: `..` is a name like any other.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(String);

/// Why something is no name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoName {
    /// Nothing at all.
    #[error("a name has at least one byte")]
    Empty,
    /// It is too long: has so many bytes.
    #[error("the name has {0} bytes; {MAX_NAME} are the most")]
    Long(usize),
    /// It has a NUL, here.
    #[error("the name has a NUL at byte {0}: no other system can carry that")]
    Nul(usize),
    /// It is not UTF-8 from this byte on.
    #[error("the name is not UTF-8 from byte {0} on")]
    NotUtf8(usize),
}

impl Name {
    /// The name that is `text`.
    ///
    /// # Errors
    /// If it is none.
    pub fn new(text: impl Into<String>) -> Result<Name, NoName> {
        let text = text.into();
        match text.len() {
            0 => return Err(NoName::Empty),
            length if length > MAX_NAME => return Err(NoName::Long(length)),
            _ => {}
        }
        match text.find('\0') {
            Some(at) => Err(NoName::Nul(at)),
            None => Ok(Name(text)),
        }
    }

    /// The name that these bytes are.
    ///
    /// # Errors
    /// If they are none.
    pub fn of_bytes(bytes: &[u8]) -> Result<Name, NoName> {
        let text = core::str::from_utf8(bytes);
        Name::new(text.map_err(|error| NoName::NotUtf8(error.valid_up_to()))?)
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<C> Encode<C> for Name {
    fn encode<W: minicbor::encode::Write>(
        &self,
        e: &mut minicbor::Encoder<W>,
        _: &mut C,
    ) -> Result<(), minicbor::encode::Error<W::Error>> {
        e.str(&self.0)?.ok()
    }
}

impl<'b, C> Decode<'b, C> for Name {
    fn decode(d: &mut minicbor::Decoder<'b>, _: &mut C) -> Result<Name, minicbor::decode::Error> {
        Name::new(d.str()?).map_err(|_| minicbor::decode::Error::message("no name"))
    }
}

/// Which register: a name in its slot.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct Key {
    /// The slot.
    #[n(0)]
    pub slot: SlotId,
    /// The name.
    #[n(1)]
    pub name: Name,
}

impl Key {
    /// The register of `name` in a bucket of so many slots.
    pub fn of(bucket: BucketId, slots: u32, name: Name) -> Key {
        Key { slot: SlotId::of(bucket, slots, &name), name }
    }

    /// The key of its row on stable storage. Keys are ordered as bucket, slot and name are.
    pub fn bytes(&self) -> Vec<u8> {
        self.slot.from(self.name.as_str())
    }

    /// The register whose row has this key, if it is one.
    pub fn read(bytes: &[u8]) -> Option<Key> {
        let (bucket, rest) = bytes.split_first_chunk::<8>()?;
        let (number, name) = rest.split_first_chunk::<4>()?;
        let bucket = BucketId(u64::from_be_bytes(*bucket));
        let slot = SlotId { bucket, number: u32::from_be_bytes(*number) };
        Some(Key { slot, name: Name::of_bytes(name).ok()? })
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::String;
    use alloc::vec::Vec;

    use proptest::prelude::*;

    use super::{BucketId, Key, MAX_NAME, Name, NoName, SlotId};

    #[test]
    fn what_is_no_name_is_refused_with_the_reason() {
        assert_eq!(Name::new(""), Err(NoName::Empty));
        assert_eq!(Name::new("x".repeat(MAX_NAME + 1)), Err(NoName::Long(1025)));
        assert!(Name::new("x".repeat(MAX_NAME)).is_ok());
        // As bytes, not as letters.
        assert_eq!(Name::new("ü".repeat(513)), Err(NoName::Long(1026)));
        assert_eq!(Name::new("a\0b"), Err(NoName::Nul(1)));
        assert_eq!(Name::of_bytes(b"ab\xff"), Err(NoName::NotUtf8(2)));
        assert!(Name::new("..").is_ok() && Name::new("a//b/../").is_ok());
    }

    #[test]
    fn slots_spread_names() {
        let slot = |n: u32| {
            let name = Name::new(alloc::format!("folder/{n}")).expect("a name");
            SlotId::of(BucketId(7), 4, &name).number
        };
        let mut counts = [0; 4];
        (0..4000).for_each(|n| counts[slot(n) as usize] += 1);
        assert!(counts.iter().all(|count| (900..1100).contains(count)), "{counts:?}");
    }

    fn names() -> impl Strategy<Value = String> {
        "[a-c/é]{1,6}"
    }

    proptest! {
        #[test]
        fn rows_are_in_the_order_of_their_names(
            mut keys in prop::collection::vec((0u64..3, 0u32..3, names()), 0..20),
            probe in names(),
        ) {
            keys.push((u64::MAX, u32::MAX, "z".into()));
            let mut keys: Vec<Key> = keys
                .into_iter()
                .map(|(bucket, number, name)| Key {
                    slot: SlotId { bucket: BucketId(bucket), number },
                    name: Name::new(name).expect("a name"),
                })
                .collect();
            keys.sort();
            let bytes: Vec<Vec<u8>> = keys.iter().map(Key::bytes).collect();
            prop_assert!(bytes.is_sorted());
            let probe = Name::new(probe).expect("a name");
            for (key, bytes) in keys.iter().zip(&bytes) {
                let read = Key::read(bytes);
                prop_assert_eq!(read.as_ref(), Some(key));
                let slot = SlotId { bucket: BucketId(1), number: 1 };
                let is_in = *bytes >= slot.after(None) && slot.past("").is_none_or(|end| *bytes < end);
                prop_assert_eq!(is_in, key.slot == slot);
                prop_assert_eq!(*bytes >= key.slot.after(Some(&probe)), key.name > probe);
                prop_assert_eq!(*bytes >= key.slot.from(probe.as_str()), key.name >= probe);
            }
        }
    }
}
