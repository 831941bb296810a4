//! Objects over HTTP: put, copy, get, delete, and what is said of them.

use std::collections::BTreeMap;

use axum::Json;
use axum::body::{Body, HttpBody};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use slotcast_object::notification::EventKind;
use slotcast_object::{Object, Outcome};
use slotcast_protocol::Claim;

use super::description::{self, ObjectDescription};
use super::digests::{self, Announced};
use super::{bad_request, condition, name, request_key, version};
use crate::content_read::Found;
use crate::content_stream::{ContentError, Plan};
use crate::encryption::{self, Encrypt, Encryption};
use crate::http::{App, CHUNK_SIZE, Keys, Problem, answer_get, found_body, why_not_stored};
use crate::objects::{self, Change, CopyObject, FoundBucket, ObjectError, PutObject, text_of};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PutQuery {
    /// The bucket and the name that are copied.
    from: Option<String>,
    /// The version of it.
    from_version: Option<String>,
}

/// What a put or a copy has stored, for programs.
#[derive(Debug, Serialize, Deserialize)]
pub struct StoredAnswer {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Bytes of content.
    pub size: u64,
    /// When it was put, in milliseconds since 1970.
    pub modified: u64,
    /// The address of its content, which is a hash of it.
    pub content: String,
    /// How it is encrypted, if it is: then the address is that of what is stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encryption: Option<String>,
    /// The version that was copied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_version: Option<String>,
}

