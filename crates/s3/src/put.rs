//! PutObject.

use std::pin::Pin;

use axum::http::HeaderMap;
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use s3s::dto::{ETag, Metadata, PutObjectInput, PutObjectOutput};
use s3s::{S3Request, S3Response, S3Result, StdError, s3_error};
use slotcast_node::{Cause, FoundBucket, PutObject, Seal, StoredObject};
use slotcast_object::notification::EventKind;
use slotcast_object::{Object, RequestKey};

use crate::checksums::{Announced, etag, show, shown};
use crate::conditions::Wanted;
use crate::encryption::{Asked, show_encryption};
use crate::errors::of_object;
use crate::form_policy::FormPolicy;
use crate::gateway::Gateway;
use crate::names::{made_version, object_name, request_key};
use crate::notification::cause;
use crate::tagging::Tags;
use crate::{description, lifecycle, object_lock, refusals};

/// The most bytes of one put, or of one part, as AWS documents it.
pub(crate) const MAX_PUT: u64 = 5 << 30;

/// The length of the content of a request. Of content that travels in chunks of HTTP only the header of its own says it: so
/// SDKs send what is encrypted.
///
/// # Errors
/// If it is too long, or not said.
pub(crate) fn length(headers: &HeaderMap, announced: Option<i64>) -> S3Result<u64> {
    let decoded = headers.get("x-amz-decoded-content-length");
    let decoded = decoded.and_then(|text| text.to_str().ok()?.parse().ok());
    let length = announced.and_then(|length| u64::try_from(length).ok()).or(decoded);
    let missing =
        || s3_error!(MissingContentLength, "You must provide the Content-Length HTTP header.");
    match length.ok_or_else(missing)? {
        length if length > MAX_PUT => {
            Err(s3_error!(EntityTooLarge, "Your proposed upload exceeds the maximum allowed size"))
        }
        length => Ok(length),
    }
}

/// Content on its way.
pub(crate) struct Content {
    pub(crate) pieces: Pin<Box<dyn Stream<Item = Result<Bytes, StdError>> + Send>>,
    /// How long it is, if that is known.
    pub(crate) length: Option<u64>,
    /// What the policy of a form says of its length.
    pub(crate) policy: Option<FormPolicy>,
}

/// What is said of an object that is stored.
pub(crate) struct Said<'a> {
    pub(crate) headers: &'a HeaderMap,
    pub(crate) metadata: Option<&'a Metadata>,
    /// Tags, where headers do not say them.
    pub(crate) tags: Option<Tags>,
    pub(crate) announced: Announced,
    pub(crate) wanted: Wanted,
    pub(crate) encryption: Asked,
    pub(crate) cause: Cause,
}

/// What was stored.
pub(crate) struct Stored {
    pub(crate) object: Object,
    pub(crate) version: Option<String>,
    pub(crate) bucket: FoundBucket,
}

impl Gateway {
    /// Stores content under a key.
    pub(crate) async fn store(
        &self,
        (bucket, key): (&str, &str),
        request: RequestKey,
        said: Said<'_>,
        content: Content,
    ) -> S3Result<Stored> {
        let Said { headers, metadata, tags, announced, wanted, encryption, cause } = said;
        refusals::check(headers)?;
        let name = object_name(key)?;
        let mut object = description::of_headers(headers, metadata)?;
        object.tags.extend(tags.into_iter().flatten());
        let lock = object_lock::Wanted::of(headers)?;
        let bucket = self.believed(bucket).await?;
        let bucket = match lock.is_any() && bucket.bucket.settings.lock.is_none() {
            // It may have it by now.
            true => self.bucket(bucket.name.as_str()).await?,
            false => bucket,
        };
        lock.put(&mut object, &bucket.bucket)?;
        let condition = self.condition(&wanted, (&bucket, &name), request).await?;
        let incoming = announced.incoming(content.length);
        let (pieces, sums) = announced.pass(content.pieces, content.length);
        let policy = content.policy;
        let seal = move |object: &mut Object| {
            if let Some(policy) = &policy {
                policy.check_length(object.size)?;
            }
            sums(object)
        };
        let (seal, encrypt): (Seal, _) = (Box::new(seal), encryption.encrypt());
        let seal = Some(seal);
        let put = PutObject { key: request, condition, object, seal, encrypt, cause };
        let stored = self.objects.put((&bucket, &name), put, incoming, pieces).await;
        let StoredObject { version, object, versioning } =
            stored.map_err(|error| wanted.told(error))?;
        Ok(Stored { object, version: made_version(versioning, version), bucket })
    }
}

pub(crate) async fn put(
    gateway: &Gateway,
    mut request: S3Request<PutObjectInput>,
) -> S3Result<S3Response<PutObjectOutput>> {
    let key = request_key(&request)?;
    let length = length(&request.headers, request.input.content_length)?;
    let announced = Announced::of(&request.headers, request.trailing_headers.as_ref(), None)?;
    let pieces = stream::iter(request.input.body.take()).flatten();
    let content = Content { pieces: Box::pin(pieces), length: Some(length), policy: None };
    let wanted = Wanted {
        if_match: request.input.if_match.take(),
        if_none_match: request.input.if_none_match.take(),
    };
    let metadata = request.input.metadata.as_ref();
    let peer = request.extensions.get().copied();
    let encryption = gateway.encryption(&request.headers, peer)?;
    let customer = encryption.customer.clone();
    let headers = &request.headers;
    let cause = cause(&request, EventKind::CreatedPut);
    let said = Said { headers, metadata, tags: None, announced, wanted, encryption, cause };
    let place = (&request.input.bucket[..], &request.input.key[..]);
    let Stored { object, version, bucket } = gateway.store(place, key, said, content).await?;
    let mut output = PutObjectOutput::default();
    output.e_tag = Some(ETag::Strong(etag(&object)));
    output.checksum_type = show!(output, shown(&object));
    output.version_id = version;
    show_encryption!(output, &object, customer.as_ref());
    output.expiration =
        lifecycle::told(&bucket.bucket, place.1, &object, gateway.objects.lifecycle_day());
    Ok(S3Response::new(output))
}

impl Wanted {
    /// What came in between: a name that was to be there, and is gone, is missing.
    pub(crate) fn told(&self, error: slotcast_node::ObjectError) -> s3s::S3Error {
        match error {
            slotcast_node::ObjectError::Condition(None) if self.if_match.is_some() => {
                crate::errors::no_such_key()
            }
            error => of_object(error),
        }
    }
}
