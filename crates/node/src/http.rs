//! What a node serves over HTTP: content by address, and how it is.
//!
//! | request | answer |
//! |---|---|
//! | `PUT /v1/content?chunk_size=1048576&replicas=3` | stores the body: `{"address", "length", "chunks"}` |
//! | `GET /v1/content/ADDRESS` | the content; Range, If-Range and If-None-Match are heeded |
//! | `GET /v1/content/ADDRESS/chunks` | its chunks, with the targets that hold each |
//! | `/v2/…` | buckets and objects: see `objects_http` |
//! | `/v1/users` | users and their keys: see `access::users_http` |
//! | `/v1/jobs` | work on many objects: see `jobs::http` |
//! | `GET /v1/status` | the targets: what they can do, what they hold; puts and gets over HTTP |
//! | `GET /v1/events` | what becomes of windows, as Server-Sent Events |
//! | `/v1/map` | the cluster map: see `map_http` |
//! | `GET /metrics` | the same for Prometheus |
//! | `GET /healthz`, `GET /readyz` | whether the node runs, and serves |
//! | `GET /` | the web page |
//!
//! Who may ask is found out first: see `access::guard`.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use axum::body::{Body, HttpBody};
use axum::extract::{DefaultBodyLimit, FromRequestParts, Path, Query, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, put};
use axum::{Json, Router};
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use slotcast_member::Holders;
use slotcast_protocol::Claim;
use slotcast_units::Size;

use crate::access::{self, Access, Guard, guard};
use crate::body_memory::{BodyMemory, counted};
use crate::browsers::{self, HostNames};
use crate::cluster_metrics::ClusterState;
use crate::collection_http;
pub use crate::collection_http::{CollectionAnswer, LastRound, LostListAnswer};
use crate::conditional::{self, Wanted};
use crate::content_read::{self, Found};
use crate::content_stream::{self, ContentError, Plan};
pub use crate::door::Courtesy;
use crate::encryption::EncryptionError;
use crate::events_http::{self, Feed};
use crate::health_http;
use crate::http_metrics::HttpMetrics;
use crate::jobs::{self, Jobs};
use crate::limits::Serving;
use crate::map_http;
pub use crate::map_http::{MapAnswer, MapNodeAnswer};
use crate::metrics;
use crate::node::Node;
use crate::objects::Objects;
use crate::objects_http;
pub use crate::objects_http::{
    BucketAnswer, BucketsAnswer, DeleteAnswer, NamesAnswer, ObjectAnswer, ObjectDescription,
    StoredAnswer,
};
use crate::page_http;
pub use crate::serving::{Background, Front, Gateway, ServeError, serve};
use crate::status::NodeStatus;
use slotcast_object::Address;
use slotcast_object::list::Part;

/// The chunk size where the request names none: 1 MiB.
pub const CHUNK_SIZE: usize = 1 << 20;

/// Chunk sizes that may be asked for: 4 KiB to 8 MiB.
pub const CHUNK_SIZES: std::ops::RangeInclusive<usize> = 4 << 10..=8 << 20;

/// Chunks of one content whose holders are asked for side by side.
const FINDS_AT_A_TIME: usize = 64;

