//! Hosts one target: its protocol machine, its store, and its disk.

use std::collections::BTreeMap;
use std::path::PathBuf;

use slotcast_protocol::{
    ChunkId, Holdings, InitiatorId, Message, RequestId, Target, TargetConfig, TargetEffect,
    TargetId, TargetInput,
};
use slotcast_store::{Content, Effect, Input, OpId, Standing, Statistics, Store, Ticket};
use slotcast_units::{Size, Time};

use crate::disk::{Disk, DiskResult};

/// What a target wants of the node around it.
#[derive(Debug)]
pub(crate) enum TargetWish {
    /// Send a message.
    Send(InitiatorId, Message),
    /// Send a chunk to the initiator of the request, from this time on.
    Transfer { request: RequestId, content: Content, start: Time },
}

/// What became of a chunk that a target holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TargetNews {
    /// It is open and takes requests.
    Opened,
    /// It cannot be opened.
    NotOpened(slotcast_store::DiskError),
    /// A stored chunk turned out to be unreadable.
    Lost(ChunkId),
}

/// One target of this node.
pub(crate) struct TargetHost {
    pub(crate) id: TargetId,
    pub(crate) path: PathBuf,
    machine: Target,
    store: Store,
    disk: Disk,
    /// Chunks that have arrived and wait to be written.
    arrived: BTreeMap<RequestId, Content>,
    /// What the store was asked for, and for whom.
    asked: BTreeMap<Ticket, RequestId>,
    /// Chunks that were read and wait to be sent.
    read: BTreeMap<RequestId, Content>,
    last_ticket: u64,
    store_effects: Vec<Effect>,
    target_effects: Vec<TargetEffect>,
}

/// The store, as the protocol sees it.
struct Shelf<'a>(&'a Store);

impl Holdings for Shelf<'_> {
    fn size_of(&self, chunk: &ChunkId) -> Option<Size> {
        self.0.length(chunk).map(|length| Size::from_bytes(u64::from(length)))
    }
}

impl TargetHost {
    /// Begins to open the store; the news say when it is open.
    pub(crate) fn new(
        id: TargetId,
        path: PathBuf,
        config: TargetConfig,
        store: slotcast_store::Config,
        disk: Disk,
    ) -> TargetHost {
        let mut store_effects = Vec::new();
        let store = Store::open(store, &mut store_effects);
        let mut host = TargetHost {
            id,
            path,
            machine: Target::new(config).sending_late_reads(),
            store,
            disk,
            arrived: BTreeMap::new(),
            asked: BTreeMap::new(),
            read: BTreeMap::new(),
            last_ticket: 0,
            store_effects,
            target_effects: Vec::new(),
        };
        host.carry_out(Time::ZERO, &mut Vec::new(), &mut Vec::new());
        host
    }

    pub(crate) fn standing(&self) -> Standing {
        self.store.standing()
    }

    pub(crate) fn statistics(&self) -> Statistics {
        self.store.statistics()
    }

    pub(crate) fn holds(&self, chunk: &ChunkId) -> bool {
        self.store.holds(chunk)
    }

    /// A message came.
    pub(crate) fn message(
        &mut self,
        now: Time,
        message: &Message,
        wishes: &mut Vec<TargetWish>,
        news: &mut Vec<TargetNews>,
    ) {
        // Without a store there is nothing to offer: silence is the right answer, as from a dead one.
        if !matches!(self.store.standing(), Standing::Opening | Standing::Failed(_)) {
            self.tell(now, TargetInput::Message(message));
            self.carry_out(now, wishes, news);
        }
    }

    /// A chunk came, whole and right.
    pub(crate) fn received(
        &mut self,
        now: Time,
        request: RequestId,
        content: Content,
        wishes: &mut Vec<TargetWish>,
        news: &mut Vec<TargetNews>,
    ) {
        let chunk = content.chunk();
        let size = Size::from_bytes(content.bytes().len() as u64);
        self.arrived.insert(request, content);
        self.tell(now, TargetInput::Received { request, chunk, size, intact: true });
        self.carry_out(now, wishes, news);
        // Without a reservation it is not wanted.
        self.arrived.remove(&request);
    }

