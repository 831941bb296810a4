//! HTTP connections: a bounded number of them, of which those without a request make room for new ones.
//!
//! A connection is accepted only when a place is free, so clients never take files that are reserved for others.
//! When all places but the spare ones are taken, the connection that has been without a request for longest is
//! closed. Where all have requests for content under way, further such requests are answered 503, and the spare
//! places are left to questions how the node is: those always come through.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::{Method, Response};
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use crate::access::Peer;
use crate::audit::Audit;
use crate::door::{self, Desk, Door, NOT_ENCRYPTED};
use crate::http_metrics::HttpMetrics;
use crate::journal::Throttle;
use crate::limits::Serving;
use crate::operations::Operation;
use crate::patient::{Exchange, Patient, PatientBody};
use crate::tls::Tls;
use crate::wire::Wire;

/// Places beyond the bound: for connections that are about to be closed or refused, and for questions how the
/// node is.
pub(crate) const SPARE: usize = 16;

/// A client of which nothing is heard is asked by its system after so long whether it is still there.
const PROBE_AFTER: Duration = Duration::from_secs(60);

/// A connection may be without a request for so long before it can be closed for another one: its request may be
/// on its way.
const GRACE: Duration = Duration::from_millis(500);

/// How long one that is closed for another one has for the rest of an answer that its client does not read.
const REST: Duration = Duration::from_secs(5);

/// How long a client that was refused may go on sending, so that it can read why.
const LINGER: Duration = Duration::from_secs(2);

/// How long requests may go on when the node stops.
const STOP_PATIENCE: Duration = Duration::from_secs(5);

/// What a connection reads or writes at a time, at most.
const MAX_BUFFER: usize = 64 << 10;

/// How long nothing is accepted when the system gives no connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// All connections.
struct Connections {
    /// Each open connection has one.
    places: Arc<Semaphore>,
    /// Each request for content that is under way has one.
    requests: Arc<Semaphore>,
    idle: Mutex<Idle>,
    limit: usize,
    /// Connections that were told to close for others, and are still open.
    closing: AtomicUsize,
    /// A spare place was taken.
    is_crowded: Notify,
    told: Mutex<Throttle>,
    metrics: HttpMetrics,
    audit: Option<Audit>,
}

/// How a connection is told to close, for another one.
#[derive(Default)]
struct Close {
    notify: Notify,
    is_told: AtomicBool,
}

/// Connections without a request, the one that has been so for longest first.
#[derive(Default)]
struct Idle {
    since: BTreeMap<u64, (Instant, Arc<Close>)>,
    last: u64,
}

impl Idle {
    /// Adds a connection at the end, unless it closes anyway; returns its place in the order.
    fn add(&mut self, close: &Arc<Close>) -> u64 {
        self.last += 1;
        if !close.is_told.load(Ordering::Relaxed) {
            self.since.insert(self.last, (Instant::now(), close.clone()));
        }
        self.last
    }
}

/// One connection.
struct Connection {
    all: Arc<Connections>,
    close: Arc<Close>,
    /// Its place among those that are idle, or the last one that it had.
    idle_since: AtomicU64,
    exchange: Arc<Exchange>,
    /// A request was refused before all of it was read.
    has_refused: AtomicBool,
    /// Whether any request has come.
    was_asked: AtomicBool,
    _place: OwnedSemaphorePermit,
}

impl Connections {
    fn new(limit: usize, metrics: HttpMetrics, audit: Option<Audit>) -> Arc<Connections> {
        Arc::new(Connections {
            places: Arc::new(Semaphore::new(limit + SPARE)),
            requests: Arc::new(Semaphore::new(limit)),
            idle: Mutex::default(),
            limit,
            closing: AtomicUsize::new(0),
            is_crowded: Notify::new(),
            told: Mutex::new(Throttle::new()),
            metrics,
            audit,
        })
    }

