//! Tags of objects and of buckets.

use std::collections::BTreeMap;

use s3s::dto::{
    DeleteBucketTaggingInput, DeleteBucketTaggingOutput, DeleteObjectTaggingInput,
    DeleteObjectTaggingOutput, GetBucketTaggingInput, GetBucketTaggingOutput,
    GetObjectTaggingInput, GetObjectTaggingOutput, PutBucketTaggingInput, PutBucketTaggingOutput,
    PutObjectTaggingInput, PutObjectTaggingOutput, Tag, Tagging,
};
use s3s::{S3Request, S3Response, S3Result, s3_error};
use slotcast_node::{Cause, Change};
use slotcast_object::notification::EventKind;
use slotcast_object::{Condition, Object, RequestKey};

use crate::errors::{self, custom};
use crate::gateway::Gateway;
use crate::names::{bucket_name, request_key};
use crate::notification::cause;

/// Tags by their keys.
pub(crate) type Tags = BTreeMap<String, String>;

/// The most tags of an object, and of a bucket, as AWS documents it.
const MAX_OF_OBJECT: usize = 10;
const MAX_OF_BUCKET: usize = 50;

/// The most letters of a key, and of a value.
const MAX_KEY: usize = 128;
const MAX_VALUE: usize = 256;

fn checked(pairs: Vec<(String, String)>, max: usize, what: &str) -> S3Result<Tags> {
    if pairs.len() > max {
        let message = format!("{what} tags cannot be greater than {max}");
        return Err(custom("BadRequest", 400, message));
    }
    let mut tags = Tags::new();
    for (key, value) in pairs {
        if key.is_empty() || key.chars().count() > MAX_KEY {
            return Err(s3_error!(InvalidTag, "The TagKey you have provided is invalid"));
        }
        if value.chars().count() > MAX_VALUE {
            return Err(s3_error!(InvalidTag, "The TagValue you have provided is invalid"));
        }
        if tags.insert(key, value).is_some() {
            return Err(s3_error!(InvalidTag, "Cannot provide multiple Tags with the same key"));
        }
    }
    Ok(tags)
}

/// The tags of an object that are written as a query.
pub(crate) fn of_query(text: &str) -> S3Result<Tags> {
    let wrong = |_| {
        s3_error!(
            InvalidArgument,
            "The header 'x-amz-tagging' shall be encoded as UTF-8 then URLEncoded URL query parameters without tag name duplicates."
        )
    };
    checked(serde_urlencoded::from_str(text).map_err(wrong)?, MAX_OF_OBJECT, "Object")
}

fn of_set(tagging: Tagging, max: usize, what: &str) -> S3Result<Tags> {
    let pair = |tag: Tag| (tag.key.unwrap_or_default(), tag.value.unwrap_or_default());
    checked(tagging.tag_set.into_iter().map(pair).collect(), max, what)
}

/// The tags of an object that are written so.
pub(crate) fn of_object(tagging: Tagging) -> S3Result<Tags> {
    of_set(tagging, MAX_OF_OBJECT, "Object")
}

fn set_of(tags: &Tags) -> Vec<Tag> {
    let tag = |(key, value): (&String, &String)| {
        let mut tag = Tag::default();
        (tag.key, tag.value) = (Some(key.clone()), Some(value.clone()));
        tag
    };
    tags.iter().map(tag).collect()
}

impl Gateway {
    /// Gives a version these tags in place of others; gives its id.
    async fn tag(
        &self,
        (bucket, key): (&str, &str),
        version: Option<&str>,
        (request, cause): (RequestKey, Cause),
        tags: &Tags,
    ) -> S3Result<Option<String>> {
        let found = self.find(bucket, key, version).await?;
        let change = |object: &mut Object| object.tags.clone_from(tags);
        let place = (&found.bucket, &found.name);
        let always = (Change::new(request, Condition::Always), Some(cause));
        let amended = self.objects.amend(place, Some(found.version.id), always, change).await;
        amended.map_err(errors::of_object)?;
        Ok(found.version_id())
    }
}

pub(crate) async fn get(
    gateway: &Gateway,
    request: S3Request<GetObjectTaggingInput>,
) -> S3Result<S3Response<GetObjectTaggingOutput>> {
    let GetObjectTaggingInput { bucket, key, version_id, .. } = &request.input;
    let found = gateway.find(bucket, key, version_id.as_deref()).await?;
    let mut output = GetObjectTaggingOutput::default();
    output.tag_set = set_of(&found.object.tags);
    output.version_id = found.version_id();
    Ok(S3Response::new(output))
}

