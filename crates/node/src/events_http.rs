//! What becomes of the windows of this node's targets, as Server-Sent Events for those who watch.
//!
//! The member keeps events only while somebody watches. A task asks for them ten times a second, writes them as text once, and
//! gives that text to all watchers. Each part has a bound: events that are kept, texts that wait for a slow watcher, watchers.

use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bytes::Bytes;
use futures_util::stream;
use serde::Serialize;
use slotcast_member::{WindowEvent, WindowState};
use slotcast_units::Time;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, broadcast, watch};

use crate::http::{App, Keys, NoKeys, Problem};
use crate::node::Node;

/// How many may watch at a time.
const WATCHERS: usize = 16;

/// How often events are taken.
const PERIOD: Duration = Duration::from_millis(100);

/// Where nothing happens, something is said all the same so often: so a watcher knows that the node is there.
const QUIET: u32 = 10;

/// Events that are kept of all targets between two looks.
const EVENTS: usize = 4096;

/// Texts that wait for a slow watcher. It learns what it has missed.
const TEXTS: usize = 32;

/// What has become of windows since the last look.
#[derive(Debug, Serialize)]
struct Windows {
    /// The present, in microseconds of the clock of this node.
    now: u64,
    /// The same in milliseconds since 1970.
    date: u64,
    /// Events that are not among these, because there were too many.
    left_out: u64,
    events: Vec<WindowRow>,
}

/// One event as a row, since there are many: what has become of the window (0 tentative, 1 accepted, 2 used, 3 given up), its
/// target, whether it is outgoing, the request (initiator, serial, round), its beginning, its end and when this happened in
/// nanoseconds after `now`, and the bytes that it is for.
type WindowRow = (u8, u32, u8, u32, u32, u8, i64, i64, i64, u64);

fn row(now: Time, event: &WindowEvent) -> WindowRow {
    let after = |time: Time| {
        let ns = i128::from(time.as_ns()) - i128::from(now.as_ns());
        i64::try_from(ns).unwrap_or(i64::MAX)
    };
    let state = match event.state {
        WindowState::Tentative => 0,
        WindowState::Accepted => 1,
        WindowState::Used => 2,
        WindowState::GivenUp => 3,
    };
    let (request, window) = (event.request, event.window);
    (
        state,
        event.target.0,
        u8::from(event.is_outgoing),
        request.initiator.0,
        request.serial,
        event.round,
        after(window.start),
        after(window.end),
        after(event.at),
        event.payload.as_bytes(),
    )
}

fn text(now: Time, events: &[WindowEvent], left_out: u64) -> Bytes {
    let date = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let windows = Windows {
        now: now.as_ns() / 1000,
        date: u64::try_from(date).unwrap_or(0),
        left_out,
        events: events.iter().map(|event| row(now, event)).collect(),
    };
    let mut text = String::from("event: windows\ndata: ");
    // Neither fails: these are numbers, and this is memory.
    let json = serde_json::to_string(&windows).unwrap_or_default();
    let _ = writeln!(text, "{json}\n");
    text.into()
}

#[derive(Debug)]
struct Shared {
    node: Weak<Node>,
    texts: broadcast::Sender<Bytes>,
    places: Arc<Semaphore>,
    /// Whether a task takes events.
    is_pumping: Mutex<bool>,
    stopping: watch::Sender<bool>,
}

/// What is told to watchers. Clones are the same.
#[derive(Debug, Clone)]
pub(crate) struct Feed(Arc<Shared>);

impl Feed {
    pub(crate) fn new(node: &Arc<Node>) -> Feed {
        Feed(Arc::new(Shared {
            node: Arc::downgrade(node),
            texts: broadcast::Sender::new(TEXTS),
            places: Arc::new(Semaphore::new(WATCHERS)),
            is_pumping: Mutex::new(false),
            stopping: watch::Sender::new(false),
        }))
    }

    /// The node is about to stop, and waits for no watcher.
    pub(crate) fn stop(&self) {
        self.0.stopping.send_replace(true);
    }

    /// Begins to take events, unless that has begun.
    fn begin(&self) {
        let mut is_pumping = self.0.is_pumping.lock().unwrap_or_else(PoisonError::into_inner);
        if !*is_pumping {
            *is_pumping = true;
            tokio::spawn(self.clone().pump());
        }
    }

    /// Whether to end, since nobody watches any more.
    fn ends(&self) -> bool {
        let mut is_pumping = self.0.is_pumping.lock().unwrap_or_else(PoisonError::into_inner);
        *is_pumping = self.0.texts.receiver_count() > 0;
        !*is_pumping
    }

    /// Takes events until nobody watches.
    async fn pump(self) {
        let mut quiet = QUIET;
        loop {
            let Some(node) = self.0.node.upgrade() else { return };
            let is_watched = self.0.texts.receiver_count() > 0;
            let windows = node.windows(if is_watched { EVENTS } else { 0 }).await;
            let Ok((now, events, left_out)) = windows else { return };
            drop(node);
            if !is_watched && self.ends() {
                return;
            }
            quiet += 1;
            if quiet >= QUIET || !events.is_empty() || left_out > 0 {
                quiet = 0;
                // They may all have gone meanwhile.
                let _ = self.0.texts.send(text(now, &events, left_out));
            }
            tokio::time::sleep(PERIOD).await;
        }
    }
}

/// Somebody who watches.
struct Watcher {
    texts: broadcast::Receiver<Bytes>,
    stopping: watch::Receiver<bool>,
    _place: OwnedSemaphorePermit,
}

impl Watcher {
    /// What comes next; none at the end.
    async fn next(&mut self) -> Option<Bytes> {
        let Watcher { texts, stopping, .. } = self;
        tokio::select! {
            text = texts.recv() => match text {
                Ok(text) => Some(text),
                Err(broadcast::error::RecvError::Lagged(count)) => {
                    Some(format!("event: missed\ndata: {count}\n\n").into())
                }
                Err(broadcast::error::RecvError::Closed) => None,
            },
            _ = stopping.wait_for(|stopping| *stopping) => None,
        }
    }
}

async fn watch(
    State(App { feed, .. }): State<App>,
    Keys(NoKeys {}): Keys<NoKeys>,
) -> Result<Response, Problem> {
    let place = feed.0.places.clone().try_acquire_owned().map_err(|_| {
        let message = format!("{WATCHERS} watch the windows of this node already: close a page");
        Problem(StatusCode::SERVICE_UNAVAILABLE, message)
    })?;
    let (texts, stopping) = (feed.0.texts.subscribe(), feed.0.stopping.subscribe());
    feed.begin();
    let watcher = Watcher { texts, stopping, _place: place };
    let told = stream::unfold(watcher, async |mut watcher| {
        let text = watcher.next().await?;
        Some((Ok::<_, std::convert::Infallible>(text), watcher))
    });
    let headers =
        [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    Ok((headers, Body::from_stream(told)).into_response())
}

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/v1/events", get(watch))
}
