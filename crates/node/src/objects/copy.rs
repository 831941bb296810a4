//! Copies inside the store: another name for the same content.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use slotcast_object::{
    Body, Bucket, Checksums, Condition, Name, Object, RequestKey, VersionId, Versioning,
};

use slotcast_object::client::certain;
use slotcast_object::notification::EventKind;

use super::put::{MAX_INLINE_OF_VERSIONS, Seal, StoredObject, name_and_tell, sealed};
use super::{FoundBucket, FoundObject, PutObject, Result, find, now_ms, put};
use crate::body_memory::BodyMemory;
use crate::content_read::Found;
use crate::content_stream::{ContentError, Plan};
use crate::digests::{Checksum, Digests};
use crate::encryption::{self, CustomerKey, Encrypt, Encryption};
use crate::node::Node;
use crate::notifications::Announcing;

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
    /// What is copied.
    pub object: &'a Object,
    /// The key that it is encrypted with, where that is one of a customer and whoever asks has it.
    pub customer: Option<CustomerKey>,
}

/// Puts an object under another name too, with all that is said of it. No content moves, but where the bucket that it
/// goes into wants another number of replicas than the one that it comes from, or encrypts what comes: then it is read and
/// stored again, and only what is missing of it is sent. Gives the version that it has now, and what was copied.
pub(crate) async fn copy(
    node: &Arc<Node>,
    memory: &BodyMemory,
    (bucket, name): (&FoundBucket, &Name),
    copy: CopyObject<'_>,
) -> Result<(StoredObject, FoundObject)> {
    let CopyObject { key, condition, source: (from, source, version), plan } = copy;
    let found = find(node, from, source, version).await?;
    // A lock is that of a version, and not of its content.
    let object =
        Object { modified: now_ms(), retention: None, legal_hold: false, ..found.object.clone() };
    let from = CopyFrom { bucket: from, object: &found.object, customer: None };
    let (encrypt, cause) = (Encrypt::AsBucket, EventKind::CreatedCopy.into());
    let put_object = PutObject { key, condition, object, seal: None, encrypt, cause };
    let stored = place_copy(node, memory, (bucket, name), (from, put_object), plan).await?;
    Ok((stored, found))
}

/// Whether content that is encrypted so stays as it is.
fn keeps_encryption(from: &CopyFrom<'_>, encrypt: &Encrypt, bucket: &Bucket) -> bool {
    match (Encryption::of(from.object), encrypt) {
        (_, Encrypt::Done) => true,
        (None, encrypt) => encrypt.customer().is_none() && !encrypt.is_by_server(bucket),
        // Nothing that is encrypted is stored in the clear because nobody said otherwise.
        (Some(Encryption::Server { .. }), Encrypt::AsBucket | Encrypt::Server) => true,
        (Some(Encryption::Customer { .. }), Encrypt::AsBucket) => from.customer.is_none(),
        (Some(encryption), Encrypt::Customer(key)) => encryption.is_with(key),
        (Some(Encryption::Customer { .. }), Encrypt::Server) => false,
        (Some(Encryption::Unknown), _) => true,
    }
}

/// The same content, whose memory is not counted any more if it is short: it is counted anew where it is stored, and nobody
/// waits for memory who has some.
async fn let_go(
    mut content: BoxStream<'static, std::result::Result<Bytes, ContentError>>,
    length: u64,
) -> Result<BoxStream<'static, std::result::Result<Bytes, ContentError>>> {
    if length > encryption::FRAME {
        return Ok(content);
    }
    let mut all = BytesMut::new();
    while let Some(piece) = content.next().await {
        all.extend_from_slice(&piece?);
    }
    Ok(stream::iter([Ok(all.freeze())]).boxed())
}

