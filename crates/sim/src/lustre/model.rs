//! The file system as a whole: what each event does.

use slotcast_engine::{Agenda, FifoStation, Model, Stream, Streams};
use slotcast_schedule::{ClassId, ClientId, Direction, ObjectId, Request, RequestId, TargetId};
use slotcast_units::{Size, Span, Time};

use super::cache::Waiting;
use super::client::{Client, Then};
use super::deadlines::Patience;
use super::disk::{around, member};
use super::elevator::{DiskRequest, Plug};
use super::event::LustreEvent;
use super::measure::Measured;
use super::nic::Nic;
use super::ost::Ost;
use super::scenario::{Files, Job, LustreScenario, Work};
use super::striping::{Extent, Striping};
use crate::pool::Pool;

/// A remote procedure call: a read or write of a part of one object.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rpc {
    client: u32,
    ost: u32,
    /// Which of the file's objects.
    object: u64,
    request: Request,
    sent: Time,
    deadline: Time,
    early_replies: u32,
    is_first: bool,
    /// Bytes whose place is known, and the piece that was mapped last.
    mapped: u64,
    piece: (u64, u64),
    /// Pieces under way to or from the disk.
    pieces: u32,
}

/// What a message is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Open,
    Opened,
    Request,
    /// A server asks for the data of a write.
    Get,
    /// A server has the data of a read, and the client is ready for it.
    Put,
    Ready,
    /// The data of a write or of a read.
    Bulk,
    Reply,
    /// More time for the client.
    Early(Time),
}

#[derive(Debug, Clone, Copy)]
struct Message {
    kind: Kind,
    /// The RPC, or the client for opens.
    about: u32,
    to: u32,
    span: Span,
    is_long: bool,
}

/// Messages up to a packet take their place in the switch as a whole.
const PACKET: Size = Size::from_kib(4);

/// A Lustre file system with its clients.
#[derive(Debug)]
pub(crate) struct LustreModel {
    scenario: LustreScenario,
    striping: Striping,
    patience: Patience,
    clients: Vec<Client>,
    /// Clients of each job that have not finished what they are at.
    busy: Vec<u32>,
    osts: Vec<Ost>,
    mdt: FifoStation,
    /// Of clients, OSTs and the MDT, in this order.
    nics: Vec<Nic>,
    rpcs: Pool<Rpc>,
    messages: Pool<Message>,
    random: Stream,
    pub(super) measured: Measured,
    /// Reused: what a client sends.
    extents: Vec<Extent>,
}

impl LustreModel {
    pub(crate) fn new(scenario: &LustreScenario, seed: u64) -> LustreModel {
        let streams = Streams::new(seed);
        let osts = scenario.ost.count;
        let stripes = match scenario.layout.stripe_count {
            0 => osts,
            count => count.min(osts),
        };
        let size = scenario.layout.stripe_size.as_bytes();
        let striping = Striping { count: u64::from(stripes), size };
        let mut clients = Vec::new();
        for (index, job) in (0..).zip(&scenario.jobs) {
            for nth in 0..u64::from(job.clients) {
                let number = clients.len() as u64;
                let part = job.size.as_bytes();
                let (file, start) = match job.files {
                    Files::PerProcess => (number, 0),
                    Files::Shared => (u64::MAX - u64::from(index), nth * part),
                };
                let first_ost = match job.files {
                    Files::PerProcess => number % u64::from(osts),
                    Files::Shared => u64::from(index) % u64::from(osts),
                };
                let first_ost = u32::try_from(first_ost).expect("fewer OSTs than 2^32");
                let part = (start, start + part);
                clients.push(Client::new(index, file, first_ost, part, &striping));
            }
        }
        let nodes = clients.len() + osts as usize + 1;
        LustreModel {
            striping,
            patience: Patience::new(&scenario.timeout),
            busy: scenario.jobs.iter().map(|job| job.clients).collect(),
            osts: (0..osts).map(|index| Ost::new(index, scenario, &streams)).collect(),
            mdt: FifoStation::with_servers(scenario.mdt.threads as usize),
            nics: vec![Nic::default(); nodes],
            rpcs: Pool::new(),
            messages: Pool::new(),
            random: streams.stream("network", 0),
            measured: Measured::new(scenario),
            extents: Vec::new(),
            clients,
            scenario: scenario.clone(),
        }
    }