    fn idle(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells, now and then, that there are too few places.
    fn tell(&self, what: &'static str) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(left_out) = told.admit() {
            let connections = self.limit;
            let remedy = "allow more with --connections, and a higher limit of open files";
            tracing::warn!(what, connections, remedy, left_out, "http connections exhausted");
        }
    }

    /// A client has come, and has this place.
    fn opened(self: &Arc<Connections>, place: OwnedSemaphorePermit) -> Arc<Connection> {
        let close = Arc::default();
        let idle_since = self.idle().add(&close).into();
        self.is_crowded.notify_one();
        self.metrics.opened();
        Arc::new(Connection {
            all: self.clone(),
            close,
            idle_since,
            exchange: Arc::default(),
            has_refused: AtomicBool::new(false),
            was_asked: AtomicBool::new(false),
            _place: place,
        })
    }

    /// Whether spare places are taken, by more connections than are about to close. One place is that of the
    /// connection that is waited for.
    fn lacks_room(&self) -> bool {
        self.places.available_permits() + 1 + self.closing.load(Ordering::Relaxed) < SPARE
    }

    /// Closes the connection that has been idle for longest whenever a spare place is taken. One that has not
    /// been so for long gets the rest of its time of grace; but where all are used again and again, so that none
    /// is ever idle for long, one has to go all the same.
    async fn make_room(&self) -> Infallible {
        loop {
            if !self.lacks_room() {
                self.is_crowded.notified().await;
                continue;
            }
            let oldest = self.idle().since.first_key_value().map(|(_, (since, _))| *since);
            // Without any, all are busy.
            let rest = oldest.map_or(GRACE, |since| GRACE.saturating_sub(since.elapsed()));
            if !rest.is_zero() {
                tokio::time::sleep(rest).await;
                if !self.lacks_room() {
                    continue;
                }
            }
            let mut idle = self.idle();
            if let Some((_, (_, close))) = idle.since.pop_first() {
                close.is_told.store(true, Ordering::Relaxed);
                self.closing.fetch_add(1, Ordering::Relaxed);
                drop(idle);
                close.notify.notify_one();
                self.tell("the connection that was idle for longest is closed");
            }
        }
    }
}

impl Connection {
    fn is_busy(&self) -> bool {
        self.exchange.is_busy.load(Ordering::Relaxed)
    }

