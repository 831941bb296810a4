//! Puts: content under a name.

use std::fmt;
use std::sync::OnceLock;

use bytes::{Bytes, BytesMut};
use data_encoding::HEXLOWER;
use futures_util::future::try_join;
use futures_util::{Stream, StreamExt};
use slotcast_object::{
    Address, Body, Condition, Entry, MAX_INLINE, Name, Object, Operation, Permit, Request,
    RequestKey, VersionId, Versioning,
};
use slotcast_store::Content;

use slotcast_object::client::{
    Relies, certain, change_in, changed, check_metadata, name_in, stored, update,
};

use super::{FoundBucket, ObjectError, Result, now_ms};
use crate::body_memory::BodyMemory;
use crate::content_stream::{self, ContentError, Plan};
use crate::encryption::{self, CustomerKey, Encrypt};
use crate::node::Node;
use crate::notifications::{Announcing, Cause};

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
    /// How its content is to be encrypted.
    pub encrypt: Encrypt,
    /// As what those are told of it who want to know.
    pub cause: Cause,
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

/// All content of `object` has come. Who does not have the key of a customer learns no hash of content that is encrypted with
/// it.
pub(super) fn sealed(
    seal: Option<Seal>,
    object: &mut Object,
    customer: Option<&CustomerKey>,
) -> Result<()> {
    seal.map_or(Ok(()), |seal| seal(object)).map_err(ObjectError::Refused)?;
    if let Some(key) = customer {
        object.checksums.md5 = object.checksums.md5.map(|md5| key.tag(md5));
    }
    check_metadata(object)
}

/// Content of a bucket that keeps versions travels in the register up to so many bytes: all versions of a name are in its
/// record, which each change writes anew.
pub(super) const MAX_INLINE_OF_VERSIONS: usize = 128;

/// What was stored under a name.
#[derive(Debug, Clone)]
pub struct StoredObject {
    /// In which version.
    pub version: VersionId,
    /// What.
    pub object: Object,
    /// What its bucket keeps of earlier versions.
    pub versioning: Versioning,
}

/// The entity tag of an object. Of what was put with its MD5 it is that, in parts with their number; of all else, which native
/// HTTP has put, it is made of a hash of the content, and has the form of that of one part, so that no client takes it for an
/// MD5.
pub fn entity_tag(object: &Object) -> String {
    match (object.checksums.md5, object.parts) {
        (Some(md5), 0) => HEXLOWER.encode(&md5),
        (Some(md5), parts) => format!("{}-{parts}", HEXLOWER.encode(&md5)),
        (None, _) => format!("{}-1", HEXLOWER.encode(&object.body.hash()[..16])),
    }
}

/// Tells what became of a put, to those who want to know.
pub(super) async fn told(
    announcing: Announcing<'_>,
    stored: Result<StoredObject>,
) -> Result<StoredObject> {
    let what = stored.as_ref();
    let what = what.map(|of| (of.version, of.versioning == Versioning::On, &of.object));
    announcing.stored(what).await;
    stored
}

/// Names an object whose content is stored, and tells it to those who want to know.
pub(super) async fn name_and_tell(
    node: &Node,
    (bucket, name): (&FoundBucket, &Name),
    object: Object,
    how: (RequestKey, Condition),
    announcing: Announcing<'_>,
) -> Result<StoredObject> {
    let (it, before) = (&object, &announcing);
    let name_it = |bucket: FoundBucket| async move {
        before.before(&bucket).await?;
        name_in(node, (&bucket, name), it, how).await
    };
    let named = change_in(node, (bucket, Relies::OnBucket), name_it).await;
    let stored = named.map(|(version, bucket)| StoredObject {
        version,
        object,
        versioning: bucket.bucket.versioning,
    });
    told(announcing, stored).await
}

