//! Objects as they are read: GetObject, HeadObject.

use std::ops::Range;

use axum::http::header::LAST_MODIFIED;
use axum::http::{HeaderMap, HeaderValue};
use s3s::dto::{
    ETag, GetObjectInput, GetObjectOutput, HeadObjectInput, HeadObjectOutput, PartNumber,
    StreamingBlob,
};
use s3s::{S3Error, S3Request, S3Response, S3Result, s3_error};
use slotcast_node::FoundBucket;
use slotcast_object::{Entry, Name, Object, Version, Versioning};

use crate::checksums::{show, shown};
use crate::conditions::reading;
use crate::description::describe;
use crate::encryption::show_encryption;
use crate::errors::{custom, no_such_key, of_content, of_object};
use crate::gateway::Gateway;
use crate::names::{Which, object_name, second_of, version_text};
use crate::object_lock::show_lock;
use crate::{lifecycle, refusals};

/// A version of an object, and where it is.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) bucket: FoundBucket,
    pub(crate) name: Name,
    pub(crate) version: Version<Entry>,
    pub(crate) object: Object,
    pub(crate) is_latest: bool,
}

impl Found {
    /// Its id, where the bucket has ever kept versions.
    pub(crate) fn version_id(&self) -> Option<String> {
        match self.bucket.bucket.versioning {
            Versioning::Off => None,
            Versioning::On | Versioning::Suspended => Some(version_text(&self.version)),
        }
    }
}

/// What is said of a marker of deletion.
fn marker(error: S3Error, version: &Version<Entry>) -> S3Error {
    let mut error = error;
    let mut headers = HeaderMap::new();
    headers.insert("x-amz-delete-marker", HeaderValue::from_static("true"));
    if let Ok(value) = HeaderValue::try_from(version_text(version)) {
        headers.insert("x-amz-version-id", value);
    }
    if let Some(at) = version.deleted_at {
        let mut text = Vec::new();
        let _ = second_of(at).format(s3s::dto::TimestampFormat::HttpDate, &mut text);
        headers.extend(HeaderValue::from_bytes(&text).map(|value| (LAST_MODIFIED, value)));
    }
    headers.insert("content-type", HeaderValue::from_static("application/xml"));
    error.set_headers(headers);
    error
}

impl Gateway {
    /// An object: the latest version, or the one of this id.
    pub(crate) async fn find(
        &self,
        bucket: &str,
        key: &str,
        version: Option<&str>,
    ) -> S3Result<Found> {
        let (name, which) = (object_name(key)?, Which::read(version)?);
        let bucket = self.believed(bucket).await?;
        let (record, bucket) = self.objects.record(&bucket, &name).await.map_err(of_object)?;
        let versions = record.map(|record| record.versions).unwrap_or_default();
        let mut all = versions.into_iter().enumerate();
        let found = all.find(|(place, version)| which.is(version, *place == 0));
        let Some((place, version)) = found else {
            return Err(match which {
                Which::Latest => no_such_key(),
                Which::Null | Which::Is(_) => {
                    s3_error!(NoSuchVersion, "The specified version does not exist.")
                }
            });
        };
        let Some(entry) = &version.object else {
            let error = match which {
                Which::Latest => no_such_key(),
                Which::Null | Which::Is(_) => s3_error!(
                    MethodNotAllowed,
                    "The specified method is not allowed against this resource."
                ),
            };
            return Err(marker(error, &version));
        };
        let object = entry.object().cloned().ok_or_else(no_such_key)?;
        Ok(Found { bucket, name, version, object, is_latest: place == 0 })
    }

    /// When a version goes, if it is the latest and a rule says so.
    fn expiration(&self, found: &Found) -> Option<String> {
        let day = self.objects.lifecycle_day();
        let told =
            || lifecycle::told(&found.bucket.bucket, found.name.as_str(), &found.object, day);
        found.is_latest.then(told).flatten()
    }

    /// Which bytes of an object are wanted: all, a range, or a part; with the number of its parts where one is.
    async fn wanted(
        &self,
        object: &Object,
        range: Option<s3s::dto::Range>,
        part: Option<PartNumber>,
    ) -> S3Result<Wanted> {
        let all = 0..object.size;
        match (range, part) {
            (None, None) => Ok(Wanted { range: all, is_part: false, parts: None }),
            (Some(range), None) => match range.check(object.size) {
                Ok(range) => Ok(Wanted { range, is_part: true, parts: None }),
                Err(_) => Err(unsatisfiable(object.size)),
            },
            (Some(_), Some(_)) => Err(s3_error!(
                InvalidRequest,
                "Cannot specify both Range header and partNumber query parameter"
            )),
            (None, Some(number)) => {
                let sizes = self.objects.part_sizes(object).await;
                let sizes = sizes.map_err(|error| of_content(&error))?;
                let wrong = || {
                    custom("InvalidPartNumber", 416, "The requested partnumber is not satisfiable")
                };
                if number < 1 {
                    return Err(s3_error!(
                        InvalidArgument,
                        "Part number must be an integer between 1 and 10000, inclusive"
                    ));
                }
                let place = usize::try_from(number).map_err(|_| wrong())? - 1;
                if sizes.is_empty() {
                    // What was put in one piece is its own only part.
                    return match place {
                        0 => Ok(Wanted { range: all, is_part: object.size > 0, parts: None }),
                        _ => Err(wrong()),
                    };
                }
                let length = *sizes.get(place).ok_or_else(wrong)?;
                let begin: u64 = sizes[..place].iter().sum();
                let parts = i32::try_from(sizes.len()).ok();
                Ok(Wanted { range: begin..begin + length, is_part: length > 0, parts })
            }
        }
    }
}

