//! A whole target without IO: the protocol's machine and the store behind it.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::Bound;

use slotcast_protocol::tape::TargetEntry;
use slotcast_protocol::{
    ChunkId, DiskMeter, Holdings, InitiatorId, Intake, Inventory, LinkMeter, Message, RequestId,
    Target, TargetConfig, TargetEffect, TargetInput,
};
use slotcast_units::{Rate, Size, Span, Time};

use crate::content::Content;
use crate::io::{DiskError, Op, OpId, Output};
use crate::store::{Config, Effect, Input, ReadError, Standing, Statistics, Store, Ticket};

/// What a [`StoringTarget`] wants of its host, or has found.
#[derive(Debug, Clone, PartialEq)]
pub enum StoringEffect {
    /// Carry this out, and report it with [`StoringTarget::disk`].
    Disk(OpId, Op),
    /// Send a message.
    Send(InitiatorId, Message),
    /// Send a chunk to the initiator of the request, from this time on; then say
    /// [`StoringTarget::sent`].
    Transfer {
        /// For which request; names the initiator.
        request: RequestId,
        /// What.
        content: Content,
        /// When.
        start: Time,
    },
    /// The store is open: it takes requests.
    Opened,
    /// The store cannot be opened.
    NotOpened(DiskError),
    /// A stored chunk turned out to be unreadable; it is not stored here any more. So many targets were to
    /// hold it.
    Lost(ChunkId, u8),
    /// What [`StoringTarget::fetch`] has asked for.
    Fetched(ChunkId, Result<Content, ReadError>),
}

/// For whom the store does something.
#[derive(Debug, Clone, Copy)]
enum Asker {
    Request(RequestId),
    /// The chunk is read, to be written anew for so many replicas.
    Raise(RequestId, u8),
    Host(ChunkId),
}

/// One target: answers the messages of initiators and keeps chunks, on a disk that its host works.
///
/// Each method appends what follows from its input to `effects`, to be carried out in order. `now`
/// never goes backwards. To crash it, drop it; to start it anew, make another one over the same disk.
#[derive(Debug)]
pub struct StoringTarget {
    machine: Target,
    store: Store,
    /// Chunks that have arrived and wait to be written.
    arrived: BTreeMap<RequestId, Content>,
    /// What the store was asked for, and for whom.
    asked: BTreeMap<Ticket, Asker>,
    /// Chunks that were read and wait to be sent.
    read: BTreeMap<RequestId, Content>,
    last_ticket: u64,
    store_effects: Vec<Effect>,
    target_effects: Vec<TargetEffect>,
    /// None where the rates of its configuration stay.
    meters: Option<Meters>,
    /// What the machine heard and did, if somebody wants to know.
    tape: Option<Vec<TargetEntry>>,
}

/// How long a disk may need for what waits for it before initiators are asked to wait, if they are to wait by
/// what was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueRule {
    /// In time, at the measured rate.
    pub time: Span,
    /// In bytes, however fast the disk is.
    pub most: Size,
}

/// What a target measures.
#[derive(Debug)]
struct Meters {
    disk: DiskMeter,
    /// Reads are apart: most come from memory, and none waits for a flush.
    reads: DiskMeter,
    /// Those of the host, again: what it reads is seldom read, and comes from the disk.
    fetches: DiskMeter,
    is_fetching: bool,
    link: LinkMeter,
    queue: QueueRule,
    /// Reads of chunks and writes under way.
    under_way: BTreeMap<OpId, Work>,
    /// What the machine was told last.
    told_disk: Rate,
    told_reads: Rate,
    told_link: Rate,
}

#[derive(Debug, Clone, Copy)]
enum Work {
    Write(Size),
    Read(Size),
    Fetch(Size),
}

/// What has a new estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Measured {
    Nothing,
    Writes,
    Reads,
}