    /// Schedules the start of every client, and lays out files that are only read.
    pub(crate) fn start(&mut self, agenda: &mut Agenda<LustreEvent>) {
        let mut client = 0;
        for index in 0..self.scenario.jobs.len() {
            let job = self.scenario.jobs[index].clone();
            for nth in 0..job.clients {
                if job.work == Work::Read {
                    self.lay_out(client, &job, nth);
                }
                let at = Time::ZERO + self.start_of(&job, nth);
                agenda.at(at, LustreEvent::Begin { client });
                client += 1;
            }
        }
    }

    fn start_of(&mut self, job: &Job, nth: u32) -> Span {
        let mut drawn = |within: Span| match within {
            Span::ZERO => Span::ZERO,
            within => Span::from_ns(self.random.below(within.as_ns())),
        };
        let set = job.skew * u64::from(nth % job.sets);
        let set = set + drawn(set / 10);
        job.start + set + drawn(job.spread) + drawn(self.scenario.client.start_spread)
    }

    fn lay_out(&mut self, client: u32, job: &Job, nth: u32) {
        let whole = match job.files {
            Files::PerProcess => job.size.as_bytes(),
            Files::Shared if nth == 0 => job.size.as_bytes() * u64::from(job.clients),
            Files::Shared => return,
        };
        let (file, first) = self.file(client);
        for object in 0..self.striping.count {
            let width = self.striping.size * self.striping.count;
            let rest = (whole % width).saturating_sub(object * self.striping.size);
            let size = whole / width * self.striping.size + rest.min(self.striping.size);
            let ost = self.ost_of(first, object);
            self.osts[ost as usize].lay_out(file, size);
        }
    }

    fn file(&self, client: u32) -> (u64, u32) {
        let client = &self.clients[client as usize];
        (client.file, client.first_ost)
    }

    fn ost_of(&self, first: u32, object: u64) -> u32 {
        let index = (u64::from(first) + object) % self.osts.len() as u64;
        u32::try_from(index).expect("fewer OSTs than 2^32")
    }

    fn node_of_ost(&self, ost: u32) -> u32 {
        self.clients.len() as u32 + ost
    }

    fn node_of_mdt(&self) -> u32 {
        self.nics.len() as u32 - 1
    }

    // ---- messages ----

    fn post(
        &mut self,
        kind: Kind,
        about: u32,
        (from, to): (u32, u32),
        size: Size,
        agenda: &mut Agenda<LustreEvent>,
    ) {
        let network = &self.scenario.network;
        let span = network.rate.time_for(size);
        let is_long = size > PACKET;
        let (first, last) = self.nics[from as usize].send(agenda.now(), span);
        let latency = around(network.latency, network.latency / 10, &mut self.random);
        let message = self.messages.insert(Message { kind, about, to, span, is_long }, 1);
        if is_long {
            agenda.at(first + latency, LustreEvent::Flow { message });
        }
        agenda.at(last + latency, LustreEvent::Arrive { message });
    }

    /// A message without data.
    fn tell(&mut self, kind: Kind, about: u32, way: (u32, u32), agenda: &mut Agenda<LustreEvent>) {
        self.post(kind, about, way, self.scenario.network.message, agenda);
    }

    fn arrive(&mut self, now: Time, message: u32, agenda: &mut Agenda<LustreEvent>) {
        let Message { to, span, is_long, .. } = *self.messages.get(message);
        let nic = &mut self.nics[to as usize];
        let there = if is_long { nic.flow_ends(now) } else { nic.receive(now, span) };
        let interrupt = self.scenario.network.interrupt;
        let interrupt = around(interrupt, interrupt / 10, &mut self.random);
        agenda.at(there + interrupt, LustreEvent::Deliver { message });
    }

