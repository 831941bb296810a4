//! The file system as a whole: what each event does.

mod clients;
mod messages;
mod servers;
mod storage;

use slotcast_engine::{Agenda, FifoStation, Model, Pool, Stream, Streams};
use slotcast_schedulers::Request;
use slotcast_units::{Size, Span, Time};

use super::client::Client;
use super::deadlines::Patience;
use super::event::LustreEvent;
use super::job::{Files, Job, Work};
use super::measure::Measured;
use super::nic::Nic;
use super::ost::Ost;
use super::report::DiskUse;
use super::scenario::LustreScenario;
use super::striping::{Extent, Striping};

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

    /// What the disks of all OSTs did, and the longest queue of one.
    pub(super) fn totals(&self) -> (DiskUse, usize) {
        let mut all = DiskUse::default();
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
            LustreEvent::Mapped { rpc } => self.submit(rpc, agenda),
            LustreEvent::Unplug { disk } => self.unplug(disk, agenda),
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
