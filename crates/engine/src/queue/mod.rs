//! Event queues: a small trait, a plain implementation and a fast one.

mod heap;
mod ladder;

use core::cmp::Ordering;

use slotcast_units::Time;

pub use heap::HeapQueue;
pub use ladder::LadderQueue;

/// An event with the time at which it runs and its place among those of the same time.
#[derive(Debug, Clone, Copy)]
pub struct Scheduled<E> {
    /// When the event runs.
    pub time: Time,
    key: u64,
    /// The event itself.
    pub event: E,
}

/// The low bits of a key that name the slot of a timer; zero for a plain event.
///
/// 22 bits hold 4 million timers at a time and leave 42 bits, 4.4 million million, for the sequence.
pub(crate) const TIMER_BITS: u32 = 22;

impl<E> Scheduled<E> {
    /// An event at `time` with sequence number `sequence`, which must be unique in its queue.
    ///
    /// Complexity: O(1).
    ///
    /// # Panics
    /// If `sequence` needs more than 42 bits.
    pub fn new(time: Time, sequence: u64, event: E) -> Scheduled<E> {
        Scheduled::with_slot(time, sequence, 0, event)
    }

    pub(crate) fn with_slot(time: Time, sequence: u64, slot: u32, event: E) -> Scheduled<E> {
        debug_assert!(slot < 1 << TIMER_BITS);
        assert!(sequence < 1 << (64 - TIMER_BITS), "more events than sequence numbers");
        Scheduled { time, key: sequence << TIMER_BITS | u64::from(slot), event }
    }

    /// The number of events that had been scheduled before this one.
    pub fn sequence(&self) -> u64 {
        self.key >> TIMER_BITS
    }

    /// The slot of the timer that this event is, or zero.
    pub(crate) fn slot(&self) -> usize {
        (self.key & ((1 << TIMER_BITS) - 1)) as usize
    }

    /// Time and key as one number: comparing it is one branchless operation.
    pub(crate) fn rank(&self) -> u128 {
        u128::from(self.time.as_ns()) << 64 | u128::from(self.key)
    }
}

impl<E> PartialEq for Scheduled<E> {
    fn eq(&self, other: &Self) -> bool {
        self.rank() == other.rank()
    }
}

impl<E> Eq for Scheduled<E> {}

impl<E> PartialOrd for Scheduled<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Ordered by (time, sequence number); the event takes no part.
impl<E> Ord for Scheduled<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

/// A queue that gives events back in the order of (time, sequence number).
///
/// Time moves forward: no event may be pushed that is earlier than the last one popped. Sequence
/// numbers are unique, and grow from push to push.
pub trait EventQueue<E>: Default {
    /// Adds an event, which must not be earlier than the last one popped.
    fn push(&mut self, scheduled: Scheduled<E>);

    /// Takes the first event out, if its time is not later than `limit`.
    fn pop_until(&mut self, limit: Time) -> Option<Scheduled<E>>;

    /// Takes the first event out.
    fn pop(&mut self) -> Option<Scheduled<E>> {
        self.pop_until(Time::NEVER)
    }

    /// The number of events in the queue.
    fn len(&self) -> usize;

    /// Whether the queue holds no event.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scheduled_event_of_16_bytes_takes_32() {
        assert_eq!(size_of::<Scheduled<[u64; 2]>>(), 32);
        assert_eq!(size_of::<Scheduled<()>>(), 16);
    }

    #[test]
    fn order_is_time_then_sequence() {
        let at = |ns, sequence| Scheduled::new(Time::from_ns(ns), sequence, ());
        assert!(at(1, 9) < at(2, 0));
        assert!(at(2, 0) < at(2, 1));
        assert_eq!(at(2, 7).sequence(), 7);
    }

    #[test]
    #[should_panic(expected = "sequence numbers")]
    fn a_sequence_beyond_42_bits_is_refused() {
        let _ = Scheduled::new(Time::ZERO, 1 << 42, ());
    }
}