    fn deliver(&mut self, now: Time, message: u32, agenda: &mut Agenda<LustreEvent>) {
        let Message { kind, about, .. } = *self.messages.get(message);
        self.messages.release(message);
        match kind {
            Kind::Open => {
                let time = self.scenario.mdt.open_time;
                let done = self.mdt.serve(now, around(time, time / 10, &mut self.random));
                // The answer leaves when the thread is done; no other message of the MDT is in between.
                let way = (self.node_of_mdt(), about);
                let network = &self.scenario.network;
                let span = network.rate.time_for(network.message);
                let told = Message { kind: Kind::Opened, about, to: way.1, span, is_long: false };
                let told = self.messages.insert(told, 1);
                agenda.at(done + span + network.latency, LustreEvent::Arrive { message: told });
            }
            Kind::Opened => {
                self.measured.opened(now);
                self.begin(now, about, agenda);
            }
            Kind::Request => self.come(now, about, agenda),
            Kind::Get => {
                let rpc = *self.rpcs.get(about);
                let way = (rpc.client, self.node_of_ost(rpc.ost));
                self.post(Kind::Bulk, about, way, rpc.request.length, agenda);
            }
            Kind::Put => {
                let rpc = self.rpcs.get(about);
                let way = (rpc.client, self.node_of_ost(rpc.ost));
                self.tell(Kind::Ready, about, way, agenda);
            }
            Kind::Ready => {
                let rpc = *self.rpcs.get(about);
                let way = (self.node_of_ost(rpc.ost), rpc.client);
                self.post(Kind::Bulk, about, way, rpc.request.length, agenda);
            }
            Kind::Bulk => match self.rpcs.get(about).request.direction {
                Direction::Write => self.map(about, agenda),
                Direction::Read => {
                    self.executed(now, about, agenda);
                    self.answered(now, about, agenda);
                }
            },
            Kind::Reply => self.answered(now, about, agenda),
            Kind::Early(until) => {
                // The RPC may have been answered in between; then nobody holds the message's number.
                let rpc = self.rpcs.get_mut(about);
                if now <= rpc.deadline {
                    rpc.deadline = rpc.deadline.max(until);
                }
                self.rpcs.release(about);
            }
        }
    }

    // ---- clients ----

    fn begin_job(&mut self, now: Time, client: u32, agenda: &mut Agenda<LustreEvent>) {
        let is_new = self.clients[client as usize].sent == 0;
        if is_new && self.scenario.mdt.opens {
            self.measured.opens(now);
            self.clients[client as usize].began = now;
            let way = (client, self.node_of_mdt());
            self.tell(Kind::Open, client, way, agenda);
        } else {
            self.begin(now, client, agenda);
        }
    }

    fn begin(&mut self, now: Time, client: u32, agenda: &mut Agenda<LustreEvent>) {
        let state = &mut self.clients[client as usize];
        let job = &self.scenario.jobs[state.job as usize];
        let direction = match (state.sent, job.work) {
            (0, _) => Client::first(job),
            _ => Direction::Read,
        };
        let asked = if state.sent == 0 && self.scenario.mdt.opens { state.began } else { now };
        state.begin(now, direction, job);
        self.measured.began(asked, state.job, direction);
        self.send(now, client, None, agenda);
    }

    /// Sends what the client can send, and sees whether it is done.
    fn send(
        &mut self,
        now: Time,
        client: u32,
        object: Option<u64>,
        agenda: &mut Agenda<LustreEvent>,
    ) {
        let mut extents = std::mem::take(&mut self.extents);
        let state = &mut self.clients[client as usize];
        let job_index = state.job;
        let job = &self.scenario.jobs[job_index as usize];
        let is_first = state.sent == 0;
        let settings = &self.scenario.client;
        let random = &mut self.random;
        state.send(now, job, settings, &self.striping, object, random, &mut extents);
        let stands = state.stands(job);
        for (nth, extent) in extents.drain(..).enumerate() {
            self.send_rpc(now, client, extent, is_first && nth == 0, agenda);
        }
        self.extents = extents;
        if stands == Then::Done {
            self.done(now, client, agenda);
        }
    }

