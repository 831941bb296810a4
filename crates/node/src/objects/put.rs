//! Puts: content under a name.

use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt};
use slotcast_object::{
    Body, Bucket, Condition, Entry, Key, MAX_INLINE, Name, NameRequest, Object, Operation, Outcome,
    Request, RequestKey, VersionId,
};
use slotcast_store::Content;

use super::{ObjectError, Result, ask, changed};
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
        Outcome::TooManyVersions => Err(ObjectError::TooManyVersions),
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
