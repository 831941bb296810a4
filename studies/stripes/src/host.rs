use slotcast_engine::{Agenda, FifoStation, Model, Stream, Streams, TimerId};
use slotcast_stripe::{ClientId, Input, Load, Mark, Operation, Outcome, Peer, Stamp};
use slotcast_units::Time;

use super::block::Block;
use super::event::Happening;
use super::machines::{EffectOf, InputOf, Machines};
use super::network::Links;
use super::recorder::Recorder;
use super::scenario::{Scenario, Units};
use super::servers::Servers;
use super::steps::{Step, Trail};
use super::zipf::Zipf;

/// What is under way, and how it came to be.
pub(super) struct Pending<M: Machines> {
    /// Whose effect it is.
    pub(super) machine: u32,
    pub(super) trail: Trail,
    pub(super) what: What<M>,
}

pub(super) enum What<M: Machines> {
    /// From `machine` to another one of the stripe.
    Message {
        to: u32,
        to_peer: Peer,
        message: M::Message,
        has_content: bool,
    },
    Store {
        mark: Mark,
        write: M::Write,
        size: WriteSize,
    },
    Loaded {
        load: Load,
        record: Option<M::Record>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteSize {
    Unit,
    Small,
    Later,
}

/// A machine with its disk.
pub(super) struct Machine<M: Machines> {
    pub(super) peer: Peer,
    pub(super) stripe: u32,
    pub(super) node: u32,
    pub(super) state: M::Node,
    pub(super) disk: M::Disk,
    /// Until when it computes: its effects keep their order.
    pub(super) busy_until: Time,
    /// What was fetched ahead, and from when on it is in memory.
    pub(super) prefetched: Option<(Stamp, Time)>,
    /// How the last message of each client came here that has not been answered.
    pub(super) parked: Vec<(u32, Trail)>,
}

/// A client's load.
struct Workload {
    /// Its machine for each stripe, once it has written there.
    machines: Vec<Option<u32>>,
    choice: Stream,
    started: Time,
}

/// Stripes, their servers and clients, and what carries their messages.
pub(super) struct Host<M: Machines> {
    pub(super) scenario: Scenario,
    places: Vec<Peer>,
    pub(super) machines: Vec<Machine<M>>,
    clients: Vec<Workload>,
    zipf: Zipf,
    pub(super) links: Links<u32>,
    link_change: Option<(Time, TimerId)>,
    lock: FifoStation,
    pub(super) servers: Servers,
    pending: Vec<Option<Pending<M>>>,
    free: Vec<u32>,
    ended: Vec<u32>,
    pub(super) effects: Vec<EffectOf<M>>,
    pub(super) recorder: Recorder,
}

impl<M: Machines> Host<M> {
    /// Stripes that have just been created. The scenario was checked.
    pub(super) fn new(scenario: &Scenario, seed: u64) -> Host<M> {
        let streams = Streams::new(seed);
        let places = M::servers(scenario);
        let (units, clients) =
            (scenario.stripes.data + scenario.stripes.parity, scenario.clients.count);
        let mut host = Host {
            places,
            machines: Vec::new(),
            clients: Vec::new(),
            zipf: Zipf::new(scenario.stripes.count, scenario.clients.zipf),
            links: Links::new(&scenario.network, units + clients),
            link_change: None,
            lock: FifoStation::new(),
            servers: Servers::new(
                scenario,
                units + clients,
                streams.stream("stripes.disk", 0),
                streams.stream("stripes.cache", 0),
            ),
            pending: Vec::new(),
            free: Vec::new(),
            ended: Vec::new(),
            effects: Vec::new(),
            recorder: Recorder::default(),
            scenario: scenario.clone(),
        };
        for stripe in 0..scenario.stripes.count {
            for (place, peer) in (0..).zip(host.places.clone()) {
                let node = if peer == Peer::Lock { 0 } else { (stripe + place) % units };
                host.create(peer, stripe, node);
            }
        }
        for client in 0..clients {
            let machines = vec![None; scenario.stripes.count as usize];
            let choice = streams.stream("stripes.client", u64::from(client));
            host.clients.push(Workload { machines, choice, started: Time::ZERO });
        }
        host
    }

    fn create(&mut self, peer: Peer, stripe: u32, node: u32) -> u32 {
        let (state, disk) = M::created(&self.scenario, peer);
        let index = u32::try_from(self.machines.len()).expect("fewer than 2^32 machines");
        self.machines.push(Machine {
            peer,
            stripe,
            node,
            state,
            disk,
            busy_until: Time::ZERO,
            prefetched: None,
            parked: Vec::new(),
        });
        index
    }

    /// Schedules the first writes: each client begins at a moment of its own within ten small messages and
    /// a transfer, so that they are not in step.
    pub(super) fn start(&mut self, agenda: &mut Agenda<Happening>) {
        let network = &self.scenario.network;
        let range = network.transfer + network.message * 10;
        for (client, workload) in (0..).zip(&mut self.clients) {
            let at = Time::from_ns(workload.choice.below(range.as_ns()));
            agenda.at(at, Happening::Start { client });
        }
    }

    /// The next write of `client`, unless the run is over.
    fn start_write(&mut self, now: Time, client: u32, agenda: &mut Agenda<Happening>) {
        let Scenario { stripes, clients, run, .. } = &self.scenario;
        if now >= Time::ZERO + run.length {
            return;
        }
        let (data, units) = (stripes.data, clients.units);
        let workload = &mut self.clients[client as usize];
        let stripe = self.zipf.draw(&mut workload.choice);
        let unit = match units {
            Units::Own => client % data,
            Units::Any => workload.choice.below(u64::from(data)) as u32,
        };
        let content = Block::new(workload.choice.next_u64());
        workload.started = now;
        let machine = workload.machines[stripe as usize];
        let machine = machine.unwrap_or_else(|| {
            let node = self.scenario.stripes.data + self.scenario.stripes.parity + client;
            let index = self.create(Peer::Client(ClientId(client)), stripe, node);
            self.clients[client as usize].machines[stripe as usize] = Some(index);
            index
        });
        let operation = Operation::Write { unit: unit as u8, content };
        self.input(now, machine, Input::Start(operation), Trail::start(client, now), agenda);
    }

    /// Gives `input`, which came about by `trail`, to a machine, and carries out what it wants.
    fn input(
        &mut self,
        now: Time,
        machine: u32,
        input: InputOf<M>,
        trail: Trail,
        agenda: &mut Agenda<Happening>,
    ) {
        let mut effects = core::mem::take(&mut self.effects);
        M::handle(&mut self.machines[machine as usize].state, now, input, &mut effects);
        self.carry_out(now, machine, trail, &mut effects, agenda);
        self.effects = effects;
    }

    /// The machine of `peer` on the stripe of `machine`, if it is there.
    pub(super) fn peer(&self, machine: u32, peer: Peer) -> Option<u32> {
        let stripe = self.machines[machine as usize].stripe;
        match peer {
            Peer::Client(ClientId(client)) => {
                self.clients.get(client as usize)?.machines[stripe as usize]
            }
            _ => {
                let place = self.places.iter().position(|other| *other == peer)?;
                Some(stripe * self.places.len() as u32 + place as u32)
            }
        }
    }

    /// Keeps something that an event will refer to.
    pub(super) fn keep(&mut self, pending: Pending<M>) -> u32 {
        match self.free.pop() {
            Some(slot) => {
                self.pending[slot as usize] = Some(pending);
                slot
            }
            None => {
                self.pending.push(Some(pending));
                u32::try_from(self.pending.len() - 1).expect("fewer than 2^32 things under way")
            }
        }
    }

    pub(super) fn kept(&mut self, slot: u32) -> &mut Pending<M> {
        self.pending[slot as usize].as_mut().expect("a slot is in use until its last event")
    }

    fn take(&mut self, slot: u32) -> Pending<M> {
        self.free.push(slot);
        self.pending[slot as usize].take().expect("a slot is in use until its last event")
    }

    /// Sees to it that the next end of a message on the network is an event.
    pub(super) fn watch_links(&mut self, agenda: &mut Agenda<Happening>) {
        let next = self.links.next_end();
        if self.link_change.map(|(at, _)| at) != next {
            if let Some((_, timer)) = self.link_change.take() {
                agenda.cancel(timer);
            }
            self.link_change = next.map(|at| (at, agenda.timer_at(at, Happening::LinkChange)));
        }
    }

    fn link_change(&mut self, now: Time, agenda: &mut Agenda<Happening>) {
        self.link_change = None;
        let mut ended = core::mem::take(&mut self.ended);
        self.links.ended(now, &mut ended);
        for slot in ended.drain(..) {
            agenda.after(self.scenario.network.message, Happening::Arrive { slot });
        }
        self.ended = ended;
        self.watch_links(agenda);
    }

    /// A message is there. The lock server needs time for it.
    fn arrive(&mut self, now: Time, slot: u32, agenda: &mut Agenda<Happening>) {
        if let What::Message { to_peer: Peer::Lock, .. } = self.kept(slot).what {
            let served = self.lock.serve(now, self.scenario.lock_service());
            agenda.at(served, Happening::Serve { slot });
        } else {
            self.deliver(now, slot, agenda);
        }
    }

    fn deliver(&mut self, now: Time, slot: u32, agenda: &mut Agenda<Happening>) {
        let Pending { machine, trail, what } = self.take(slot);
        let from = self.machines[machine as usize].peer;
        let What::Message { to, to_peer, message, has_content } = what else { return };
        let step = match (from, to_peer) {
            (Peer::Lock, _) | (_, Peer::Lock) => Step::Lock,
            _ if has_content => Step::Transfer,
            _ => Step::Message,
        };
        let trail = trail.then(step, now);
        if let Peer::Client(ClientId(client)) = from {
            let parked = &mut self.machines[to as usize].parked;
            parked.retain(|(other, _)| *other != client);
            parked.push((client, trail));
        }
        self.input(now, to, Input::Message { from, message }, trail, agenda);
    }

    /// A write is on the disk, or a read is in memory.
    fn disk(&mut self, now: Time, slot: u32, agenda: &mut Agenda<Happening>) {
        let Pending { machine, trail, what } = self.take(slot);
        match what {
            What::Store { mark, write, .. } => {
                M::write(&mut self.machines[machine as usize].disk, write);
                let trail = trail.then(Step::Disk, now);
                self.input(now, machine, Input::Stored(mark), trail, agenda);
            }
            What::Loaded { load, record } => {
                let trail = trail.then(Step::Read, now);
                self.input(now, machine, Input::Loaded { load, record }, trail, agenda);
            }
            What::Message { .. } => {}
        }
    }

    /// An operation of `client` has ended.
    pub(super) fn done(
        &mut self,
        now: Time,
        trail: &Trail,
        client: u32,
        outcome: &Outcome<Block>,
        agenda: &mut Agenda<Happening>,
    ) {
        let started = self.clients[client as usize].started;
        self.recorder.ended(&self.scenario, started, now, trail, client, outcome);
        agenda.at(now, Happening::Start { client });
    }

    /// The warm-up is over.
    pub(super) fn start_measuring(&mut self, now: Time) {
        self.servers.reset(now);
        self.links.start_measuring(now);
    }

    /// What is wrong with the stripes, now that nothing is going on.
    pub(super) fn problem(&self) -> Option<String> {
        let code = self.scenario.code().ok()?;
        let places = self.places.len();
        (0..self.scenario.stripes.count).find_map(|stripe| {
            let servers = &self.machines[stripe as usize * places..][..places];
            if let Some(busy) = servers.iter().find(|server| !M::is_quiet(&server.state)) {
                return Some(format!("stripe {stripe}: {:?} does not come to rest", busy.peer));
            }
            let units = servers.iter().filter_map(|server| Some(M::unit(&server.disk)?.bytes));
            let units: Vec<_> = units.collect();
            let (data, parity) = units.split_at(usize::from(code.data()).min(units.len()));
            let mut numbered = (0..code.parity()).zip(parity);
            let fits = parity.len() == usize::from(code.parity())
                && numbered.all(|(place, unit)| code.encode(place, data) == Some(*unit));
            (!fits).then(|| format!("stripe {stripe}: parity is not that of the data"))
        })
    }
}

impl<M: Machines> Model for Host<M> {
    type Event = Happening;

    fn handle(&mut self, now: Time, event: Happening, agenda: &mut Agenda<Happening>) {
        match event {
            Happening::Start { client } => self.start_write(now, client, agenda),
            Happening::Leave { slot } => self.leave(now, slot, agenda),
            Happening::LinkChange => self.link_change(now, agenda),
            Happening::Arrive { slot } => self.arrive(now, slot, agenda),
            Happening::Serve { slot } => self.deliver(now, slot, agenda),
            Happening::Disk { slot } => self.disk(now, slot, agenda),
            Happening::Wake { machine, timer } => {
                // Whatever follows from it is nobody's write: it would have come without the timer.
                let trail = Trail::start(u32::MAX, now);
                self.input(now, machine, Input::Wake(timer), trail, agenda);
            }
        }
    }
}
