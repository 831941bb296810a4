//! Buckets over HTTP.

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use slotcast_object::{Bucket, Condition, From, MAX_PAGE, Versioning};

use super::content::DeleteAnswer;
use super::{bad_request, condition, name, request_key, tag};
use crate::http::{App, Keys, NoKeys, Problem, possible_replicas};
use crate::objects::{self, FoundBucket, NewBucket, text_of};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BucketQuery {
    replicas: Option<u64>,
    versions: Option<Keeps>,
}

/// Whether a bucket keeps versions from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Keeps {
    On,
    Off,
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
    /// What it keeps of earlier versions: `on`, `off`, or `suspended` where it kept them once.
    pub versions: String,
    /// The version of all this, as in `ETag`.
    pub version: String,
}

impl BucketAnswer {
    fn of(found: &FoundBucket) -> BucketAnswer {
        let Bucket { created, replicas, versioning, .. } = found.bucket;
        let versions = match versioning {
            Versioning::Off => "off",
            Versioning::On => "on",
            Versioning::Suspended => "suspended",
        };
        let (bucket, version) = (found.name.to_string(), text_of(found.version));
        BucketAnswer { bucket, created, replicas, versions: versions.into(), version }
    }
}

pub(super) async fn make_bucket(
    State(App { node, .. }): State<App>,
    Keys(query): Keys<BucketQuery>,
    Path(bucket): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let replicas = match query.replicas {
        Some(replicas) => Some(possible_replicas(&node, replicas).await?),
        None => None,
    };
    let versioning = match query.versions {
        Some(Keeps::On) => Versioning::On,
        Some(Keeps::Off) | None => Versioning::Off,
    };
    let (name, key) = (name(bucket)?, request_key(&headers)?);
    let wanted = NewBucket { replicas, ..NewBucket::from(versioning) };
    let made = objects::make_bucket(&node, &name, key, wanted).await?;
    let tag = [(header::ETAG, tag(made.version))];
    Ok((StatusCode::CREATED, tag, Json(BucketAnswer::of(&made))).into_response())
}

/// A change of a bucket.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BucketPatch {
    versions: Keeps,
}

pub(super) async fn patch_bucket(
    State(App { node, .. }): State<App>,
    Keys(NoKeys {}): Keys<NoKeys>,
    Path(bucket): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let (name, key) = (name(bucket)?, request_key(&headers)?);
    let version = match super::condition_of_amendment(&headers)? {
        Condition::Is(version) => Some(version),
        _ => None,
    };
    let patch: BucketPatch = super::patch(body).await?;
    let keeps = patch.versions == Keeps::On;
    let found = objects::set_versioning(&node, &name, key, version, keeps).await?;
    let tag = [(header::ETAG, tag(found.version))];
    Ok((tag, Json(BucketAnswer::of(&found))).into_response())
}

pub(super) async fn remove_bucket(
    State(App { node, .. }): State<App>,
    Keys(NoKeys {}): Keys<NoKeys>,
    Path(bucket): Path<String>,
    headers: HeaderMap,
) -> Result<Json<DeleteAnswer>, Problem> {
    let (name, key) = (name(bucket)?, request_key(&headers)?);
    if condition(&headers)? != Condition::Always {
        return Err(bad_request("a bucket is removed if it is empty: there is no other condition"));
    }
    objects::remove_bucket(&node, &name, key).await?;
    Ok(Json(DeleteAnswer { deleted: true, marker: None }))
}

/// The buckets, for programs.
#[derive(Debug, Serialize, Deserialize)]
pub struct BucketsAnswer {
    /// In the order of their names.
    pub buckets: Vec<BucketAnswer>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BucketsQuery {
    /// Only this one.
    bucket: Option<String>,
}

pub(super) async fn list_buckets(
    State(App { node, .. }): State<App>,
    Keys(query): Keys<BucketsQuery>,
) -> Result<Json<BucketsAnswer>, Problem> {
    if let Some(bucket) = query.bucket {
        let found = objects::bucket(&node, &name(bucket)?).await?;
        return Ok(Json(BucketsAnswer { buckets: vec![BucketAnswer::of(&found)] }));
    }
    let (mut buckets, mut from) = (Vec::new(), Some(From::Start));
    while let Some(begin) = from {
        let (found, next) = objects::buckets(&node, "", begin, MAX_PAGE).await?;
        buckets.extend(found.iter().map(BucketAnswer::of));
        from = next;
    }
    Ok(Json(BucketsAnswer { buckets }))
}
