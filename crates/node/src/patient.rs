//! A stream on which the other end must not stand still.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

use crate::wire::Wire;

/// What a connection and its stream know of each other.
#[derive(Debug, Default)]
pub(crate) struct Exchange {
    /// A request is under way: what comes in is not a header.
    pub(crate) is_busy: AtomicBool,
    /// Requests whose header has ended.
    pub(crate) requests: AtomicU64,
    /// A header did not end in time.
    pub(crate) is_header_late: AtomicBool,
}

/// Something that must be over in time.
#[derive(Debug)]
struct Limit {
    timeout: Duration,
    sleep: Pin<Box<Sleep>>,
    is_running: bool,
}

impl Limit {
    fn new(timeout: Duration) -> Limit {
        Limit { timeout, sleep: Box::pin(sleep(Duration::ZERO)), is_running: false }
    }

    fn begin(&mut self) {
        if !self.is_running {
            self.is_running = true;
            self.sleep.as_mut().reset(Instant::now() + self.timeout);
        }
    }

    fn is_over(&mut self, context: &mut Context<'_>) -> bool {
        self.is_running && self.sleep.as_mut().poll(context).is_ready()
    }
}

/// A stream that fails when the other end takes nothing in for too long, or when a header that has begun does not
/// end in time.
#[derive(Debug)]
pub(crate) struct Patient {
    stream: Wire,
    exchange: Arc<Exchange>,
    header: Limit,
    /// Requests when it began.
    requests: u64,
    write: Limit,
}

impl Patient {
    pub(crate) fn new(
        stream: Wire,
        exchange: Arc<Exchange>,
        header_timeout: Duration,
        body_timeout: Duration,
    ) -> Patient {
        let (header, write) = (Limit::new(header_timeout), Limit::new(body_timeout));
        Patient { stream, exchange, header, requests: 0, write }
    }

    pub(crate) fn into_inner(self) -> Wire {
        self.stream
    }

    fn written<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.write.is_running = false;
            return written;
        }
        self.write.begin();
        match self.write.is_over(context) {
            true => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            false => Poll::Pending,
        }
    }
}

impl AsyncRead for Patient {
    fn poll_read(
        mut self: Pin<&mut Patient>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let is_busy = this.exchange.is_busy.load(Ordering::Relaxed);
        let requests = this.exchange.requests.load(Ordering::Relaxed);
        if requests != this.requests {
            this.requests = requests;
            this.header.is_running = false;
        }
        let before = buffer.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(context, buffer);
        if !is_busy {
            // Also one that comes bit by bit has to end in time.
            if buffer.filled().len() > before {
                this.header.begin();
            }
            if this.header.is_over(context) {
                this.exchange.is_header_late.store(true, Ordering::Relaxed);
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
        }
        ready!(read)?;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Patient {
    fn poll_write(
        mut self: Pin<&mut Patient>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.written(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Patient>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.written(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Patient>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // What is encrypted may wait to be sent until then.
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.written(context, flushed)
    }

    fn poll_shutdown(
        mut self: Pin<&mut Patient>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// The body of a request, which fails when it is waited for and nothing of it comes for too long. What stores content looks to
/// that itself, and has an answer for it; this is for all else that reads a body.
#[derive(Debug)]
pub(crate) struct PatientBody<B> {
    body: B,
    limit: Limit,
}

impl<B> PatientBody<B> {
    /// It fails after twice the time that content may stand still.
    pub(crate) fn new(body: B, body_timeout: Duration) -> PatientBody<B> {
        PatientBody { body, limit: Limit::new(body_timeout.saturating_mul(2)) }
    }
}

impl<B> HttpBody for PatientBody<B>
where
    B: HttpBody<Data = Bytes> + Unpin,
    B::Error: Into<axum::BoxError>,
{
    type Data = Bytes;
    type Error = axum::BoxError;

    fn poll_frame(
        mut self: Pin<&mut PatientBody<B>>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::BoxError>>> {
        let this = &mut *self;
        let frame = Pin::new(&mut this.body).poll_frame(context);
        if let Poll::Ready(frame) = frame {
            this.limit.is_running = false;
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        this.limit.begin();
        match this.limit.is_over(context) {
            true => {
                let error = io::Error::new(io::ErrorKind::TimedOut, "nothing came for too long");
                Poll::Ready(Some(Err(error.into())))
            }
            false => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