pub(crate) async fn put(
    gateway: &Gateway,
    request: S3Request<PutObjectTaggingInput>,
) -> S3Result<S3Response<PutObjectTaggingOutput>> {
    let how = (request_key(&request)?, cause(&request, EventKind::TaggingPut));
    let PutObjectTaggingInput { bucket, key, version_id, tagging, .. } = request.input;
    let tags = of_set(tagging, MAX_OF_OBJECT, "Object")?;
    let mut output = PutObjectTaggingOutput::default();
    let place = (&bucket[..], &key[..]);
    output.version_id = gateway.tag(place, version_id.as_deref(), how, &tags).await?;
    Ok(S3Response::new(output))
}

pub(crate) async fn delete(
    gateway: &Gateway,
    request: S3Request<DeleteObjectTaggingInput>,
) -> S3Result<S3Response<DeleteObjectTaggingOutput>> {
    let how = (request_key(&request)?, cause(&request, EventKind::TaggingDelete));
    let DeleteObjectTaggingInput { bucket, key, version_id, .. } = request.input;
    let mut output = DeleteObjectTaggingOutput::default();
    let place = (&bucket[..], &key[..]);
    output.version_id = gateway.tag(place, version_id.as_deref(), how, &Tags::new()).await?;
    Ok(S3Response::new(output))
}

pub(crate) async fn get_of_bucket(
    gateway: &Gateway,
    request: S3Request<GetBucketTaggingInput>,
) -> S3Result<S3Response<GetBucketTaggingOutput>> {
    let found = gateway.bucket(&request.input.bucket).await?;
    if found.bucket.tags.is_empty() {
        return Err(s3_error!(NoSuchTagSet, "The TagSet does not exist"));
    }
    let mut output = GetBucketTaggingOutput::default();
    output.tag_set = set_of(&found.bucket.tags);
    Ok(S3Response::new(output))
}

impl Gateway {
    async fn tag_bucket(&self, bucket: &str, request: RequestKey, tags: &Tags) -> S3Result<()> {
        let name = bucket_name(bucket)?;
        let changed = self.objects.amend_bucket(&name, request, |bucket| {
            bucket.tags.clone_from(tags);
        });
        changed.await.map_err(errors::of_object).map(drop)
    }
}

pub(crate) async fn put_of_bucket(
    gateway: &Gateway,
    request: S3Request<PutBucketTaggingInput>,
) -> S3Result<S3Response<PutBucketTaggingOutput>> {
    let request_key = request_key(&request)?;
    let PutBucketTaggingInput { bucket, tagging, .. } = request.input;
    let tags = of_set(tagging, MAX_OF_BUCKET, "Bucket")?;
    gateway.tag_bucket(&bucket, request_key, &tags).await?;
    let status = axum::http::StatusCode::NO_CONTENT;
    Ok(S3Response::with_status(PutBucketTaggingOutput::default(), status))
}

pub(crate) async fn delete_of_bucket(
    gateway: &Gateway,
    request: S3Request<DeleteBucketTaggingInput>,
) -> S3Result<S3Response<DeleteBucketTaggingOutput>> {
    let request_key = request_key(&request)?;
    gateway.tag_bucket(&request.input.bucket, request_key, &Tags::new()).await?;
    let status = axum::http::StatusCode::NO_CONTENT;
    Ok(S3Response::with_status(DeleteBucketTaggingOutput::default(), status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_have_the_bounds_of_aws() {
        let said = |text: &str| match of_query(text) {
            Ok(tags) => format!("{tags:?}"),
            Err(error) => error.code().as_str().to_owned(),
        };
        assert_eq!(said("a=1&b="), r#"{"a": "1", "b": ""}"#);
        assert_eq!(said("a%20b=1%2B2"), r#"{"a b": "1+2"}"#);
        assert_eq!(said("a=1&a=2"), "InvalidTag");
        assert_eq!(said("=1"), "InvalidTag");
        assert_eq!(said(&format!("{}=1", "k".repeat(129))), "InvalidTag");
        assert_eq!(said(&format!("k={}", "v".repeat(257))), "InvalidTag");
        let many: Vec<String> = (0..11).map(|n| format!("k{n}=v")).collect();
        assert_eq!(said(&many.join("&")), "BadRequest");
        assert!(said(&many[1..].join("&")).starts_with('{'));
    }
}
