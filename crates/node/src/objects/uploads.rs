//! Uploads in parts: what carries their content. See [`slotcast_object::client`] for how they are kept.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::Stream;
use slotcast_object::client::{self, certain, check_metadata};
use slotcast_object::list::{self, Part};
use slotcast_object::{Address, Body, Bucket, Listed, Name, Object, RequestKey, VersionId};
use slotcast_protocol::{ChunkId, Claim};
use slotcast_store::Content;

use super::gateway::NewPart;
use super::put::{body_at, name_and_tell, sealed};
use super::{FoundBucket, FoundPart, FoundUpload, Listing, ObjectError, Result, Whole, now_ms};
use crate::body_memory::BodyMemory;
use crate::content_stream::{ContentError, Plan, meaning};
use crate::encryption::{self, CustomerKey, Encrypt, Encryption};
use crate::node::Node;
use crate::notifications::Announcing;

pub(super) async fn begin(
    node: &Node,
    (bucket, name): (&FoundBucket, &Name),
    key: RequestKey,
    (mut object, encrypt): (Object, Encrypt),
) -> Result<(VersionId, Object)> {
    // Of a bucket that is only believed it may not be so.
    let bucket = &certain(node, bucket).await?;
    encrypt.begin(node, &bucket.bucket, &mut object).map_err(ContentError::from)?;
    let version = client::begin_upload(node, (bucket, name), key, &object).await?;
    Ok((version, object))
}

pub(crate) async fn list(
    node: &Arc<Node>,
    bucket: &FoundBucket,
    listing: Listing,
) -> Result<Listed> {
    let (listed, ending) = client::uploads(&**node, bucket, listing).await?;
    for (name, upload) in ending {
        let (node, bucket) = (node.clone(), bucket.clone());
        tokio::spawn(async move { client::end_upload(&*node, (&bucket, &name), upload).await });
    }
    Ok(listed)
}

pub(super) async fn put_part<E: std::fmt::Display>(
    (node, memory): (&Arc<Node>, &BodyMemory),
    upload: &FoundUpload,
    (part, customer): (NewPart, Option<&CustomerKey>),
    (plan, content): (Plan, impl Stream<Item = std::result::Result<Bytes, E>>),
) -> Result<Object> {
    let NewPart { number, mut object, seal } = part;
    let plan = Plan { replicas: upload.bucket.bucket.replicas, ..plan };
    let object_key = encryption::key_of(node, &upload.object, customer);
    let object_key = object_key.map_err(ContentError::from)?;
    let key_of_part = (object_key.as_ref(), number);
    let stored = encryption::store(node, memory, key_of_part, plan, content).await?;
    object.size = stored.length;
    object.body = body_at(stored.address);
    sealed(seal, &mut object, customer)?;
    let (node, upload) = (node.clone(), upload.clone());
    // Whoever goes away now still takes back a part that has come too late.
    let put = async move {
        client::put_part(&*node, &upload, (number, &object)).await?;
        // Its content is kept until it is named.
        drop(stored);
        Ok(object)
    };
    tokio::spawn(put).await.unwrap_or_else(|_| Err(ObjectError::stopped()))
}

/// Stores the list of what the parts are, and gives what stands for it.
async fn body_of(
    node: &Node,
    bucket: &Bucket,
    (parts, is_encrypted): (&[FoundPart], bool),
) -> Result<Body> {
    let stored = |size| if is_encrypted { encryption::stored_length(size) } else { size };
    let entry = |part: &FoundPart| {
        let address = match part.object.body {
            Body::Chunk(chunk) => Address::Chunk(chunk),
            Body::List(chunk) => Address::List(chunk),
            // Parts are never kept so.
            Body::Inline(..) => Address::Chunk(ChunkId([0; 32])),
        };
        let length = stored(part.object.size);
        (length > 0).then_some(Part { address, length })
    };
    let entries: Vec<Part> = parts.iter().filter_map(entry).collect();
    if entries.is_empty() {
        return Ok(Body::default());
    }
    let content = Content::of(list::encode(&entries));
    let chunk = content.chunk();
    let stored = node.put_on(content, bucket.replicas, Claim::Names).await;
    let stored = stored.map_err(|_| ObjectError::stopped())?;
    stored.map_err(|failure| ObjectError::from(meaning(chunk, failure)))?;
    Ok(Body::List(chunk))
}

pub(super) async fn complete(
    node: &Arc<Node>,
    (bucket, name): (&FoundBucket, &Name),
    whole: Whole<'_>,
) -> Result<(VersionId, Object)> {
    let Whole { upload, parts, key, condition, mut object, cause } = whole;
    let is_encrypted = Encryption::of(&object).is_some();
    object.body = body_of(node, &bucket.bucket, (parts, is_encrypted)).await?;
    object.size = parts.iter().map(|part| part.object.size).sum();
    object.parts = u32::try_from(parts.len()).unwrap_or(u32::MAX);
    object.modified = now_ms();
    let (node, bucket, name) = (node.clone(), bucket.clone(), name.clone());
    let upload = upload.version;
    // It is ended also if nobody waits for that any more.
    let complete = async move {
        check_metadata(&object)?;
        let announcing = Announcing::new(&node, (&name, None), key, &cause);
        let place = (&bucket, &name);
        let stored = name_and_tell(&node, place, object, (key, condition), announcing).await?;
        // What is not ended is later, by whoever lists uploads.
        let _ = client::end_upload(&*node, place, upload).await;
        Ok((stored.version, stored.object))
    };
    tokio::spawn(complete).await.unwrap_or_else(|_| Err(ObjectError::stopped()))
}

pub(crate) async fn abort(
    node: &Arc<Node>,
    (bucket, name): (&FoundBucket, &Name),
    upload: VersionId,
) -> Result<()> {
    let (node, bucket, name) = (node.clone(), bucket.clone(), name.clone());
    let abort = async move { client::abort(&*node, (&bucket, &name), upload).await };
    tokio::spawn(abort).await.unwrap_or_else(|_| Err(ObjectError::stopped()))
}
