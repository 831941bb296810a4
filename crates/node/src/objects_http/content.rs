//! Objects over HTTP: put, get, delete.

use axum::Json;
use axum::body::{Body, HttpBody};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use slotcast_object::{Body as ObjectBody, Object};

use super::listing::ObjectAnswer;
use super::{condition, name, request_key};
use crate::address::Address;
use crate::content_read::Found;
use crate::content_stream::{ContentError, Plan};
use crate::http::{App, CHUNK_SIZE, Keys, NoKeys, Problem, answer_get, why_not_stored};
use crate::objects::{self, FoundObject, ObjectError, PutObject, text_of};

pub(super) async fn put_object(
    State(App { node, memory, serving, .. }): State<App>,
    Keys(NoKeys {}): Keys<NoKeys>,
    Path((bucket, object_name)): Path<(String, String)>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let (bucket_name, name) = (name(bucket)?, name(object_name)?);
    let (key, condition) = (request_key(&headers)?, condition(&headers)?);
    let media_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let object = Object {
        modified: objects::now_ms(),
        media_type: media_type.map(str::to_owned),
        ..Object::default()
    };
    let bucket = objects::bucket(&node, &bucket_name).await?;
    let plan = Plan {
        chunk_size: CHUNK_SIZE,
        replicas: None,
        length: body.size_hint().exact(),
        max_length: serving.body_size,
        timeout: serving.body_timeout,
    };
    let modified = object.modified;
    let put = PutObject { key, condition, object };
    let content = body.into_data_stream();
    let stored = objects::put(&node, &memory, (&bucket, &name), put, plan, content).await;
    let (version, size) = match stored {
        Ok(stored) => stored,
        Err(ObjectError::Content(
            error @ (ContentError::TooFewReplicas(_) | ContentError::TooFewAvailable(_)),
        )) => {
            let Problem(status, message) = error.into();
            return Err(Problem(status, message + &why_not_stored(&node).await));
        }
        Err(error) => return Err(error.into()),
    };
    let version = text_of(version);
    let tag = HeaderValue::try_from(format!("\"{version}\"")).expect("it is ASCII");
    let answer = ObjectAnswer { name: name.to_string(), version, size, modified };
    Ok(([(header::ETAG, tag)], Json(answer)).into_response())
}

/// What is said of an object beside its content.
fn describe(found: &FoundObject) -> (String, HeaderValue) {
    let media_type = found.object.media_type.as_deref().map(HeaderValue::try_from);
    let octets = HeaderValue::from_static("application/octet-stream");
    let media_type = media_type.and_then(Result::ok).unwrap_or(octets);
    (format!("\"{}\"", text_of(found.version)), media_type)
}

pub(super) async fn get_object(
    State(App { node, memory, .. }): State<App>,
    Keys(NoKeys {}): Keys<NoKeys>,
    Path((bucket, object_name)): Path<(String, String)>,
    asked: HeaderMap,
) -> Result<Response, Problem> {
    let bucket = objects::bucket(&node, &name(bucket)?).await?;
    let found = objects::find(&node, &bucket, &name(object_name)?).await?;
    let (tag, media_type) = describe(&found);
    let at = async |address| Found::at(&node, &memory, address).await;
    let content = match found.object.body {
        ObjectBody::Inline(bytes) => {
            let lease = memory.take(bytes.len() as u64).await.map_err(ContentError::from)?;
            Found::Chunk(bytes, lease)
        }
        ObjectBody::Chunk(chunk) => at(Address::Chunk(chunk)).await?,
        ObjectBody::List(chunk) => at(Address::List(chunk)).await?,
    };
    answer_get((node, &memory), content, (&tag, media_type), &asked).await
}

pub(super) async fn head_object(
    State(App { node, .. }): State<App>,
    Keys(NoKeys {}): Keys<NoKeys>,
    Path((bucket, object_name)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let bucket = objects::bucket(&node, &name(bucket)?).await?;
    let found = objects::find(&node, &bucket, &name(object_name)?).await?;
    let (tag, media_type) = describe(&found);
    let tag = HeaderValue::try_from(tag).expect("it is ASCII");
    let headers = [
        (header::ETAG, tag),
        (header::CONTENT_TYPE, media_type),
        (header::CONTENT_LENGTH, found.object.size.into()),
        (header::ACCEPT_RANGES, HeaderValue::from_static("bytes")),
    ];
    Ok((headers, Body::empty()).into_response())
}

/// What became of a deletion, for programs.
#[derive(Debug, Serialize, Deserialize)]
pub struct DeleteAnswer {
    /// Whether there was something to delete.
    pub deleted: bool,
}

pub(super) async fn delete_object(
    State(App { node, .. }): State<App>,
    Keys(NoKeys {}): Keys<NoKeys>,
    Path((bucket, object_name)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Json<DeleteAnswer>, Problem> {
    let (key, condition) = (request_key(&headers)?, condition(&headers)?);
    let bucket = objects::bucket(&node, &name(bucket)?).await?;
    let outcome = objects::delete(&node, &bucket, &name(object_name)?, (key, condition)).await?;
    let deleted = matches!(outcome, slotcast_object::Outcome::Deleted(_));
    Ok(Json(DeleteAnswer { deleted }))
}