pub(super) async fn put_object(
    State(app): State<App>,
    Keys(query): Keys<PutQuery>,
    Path((bucket, object_name)): Path<(String, String)>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let App { node, memory, serving, .. } = &app;
    let (bucket_name, object_name) = (name(bucket)?, name(object_name)?);
    let (key, condition) = (request_key(&headers)?, condition(&headers)?);
    let plan = Plan {
        chunk_size: CHUNK_SIZE,
        replicas: None,
        claim: Claim::Names,
        length: body.size_hint().exact(),
        buffered: 0,
        max_length: serving.body_size,
        timeout: serving.body_timeout,
    };
    let stored = if let Some(from) = query.from {
        let (from, source) = from.split_once('/').unwrap_or((&from, ""));
        let (from, source) = (name(from.to_owned())?, name(source.to_owned())?);
        let from_version = version(query.from_version.as_deref())?;
        if plan.length != Some(0) {
            return Err(bad_request("a copy has no content of its own"));
        }
        if description::has_any(&headers) || digests::has_any(&headers) {
            return Err(bad_request("what is said of a copy is what is said of its source"));
        }
        let from = objects::bucket(node, &from).await?;
        let bucket = objects::bucket(node, &bucket_name).await?;
        let source = (&from, &source, from_version);
        let copy = CopyObject { key, condition, source, plan };
        let copied = objects::copy(node, memory, (&bucket, &object_name), copy).await;
        copied.map(|(stored, copied)| (stored.version, stored.object, Some(copied.version)))
    } else {
        if query.from_version.is_some() {
            return Err(bad_request("from_version needs from"));
        }
        let object = Object { modified: objects::now_ms(), ..description::of_headers(&headers)? };
        let announced = Announced::of(&headers)?;
        let bucket = objects::believed(node, &bucket_name).await?;
        let (content, seal) = announced.pass(body.into_data_stream());
        let (encrypt, cause) = (Encrypt::AsBucket, EventKind::CreatedPut.into());
        let put = PutObject { key, condition, object, seal, encrypt, cause };
        let put = objects::put(node, memory, (&bucket, &object_name), put, plan, content).await;
        put.map(|stored| (stored.version, stored.object, None))
    };
    let (version, object, from_version) = match stored {
        Ok(stored) => stored,
        Err(ObjectError::Content(
            error @ (ContentError::TooFewReplicas(_) | ContentError::TooFewAvailable(_)),
        )) => {
            let Problem(status, message) = error.into();
            return Err(Problem(status, message + &why_not_stored(node).await));
        }
        Err(error) => return Err(error.into()),
    };
    let answer = StoredAnswer {
        name: object_name.to_string(),
        version: text_of(version),
        size: object.size,
        modified: object.modified,
        content: description::address(&object).to_string(),
        encryption: description::encryption(&object),
        from_version: from_version.map(text_of),
    };
    let tag = super::tag(version);
    let mut response = ([(header::ETAG, tag)], Json(answer)).into_response();
    response.headers_mut().extend(digests::header(&object).map(|value| (digests::NAME, value)));
    Ok(response)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GetQuery {
    /// This one, and not the latest.
    version: Option<String>,
    /// What is known of it as JSON, and not its content.
    #[serde(default)]
    describe: bool,
}

pub(super) async fn get_object(
    State(App { node, memory, .. }): State<App>,
    Keys(query): Keys<GetQuery>,
    Path((bucket, object_name)): Path<(String, String)>,
    asked: HeaderMap,
) -> Result<Response, Problem> {
    let version = version(query.version.as_deref())?;
    let (bucket, name) = (name(bucket)?, name(object_name)?);
    let bucket = objects::believed(&node, &bucket).await?;
    let (here, named) = (&*node, &name);
    let find =
        |bucket: FoundBucket| async move { objects::find(here, &bucket, named, version).await };
    let (found, bucket) = objects::within(&node, &bucket, find).await?;
    if query.describe {
        let replicas = bucket.bucket.replicas;
        return Ok(Json(ObjectDescription::of(name.to_string(), found, replicas)).into_response());
    }
    let said = description::headers(&found);
    let object = &found.object;
    let tag = super::tag_text(found.version);
    let about = (&tag[..], (object.size, description::media_type(object)));
    let mut response = if Encryption::of(object).is_some() {
        let read = async |range| {
            let content = encryption::read((&node, &memory), object, None, range).await?;
            Ok(Body::from_stream(content))
        };
        answer_get(about, &asked, read).await?
    } else {
        let content = Found::of(&node, &memory, &object.body).await?;
        let about = (&tag[..], (content.length(), about.1.1));
        answer_get(about, &asked, |range| found_body((node, &memory), content, range)).await?
    };
    response.headers_mut().extend(said);
    Ok(response)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct VersionQuery {
    version: Option<String>,
}

pub(super) async fn head_object(
    State(App { node, .. }): State<App>,
    Keys(query): Keys<VersionQuery>,
    Path((bucket, object_name)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let version = version(query.version.as_deref())?;
    let (bucket, name) = (name(bucket)?, name(object_name)?);
    let bucket = objects::believed(&node, &bucket).await?;
    let (here, named) = (&*node, &name);
    let find =
        |bucket: FoundBucket| async move { objects::find(here, &bucket, named, version).await };
    let (found, _) = objects::within(&node, &bucket, find).await?;
    let mut headers = description::headers(&found);
    headers.insert(header::CONTENT_TYPE, description::media_type(&found.object));
    headers.insert(header::CONTENT_LENGTH, found.object.size.into());
    headers.insert(header::ACCEPT_RANGES, axum::http::HeaderValue::from_static("bytes"));
    Ok((headers, Body::empty()).into_response())
}

/// What became of a deletion, for programs.
#[derive(Debug, Serialize, Deserialize)]
pub struct DeleteAnswer {
    /// Whether there was something to delete.
    pub deleted: bool,
    /// The marker that says so, where the bucket keeps versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub marker: Option<String>,
}

pub(super) async fn delete_object(
    State(App { node, .. }): State<App>,
    Keys(query): Keys<VersionQuery>,
    Path((bucket, object_name)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Json<DeleteAnswer>, Problem> {
    let version = version(query.version.as_deref())?;
    let change = Change::new(request_key(&headers)?, condition(&headers)?);
    let change = (change, EventKind::RemovedDelete.into());
    let bucket = objects::bucket(&node, &name(bucket)?).await?;
    let name = name(object_name)?;
    let (deleted, marker) = match objects::delete(&node, (&bucket, &name), version, change).await? {
        Outcome::Deleted(marker) => (true, marker),
        _ => (false, None),
    };
    Ok(Json(DeleteAnswer { deleted, marker: marker.map(text_of) }))
}

/// A change of what is said of an object, as JSON merge patch (RFC 7396): what is null is taken away.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ObjectPatch {
    #[serde(default, deserialize_with = "given")]
    tags: Option<Option<BTreeMap<String, Option<String>>>>,
}

/// A field that is there, be it null.
fn given<'de, T: Deserialize<'de>, D: serde::Deserializer<'de>>(
    d: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(d).map(Some)
}

pub(super) async fn patch_object(
    State(App { node, .. }): State<App>,
    Keys(query): Keys<VersionQuery>,
    Path((bucket, object_name)): Path<(String, String)>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let version = version(query.version.as_deref())?;
    let (key, condition) = (request_key(&headers)?, super::condition_of_amendment(&headers)?);
    let (bucket, name) = (name(bucket)?, name(object_name)?);
    let patch: ObjectPatch = super::patch(body).await?;
    if patch.tags.iter().flatten().any(|tags| tags.contains_key("")) {
        return Err(bad_request("a tag has a name"));
    }
    let bucket = objects::bucket(&node, &bucket).await?;
    let change = |object: &mut Object| match &patch.tags {
        None => {}
        Some(None) => object.tags.clear(),
        Some(Some(tags)) => {
            for (key, value) in tags {
                match value {
                    Some(value) => drop(object.tags.insert(key.clone(), value.clone())),
                    None => drop(object.tags.remove(key)),
                }
            }
        }
    };
    let cause = patch.tags.as_ref().map(|tags| match tags {
        Some(_) => EventKind::TaggingPut.into(),
        None => EventKind::TaggingDelete.into(),
    });
    let when = (Change::new(key, condition), cause);
    let found = objects::amend(&node, (&bucket, &name), version, when, change).await?;
    let tag = super::tag(found.version);
    let replicas = bucket.bucket.replicas;
    let answer = ObjectDescription::of(name.to_string(), found, replicas);
    Ok(([(header::ETAG, tag)], Json(answer)).into_response())
}
