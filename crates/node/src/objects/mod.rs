//! Buckets and objects, as clients of a node ask for them.

mod buckets;
mod put;

use slotcast_object::{
    Bucket, Condition, Entry, Key, ListRequest, Listed, MAX_VERSIONS, Name, NameAnswer,
    NameFailure, NameRecord, NameRequest, NoName, Object, Operation, Outcome, Request, RequestKey,
    VersionId,
};

pub(crate) use self::buckets::{bucket, make_bucket};
pub(crate) use self::put::{PutObject, put};
use crate::content_stream::ContentError;
use crate::node::Node;

/// Why a request about an object was not carried out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ObjectError {
    /// What was named is no name.
    #[error("{0}")]
    NoName(#[from] NoName),
    /// There is no such bucket.
    #[error("there is no bucket \"{0}\": make it with `slotcast mb`")]
    NoBucket(Name),
    /// There is a bucket of this name.
    #[error("there is a bucket \"{0}\" already")]
    BucketExists(Name),
    /// There is no such object.
    #[error("there is no object \"{0}\" in this bucket")]
    NoObject(Name),
    /// The condition of a request does not hold.
    #[error("{}", .0.map_or("the name stands for no object".to_owned(), |version| format!("the name stands for version {}", text_of(version))))]
    Condition(Option<VersionId>),
    /// The name has too many versions.
    #[error("the name has {MAX_VERSIONS} versions, and no more are kept: delete some of them")]
    TooManyVersions,
    /// The content could not be stored or read.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// Too few voters answer.
    #[error(transparent)]
    Names(#[from] NameFailure),
    /// The record is not what it should be.
    #[error("the record of \"{0}\" stands for something else")]
    OtherKind(Name),
}

impl ObjectError {
    const STOPPED: ObjectError = ObjectError::Content(ContentError::Stopped);
}

type Result<T> = std::result::Result<T, ObjectError>;

/// A version as people write it.
pub(crate) fn text_of(version: VersionId) -> String {
    format!("{}-{:016x}", version.change, version.salt)
}

/// The version that is written so.
pub(crate) fn version_of(text: &str) -> Option<VersionId> {
    let (change, salt) = text.split_once('-')?;
    let salt = u64::from_str_radix(salt, 16).ok().filter(|_| salt.len() == 16)?;
    Some(VersionId { change: change.parse().ok()?, salt })
}

/// A key that no other request has.
pub(crate) fn new_key() -> Result<RequestKey> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|_| ObjectError::STOPPED)?;
    Ok(RequestKey(u128::from_be_bytes(bytes)))
}

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// An object, and which version it is.
pub(crate) struct FoundObject {
    pub(crate) version: VersionId,
    pub(crate) object: Object,
}

async fn ask(node: &Node, request: NameRequest) -> Result<NameAnswer> {
    match node.names(request).await {
        Ok(NameAnswer::Failed(failure)) => Err(failure.into()),
        Ok(answer) => Ok(answer),
        Err(_) => Err(ObjectError::STOPPED),
    }
}

async fn read(node: &Node, key: Key) -> Result<Option<NameRecord>> {
    match ask(node, NameRequest::Read(key)).await? {
        NameAnswer::Says(record) => Ok(record),
        _ => Err(ObjectError::STOPPED),
    }
}

fn changed(answer: &NameAnswer) -> Result<Outcome> {
    match answer {
        NameAnswer::Changed(outcome) => Ok(*outcome),
        NameAnswer::Failed(failure) => Err((*failure).into()),
        NameAnswer::Says(_) | NameAnswer::Listed(_) => Err(ObjectError::STOPPED),
    }
}

/// The latest version of an object.
pub(crate) async fn find(node: &Node, bucket: &Bucket, name: &Name) -> Result<FoundObject> {
    let record = read(node, Key::of(bucket.id, bucket.slots, name.clone())).await?;
    let head = record.as_ref().and_then(|record| record.head());
    let Some(version) = head else { return Err(ObjectError::NoObject(name.clone())) };
    let object = version.object.as_ref().and_then(Entry::object);
    let object = object.ok_or_else(|| ObjectError::OtherKind(name.clone()))?.clone();
    Ok(FoundObject { version: version.id, object })
}

/// Deletes an object.
pub(crate) async fn delete(
    node: &Node,
    bucket: &Bucket,
    name: &Name,
    (key, condition): (RequestKey, Condition),
) -> Result<Outcome> {
    let versioning = bucket.versioning;
    let request = Request { key, operation: Operation::Delete, condition, versioning };
    let key = Key::of(bucket.id, bucket.slots, name.clone());
    match changed(&ask(node, NameRequest::Update(key, request)).await?)? {
        Outcome::ConditionFailed(latest) => Err(ObjectError::Condition(latest)),
        Outcome::TooManyVersions => Err(ObjectError::TooManyVersions),
        outcome => Ok(outcome),
    }
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