impl Meters {
    fn begun(&mut self, now: Time, id: OpId, op: &Op) {
        let work = match op {
            Op::Write { parts, .. } => {
                let bytes = parts.iter().map(|part| part.len() as u64).sum();
                Work::Write(Size::from_bytes(bytes))
            }
            Op::ReadContent { length, .. } => match self.is_fetching {
                true => Work::Fetch(Size::from_bytes(*length)),
                false => Work::Read(Size::from_bytes(*length)),
            },
            _ => return,
        };
        self.under_way.insert(id, work);
        match work {
            Work::Read(_) => self.reads.begun(now),
            Work::Fetch(_) => self.fetches.begun(now),
            Work::Write(_) => self.disk.begun(now),
        }
    }

    fn ended(&mut self, now: Time, id: OpId, went_well: bool) -> Measured {
        let is_new = match self.under_way.remove(&id) {
            None => false,
            Some(Work::Read(size)) => {
                let read = if went_well { size } else { Size::ZERO };
                return match self.reads.ended(now, read) {
                    true => Measured::Reads,
                    false => Measured::Nothing,
                };
            }
            Some(Work::Fetch(size)) => {
                self.fetches.ended(now, if went_well { size } else { Size::ZERO });
                return Measured::Nothing;
            }
            Some(Work::Write(size)) => {
                self.disk.ended(now, if went_well { size } else { Size::ZERO })
            }
        };
        if is_new { Measured::Writes } else { Measured::Nothing }
    }

    fn queue_limit(&self, rate: Rate) -> Size {
        Size::from_bytes(rate.bits_in(self.queue.time) / 8).min(self.queue.most)
    }
}

/// Rates that differ by less than a fiftieth are the same to a machine.
fn differs(told: Rate, measured: Rate) -> bool {
    told.as_bps().abs_diff(measured.as_bps()) > told.as_bps() / 50
}

/// The store, as the protocol sees it.
struct Shelf<'a>(&'a Store);

impl Holdings for Shelf<'_> {
    fn size_of(&self, chunk: &ChunkId) -> Option<Size> {
        self.0.length(chunk).map(|length| Size::from_bytes(u64::from(length)))
    }

    fn replicas_of(&self, chunk: &ChunkId) -> u8 {
        self.0.replicas(chunk).unwrap_or(0)
    }
}

impl Inventory for StoringTarget {
    fn chunk_from(&self, from: Bound<ChunkId>) -> Option<ChunkId> {
        let (first, excluded) = match from {
            Bound::Unbounded => (ChunkId([0; 32]), None),
            Bound::Included(chunk) => (chunk, None),
            Bound::Excluded(chunk) => (chunk, Some(chunk)),
        };
        self.store.chunks(first).find(|chunk| excluded != Some(**chunk)).copied()
    }

    fn wanted(&self, chunk: &ChunkId) -> Option<u8> {
        self.store.replicas(chunk)
    }

    fn size(&self, chunk: &ChunkId) -> Option<Size> {
        Shelf(&self.store).size_of(chunk)
    }

    fn read_rate(&self) -> Rate {
        match &self.meters {
            Some(meters) => meters.fetches.rate(),
            None => self.machine.disk_rate(),
        }
    }
}

impl StoringTarget {
    /// Begins to open the store; [`StoringEffect::Opened`] or [`StoringEffect::NotOpened`] will follow.
    ///
    /// # Panics
    /// If the configuration of the store is out of its ranges.
    pub fn open(
        now: Time,
        target: TargetConfig,
        store: Config,
        effects: &mut Vec<StoringEffect>,
    ) -> StoringTarget {
        let mut store_effects = Vec::new();
        let store = Store::open(store, &mut store_effects);
        let mut storing = StoringTarget {
            machine: Target::new(target).sending_late_reads(),
            store,
            arrived: BTreeMap::new(),
            asked: BTreeMap::new(),
            read: BTreeMap::new(),
            last_ticket: 0,
            store_effects,
            target_effects: Vec::new(),
            meters: None,
            tape: None,
        };
        storing.carry_out(now, effects);
        storing
    }

