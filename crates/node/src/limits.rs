//! Limits that a node keeps although its disks and its network could do more: to share them with somebody,
//! or to have a cluster of known rates. And those of what clients may take of it.

use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

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
}

/// Slower is a mistake: a chunk would take minutes.
pub const LEAST_RATE: Rate = Rate::from_bps(1_000_000);

/// Shorter is a mistake: a header on its way would be cut off.
pub const LEAST_IDLE_TIMEOUT: Span = Span::from_secs(1);

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
