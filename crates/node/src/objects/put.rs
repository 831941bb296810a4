//! Puts: content under a name.

use std::fmt;

use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt};
use slotcast_object::{
    Body, Condition, Entry, MAX_INLINE, Name, Object, Operation, Outcome, Request, RequestKey,
    VersionId, Versioning,
};
use slotcast_store::Content;

use super::buckets::confirm;
use super::{FoundBucket, ObjectError, Result, changed, check_metadata, delete, new_key, update};
use crate::body_memory::BodyMemory;
use crate::content_stream::{self, ContentError, Plan};
use crate::node::Node;
use slotcast_object::Address;

/// What a client says of an object that it puts.
pub struct PutObject {
    /// The same in each retry of the request.
    pub key: RequestKey,
    /// What must hold of the name.
    pub condition: Condition,
    /// All but its content.
    pub object: Object,
    /// What is said of it when all of its content has come, before anybody can see it.
    pub seal: Option<Seal>,
}

/// Completes what is said of an object whose content has come, and refuses it if that is not what was announced.
pub type Seal = Box<dyn FnOnce(&mut Object) -> Sealed + Send>;

/// What becomes of it.
pub type Sealed = std::result::Result<(), Box<dyn std::error::Error + Send + Sync>>;

impl fmt::Debug for PutObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PutObject").field("key", &self.key).finish_non_exhaustive()
    }
}

/// All content of `object` has come.
pub(super) fn sealed(seal: Option<Seal>, object: &mut Object) -> Result<()> {
    seal.map_or(Ok(()), |seal| seal(object)).map_err(ObjectError::Refused)?;
    check_metadata(object)
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
    let PutObject { key, condition, mut object, seal } = put;
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
        let lease = memory.take(length + plan.buffered).await.map_err(ContentError::from)?;
        let bytes = collect(plan, length, content).await?;
        object.size = bytes.len() as u64;
        sealed(seal, &mut object)?;
        if bytes.len() <= max_inline {
            object.body = Body::inline(bytes);
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
        object.body = body_at(stored.address);
        sealed(seal, &mut object)?;
        update(node, place, request(object.clone())).await?
    };
    let version = settle(node, (bucket, name), outcome).await?;
    Ok((version, object))
}

/// The content at an address.
pub(super) fn body_at(address: Address) -> Body {
    match address {
        Address::Chunk(chunk) => Body::Chunk(chunk),
        Address::List(chunk) => Body::List(chunk),
    }
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

/// All of content whose length is known and that fits into one chunk. It is read to its end: what follows the last byte may
/// say that something is wrong with it.
async fn collect<E: std::fmt::Display>(
    plan: Plan,
    length: u64,
    content: impl Stream<Item = std::result::Result<Bytes, E>>,
) -> std::result::Result<Bytes, ContentError> {
    let mut content = std::pin::pin!(content);
    let mut whole = Bytes::new();
    let mut bytes = BytesMut::new();
    loop {
        let piece = tokio::time::timeout(plan.timeout, content.next()).await;
        let piece = piece.map_err(|_| ContentError::Stalled(plan.timeout))?.transpose();
        let piece = piece.map_err(|error| ContentError::BrokeOff(error.to_string()))?;
        let Some(piece) = piece else { break };
        if (whole.len() + bytes.len() + piece.len()) as u64 > length {
            return Err(ContentError::BrokeOff(format!("more than {length} bytes came")));
        }
        match piece.len() as u64 == length {
            true => whole = piece,
            false => bytes.extend_from_slice(&piece),
        }
    }
    match whole.is_empty() {
        false => Ok(whole),
        true if bytes.len() as u64 == length => Ok(bytes.freeze()),
        true => Err(ContentError::BrokeOff(format!("{length} bytes were said to come"))),
    }
}
