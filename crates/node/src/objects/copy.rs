//! Copies inside the store: another name for the same content.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream;
use slotcast_object::{
    Body, Checksums, Condition, Name, Object, RequestKey, VersionId, Versioning,
};

use super::put::{MAX_INLINE_OF_VERSIONS, name_object, sealed};
use super::{FoundBucket, FoundObject, PutObject, Result, find, now_ms, put};
use crate::body_memory::BodyMemory;
use crate::content_read::{Found, Reader};
use crate::content_stream::Plan;
use crate::node::Node;

/// What is to be copied, and how.
#[derive(Debug)]
pub(crate) struct CopyObject<'a> {
    /// The same in each retry of the request.
    pub(crate) key: RequestKey,
    pub(crate) condition: Condition,
    /// What is copied: the latest version, or this one.
    pub(crate) source: (&'a FoundBucket, &'a Name, Option<VersionId>),
    /// Of content that has to be stored again.
    pub(crate) plan: Plan,
}

/// What is copied, once it was found.
#[derive(Debug)]
pub struct CopyFrom<'a> {
    /// The bucket that it is in.
    pub bucket: &'a FoundBucket,
    /// Its content.
    pub body: Body,
}

/// Puts an object under another name too, with all that is said of it. No content moves, but where the bucket that it
/// goes into wants another number of replicas than the one that it comes from: then it is read and stored again, and
/// only what is missing of it is sent. Gives the version that it has now, and what was copied.
pub(crate) async fn copy(
    node: &Arc<Node>,
    memory: &BodyMemory,
    (bucket, name): (&FoundBucket, &Name),
    copy: CopyObject<'_>,
) -> Result<(VersionId, FoundObject)> {
    let CopyObject { key, condition, source: (from, source, version), plan } = copy;
    let found = find(node, from, source, version).await?;
    // A lock is that of a version, and not of its content.
    let object =
        Object { modified: now_ms(), retention: None, legal_hold: false, ..found.object.clone() };
    let from = CopyFrom { bucket: from, body: found.object.body.clone() };
    let put_object = PutObject { key, condition, object, seal: None };
    let version = place_copy(node, memory, (bucket, name), (from, put_object), plan).await?;
    Ok((version, found))
}

/// Puts an object whose content is that of another, in as many replicas as the bucket that it goes into wants.
pub(super) async fn place_copy(
    node: &Arc<Node>,
    memory: &BodyMemory,
    (bucket, name): (&FoundBucket, &Name),
    (from, put_object): (CopyFrom<'_>, PutObject),
    plan: Plan,
) -> Result<VersionId> {
    let CopyFrom { bucket: from, body } = from;
    let PutObject { key, condition, mut object, seal } = put_object;
    let keeps_versions = bucket.bucket.versioning != Versioning::Off;
    let is_as_wanted = match &body {
        Body::Inline(bytes, _) => !keeps_versions || bytes.len() <= MAX_INLINE_OF_VERSIONS,
        Body::Chunk(_) | Body::List(_) => from.bucket.replicas == bucket.bucket.replicas,
    };
    if is_as_wanted {
        object.body = body;
        sealed(seal, &mut object)?;
        return Ok(name_object(node, (bucket, name), &object, (key, condition)).await?.0);
    }
    let plan = Plan { length: Some(object.size), max_length: object.size, ..plan };
    if object.parts > 0 {
        // It is cut anew: there are no parts any more that its checksums could be those of.
        object.parts = 0;
        object.checksums = match object.checksums.of_parts {
            true => Checksums::default(),
            false => Checksums { md5: None, ..object.checksums },
        };
    }
    let put_object = PutObject { key, condition, object, seal };
    let place = (bucket, name);
    let stored = match Found::of(node, memory, &body).await? {
        Found::Chunk(bytes, lease) => {
            // It is counted anew where it is stored.
            drop(lease);
            let content = stream::iter([Ok::<Bytes, Infallible>(bytes)]);
            put(node, memory, place, put_object, plan, content).await?
        }
        Found::List(list, lease) => {
            let all = 0..list.length();
            let reader = Reader::new(node.clone(), memory, (list, lease), all).await?;
            put(node, memory, place, put_object, plan, reader.stream(None)).await?
        }
    };
    Ok(stored.version)
}