    /// The same, bidding with rates that it measures while it runs; the configured ones are believed until
    /// then. Windows are deferred as `queue` says.
    #[must_use]
    pub fn measuring(mut self, now: Time, queue: QueueRule) -> StoringTarget {
        let (told_disk, told_link) = (self.machine.disk_rate(), self.machine.link_rate());
        let meters = Meters {
            disk: DiskMeter::new(told_disk),
            reads: DiskMeter::new(told_disk),
            fetches: DiskMeter::new(told_disk),
            is_fetching: false,
            link: LinkMeter::new(told_link),
            queue,
            under_way: BTreeMap::new(),
            told_disk,
            told_reads: told_disk,
            told_link,
        };
        let queue_limit = meters.queue_limit(told_disk);
        self.meters = Some(meters);
        self.tell(now, TargetInput::DiskRate { rate: told_disk, queue_limit });
        self
    }

    /// The same, keeping what its machine hears and does until [`StoringTarget::take_tape`].
    #[must_use]
    pub fn recording(self) -> StoringTarget {
        StoringTarget { tape: Some(Vec::new()), ..self }
    }

    /// What its machine heard and did since it was last asked; nothing unless it records.
    pub fn take_tape(&mut self) -> Vec<TargetEntry> {
        self.tape.as_mut().map(core::mem::take).unwrap_or_default()
    }

    /// The rates of its disk and of its link, where they have been measured.
    pub fn measured(&self) -> (Option<Rate>, Option<Rate>) {
        let meters = self.meters.as_ref();
        (meters.and_then(|m| m.disk.measured()), meters.and_then(|m| m.link.measured()))
    }

    /// A chunk of `size` came over the link in `took`, from its first byte to its last.
    pub fn came(&mut self, now: Time, size: Size, took: Span) {
        let Some(meters) = &mut self.meters else { return };
        meters.link.came(size, took);
        let rate = meters.link.rate();
        if differs(meters.told_link, rate) {
            meters.told_link = rate;
            self.tell(now, TargetInput::LinkRate(rate));
        }
    }

    /// What its store can do.
    pub fn standing(&self) -> Standing {
        self.store.standing()
    }

    /// Numbers of its store. O(segments).
    pub fn statistics(&self) -> Statistics {
        self.store.statistics()
    }

    /// Whether the chunk is stored here, on stable storage.
    pub fn holds(&self, chunk: &ChunkId) -> bool {
        self.store.holds(chunk)
    }

    /// Reads and writes of chunks that the store has been asked for and has not done.
    pub fn at_disk(&self) -> usize {
        self.asked.len()
    }

    /// The machine that negotiates.
    pub fn machine(&self) -> &Target {
        &self.machine
    }

    /// Whether it takes chunks that it does not hold; if not, it keeps what it has promised, and what it holds
    /// counts for nobody.
    pub fn take_puts(&mut self, takes_puts: bool) {
        self.machine.set_intake(if takes_puts { Intake::Open } else { Intake::Closed });
    }

    /// Forgets what was promised to initiators, as a restart does, and keeps what is stored.
    pub fn forget_promises(&mut self, now: Time) {
        self.machine.restart(now);
    }

    /// A message came. While there is no store, or its disk is gone, there is nothing to offer: silence is
    /// the right answer, as from a dead target.
    pub fn message(&mut self, now: Time, message: &Message, effects: &mut Vec<StoringEffect>) {
        let standing = self.store.standing();
        let is_mute = matches!(
            standing,
            Standing::Opening | Standing::Failed(_) | Standing::ReadOnly(DiskError::Gone)
        );
        if !is_mute {
            self.tell(now, TargetInput::Message(message));
            self.carry_out(now, effects);
        }
    }

    /// A chunk came, whole and right.
    pub fn received(
        &mut self,
        now: Time,
        request: RequestId,
        content: Content,
        effects: &mut Vec<StoringEffect>,
    ) {
        let chunk = content.chunk();
        let size = Size::from_bytes(content.bytes().len() as u64);
        self.arrived.insert(request, content);
        self.tell(now, TargetInput::Received { request, chunk, size, intact: true });
        self.carry_out(now, effects);
        // Without a reservation it is not wanted.
        self.arrived.remove(&request);
    }

    /// A chunk came that is not what it is said to be, or not all of it.
    pub fn damaged(
        &mut self,
        now: Time,
        request: RequestId,
        chunk: ChunkId,
        effects: &mut Vec<StoringEffect>,
    ) {
        self.tell(now, TargetInput::Received { request, chunk, size: Size::ZERO, intact: false });
        self.carry_out(now, effects);
    }