    fn send_rpc(
        &mut self,
        now: Time,
        client: u32,
        extent: Extent,
        is_first: bool,
        agenda: &mut Agenda<LustreEvent>,
    ) {
        let state = &self.clients[client as usize];
        let job = &self.scenario.jobs[state.job as usize];
        let ost = self.ost_of(state.first_ost, extent.object);
        let request = Request {
            id: RequestId(0),
            client: ClientId(client),
            class: ClassId(job.class),
            target: TargetId(ost),
            object: ObjectId(state.file),
            direction: state.direction,
            offset: extent.offset,
            length: extent.length,
            arrived: now,
            within: (job.within > Span::ZERO).then_some(job.within),
        };
        let rpc = self.rpcs.insert(
            Rpc {
                client,
                ost,
                object: extent.object,
                request,
                sent: now,
                deadline: self.patience.deadline(now, state.estimate),
                early_replies: 0,
                is_first,
                mapped: 0,
                piece: (0, 0),
                pieces: 0,
            },
            1,
        );
        self.rpcs.get_mut(rpc).request.id = RequestId(u64::from(rpc));
        self.tell(Kind::Request, rpc, (client, self.node_of_ost(ost)), agenda);
    }

    /// A client has its answer.
    fn answered(&mut self, now: Time, number: u32, agenda: &mut Agenda<LustreEvent>) {
        let rpc = *self.rpcs.get(number);
        self.rpcs.release(number);
        let Rpc { client, object, sent, deadline, early_replies, is_first, .. } = rpc;
        let state = &mut self.clients[client as usize];
        state.answered(now, object, rpc.request.length.as_bytes());
        self.measured.answered(now, state.job, &rpc.request, now - sent);
        if deadline < Time::NEVER {
            self.measured.punctuality.answered(now, sent, deadline, is_first, early_replies);
        }
        let job = &self.scenario.jobs[state.job as usize];
        match state.stands(job) {
            Then::Pauses => {
                let pause =
                    job.interval + Span::from_ns(self.random.below(job.interval.as_ns() / 20 + 1));
                agenda.after(pause, LustreEvent::Resume { client });
            }
            Then::GoesOn => self.send(now, client, Some(object), agenda),
            Then::Done => self.done(now, client, agenda),
        }
    }

    /// A client has read or written all that it was to.
    fn done(&mut self, now: Time, client: u32, agenda: &mut Agenda<LustreEvent>) {
        let state = &self.clients[client as usize];
        let (index, direction) = (state.job as usize, state.direction);
        self.measured.client_done(state);
        self.busy[index] -= 1;
        let job = &self.scenario.jobs[index];
        if self.busy[index] > 0 || job.work != Work::WriteRead || direction == Direction::Read {
            return;
        }
        // All have written: all read.
        self.busy[index] = job.clients;
        let first = self.scenario.jobs[..index].iter().map(|job| job.clients).sum::<u32>();
        let spread = self.scenario.client.start_spread;
        for client in first..first + job.clients {
            let wait = self.random.below(spread.as_ns() + 1);
            agenda.at(now + Span::from_ns(wait), LustreEvent::Begin { client });
        }
    }

    // ---- servers ----

