//! Buckets over HTTP.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use slotcast_object::{BucketId, From, ListRequest, MAX_PAGE};

use super::{name, request_key};
use crate::http::{App, Keys, NoKeys, Problem, possible_replicas};
use crate::objects;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BucketQuery {
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

pub(super) async fn list_buckets(
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
