//! Buckets and objects over HTTP.
//!
//! | request | answer |
//! |---|---|
//! | `GET /v2/` | the buckets |
//! | `PUT /v2/BUCKET?replicas=3` | makes a bucket |
//! | `GET /v2/BUCKET?prefix=a/&delimiter=/&after=a/b&limit=100` | names in the order of their bytes |
//! | `PUT /v2/BUCKET/NAME` | stores the body under a name; If-None-Match: `*`, If-Match: `*` or a version |
//! | `GET`, `HEAD /v2/BUCKET/NAME` | the latest version; Range, If-Range and If-None-Match are heeded |
//! | `DELETE /v2/BUCKET/NAME` | deletes it; If-Match: `*` or a version |
//!
//! The entity tag of an object is its version. A change with an `Idempotency-Key` of 32 hexadecimal digits takes effect
//! once, however often it is sent.

use axum::Json;
use axum::Router;
use axum::body::{Body, HttpBody};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde::{Deserialize, Serialize};
use slotcast_object::{
    Body as ObjectBody, BucketId, Condition, From, ListRequest, MAX_PAGE, Name, NameFailure,
    Object, RequestKey,
};

use crate::address::Address;
use crate::content_read::Found;
use crate::content_stream::{ContentError, Plan};
use crate::http::{
    App, CHUNK_SIZE, Keys, NoKeys, Problem, answer_get, possible_replicas, why_not_stored,
};
use crate::objects::{self, FoundObject, ObjectError, PutObject, text_of, version_of};

/// The header of a request that is the same in each retry.
const REQUEST_KEY: &str = "idempotency-key";

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/v2/", get(list_buckets))
        .route("/v2/{bucket}", get(list_names).put(make_bucket))
        .route(
            "/v2/{bucket}/{*name}",
            get(get_object).head(head_object).put(put_object).delete(delete_object),
        )
}