/// Stores content under a name. Short content travels in the register of the name; of what is one chunk the register is
/// prepared while the chunk is on its way.
pub(crate) async fn put<E: std::fmt::Display>(
    node: &Node,
    memory: &BodyMemory,
    (bucket, name): (&FoundBucket, &Name),
    put: PutObject,
    plan: Plan,
    content: impl Stream<Item = std::result::Result<Bytes, E>>,
) -> Result<StoredObject> {
    let PutObject { key, condition, mut object, seal, encrypt, cause } = put;
    let announcing = Announcing::new(node, (name, None), key, &cause);
    // Of what is encrypted already it is known how long the content is.
    let size = matches!(encrypt, Encrypt::Done).then_some(object.size);
    if let Some(length) = plan.length.filter(|length| *length <= plan.chunk_size as u64) {
        // What is encrypted is there twice.
        let is_encrypted = encrypt.customer().is_some() || encrypt.is_by_server(&bucket.bucket);
        let needs = if is_encrypted { 2 * length } else { length } + plan.buffered;
        let put_it = async {
            let lease = memory.take(needs).await.map_err(ContentError::from)?;
            let content = async { Ok(collect(plan, length, content).await?) };
            // It is announced while it comes.
            let (bytes, ()) = try_join(content, announcing.before(bucket)).await?;
            object.size = size.unwrap_or(bytes.len() as u64);
            sealed(seal, &mut object, encrypt.customer())?;
            let (hashed, replicas) = (OnceLock::new(), plan.replicas);
            let (object, bytes, hashed, encrypt) = (&object, &bytes, &hashed, &encrypt);
            let announcing = &announcing;
            let put_as = |bucket: FoundBucket| async move {
                announcing.before(&bucket).await?;
                let what = (object, (bytes, hashed), encrypt);
                put_short(node, (&bucket, name), what, (key, condition, replicas)).await
            };
            let place = (bucket, Relies::OnName);
            let ((version, object), bucket) = change_in(node, place, put_as).await?;
            drop(lease);
            Ok(StoredObject { version, object, versioning: bucket.bucket.versioning })
        };
        let stored = put_it.await;
        return told(announcing, stored).await;
    }
    // It is on its way for longer than it takes to read the bucket.
    let bucket = certain(node, bucket).await?;
    let plan = Plan { replicas: plan.replicas.or(bucket.bucket.replicas), ..plan };
    let object_key =
        encrypt.begin(node, &bucket.bucket, &mut object).map_err(ContentError::from)?;
    let key_of_all = (object_key.as_ref(), 0);
    let store = async { Ok(encryption::store(node, memory, key_of_all, plan, content).await?) };
    let stored = match try_join(store, announcing.before(&bucket)).await {
        Ok((stored, ())) => stored,
        Err(error) => return told(announcing, Err(error)).await,
    };
    object.size = size.unwrap_or(stored.length);
    object.body = body_at(stored.address);
    if let Err(error) = sealed(seal, &mut object, encrypt.customer()) {
        return told(announcing, Err(error)).await;
    }
    name_and_tell(node, (&bucket, name), object, (key, condition), announcing).await
}

/// Stores content of at most one chunk as its bucket says.
async fn put_short(
    node: &Node,
    (bucket, name): (&FoundBucket, &Name),
    (object, (bytes, hashed), encrypt): (&Object, (&Bytes, &OnceLock<Content>), &Encrypt),
    (key, condition, replicas): (RequestKey, Condition, Option<u8>),
) -> Result<(VersionId, Object)> {
    let mut object = object.clone();
    let began = encrypt.begin(node, &bucket.bucket, &mut object).map_err(ContentError::from)?;
    let content = match &began {
        Some(key) => Content::of(encryption::encrypted(key, bytes).map_err(ContentError::from)?),
        None => hashed.get_or_init(|| Content::of(bytes.clone())).clone(),
    };
    let versioning = bucket.bucket.versioning;
    let max_inline =
        if versioning == Versioning::Off { MAX_INLINE } else { MAX_INLINE_OF_VERSIONS };
    let is_inline = content.bytes().len() <= max_inline;
    let chunk = content.chunk();
    let body = match is_inline {
        true => Body::Inline(content.bytes().clone(), Some(chunk.0)),
        false => Body::Chunk(chunk),
    };
    object.body = body;
    check_metadata(&object)?;
    bucket.bucket.retain(&mut object);
    let operation = Operation::Put(Entry::Object(object.clone()));
    let permit = Permit::at(now_ms());
    let request = Request { key, operation, condition, versioning, permit };
    let change = (bucket.key(name), request, Some(bucket.guard()));
    let outcome = match is_inline {
        true => update(node, change).await?,
        false => {
            let replicas = replicas.or(bucket.bucket.replicas);
            let put = node.put_named((content, replicas), change);
            let ended = put.await.map_err(|_| ObjectError::stopped())?;
            changed(&ended.map_err(|failure| content_stream::meaning(chunk, failure))?)?
        }
    };
    Ok((stored(outcome)?, object))
}

/// The content at an address.
pub(super) fn body_at(address: Address) -> Body {
    match address {
        Address::Chunk(chunk) => Body::Chunk(chunk),
        Address::List(chunk) => Body::List(chunk),
    }
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