    /// A chunk has left.
    pub fn sent(&mut self, now: Time, request: RequestId) {
        self.tell(now, TargetInput::Sent { request });
    }

    /// The disk has done something.
    pub fn disk(
        &mut self,
        now: Time,
        op: OpId,
        result: Result<Output, DiskError>,
        effects: &mut Vec<StoringEffect>,
    ) {
        self.measured_by(now, op, result.is_ok());
        self.store.handle(Input::Disk(op, result), &mut self.store_effects);
        self.carry_out(now, effects);
    }

    /// The disk has disappeared, as the host has seen without an operation that failed.
    pub fn disk_gone(&mut self, now: Time, effects: &mut Vec<StoringEffect>) {
        self.store.handle(Input::Gone, &mut self.store_effects);
        self.carry_out(now, effects);
    }

    /// Tells the machine what came of an operation for its rates.
    fn measured_by(&mut self, now: Time, op: OpId, went_well: bool) {
        let Some(meters) = &mut self.meters else { return };
        match meters.ended(now, op, went_well) {
            Measured::Writes if differs(meters.told_disk, meters.disk.rate()) => {
                let rate = meters.disk.rate();
                meters.told_disk = rate;
                let queue_limit = meters.queue_limit(rate);
                self.tell(now, TargetInput::DiskRate { rate, queue_limit });
            }
            Measured::Reads if differs(meters.told_reads, meters.reads.rate()) => {
                let rate = meters.reads.rate();
                meters.told_reads = rate;
                self.tell(now, TargetInput::ReadRate(rate));
            }
            Measured::Nothing | Measured::Writes | Measured::Reads => {}
        }
    }

    /// Reads a chunk for the host, who gets it as [`StoringEffect::Fetched`].
    pub fn fetch(&mut self, now: Time, chunk: ChunkId, effects: &mut Vec<StoringEffect>) {
        let ticket = self.ticket(Asker::Host(chunk));
        self.store.handle(Input::Get(ticket, chunk), &mut self.store_effects);
        self.set_fetching(true);
        self.carry_out(now, effects);
        self.set_fetching(false);
    }

    /// Whether the reads that follow are those of the host.
    fn set_fetching(&mut self, is_fetching: bool) {
        if let Some(meters) = &mut self.meters {
            meters.is_fetching = is_fetching;
        }
    }

    /// Removes a chunk. Nobody is told: what a crash brings back can be removed again.
    pub fn remove(&mut self, now: Time, chunk: ChunkId, effects: &mut Vec<StoringEffect>) {
        self.last_ticket += 1;
        let ticket = Ticket(self.last_ticket);
        self.store.handle(Input::Remove(ticket, chunk), &mut self.store_effects);
        self.carry_out(now, effects);
    }

    fn tell(&mut self, now: Time, input: TargetInput<'_>) {
        let before = self.target_effects.len();
        self.machine.handle(now, input, &Shelf(&self.store), &mut self.target_effects);
        if let Some(tape) = &mut self.tape {
            let did = self.target_effects[before..].to_vec();
            tape.push(TargetEntry { now, heard: input.into(), did });
        }
    }

    fn ticket(&mut self, asker: Asker) -> Ticket {
        self.last_ticket += 1;
        let ticket = Ticket(self.last_ticket);
        self.asked.insert(ticket, asker);
        ticket
    }

    /// Carries out what both machines want, until neither wants anything.
    fn carry_out(&mut self, now: Time, wanted: &mut Vec<StoringEffect>) {
        while !self.store_effects.is_empty() || !self.target_effects.is_empty() {
            let mut effects = core::mem::take(&mut self.store_effects);
            for effect in effects.drain(..) {
                self.store_effect(now, effect, wanted);
            }
            if self.store_effects.is_empty() {
                self.store_effects = effects;
            }
            let mut effects = core::mem::take(&mut self.target_effects);
            for effect in effects.drain(..) {
                self.target_effect(now, effect, wanted);
            }
            if self.target_effects.is_empty() {
                self.target_effects = effects;
            }
        }
    }

