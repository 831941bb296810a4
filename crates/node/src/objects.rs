//! Buckets and objects, as clients of a node ask for them.

use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt};
use slotcast_object::{
    Body, Bucket, BucketId, Condition, Entry, Key, ListRequest, Listed, MAX_INLINE, Name,
    NameAnswer, NameFailure, NameRecord, NameRequest, NoName, Object, Operation, Outcome, Request,
    RequestKey, VersionId, Versioning,
};
use slotcast_store::Content;

use crate::address::Address;
use crate::body_memory::BodyMemory;
use crate::content_stream::{self, ContentError, Plan};
use crate::node::Node;

/// Slots of a new bucket for each negotiating group, and the most that it has.
const MAX_FIRST_SLOTS: u32 = 16;

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

/// What a client says of an object that it puts.
#[derive(Debug)]
pub(crate) struct PutObject {
    /// The same in each retry of the request.
    pub(crate) key: RequestKey,
    pub(crate) condition: Condition,
    /// All but its content.
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

fn root_key(name: &Name) -> Key {
    Key::of(BucketId::ROOT, Bucket::ROOT.slots, name.clone())
}

/// Makes a bucket.
pub(crate) async fn make_bucket(
    node: &Node,
    name: &Name,
    key: RequestKey,
    replicas: Option<u8>,
) -> Result<Bucket> {
    let groups = node.groups().await.map_err(|_| ObjectError::STOPPED)?;
    // As the key is, so is its lower half: no two buckets have the same number, in all time.
    #[expect(clippy::cast_possible_truncation, reason = "half of it")]
    let id = BucketId((key.0 as u64).max(1));
    let bucket = Bucket {
        id,
        slots: if groups == 1 { 1 } else { groups.next_power_of_two().min(MAX_FIRST_SLOTS) },
        versioning: Versioning::Off,
        replicas,
        created: now_ms(),
    };
    let request = Request {
        key,
        operation: Operation::Put(Entry::Bucket(bucket.clone())),
        condition: Condition::Absent,
        versioning: Versioning::Off,
    };
    match changed(&ask(node, NameRequest::Update(root_key(name), request)).await?)? {
        Outcome::Stored(_) => Ok(bucket),
        _ => Err(ObjectError::BucketExists(name.clone())),
    }
}

/// The bucket of this name.
pub(crate) async fn bucket(node: &Node, name: &Name) -> Result<Bucket> {
    let record = read(node, root_key(name)).await?;
    let head = record.as_ref().and_then(|record| record.head());
    let Some(entry) = head.and_then(|version| version.object.as_ref()) else {
        return Err(ObjectError::NoBucket(name.clone()));
    };
    entry.bucket().cloned().ok_or_else(|| ObjectError::OtherKind(name.clone()))
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

/// Stores content under a name. Short content travels in the register of the name; of what is one chunk the register is
/// prepared while the chunk is on its way. Gives the version, and how long the content is.
pub(crate) async fn put<E: std::fmt::Display>(
    node: &Node,
    memory: &BodyMemory,
    (bucket, name): (&Bucket, &Name),
    put: PutObject,
    plan: Plan,
    content: impl Stream<Item = std::result::Result<Bytes, E>>,
) -> Result<(VersionId, u64)> {
    let PutObject { key, condition, mut object } = put;
    let name = Key::of(bucket.id, bucket.slots, name.clone());
    let replicas = plan.replicas.or(bucket.replicas);
    let plan = Plan { replicas, ..plan };
    let request = |object| Request {
        key,
        operation: Operation::Put(Entry::Object(object)),
        condition,
        versioning: bucket.versioning,
    };
    let short = plan.length.filter(|length| *length <= plan.chunk_size as u64);
    let answer = if let Some(length) = short {
        let lease = memory.take(length).await.map_err(ContentError::from)?;
        let bytes = collect(plan, length, content).await?;
        object.size = bytes.len() as u64;
        if bytes.len() <= MAX_INLINE {
            object.body = Body::Inline(bytes);
            let answer = ask(node, NameRequest::Update(name, request(object.clone()))).await?;
            drop(lease);
            answer
        } else {
            let content = Content::of(bytes);
            let chunk = content.chunk();
            object.body = Body::Chunk(chunk);
            let change = (name, request(object.clone()));
            let put = node.put_named((content, replicas), change);
            let ended = put.await.map_err(|_| ObjectError::STOPPED)?;
            drop(lease);
            ended.map_err(|failure| content_stream::meaning(chunk, failure))?
        }
    } else {
        let stored = content_stream::store(node, memory, plan, content).await?;
        object.size = stored.length;
        object.body = match stored.address {
            Address::Chunk(chunk) => Body::Chunk(chunk),
            Address::List(chunk) => Body::List(chunk),
        };
        ask(node, NameRequest::Update(name, request(object.clone()))).await?
    };
    match changed(&answer)? {
        Outcome::Stored(version) => Ok((version, object.size)),
        Outcome::ConditionFailed(latest) => Err(ObjectError::Condition(latest)),
        Outcome::Deleted(_) | Outcome::NothingToDelete => Err(ObjectError::STOPPED),
    }
}

/// All of content whose length is known and that fits into one chunk.
async fn collect<E: std::fmt::Display>(
    plan: Plan,
    length: u64,
    content: impl Stream<Item = std::result::Result<Bytes, E>>,
) -> std::result::Result<Bytes, ContentError> {
    let mut content = std::pin::pin!(content);
    let mut bytes = BytesMut::new();
    while (bytes.len() as u64) < length {
        let piece = tokio::time::timeout(plan.timeout, content.next()).await;
        let piece = piece.map_err(|_| ContentError::Stalled(plan.timeout))?.transpose();
        let piece = piece.map_err(|error| ContentError::BrokeOff(error.to_string()))?;
        match piece {
            Some(piece) if bytes.is_empty() && piece.len() as u64 == length => return Ok(piece),
            Some(piece) => bytes.extend_from_slice(&piece),
            None => {
                return Err(ContentError::BrokeOff(format!("{length} bytes were said to come")));
            }
        }
    }
    Ok(bytes.freeze())
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