    /// A request comes to its OST.
    fn come(&mut self, now: Time, number: u32, agenda: &mut Agenda<LustreEvent>) {
        let rpc = self.rpcs.get_mut(number);
        rpc.request.arrived = now;
        let Rpc { ost: index, request, deadline, .. } = *rpc;
        let ost = &mut self.osts[index as usize];
        if deadline < Time::NEVER {
            let queued = ost.queued() as u64;
            let extension = ost.clock.arrived(now, request.id, deadline, queued);
            if let Some(extension) = extension {
                self.grant(number, extension.until, agenda);
            }
            self.look_at_deadlines(index, agenda);
        }
        let ost = &mut self.osts[index as usize];
        ost.enqueue(now, request);
        self.measured.queued(now, ost.queued());
        self.dispatch(now, index, agenda);
    }

    /// Gives requests to threads as long as there are both.
    fn dispatch(&mut self, now: Time, index: u32, agenda: &mut Agenda<LustreEvent>) {
        while let Some(request) = self.osts[index as usize].take(now) {
            let number = u32::try_from(request.id.0).expect("RPCs are numbered in 32 bits");
            match request.direction {
                Direction::Write => {
                    let way = (self.node_of_ost(index), request.client.0);
                    self.tell(Kind::Get, number, way, agenda);
                }
                Direction::Read => self.map(number, agenda),
            }
        }
        let ost = &mut self.osts[index as usize];
        let at = ost.wake_at(now);
        if ost.wake.map(|(time, _)| time) == at {
            return;
        }
        if let Some((_, timer)) = ost.wake.take() {
            agenda.cancel(timer);
        }
        if let Some(at) = at.map(|at| at.max(now + Span::from_ns(1))) {
            ost.wake = Some((at, agenda.timer_at(at, LustreEvent::Wake { ost: index })));
        }
    }

    /// Looks up or allocates the blocks of the next piece.
    fn map(&mut self, number: u32, agenda: &mut Agenda<LustreEvent>) {
        let rpc = self.rpcs.get_mut(number);
        let Request { object, offset, length, .. } = rpc.request;
        let (offset, left) = (offset + rpc.mapped, length.as_bytes() - rpc.mapped);
        let mapped = self.osts[rpc.ost as usize].map(object.0, offset, left);
        rpc.mapped += mapped.length;
        rpc.piece = (mapped.place, mapped.length);
        rpc.pieces += 1;
        let span = self.scenario.ost.allocation_time;
        agenda.after(span, LustreEvent::Mapped { rpc: number });
    }

    /// The place of a piece is known: it goes to the cache or to the disks, and the next one is mapped.
    fn submit(&mut self, now: Time, number: u32, agenda: &mut Agenda<LustreEvent>) {
        let rpc = *self.rpcs.get(number);
        let (place, length) = rpc.piece;
        let is_write = rpc.request.direction == Direction::Write;
        let cache = &mut self.osts[rpc.ost as usize].cache;
        let is_kept = match cache {
            Some(cache) if is_write => cache.write(Waiting { place, length, piece: number }).into(),
            Some(cache) if cache.holds(place, length) => Some(true),
            _ => None,
        };
        match is_kept {
            Some(true) => self.cached(number, length, agenda),
            Some(false) => {}
            None => self.to_disks(now, rpc.ost, number, place, length, agenda),
        }
        self.destage(now, rpc.ost, agenda);
        if rpc.mapped < rpc.request.length.as_bytes() {
            self.map(number, agenda);
        }
    }

    fn cached(&mut self, number: u32, length: u64, agenda: &mut Agenda<LustreEvent>) {
        let span = self.scenario.cache.rate.time_for(Size::from_bytes(length));
        agenda.after(span, LustreEvent::Cached { rpc: number });
    }

    /// Through the elevators of the members on which the piece lies.
    fn to_disks(
        &mut self,
        now: Time,
        ost: u32,
        number: u32,
        place: u64,
        length: u64,
        agenda: &mut Agenda<LustreEvent>,
    ) {
        let direction = self.rpcs.get(number).request.direction;
        let (mut place, mut left, mut parts) = (place, length, 0);
        while left > 0 {
            let (index, at, part) = member(&self.scenario.disk, place, left);
            let number_of_disk = ost * self.scenario.disk.members + index;
            let disk = &mut self.osts[ost as usize].disks[index as usize];
            match disk.elevator.add(direction, at, part, number) {
                Plug::Unchanged => {}
                Plug::Plugged => {
                    let delay = self.scenario.elevator.unplug_delay;
                    let event = LustreEvent::Unplug { disk: number_of_disk };
                    disk.plug = Some(agenda.timer_after(delay, event));
                }
                Plug::Full => self.unplug(now, number_of_disk, agenda),
            }
            place += part;
            left -= part;
            parts += 1;
        }
        self.rpcs.get_mut(number).pieces += parts - 1;
    }

