//! Uploads in parts, kept in registers: see `slotcast_object::BucketId::uploads`.
//!
//! Whatever node serves a request of an upload finds it there, and nothing of it is in the memory of a node.
//!
//! An upload ends in three steps, each of which can be done again: it is marked as ending, its parts are deleted, and then
//! the upload. A node that dies in between leaves one that is marked; it is ended by whoever lists uploads next. A part that
//! is stored meanwhile is taken back by who stored it, since that one looks for the mark *after* the part is in its register.
//!
//! Completing an upload is one change of the register of its name: until then it can be repeated, and after that it is
//! answered from that register, as any request is that was made before.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::{Stream, TryStreamExt, stream};
use slotcast_object::{
    Body, Bucket, Condition, Entry, From, ListRequest, Listed, MAX_PAGE, Name, Object, Operation,
    Outcome, Permit, Request, RequestKey, VersionId, Versioning, part_name, part_number,
};
use slotcast_protocol::{ChunkId, Claim};
use slotcast_store::Content;

use super::believed::certain;
use super::buckets::{Relies, change_in};
use super::gateway::{Listing, NewPart, request};
use super::put::{body_at, name_object, sealed};
use super::{Change, FoundBucket, ObjectError, Result, amend, delete, new_key, now_ms, update};
use crate::body_memory::BodyMemory;
use crate::content_stream::{ContentError, Plan, meaning};
use crate::encryption::{self, CustomerKey, Encrypt, Encryption};
use crate::node::Node;
use slotcast_object::Address;
use slotcast_object::list::{self, Part};

/// Among what is said of an upload: it is ending.
const ENDING: &str = ":ending";

/// Parts that are deleted at a time.
const DELETIONS: usize = 32;

/// An upload that is under way.
#[derive(Debug, Clone)]
pub struct FoundUpload {
    /// Where it goes.
    pub name: Name,
    /// Which one it is.
    pub version: VersionId,
    /// All that is going to be said of the object.
    pub object: Object,
    bucket: FoundBucket,
    parts: FoundBucket,
}

/// A part of an upload.
#[derive(Debug, Clone)]
pub struct FoundPart {
    /// Its number.
    pub number: u32,
    /// Its content, and what is said of it.
    pub object: Object,
}

/// The parts that become an object.
pub(super) struct Completion<'a> {
    pub(super) parts: &'a [FoundPart],
    pub(super) key: RequestKey,
    pub(super) condition: Condition,
    pub(super) object: Object,
}

fn is_ending(object: &Object) -> bool {
    object.metadata.contains_key(ENDING)
}

/// The uploads of a bucket, as a bucket.
fn uploads_of(bucket: &FoundBucket) -> FoundBucket {
    let Bucket { id, .. } = bucket.bucket;
    let uploads = Bucket { id: id.uploads(), versioning: Versioning::On, ..bucket.bucket.clone() };
    FoundBucket { bucket: uploads, ..bucket.clone() }
}

/// The parts of an upload, as a bucket.
fn parts_of(bucket: &FoundBucket, name: &Name, upload: VersionId) -> FoundBucket {
    let id = bucket.bucket.id.parts(name, upload);
    let parts = Bucket { id, slots: 1, versioning: Versioning::Off, ..bucket.bucket.clone() };
    FoundBucket { bucket: parts, ..bucket.clone() }
}

pub(super) async fn begin(
    node: &Node,
    (bucket, name): (&FoundBucket, &Name),
    key: RequestKey,
    (mut object, encrypt): (Object, Encrypt),
) -> Result<(VersionId, Object)> {
    // Of a bucket that is only believed it may not be so.
    let bucket = &certain(node, bucket).await?;
    encrypt.begin(node, &bucket.bucket, &mut object).map_err(ContentError::from)?;
    super::check_metadata(&object)?;
    let said = &object;
    let begin_in = |bucket: FoundBucket| async move {
        let operation = Operation::Put(Entry::Object(said.clone()));
        let condition = Condition::Always;
        let (versioning, permit) = (Versioning::On, Permit::default());
        let request = Request { key, operation, condition, versioning, permit };
        let change = (uploads_of(&bucket).key(name), request, Some(bucket.guard()));
        match update(node, change).await? {
            Outcome::Stored(version) => Ok(version),
            Outcome::TooManyVersions => Err(ObjectError::TooManyVersions),
            _ => Err(ObjectError::STOPPED),
        }
    };
    let (version, _) = change_in(node, (bucket, Relies::OnBucket), begin_in).await?;
    Ok((version, object))
}

