//! What a node logs for whoever looks after it: what changed, with the numbers of the moment.
//!
//! Everything here follows from states and effects that the machines have anyway: they log nothing. It
//! happens when something changes, and so costs puts and gets nothing.

use std::path::Path;
use std::time::{Duration, Instant};

use slotcast_protocol::{ChunkId, RepairStatistics, TargetId};
use slotcast_store::{DiskError, Standing, Statistics};
use slotcast_units::{Span, Time};
use tracing::{error, info, warn};

/// Lets a few lines of one kind through, and counts the rest: what goes wrong may do so for every chunk.
#[derive(Debug)]
pub(crate) struct Throttle {
    began: Instant,
    told: u32,
    left_out: u64,
}

/// So many lines in so long a time.
const LINES: u32 = 10;
const PERIOD: Duration = Duration::from_secs(10);

impl Throttle {
    pub(crate) fn new() -> Throttle {
        Throttle { began: Instant::now(), told: 0, left_out: 0 }
    }

    /// If a line may be told now: how many were left out since the last one.
    pub(crate) fn admit(&mut self) -> Option<u64> {
        self.admit_at(Instant::now())
    }

    fn admit_at(&mut self, now: Instant) -> Option<u64> {
        if now.saturating_duration_since(self.began) >= PERIOD {
            (self.began, self.told) = (now, 0);
        }
        if self.told == LINES {
            self.left_out += 1;
            return None;
        }
        self.told += 1;
        Some(std::mem::take(&mut self.left_out))
    }
}

/// What is remembered of a target, to notice that something has changed.
#[derive(Debug)]
pub(crate) struct TargetJournal {
    standing: Standing,
    /// The walk under way, and the scrub: their beginnings, and the numbers of then.
    walk: Option<(Time, RepairStatistics)>,
    scrub: Option<(Time, RepairStatistics, Statistics)>,
    lost: Throttle,
}

impl TargetJournal {
    /// Of a target that is being opened.
    pub(crate) fn new() -> TargetJournal {
        TargetJournal {
            standing: Standing::Opening,
            walk: None,
            scrub: None,
            lost: Throttle::new(),
        }
    }

    /// Tells of a change from what was told last.
    pub(crate) fn standing(
        &mut self,
        target: TargetId,
        folder: &Path,
        standing: Standing,
        statistics: impl FnOnce() -> Statistics,
    ) {
        if standing == self.standing {
            return;
        }
        let before = std::mem::replace(&mut self.standing, standing);
        let Statistics { chunks, content_bytes, segments, lost, unreadable_segments, .. } =
            statistics();
        let (target, folder) = (target.0, folder.display());
        match standing {
            Standing::Opening => {}
            Standing::Open if before == Standing::Opening => info!(
                target,
                %folder,
                chunks,
                content_bytes,
                segments,
                lost_chunks = lost,
                unreadable_segments,
                "target open"
            ),
            Standing::Open => info!(target, %folder, chunks, "target has room again"),
            Standing::Full => {
                warn!(target, %folder, chunks, content_bytes, "target full: it refuses puts");
            }
            Standing::ReadOnly(cause @ DiskError::Gone) => {
                error!(target, %folder, chunks, %cause, "target gone: others make up for it");
            }
            Standing::ReadOnly(cause) => {
                error!(target, %folder, chunks, %cause, "target read-only until the next start");
            }
            Standing::Failed(cause) => error!(target, %folder, %cause, "target failed to open"),
        }
    }

    /// Tells that a walk has begun or ended, or a scrub.
    pub(crate) fn repair(
        &mut self,
        now: Time,
        target: TargetId,
        (is_walking, is_scrubbing): (bool, bool),
        numbers: impl FnOnce() -> (RepairStatistics, Statistics),
    ) {
        if is_walking == self.walk.is_some() && is_scrubbing == self.scrub.is_some() {
            return;
        }
        let (statistics, store) = numbers();
        let (target, chunks) = (target.0, store.chunks);
        match self.walk.take_if(|_| !is_walking) {
            None if is_walking && self.walk.is_none() => {
                self.walk = Some((now, statistics));
                info!(target, chunks, "repair walk begun");
            }
            None => {}
            Some((began, before)) => info!(
                target,
                visited_chunks = statistics.visited - before.visited,
                healed_chunks = statistics.healed - before.healed,
                failed_attempts = statistics.failed - before.failed,
                under_replicated_chunks = statistics.under_replicated,
                elapsed_ms = milliseconds(now.saturating_since(began)),
                "repair walk ended"
            ),
        }
        match self.scrub.take_if(|_| !is_scrubbing) {
            None if is_scrubbing && self.scrub.is_none() => {
                self.scrub = Some((now, statistics, store));
                info!(target, chunks, "scrub begun");
            }
            None => {}
            Some((began, before, held)) => info!(
                target,
                read_chunks = statistics.scrubbed - before.scrubbed,
                lost_chunks = store.lost - held.lost,
                elapsed_ms = milliseconds(now.saturating_since(began)),
                "scrub ended"
            ),
        }
    }

    /// Tells of a chunk that is not stored here any more.
    pub(crate) fn lost(&mut self, target: TargetId, folder: &Path, chunk: &ChunkId) {
        if let Some(left_out) = self.lost.admit() {
            let (target, folder) = (target.0, folder.display());
            warn!(target, %folder, %chunk, left_out, "chunk lost: it cannot be read");
        }
    }
}

pub(crate) fn milliseconds(span: Span) -> u64 {
    span.as_ns() / 1_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_repeats_is_counted_instead_of_told() {
        let mut throttle = Throttle::new();
        let start = throttle.began;
        let told = (0..25).filter(|_| throttle.admit_at(start) == Some(0)).count();
        assert_eq!(told, LINES as usize);
        assert_eq!(throttle.admit_at(start + PERIOD), Some(15));
        assert_eq!(throttle.admit_at(start + PERIOD), Some(0));
    }
}
