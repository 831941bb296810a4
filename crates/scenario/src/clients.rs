//! The load: what each initiator asks for, and when.

use std::collections::VecDeque;

use slotcast_engine::{Gauge, Stream, Streams};
use slotcast_protocol::ChunkId;
use slotcast_units::{Size, Span, Time};

use crate::report::Operation;
use crate::scenario::{Load, Scenario, Workload};

/// A request that an initiator is to start.
#[derive(Debug, Clone, Copy)]
pub struct Job {
    /// A put or a get.
    pub operation: Operation,
    /// When it was asked for; its latency counts from here.
    pub asked: Time,
}

/// The load of one initiator.
#[derive(Debug)]
pub struct Client {
    random: Stream,
    arrivals: Stream,
    sizes: Stream,
    in_flight: u32,
    /// Open loop: arrivals that wait for a place in the window.
    waiting: VecDeque<Time>,
}

impl Client {
    /// A chunk that was never seen before.
    pub fn new_chunk(&mut self) -> ChunkId {
        random_chunk(&mut self.random)
    }

    /// A number below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.random.below(n)
    }
}

/// A name as the hash of new content would be.
pub fn random_chunk(random: &mut Stream) -> ChunkId {
    let mut name = [0; 32];
    for word in name.chunks_exact_mut(8) {
        word.copy_from_slice(&random.next_u64().to_le_bytes());
    }
    ChunkId(name)
}

/// The load of all initiators.
#[derive(Debug)]
pub struct Clients {
    clients: Vec<Client>,
    spec: Workload,
    mean_gap: Span,
    /// Requests that were asked for.
    asked_for: Gauge,
}

impl Clients {
    /// Every initiator's load, as `scenario` says.
    pub fn new(scenario: &Scenario, streams: &Streams) -> Clients {
        let client = |i: u32| Client {
            random: streams.stream("requests", u64::from(i)),
            arrivals: streams.stream("arrivals", u64::from(i)),
            sizes: streams.stream("sizes", u64::from(i)),
            in_flight: 0,
            waiting: VecDeque::new(),
        };
        let spec = scenario.workload.clone();
        let initiators = u64::from(scenario.cluster.initiators);
        let mean_gap = Span::from_secs_f64(initiators as f64 / spec.arrivals_per_s.max(1) as f64);
        Clients {
            clients: (0..scenario.cluster.initiators).map(client).collect(),
            spec,
            mean_gap,
            asked_for: Gauge::new(),
        }
    }

    /// Size of a chunk.
    pub fn chunk_size(&self) -> Size {
        self.spec.chunk_size
    }

    /// The load of one initiator.
    pub fn client(&mut self, initiator: u32) -> &mut Client {
        &mut self.clients[initiator as usize]
    }

    /// Whether requests arrive whatever is under way (an open loop).
    pub fn is_open(&self) -> bool {
        self.spec.load == Load::Open
    }

    /// Open loop: time from one arrival at `initiator` to the next.
    pub fn next_gap(&mut self, initiator: u32) -> Span {
        let mean = self.mean_gap;
        self.client(initiator).arrivals.exponential(mean)
    }

    /// Closed loop: when `initiator` starts.
    pub fn start_delay(&mut self, initiator: u32) -> Span {
        let turn = self.spec.start_interval * u64::from(initiator);
        match self.spec.start_spread.as_ns() {
            0 => turn,
            spread => turn + Span::from_ns(self.client(initiator).arrivals.below(spread)),
        }
    }

    /// Open loop: a request arrives.
    pub fn arrive(&mut self, initiator: u32, now: Time) {
        self.client(initiator).waiting.push_back(now);
        self.asked_for.add(now, 1);
    }

    /// The next request that `initiator` may start now, if any. `stored` chunks can be fetched.
    pub fn next(&mut self, initiator: u32, now: Time, stored: usize) -> Option<Job> {
        let (load, window, gets) = (self.spec.load, self.spec.window, self.spec.get_share.as_f64());
        let client = self.client(initiator);
        if client.in_flight >= window {
            return None;
        }
        let asked = match load {
            Load::Closed => now,
            Load::Open => client.waiting.pop_front()?,
        };
        client.in_flight += 1;
        let is_get = gets > 0.0 && stored > 0 && client.random.chance(gets);
        let operation = if is_get { Operation::Get } else { Operation::Put };
        if load == Load::Closed {
            self.asked_for.add(now, 1);
        }
        Some(Job { operation, asked })
    }

    /// No client asks for anything more.
    pub fn close(&mut self) {
        self.spec.window = 0;
    }

    /// The size of the object that `initiator` puts next.
    pub fn object_size(&mut self, initiator: u32) -> Size {
        if self.spec.mix.is_none() {
            return self.spec.chunk_size;
        }
        let mix = self.spec.mix;
        mix.pick(self.client(initiator).sizes.below(1_000_000))
    }

    /// Takes a place in the window of `initiator`, if one is free, for one more chunk of its object.
    pub fn take_place(&mut self, initiator: u32) -> bool {
        let window = self.spec.window;
        let client = self.client(initiator);
        let is_free = client.in_flight < window;
        client.in_flight += u32::from(is_free);
        is_free
    }

    /// A chunk of `initiator` is there, or given up: its place in the window is free.
    pub fn ended(&mut self, initiator: u32) {
        self.client(initiator).in_flight -= 1;
    }

    /// How many requests were asked for, over time.
    pub fn asked_for(&mut self) -> &mut Gauge {
        &mut self.asked_for
    }

    /// When each arrival came that still waits for a place in a window.
    pub fn waiting(&self) -> impl Iterator<Item = Time> {
        self.clients.iter().flat_map(|client| client.waiting.iter().copied())
    }
}
