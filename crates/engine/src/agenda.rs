use slotcast_units::{Span, Time};

use crate::event::Event;
use crate::queue::{EventQueue, Scheduled, TIMER_BITS};

/// Names one use of a timer: the sequence number and the slot that it had.
///
/// It stays valid for ever, and names nothing any more once the timer has fired or was cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TimerId {
    sequence: u64,
    slot: u32,
}

/// Where a handler puts the events that follow from the one it handles.
///
/// It is a buffer that the simulation drains into its queue after each handler, so that models do not
/// depend on the type of the queue. It keeps its memory: in the steady state nothing is allocated.
#[derive(Debug)]
pub struct Agenda<E> {
    now: Time,
    next_sequence: u64,
    scheduled: Vec<Scheduled<E>>,
    timers: Timers,
}

impl<E: Event> Agenda<E> {
    pub(crate) fn new() -> Agenda<E> {
        Agenda {
            now: Time::ZERO,
            next_sequence: 0,
            scheduled: Vec::new(),
            timers: Timers::default(),
        }
    }

    /// The time of the event that is being handled.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Schedules `event` at `time`, behind all that is already scheduled for that time.
    ///
    /// Complexity: amortized O(1), and one push into the queue later.
    ///
    /// # Panics
    /// If `time` is in the past.
    #[inline]
    pub fn at(&mut self, time: Time, event: E) {
        let sequence = self.take_sequence(time);
        self.scheduled.push(Scheduled::new(time, sequence, event));
    }

    /// Schedules `event` at `span` after now, like [`at`](Agenda::at).
    ///
    /// # Panics
    /// If that is beyond the end of the clock.
    #[inline]
    pub fn after(&mut self, span: Span, event: E) {
        self.at(self.now + span, event);
    }

    /// Schedules `event` at `time`, like [`at`](Agenda::at), unless it is cancelled before.
    ///
    /// Complexity: amortized O(1), and one push into the queue later.
    ///
    /// # Panics
    /// If `time` is in the past, or if more than 4 194 303 timers are set.
    pub fn timer_at(&mut self, time: Time, event: E) -> TimerId {
        let sequence = self.take_sequence(time);
        let slot = self.timers.set(sequence);
        self.scheduled.push(Scheduled::with_slot(time, sequence, slot, event));
        TimerId { sequence, slot }
    }

    /// Schedules `event` at `span` after now, unless it is cancelled before.
    ///
    /// # Panics
    /// As [`timer_at`](Agenda::timer_at), or if that is beyond the end of the clock.
    pub fn timer_after(&mut self, span: Span, event: E) -> TimerId {
        self.timer_at(self.now + span, event)
    }

    /// Cancels a timer, and says whether it was still to fire. The id of a timer that has fired or was
    /// cancelled is harmless.
    ///
    /// The event of a cancelled timer is not executed, not counted and not in the trace hash. Its entry
    /// stays in the queue until its time comes.
    ///
    /// Complexity: O(1).
    pub fn cancel(&mut self, id: TimerId) -> bool {
        let cancelled = self.timers.clear(id.slot as usize, id.sequence);
        self.timers.cancelled += usize::from(cancelled);
        cancelled
    }

    #[inline]
    fn take_sequence(&mut self, time: Time) -> u64 {
        assert!(time >= self.now, "an event at {time}, which is before {}", self.now);
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        sequence
    }

    /// Moves the clock forward to `now`.
    #[inline]
    pub(crate) fn advance(&mut self, now: Time) {
        debug_assert!(now >= self.now, "the clock runs backwards");
        self.now = now;
    }

    /// Hands what was scheduled to `queue`.
    #[inline]
    pub(crate) fn drain_into(&mut self, queue: &mut impl EventQueue<E>) {
        for scheduled in self.scheduled.drain(..) {
            queue.push(scheduled);
        }
    }

    /// Whether an event from the queue is to be executed: false for the entry of a cancelled timer.
    #[inline]
    pub(crate) fn admit(&mut self, scheduled: &Scheduled<E>) -> bool {
        let slot = scheduled.slot();
        if slot == 0 {
            return true;
        }
        let fires = self.timers.clear(slot, scheduled.sequence());
        self.timers.cancelled -= usize::from(!fires);
        fires
    }

    /// How many events are in the buffer, and how many entries of cancelled timers are somewhere.
    pub(crate) fn buffered_and_cancelled(&self) -> (usize, usize) {
        (self.scheduled.len(), self.timers.cancelled)
    }
}

/// Which timers are set. A slot is free again as soon as its timer fires or is cancelled: the entry that
/// a cancelled timer leaves in the queue is told from its successor by the sequence number.
#[derive(Debug)]
struct Timers {
    /// The sequence number of the timer in each slot; [`FREE`](Timers::FREE) if there is none.
    slots: Vec<u64>,
    free: Vec<u32>,
    /// Entries in the queue or the buffer whose timer was cancelled.
    cancelled: usize,
}

impl Default for Timers {
    fn default() -> Timers {
        // Slot zero is never given out: it marks the events that are no timers.
        Timers { slots: vec![Timers::FREE], free: Vec::new(), cancelled: 0 }
    }
}

impl Timers {
    const FREE: u64 = u64::MAX;

    fn set(&mut self, sequence: u64) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = sequence;
            return slot;
        }
        let slot = self.slots.len();
        assert!(slot < 1 << TIMER_BITS, "more than {} timers are set", (1 << TIMER_BITS) - 1);
        self.slots.push(sequence);
        slot as u32
    }

    /// Frees `slot` if it holds the timer with this sequence number, and says whether it did.
    fn clear(&mut self, slot: usize, sequence: u64) -> bool {
        let held = self.slots[slot] == sequence;
        if held {
            self.slots[slot] = Timers::FREE;
            self.free.push(slot as u32);
        }
        held
    }
}
