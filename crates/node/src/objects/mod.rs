//! Buckets and objects, as clients of a node ask for them.

mod believed;
mod buckets;
mod copy;
mod gateway;
mod put;
mod uploads;

use slotcast_object::{
    Condition, Entry, Guard, Key, ListRequest, Listed, MAX_METADATA, MAX_VERSIONS, Name,
    NameAnswer, NameFailure, NameRecord, NameRequest, NoName, Object, Operation, Outcome, Permit,
    Request, RequestKey, VersionId,
};

pub(crate) use self::believed::{BelievedBuckets, believed, within};
pub use self::buckets::{FoundBucket, NewBucket};
pub(crate) use self::buckets::{
    amend_bucket, bucket, bucket_of, buckets, make_bucket, remove, set_versioning,
};
pub use self::copy::CopyFrom;
pub(crate) use self::copy::{CopyObject, copy};
pub(crate) use self::gateway::request as list_request;
pub use self::gateway::{Incoming, Listing, NewPart, Objects, Whole};
pub(crate) use self::put::put;
pub use self::put::{PutObject, Seal, Sealed, StoredObject};
pub use self::uploads::{FoundPart, FoundUpload};
pub(crate) use self::uploads::{abort, list as list_uploads};
use crate::content_stream::ContentError;
use crate::node::Node;

/// Why a request about an object was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum ObjectError {
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
    #[error("{}", .0.map_or("the name stands for no object".to_owned(), |version| format!("the name stands for version {}", text_of(version))))]
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
    /// The content could not be stored or read.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// Too few voters answer.
    #[error(transparent)]
    Names(#[from] NameFailure),
    /// The upload is not under way: it was completed or aborted, or there never was one.
    #[error("no upload {v} of \"{0}\" is under way", v = text_of(*.1))]
    NoUpload(Name, VersionId),
    /// Whoever asked for it has seen all of the content, and does not want it.
    #[error("{0}")]
    Refused(Box<dyn std::error::Error + Send + Sync>),
    /// The record is not what it should be.
    #[error("the record of \"{0}\" stands for something else")]
    OtherKind(Name),
}

impl ObjectError {
    const STOPPED: ObjectError = ObjectError::Content(ContentError::Stopped);
}

type Result<T> = std::result::Result<T, ObjectError>;

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

/// A key that no other request has.
///
/// # Errors
/// If the system gives no random bytes.
pub fn new_key() -> Result<RequestKey> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|_| ObjectError::STOPPED)?;
    Ok(RequestKey(u128::from_be_bytes(bytes)))
}

/// Milliseconds since 1970.
pub fn now_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// An object, and which version it is.
#[derive(Debug, Clone)]
pub struct FoundObject {
    /// Which version.
    pub version: VersionId,
    /// The name stands for it, and not for a later one.
    pub is_latest: bool,
    /// The object.
    pub object: Object,
}

async fn ask(node: &Node, request: NameRequest) -> Result<NameAnswer> {
    match node.names(request).await {
        Ok(NameAnswer::Failed(failure)) => Err(failure.into()),
        Ok(answer) => Ok(answer),
        Err(_) => Err(ObjectError::STOPPED),
    }
}

pub(crate) async fn read(node: &Node, key: Key) -> Result<Option<NameRecord>> {
    match ask(node, NameRequest::Read(key)).await? {
        NameAnswer::Says(record) => Ok(record),
        _ => Err(ObjectError::STOPPED),
    }
}

fn changed(answer: &NameAnswer) -> Result<Outcome> {
    match answer {
        NameAnswer::Changed(outcome) => Ok(*outcome),
        NameAnswer::Failed(failure) => Err((*failure).into()),
        NameAnswer::Says(_) | NameAnswer::Listed(_) | NameAnswer::Roots(_) => {
            Err(ObjectError::STOPPED)
        }
    }
}

/// Changes what a name says, as long as what it relies on says so.
pub(crate) async fn update(
    node: &Node,
    (key, request, guard): (Key, Request<Entry>, Option<Guard>),
) -> Result<Outcome> {
    changed(&ask(node, NameRequest::Update(key, request, guard)).await?)
}

