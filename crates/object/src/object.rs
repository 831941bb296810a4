//! What a name stands for: an object, or a bucket.

use alloc::collections::BTreeMap;
use alloc::string::String;

use bytes::Bytes;
use minicbor::{Decode, Encode};
use slotcast_protocol::ChunkId;

use crate::key::BucketId;
use crate::lock::Retention;
use crate::register::record::{Version, Versioning};
use crate::settings::Settings;

/// The most bytes of content that a register holds itself. What is longer is chunks.
pub const MAX_INLINE: usize = 16 << 10;

/// The most bytes of metadata and tags of an object, names and values together.
pub const MAX_METADATA: usize = 8 << 10;

/// What a register says that a name stands for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub enum Entry {
    /// An object of a bucket.
    #[n(0)]
    Object(#[n(0)] Object),
    /// A bucket, of the [root](BucketId::ROOT).
    #[n(1)]
    Bucket(#[n(0)] Bucket),
}

impl Entry {
    /// The object, if it is one.
    pub fn object(&self) -> Option<&Object> {
        match self {
            Entry::Object(object) => Some(object),
            Entry::Bucket(_) => None,
        }
    }

    /// The bucket, if it is one.
    pub fn bucket(&self) -> Option<&Bucket> {
        match self {
            Entry::Bucket(bucket) => Some(bucket),
            Entry::Object(_) => None,
        }
    }
}

impl Version<Entry> {
    /// The same without content that is in the register: its hash says what it is.
    pub(crate) fn without_content(&self) -> Version<Entry> {
        let mut version = self.clone();
        if let Some(Entry::Object(object)) = &mut version.object
            && let Body::Inline(..) = object.body
        {
            object.body = Body::Inline(Bytes::new(), Some(object.body.hash()));
        }
        version
    }
}

/// Content, with all that is said of it. It never changes.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct Object {
    /// Bytes of content.
    #[n(0)]
    pub size: u64,
    /// Where the content is.
    #[n(1)]
    pub body: Body,
    /// When it was put, in milliseconds since 1970 on the clock of a node. It decides nothing.
    #[n(2)]
    pub modified: u64,
    /// Its media type (RFC 9110, 8.3.1).
    #[n(3)]
    pub media_type: Option<String>,
    /// What the client says of it: its own metadata, and headers to be given back.
    #[n(4)]
    pub metadata: BTreeMap<String, String>,
    /// Tags.
    #[n(5)]
    pub tags: BTreeMap<String, String>,
    /// Checksums of its content.
    #[n(6)]
    pub checksums: Checksums,
    /// In how many parts it was uploaded; 0 if in one piece. Then its content is a list with an entry for each part, but
    /// for those without content.
    #[n(7)]
    #[cbor(default)]
    pub parts: u32,
    /// It is kept until a time.
    #[n(8)]
    pub retention: Option<Retention>,
    /// It is kept until that is taken back.
    #[n(9)]
    #[cbor(default)]
    pub legal_hold: bool,
}

/// Where the content of an object is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub enum Body {
    /// Here: at most [`MAX_INLINE`] bytes, and their hash ([`Body::inline`]). Where versions are listed the bytes are left
    /// out, and the hash is there all the same. What was put before hashes were kept has none.
    #[n(0)]
    Inline(
        #[n(0)]
        #[cbor(with = "crate::code::content")]
        Bytes,
        #[n(1)]
        #[cbor(with = "minicbor::bytes")]
        Option<[u8; 32]>,
    ),
    /// It is a chunk.
    #[n(1)]
    Chunk(
        #[n(0)]
        #[cbor(with = "crate::code::chunk")]
        ChunkId,
    ),
    /// It is what a chunk lists.
    #[n(2)]
    List(
        #[n(0)]
        #[cbor(with = "crate::code::chunk")]
        ChunkId,
    ),
}

impl Default for Body {
    fn default() -> Body {
        Body::inline(Bytes::new())
    }
}

impl Body {
    /// Short content, which is kept in the register.
    pub fn inline(content: Bytes) -> Body {
        let hash = blake3::hash(&content).into();
        Body::Inline(content, Some(hash))
    }

    /// A hash of the content (BLAKE3): of its bytes if they are here or one chunk, of their list if they are several. It
    /// is the same wherever this version is told of.
    pub fn hash(&self) -> [u8; 32] {
        match self {
            Body::Inline(_, Some(hash)) => *hash,
            Body::Inline(content, None) => blake3::hash(content).into(),
            Body::Chunk(chunk) | Body::List(chunk) => chunk.0,
        }
    }
}

