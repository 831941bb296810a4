//! What a node serves over HTTP: content by address, and how it is.
//!
//! | request | answer |
//! |---|---|
//! | `PUT /v1/content?chunk_size=1048576&replicas=3` | stores the body: `{"address", "length", "chunks"}` |
//! | `GET /v1/content/ADDRESS` | the content |
//! | `GET /v1/content/ADDRESS/chunks` | its chunks, with the targets that hold each |
//! | `GET /v1/status` | the targets: what they can do, what they hold |
//! | `GET /metrics` | the same for Prometheus |

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;

use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Path, Query, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, put};
use axum::{Json, Router};
use futures_util::{StreamExt, TryStreamExt};
use serde::{Deserialize, Serialize};
use slotcast_member::Holders;
use slotcast_units::Size;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use crate::address::Address;
use crate::connections;
use crate::content_stream::{self, ContentError};
use crate::metrics;
use crate::node::Node;
use crate::status::NodeStatus;

/// The chunk size where the request names none: 1 MiB.
pub const CHUNK_SIZE: usize = 1 << 20;

/// Chunk sizes that may be asked for: 4 KiB to 8 MiB.
pub const CHUNK_SIZES: std::ops::RangeInclusive<usize> = 4 << 10..=8 << 20;

/// Chunks of one content whose holders are asked for side by side.
const FINDS_AT_A_TIME: usize = 64;

/// An error, as text for people with the status for programs.
struct Problem(StatusCode, String);

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let Problem(status, message) = self;
        (status, Json(serde_json::json!({ "error": message }))).into_response()
    }
}

impl From<ContentError> for Problem {
    fn from(error: ContentError) -> Problem {
        let status = match error {
            ContentError::BrokeOff(_) | ContentError::NoList(_) => StatusCode::BAD_REQUEST,
            ContentError::NotFound(_) => StatusCode::NOT_FOUND,
            ContentError::TooFewReplicas(_) => StatusCode::INSUFFICIENT_STORAGE,
            ContentError::TooFewAvailable(_)
            | ContentError::Uncertain(_)
            | ContentError::Undelivered(_)
            | ContentError::Stopped => StatusCode::SERVICE_UNAVAILABLE,
        };
        Problem(status, error.to_string())
    }
}

fn address(text: &str) -> Result<Address, Problem> {
    text.parse().map_err(|error| Problem(StatusCode::BAD_REQUEST, format!("{error}")))
}

#[derive(Deserialize)]
struct PutQuery {
    chunk_size: Option<usize>,
    replicas: Option<u64>,
}

/// What a put answers.
#[derive(Debug, Serialize, Deserialize)]
pub struct PutAnswer {
    /// Under which address the content is stored.
    pub address: String,
    /// Its length in bytes.
    pub length: u64,
    /// Its chunks.
    pub chunks: u64,
}

/// One chunk of some content.
#[derive(Debug, Serialize, Deserialize)]
pub struct ChunkAnswer {
    /// Its address.
    pub address: String,
    /// Its length in bytes; 0 if nobody who answered holds it.
    pub length: u64,
    /// How many targets are to hold it; 0 if nobody who answered does.
    #[serde(default)]
    pub replicas: u8,
    /// Numbers of the targets that hold it, of all nodes.
    pub holders: Vec<u32>,
    /// Numbers of the targets of its group that did not answer: they may hold it or not.
    #[serde(default)]
    pub silent_targets: Vec<u32>,
    /// Numbers of the nodes of those; none of a cluster in one process.
    #[serde(default)]
    pub silent_nodes: Vec<u32>,
}

async fn put_content(
    State(node): State<Arc<Node>>,
    Query(query): Query<PutQuery>,
    body: Body,
) -> Result<Json<PutAnswer>, Problem> {
    let chunk_size = query.chunk_size.unwrap_or(CHUNK_SIZE);
    if !CHUNK_SIZES.contains(&chunk_size) {
        let (least, most) = CHUNK_SIZES.into_inner();
        let message = format!("chunk_size is from {least} to {most} bytes, not {chunk_size}");
        return Err(Problem(StatusCode::BAD_REQUEST, message));
    }
    let replicas = match query.replicas {
        Some(replicas) => Some(possible_replicas(&node, replicas).await?),
        None => None,
    };
    let content = body.into_data_stream();
    let stored = content_stream::store(&node, chunk_size, replicas, content).await;
    let content_stream::Stored { address, length, chunks } = match stored {
        Ok(stored) => stored,
        Err(error @ (ContentError::TooFewReplicas(_) | ContentError::TooFewAvailable(_))) => {
            let Problem(status, message) = error.into();
            return Err(Problem(status, message + &why_not_stored(&node).await));
        }
        Err(error) => return Err(error.into()),
    };
    Ok(Json(PutAnswer { address: address.to_string(), length, chunks }))
}

/// The number, if chunks can be on so many targets.
async fn possible_replicas(node: &Node, replicas: u64) -> Result<u8, Problem> {
    let most = node.most_replicas().await.map_err(|_| Problem::from(ContentError::Stopped))?;
    let possible = u8::try_from(replicas).ok().filter(|n| (1..=most).contains(&usize::from(*n)));
    possible.ok_or_else(|| {
        let message = format!(
            "replicas is from 1 to {most} in this cluster, not {replicas}: no two of a chunk share a failure \
             domain of its group"
        );
        Problem(StatusCode::BAD_REQUEST, message)
    })
}