pub(super) async fn find(
    node: &Node,
    (bucket, name): (&FoundBucket, &Name),
    upload: VersionId,
) -> Result<FoundUpload> {
    match super::find(node, &uploads_of(bucket), name, Some(upload)).await {
        Ok(found) if !is_ending(&found.object) => Ok(FoundUpload {
            name: name.clone(),
            version: upload,
            object: found.object,
            bucket: bucket.clone(),
            parts: parts_of(bucket, name, upload),
        }),
        Ok(_) | Err(ObjectError::NoVersion(..) | ObjectError::Marker(..)) => {
            Err(ObjectError::NoUpload(name.clone(), upload))
        }
        Err(error) => Err(error),
    }
}

pub(crate) async fn list(
    node: &Arc<Node>,
    bucket: &FoundBucket,
    listing: Listing,
) -> Result<Listed> {
    let listing = Listing { versions: true, ..listing };
    let mut listed = super::list(node, request(&uploads_of(bucket).bucket, listing)).await?;
    for found in &mut listed.names {
        found.versions.retain(|version| {
            let object = version.object.as_ref().and_then(Entry::object);
            let ends = object.is_some_and(is_ending);
            if ends {
                let (node, bucket) = (node.clone(), bucket.clone());
                let (name, upload) = (found.name.clone(), version.id);
                tokio::spawn(async move { end(&node, (&bucket, &name), upload).await });
            }
            object.is_some() && !ends
        });
    }
    listed.names.retain(|found| !found.versions.is_empty());
    Ok(listed)
}

pub(super) async fn put_part<E: std::fmt::Display>(
    (node, memory): (&Node, &BodyMemory),
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
    let name = part_name(number);
    let request = Request {
        key: new_key()?,
        operation: Operation::Put(Entry::Object(object.clone())),
        condition: Condition::Always,
        versioning: Versioning::Off,
        permit: Permit::default(),
    };
    let version = match update(node, (upload.parts.key(&name), request, None)).await? {
        Outcome::Stored(version) => version,
        _ => return Err(ObjectError::STOPPED),
    };
    match find(node, (&upload.bucket, &upload.name), upload.version).await {
        Ok(_) => Ok(object),
        Err(error) => {
            if let ObjectError::NoUpload(..) = error {
                let back = Change::new(new_key()?, Condition::Is(version));
                let _ = delete(node, &upload.parts, &name, None, back).await;
            }
            Err(error)
        }
    }
}

pub(super) async fn parts(
    node: &Node,
    upload: &FoundUpload,
    after: u32,
    limit: u32,
) -> Result<(Vec<FoundPart>, bool)> {
    let from = if after == 0 { From::Start } else { From::After(part_name(after)) };
    let limit = limit.clamp(1, MAX_PAGE);
    let listing = Listing { prefix: String::new(), delimiter: None, from, limit, versions: false };
    let listed = super::list(node, request(&upload.parts.bucket, listing)).await?;
    let found = listed.names.into_iter().filter_map(|listed| {
        let object = listed.versions.into_iter().next()?.object?;
        let Entry::Object(object) = object else { return None };
        Some(FoundPart { number: part_number(&listed.name)?, object })
    });
    Ok((found.collect(), listed.next.is_some()))
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
    let stored = stored.map_err(|_| ObjectError::STOPPED)?;
    stored.map_err(|failure| ObjectError::from(meaning(chunk, failure)))?;
    Ok(Body::List(chunk))
}

