//! The event kernel of a deterministic discrete-event simulator.
//!
//! A [`Model`] handles events one at a time, in the order of (time, sequence number), and schedules
//! more through its [`Agenda`]. A [`Simulation`] owns the model, the clock and the event queue:
//!
//! ```
//! use slotcast_engine::{Agenda, Event, Model, Simulation};
//! use slotcast_units::{Span, Time};
//!
//! /// One tick of a clock.
//! #[derive(Clone, Copy)]
//! struct Tick;
//!
//! impl Event for Tick {
//!     fn trace_word(&self) -> u64 {
//!         0
//!     }
//! }
//!
//! /// A clock that ticks every 10 us.
//! struct Clock {
//!     ticks: u64,
//! }
//!
//! impl Model for Clock {
//!     type Event = Tick;
//!     fn handle(&mut self, _now: Time, tick: Tick, agenda: &mut Agenda<Tick>) {
//!         self.ticks += 1;
//!         agenda.after(Span::from_us(10), tick);
//!     }
//! }
//!
//! let mut simulation = Simulation::new(Clock { ticks: 0 });
//! simulation.agenda().at(Time::ZERO, Tick);
//! simulation.run_until(Time::from_ns(1_000_000));
//! assert_eq!(simulation.model().ticks, 101);
//! ```
//!
//! What the kernel promises:
//!
//! * **Exact order.** Events at the same time run in the order in which they were scheduled. Any two
//!   [`EventQueue`]s give the same run; [`HeapQueue`] is the plain one, [`LadderQueue`] the fast one.
//! * **A fingerprint.** [`Simulation::trace_hash`] folds every executed event; two runs with the same
//!   hash did the same.
//! * **Named random streams.** A new consumer of [`Streams`] does not shift the draws of the others.
//! * **Statistics without events.** A [`FifoStation`] and the other [`Resource`]s know their utilisation
//!   and queue length exactly, from the times that they were given.
//!
//! One run is one thread, and nothing here reads a clock or a seed of the machine.

mod agenda;
mod event;
mod pool;
mod queue;
mod scenario_error;
mod simulation;
mod stats;
mod trace;

pub use agenda::{Agenda, TimerId};
pub use event::Event;
pub use pool::Pool;
pub use queue::{EventQueue, HeapQueue, LadderQueue, Scheduled};
pub use scenario_error::ScenarioError;
pub use simulation::{Model, Simulation};
pub use slotcast_random::{Stream, Streams};
pub use stats::{
    Counter, FifoStation, Gauge, Latency, Little, PooledLatencies, Queueing, Resource,
    SortedLatencies, Tally, Usage,
};
