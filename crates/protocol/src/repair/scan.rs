//! A scan of all chunks of a target, and when it will have ended.

use core::ops::Bound;

use slotcast_units::{Span, Time};

use super::{Inventory, Repair};
use crate::ids::ChunkId;

/// How far a scan is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RepairProgress {
    /// Chunks visited in this scan.
    pub visited: u64,
    /// Chunks healed in this scan.
    pub healed: u64,
    /// Chunks that were found to have too few replicas in this scan.
    pub found: u64,
    /// Of these, the ones that wait to be put again.
    pub waiting: u64,
    /// How long it has taken.
    pub elapsed: Span,
    /// Its pace of late.
    pub pace: RepairPace,
}

/// What was done of late: within the last minute or two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RepairPace {
    /// In so much time
    pub span: Span,
    /// so many chunks were visited
    pub visited: u64,
    /// so many put again, or tried to,
    pub put_again: u64,
    /// and so many healed by that.
    pub healed: u64,
}

impl RepairProgress {
    /// How long it will still take for the rest of `held` chunks, if as many of the others have too few
    /// replicas as of those visited, and its pace stays; `None` before the first.
    pub fn remaining(&self, held: u64) -> Option<Span> {
        let left = u128::from(held.saturating_sub(self.visited));
        let visited = u128::from(self.visited);
        let of_left = (left * u128::from(self.found)).checked_div(visited)?;
        let to_put = u128::from(self.waiting) + of_left;
        let time_for = |work: u128, done: u64| {
            let time = u128::from(self.pace.span.as_ns()) * work;
            time.checked_div(u128::from(done)).and_then(|ns| u64::try_from(ns).ok())
        };
        // Both go on side by side.
        let puts = if to_put > 0 { time_for(to_put, self.pace.put_again) } else { None };
        let visits = if left > 0 { time_for(left, self.pace.visited) } else { Some(0) };
        visits.max(puts).map(Span::from_ns)
    }
}

/// The pace is taken of the stretch under way and the one before.
const STRETCH: Span = Span::from_secs(60);

#[derive(Debug, Clone, Copy)]
struct Mark {
    at: Time,
    visited: u64,
    put_again: u64,
    healed: u64,
}

/// A scan of all chunks, from the place of a target's position on, and round to it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scan {
    start: ChunkId,
    next: Bound<ChunkId>,
    /// It has passed the last name and goes on from the first.
    pub(super) wrapped: bool,
    /// It has no more to visit.
    pub(super) over: bool,
    began: Time,
    pub(super) visited: u64,
    pub(super) healed: u64,
    pub(super) found: u64,
    pub(super) put_again: u64,
    /// Where the stretch before began, and the one under way.
    marks: [Mark; 2],
}

impl Scan {
    pub(super) fn new(now: Time, start: ChunkId) -> Scan {
        let mark = Mark { at: now, visited: 0, put_again: 0, healed: 0 };
        Scan {
            start,
            next: Bound::Included(start),
            wrapped: false,
            over: false,
            began: now,
            visited: 0,
            healed: 0,
            found: 0,
            put_again: 0,
            marks: [mark; 2],
        }
    }

    /// The next chunk, which is not visited by that; none if there is no more.
    pub(super) fn peek(&mut self, inventory: &impl Inventory) -> Option<ChunkId> {
        if self.over {
            return None;
        }
        loop {
            match inventory.chunk_from(self.next) {
                Some(chunk) if !self.wrapped || chunk < self.start => return Some(chunk),
                None if !self.wrapped => (self.wrapped, self.next) = (true, Bound::Unbounded),
                _ => {
                    self.over = true;
                    return None;
                }
            }
        }
    }

    /// What was peeked at is taken up.
    pub(super) fn take(&mut self, chunk: ChunkId) {
        self.next = Bound::Excluded(chunk);
    }

    /// So many of what was taken up are visited.
    pub(super) fn visit(&mut self, now: Time, chunks: u64) {
        self.visited += chunks;
        self.mark(now);
    }

    /// The range up to this end is passed: nothing of it has to be looked at.
    pub(super) fn pass(&mut self, end: Bound<ChunkId>) {
        match end {
            Bound::Excluded(next) | Bound::Included(next) => self.next = Bound::Included(next),
            // It was the last range.
            Bound::Unbounded if self.wrapped => self.over = true,
            Bound::Unbounded => (self.wrapped, self.next) = (true, Bound::Unbounded),
        }
    }

    /// An attempt to put a chunk again has ended.
    pub(super) fn tried(&mut self, now: Time, has_healed: bool) {
        self.put_again += 1;
        self.healed += u64::from(has_healed);
        self.mark(now);
    }

    fn mark(&mut self, now: Time) {
        if now.saturating_since(self.marks[1].at) >= STRETCH {
            let Scan { visited, put_again, healed, .. } = *self;
            self.marks = [self.marks[1], Mark { at: now, visited, put_again, healed }];
        }
    }

    /// `waiting` were found and are not put again yet.
    pub(super) fn progress(&self, now: Time, waiting: u64) -> RepairProgress {
        let since = self.marks[0];
        RepairProgress {
            visited: self.visited,
            healed: self.healed,
            found: self.found,
            waiting,
            elapsed: now.saturating_since(self.began),
            pace: RepairPace {
                span: now.saturating_since(since.at),
                visited: self.visited - since.visited,
                put_again: self.put_again - since.put_again,
                healed: self.healed - since.healed,
            },
        }
    }
}

impl Repair {
    /// Whether a scan is under way. Otherwise it need not be told of puts by somebody else.
    pub fn is_scanning(&self) -> bool {
        self.scan.is_some()
    }

    /// Whether it is about to scan again, since somebody has not answered who is not known to be down.
    pub fn scans_again(&self) -> bool {
        self.scans_again && self.scan.is_none()
    }

    pub(super) fn changed(&mut self, now: Time, inventory: &impl Inventory) {
        // What was heard before is not true any more.
        self.heard.clear();
        self.owes_scan = true;
        self.again = self.scan.is_some();
        if !self.again {
            self.begin(now, inventory);
        }
    }

    pub(super) fn begin(&mut self, now: Time, inventory: &impl Inventory) {
        self.owes_scan |= core::mem::take(&mut self.has_forgotten);
        self.scans_again = false;
        self.heard.clear();
        self.rested = Time::NEVER;
        self.ranges.begin(&self.start, inventory.range_sum(0, 0).chunks);
        let is_believed = |at: Time| now < at + self.rules.belief;
        self.surveys.believes = !self.is_draining && self.looked_at_all.is_some_and(is_believed);
        self.scan = Some(Scan::new(now, self.start));
        if self.scrub.is_none() && self.scrub_at == Time::NEVER {
            self.scrub_at = now + self.rules.first_scrub;
        }
    }

    pub(super) fn end_scan(&mut self, now: Time) {
        self.statistics.scans += 1;
        self.scan = None;
        self.has_scanned = !self.again && !self.has_forgotten;
        self.owes_scan = !self.has_scanned;
        let is_left = self.scans_again || self.is_draining && self.has_forgotten;
        let rest = match (self.again, is_left) {
            (true, _) => Span::ZERO,
            (false, true) => self.rules.retry,
            (false, false) => self.rules.period,
        };
        if !self.surveys.believes && !self.again {
            self.looked_at_all = Some(now);
        }
        self.again = false;
        self.rested = now + rest;
    }
}
