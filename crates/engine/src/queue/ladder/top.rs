use super::rung::Rung;
use crate::queue::Scheduled;

/// The events beyond the window of the first rung, in no order.
#[derive(Debug, Clone)]
pub(super) struct Top<E> {
    events: Vec<Scheduled<E>>,
    /// Not later than any of the events.
    earliest: u64,
}

/// How many events are looked at to learn how dense they are.
const SAMPLE: usize = 32;

/// A bucket is as wide as 4 to 8 mean gaps between events: the power of two below this many. Half and
/// twice as wide were both measured slower on PHOLD.
const GAPS_PER_BUCKET: u64 = 8;

/// The bounds of the number of buckets in the first rung. Within them it is a quarter of the number of
/// events: the window then reaches beyond the quarter of the events that its width is taken from, so that
/// an event is looked at a few times before it leaves the top. More buckets would leave the cache.
const MIN_BUCKETS: usize = 16;
pub(super) const MAX_BUCKETS: usize = 1 << 13;

impl<E> Default for Top<E> {
    fn default() -> Self {
        Top { events: Vec::new(), earliest: u64::MAX }
    }
}

impl<E: Copy> Top<E> {
    pub(super) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.events.len()
    }

    #[inline]
    pub(super) fn push(&mut self, scheduled: Scheduled<E>) {
        self.earliest = self.earliest.min(scheduled.time.as_ns());
        self.events.push(scheduled);
    }

    /// Takes in all of `events` and leaves it empty.
    pub(super) fn append(&mut self, events: &mut Vec<Scheduled<E>>) {
        for scheduled in events.drain(..) {
            self.push(scheduled);
        }
    }

    /// Gives out all events in exchange for the memory of an empty `into`.
    pub(super) fn take_all(&mut self, into: &mut Vec<Scheduled<E>>) {
        core::mem::swap(&mut self.events, into);
        self.earliest = u64::MAX;
    }

    /// Opens `rung` at the earliest event, and moves into it what falls into its window.
    pub(super) fn open(&mut self, rung: &mut Rung<E>) {
        let buckets = (self.events.len() / 4).next_power_of_two().clamp(MIN_BUCKETS, MAX_BUCKETS);
        let shift = self.gap().max(1).saturating_mul(GAPS_PER_BUCKET).ilog2();
        let end = u64::try_from(u128::from(self.earliest) + ((buckets as u128) << shift));
        rung.open(self.earliest, end.unwrap_or(u64::MAX), shift, buckets);

        self.earliest = u64::MAX;
        let mut kept = 0;
        for i in 0..self.events.len() {
            let scheduled = self.events[i];
            let ns = scheduled.time.as_ns();
            let index = rung.index(ns);
            if index < rung.buckets() {
                rung.push(index as usize, scheduled);
            } else {
                self.earliest = self.earliest.min(ns);
                self.events[kept] = scheduled;
                kept += 1;
            }
        }
        self.events.truncate(kept);
    }

    /// The mean gap in ns among the nearest quarter of the events, from a sample.
    ///
    /// The far ones do not count: they may be outliers, and more events will come before them.
    fn gap(&self) -> u64 {
        let mut sample = [0; SAMPLE];
        let stride = self.events.len() / SAMPLE + 1;
        let mut taken = 0;
        for scheduled in self.events.iter().step_by(stride) {
            sample[taken] = scheduled.time.as_ns();
            taken += 1;
        }
        let (_, quarter, _) = sample[..taken].select_nth_unstable(taken / 4);
        (*quarter - self.earliest) / (self.events.len() as u64 / 4)
    }
}
