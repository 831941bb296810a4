//! PutObject.

use axum::http::HeaderMap;
use s3s::dto::{ETag, PutObjectInput, PutObjectOutput};
use s3s::{S3Request, S3Response, S3Result, s3_error};
use slotcast_node::{PutObject, StoredObject};

use crate::checksums::{Announced, etag, show, shown};
use crate::conditions::Wanted;
use crate::errors::of_object;
use crate::gateway::Gateway;
use crate::names::{made_version, object_name, request_key};
use crate::{description, refusals};

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

pub(crate) async fn put(
    gateway: &Gateway,
    mut request: S3Request<PutObjectInput>,
) -> S3Result<S3Response<PutObjectOutput>> {
    refusals::check(&request.headers)?;
    let name = object_name(&request.input.key)?;
    let key = request_key(&request)?;
    let length = length(&request.headers, request.input.content_length)?;
    let object = description::of_headers(&request.headers, request.input.metadata.as_ref())?;
    let announced = Announced::of(&request, None)?;
    let content = request.input.body.take();
    let wanted = Wanted {
        if_match: request.input.if_match.take(),
        if_none_match: request.input.if_none_match.take(),
    };
    let bucket = gateway.believed(&request.input.bucket).await?;
    let condition = gateway.condition(&wanted, (&bucket, &name), key).await?;
    let incoming = announced.incoming(length);
    let (content, seal) = announced.pass(content, length);
    let put = PutObject { key, condition, object, seal: Some(seal) };
    let stored = gateway.objects.put((&bucket, &name), put, incoming, content).await;
    let stored = stored.map_err(|error| wanted.told(error))?;
    let StoredObject { version, object, versioning } = stored;
    let mut output = PutObjectOutput::default();
    output.e_tag = Some(ETag::Strong(etag(&object)));
    output.checksum_type = show!(output, shown(&object));
    output.version_id = made_version(versioning, version);
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