    /// A chunk has left.
    pub(crate) fn sent(&mut self, now: Time, request: RequestId) {
        self.tell(now, TargetInput::Sent { request });
    }

    /// The disk has done something.
    pub(crate) fn disk(
        &mut self,
        now: Time,
        op: OpId,
        result: DiskResult,
        wishes: &mut Vec<TargetWish>,
        news: &mut Vec<TargetNews>,
    ) {
        self.store.handle(Input::Disk(op, result), &mut self.store_effects);
        self.carry_out(now, wishes, news);
    }

    fn tell(&mut self, now: Time, input: TargetInput<'_>) {
        self.machine.handle(now, input, &Shelf(&self.store), &mut self.target_effects);
    }

    fn ticket(&mut self, request: RequestId) -> Ticket {
        self.last_ticket += 1;
        let ticket = Ticket(self.last_ticket);
        self.asked.insert(ticket, request);
        ticket
    }

    /// Carries out what both machines want, until neither wants anything.
    fn carry_out(&mut self, now: Time, wishes: &mut Vec<TargetWish>, news: &mut Vec<TargetNews>) {
        while !self.store_effects.is_empty() || !self.target_effects.is_empty() {
            let mut effects = std::mem::take(&mut self.store_effects);
            for effect in effects.drain(..) {
                self.store_effect(now, effect, news);
            }
            if self.store_effects.is_empty() {
                self.store_effects = effects;
            }
            let mut effects = std::mem::take(&mut self.target_effects);
            for effect in effects.drain(..) {
                self.target_effect(now, effect, wishes);
            }
            if self.target_effects.is_empty() {
                self.target_effects = effects;
            }
        }
    }

    fn store_effect(&mut self, now: Time, effect: Effect, news: &mut Vec<TargetNews>) {
        match effect {
            Effect::Disk(id, op) => self.disk.ask(id, op),
            Effect::Opened => news.push(TargetNews::Opened),
            Effect::NotOpened(error) => news.push(TargetNews::NotOpened(error)),
            Effect::Lost(chunk) => news.push(TargetNews::Lost(chunk)),
            Effect::Stored { ticket, .. } => self.written(now, ticket, true),
            Effect::NotWritten(ticket, _) => self.written(now, ticket, false),
            Effect::Fetched(ticket, content) => {
                if let Some(request) = self.asked.remove(&ticket) {
                    self.tell(now, TargetInput::Read { request, intact: true });
                    // Sent now, or not at all: too late, the machine has said "undelivered" instead.
                    let is_wanted = |effect: &TargetEffect| matches!(effect, TargetEffect::Transfer { request: r, .. } if *r == request);
                    if self.target_effects.iter().any(is_wanted) {
                        self.read.insert(request, content);
                    }
                }
            }
            Effect::NotFetched(ticket, _) => {
                if let Some(request) = self.asked.remove(&ticket) {
                    self.tell(now, TargetInput::Read { request, intact: false });
                }
            }
            Effect::Removed { .. } => {}
        }
    }

    fn written(&mut self, now: Time, ticket: Ticket, stable: bool) {
        if let Some(request) = self.asked.remove(&ticket) {
            self.tell(now, TargetInput::Written { request, stable });
        }
    }

    fn target_effect(&mut self, now: Time, effect: TargetEffect, wishes: &mut Vec<TargetWish>) {
        match effect {
            TargetEffect::Send { to, message } => wishes.push(TargetWish::Send(to, message)),
            TargetEffect::Write { request, .. } => match self.arrived.remove(&request) {
                Some(content) => {
                    let ticket = self.ticket(request);
                    self.store.handle(Input::Put(ticket, content), &mut self.store_effects);
                }
                None => self.tell(now, TargetInput::Written { request, stable: false }),
            },
            TargetEffect::Read { request, chunk, .. } => {
                let ticket = self.ticket(request);
                self.store.handle(Input::Get(ticket, chunk), &mut self.store_effects);
            }
            TargetEffect::Transfer { request, start, .. } => {
                if let Some(content) = self.read.remove(&request) {
                    wishes.push(TargetWish::Transfer { request, content, start });
                }
            }
            // Goes to a group's proxy, and the initiators of nodes ask none.
            TargetEffect::Report { .. } => {}
        }
    }
}
