//! Buckets and objects over HTTP.
//!
//! | request | answer |
//! |---|---|
//! | `GET /v2/` | the buckets; with `?bucket=BUCKET` that one |
//! | `PUT /v2/BUCKET?replicas=3&versions=on` | makes a bucket |
//! | `PATCH /v2/BUCKET` | `{"versions": "on"}` or `"off"`: what is kept of earlier versions |
//! | `DELETE /v2/BUCKET` | removes it, if it is empty |
//! | `GET /v2/BUCKET?prefix=a/&delimiter=/&after=a/b&limit=100&versions=true` | names in the order of their bytes |
//! | `PUT /v2/BUCKET/NAME` | stores the body under a name; If-None-Match: `*`, If-Match: `*` or a version |
//! | `PUT /v2/BUCKET/NAME?from=BUCKET/NAME&from_version=VERSION` | the same content under a further name |
//! | `GET`, `HEAD /v2/BUCKET/NAME?version=VERSION` | the latest version or this one; Range, If-Range and If-None-Match are heeded |
//! | `GET /v2/BUCKET/NAME?describe=true` | all that is known of it, as JSON |
//! | `PATCH /v2/BUCKET/NAME?version=VERSION` | `{"tags": {"a": "1", "b": null}}`: changes tags in place |
//! | `DELETE /v2/BUCKET/NAME?version=VERSION` | deletes it, or this version; If-Match: `*` or a version |
//!
//! The entity tag of an object or a bucket is its version. A change with an `Idempotency-Key` of 32 hexadecimal digits
//! takes effect once, however often it is sent.

mod buckets;
mod content;
mod description;
mod digests;
mod listing;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::routing::get;
use serde::de::DeserializeOwned;
use slotcast_object::{Condition, Name, NameFailure, RequestKey, VersionId};

pub use self::buckets::{BucketAnswer, BucketsAnswer};
pub use self::content::{DeleteAnswer, StoredAnswer};
pub use self::description::ObjectDescription;
pub(crate) use self::description::TAGS;
pub use self::listing::{NamesAnswer, ObjectAnswer};
use crate::http::{App, Problem};
use crate::objects::{self, ObjectError, text_of, version_of};

/// The header of a request that is the same in each retry.
const REQUEST_KEY: &str = "idempotency-key";

/// The most bytes of a change that is said in JSON.
const MAX_PATCH: usize = 64 << 10;

pub(crate) fn routes() -> Router<App> {
    let of_bucket = get(listing::list_names)
        .put(buckets::make_bucket)
        .patch(buckets::patch_bucket)
        .delete(buckets::remove_bucket);
    let of_object = get(content::get_object)
        .head(content::head_object)
        .put(content::put_object)
        .patch(content::patch_object)
        .delete(content::delete_object);
    Router::new()
        .route("/v2/", get(buckets::list_buckets))
        .route("/v2/{bucket}", of_bucket)
        .route("/v2/{bucket}/{*name}", of_object)
}

impl std::convert::From<ObjectError> for Problem {
    fn from(error: ObjectError) -> Problem {
        let status = match error {
            ObjectError::Content(error) => return error.into(),
            ObjectError::NoName(_) | ObjectError::Metadata(_) | ObjectError::Refused(_) => {
                StatusCode::BAD_REQUEST
            }
            ObjectError::NoBucket(_)
            | ObjectError::Removed(_)
            | ObjectError::NoObject(_)
            | ObjectError::Deleted(..)
            | ObjectError::NoVersion(..)
            | ObjectError::NoUpload(..)
            | ObjectError::Marker(..) => StatusCode::NOT_FOUND,
            ObjectError::BucketExists(_)
            | ObjectError::NotEmpty(..)
            | ObjectError::InUse(_)
            | ObjectError::LockedBucket(_)
            | ObjectError::TooManyVersions => StatusCode::CONFLICT,
            ObjectError::Locked => StatusCode::FORBIDDEN,
            ObjectError::Condition(_) | ObjectError::BucketChanged(..) => {
                StatusCode::PRECONDITION_FAILED
            }
            ObjectError::Names(
                NameFailure::Unavailable
                | NameFailure::Unknown
                | NameFailure::Missing
                | NameFailure::Overtaken,
            ) => StatusCode::SERVICE_UNAVAILABLE,
            ObjectError::OtherKind(_) => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Problem(status, error.to_string())
    }
}

/// The version that a query names.
fn version(text: Option<&str>) -> Result<Option<VersionId>, Problem> {
    let Some(text) = text else { return Ok(None) };
    let wrong = || bad_request(format!("`{text}` is no version: those are as 7-00f3a2c41d5e6b78"));
    version_of(text).map(Some).ok_or_else(wrong)
}

/// The entity tag of a version.
fn tag_text(version: VersionId) -> String {
    format!("\"{}\"", text_of(version))
}

fn tag(version: VersionId) -> HeaderValue {
    HeaderValue::try_from(tag_text(version)).expect("it is ASCII")
}

/// A change that is said in JSON.
async fn patch<T: DeserializeOwned>(body: Body) -> Result<T, Problem> {
    let bytes = axum::body::to_bytes(body, MAX_PATCH).await;
    let bytes = bytes.map_err(|error| bad_request(format!("the change broke off: {error}")))?;
    serde_json::from_slice(&bytes).map_err(|error| bad_request(format!("the change: {error}")))
}

/// What must hold for a change in place: that the name stands for a version, or nothing.
fn condition_of_amendment(headers: &HeaderMap) -> Result<Condition, Problem> {
    match condition(headers)? {
        Condition::Absent => Err(bad_request("what is absent cannot be changed")),
        // What is not there is not found.
        Condition::Present => Ok(Condition::Always),
        condition => Ok(condition),
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