/// What is wanted of an object.
struct Wanted {
    range: Range<u64>,
    /// The answer says which bytes these are.
    is_part: bool,
    parts: Option<i32>,
}

impl Wanted {
    fn content_range(&self, size: u64) -> Option<String> {
        let Range { start, end } = self.range;
        self.is_part.then(|| format!("bytes {start}-{}/{size}", end.saturating_sub(1)))
    }

    fn length(&self) -> Option<i64> {
        i64::try_from(self.range.end - self.range.start).ok()
    }
}

fn unsatisfiable(size: u64) -> S3Error {
    let mut error = s3_error!(InvalidRange, "The requested range is not satisfiable");
    let mut headers = HeaderMap::new();
    if let Ok(value) = HeaderValue::try_from(format!("bytes */{size}")) {
        headers.insert("content-range", value);
    }
    headers.insert("content-type", HeaderValue::from_static("application/xml"));
    error.set_headers(headers);
    error
}

/// Puts what is said of a found object, and of the bytes that are wanted, into an answer.
macro_rules! say {
    ($output:expr, $found:expr, $wanted:expr, $checksum_mode:expr, $customer:expr) => {{
        let object = &$found.object;
        describe!($output, object);
        $output.content_length = $wanted.length();
        $output.content_range = $wanted.content_range(object.size);
        $output.parts_count = $wanted.parts;
        $output.version_id = $found.version_id();
        show_lock!($output, object);
        show_encryption!($output, object, $customer);
        // Those that are known are of all of it.
        if $checksum_mode.is_some() && $wanted.length() == i64::try_from(object.size).ok() {
            $output.checksum_type = show!($output, shown(object));
        }
    }};
}

pub(crate) async fn get(
    gateway: &Gateway,
    request: S3Request<GetObjectInput>,
) -> S3Result<S3Response<GetObjectOutput>> {
    refusals::check(&request.headers)?;
    let GetObjectInput { bucket, key, version_id, range, part_number, checksum_mode, .. } =
        &request.input;
    let found = gateway.find(bucket, key, version_id.as_deref()).await?;
    let customer = gateway.key_to_read(&request, &found.object)?;
    reading!(request.input).check(&found.object)?;
    let wanted = gateway.wanted(&found.object, *range, *part_number).await?;
    let decrypt = customer.as_ref().map(|customer| &customer.key);
    let content = gateway.objects.read(&found.object, decrypt, wanted.range.clone()).await;
    let content = content.map_err(|error| of_content(&error))?;
    let mut output = GetObjectOutput::default();
    say!(output, found, wanted, checksum_mode, customer.as_ref());
    output.expiration = gateway.expiration(&found);
    output.tag_count = i32::try_from(found.object.tags.len()).ok().filter(|count| *count > 0);
    let body = axum::body::Body::from_stream(content);
    output.body = Some(StreamingBlob::from(s3s::Body::http_body_unsync(body)));
    Ok(S3Response::new(output))
}

pub(crate) async fn head(
    gateway: &Gateway,
    request: S3Request<HeadObjectInput>,
) -> S3Result<S3Response<HeadObjectOutput>> {
    refusals::check(&request.headers)?;
    let HeadObjectInput { bucket, key, version_id, range, part_number, checksum_mode, .. } =
        &request.input;
    let found = gateway.find(bucket, key, version_id.as_deref()).await?;
    let customer = gateway.key_to_read(&request, &found.object)?;
    reading!(request.input).check(&found.object)?;
    let wanted = gateway.wanted(&found.object, *range, *part_number).await?;
    let mut output = HeadObjectOutput::default();
    say!(output, found, wanted, checksum_mode, customer.as_ref());
    output.expiration = gateway.expiration(&found);
    let mut response = S3Response::new(output);
    response.headers = overridden(&request.input);
    if !found.object.tags.is_empty() {
        response.headers.insert("x-amz-tagging-count", found.object.tags.len().into());
    }
    if wanted.is_part {
        response.status = Some(axum::http::StatusCode::PARTIAL_CONTENT);
    }
    Ok(response)
}

/// Headers that the query of a request wants otherwise. (Of a get, `s3s` knows that.)
fn overridden(input: &HeadObjectInput) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("content-type", &input.response_content_type),
        ("content-language", &input.response_content_language),
        ("cache-control", &input.response_cache_control),
        ("content-disposition", &input.response_content_disposition),
        ("content-encoding", &input.response_content_encoding),
    ] {
        if let Some(Ok(value)) = value.as_deref().map(HeaderValue::try_from) {
            headers.insert(name, value);
        }
    }
    headers
}

/// The entity tag of an object, and when it was put.
pub(crate) fn tag_and_time(object: &Object) -> (ETag, s3s::dto::Timestamp) {
    (ETag::Strong(crate::checksums::etag(object)), second_of(object.modified))
}