/// An object: the latest version, or this one.
pub(crate) async fn find(
    node: &Node,
    bucket: &FoundBucket,
    name: &Name,
    version: Option<VersionId>,
) -> Result<FoundObject> {
    let record = read(node, bucket.key(name)).await?;
    let versions = record.as_ref().map_or(&[][..], |record| &record.versions);
    let latest = versions.first().map(|version| version.id);
    let found = match version {
        Some(wanted) => versions.iter().find(|version| version.id == wanted),
        None => versions.first(),
    };
    let Some(found) = found else {
        return Err(match version {
            Some(version) => ObjectError::NoVersion(name.clone(), version),
            None => ObjectError::NoObject(name.clone()),
        });
    };
    let Some(entry) = &found.object else {
        return Err(match version {
            Some(version) => ObjectError::Marker(name.clone(), version),
            None => ObjectError::Deleted(name.clone(), found.id),
        });
    };
    let object = entry.object().ok_or_else(|| ObjectError::OtherKind(name.clone()))?.clone();
    Ok(FoundObject { version: found.id, is_latest: latest == Some(found.id), object })
}

/// How a change of a name is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// The same in each retry of the request.
    pub key: RequestKey,
    /// What must hold of the name.
    pub condition: Condition,
    /// Whoever asks for it may bypass the governance of locked versions, and wants to.
    pub bypasses: bool,
}

impl Change {
    /// One that bypasses nothing.
    pub fn new(key: RequestKey, condition: Condition) -> Change {
        Change { key, condition, bypasses: false }
    }

    fn permit(self) -> Permit {
        Permit { at: now_ms(), bypasses: self.bypasses }
    }
}

/// Deletes an object, or one version of it.
pub(crate) async fn delete(
    node: &Node,
    bucket: &FoundBucket,
    name: &Name,
    version: Option<VersionId>,
    change: Change,
) -> Result<Outcome> {
    let operation = version.map_or(Operation::Delete(now_ms()), Operation::DeleteVersion);
    let Change { key, condition, .. } = change;
    let (versioning, permit) = (bucket.bucket.versioning, change.permit());
    let request = Request { key, operation, condition, versioning, permit };
    match update(node, (bucket.key(name), request, None)).await? {
        Outcome::ConditionFailed(latest) => Err(ObjectError::Condition(latest)),
        Outcome::TooManyVersions => Err(ObjectError::TooManyVersions),
        Outcome::Locked => Err(ObjectError::Locked),
        outcome => Ok(outcome),
    }
}

/// Refuses an object of which too much is said.
pub(crate) fn check_metadata(object: &Object) -> Result<()> {
    let both = object.metadata.iter().chain(&object.tags);
    let bytes: usize = both.map(|(key, value)| key.len() + value.len()).sum();
    let bytes = bytes + object.media_type.as_ref().map_or(0, String::len);
    if bytes > MAX_METADATA { Err(ObjectError::Metadata(bytes)) } else { Ok(()) }
}

/// How often a change in place is tried while others change the same version.
const MAX_ATTEMPTS: u32 = 32;

/// Changes what is said of a version beside its content, in place. Of several who do so at the same time each change
/// takes effect, one after another.
pub(crate) async fn amend(
    node: &Node,
    bucket: &FoundBucket,
    name: &Name,
    version: Option<VersionId>,
    when: Change,
    change: impl Fn(&mut Object),
) -> Result<FoundObject> {
    let (Change { key, condition, .. }, permit) = (when, when.permit());
    for _ in 0..MAX_ATTEMPTS {
        let found = find(node, bucket, name, version).await?;
        let mut object = found.object.clone();
        change(&mut object);
        check_metadata(&object)?;
        let entry = |object: &Object| Entry::Object(object.clone());
        let change = Box::new((entry(&found.object), entry(&object)));
        let operation = Operation::Replace(found.version, change);
        let versioning = bucket.bucket.versioning;
        let request = Request { key, operation, condition, versioning, permit };
        match update(node, (bucket.key(name), request, None)).await? {
            Outcome::Stored(_) => return Ok(FoundObject { object, ..found }),
            Outcome::ConditionFailed(latest) => match condition {
                Condition::Is(version) if latest != Some(version) => {
                    return Err(ObjectError::Condition(latest));
                }
                _ => {}
            },
            Outcome::Locked => return Err(ObjectError::Locked),
            _ => return Err(ObjectError::STOPPED),
        }
    }
    Err(NameFailure::Unavailable.into())
}

/// Names of a bucket.
pub(crate) async fn list(node: &Node, request: ListRequest) -> Result<Listed> {
    match ask(node, NameRequest::List(request)).await? {
        NameAnswer::Listed(listed) => Ok(listed),
        _ => Err(ObjectError::STOPPED),
    }
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