    /// A request has come. With it, whether it may be served: not if it is for content and as many such are under
    /// way as may be.
    fn begin(
        self: &Arc<Connection>,
        (method, path): (&Method, &str),
        is_for_content: bool,
    ) -> (UnderWay, bool) {
        self.was_asked.store(true, Ordering::Relaxed);
        self.exchange.requests.fetch_add(1, Ordering::Relaxed);
        self.exchange.is_busy.store(true, Ordering::Relaxed);
        let since = self.idle_since.load(Ordering::Relaxed);
        self.all.idle().since.remove(&since);
        let permit = match is_for_content {
            true => self.all.requests.clone().try_acquire_owned().ok(),
            false => None,
        };
        let is_admitted = permit.is_some() || !is_for_content;
        let under_way = UnderWay {
            connection: self.clone(),
            _permit: permit,
            began: Instant::now(),
            method: HttpMetrics::label(method),
            operation: Operation::of(method, path),
            status: 0,
        };
        (under_way, is_admitted)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.all.metrics.closed();
        let since = *self.idle_since.get_mut();
        let mut idle = self.all.idle();
        idle.since.remove(&since);
        if self.close.is_told.load(Ordering::Relaxed) {
            self.all.closing.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// A request from its header to the end of its answer.
struct UnderWay {
    connection: Arc<Connection>,
    _permit: Option<OwnedSemaphorePermit>,
    began: Instant,
    method: &'static str,
    operation: Option<Operation>,
    /// That of its answer, once it has one.
    status: u16,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let Connection { all, close, idle_since, exchange, .. } = &*self.connection;
        all.metrics.ended((self.method, self.operation), self.status, self.began.elapsed());
        idle_since.store(all.idle().add(close), Ordering::Relaxed);
        exchange.is_busy.store(false, Ordering::Relaxed);
    }
}

/// The body of an answer; the request is under way until all of it was handed over.
struct Answer {
    body: Body,
    _under_way: UnderWay,
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Answer>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

async fn answer(
    connection: Arc<Connection>,
    Desk { router, courtesy, .. }: Desk,
    (peer, body_timeout): (Peer, Duration),
    mut request: hyper::Request<Incoming>,
) -> Result<Response<Answer>, Infallible> {
    request.extensions_mut().insert(peer);
    let audited = connection.all.audit.as_ref().map(|audit| audit.begin(&mut request));
    let is_for_content = !(courtesy.is_question)(request.uri().path());
    let has_body = !request.body().is_end_stream();
    let (mut under_way, is_admitted) =
        connection.begin((request.method(), request.uri().path()), is_for_content);
    let mut response = if is_admitted {
        let request: Request = request.map(|body| Body::new(PatientBody::new(body, body_timeout)));
        router.call(request).await?
    } else {
        connection.all.tell("a request is refused");
        (courtesy.refusal)()
    };
    under_way.status = response.status().as_u16();
    if let Some(audited) = audited {
        audited.end((peer, courtesy.protocol), &mut response).await;
    }
    if has_body && !response.status().is_success() {
        connection.has_refused.store(true, Ordering::Relaxed);
    }
    Ok(response.map(|body| Answer { body, _under_way: under_way }))
}

/// Ends a connection on which no more requests are answered, so that the client can read what it was told: a
/// connection with something unread is reset when it is closed, and an answer on its way may be lost.
async fn part(connection: &Connection, mut stream: Wire, late_header: &[u8]) {
    if connection.exchange.is_header_late.load(Ordering::Relaxed) {
        // It may have gone.
        let _ = stream.write_all(late_header).await;
    } else if !connection.has_refused.load(Ordering::Relaxed) {
        return;
    }
    let unread = async {
        stream.shutdown().await?;
        let mut buffer = vec![0; 16 << 10];
        while stream.read(&mut buffer).await? > 0 {}
        io::Result::Ok(())
    };
    tokio::select! {
        _ = tokio::time::timeout(LINGER, unread) => {}
        () = connection.close.notify.notified() => {}
    }
}

/// The first byte of a connection that is encrypted: that of a handshake (RFC 8446, 5.1).
const HANDSHAKE: u8 = 22;

/// Agrees on keys with a client; none if that does not come about in time.
async fn encrypted(
    connection: &Connection,
    (stream, tls): (TcpStream, &Tls),
    timeout: Duration,
    mut stopping: watch::Receiver<bool>,
) -> Option<Wire> {
    let agree = async {
        let mut first = [0];
        if stream.peek(&mut first).await? == 1 && first[0] != HANDSHAKE {
            let mut stream = Wire::Plain(stream);
            stream.write_all(NOT_ENCRYPTED).await?;
            connection.has_refused.store(true, Ordering::Relaxed);
            part(connection, stream, b"").await;
            return Ok(None);
        }
        let stream = TlsAcceptor::from(tls.config()).accept(stream).await?;
        io::Result::Ok(Some(Wire::Tls(Box::new(stream))))
    };
    tokio::select! {
        agreed = tokio::time::timeout(timeout, agree) => agreed.ok()?.ok()?,
        () = connection.close.notify.notified() => None,
        _ = stopping.wait_for(|stopping| *stopping) => None,
    }
}

/// Serves one connection until either end closes it, it makes room for another, or the node stops.
async fn converse(
    connection: Arc<Connection>,
    (stream, desk): (TcpStream, Desk),
    serving: Serving,
    mut stopping: watch::Receiver<bool>,
) {
    let Serving { idle_timeout, header_timeout, body_timeout, header_size, .. } = serving;
    let exchange = connection.exchange.clone();
    let address = stream.peer_addr().unwrap_or(Peer::UNKNOWN.address);
    let stream = match &desk.tls {
        None => Wire::Plain(stream),
        Some(tls) => {
            let agreed = encrypted(&connection, (stream, tls), header_timeout, stopping.clone());
            let Some(stream) = agreed.await else { return };
            stream
        }
    };
    let peer = Peer { address, is_encrypted: stream.is_encrypted() };
    let stream = Patient::new(stream, exchange, header_timeout, body_timeout);
    let service = service_fn(|request| {
        Box::pin(answer(connection.clone(), desk.clone(), (peer, body_timeout), request))
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(idle_timeout);
    builder.max_header_size(header_size).max_buf_size(MAX_BUFFER.max(header_size));
    let mut http = builder.serve_connection(TokioIo::new(stream), service);
    let patience = tokio::select! {
        // What went wrong is known to the client, or was its doing.
        _ = poll_fn(|context| http.poll_without_shutdown(context)) => None,
        () = connection.close.notify.notified() => Some(REST),
        // Then all connections together have some time.
        _ = stopping.wait_for(|stopping| *stopping) => Some(Duration::MAX),
    };
    if let Some(patience) = patience {
        Pin::new(&mut http).graceful_shutdown();
        // A request that is under way is ended, and then the rest of its answer waited for.
        loop {
            if !connection.was_asked.load(Ordering::Relaxed) {
                return;
            }
            let end = poll_fn(|context| http.poll_without_shutdown(context));
            match tokio::time::timeout(patience, end).await {
                Ok(_) => break,
                Err(_) if !connection.is_busy() => return,
                Err(_) => {}
            }
        }
    }
    let stream = http.into_parts().io.into_inner().into_inner();
    part(&connection, stream, desk.courtesy.late_header).await;
}

/// Serves at all doors until `stop`; then ends what is under way, and after [`STOP_PATIENCE`] breaks off what is left.
/// All doors together have as many places as one would have.
pub(crate) async fn serve(
    doors: Vec<Door>,
    (serving, metrics, audit): (Serving, HttpMetrics, Option<Audit>),
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let connections = Connections::new(serving.connections, metrics, audit);
    let mut last = 0;
    let (stop_all, stopping) = watch::channel(false);
    let (mut stop, mut make_room) = (pin!(stop), pin!(connections.make_room()));
    let mut conversations = JoinSet::new();
    loop {
        // A place before the connection: it takes a file from nobody.
        let accepted = async {
            let place = connections.places.clone().acquire_owned().await;
            let accepted = poll_fn(|context| door::poll_accept(&doors, &mut last, context));
            (place.expect("never closed"), accepted.await)
        };
        let (place, accepted) = tokio::select! {
            accepted = accepted => accepted,
            never = &mut make_room => match never {},
            () = &mut stop => break,
        };
        match accepted {
            Ok((stream, desk)) => {
                // A short answer would wait for the acknowledgement of the one before it.
                let _ = stream.set_nodelay(true);
                let probe = socket2::TcpKeepalive::new().with_time(PROBE_AFTER);
                // Without it the connection of a client that has vanished stays longer.
                let _ = socket2::SockRef::from(&stream).set_tcp_keepalive(&probe);
                let connection = connections.opened(place);
                let stopping = stopping.clone();
                conversations.spawn(converse(connection, (stream, desk), serving, stopping));
            }
            // The client has gone again; or the system has no files left, which it may have later.
            Err(error) => {
                tracing::debug!(%error, "no connection accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
        while conversations.try_join_next().is_some() {}
    }
    drop(doors);
    // It fails if there is none to be told.
    let _ = stop_all.send(true);
    let all_end = async { while conversations.join_next().await.is_some() {} };
    if tokio::time::timeout(STOP_PATIENCE, all_end).await.is_err() {
        let connections = conversations.len();
        tracing::warn!(connections, "requests did not end in time, and are broken off");
        conversations.shutdown().await;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
