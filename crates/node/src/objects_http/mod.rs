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

mod buckets;
mod content;
mod listing;

use axum::Router;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::routing::get;
use slotcast_object::{Condition, Name, NameFailure, RequestKey};

pub use self::buckets::{BucketAnswer, BucketsAnswer};
pub use self::content::DeleteAnswer;
pub use self::listing::{NamesAnswer, ObjectAnswer};
use crate::http::{App, Problem};
use crate::objects::{self, ObjectError, version_of};

/// The header of a request that is the same in each retry.
const REQUEST_KEY: &str = "idempotency-key";

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/v2/", get(buckets::list_buckets))
        .route("/v2/{bucket}", get(listing::list_names).put(buckets::make_bucket))
        .route(
            "/v2/{bucket}/{*name}",
            get(content::get_object)
                .head(content::head_object)
                .put(content::put_object)
                .delete(content::delete_object),
        )
}

impl std::convert::From<ObjectError> for Problem {
    fn from(error: ObjectError) -> Problem {
        let status = match error {
            ObjectError::Content(error) => return error.into(),
            ObjectError::NoName(_) => StatusCode::BAD_REQUEST,
            ObjectError::NoBucket(_) | ObjectError::NoObject(_) => StatusCode::NOT_FOUND,
            ObjectError::BucketExists(_) | ObjectError::TooManyVersions => StatusCode::CONFLICT,
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
