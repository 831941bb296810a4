//! The same seed gives the same run: on both queues, in one piece or many, watched or not.

use slotcast_engine::{
    Agenda, Event, EventQueue, HeapQueue, LadderQueue, Model, Simulation, Stream, Streams, TimerId,
};
use slotcast_units::{Span, Time};

const NODES: u32 = 90;

/// A small storage cluster: requests at all scales of time, exact ties, timeouts mostly cancelled.
#[derive(Debug, Clone, Copy)]
enum Happening {
    Request { node: u32 },
    Reply { node: u32 },
    Timeout { node: u32 },
    Tick,
}

impl Event for Happening {
    fn trace_word(&self) -> u64 {
        match *self {
            Happening::Request { node } => u64::from(node),
            Happening::Reply { node } => 1 << 32 | u64::from(node),
            Happening::Timeout { node } => 2 << 32 | u64::from(node),
            Happening::Tick => 3 << 32,
        }
    }
}

struct Cluster {
    draws: Vec<Stream>,
    timeouts: Vec<Option<TimerId>>,
    fired: u64,
    cancelled: u64,
}

impl Cluster {
    fn new(seed: u64) -> Cluster {
        let streams = Streams::new(seed);
        Cluster {
            draws: (0..u64::from(NODES)).map(|node| streams.stream("node", node)).collect(),
            timeouts: vec![None; NODES as usize],
            fired: 0,
            cancelled: 0,
        }
    }
}

impl Model for Cluster {
    type Event = Happening;

    fn handle(&mut self, _now: Time, event: Happening, agenda: &mut Agenda<Happening>) {
        match event {
            Happening::Request { node } => {
                let draws = &mut self.draws[node as usize];
                // A few round values, so that replies tie; now and then one that comes too late.
                let delay = Span::from_us([1, 10, 10, 1_000][draws.below(4) as usize]);
                agenda.after(delay, Happening::Reply { node });
                let timeout = agenda.timer_after(Span::from_us(500), Happening::Timeout { node });
                self.timeouts[node as usize] = Some(timeout);
            }
            Happening::Reply { node } => {
                if let Some(timeout) = self.timeouts[node as usize].take() {
                    self.cancelled += u64::from(agenda.cancel(timeout));
                }
                let think = self.draws[node as usize].exponential(Span::from_us(100));
                agenda.after(think, Happening::Request { node });
            }
            Happening::Timeout { .. } => self.fired += 1,
            Happening::Tick => agenda.after(Span::from_us(50), Happening::Tick),
        }
    }
}

fn cluster<Q: EventQueue<Happening>>(seed: u64) -> Simulation<Cluster, Q> {
    let mut simulation = Simulation::with_queue(Cluster::new(seed), Q::default());
    simulation.schedule(|_, agenda| {
        (0..NODES).for_each(|node| agenda.at(Time::ZERO, Happening::Request { node }));
        agenda.at(Time::ZERO, Happening::Tick);
    });
    simulation
}

const END: Time = Time::from_ns(100_000_000);

fn hash<Q: EventQueue<Happening>>(seed: u64) -> u64 {
    let mut simulation = cluster::<Q>(seed);
    simulation.run_until(END);
    simulation.trace_hash()
}

#[test]
fn the_same_seed_gives_the_same_hash_on_both_queues() {
    for seed in 0..20 {
        assert_eq!(hash::<LadderQueue<_>>(seed), hash::<LadderQueue<_>>(seed));
        assert_eq!(hash::<LadderQueue<_>>(seed), hash::<HeapQueue<_>>(seed));
        assert_ne!(hash::<LadderQueue<_>>(seed), hash::<LadderQueue<_>>(seed + 1));
    }
}

#[test]
fn the_hash_of_a_run_does_not_change_from_version_to_version() {
    assert_eq!(hash::<LadderQueue<_>>(1), 0x1d84_85f7_0b36_f86c);
}

#[test]
fn timeouts_are_cancelled_or_fire_but_not_both() {
    let mut simulation = cluster::<LadderQueue<_>>(1);
    let mut seen = 0;
    simulation.run_until_observed(END, &mut |_, _, event| {
        seen += u64::from(matches!(event, Happening::Timeout { .. }));
    });
    let model = simulation.model();
    assert_eq!(model.fired, seen);
    assert!(model.fired > 1_000 && model.cancelled > 1_000);
    // One event for each node and the tick, and the timeouts that are still to fire.
    let timeouts = model.timeouts.iter().flatten().count();
    assert!((NODES as usize + 1..=NODES as usize + 1 + timeouts).contains(&simulation.pending()));
}

#[test]
fn a_run_in_pieces_is_the_run() {
    let whole = hash::<LadderQueue<_>>(3);
    let mut by_time = cluster::<LadderQueue<_>>(3);
    let mut by_count = cluster::<LadderQueue<_>>(3);
    for ms in 1..=100 {
        by_time.run_until(Time::from_ns(ms * 1_000_000));
    }
    while by_count.executed() < by_time.executed() {
        by_count.run(7.min(by_time.executed() - by_count.executed()));
    }
    assert_eq!(by_time.trace_hash(), whole);
    assert_eq!(by_count.trace_hash(), whole);
}

#[test]
fn an_observer_changes_nothing() {
    let mut watched = cluster::<LadderQueue<_>>(4);
    let mut last = (Time::ZERO, 0);
    let mut seen = 0;
    watched.run_until_observed(END, &mut |time, sequence, _| {
        assert!((time, sequence) > last || seen == 0, "out of order");
        last = (time, sequence);
        seen += 1;
    });
    assert_eq!(seen, watched.executed());
    assert_eq!(watched.trace_hash(), hash::<LadderQueue<_>>(4));
}
