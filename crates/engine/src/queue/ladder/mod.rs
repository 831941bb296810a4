//! The ladder queue (Tang, Goh and Thng, 2005), with buckets that are a power of two wide.
//!
//! ```text
//! bottom   sorted, popped from its end      times below `frontier`
//! rungs    buckets, not sorted              the last rung divides one bucket of the rung before
//! top      one pile, not sorted             times beyond the window of the first rung
//! ```
//!
//! An event is put where its time belongs, and is sorted only among the few that share its bucket, when
//! that bucket comes next. A bucket that is too full is divided into a rung of its own first. So push and
//! pop are amortized O(1), unless times lie at all scales at once: then O(number of scales).

mod bottom;
mod rung;
mod top;

use slotcast_units::Time;

use self::bottom::Bottom;
use self::rung::Rung;
use self::top::{MAX_BUCKETS, Top};
use super::{EventQueue, Scheduled};

/// A bucket with more events is divided further instead of being sorted.
const BUCKET_LIMIT: usize = 32;

/// A bottom with more events is turned into a rung: an insertion moves half of them.
const BOTTOM_LIMIT: usize = 48;

/// So few events are sorted at once. Well below the limit, so that a queue does not swing between both.
const TINY: usize = 24;

/// The fast queue: a ladder that chooses the width of its buckets from the events that it holds.
///
/// Push and pop are amortized O(1). Events of equal time cost no more than others. Buckets keep their
/// memory: once they have grown to what the model needs, nothing is allocated.
#[derive(Debug, Clone)]
pub struct LadderQueue<E> {
    bottom: Bottom<E>,
    /// Times before this one belong into the bottom.
    frontier: u64,
    /// The first `depth` are in use; the others wait with their memory.
    rungs: Vec<Rung<E>>,
    depth: usize,
    top: Top<E>,
    /// The events of a bucket while they are divided, empty otherwise.
    divided: Vec<Scheduled<E>>,
    len: usize,
}

impl<E> Default for LadderQueue<E> {
    fn default() -> Self {
        LadderQueue {
            bottom: Bottom::default(),
            frontier: 0,
            rungs: Vec::new(),
            depth: 0,
            top: Top::default(),
            divided: Vec::new(),
            len: 0,
        }
    }
}

impl<E: Copy> EventQueue<E> for LadderQueue<E> {
    #[inline]
    fn push(&mut self, scheduled: Scheduled<E>) {
        self.len += 1;
        let ns = scheduled.time.as_ns();
        if ns < self.frontier {
            return self.push_bottom(scheduled);
        }
        // From the widest rung to the finest, as most events are pushed far ahead.
        for rung in &mut self.rungs[..self.depth] {
            if rung.is_open_for(ns) {
                let index = rung.index(ns);
                if index < rung.buckets() {
                    rung.push(index as usize, scheduled);
                } else {
                    self.top.push(scheduled);
                }
                return;
            }
        }
        if self.depth == 0 {
            self.top.push(scheduled);
        } else {
            self.push_bottom(scheduled);
        }
    }

    #[inline]
    fn pop_until(&mut self, limit: Time) -> Option<Scheduled<E>> {
        if self.bottom.is_empty() {
            self.refill();
        }
        let popped = self.bottom.pop_until(limit);
        self.len -= usize::from(popped.is_some());
        popped
    }

    fn len(&self) -> usize {
        self.len
    }
}

impl<E: Copy> LadderQueue<E> {
    fn push_bottom(&mut self, scheduled: Scheduled<E>) {
        self.bottom.insert(scheduled);
        if self.bottom.len() > BOTTOM_LIMIT {
            self.divide_bottom();
        }
    }

    /// Brings the first events to the bottom, which is empty. Leaves it empty only if there are none.
    #[cold]
    #[inline(never)]
    fn refill(&mut self) {
        while self.bottom.is_empty() {
            let Some(rung) = self.rungs[..self.depth].last_mut() else {
                if self.top.is_empty() {
                    // What comes next is put into the top, to be looked at together.
                    self.frontier = 0;
                    return;
                }
                self.open_top();
                continue;
            };
            let Some(index) = rung.first() else {
                self.frontier = rung.end();
                self.depth -= 1;
                continue;
            };
            let (start, end) = rung.bounds(index);
            if rung.len_of(index) > BUCKET_LIMIT && rung.shift() > 0 {
                rung.take(index, &mut self.divided);
                self.divide(start, end);
            } else if rung.shift() == 0 {
                // One time only. Events that come for it while these are handled have later sequence
                // numbers: they queue up in the bucket, or each would have to pass all ties.
                rung.lend(index, self.bottom.events());
                self.bottom.sort();
                self.frontier = start;
            } else {
                rung.take(index, self.bottom.events());
                self.bottom.sort();
                self.frontier = end;
            }
        }
    }

    /// Turns a bottom that has grown too long into a rung, or into the top if there is no rung.
    #[cold]
    fn divide_bottom(&mut self) {
        if self.depth == 0 {
            self.top.append(self.bottom.events());
            self.open_top();
        } else {
            core::mem::swap(self.bottom.events(), &mut self.divided);
            let first = self.divided.last().expect("a long bottom").time.as_ns();
            self.divide(first, self.frontier);
        }
    }

    /// Opens a rung from `start` up to `end` with the events in `divided`.
    fn divide(&mut self, start: u64, end: u64) {
        // Events at `end` itself may be among them: ties that were taken from a bucket of one time.
        let range = (end - start).max(1);
        let wanted = (self.divided.len() / 2).next_power_of_two().min(MAX_BUCKETS);
        let shift = (u64::BITS - (range - 1).leading_zeros()).saturating_sub(wanted.ilog2());
        let rung = open(&mut self.rungs, self.depth);
        rung.open(start, end, shift, (range >> shift) as usize + 1);
        for scheduled in self.divided.drain(..) {
            rung.push(rung.index(scheduled.time.as_ns()) as usize, scheduled);
        }
        self.depth += 1;
        self.frontier = start;
    }

    /// Opens the first rung with the nearest events of the top; sorts them at once if they are few.
    fn open_top(&mut self) {
        if self.top.len() <= TINY {
            self.top.take_all(self.bottom.events());
            self.bottom.sort();
            self.frontier = u64::MAX;
            return;
        }
        let rung = open(&mut self.rungs, self.depth);
        self.top.open(rung);
        self.depth = 1;
        self.frontier = rung.start();
    }
}

/// The rung at `depth`, made if there has been none.
fn open<E>(rungs: &mut Vec<Rung<E>>, depth: usize) -> &mut Rung<E> {
    if rungs.len() == depth {
        rungs.push(Rung::default());
    }
    &mut rungs[depth]
}