    fn store_effect(&mut self, now: Time, effect: Effect, wanted: &mut Vec<StoringEffect>) {
        match effect {
            Effect::Disk(id, op) => {
                if let Some(meters) = &mut self.meters {
                    meters.begun(now, id, &op);
                }
                wanted.push(StoringEffect::Disk(id, op));
            }
            Effect::Opened => wanted.push(StoringEffect::Opened),
            Effect::NotOpened(error) => wanted.push(StoringEffect::NotOpened(error)),
            Effect::Lost(chunk, replicas) | Effect::Unreadable(chunk, replicas) => {
                wanted.push(StoringEffect::Lost(chunk, replicas));
            }
            Effect::Stored { ticket, .. } => self.written(now, ticket, true),
            Effect::NotWritten(ticket, _) => self.written(now, ticket, false),
            Effect::Fetched(ticket, content) => self.fetched(now, ticket, Ok(content), wanted),
            Effect::NotFetched(ticket, error) => self.fetched(now, ticket, Err(error), wanted),
            Effect::Removed { .. } => {}
        }
    }

    fn fetched(
        &mut self,
        now: Time,
        ticket: Ticket,
        result: Result<Content, ReadError>,
        wanted: &mut Vec<StoringEffect>,
    ) {
        let request = match self.asked.remove(&ticket) {
            Some(Asker::Request(request)) => request,
            Some(Asker::Raise(request, replicas)) => {
                return self.read_for_raise(now, (request, replicas), result);
            }
            Some(Asker::Host(chunk)) => return wanted.push(StoringEffect::Fetched(chunk, result)),
            None => return,
        };
        self.tell(now, TargetInput::Read { request, intact: result.is_ok() });
        // Sent now, or not at all: too late, the machine has said "undelivered" instead.
        let is_wanted = |effect: &TargetEffect| matches!(effect, TargetEffect::Transfer { request: r, .. } if *r == request);
        if let Ok(content) = result
            && self.target_effects.iter().any(is_wanted)
        {
            self.read.insert(request, content);
        }
    }

    fn read_for_raise(
        &mut self,
        now: Time,
        (request, replicas): (RequestId, u8),
        result: Result<Content, ReadError>,
    ) {
        match result {
            Ok(content) => self.put(request, content, Some(replicas)),
            Err(_) => self.tell(now, TargetInput::Written { request, stable: false }),
        }
    }

    fn put(&mut self, request: RequestId, content: Content, replicas: Option<u8>) {
        let ticket = self.ticket(Asker::Request(request));
        self.store.handle(Input::Put(ticket, content, replicas), &mut self.store_effects);
    }

    fn written(&mut self, now: Time, ticket: Ticket, stable: bool) {
        if let Some(Asker::Request(request)) = self.asked.remove(&ticket) {
            self.tell(now, TargetInput::Written { request, stable });
        }
    }

    fn target_effect(&mut self, now: Time, effect: TargetEffect, wanted: &mut Vec<StoringEffect>) {
        match effect {
            TargetEffect::Send { to, message } => wanted.push(StoringEffect::Send(to, message)),
            TargetEffect::Write { request, replicas, .. } => match self.arrived.remove(&request) {
                Some(content) => self.put(request, content, replicas),
                None => self.tell(now, TargetInput::Written { request, stable: false }),
            },
            TargetEffect::Raise { request, chunk, replicas } => {
                let ticket = self.ticket(Asker::Raise(request, replicas));
                self.store.handle(Input::Get(ticket, chunk), &mut self.store_effects);
            }
            TargetEffect::Read { request, chunk, .. } => {
                let ticket = self.ticket(Asker::Request(request));
                self.store.handle(Input::Get(ticket, chunk), &mut self.store_effects);
            }
            TargetEffect::Transfer { request, start, .. } => {
                if let Some(content) = self.read.remove(&request) {
                    wanted.push(StoringEffect::Transfer { request, content, start });
                }
            }
            // Goes to a group's proxy, which storing targets have none of.
            TargetEffect::Report { .. } => {}
        }
    }
}