impl std::convert::From<ObjectError> for Problem {
    fn from(error: ObjectError) -> Problem {
        let status = match error {
            ObjectError::Content(error) => return error.into(),
            ObjectError::NoName(_) => StatusCode::BAD_REQUEST,
            ObjectError::NoBucket(_) | ObjectError::NoObject(_) => StatusCode::NOT_FOUND,
            ObjectError::BucketExists(_) => StatusCode::CONFLICT,
            ObjectError::Condition(_) => StatusCode::PRECONDITION_FAILED,
            ObjectError::Names(NameFailure::Unavailable | NameFailure::Unknown) => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            ObjectError::OtherKind(_) => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Problem(status, error.to_string())
    }
}

fn name(text: String) -> Result<Name, Problem> {
    Name::new(text).map_err(|error| ObjectError::NoName(error).into())
}

fn bad_request(message: impl Into<String>) -> Problem {
    Problem(StatusCode::BAD_REQUEST, message.into())
}

/// The key of a request: the client's, or one that no other has.
fn request_key(headers: &HeaderMap) -> Result<RequestKey, Problem> {
    let Some(value) = headers.get(REQUEST_KEY) else { return Ok(objects::new_key()?) };
    let text = value.to_str().ok().filter(|text| text.len() == 32);
    let number = text.and_then(|text| u128::from_str_radix(text, 16).ok());
    let wrong = || bad_request("Idempotency-Key is 32 hexadecimal digits, drawn at random");
    number.map(RequestKey).ok_or_else(wrong)
}

/// What must hold for a change: If-None-Match and If-Match.
fn condition(headers: &HeaderMap) -> Result<Condition, Problem> {
    let text = |name| headers.get(name).map(|value: &HeaderValue| value.to_str().unwrap_or(""));
    match (text(header::IF_NONE_MATCH), text(header::IF_MATCH)) {
        (None, None) => Ok(Condition::Always),
        (Some("*"), None) => Ok(Condition::Absent),
        (None, Some("*")) => Ok(Condition::Present),
        (None, Some(tag)) => {
            let version = tag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"'));
            let version = version.and_then(version_of);
            let wrong =
                || bad_request(format!("If-Match: {tag} is neither * nor a version in quotes"));
            version.map(Condition::Is).ok_or_else(wrong)
        }
        (Some(_), None) => {
            Err(bad_request("If-None-Match of a change is *: nothing else is known here"))
        }
        (Some(_), Some(_)) => Err(bad_request("If-None-Match and If-Match exclude each other")),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BucketQuery {
    replicas: Option<u64>,
}

/// A bucket, for programs.
#[derive(Debug, Serialize, Deserialize)]
pub struct BucketAnswer {
    /// Its name.
    pub bucket: String,
    /// When it was made, in milliseconds since 1970.
    pub created: u64,
    /// Replicas of its chunks, if that is not the number of the cluster.
    pub replicas: Option<u8>,
}

async fn make_bucket(
    State(App { node, .. }): State<App>,
    Keys(query): Keys<BucketQuery>,
    Path(bucket): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let replicas = match query.replicas {
        Some(replicas) => Some(possible_replicas(&node, replicas).await?),
        None => None,
    };
    let (name, key) = (name(bucket)?, request_key(&headers)?);
    let made = objects::make_bucket(&node, &name, key, replicas).await?;
    let answer = BucketAnswer { bucket: name.to_string(), created: made.created, replicas };
    Ok((StatusCode::CREATED, Json(answer)).into_response())
}

/// The buckets, for programs.
#[derive(Debug, Serialize, Deserialize)]
pub struct BucketsAnswer {
    /// In the order of their names.
    pub buckets: Vec<BucketAnswer>,
}

async fn list_buckets(
    State(App { node, .. }): State<App>,
    Keys(NoKeys {}): Keys<NoKeys>,
) -> Result<Json<BucketsAnswer>, Problem> {
    let (mut buckets, mut from) = (Vec::new(), Some(From::Start));
    while let Some(begin) = from {
        let request = ListRequest {
            bucket: BucketId::ROOT,
            slots: 1,
            prefix: String::new(),
            delimiter: None,
            from: begin,
            limit: MAX_PAGE,
            versions: false,
        };
        let listed = objects::list(&node, request).await?;
        for listed in listed.names {
            let entry = listed.versions.first().and_then(|version| version.object.as_ref());
            if let Some(bucket) = entry.and_then(|entry| entry.bucket()) {
                buckets.push(BucketAnswer {
                    bucket: listed.name.to_string(),
                    created: bucket.created,
                    replicas: bucket.replicas,
                });
            }
        }
        from = listed.next;
    }
    Ok(Json(BucketsAnswer { buckets }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListQuery {
    #[serde(default)]
    prefix: String,
    delimiter: Option<String>,
    /// Names after this one.
    after: Option<String>,
    /// Where an answer before said that it goes on.
    from: Option<String>,
    limit: Option<u32>,
}

/// Names of a bucket, for programs.
#[derive(Debug, Serialize, Deserialize)]
pub struct NamesAnswer {
    /// Objects, in the order of their names.
    pub objects: Vec<ObjectAnswer>,
    /// What several names have in common, up to the delimiter.
    pub prefixes: Vec<String>,
    /// What to give as `from` for the names that follow; none if there are no more.
    pub next: Option<String>,
}

/// An object, for programs.
#[derive(Debug, Serialize, Deserialize)]
pub struct ObjectAnswer {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Bytes of content.
    pub size: u64,
    /// When it was put, in milliseconds since 1970.
    pub modified: u64,
}

/// Where a listing goes on, as clients give it back: `a` and a name, or `t` and a text.
fn token_of(from: From) -> Option<String> {
    match from {
        From::Start => None,
        From::After(name) => Some(format!("a{name}")),
        From::At(text) => Some(format!("t{text}")),
    }
}

fn begin(query: &ListQuery) -> Result<From, Problem> {
    match (&query.after, &query.from) {
        (None, None) => Ok(From::Start),
        (Some(after), None) if after.is_empty() => Ok(From::Start),
        (Some(after), None) => Ok(From::After(name(after.clone())?)),
        (None, Some(from)) => match from.split_at_checked(1) {
            Some(("a", after)) => Ok(From::After(name(after.into())?)),
            Some(("t", text)) => Ok(From::At(text.into())),
            _ => Err(bad_request("from is what an answer before has as next")),
        },
        (Some(_), Some(_)) => Err(bad_request("after and from exclude each other")),
    }
}

async fn list_names(
    State(App { node, .. }): State<App>,
    Keys(query): Keys<ListQuery>,
    Path(bucket): Path<String>,
) -> Result<Json<NamesAnswer>, Problem> {
    let from = begin(&query)?;
    let limit = query.limit.unwrap_or(MAX_PAGE);
    if !(1..=MAX_PAGE).contains(&limit) {
        return Err(bad_request(format!("limit is from 1 to {MAX_PAGE}, not {limit}")));
    }
    let bucket = objects::bucket(&node, &name(bucket)?).await?;
    let request = ListRequest {
        bucket: bucket.id,
        slots: bucket.slots,
        prefix: query.prefix,
        delimiter: query.delimiter,
        from,
        limit,
        versions: false,
    };
    let listed = objects::list(&node, request).await?;
    let objects = listed.names.into_iter().filter_map(|listed| {
        let version = listed.versions.first()?;
        let object = version.object.as_ref()?.object()?;
        Some(ObjectAnswer {
            name: listed.name.to_string(),
            version: text_of(version.id),
            size: object.size,
            modified: object.modified,
        })
    });
    let (objects, next) = (objects.collect(), listed.next.and_then(token_of));
    Ok(Json(NamesAnswer { objects, prefixes: listed.prefixes, next }))
}

async fn put_object(
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

async fn get_object(
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

async fn head_object(
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

async fn delete_object(
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
