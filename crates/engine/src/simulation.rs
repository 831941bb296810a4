use core::fmt;

use slotcast_units::Time;

use crate::agenda::Agenda;
use crate::event::Event;
use crate::queue::{EventQueue, LadderQueue};
use crate::trace::TraceHash;

/// What is simulated: a state, and what each event does to it.
pub trait Model {
    /// The events of this model, usually an enum.
    type Event: Event;

    /// Takes `event`, which happens `now`, and puts what follows from it into `agenda`.
    fn handle(&mut self, now: Time, event: Self::Event, agenda: &mut Agenda<Self::Event>);
}

/// A model with its clock and its event queue.
///
/// Executing an event costs one pop, one call of [`Model::handle`], and one push for each event that
/// follows. Nothing is allocated once the buffers have grown to the size of the run.
pub struct Simulation<M: Model, Q: EventQueue<M::Event> = LadderQueue<<M as Model>::Event>> {
    model: M,
    queue: Q,
    agenda: Agenda<M::Event>,
    executed: u64,
    trace: TraceHash,
}

impl<M: Model> Simulation<M> {
    /// A simulation of `model` at time zero, without events, on the fast queue.
    pub fn new(model: M) -> Simulation<M> {
        Simulation::with_queue(model, LadderQueue::default())
    }
}

impl<M: Model, Q: EventQueue<M::Event>> Simulation<M, Q> {
    /// A simulation of `model` at time zero on a queue of choice, which must be empty.
    ///
    /// # Panics
    /// If `queue` is not empty.
    pub fn with_queue(model: M, queue: Q) -> Simulation<M, Q> {
        assert!(queue.is_empty(), "a simulation gives its events their sequence numbers itself");
        Simulation { model, queue, agenda: Agenda::new(), executed: 0, trace: TraceHash::EMPTY }
    }

    /// Where events can be scheduled from outside of a handler.
    pub fn agenda(&mut self) -> &mut Agenda<M::Event> {
        &mut self.agenda
    }

    /// Calls `start` with the model and the agenda, for a model that schedules its first events itself.
    pub fn schedule<R>(&mut self, start: impl FnOnce(&mut M, &mut Agenda<M::Event>) -> R) -> R {
        start(&mut self.model, &mut self.agenda)
    }

    /// Executes all events up to and at `end`, and moves the clock there.
    ///
    /// With [`Time::NEVER`] it executes all events that there are, and the clock stays at the last of
    /// them. An `end` in the past does nothing.
    pub fn run_until(&mut self, end: Time) {
        self.run_until_observed(end, &mut |_, _, _| {});
    }

    /// As [`run_until`](Simulation::run_until), and shows each event to `observer` before it is handled,
    /// with its time and its sequence number.
    pub fn run_until_observed(
        &mut self,
        end: Time,
        observer: &mut impl FnMut(Time, u64, &M::Event),
    ) {
        self.execute(end, u64::MAX, observer);
        if end < Time::NEVER && end > self.now() {
            self.agenda.advance(end);
        }
    }

    /// Executes the next `max_events` events, or all if there are fewer, and returns how many it were.
    /// The clock stays at the last of them.
    pub fn run(&mut self, max_events: u64) -> u64 {
        self.run_some(Time::NEVER, max_events)
    }

    /// Executes the next `max_events` events up to and at `end`, or all of these if there are fewer, and
    /// returns how many it were. The clock stays at the last of them.
    pub fn run_some(&mut self, end: Time, max_events: u64) -> u64 {
        let before = self.executed;
        self.execute(end, max_events, &mut |_, _, _| {});
        self.executed - before
    }

    fn execute(
        &mut self,
        end: Time,
        max_events: u64,
        observer: &mut impl FnMut(Time, u64, &M::Event),
    ) {
        let mut left = max_events;
        self.agenda.drain_into(&mut self.queue);
        while left > 0
            && let Some(next) = self.queue.pop_until(end)
        {
            if !self.agenda.admit(&next) {
                continue;
            }
            left -= 1;
            self.executed += 1;
            self.trace.add(next.time, next.sequence(), next.event.trace_word());
            observer(next.time, next.sequence(), &next.event);
            self.agenda.advance(next.time);
            self.model.handle(next.time, next.event, &mut self.agenda);
            self.agenda.drain_into(&mut self.queue);
        }
    }

    /// The time on the clock.
    pub fn now(&self) -> Time {
        self.agenda.now()
    }

    /// The number of events that were executed. Cancelled timers are not counted.
    pub fn executed(&self) -> u64 {
        self.executed
    }

    /// A fingerprint of all executed events in their order: time, sequence number and
    /// [`trace_word`](Event::trace_word). The same on every machine for the same run.
    ///
    /// With `fold(a, b)` for the exclusive or of the two halves of the 128-bit product `a * b`, it starts
    /// at zero, and each event gives the next state:
    ///
    /// ```text
    /// place = fold(time in ns ^ 0xa43f6a8885a308d3, sequence ^ 0xb7e151628aed2a6a)
    /// state = fold(state ^ place ^ trace word, 0x6a09e667f3bcc909)
    /// ```
    pub fn trace_hash(&self) -> u64 {
        self.trace.value()
    }

    /// The number of events that are still to be executed. Cancelled timers are not counted.
    pub fn pending(&self) -> usize {
        let (buffered, cancelled) = self.agenda.buffered_and_cancelled();
        self.queue.len() + buffered - cancelled
    }

    /// The model.
    pub fn model(&self) -> &M {
        &self.model
    }

    /// The model, to read its statistics or to reset them after the warm-up.
    pub fn model_mut(&mut self) -> &mut M {
        &mut self.model
    }

    /// The model, without its clock and its events.
    pub fn into_model(self) -> M {
        self.model
    }
}

impl<M: Model, Q: EventQueue<M::Event>> fmt::Debug for Simulation<M, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Simulation")
            .field("now", &self.now())
            .field("executed", &self.executed)
            .field("pending", &self.pending())
            .field("trace_hash", &self.trace_hash())
            .finish_non_exhaustive()
    }
}