pub(super) async fn complete(
    node: &Arc<Node>,
    (bucket, name): (&FoundBucket, &Name),
    upload: &FoundUpload,
    completion: Completion<'_>,
) -> Result<(VersionId, Object)> {
    let Completion { parts, key, condition, mut object } = completion;
    let is_encrypted = Encryption::of(&object).is_some();
    object.body = body_of(node, &bucket.bucket, (parts, is_encrypted)).await?;
    object.size = parts.iter().map(|part| part.object.size).sum();
    object.parts = u32::try_from(parts.len()).unwrap_or(u32::MAX);
    object.modified = now_ms();
    super::check_metadata(&object)?;
    let change = (key, condition);
    let (version, _) = name_object(node, (bucket, name), &object, change).await?;
    end_apart(node, (bucket, name), upload.version).await;
    Ok((version, object))
}

pub(crate) async fn abort(
    node: &Arc<Node>,
    (bucket, name): (&FoundBucket, &Name),
    upload: VersionId,
) -> Result<()> {
    // One that is ending already is ended again: whoever began that may be gone.
    match super::find(node, &uploads_of(bucket), name, Some(upload)).await {
        Ok(_) => {}
        Err(ObjectError::NoVersion(..) | ObjectError::Marker(..)) => {
            return Err(ObjectError::NoUpload(name.clone(), upload));
        }
        Err(error) => return Err(error),
    }
    mark(node, (bucket, name), upload).await?;
    end_apart(node, (bucket, name), upload).await;
    Ok(())
}

/// Marks an upload as ending.
async fn mark(node: &Node, (bucket, name): (&FoundBucket, &Name), upload: VersionId) -> Result<()> {
    let mark = |object: &mut Object| drop(object.metadata.insert(ENDING.into(), String::new()));
    let uploads = uploads_of(bucket);
    let change = Change::new(new_key()?, Condition::Always);
    match amend(node, &uploads, name, Some(upload), change, mark).await {
        Ok(_) | Err(ObjectError::NoVersion(..)) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Ends an upload also if nobody waits for that any more. What fails is done again when uploads are listed.
async fn end_apart(node: &Arc<Node>, (bucket, name): (&FoundBucket, &Name), upload: VersionId) {
    let (node, bucket, name) = (node.clone(), bucket.clone(), name.clone());
    let end = async move { end(&node, (&bucket, &name), upload).await };
    if let Ok(Err(error)) = tokio::spawn(end).await {
        tracing::debug!(%error, "an upload was not ended, and is later");
    }
}

/// Ends an upload: see the beginning of this file.
async fn end(node: &Node, (bucket, name): (&FoundBucket, &Name), upload: VersionId) -> Result<()> {
    mark(node, (bucket, name), upload).await?;
    let parts = parts_of(bucket, name, upload);
    loop {
        let listing = Listing {
            prefix: String::new(),
            delimiter: None,
            from: From::Start,
            limit: MAX_PAGE,
            versions: false,
        };
        let listed = super::list(node, request(&parts.bucket, listing)).await?;
        if listed.names.is_empty() && listed.next.is_none() {
            break;
        }
        let deletions = listed.names.iter().map(|found| Ok::<_, ObjectError>(&found.name));
        let one = async |name: &Name| {
            let change = Change::new(new_key()?, Condition::Always);
            delete(node, &parts, name, None, change).await.map(drop)
        };
        stream::iter(deletions).try_for_each_concurrent(DELETIONS, one).await?;
    }
    let change = Change::new(new_key()?, Condition::Always);
    delete(node, &uploads_of(bucket), name, Some(upload), change).await.map(drop)
}

/// Ends all uploads of a bucket that was removed, as far as that is possible.
pub(super) async fn clear(node: &Node, bucket: &FoundBucket) {
    let mut from = Some(From::Start);
    while let Some(begin) = from {
        let listing = Listing {
            prefix: String::new(),
            delimiter: None,
            from: begin,
            limit: MAX_PAGE,
            versions: true,
        };
        let listed = request(&uploads_of(bucket).bucket, listing);
        // None begins any more that has relied on the bucket.
        let listed = super::list(node, ListRequest { fences: true, ..listed }).await;
        let Ok(listed) = listed else { return };
        for found in &listed.names {
            for version in &found.versions {
                let _ = end(node, (bucket, &found.name), version.id).await;
            }
        }
        from = listed.next;
    }
}