/// An error, as text for people with the status for programs.
pub(crate) struct Problem(pub(crate) StatusCode, pub(crate) String);

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let Problem(status, message) = self;
        let mut response = (status, Json(serde_json::json!({ "error": message }))).into_response();
        let headers = response.headers_mut();
        if status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if status == StatusCode::REQUEST_TIMEOUT {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

impl From<ContentError> for Problem {
    fn from(error: ContentError) -> Problem {
        let status = match error {
            ContentError::BrokeOff(_) | ContentError::NoList(_) | ContentError::WrongLength(_) => {
                StatusCode::BAD_REQUEST
            }
            ContentError::NotFound(_) => StatusCode::NOT_FOUND,
            ContentError::Stalled(_) => StatusCode::REQUEST_TIMEOUT,
            ContentError::TooLong(_) => StatusCode::PAYLOAD_TOO_LARGE,
            ContentError::TooFewReplicas(_) => StatusCode::INSUFFICIENT_STORAGE,
            ContentError::TooFewAvailable(_)
            | ContentError::Uncertain(_)
            | ContentError::Undelivered(_)
            | ContentError::Busy
            | ContentError::Stopped => StatusCode::SERVICE_UNAVAILABLE,
            ContentError::Encryption(EncryptionError::NeedsKey | EncryptionError::WrongKey) => {
                StatusCode::FORBIDDEN
            }
            ContentError::Encryption(_) => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Problem(status, error.to_string())
    }
}

/// The query of a request: keys that are not known are refused, since most are slips.
pub(crate) struct Keys<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Keys<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Keys<T>, Problem> {
        let query = Query::<T>::from_request_parts(parts, state).await;
        let Query(keys) =
            query.map_err(|error| Problem(StatusCode::BAD_REQUEST, error.body_text()))?;
        Ok(Keys(keys))
    }
}

/// No keys.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoKeys {}

/// The address in the path of a request.
struct Place(Address);

impl<S: Send + Sync> FromRequestParts<S> for Place {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Place, Problem> {
        let wrong = |message| Problem(StatusCode::BAD_REQUEST, message);
        let path = Path::<String>::from_request_parts(parts, state).await;
        let Path(text) = path.map_err(|error| wrong(error.body_text()))?;
        text.parse().map(Place).map_err(|error| wrong(format!("{error}")))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
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
    State(App { node, memory, serving, .. }): State<App>,
    Keys(query): Keys<PutQuery>,
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
    let plan = Plan {
        chunk_size,
        replicas,
        claim: Claim::Bare,
        length: body.size_hint().exact(),
        buffered: 0,
        max_length: serving.body_size,
        timeout: serving.body_timeout,
    };
    let stored = content_stream::store(&node, &memory, plan, body.into_data_stream()).await;
    let content_stream::Stored { address, length, chunks, .. } = match stored {
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
pub(crate) async fn possible_replicas(node: &Node, replicas: u64) -> Result<u8, Problem> {
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
pub(crate) async fn why_not_stored(node: &Node) -> String {
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
    State(App { node, memory, .. }): State<App>,
    Keys(NoKeys {}): Keys<NoKeys>,
    Place(address): Place,
    asked: HeaderMap,
) -> Result<Response, Problem> {
    let found = Found::at(&node, &memory, address).await?;
    let tag = conditional::tag(address);
    let about = (found.length(), HeaderValue::from_static("application/octet-stream"));
    answer_get((&tag, about), &asked, |range| found_body((node, &memory), found, range)).await
}

/// These bytes of what was found, as the body of an answer. The first chunk decides between an error and a stream: what breaks
/// later can only break off.
pub(crate) async fn found_body(
    (node, memory): (Arc<Node>, &BodyMemory),
    found: Found,
    range: Range<u64>,
) -> Result<Body, ContentError> {
    Ok(match found {
        Found::Chunk(bytes, lease) => {
            // Both are within the chunk, whose length is one of memory.
            let bytes = bytes.slice(range.start as usize..range.end as usize);
            Body::from(counted(bytes, lease))
        }
        found => Body::from_stream(found.read((&node, memory), range).await?),
    })
}

/// Answers a get of content of a length: all of it, or what the headers ask for. `body` gives that.
pub(crate) async fn answer_get<F: Future<Output = Result<Body, ContentError>>>(
    (tag, (length, media_type)): (&str, (u64, HeaderValue)),
    asked: &HeaderMap,
    body: impl FnOnce(Range<u64>) -> F,
) -> Result<Response, Problem> {
    let value = |text: String| HeaderValue::try_from(text).expect("it is ASCII");
    let mut response = Response::new(Body::empty());
    response.headers_mut().insert(header::ETAG, value(tag.into()));
    if conditional::is_known(asked, tag) {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        return Ok(response);
    }
    let range = match conditional::wanted(asked, tag, length) {
        Wanted::All => 0..length,
        Wanted::Part(range) => {
            *response.status_mut() = StatusCode::PARTIAL_CONTENT;
            let text = format!("bytes {}-{}/{length}", range.start, range.end - 1);
            response.headers_mut().insert(header::CONTENT_RANGE, value(text));
            range
        }
        Wanted::Nothing => {
            let status = StatusCode::RANGE_NOT_SATISFIABLE;
            let message = format!("the content has {length} bytes, and none of the wanted ones");
            let mut response = Problem(status, message).into_response();
            let text = value(format!("bytes */{length}"));
            response.headers_mut().insert(header::CONTENT_RANGE, text);
            return Ok(response);
        }
    };
    let headers = response.headers_mut();
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert(header::CONTENT_TYPE, media_type);
    headers.insert(header::CONTENT_LENGTH, (range.end - range.start).into());
    *response.body_mut() = body(range).await?;
    Ok(response)
}

/// Who holds a chunk, as far as they answer.
async fn holders_of(node: Arc<Node>, part: Part) -> Result<ChunkAnswer, ContentError> {
    let holders = node.holders(part.address.chunk()).await;
    let Holders { targets, silent_targets, silent_nodes, size, replicas } =
        holders.map_err(|_| ContentError::Stopped)?;
    Ok(ChunkAnswer {
        address: part.address.to_string(),
        length: size.map_or(part.length, Size::as_bytes),
        replicas: replicas.unwrap_or(0),
        holders: targets,
        silent_targets,
        silent_nodes,
    })
}

async fn get_chunks(
    State(App { node, memory, .. }): State<App>,
    Keys(NoKeys {}): Keys<NoKeys>,
    Place(address): Place,
) -> Result<Response, Problem> {
    let parts = content_read::parts(node.clone(), &memory, address).await?;
    // Where a member is silent, each takes as long as its group is waited for.
    let found =
        parts.map_ok(move |part| holders_of(node.clone(), part)).try_buffered(FINDS_AT_A_TIME);
    let mut found = Box::pin(found);
    // The first one decides between an error and a list, which is never in memory as a whole.
    let first = found.try_next().await?;
    let answers = stream::iter(first.map(Ok)).chain(found).enumerate().map(|(place, answer)| {
        let mut text = if place == 0 { Vec::new() } else { b",".to_vec() };
        let written = serde_json::to_writer(&mut text, &answer?);
        written.map_err(|error| ContentError::BrokeOff(error.to_string()))?;
        Ok(Bytes::from(text))
    });
    let text =
        |text: &'static [u8]| stream::iter([Ok::<_, ContentError>(Bytes::from_static(text))]);
    let body = Body::from_stream(text(b"[").chain(answers).chain(text(b"]")));
    Ok(([(header::CONTENT_TYPE, "application/json")], body).into_response())
}

async fn status_of(node: &Node) -> Result<NodeStatus, Problem> {
    NodeStatus::of(node).await.ok_or_else(|| Problem::from(ContentError::Stopped))
}

async fn get_status(
    State(App { node, metrics, .. }): State<App>,
    Keys(NoKeys {}): Keys<NoKeys>,
) -> Result<Json<NodeStatus>, Problem> {
    let requests = Some(metrics.operations());
    Ok(Json(NodeStatus { requests, ..status_of(&node).await? }))
}

async fn get_metrics(
    State(App { node, memory, metrics, jobs, .. }): State<App>,
    Keys(NoKeys {}): Keys<NoKeys>,
) -> Result<Response, Problem> {
    let status = status_of(&node).await?;
    let cluster = ClusterState::of(&node, jobs.census()).await;
    let cluster = cluster.ok_or_else(|| Problem::from(ContentError::Stopped))?;
    let text = metrics::text(&status, &cluster, (&metrics, memory.used()));
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}

async fn no_such_path(request: Request) -> Problem {
    Problem(StatusCode::NOT_FOUND, format!("`{}` is nothing that a node has", request.uri().path()))
}

async fn no_such_method(request: Request) -> Problem {
    let message = format!("`{}` has no {}", request.uri().path(), request.method());
    Problem(StatusCode::METHOD_NOT_ALLOWED, message)
}

/// What every request is answered with.
#[derive(Clone)]
pub(crate) struct App {
    pub(crate) node: Arc<Node>,
    pub(crate) memory: BodyMemory,
    pub(crate) serving: Serving,
    pub(crate) access: Access,
    pub(crate) feed: Feed,
    pub(crate) jobs: Jobs,
    metrics: HttpMetrics,
}

/// Everything that a node serves.
pub(crate) fn router(
    objects: &Objects,
    access: &Access,
    (metrics, feed, jobs): (HttpMetrics, Feed, Jobs),
    names: HostNames,
) -> Router {
    let (node, memory, serving) = objects.parts();
    let app = App { node, memory, serving, access: access.clone(), feed, jobs, metrics };
    let first = Guard { access: access.clone() };
    let router = Router::new()
        .route("/v1/content", put(put_content))
        .route("/v1/content/{address}", get(get_content))
        .route("/v1/content/{address}/chunks", get(get_chunks))
        .merge(objects_http::routes())
        .merge(collection_http::routes())
        .merge(access::routes())
        .merge(jobs::routes())
        .merge(health_http::routes())
        .merge(events_http::routes())
        .merge(map_http::routes())
        .merge(page_http::routes())
        .route("/v1/status", get(get_status))
        .route("/metrics", get(get_metrics))
        .fallback(no_such_path)
        .method_not_allowed_fallback(no_such_method)
        .layer(DefaultBodyLimit::disable())
        .layer(from_fn_with_state(first, guard))
        .layer(from_fn_with_state(names, browsers::guard))
        .with_state(app);
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
