//! The cluster map over HTTP: what this node follows, and changes of it where it is in etcd.
//!
//! | request | answer |
//! |---|---|
//! | `GET /v1/map` | the map that this node follows |
//! | `POST /v1/map/nodes` | `{"address": "10.0.0.4:7481", "targets": 3}`: a further node joins |
//! | `PATCH /v1/map/nodes/N` | `{"state": "draining"}`, `"active"` or `"removed"`; the last if it is drained |

use std::net::SocketAddr;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::{get, patch, post};
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use slotcast_protocol::Membership;

use crate::cluster::change::{Changed, Refused};
use crate::cluster::{ChangeError, ClusterMap, FailureDomain, MapNode, MapSource};
use crate::content_stream::ContentError;
use crate::http::{App, Keys, NoKeys, Problem};
use crate::node::Node;

/// The most bytes of a change.
const MAX_CHANGE: usize = 4 << 10;

/// A cluster map, for programs.
#[derive(Debug, Serialize, Deserialize)]
pub struct MapAnswer {
    /// Where it is kept.
    pub source: String,
    /// Whether it can be changed here: it is in etcd, so that all nodes take the same change.
    pub can_change: bool,
    /// Its version.
    pub epoch: u32,
    /// Replicas of every chunk, where a bucket says nothing else.
    pub replicas: u8,
    /// What no two of them share: `node` or `target`.
    pub failure_domain: String,
    /// Number of its negotiating groups.
    pub groups: u32,
    /// Its nodes, in the order of their numbers.
    pub nodes: Vec<MapNodeAnswer>,
}

/// A node of a cluster map, for programs.
#[derive(Debug, Serialize, Deserialize)]
pub struct MapNodeAnswer {
    /// Its number.
    pub node: u32,
    /// Where the others reach it.
    pub address: String,
    /// `joining`, `active`, `draining` or `drained`.
    pub state: String,
    /// Numbers of its targets.
    pub targets: Vec<u32>,
}

impl From<&MapNode> for MapNodeAnswer {
    fn from(node: &MapNode) -> MapNodeAnswer {
        MapNodeAnswer {
            node: node.number,
            address: node.address.to_string(),
            state: node.state().into(),
            targets: node.targets.iter().map(|target| target.0).collect(),
        }
    }
}

impl MapAnswer {
    fn of(map: &ClusterMap, source: &MapSource) -> MapAnswer {
        MapAnswer {
            source: source.to_string(),
            can_change: matches!(source, MapSource::Etcd(_)),
            epoch: map.epoch,
            replicas: map.replicas,
            failure_domain: match map.failure_domain {
                FailureDomain::Node => "node".into(),
                FailureDomain::Target => "target".into(),
            },
            groups: map.groups().map_or(0, |groups| groups.groups()),
            nodes: map.nodes.iter().map(MapNodeAnswer::from).collect(),
        }
    }
}

impl From<ChangeError> for Problem {
    fn from(error: ChangeError) -> Problem {
        let status = match error {
            ChangeError::Refused(_) => StatusCode::CONFLICT,
            ChangeError::File(_) | ChangeError::Contended => StatusCode::SERVICE_UNAVAILABLE,
        };
        Problem(status, error.to_string())
    }
}

fn source_of(node: &Node) -> Result<MapSource, Problem> {
    let none = || {
        let message = "this node is a whole cluster in one process, and has no cluster map";
        Problem(StatusCode::NOT_FOUND, message.into())
    };
    node.map_source().cloned().ok_or_else(none)
}

async fn show(
    State(App { node, .. }): State<App>,
    Keys(NoKeys {}): Keys<NoKeys>,
) -> Result<Json<MapAnswer>, Problem> {
    let source = source_of(&node)?;
    let map = node.map().await.map_err(|_| ContentError::Stopped)?;
    let none = || Problem(StatusCode::NOT_FOUND, "this node follows no cluster map".into());
    map.map(|map| Json(MapAnswer::of(&map, &source))).ok_or_else(none)
}

/// Changes the map where it is kept. The nodes take it when they see it.
async fn changed<T: Default + Send + 'static>(
    node: &Node,
    by: impl Fn(&ClusterMap) -> Changed<(ClusterMap, T)> + Send + 'static,
) -> Result<(ClusterMap, T, MapSource), Problem> {
    let source = source_of(node)?;
    if let MapSource::File(path) = &source {
        let message = format!(
            "the map is the file {0}, which has to be the same on all hosts: change it with `slotcast cluster --map {0}`, \
             copy it to all of them, and send SIGHUP to their nodes",
            path.display()
        );
        return Err(Problem(StatusCode::CONFLICT, message));
    }
    let of = source.clone();
    // It waits for etcd.
    let change = tokio::task::spawn_blocking(move || of.change(|_| false, by)).await;
    let change = change.map_err(|_| Problem::from(ContentError::Stopped))?;
    let (map, more) = change?;
    Ok((map, more, source))
}

/// A node that is to join.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewNode {
    address: SocketAddr,
    targets: usize,
}

/// What a node is to be.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum NewState {
    Active,
    Draining,
    Removed,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NodePatch {
    state: NewState,
}

async fn read<T: serde::de::DeserializeOwned>(body: axum::body::Body) -> Result<T, Problem> {
    let wrong = |text: String| Problem(StatusCode::BAD_REQUEST, format!("the change: {text}"));
    let bytes = axum::body::to_bytes(body, MAX_CHANGE).await;
    let bytes = bytes.map_err(|error| wrong(error.to_string()))?;
    serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))
}

async fn join(
    State(App { node, .. }): State<App>,
    Keys(NoKeys {}): Keys<NoKeys>,
    body: axum::body::Body,
) -> Result<(StatusCode, Json<MapNodeAnswer>), Problem> {
    let NewNode { address, targets } = read(body).await?;
    let by = move |map: &ClusterMap| {
        let (map, node) = map.with_node(address, targets, Membership::Joining)?;
        Ok((map, Some(node)))
    };
    let (_, joined, _) = changed(&node, by).await?;
    let none = || Problem(StatusCode::CONFLICT, "the node is not in the map".into());
    joined.map(|node| (StatusCode::CREATED, Json((&node).into()))).ok_or_else(none)
}

async fn set_state(
    State(App { node, .. }): State<App>,
    Keys(NoKeys {}): Keys<NoKeys>,
    Path(number): Path<u32>,
    body: axum::body::Body,
) -> Result<Json<MapAnswer>, Problem> {
    let NodePatch { state } = read(body).await?;
    let by = move |map: &ClusterMap| -> Result<(ClusterMap, ()), Refused> {
        let next = match state {
            NewState::Active => map.with_active(number)?,
            NewState::Draining => map.with_draining(number)?,
            NewState::Removed => map.without_node(number, false)?,
        };
        Ok((next, ()))
    };
    let (map, (), source) = changed(&node, by).await?;
    Ok(Json(MapAnswer::of(&map, &source)))
}

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/v1/map", get(show))
        .route("/v1/map/nodes", post(join))
        .route("/v1/map/nodes/{number}", patch(set_state))
}