/// Puts an object whose content is that of another, in as many replicas as the bucket that it goes into wants.
pub(super) async fn place_copy(
    node: &Arc<Node>,
    memory: &BodyMemory,
    (bucket, name): (&FoundBucket, &Name),
    (from, put_object): (CopyFrom<'_>, PutObject),
    plan: Plan,
) -> Result<StoredObject> {
    let PutObject { key, condition, mut object, seal, encrypt, cause } = put_object;
    // One that is only believed may encrypt by now.
    let bucket = &certain(node, bucket).await?;
    let body = &from.object.body;
    let keeps_versions = bucket.bucket.versioning != Versioning::Off;
    let is_as_wanted = match body {
        Body::Inline(bytes, _) => !keeps_versions || bytes.len() <= MAX_INLINE_OF_VERSIONS,
        Body::Chunk(_) | Body::List(_) => from.bucket.bucket.replicas == bucket.bucket.replicas,
    };
    let keeps = keeps_encryption(&from, &encrypt, &bucket.bucket);
    if keeps {
        Encryption::carry(from.object, &mut object);
    } else {
        Encryption::take(&mut object);
    }
    if is_as_wanted && keeps {
        object.body = body.clone();
        sealed(seal, &mut object, None)?;
        let announcing = Announcing::new(node, (name, None), key, &cause);
        let how = (key, condition);
        return name_and_tell(node, (bucket, name), object, how, announcing).await;
    }
    let put_object = PutObject { key, condition, object, seal, encrypt, cause };
    store_again((node, memory), (bucket, name), (from, put_object), (keeps, plan)).await
}

/// Reads an object, and stores it again: as it is stored, where its encryption stays as it is and that can be.
async fn store_again(
    (node, memory): (&Arc<Node>, &BodyMemory),
    place: (&FoundBucket, &Name),
    (from, put_object): (CopyFrom<'_>, PutObject),
    (keeps, plan): (bool, Plan),
) -> Result<StoredObject> {
    let PutObject { key, condition, mut object, seal, encrypt, cause } = put_object;
    let encryption = Encryption::of(from.object);
    if keeps && encryption.is_some() && object.parts == 0 {
        // It is cut as it was.
        let found = Found::of(node, memory, &from.object.body).await?;
        let length = found.length();
        let chunk_size = encryption::FRAME as usize;
        let plan = Plan { length: Some(length), max_length: length, chunk_size, ..plan };
        let encrypt = Encrypt::Done;
        let put_object = PutObject { key, condition, object, seal, encrypt, cause };
        let content = found.read((node, memory), 0..length).await?.boxed();
        let content = let_go(content, length).await?;
        return put(node, memory, place, put_object, plan, content).await;
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
    // A key of the server is had anew; one of a customer has to come.
    let is_by_server = matches!(encryption, Some(Encryption::Server { .. }));
    let encrypt = if keeps && is_by_server { Encrypt::Server } else { encrypt };
    let customer = from.customer.as_ref().or(encrypt.customer());
    let all = 0..object.size;
    let content = encryption::read((node, memory), from.object, customer, all).await?;
    let content = let_go(content, object.size).await?;
    if keeps && encryption.is_none() {
        let put_object = PutObject { key, condition, object, seal, encrypt, cause };
        return put(node, memory, place, put_object, plan, content).await;
    }
    // The MD5 that is known may be none, or stand for one.
    let md5 = Arc::new(Mutex::new(Digests::new([Checksum::Md5])));
    let sum = md5.clone();
    let content = content.inspect(move |piece| {
        if let Ok(piece) = piece {
            sum.lock().unwrap_or_else(PoisonError::into_inner).update(piece);
        }
    });
    let seal: Seal = Box::new(move |object| {
        object.checksums.md5 = md5.lock().unwrap_or_else(PoisonError::into_inner).finish().md5;
        seal.map_or(Ok(()), |seal| seal(object))
    });
    let seal = Some(seal);
    let put_object = PutObject { key, condition, object, seal, encrypt, cause };
    put(node, memory, place, put_object, plan, content).await
}
