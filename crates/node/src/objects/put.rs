//! Puts: content under a name.

use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt};
use slotcast_object::{
    Body, Condition, Entry, MAX_INLINE, Name, Object, Operation, Outcome, Request, RequestKey,
    VersionId, Versioning,
};
use slotcast_store::Content;

use super::buckets::confirm;
use super::{FoundBucket, ObjectError, Result, changed, delete, new_key, update};
use crate::address::Address;
use crate::body_memory::BodyMemory;
use crate::content_stream::{self, ContentError, Plan};
use crate::node::Node;

/// What a client says of an object that it puts.
#[derive(Debug)]
pub(crate) struct PutObject {
    /// The same in each retry of the request.
    pub(crate) key: RequestKey,
    pub(crate) condition: Condition,
    /// All but its content.
    pub(crate) object: Object,
}

/// Content of a bucket that keeps versions travels in the register up to so many bytes: all versions of a name are in its
/// record, which each change writes anew.
pub(super) const MAX_INLINE_OF_VERSIONS: usize = 128;

/// Stores content under a name. Short content travels in the register of the name; of what is one chunk the register is
/// prepared while the chunk is on its way. Gives the version, and what was stored.
pub(crate) async fn put<E: std::fmt::Display>(
    node: &Node,
    memory: &BodyMemory,
    (bucket, name): (&FoundBucket, &Name),
    put: PutObject,
    plan: Plan,
    content: impl Stream<Item = std::result::Result<Bytes, E>>,
) -> Result<(VersionId, Object)> {
    let PutObject { key, condition, mut object } = put;
    let place = bucket.key(name);
    let plan = Plan { replicas: plan.replicas.or(bucket.bucket.replicas), ..plan };
    let versioning = bucket.bucket.versioning;
    let max_inline =
        if versioning == Versioning::Off { MAX_INLINE } else { MAX_INLINE_OF_VERSIONS };
    let request = |object| Request {
        key,
        operation: Operation::Put(Entry::Object(object)),
        condition,
        versioning,
    };
    let short = plan.length.filter(|length| *length <= plan.chunk_size as u64);
    let outcome = if let Some(length) = short {
        let lease = memory.take(length).await.map_err(ContentError::from)?;
        let bytes = collect(plan, length, content).await?;
        object.size = bytes.len() as u64;
        if bytes.len() <= max_inline {
            object.body = Body::Inline(bytes);
            let outcome = update(node, place, request(object.clone())).await?;
            drop(lease);
            outcome
        } else {
            let content = Content::of(bytes);
            let chunk = content.chunk();
            object.body = Body::Chunk(chunk);
            let change = (place, request(object.clone()));
            let put = node.put_named((content, plan.replicas), change);
            let ended = put.await.map_err(|_| ObjectError::STOPPED)?;
            drop(lease);
            changed(&ended.map_err(|failure| content_stream::meaning(chunk, failure))?)?
        }
    } else {
        let stored = content_stream::store(node, memory, plan, content).await?;
        object.size = stored.length;
        object.body = match stored.address {
            Address::Chunk(chunk) => Body::Chunk(chunk),
            Address::List(chunk) => Body::List(chunk),
        };
        update(node, place, request(object.clone())).await?
    };
    let version = settle(node, (bucket, name), outcome).await?;
    Ok((version, object))
}

/// What came of a put, once it is certain that its bucket stays. What was stored in one that was removed meanwhile is taken
/// back.
pub(super) async fn settle(
    node: &Node,
    (bucket, name): (&FoundBucket, &Name),
    outcome: Outcome,
) -> Result<VersionId> {
    let version = match outcome {
        Outcome::Stored(version) => version,
        Outcome::ConditionFailed(latest) => return Err(ObjectError::Condition(latest)),
        Outcome::TooManyVersions => return Err(ObjectError::TooManyVersions),
        Outcome::Deleted(_) | Outcome::NothingToDelete => return Err(ObjectError::STOPPED),
    };
    if confirm(node, bucket).await? {
        return Ok(version);
    }
    // Nobody can see it: if this fails, it takes some room, and that is all.
    let back = (new_key()?, Condition::Always);
    let _ = delete(node, bucket, name, Some(version), back).await;
    Err(ObjectError::Removed(bucket.name.clone()))
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
