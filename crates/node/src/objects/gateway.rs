//! Buckets and objects of a node as other protocols use them.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use slotcast_object::client;
use slotcast_object::{
    Body, Bucket, Condition, From, Listed, Name, NameRecord, Object, Outcome, RequestKey, VersionId,
};
use slotcast_protocol::Claim;

use super::copy::place_copy;
use super::{
    Change, CopyFrom, FoundBucket, FoundObject, FoundPart, FoundUpload, Listing, NewBucket,
    PutObject, Result, Seal, StoredObject, listing_of, uploads,
};
use crate::body_memory::BodyMemory;
use crate::content_read::Found;
use crate::content_stream::{ContentError, Plan};
use crate::encryption::{self, CustomerKey, Encrypt, Encryption, EncryptionError};
use crate::http::CHUNK_SIZE;
use crate::limits::Serving;
use crate::node::Node;
use crate::notifications::Cause;

/// The buckets and objects of a cluster, as one of its nodes serves them. Clones are the same.
///
/// Content goes through the memory that all bodies of the node share: a put or a get waits until there is some. What is
/// acknowledged is on stable storage. A change with a [`RequestKey`] takes effect once, however often it is asked for.
#[derive(Debug, Clone)]
pub struct Objects {
    node: Arc<Node>,
    memory: BodyMemory,
    serving: Serving,
}

/// What is known of content before it comes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Incoming {
    /// How long it is, if that is known.
    pub length: Option<u64>,
    /// Bytes of it that are in memory before they are read here.
    pub buffered: u64,
}

/// A part of an upload that is to be stored.
pub struct NewPart {
    /// Its number.
    pub number: u32,
    /// All that is said of it but its content.
    pub object: Object,
    /// What is said of it when all of its content has come.
    pub seal: Option<Seal>,
}

impl std::fmt::Debug for NewPart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewPart").field("number", &self.number).finish_non_exhaustive()
    }
}

/// An upload whose parts are to become an object.
#[derive(Debug)]
pub struct Whole<'a> {
    /// The upload.
    pub upload: &'a FoundUpload,
    /// Its parts, in order.
    pub parts: &'a [FoundPart],
    /// The same in each retry of the request.
    pub key: RequestKey,
    /// What must hold of the name.
    pub condition: Condition,
    /// All that is said of the object but its content and its size.
    pub object: Object,
    /// As what those are told of it who want to know.
    pub cause: Cause,
}

impl Objects {
    /// Those of a node.
    pub fn new(node: Arc<Node>) -> Objects {
        let serving = node.serving();
        let Serving { body_memory, waiting, body_timeout, .. } = serving;
        Objects { node, memory: BodyMemory::new(body_memory, waiting, body_timeout), serving }
    }

    pub(crate) fn parts(&self) -> (Arc<Node>, BodyMemory, Serving) {
        (self.node.clone(), self.memory.clone(), self.serving)
    }

    /// The most bytes that one put may store.
    pub fn max_length(&self) -> u64 {
        self.serving.body_size
    }

    /// Whether this node can encrypt with keys of the server: it has a master key, or makes one.
    ///
    /// # Errors
    /// If there is none, or it cannot be read.
    pub fn can_encrypt(&self) -> std::result::Result<(), EncryptionError> {
        self.node.master_keys().get(true)?.map(drop).ok_or(EncryptionError::NoMasterKey)
    }

    /// Milliseconds of a day of the lifecycle of objects.
    pub fn lifecycle_day(&self) -> u64 {
        self.serving.lifecycle_day
    }

    /// How long the body of a request may stand still.
    pub fn body_timeout(&self) -> Duration {
        self.serving.body_timeout
    }

    pub(crate) fn plan(&self, incoming: Incoming) -> Plan {
        let Incoming { length, buffered } = incoming;
        Plan {
            chunk_size: CHUNK_SIZE,
            replicas: None,
            claim: Claim::Names,
            length,
            buffered,
            max_length: self.serving.body_size,
            timeout: self.serving.body_timeout,
        }
    }

    /// The bucket of this name.
    ///
    /// # Errors
    /// If there is none, or too few voters answer.
    pub async fn bucket(&self, name: &Name) -> Result<FoundBucket> {
        super::bucket(&*self.node, name).await
    }

    /// The bucket of this name as this node has read it some time ago, if it has. What is then done with it relies on nothing
    /// that is not so any more; if there is no such bucket, that is found out then.
    ///
    /// # Errors
    /// If nothing is believed and there is none, or too few voters answer.
    pub async fn believed(&self, name: &Name) -> Result<FoundBucket> {
        super::believed(&*self.node, name).await
    }