/// Which targets of this node take no puts, for whoever was refused.
async fn why_not_stored(node: &Node) -> String {
    let Ok(status) = status_of(node).await else { return String::new() };
    let idle = status.targets.iter().filter(|target| target.state != "open");
    let told: Vec<String> =
        idle.map(|target| format!("{} ({})", target.target, target.state)).collect();
    match told.is_empty() {
        true => String::new(),
        false => format!("; targets of this node that take no puts: {}", told.join(", ")),
    }
}

async fn get_content(
    State(node): State<Arc<Node>>,
    Path(text): Path<String>,
) -> Result<Response, Problem> {
    let address = address(&text)?;
    let parts = content_stream::chunks(&node, address).await?;
    let listed: u64 = parts.iter().map(|part| part.length).sum();
    // The first chunk decides between an error and a stream: what breaks later can only break off.
    let mut content = Box::pin(content_stream::read(node, parts));
    let first = content.try_next().await?;
    let length = match (address, &first) {
        (Address::Chunk(_), Some(chunk)) => chunk.len() as u64,
        _ => listed,
    };
    let rest = futures_util::stream::iter(first.map(Ok)).chain(content);
    let mut response = Response::new(Body::from_stream(rest));
    let headers = response.headers_mut();
    headers
        .insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/octet-stream"));
    headers.insert(header::CONTENT_LENGTH, length.into());
    Ok(response)
}

async fn get_chunks(
    State(node): State<Arc<Node>>,
    Path(text): Path<String>,
) -> Result<Json<Vec<ChunkAnswer>>, Problem> {
    let parts = content_stream::chunks(&node, address(&text)?).await?;
    let found = futures_util::stream::iter(parts).map(|part| {
        let node = node.clone();
        async move {
            let holders = node.holders(part.address.chunk()).await;
            let Holders { targets, silent_targets, silent_nodes, size, replicas } =
                holders.map_err(|_| Problem::from(ContentError::Stopped))?;
            let length = size.map_or(part.length, Size::as_bytes);
            let address = part.address.to_string();
            let (holders, replicas) = (targets, replicas.unwrap_or(0));
            Ok::<_, Problem>(ChunkAnswer {
                address,
                length,
                replicas,
                holders,
                silent_targets,
                silent_nodes,
            })
        }
    });
    // Where a member is silent, each takes as long as its group is waited for.
    Ok(Json(found.buffered(FINDS_AT_A_TIME).try_collect().await?))
}

async fn status_of(node: &Node) -> Result<NodeStatus, Problem> {
    NodeStatus::of(node).await.ok_or_else(|| Problem::from(ContentError::Stopped))
}

async fn get_status(State(node): State<Arc<Node>>) -> Result<Json<NodeStatus>, Problem> {
    Ok(Json(status_of(&node).await?))
}

async fn get_metrics(State(node): State<Arc<Node>>) -> Result<Response, Problem> {
    let text = metrics::text(&status_of(&node).await?);
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}

/// Serves on `listener` until the process is told to stop (SIGINT or SIGTERM), and then ends what is
/// under way. A node of a cluster reads its map again on SIGHUP. `ready` is called when requests are taken.
///
/// # Errors
/// If the system gives no threads, or the listener fails.
pub fn serve(node: Node, listener: std::net::TcpListener, ready: impl FnOnce()) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let stop = async move {
            let signal = tokio::select! {
                _ = terminate.recv() => "SIGTERM",
                _ = interrupt.recv() => "SIGINT",
            };
            tracing::info!(signal, "stopping: what is under way is ended first");
        };
        let node = Arc::new(node);
        if node.map_source().is_some() {
            let mut again = signal(SignalKind::hangup())?;
            let node = Arc::downgrade(&node);
            tokio::spawn(async move {
                while again.recv().await.is_some() {
                    let Some(node) = node.upgrade() else { return };
                    let _ = tokio::task::spawn_blocking(move || node.read_map_again()).await;
                }
            });
        }
        ready();
        let serving = node.serving();
        connections::serve(listener, router(node), serving, stop).await
    })
}

/// A node that serves HTTP until this is dropped.
#[derive(Debug)]
pub struct Background {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Background {
    /// Begins to serve; requests are taken from now on.
    ///
    /// # Errors
    /// If the system gives no threads.
    pub fn serve(node: Node, listener: std::net::TcpListener) -> io::Result<Background> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        listener.set_nonblocking(true)?;
        let (stop, stopped) = oneshot::channel::<()>();
        let serve = move || {
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener)?;
                let stop = async { drop(stopped.await) };
                let serving = node.serving();
                connections::serve(listener, router(Arc::new(node)), serving, stop).await
            })
        };
        let thread = std::thread::Builder::new().name("http".into()).spawn(serve)?;
        Ok(Background { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Background {
    /// Ends what is under way, and stops the node.
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Everything that a node serves.
pub fn router(node: Arc<Node>) -> Router {
    let router = Router::new()
        .route("/v1/content", put(put_content))
        .route("/v1/content/{address}", get(get_content))
        .route("/v1/content/{address}/chunks", get(get_chunks))
        .route("/v1/status", get(get_status))
        .route("/metrics", get(get_metrics))
        .layer(DefaultBodyLimit::disable())
        .with_state(node);
    // Asked once: a layer costs every request something.
    match tracing::enabled!(tracing::Level::DEBUG) {
        true => router.layer(from_fn(log_request)),
        false => router,
    }
}

/// Logs a request when its answer begins; of what is streamed, the rest comes later.
async fn log_request(request: Request, next: Next) -> Response {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let began = Instant::now();
    let response = next.run(request).await;
    let elapsed_us = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
    let status = response.status().as_u16();
    tracing::debug!(%method, path, status, elapsed_us, "http request");
    response
}