    fn unplug(&mut self, _now: Time, disk: u32, agenda: &mut Agenda<LustreEvent>) {
        let (ost, index) = self.disk_at(disk);
        let it = &mut self.osts[ost].disks[index];
        if let Some(timer) = it.plug.take() {
            agenda.cancel(timer);
        }
        it.unplug();
        self.work(disk, agenda);
    }

    fn disk_at(&self, disk: u32) -> (usize, usize) {
        let members = self.scenario.disk.members;
        ((disk / members) as usize, (disk % members) as usize)
    }

    /// Lets a disk begin its next request.
    fn work(&mut self, disk: u32, agenda: &mut Agenda<LustreEvent>) {
        let (ost, index) = self.disk_at(disk);
        let Ost { disks, random, .. } = &mut self.osts[ost];
        if let Some(span) = disks[index].begin(random) {
            agenda.after(span, LustreEvent::Disk { disk });
        }
    }

    /// A disk has finished a request.
    fn disk_done(&mut self, now: Time, disk: u32, agenda: &mut Agenda<LustreEvent>) {
        let (ost, index) = self.disk_at(disk);
        let request = self.osts[ost].disks[index].finish();
        let number = u32::try_from(ost).expect("fewer OSTs than 2^32");
        if request.pieces.is_empty() {
            self.destaged(now, number, agenda);
        }
        for rpc in request.pieces {
            self.piece_done(now, rpc, agenda);
        }
        self.work(disk, agenda);
    }

    /// A piece is on disk, or has come from it.
    fn piece_done(&mut self, now: Time, number: u32, agenda: &mut Agenda<LustreEvent>) {
        let rpc = self.rpcs.get_mut(number);
        rpc.pieces -= 1;
        if rpc.pieces > 0 || rpc.mapped < rpc.request.length.as_bytes() {
            return;
        }
        let Rpc { request, client, ost, .. } = *rpc;
        let way = (self.node_of_ost(ost), client);
        match request.direction {
            Direction::Read => self.tell(Kind::Put, number, way, agenda),
            Direction::Write => {
                self.executed(now, number, agenda);
                self.tell(Kind::Reply, number, way, agenda);
            }
        }
    }

    /// A thread is done with an RPC; the answer carries the server's estimate.
    fn executed(&mut self, now: Time, number: u32, agenda: &mut Agenda<LustreEvent>) {
        let Rpc { request, client, ost: index, deadline, .. } = *self.rpcs.get(number);
        let ost = &mut self.osts[index as usize];
        ost.release(now, &request);
        self.measured.executed(now, &request);
        if deadline < Time::NEVER {
            ost.clock.finished(now, request.id, request.arrived);
            if let Some(estimate) = ost.clock.estimate(now, ost.queued() as u64) {
                self.clients[client as usize].estimate = Some(estimate);
            }
        }
        self.dispatch(now, index, agenda);
    }

    // ---- cache ----

    /// Sends dirty data to disk, one piece at a time; with several members, to that of its first byte.
    fn destage(&mut self, _now: Time, ost: u32, agenda: &mut Agenda<LustreEvent>) {
        let limit = self.scenario.elevator.merge_limit.as_bytes();
        let Some(cache) = &mut self.osts[ost as usize].cache else { return };
        let Some((place, length)) = cache.leave(limit) else { return };
        let (index, at, _) = member(&self.scenario.disk, place, length);
        let direction = Direction::Write;
        let request = DiskRequest { direction, place: at, length, pieces: Vec::new() };
        self.osts[ost as usize].disks[index as usize].push(request);
        self.work(ost * self.scenario.disk.members + index, agenda);
    }

