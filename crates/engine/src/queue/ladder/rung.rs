use crate::queue::Scheduled;

/// A row of buckets of equal width, a power of two of ns.
///
/// A bit for each bucket tells whether it holds events, so that a run of empty ones is passed 64 at a
/// time: buckets may be too narrow without harm.
#[derive(Debug, Clone)]
pub(super) struct Rung<E> {
    start: u64,
    /// What lies at or beyond this time belongs to an outer rung, even if a bucket here would reach it.
    end: u64,
    shift: u32,
    /// The first bucket that may hold events, and the time from which on they are taken.
    next: usize,
    open_from: u64,
    /// How many of the buckets are in use.
    used: u64,
    buckets: Vec<Vec<Scheduled<E>>>,
    occupied: Vec<u64>,
}

impl<E> Default for Rung<E> {
    fn default() -> Self {
        Rung {
            start: 0,
            end: 0,
            shift: 0,
            next: 0,
            open_from: 0,
            used: 0,
            buckets: Vec::new(),
            occupied: Vec::new(),
        }
    }
}

impl<E: Copy> Rung<E> {
    /// Starts anew with `buckets` empty buckets of `1 << shift` ns.
    pub(super) fn open(&mut self, start: u64, end: u64, shift: u32, buckets: usize) {
        debug_assert!(self.buckets.iter().all(Vec::is_empty), "a rung that is in use");
        if self.buckets.len() < buckets {
            self.buckets.resize_with(buckets, Vec::new);
            self.occupied.resize(buckets.div_ceil(64), 0);
        }
        (self.start, self.end, self.shift) = (start, end, shift);
        (self.next, self.open_from, self.used) = (0, start, buckets as u64);
    }

    pub(super) fn start(&self) -> u64 {
        self.start
    }

    pub(super) fn end(&self) -> u64 {
        self.end
    }

    pub(super) fn shift(&self) -> u32 {
        self.shift
    }

    /// Whether this rung or one outside of it takes events of this time.
    #[inline]
    pub(super) fn is_open_for(&self, ns: u64) -> bool {
        ns >= self.open_from
    }

    pub(super) fn buckets(&self) -> u64 {
        self.used
    }

    /// The bucket for a time that is not before the start. It may lie beyond the last.
    #[inline]
    pub(super) fn index(&self, ns: u64) -> u64 {
        (ns - self.start) >> self.shift
    }

    #[inline]
    pub(super) fn push(&mut self, index: usize, scheduled: Scheduled<E>) {
        self.occupied[index / 64] |= 1 << (index % 64);
        self.buckets[index].push(scheduled);
    }

    /// The first bucket that holds events. All before it are then closed.
    pub(super) fn first(&mut self) -> Option<usize> {
        let from = self.next / 64;
        let (word, bits) =
            self.occupied[from..].iter().enumerate().find(|(_, bits)| **bits != 0)?;
        Some((from + word) * 64 + bits.trailing_zeros() as usize)
    }

    pub(super) fn len_of(&self, index: usize) -> usize {
        self.buckets[index].len()
    }

    /// From when until before when the times of a bucket are.
    pub(super) fn bounds(&self, index: usize) -> (u64, u64) {
        let start = self.start + ((index as u64) << self.shift);
        (start, start.saturating_add(1 << self.shift).min(self.end))
    }

    /// Takes the events of a bucket in exchange for the memory of an empty `into`, and closes it.
    pub(super) fn take(&mut self, index: usize, into: &mut Vec<Scheduled<E>>) {
        self.lend(index, into);
        self.open_from = self.open_from.saturating_add(1 << self.shift);
    }

    /// As [`take`](Rung::take), but the bucket stays open for more events.
    pub(super) fn lend(&mut self, index: usize, into: &mut Vec<Scheduled<E>>) {
        debug_assert!(into.is_empty());
        core::mem::swap(&mut self.buckets[index], into);
        self.occupied[index / 64] &= !(1 << (index % 64));
        self.next = index;
        self.open_from = self.start + ((index as u64) << self.shift);
    }
}
