//! Whether a node runs, and whether it serves: for load balancers and whoever restarts it.

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Value, json};

use crate::http::{App, Problem};
use crate::status::NodeStatus;

/// It answers: so it runs.
async fn healthz() -> Json<Value> {
    Json(json!({ "status": "ok" }))
}

/// It serves if any of its targets is open.
async fn readyz(State(App { node, .. }): State<App>) -> Result<Json<Value>, Problem> {
    let unready = |message: &str| Problem(StatusCode::SERVICE_UNAVAILABLE, message.into());
    let status = NodeStatus::of(&node).await.ok_or_else(|| unready("the node stops"))?;
    match status.targets.iter().any(|target| target.state == "open") {
        true => Ok(Json(json!({ "status": "ready" }))),
        false => Err(unready("no target of this node is open: `slotcast status` says why")),
    }
}

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/healthz", get(healthz)).route("/readyz", get(readyz))
}
