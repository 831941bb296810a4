//! Why a request about a bucket or an object was not carried out.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};

use crate::key::{Name, NoName};
use crate::names::NameFailure;
use crate::object::MAX_METADATA;
use crate::register::record::{MAX_VERSIONS, VersionId};

/// Whom a client asks has ended: nothing is known of what was asked last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped;

/// Why a request about a bucket or an object was not carried out; `E` is what can go wrong with content.
#[derive(Debug, thiserror::Error)]
pub enum ObjectError<E> {
    /// What was named is no name.
    #[error("{0}")]
    NoName(#[from] NoName),
    /// There is no such bucket.
    #[error("there is no bucket \"{0}\": make it with `slotcast mb`")]
    NoBucket(Name),
    /// There is a bucket of this name.
    #[error("there is a bucket \"{0}\" already")]
    BucketExists(Name),
    /// Somebody else has changed the bucket.
    #[error("the bucket \"{0}\" has version {v} now", v = text_of(*.1))]
    BucketChanged(Name, VersionId),
    /// Something is in the bucket.
    #[error(
        "the bucket \"{0}\" is not empty: \"{1}\" is in it, or an earlier version or a marker of its deletion"
    )]
    NotEmpty(Name, Name),
    /// Something was stored in the bucket while it was removed.
    #[error("the bucket \"{0}\" was used while it was to be removed: it stays")]
    InUse(Name),
    /// The bucket was removed while something was stored in it.
    #[error("the bucket \"{0}\" was removed meanwhile: nothing is stored")]
    Removed(Name),
    /// There is no such object.
    #[error("there is no object \"{0}\" in this bucket")]
    NoObject(Name),
    /// The object was deleted, and its earlier versions are there.
    #[error("the object \"{0}\" was deleted by the marker {v}: `slotcast undelete` takes that away", v = text_of(*.1))]
    Deleted(Name, VersionId),
    /// There is no such version.
    #[error("there is no version {v} of \"{0}\"", v = text_of(*.1))]
    NoVersion(Name, VersionId),
    /// The version has no content.
    #[error("the version {v} of \"{0}\" is a marker of its deletion", v = text_of(*.1))]
    Marker(Name, VersionId),
    /// The condition of a request does not hold.
    #[error("{}", .0.map_or("the name stands for no object".to_string(), |version| format!("the name stands for version {}", text_of(version))))]
    Condition(Option<VersionId>),
    /// A version has to be kept.
    #[error("the version is locked: it has to be kept as it is")]
    Locked,
    /// The bucket has object lock.
    #[error("the bucket \"{0}\" has object lock: it keeps that, and all versions")]
    LockedBucket(Name),
    /// Too much is said of an object.
    #[error("metadata and tags have {0} bytes together; {MAX_METADATA} are the most")]
    Metadata(usize),
    /// The name has too many versions.
    #[error("the name has {MAX_VERSIONS} versions, and no more are kept: delete some of them")]
    TooManyVersions,
    /// The content could not be stored or read, or whom was asked has ended.
    #[error(transparent)]
    Content(E),
    /// Too few voters answer.
    #[error(transparent)]
    Names(#[from] NameFailure),
    /// The upload is not under way: it was completed or aborted, or there never was one.
    #[error("no upload {v} of \"{0}\" is under way", v = text_of(*.1))]
    NoUpload(Name, VersionId),
    /// Whoever asked for it has seen all of the content, and does not want it.
    #[error("{0}")]
    Refused(Box<dyn core::error::Error + Send + Sync>),
    /// The record is not what it should be.
    #[error("the record of \"{0}\" stands for something else")]
    OtherKind(Name),
}

impl<E: core::convert::From<Stopped>> ObjectError<E> {
    /// Whom was asked has ended.
    pub fn stopped() -> ObjectError<E> {
        ObjectError::Content(E::from(Stopped))
    }
}

/// A version as people write it.
pub fn text_of(version: VersionId) -> String {
    format!("{}-{:016x}", version.change, version.salt)
}

/// The version that is written so.
pub fn version_of(text: &str) -> Option<VersionId> {
    let (change, salt) = text.split_once('-')?;
    let salt = u64::from_str_radix(salt, 16).ok().filter(|_| salt.len() == 16)?;
    Some(VersionId { change: change.parse().ok()?, salt })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_they_are_written() {
        let version = VersionId { change: 7, salt: 0xab };
        assert_eq!(text_of(version), "7-00000000000000ab");
        assert_eq!(version_of(&text_of(version)), Some(version));
        for wrong in ["", "7", "7-ab", "x-00000000000000ab", "7-00000000000000ag"] {
            assert_eq!(version_of(wrong), None, "{wrong}");
        }
    }
}
