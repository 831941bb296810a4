//! Limits that a node keeps although its disks and its network could do more: to share them with somebody,
//! or to have a cluster of known rates. And those of what clients may take of it.

use std::ops::RangeInclusive;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use slotcast_object::DAY_MS;
use slotcast_schedule::TokenBucket;
use slotcast_units::{Rate, Size, Span, Time};

use crate::clock::Clock;

/// How fast things may go, as fast as they can where nothing is said; and what clients may take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// The disk of each target, reads and writes together.
    pub disk_rate: Option<Rate>,
    /// In one process the link of each target and of the initiator, each way; in a cluster what the node
    /// sends of chunks.
    pub link_rate: Option<Rate>,
    /// HTTP connections that may be open at a time; unless given, as many as the limit of open files leaves.
    pub connections: Option<u32>,
    /// How long an HTTP connection may be without a whole request header, 60 s unless given.
    pub idle_timeout: Option<Span>,
    /// How long a request header may take from its first byte to its end, 10 s unless given.
    pub header_timeout: Option<Span>,
    /// How long the body of a request or of an answer may stand still because of the client, 30 s unless given.
    pub body_timeout: Option<Span>,
    /// The most bytes of a request header, 32 KiB unless given.
    pub header_size: Option<Size>,
    /// The most bytes that one put may store, 5 TiB unless given.
    pub body_size: Option<Size>,
    /// Memory for the bodies of all requests and answers, 256 MiB unless given.
    pub body_memory: Option<Size>,
    /// Requests that may wait for some of that memory, 1024 unless given.
    pub waiting: Option<u32>,
    /// Memory for content that the targets have written or read of late, 128 MiB unless given.
    pub cache_memory: Option<Size>,
    /// From one round of the collection of garbage to the next, 15 minutes unless given.
    pub collect_every: Option<Span>,
    /// How long a day of the lifecycle of objects is, 24 hours unless given: tests do not wait so long.
    pub lifecycle_day: Option<Span>,
}

impl Limits {
    /// Bytes of memory for content.
    pub(crate) fn cache_memory(&self) -> u64 {
        self.cache_memory.unwrap_or(Size::from_mib(128)).as_bytes()
    }
}

/// How connections are served: limits with their defaults.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Serving {
    /// Connections that may be open, beside the spare ones.
    pub(crate) connections: usize,
    /// How long one may be without a whole request header.
    pub(crate) idle_timeout: Duration,
    /// How long a header may take.
    pub(crate) header_timeout: Duration,
    /// How long a body may stand still because of the client.
    pub(crate) body_timeout: Duration,
    /// The most bytes of a request header.
    pub(crate) header_size: usize,
    /// The most bytes that one put may store.
    pub(crate) body_size: u64,
    /// Memory for all bodies.
    pub(crate) body_memory: Size,
    /// Requests that may wait for some of it.
    pub(crate) waiting: usize,
    /// Milliseconds of a day of the lifecycle of objects.
    pub(crate) lifecycle_day: u64,
}

impl Limits {
    /// With so many connections.
    pub(crate) fn serving(&self, connections: usize) -> Serving {
        let time = |given: Option<Span>, seconds: u64| {
            given.map_or(Duration::from_secs(seconds), |span| Duration::from_nanos(span.as_ns()))
        };
        let header_size = self.header_size.unwrap_or(Size::from_kib(32)).as_bytes();
        Serving {
            connections,
            idle_timeout: time(self.idle_timeout, 60),
            header_timeout: time(self.header_timeout, 10),
            body_timeout: time(self.body_timeout, 30),
            header_size: usize::try_from(header_size).unwrap_or(usize::MAX),
            body_size: self.body_size.map_or(5 << 40, Size::as_bytes),
            body_memory: self.body_memory.unwrap_or(Size::from_mib(256)),
            waiting: self.waiting.map_or(1024, |n| usize::try_from(n).unwrap_or(usize::MAX)),
            lifecycle_day: self
                .lifecycle_day
                .map_or(DAY_MS, |day| (day.as_ns() / 1_000_000).max(1)),
        }
    }
}

/// Slower is a mistake: a chunk would take minutes.
pub const MIN_RATE: Rate = Rate::from_bps(1_000_000);

/// Shorter is a mistake: a header on its way would be cut off.
pub const MIN_TIMEOUT: Span = Span::from_secs(1);

/// How much memory bodies may be given. With less, chunks of 8 MiB and the lists that name them do not fit.
pub const BODY_MEMORY: RangeInclusive<Size> = Size::from_mib(32)..=Size::from_mib(1 << 20);

/// How much memory content that was written or read of late may be given.
pub const CACHE_MEMORY: RangeInclusive<Size> = Size::ZERO..=Size::from_mib(1 << 20);

/// How large a put may be allowed to be.
pub const BODY_SIZES: RangeInclusive<Size> = Size::from_bytes(1)..=Size::from_bytes(1 << 60);

/// How large request headers may be allowed to be.
pub const HEADER_SIZES: RangeInclusive<Size> = Size::from_kib(8)..=Size::from_mib(1);

/// What a limited disk may catch up of the time in which it had nothing to do: from the end of one batch to the
/// beginning of the next some threads wake up, which is not the disk's time.
const DEPTH: Span = Span::from_ms(5);

/// A disk that is no faster than a rate. What it really does takes its time within that, not beside it.
#[derive(Debug)]
pub(crate) struct DiskLimit {
    clock: Clock,
    bucket: Mutex<TokenBucket>,
}

impl DiskLimit {
    pub(crate) fn new(rate: Rate) -> DiskLimit {
        let bucket = Mutex::new(TokenBucket::new(rate, DEPTH));
        DiskLimit { clock: Clock::start(), bucket }
    }

    /// `bytes` begin to move; when they may be there.
    pub(crate) fn begin(&self, bytes: u64) -> Time {
        let mut bucket = self.bucket.lock().unwrap_or_else(PoisonError::into_inner);
        bucket.take(self.clock.now(), Size::from_bytes(bytes))
    }

    /// Waits until then.
    pub(crate) fn wait(&self, until: Time) {
        let late = until.saturating_since(self.clock.now());
        thread::sleep(Duration::from_nanos(late.as_ns()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mb(per_s: u64) -> Rate {
        Rate::from_bytes_per_s(per_s * 1_000_000)
    }

    #[test]
    fn a_limited_disk_takes_its_time() {
        let limit = DiskLimit::new(mb(100));
        let begun = std::time::Instant::now();
        for _ in 0..5 {
            limit.wait(limit.begin(1_000_000));
        }
        assert!(begun.elapsed() >= Duration::from_millis(45));
    }
}