    /// A page of buckets, in the order of their names, and where it goes on.
    ///
    /// # Errors
    /// If too few voters answer.
    pub async fn buckets(
        &self,
        prefix: &str,
        from: From,
        limit: u32,
    ) -> Result<(Vec<FoundBucket>, Option<From>)> {
        super::buckets(&*self.node, prefix, from, limit).await
    }

    /// Makes a bucket.
    ///
    /// # Errors
    /// If there is one of this name, or too few voters answer.
    pub async fn make_bucket(
        &self,
        name: &Name,
        key: RequestKey,
        wanted: NewBucket,
    ) -> Result<FoundBucket> {
        super::make_bucket(&self.node, name, key, wanted).await
    }

    /// Changes what is said of a bucket. Of several who do so at the same time each change takes effect, one after another.
    ///
    /// # Errors
    /// If there is no such bucket, or too few voters answer.
    pub async fn amend_bucket(
        &self,
        name: &Name,
        key: RequestKey,
        change: impl Fn(&mut Bucket),
    ) -> Result<FoundBucket> {
        super::amend_bucket(&*self.node, name, (key, None), change).await
    }

    /// Removes a bucket in which nothing is. Uploads that are under way in it are aborted.
    ///
    /// # Errors
    /// If there is none, something is in it, or too few voters answer.
    pub async fn remove_bucket(&self, name: &Name, key: RequestKey) -> Result<()> {
        super::remove_bucket(&*self.node, name, key).await
    }

    /// All that a name says, if it ever said anything; and its bucket as it was then.
    ///
    /// # Errors
    /// If there is no such bucket any more, or too few voters answer.
    pub async fn record(
        &self,
        bucket: &FoundBucket,
        name: &Name,
    ) -> Result<(Option<NameRecord>, FoundBucket)> {
        let read = |bucket: FoundBucket| super::read(&*self.node, bucket.key(name));
        super::within(&*self.node, bucket, read).await
    }

    /// Names of a bucket.
    ///
    /// # Errors
    /// If too few voters answer.
    pub async fn list(&self, bucket: &FoundBucket, listing: Listing) -> Result<Listed> {
        let read = |bucket: FoundBucket| {
            super::list(&*self.node, listing_of(&bucket.bucket, listing.clone()))
        };
        Ok(super::within(&*self.node, bucket, read).await?.0)
    }

    /// Stores content under a name.
    ///
    /// # Errors
    /// If the condition does not hold, the content breaks off, stands still or is refused when it has come, there is no
    /// memory for it, or too few targets or voters answer.
    pub async fn put<E: std::fmt::Display>(
        &self,
        place: (&FoundBucket, &Name),
        put: PutObject,
        incoming: Incoming,
        content: impl Stream<Item = std::result::Result<Bytes, E>>,
    ) -> Result<StoredObject> {
        super::put(&self.node, &self.memory, place, put, self.plan(incoming), content).await
    }