/// Checksums of content: those that were asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct Checksums {
    /// MD5 (RFC 1321): the entity tag of S3.
    #[n(0)]
    #[cbor(with = "minicbor::bytes")]
    pub md5: Option<[u8; 16]>,
    /// CRC-32 (ISO-HDLC).
    #[n(1)]
    pub crc32: Option<u32>,
    /// CRC-32C (iSCSI).
    #[n(2)]
    pub crc32c: Option<u32>,
    /// CRC-64/NVME.
    #[n(3)]
    pub crc64: Option<u64>,
    /// SHA-256.
    #[n(4)]
    #[cbor(with = "minicbor::bytes")]
    pub sha256: Option<[u8; 32]>,
    /// SHA-1 (FIPS 180-4).
    #[n(5)]
    #[cbor(with = "minicbor::bytes")]
    pub sha1: Option<[u8; 20]>,
    /// All but MD5 are checksums of the checksums of its parts, and not of its content. (MD5 is, of all objects that were
    /// uploaded in parts.)
    #[n(6)]
    #[cbor(default)]
    pub of_parts: bool,
}

/// What all names of a bucket have in common.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct Bucket {
    /// Its number.
    #[n(0)]
    pub id: BucketId,
    /// Slots that its names are spread over.
    #[n(1)]
    pub slots: u32,
    /// What is kept of earlier versions.
    #[n(2)]
    pub versioning: Versioning,
    /// Replicas of the chunks of its objects, 1 to 8; as many as the cluster's number says if it does not say.
    #[n(3)]
    pub replicas: Option<u8>,
    /// When it was made, in milliseconds since 1970 on the clock of a node.
    #[n(4)]
    pub created: u64,
    /// Somebody looks whether it is empty, to remove it. Whoever stores something in it meanwhile takes that back.
    #[n(5)]
    #[cbor(default)]
    pub is_sealed: bool,
    /// Tags.
    #[n(6)]
    #[cbor(default)]
    pub tags: BTreeMap<String, String>,
    /// Its policy, as it was put.
    #[n(7)]
    #[cbor(default)]
    pub policy: Option<String>,
    /// All else that is set.
    #[n(8)]
    #[cbor(default)]
    pub settings: Settings,
}

impl Bucket {
    /// The bucket of buckets.
    pub const ROOT: Bucket = Bucket {
        id: BucketId::ROOT,
        slots: 1,
        versioning: Versioning::Off,
        replicas: None,
        created: 0,
        is_sealed: false,
        tags: BTreeMap::new(),
        policy: None,
        settings: Settings::NONE,
    };
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use bytes::Bytes;

    use super::{Body, Bucket, Checksums, Entry, Object};
    use crate::code;
    use crate::lock::{LockMode, Retention};
    use crate::register::record::{Version, VersionId};

    #[test]
    fn buckets_that_were_written_without_a_mark_are_open() {
        let Bucket { id, slots, versioning, replicas, created, .. } = Bucket::ROOT;
        let before = code::encode(&(id, slots, versioning, replicas, created));
        assert_eq!(code::decode::<Bucket>(&before), Some(Bucket::ROOT));
        let sealed = Bucket { is_sealed: true, ..Bucket::ROOT };
        assert_eq!(code::decode::<Bucket>(&code::encode(&sealed)), Some(sealed));
    }

    #[test]
    fn objects_that_were_written_before_there_were_parts_have_none() {
        let Object { size, body, modified, media_type, metadata, tags, .. } = Object::default();
        let checksums = (None::<u8>, Some(7_u32));
        let before = (size, body, modified, media_type, metadata, tags, checksums);
        let checksums = Checksums { crc32: Some(7), ..Checksums::default() };
        let expected = Object { checksums, ..Object::default() };
        assert_eq!(code::decode::<Object>(&code::encode(&before)), Some(expected.clone()));
        let retention = Some(Retention { mode: LockMode::Governance, until: 7 });
        let later = Object { parts: 3, retention, legal_hold: true, ..expected };
        assert_eq!(code::decode::<Object>(&code::encode(&later)), Some(later));
    }

    #[test]
    fn content_has_the_same_hash_where_it_is_left_out() {
        let body = |body| {
            let object = Some(Entry::Object(Object { size: 3, body, ..Object::default() }));
            Version {
                id: VersionId { change: 1, salt: 2 },
                is_null: true,
                object,
                deleted_at: None,
            }
        };
        // As it was written before the hash was kept: the variant, and its one field.
        let before: Vec<u8> = [&[0x82, 0x00, 0x81, 0x43][..], b"abc"].concat();
        let before = code::decode::<Body>(&before).expect("it is read");
        assert_eq!(before, Body::Inline("abc".into(), None));
        let now = Body::inline("abc".into());
        assert_eq!(code::decode(&code::encode(&now)), Some(now.clone()));
        let expected = Body::Inline(Bytes::new(), Some(blake3::hash(b"abc").into()));
        for kept in [before, now] {
            assert_eq!(kept.hash(), expected.hash());
            assert_eq!(body(kept).without_content(), body(expected.clone()));
        }
    }
}
