//! Where uploads in parts are kept: in buckets of their own, which have numbers that follow from what they belong to.
//!
//! * The *uploads* of a bucket are a bucket of as many slots. A name in it has a version for each upload that is under way of
//!   an object of this name: an object without content, with all that is going to be said of it.
//! * The *parts* of an upload are a bucket of one slot. Its names are the numbers of the parts ([`part_name`]), each an object.
//!
//! So they are registers as all others are, found from the bucket that they belong to: whoever looks for all content that
//! is in use goes from each bucket to its uploads, and from each upload to its parts.

use alloc::format;

use crate::key::{BucketId, Name};
use crate::register::record::VersionId;

/// The most parts of an upload.
pub const MAX_PARTS: u32 = 10_000;

impl BucketId {
    /// The bucket of the uploads that are under way in this one.
    pub fn uploads(self) -> BucketId {
        derived("uploads", &[&self.0.to_be_bytes()])
    }

    /// The bucket of the parts of an upload to a name in this one.
    pub fn parts(self, name: &Name, upload: VersionId) -> BucketId {
        let version = [upload.change.to_be_bytes(), upload.salt.to_be_bytes()];
        derived("parts", &[&self.0.to_be_bytes(), version.as_flattened(), name.as_str().as_bytes()])
    }
}

/// Another number for each: 64 bits of a hash, as random as those of buckets.
pub(crate) fn derived(kind: &str, parts: &[&[u8]]) -> BucketId {
    let mut hasher = blake3::Hasher::new();
    hasher.update(kind.as_bytes()).update(&[0]);
    for part in parts {
        hasher.update(part);
    }
    let hash = hasher.finalize();
    let first = hash.as_bytes().first_chunk::<8>();
    BucketId(first.map_or(1, |bytes| u64::from_be_bytes(*bytes)).max(1))
}

/// The name of a part, 1 to [`MAX_PARTS`]: names are in the order of numbers.
pub fn part_name(number: u32) -> Name {
    Name::new(format!("{number:05}")).expect("digits are a name")
}

/// The number of the part of this name.
pub fn part_number(name: &Name) -> Option<u32> {
    name.as_str().parse().ok().filter(|number| (1..=MAX_PARTS).contains(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_upload_has_parts_of_its_own() {
        let name = |text: &str| Name::new(text).expect("a name");
        let upload = |change, salt| VersionId { change, salt };
        let bucket = BucketId(7);
        let all = [
            bucket,
            bucket.uploads(),
            BucketId(8).uploads(),
            bucket.parts(&name("a"), upload(1, 2)),
            bucket.parts(&name("b"), upload(1, 2)),
            bucket.parts(&name("a"), upload(2, 2)),
            bucket.parts(&name("a"), upload(1, 3)),
            BucketId(8).parts(&name("a"), upload(1, 2)),
        ];
        let different: alloc::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(different.len(), all.len());
        assert_eq!(bucket.uploads(), bucket.uploads());
    }

    #[test]
    fn parts_are_in_the_order_of_their_numbers() {
        let names = [1, 2, 10, 999, MAX_PARTS].map(part_name);
        assert!(names.is_sorted());
        assert_eq!(names.map(|name| part_number(&name).unwrap_or(0)), [1, 2, 10, 999, MAX_PARTS]);
        for other in ["0", "10001", "x", "00001a"] {
            assert_eq!(part_number(&Name::new(other).expect("a name")), None, "{other}");
        }
    }
}