    /// Puts an object whose content is that of another one. No content moves, but where the bucket that it goes into wants
    /// another number of replicas. `put` says all but the content, and its size.
    ///
    /// # Errors
    /// As for [`Objects::put`].
    pub async fn copy(
        &self,
        place: (&FoundBucket, &Name),
        (from, put): (CopyFrom<'_>, PutObject),
    ) -> Result<StoredObject> {
        place_copy(&self.node, &self.memory, place, (from, put), self.plan(Incoming::default()))
            .await
    }

    /// Deletes an object, or one version of it.
    ///
    /// # Errors
    /// If the condition does not hold, the version has to be kept, or too few voters answer.
    pub async fn delete(
        &self,
        (bucket, name): (&FoundBucket, &Name),
        version: Option<VersionId>,
        (change, cause): (Change, Cause),
    ) -> Result<Outcome> {
        super::delete(&self.node, (bucket, name), version, (change, cause)).await
    }

    /// Changes what is said of a version beside its content, in place; those are told of it who want to know, if there is a
    /// cause.
    ///
    /// # Errors
    /// If there is no such version, its lock would be weakened, or too few voters answer.
    pub async fn amend(
        &self,
        place: (&FoundBucket, &Name),
        version: Option<VersionId>,
        when: (Change, Option<Cause>),
        change: impl Fn(&mut Object),
    ) -> Result<FoundObject> {
        super::amend(&self.node, place, version, when, change).await
    }

    /// Tells a webhook that a bucket is going to tell it something; `request` is the number of the request that says so.
    ///
    /// # Errors
    /// If there is no such webhook, or it does not take that; why.
    pub async fn test_webhook(
        &self,
        webhook: &str,
        (bucket, request): (&Name, &str),
    ) -> std::result::Result<(), String> {
        match self.node.notifications() {
            Some(notifications) => {
                notifications.test(webhook, (bucket, request, super::now_ms())).await
            }
            None => Err("the node is not served yet".into()),
        }
    }

    /// Whether there is a webhook of this name.
    pub fn has_webhook(&self, webhook: &str) -> bool {
        self.node.notifications().is_some_and(|notifications| notifications.has(webhook))
    }

    /// These bytes of the content of an object; with the key of a customer where it is encrypted with one. The first piece is
    /// there when this returns, so that most of what can go wrong is known.
    ///
    /// # Errors
    /// If a chunk cannot be fetched, there is no memory for it, or it cannot be decrypted.
    pub async fn read(
        &self,
        object: &Object,
        customer: Option<&CustomerKey>,
        range: Range<u64>,
    ) -> std::result::Result<
        impl Stream<Item = std::result::Result<Bytes, ContentError>> + Send + use<>,
        ContentError,
    > {
        encryption::read((&self.node, &self.memory), object, customer, range).await
    }

    /// All that is stored of an object, as it is stored.
    ///
    /// # Errors
    /// As [`Objects::read`].
    pub(crate) async fn read_stored(
        &self,
        body: &Body,
    ) -> std::result::Result<
        impl Stream<Item = std::result::Result<Bytes, ContentError>> + Send + use<>,
        ContentError,
    > {
        let found = Found::of(&self.node, &self.memory, body).await?;
        let all = 0..found.length();
        found.read((&self.node, &self.memory), all).await
    }

    /// Bytes of each part of an object that was uploaded in parts; none of others.
    ///
    /// # Errors
    /// If its list cannot be fetched.
    pub async fn part_sizes(&self, object: &Object) -> std::result::Result<Vec<u64>, ContentError> {
        let mut sizes = match (&object.body, object.parts) {
            (_, 0) => Vec::new(),
            (Body::List(_), _) => match Found::of(&self.node, &self.memory, &object.body).await? {
                Found::List(list, _) => {
                    encryption::plain_lengths(&list, Encryption::of(object).is_some())?
                }
                Found::Chunk(..) => Vec::new(),
            },
            _ => vec![object.size],
        };
        sizes.resize(object.parts as usize, 0);
        Ok(sizes)
    }

    /// Begins an upload in parts: `object` is all that is going to be said of it. Gives that with how it is encrypted, too.
    ///
    /// # Errors
    /// If the bucket is gone, too many uploads of this name are under way, or too few voters answer.
    pub async fn begin_upload(
        &self,
        place: (&FoundBucket, &Name),
        key: RequestKey,
        (object, encrypt): (Object, Encrypt),
    ) -> Result<(VersionId, Object)> {
        uploads::begin(&self.node, place, key, (object, encrypt)).await
    }

    /// An upload that is under way.
    ///
    /// # Errors
    /// If it is not, or too few voters answer.
    pub async fn upload(
        &self,
        place: (&FoundBucket, &Name),
        upload: VersionId,
    ) -> Result<FoundUpload> {
        client::find_upload(&*self.node, place, upload).await
    }

    /// Uploads that are under way in a bucket: names with a version for each, the one that began last first.
    ///
    /// # Errors
    /// If too few voters answer.
    pub async fn uploads(&self, bucket: &FoundBucket, listing: Listing) -> Result<Listed> {
        uploads::list(&self.node, bucket, listing).await
    }

    /// Stores a part of an upload, in the place of one of the same number; with the key of a customer where the upload is
    /// encrypted with one.
    ///
    /// # Errors
    /// If the upload is not under way any more when the part is stored; else as for [`Objects::put`].
    pub async fn put_part<E: std::fmt::Display>(
        &self,
        upload: &FoundUpload,
        (part, customer): (NewPart, Option<&CustomerKey>),
        incoming: Incoming,
        content: impl Stream<Item = std::result::Result<Bytes, E>>,
    ) -> Result<Object> {
        let (node, plan) = (&self.node, self.plan(incoming));
        uploads::put_part((node, &self.memory), upload, (part, customer), (plan, content)).await
    }

    /// Up to `limit` parts of an upload after this number, in order.
    ///
    /// # Errors
    /// If too few voters answer.
    pub async fn parts_of(
        &self,
        upload: &FoundUpload,
        after: u32,
        limit: u32,
    ) -> Result<(Vec<FoundPart>, bool)> {
        client::parts(&*self.node, upload, after, limit).await
    }

    /// Makes an object of the parts of an upload, and ends the upload. No content moves.
    ///
    /// # Errors
    /// If the condition does not hold, or too few targets or voters answer.
    pub async fn complete(
        &self,
        place: (&FoundBucket, &Name),
        whole: Whole<'_>,
    ) -> Result<(VersionId, Object)> {
        uploads::complete(&self.node, place, whole).await
    }

    /// Ends an upload, and forgets its parts.
    ///
    /// # Errors
    /// If it is not under way, or too few voters answer.
    pub async fn abort(&self, place: (&FoundBucket, &Name), upload: VersionId) -> Result<()> {
        uploads::abort(&self.node, place, upload).await
    }
}
