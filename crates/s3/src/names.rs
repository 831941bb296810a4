//! Buckets, keys, versions and times as S3 writes them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::http::HeaderMap;
use s3s::dto::Timestamp;
use s3s::{S3Error, S3Request, S3Result, s3_error};
use slotcast_node::{new_key, text_of, version_of};
use slotcast_object::{Entry, Name, RequestKey, Version, VersionId, Versioning};

use crate::errors::of_object;

/// The id of the version that was made while a bucket kept none.
pub(crate) const NULL: &str = "null";

/// The name of a bucket that requests ask for.
pub(crate) fn bucket_name(text: &str) -> S3Result<Name> {
    Name::new(text).map_err(|_| s3_error!(InvalidBucketName, "The specified bucket is not valid."))
}

/// Why something is no name of a bucket that S3 clients can use.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is no name of a bucket for S3: 3 to 63 small letters, digits, - and . are needed")]
pub struct NoBucketName(String);

/// The name of a bucket that is to be made.
///
/// # Errors
/// If S3 clients could not use it.
pub fn bucket_for_s3(text: &str) -> Result<Name, NoBucketName> {
    let wrong = || NoBucketName(text.to_owned());
    let name = Some(text).filter(|text| s3s::path::check_bucket_name(text)).ok_or_else(wrong)?;
    Name::new(name).map_err(|_| wrong())
}

/// The key of an object.
pub(crate) fn object_name(text: &str) -> S3Result<Name> {
    match text.len() {
        1025.. => Err(s3_error!(KeyTooLongError, "Your key is too long")),
        _ => Name::new(text)
            .map_err(|error| s3_error!(InvalidArgument, "The key cannot be used: {error}")),
    }
}

/// Which version a request means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    /// The latest.
    Latest,
    /// The one that was made while the bucket kept none.
    Null,
    /// This one.
    Is(VersionId),
}

impl Which {
    /// What `text` says.
    pub(crate) fn read(text: Option<&str>) -> S3Result<Which> {
        match text {
            None => Ok(Which::Latest),
            Some(NULL) => Ok(Which::Null),
            Some(text) => version_of(text)
                .map(Which::Is)
                .ok_or_else(|| s3_error!(InvalidArgument, "Invalid version id specified")),
        }
    }

    /// Whether a version is it; `is_first` of the latest.
    pub(crate) fn is<O>(self, version: &Version<O>, is_first: bool) -> bool {
        match self {
            Which::Latest => is_first,
            Which::Null => version.is_null,
            Which::Is(id) => version.id == id,
        }
    }
}

/// The id of a version.
pub(crate) fn version_text(version: &Version<Entry>) -> String {
    if version.is_null { NULL.into() } else { text_of(version.id) }
}

/// The id of a version that was just made, where the bucket keeps any.
pub(crate) fn made_version(versioning: Versioning, version: VersionId) -> Option<String> {
    match versioning {
        Versioning::Off => None,
        Versioning::On => Some(text_of(version)),
        Versioning::Suspended => Some(NULL.into()),
    }
}

/// The last second that is written with a year of four digits, in milliseconds after 1970.
const LAST: u64 = 253_402_300_799_000;

/// A time that is so many milliseconds after 1970, or the last that can be written.
pub(crate) fn time_of(ms: u64) -> Timestamp {
    let ms = Duration::from_millis(ms.min(LAST));
    SystemTime::checked_add(&UNIX_EPOCH, ms).unwrap_or(UNIX_EPOCH).into()
}

/// The same in whole seconds, as in headers.
pub(crate) fn second_of(ms: u64) -> Timestamp {
    time_of(ms - ms % 1000)
}

/// Seconds since 1970.
pub(crate) fn seconds(time: &Timestamp) -> i64 {
    let mut text = Vec::new();
    let _ = time.format(s3s::dto::TimestampFormat::EpochSeconds, &mut text);
    let text = String::from_utf8(text).unwrap_or_default();
    text.split('.').next().and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// Milliseconds since 1970; none of what is before that.
pub(crate) fn milliseconds(time: &Timestamp) -> u64 {
    let mut text = Vec::new();
    let _ = time.format(s3s::dto::TimestampFormat::EpochSeconds, &mut text);
    let text = String::from_utf8(text).unwrap_or_default();
    let (whole, part) = text.split_once('.').unwrap_or((&text, ""));
    let part: u64 = format!("{part:0<3}")[..3].parse().unwrap_or(0);
    whole.parse::<u64>().unwrap_or(0).saturating_mul(1000).saturating_add(part)
}

/// The same for each retry of one call of a client, and another one for each other request.
pub(crate) fn request_key<T>(request: &S3Request<T>) -> S3Result<RequestKey> {
    key_of(&request.headers, &request.credentials, (request.method.as_str(), &request.uri))
}

fn key_of(
    headers: &HeaderMap,
    credentials: &Option<s3s::auth::Credentials>,
    (method, uri): (&str, &axum::http::Uri),
) -> S3Result<RequestKey> {
    let invocation = headers.get("amz-sdk-invocation-id").filter(|id| id.len() >= 32);
    let Some(invocation) = invocation else { return new_key().map_err(of_object) };
    let mut hasher = blake3::Hasher::new();
    let access = credentials.as_ref().map_or("", |credentials| &credentials.access_key);
    let length = headers.get("content-length").map_or(&[][..], |length| length.as_bytes());
    let path = uri.path_and_query().map_or("", |path| path.as_str());
    for part in
        [invocation.as_bytes(), access.as_bytes(), method.as_bytes(), length, path.as_bytes()]
    {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
    }
    let hash = hasher.finalize();
    let half = hash.as_bytes().first_chunk::<16>();
    half.map(|bytes| RequestKey(u128::from_be_bytes(*bytes)))
        .ok_or_else(|| S3Error::new(s3s::S3ErrorCode::InternalError))
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderValue, Uri};

    use super::*;

    #[test]
    fn a_retry_has_the_key_of_the_first_attempt() {
        let key = |id: &'static str, attempt: &'static str, uri: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert("amz-sdk-invocation-id", HeaderValue::from_static(id));
            headers.insert("amz-sdk-request", HeaderValue::from_static(attempt));
            let key = key_of(&headers, &None, ("PUT", &Uri::from_static(uri)));
            key.expect("a key").0
        };
        let (one, other) =
            ("0b9e4d4c-8a2f-4c5e-9d4e-0a6a3f6f0e11", "7c1f2f0e-1111-4c5e-9d4e-0a6a3f6f0e11");
        assert_eq!(key(one, "attempt=1", "/b/k"), key(one, "attempt=2; max=3", "/b/k"));
        assert_ne!(key(one, "attempt=1", "/b/k"), key(other, "attempt=1", "/b/k"));
        assert_ne!(key(one, "attempt=1", "/b/k"), key(one, "attempt=1", "/b/l"));
        // What is no id tells no two calls apart.
        assert_ne!(key("x", "attempt=1", "/b/k"), key("x", "attempt=1", "/b/k"));
    }

    #[test]
    fn times_are_read_as_they_are_written() {
        assert_eq!(seconds(&time_of(1_700_000_000_999)), 1_700_000_000);
        assert_eq!(seconds(&second_of(1_700_000_000_999)), 1_700_000_000);
        for ms in [0, 1, 50, 1_700_000_000_000, 1_700_000_000_999] {
            assert_eq!(milliseconds(&time_of(ms)), ms);
        }
    }
}
