//! Limits that a node keeps although its disks and its network could do more: to share them with somebody,
//! or to have a cluster of known rates. And those of what clients may take of it.

use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use slotcast_protocol::TargetId;
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

/// A bucket for chunks that leave this node, or come to it.
pub(crate) fn link_bucket(rate: Rate) -> TokenBucket {
    TokenBucket::new(rate, Span::ZERO)
}

/// The links of a cluster in one process: one for the initiator and one for each target, each way. Chunks are
/// paced at the granted rate, and no link carries more than its own.
#[derive(Debug)]
pub(crate) struct Links {
    granted: Rate,
    trip: Span,
    initiator: Link,
    targets: Vec<Link>,
}

#[derive(Debug, Clone, Copy)]
struct Link {
    out: TokenBucket,
    into: TokenBucket,
}

impl Links {
    pub(crate) fn new(rate: Rate, granted: Rate, trip: Span, targets: usize) -> Links {
        let link = Link { out: link_bucket(rate), into: link_bucket(rate) };
        Links { granted, trip, initiator: link, targets: vec![link; targets] }
    }

    /// A chunk leaves the initiator at `start`; when it has come to each of `to`. Multicast: it leaves once.
    pub(crate) fn put(
        &mut self,
        start: Time,
        size: Size,
        to: impl Iterator<Item = TargetId>,
    ) -> Vec<(TargetId, Time)> {
        let sent = self.initiator.out.take(start, size).max(start + self.granted.time_for(size));
        let arrive = |target: TargetId| {
            let link = &mut self.targets[target.0 as usize];
            (target, sent.max(link.into.take(start, size)) + self.trip)
        };
        to.map(arrive).collect()
    }

    /// A chunk leaves `from` at `start`; when it has come to the initiator.
    pub(crate) fn get(&mut self, start: Time, size: Size, from: TargetId) -> Time {
        let link = &mut self.targets[from.0 as usize];
        let sent = link.out.take(start, size).max(start + self.granted.time_for(size));
        sent.max(self.initiator.into.take(start, size)) + self.trip
    }

    /// How long a chunk that left at `start` and came at `now` was under way.
    pub(crate) fn took(&self, start: Time, now: Time) -> Span {
        now.saturating_since(start).saturating_sub(self.trip)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mb(per_s: u64) -> Rate {
        Rate::from_bytes_per_s(per_s * 1_000_000)
    }

    const CHUNK: Size = Size::from_bytes(1_000_000);
    const START: Time = Time::from_ns(1_000_000_000);

    #[test]
    fn a_chunk_takes_as_long_as_was_granted_and_the_link_allows() {
        let trip = Span::from_us(10);
        let mut links = Links::new(mb(100), mb(90), trip, 4);
        let targets = [TargetId(1), TargetId(3)];
        let arrived = links.put(START, CHUNK, targets.into_iter());
        let paced = START + mb(90).time_for(CHUNK) + trip;
        assert_eq!(arrived, targets.map(|target| (target, paced)));
        // Another one at the same time finds the link of the initiator taken; a get goes the other way.
        let other = links.put(START, CHUNK, [TargetId(2)].into_iter());
        assert_eq!(other, [(TargetId(2), START + Span::from_ms(20) + trip)]);
        assert_eq!(links.get(START, CHUNK, TargetId(2)), paced);
        // The link of a target is taken by what others sent it.
        let third = links.get(START + Span::from_ms(5), CHUNK, TargetId(2));
        assert_eq!(third, START + Span::from_ms(20) + trip);
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
