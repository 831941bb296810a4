//! The collection of garbage over HTTP.

use axum::extract::State;
use axum::http::StatusCode;
use axum::{Json, Router, routing};
use serde::{Deserialize, Serialize};
use slotcast_member::{CollectionEnd, CollectionStatus};
use slotcast_object::garbage::LostList;
use slotcast_object::{Address, BucketId};

use crate::content_stream::ContentError;
use crate::http::{App, Problem};
use crate::node::Node;
use crate::objects;

/// How the collection of garbage stands, as one node knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectionAnswer {
    /// The latest round that has begun; 0 before the first.
    pub round: u64,
    /// What this node does, if it conducts a round: `opening`, `proposing`, `beginning`, `marking` or `sweeping`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
    /// Nodes that have not answered it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub awaited_nodes: Vec<u32>,
    /// Replicas removed from its targets since it started.
    pub removed_replicas: u64,
    /// Bytes of their content.
    pub removed_bytes: u64,
    /// Uploads of many chunks under way at this node.
    pub uploads: u64,
    /// How the last round ended that this node conducted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<LastRound>,
}

/// How a round ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastRound {
    /// Which.
    pub round: u64,
    /// It was given up, since somebody did not answer, or others began to vote: nothing was removed.
    pub given_up: bool,
    /// Replicas removed by all nodes.
    pub removed_replicas: u64,
    /// Bytes of their content.
    pub removed_bytes: u64,
    /// Some node removed nothing: it was started anew, and does not know yet what was put before.
    pub some_sat_out: bool,
    /// The list of the chunks of an object that could not be had, if that is why it was given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<LostListAnswer>,
}

/// A list of chunks that cannot be had. While it is named no garbage is removed, since nobody knows what it lists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostListAnswer {
    /// Its address.
    pub list: String,
    /// The bucket of an object that names it; none if it is a part of an upload, or its bucket was removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bucket: Option<String>,
    /// The number of that bucket, as the log has it.
    pub bucket_number: u64,
    /// The object; of a part of an upload its number.
    pub object: String,
    /// It is an upload under way, and no object.
    #[serde(default)]
    pub upload: bool,
}

impl From<CollectionStatus> for CollectionAnswer {
    fn from(status: CollectionStatus) -> CollectionAnswer {
        CollectionAnswer {
            round: status.round,
            stage: status.stage.map(str::to_string),
            awaited_nodes: status.awaited,
            removed_replicas: status.removed_chunks,
            removed_bytes: status.removed_bytes,
            uploads: status.uploads,
            last: status.last.map(LastRound::from),
        }
    }
}

impl From<CollectionEnd> for LastRound {
    fn from(CollectionEnd { round, swept, lost }: CollectionEnd) -> LastRound {
        let all = swept.unwrap_or_default();
        let lost = lost.map(|LostList { list, key }| LostListAnswer {
            list: Address::List(list).to_string(),
            bucket: None,
            bucket_number: key.slot.bucket.0,
            object: key.name.to_string(),
            upload: false,
        });
        LastRound {
            round,
            given_up: swept.is_none(),
            removed_replicas: all.removed,
            removed_bytes: all.bytes,
            some_sat_out: all.sits_out,
            lost,
        }
    }
}

async fn answer(node: &Node) -> Result<Json<CollectionAnswer>, Problem> {
    let status = node.collection().await.map_err(|_| ContentError::Stopped)?;
    let none = || {
        let message = "this node keeps no names, and so has no garbage".to_string();
        Problem(StatusCode::NOT_FOUND, message)
    };
    let mut answer: CollectionAnswer = status.ok_or_else(none)?.into();
    if let Some(lost) = answer.last.as_mut().and_then(|last| last.lost.as_mut()) {
        let id = BucketId(lost.bucket_number);
        // That garbage stands still is to be seen also while too few voters answer.
        if let Ok(Some(found)) = objects::bucket_of(node, id).await {
            lost.upload = found.bucket.id != id;
            lost.bucket = Some(found.name.to_string());
        }
    }
    Ok(Json(answer))
}

async fn get(State(App { node, .. }): State<App>) -> Result<Json<CollectionAnswer>, Problem> {
    answer(&node).await
}

async fn begin(State(App { node, .. }): State<App>) -> Result<Json<CollectionAnswer>, Problem> {
    node.collect();
    answer(&node).await
}

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/v1/collection", routing::get(get).post(begin))
}