    fn destaged(&mut self, now: Time, ost: u32, agenda: &mut Agenda<LustreEvent>) {
        let cache = self.osts[ost as usize].cache.as_mut();
        cache.expect("destaged from a cache").left();
        let admit = |model: &mut LustreModel| {
            model.osts[ost as usize].cache.as_mut().and_then(|cache| cache.admit())
        };
        while let Some(write) = admit(self) {
            self.cached(write.piece, write.length, agenda);
        }
        self.destage(now, ost, agenda);
    }

    // ---- early replies ----

    fn grant(&mut self, number: u32, until: Time, agenda: &mut Agenda<LustreEvent>) {
        self.rpcs.share(number);
        let rpc = self.rpcs.get_mut(number);
        rpc.early_replies += 1;
        let Rpc { client, ost, .. } = *rpc;
        let way = (self.node_of_ost(ost), client);
        self.post(Kind::Early(until), number, way, PACKET, agenda);
    }

    fn send_early(&mut self, now: Time, index: u32, agenda: &mut Agenda<LustreEvent>) {
        let clock = &mut self.osts[index as usize].clock;
        clock.wake = None;
        let mut due = Vec::new();
        if let Some(early) = &mut clock.early {
            early.due(now, &mut due);
        }
        for extension in due {
            let number = u32::try_from(extension.request.0).expect("RPCs are numbered in 32 bits");
            self.grant(number, extension.until, agenda);
        }
        self.look_at_deadlines(index, agenda);
    }

    /// Makes sure that early replies are looked at when the next one is due.
    fn look_at_deadlines(&mut self, index: u32, agenda: &mut Agenda<LustreEvent>) {
        let clock = &mut self.osts[index as usize].clock;
        let Some(at) = clock.early.as_ref().and_then(|early| early.wake_at()) else { return };
        if let Some(timer) = clock.wake.take() {
            agenda.cancel(timer);
        }
        let at = at.max(agenda.now() + Span::from_ns(1));
        clock.wake = Some(agenda.timer_at(at, LustreEvent::Early { ost: index }));
    }

    /// What the disks of all OSTs did, and the longest queue of one.
    pub(super) fn totals(&self) -> (super::report::DiskUse, usize) {
        let mut all = super::report::DiskUse::default();
        self.osts.iter().flat_map(|ost| &ost.disks).for_each(|disk| all.take_in(&disk.used));
        (all, self.osts.iter().map(|ost| ost.queue_peak).max().unwrap_or(0))
    }
}

impl Model for LustreModel {
    type Event = LustreEvent;

    fn handle(&mut self, now: Time, event: LustreEvent, agenda: &mut Agenda<LustreEvent>) {
        match event {
            LustreEvent::Begin { client } => self.begin_job(now, client, agenda),
            LustreEvent::Resume { client } => self.send(now, client, None, agenda),
            LustreEvent::Flow { message } => {
                let to = self.messages.get(message).to;
                self.nics[to as usize].flow_starts(now);
            }
            LustreEvent::Arrive { message } => self.arrive(now, message, agenda),
            LustreEvent::Deliver { message } => self.deliver(now, message, agenda),
            LustreEvent::Mapped { rpc } => self.submit(now, rpc, agenda),
            LustreEvent::Unplug { disk } => self.unplug(now, disk, agenda),
            LustreEvent::Disk { disk } => self.disk_done(now, disk, agenda),
            LustreEvent::Cached { rpc } => self.piece_done(now, rpc, agenda),
            LustreEvent::Wake { ost } => {
                self.osts[ost as usize].wake = None;
                self.dispatch(now, ost, agenda);
            }
            LustreEvent::Early { ost } => self.send_early(now, ost, agenda),
        }
    }
}
