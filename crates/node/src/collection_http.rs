//! The collection of garbage over HTTP.

use axum::extract::State;
use axum::http::StatusCode;
use axum::{Json, Router, routing};
use serde::{Deserialize, Serialize};
use slotcast_member::{CollectionEnd, CollectionStatus};

use crate::content_stream::ContentError;
use crate::http::{App, Problem};
use crate::node::Node;

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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
    fn from(CollectionEnd { round, swept }: CollectionEnd) -> LastRound {
        let all = swept.unwrap_or_default();
        LastRound {
            round,
            given_up: swept.is_none(),
            removed_replicas: all.removed,
            removed_bytes: all.bytes,
            some_sat_out: all.sits_out,
        }
    }
}

async fn answer(node: &Node) -> Result<Json<CollectionAnswer>, Problem> {
    let status = node.collection().await.map_err(|_| ContentError::Stopped)?;
    let none = || {
        let message = "this node keeps no names, and so has no garbage".to_string();
        Problem(StatusCode::NOT_FOUND, message)
    };
    status.map(|status| Json(status.into())).ok_or_else(none)
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
