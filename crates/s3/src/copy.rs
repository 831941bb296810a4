//! CopyObject: another name for the same content.

use s3s::dto::{CopyObjectInput, CopyObjectOutput, CopyObjectResult, CopySource};
use s3s::{S3Request, S3Response, S3Result, s3_error};
use slotcast_node::{CopyFrom, Encryption, PutObject, StoredObject, now_ms};
use slotcast_object::Object;
use slotcast_object::notification::EventKind;

use crate::checksums::{show, shown};
use crate::conditions::{Reading, Wanted, header, reading_source};
use crate::encryption::show_encryption;
use crate::gateway::Gateway;
use crate::get::{Found, tag_and_time};
use crate::names::{made_version, object_name, request_key};
use crate::notification::cause;
use crate::put::MAX_PUT;
use crate::{description, lifecycle, object_lock, refusals};

impl Gateway {
    /// What is to be copied.
    pub(crate) async fn source(&self, source: &CopySource, reading: &Reading) -> S3Result<Found> {
        let CopySource::Bucket { bucket, key, version_id } = source else {
            return Err(s3_error!(NotImplemented, "Access points are not implemented yet"));
        };
        let found = self.find(bucket, key, version_id.as_deref()).await;
        let found = found.map_err(|error| match error.code() {
            s3s::S3ErrorCode::MethodNotAllowed => s3_error!(
                InvalidRequest,
                "The source of a copy request may not specifically refer to a delete marker by version id."
            ),
            _ => error,
        })?;
        reading.check_source(&found.object)?;
        Ok(found)
    }
}

/// The object that a copy is to be.
fn object(request: &S3Request<CopyObjectInput>, found: &Found) -> S3Result<Object> {
    let input = &request.input;
    let given = description::of_headers(&request.headers, input.metadata.as_ref())?;
    let is_replace = |directive: Option<&str>| match directive {
        None | Some("COPY") => Ok(false),
        Some("REPLACE") => Ok(true),
        Some(_) => Err(s3_error!(InvalidArgument, "Unknown metadata or tagging directive.")),
    };
    let is_described = is_replace(input.metadata_directive.as_ref().map(|one| one.as_str()))?;
    let is_tagged = is_replace(input.tagging_directive.as_ref().map(|one| one.as_str()))?;
    let mut object =
        Object { modified: now_ms(), retention: None, legal_hold: false, ..found.object.clone() };
    if is_described {
        (object.media_type, object.metadata) = (given.media_type, given.metadata);
        Encryption::carry(&found.object, &mut object);
    } else {
        (object.media_type, object.metadata) = description::copied(&found.object);
        let own = given.metadata.into_iter().filter(|(key, _)| key.starts_with(":x-amz-"));
        object.metadata.extend(own);
    }
    if is_tagged {
        object.tags = given.tags;
    }
    Ok(object)
}

pub(crate) async fn copy(
    gateway: &Gateway,
    request: S3Request<CopyObjectInput>,
) -> S3Result<S3Response<CopyObjectOutput>> {
    refusals::check(&request.headers)?;
    let input = &request.input;
    let (name, key) = (object_name(&input.key)?, request_key(&request)?);
    let reading = reading_source!(input);
    let found = gateway.source(&input.copy_source, &reading).await?;
    let encryption = gateway.encryption(&request.headers, request.extensions.get().copied())?;
    let source_key = gateway.key_of_source(&request, &found.object)?;
    if found.object.size > MAX_PUT {
        return Err(s3_error!(
            InvalidRequest,
            "The specified copy source is larger than the maximum allowable size for a copy source: 5368709120"
        ));
    }
    let mut object = object(&request, &found)?;
    let bucket = gateway.bucket(&input.bucket).await?;
    object_lock::Wanted::of(&request.headers)?.put(&mut object, &bucket.bucket)?;
    let is_itself = bucket.bucket.id == found.bucket.bucket.id && name == found.name;
    if is_itself
        && object.metadata == found.object.metadata
        && object.tags == found.object.tags
        && object.media_type == found.object.media_type
        && input.metadata_directive.is_none()
        && !encryption.is_any()
        && matches!(&input.copy_source, CopySource::Bucket { version_id: None, .. })
    {
        return Err(s3_error!(
            InvalidRequest,
            "This copy request is illegal because it is trying to copy an object to itself without changing the object's metadata, storage class, website redirect location or encryption attributes."
        ));
    }
    // `s3s` does not read the conditions on what the copy replaces.
    let wanted = Wanted {
        if_match: header(&request.headers, "if-match")?,
        if_none_match: header(&request.headers, "if-none-match")?,
    };
    let condition = gateway.condition(&wanted, (&bucket, &name), key).await?;
    let customer = source_key.map(|customer| customer.key);
    let from = CopyFrom { bucket: &found.bucket, object: &found.object, customer };
    let (encrypt, cause) = (encryption.encrypt(), cause(&request, EventKind::CreatedCopy));
    let put = PutObject { key, condition, object, seal: None, encrypt, cause };
    let copied = gateway.objects.copy((&bucket, &name), (from, put)).await;
    let StoredObject { version, object, .. } = copied.map_err(|error| wanted.told(error))?;
    let (e_tag, last_modified) = tag_and_time(&object);
    let mut result = CopyObjectResult::default();
    result.e_tag = Some(e_tag);
    result.last_modified = Some(last_modified);
    result.checksum_type = show!(result, shown(&object));
    let mut output = CopyObjectOutput::default();
    output.copy_object_result = Some(result);
    show_encryption!(output, &object, encryption.customer.as_ref());
    output.copy_source_version_id = found.version_id();
    output.version_id = made_version(bucket.bucket.versioning, version);
    let day = gateway.objects.lifecycle_day();
    output.expiration = lifecycle::told(&bucket.bucket, name.as_str(), &object, day);
    Ok(S3Response::new(output))
}
