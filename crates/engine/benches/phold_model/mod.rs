//! PHOLD, the usual benchmark of event kernels: each event moves to a process drawn at random, after a
//! span drawn from the exponential distribution. As many events are pending as there are processes.
//!
//! Every variant draws the same numbers in the same order, so all execute the same events.
#![allow(dead_code, reason = "each bench uses some of the variants")]

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use slotcast_engine::{Agenda, Event, EventQueue, Model, Simulation, Stream, Streams};
use slotcast_units::{Span, Time};

const MEAN: Span = Span::from_ms(10);

fn draws() -> Stream {
    Streams::new(1).stream("phold", 0)
}

/// 16 bytes, as the events of a model are.
#[derive(Clone, Copy)]
pub(crate) enum Job {
    Hop { process: u32, hops: u64 },
}

impl Event for Job {
    fn trace_word(&self) -> u64 {
        let Job::Hop { process, .. } = *self;
        u64::from(process)
    }
}

/// A model whose handler is a `match` on the event.
pub(crate) struct ByEnum {
    draws: Stream,
    visits: Vec<u64>,
}

impl Model for ByEnum {
    type Event = Job;

    #[inline]
    fn handle(&mut self, _now: Time, event: Job, agenda: &mut Agenda<Job>) {
        match event {
            Job::Hop { process, hops } => {
                self.visits[process as usize] += 1;
                let process = self.draws.below(self.visits.len() as u64) as u32;
                agenda.after(self.draws.exponential(MEAN), Job::Hop { process, hops: hops + 1 });
            }
        }
    }
}

pub(crate) fn by_enum<Q: EventQueue<Job>>(processes: u32) -> Simulation<ByEnum, Q> {
    let model = ByEnum { draws: draws(), visits: vec![0; processes as usize] };
    start(model, processes, |model| &mut model.draws)
}

/// What the processes of [`ByObject`] have in common.
pub(crate) struct Shared {
    draws: Stream,
    processes: u64,
}

trait Process {
    fn handle(&mut self, event: Job, shared: &mut Shared, agenda: &mut Agenda<Job>);
}

struct Counting {
    visits: u64,
}

impl Process for Counting {
    fn handle(&mut self, event: Job, shared: &mut Shared, agenda: &mut Agenda<Job>) {
        let Job::Hop { hops, .. } = event;
        self.visits += 1;
        let process = shared.draws.below(shared.processes) as u32;
        agenda.after(shared.draws.exponential(MEAN), Job::Hop { process, hops: hops + 1 });
    }
}

/// A model with a boxed object for each process.
pub(crate) struct ByObject {
    shared: Shared,
    processes: Vec<Box<dyn Process>>,
}

impl Model for ByObject {
    type Event = Job;

    #[inline]
    fn handle(&mut self, _now: Time, event: Job, agenda: &mut Agenda<Job>) {
        let Job::Hop { process, .. } = event;
        self.processes[process as usize].handle(event, &mut self.shared, agenda);
    }
}

pub(crate) fn by_object<Q: EventQueue<Job>>(processes: u32) -> Simulation<ByObject, Q> {
    let shared = Shared { draws: draws(), processes: u64::from(processes) };
    let boxed = |_| Box::new(Counting { visits: 0 }) as Box<dyn Process>;
    let model = ByObject { shared, processes: (0..processes).map(boxed).collect() };
    start(model, processes, |model| &mut model.shared.draws)
}

fn start<M: Model<Event = Job>, Q: EventQueue<Job>>(
    model: M,
    processes: u32,
    draws: impl Fn(&mut M) -> &mut Stream,
) -> Simulation<M, Q> {
    let mut simulation = Simulation::with_queue(model, Q::default());
    simulation.schedule(|model, agenda| {
        for process in 0..processes {
            agenda.after(draws(model).exponential(MEAN), Job::Hop { process, hops: 0 });
        }
    });
    simulation
}

/// The baseline: what one writes without a kernel, a loop over the heap of the standard library.
pub(crate) struct PlainLoop {
    draws: Stream,
    visits: Vec<u64>,
    heap: BinaryHeap<Reverse<PlainEvent>>,
    sequence: u64,
}

/// 32 bytes, compared by time and sequence number.
struct PlainEvent {
    time: u64,
    sequence: u64,
    job: Job,
}

const _: () = assert!(size_of::<PlainEvent>() == 32);

impl PartialEq for PlainEvent {
    fn eq(&self, other: &Self) -> bool {
        (self.time, self.sequence) == (other.time, other.sequence)
    }
}

impl Eq for PlainEvent {}

impl PartialOrd for PlainEvent {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for PlainEvent {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.time, self.sequence).cmp(&(other.time, other.sequence))
    }
}

impl PlainLoop {
    pub(crate) fn new(processes: u32) -> PlainLoop {
        let mut plain = PlainLoop {
            draws: draws(),
            visits: vec![0; processes as usize],
            heap: BinaryHeap::new(),
            sequence: 0,
        };
        for process in 0..processes {
            plain.push(0, Job::Hop { process, hops: 0 });
        }
        plain
    }

    fn push(&mut self, now: u64, job: Job) {
        let time = now + self.draws.exponential(MEAN).as_ns();
        self.heap.push(Reverse(PlainEvent { time, sequence: self.sequence, job }));
        self.sequence += 1;
    }

    pub(crate) fn run(&mut self, events: u64) {
        for _ in 0..events {
            let Reverse(PlainEvent { time, job, .. }) = self.heap.pop().expect("an event");
            let Job::Hop { process, hops } = job;
            self.visits[process as usize] += 1;
            let process = self.draws.below(self.visits.len() as u64) as u32;
            self.push(time, Job::Hop { process, hops: hops + 1 });
        }
    }
}
