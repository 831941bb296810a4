//! One target: its negotiator, its chunk store, the repair of what it holds, and its meters.
//!
//! ```text
//!  messages, chunks --> Target (negotiates) --write, read--> Store --> disk operations
//!                          |     ^                             |
//!                       answers  +---- done, failed -----------+--lost, fetched--> Repair --> wants
//! ```

mod disk_watch;
mod holdings;
mod incoming;
mod load;
mod log;
mod meters;
mod releasing;
mod repairing;
mod storing;
mod surveying;
mod watching;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use slotcast_protocol::tape::TargetEntry;
use slotcast_protocol::{
    ChunkId, Claim, Intake, Membership, Message, PutAccept, Repair, RepairEffect, RepairInput,
    RepairProgress, RepairStatistics, RequestId, Target, TargetEffect, TargetId,
    TargetInput as NegotiatorInput, Wanted,
};
use slotcast_store::{
    Content, DiskError, Effect as StoreEffect, Input as StoreInput, OpId, Output, Statistics,
    Store, StoreStatus, Ticket, Work, Worked,
};
use slotcast_units::{Size, Span, Time};

pub use load::TargetLoad;
pub use meters::QueueRule;
pub use watching::{WindowEvent, WindowState};

use crate::config::TargetSetup;
use crate::mistake::Mistake;
use crate::outbox::{Outbox, Want, answer_for};
use disk_watch::DiskWatch;
use holdings::Shelf;
use load::Account;
use log::TargetLog;
use meters::Meters;
use releasing::Releasing;
use watching::WindowLog;

/// What a target is told.
#[derive(Debug)]
pub enum TargetInput<'a> {
    /// A message of an initiator came.
    Message(&'a Message),
    /// A chunk came, whole and right; over a link in this time, from its first byte to its last.
    Received(RequestId, Content, Option<Span>),
    /// A chunk came that is not what it is said to be, or not all of it.
    Damaged(RequestId, ChunkId),
    /// A chunk has left.
    Sent(RequestId),
    /// A disk operation has ended.
    Disk(OpId, Result<Output, DiskError>),
    /// The work is done that was taken from it.
    Worked(Worked),
    /// The disk has disappeared, as was seen without an operation that failed.
    DiskGone,
    /// It asked to look after its disk now.
    LookAtDisk,
    /// Remove a chunk.
    Remove(ChunkId),
    /// For its repair.
    Repair(RepairInput),
    /// The others have answered about the chunks of a [`Want::Release`]: of these, the first one in the least bit,
    /// those that may be removed, and those that are kept.
    MayRemove {
        /// No keepers of them are here, and the others suffice.
        removed: u32,
        /// They are no surplus.
        kept: u32,
    },
    /// What it has to do with the cluster.
    Membership(Membership),
}

/// What a target begins with.
#[derive(Debug, Clone, Copy)]
pub struct Circumstances {
    /// How many members its group has.
    pub members: usize,
    /// What it has to do with the cluster.
    pub membership: Membership,
    /// How long an operation of its disk may be under way before nobody counts on it.
    pub patience: Span,
    /// How long it does not look for room when it is full and has looked.
    pub room_pause: Span,
    /// A mistake to be found.
    pub mistake: Option<Mistake>,
}

/// For whom the store does something.
#[derive(Debug, Clone, Copy)]
enum Asker {
    Request(RequestId),
    /// The chunk is read, to be written anew for this.
    Raise(RequestId, Wanted),
    /// Repair reads; whether the chunk is to be put then.
    Repair(ChunkId, bool),
    /// A surplus replica is removed.
    Release(ChunkId),
    /// Garbage is.
    Sweep(ChunkId),
}

/// One target: its negotiator, its chunk store, the repair of what it holds, and its meters. To crash it, drop
/// it; to start it anew, make another one over the same disk.
#[derive(Debug)]
pub struct StorageTarget {
    id: TargetId,
    position: u8,
    /// Of its store, so much as tells it from others.
    identity: u64,
    negotiator: Target,
    store: Store,
    repair: Repair,
    releasing: Releasing,
    /// Surplus replicas that were removed.
    surplus_removed: u64,
    membership: Membership,
    mistake: Option<Mistake>,
    /// Of a mistake: what was ever written.
    writing: BTreeSet<ChunkId>,
    /// Chunks that have arrived and wait to be written.
    arrived: BTreeMap<RequestId, Content>,
    /// What the store was asked for, and for whom.
    asked: BTreeMap<Ticket, Asker>,
    /// Chunks that were read and wait to be sent.
    read: BTreeMap<RequestId, Content>,
    last_ticket: u64,
    /// None where the rates of its configuration stay.
    meters: Option<Meters>,
    account: Account,
    log: TargetLog,
    /// Reads that the store asks for are those of repair.
    is_fetching: bool,
    disk_watch: DiskWatch,
    /// What it has said: that it has failed, or not.
    said_failed: bool,
    /// When it looks for room again, if it is full.
    next_look: Time,
    room_pause: Span,
    store_effects: Vec<StoreEffect>,
    negotiator_effects: Vec<TargetEffect>,
    repair_effects: Vec<RepairEffect>,
    /// What the negotiator heard and did, if somebody wants to know.
    tape: Option<Vec<TargetEntry>>,
    /// What becomes of its windows, while somebody watches.
    windows: Option<WindowLog>,
}

impl StorageTarget {
    /// Begins to open the store of a target: disk operations follow, and [`Want::Opened`] in the end.
    ///
    /// # Panics
    /// If the configuration of the store is out of its ranges.
    pub fn open(
        now: Time,
        setup: TargetSetup,
        circumstances: Circumstances,
        outbox: &mut Outbox,
    ) -> StorageTarget {
        let Circumstances { members, membership, patience, room_pause, mistake } = circumstances;
        let TargetSetup { id, target, store, repair, queue, records } = setup;
        let identity = store.identity.0.first_chunk().map_or(0, |first| u64::from_le_bytes(*first));
        let mut store_effects = Vec::new();
        let store = Store::open(store, &mut store_effects);
        let position = target.position;
        let negotiator = Target::new(target).sending_late_reads();
        let meters =
            queue.map(|queue| Meters::new(negotiator.disk_rate(), negotiator.link_rate(), queue));
        let mut storage = StorageTarget {
            id,
            position,
            identity,
            negotiator,
            store,
            repair: Repair::new(repair, position, members),
            releasing: Releasing::new(repair.surplus_after),
            surplus_removed: 0,
            membership,
            mistake,
            writing: BTreeSet::new(),
            arrived: BTreeMap::new(),
            asked: BTreeMap::new(),
            read: BTreeMap::new(),
            last_ticket: 0,
            meters,
            account: Account::default(),
            log: TargetLog::new(),
            is_fetching: false,
            disk_watch: DiskWatch::new(patience),
            said_failed: false,
            next_look: now,
            room_pause,
            store_effects,
            negotiator_effects: Vec::new(),
            repair_effects: Vec::new(),
            tape: records.then(Vec::new),
            windows: None,
        };
        if let Some(first) = storage.meters.as_ref().map(Meters::first) {
            storage.tell(now, first);
        }
        storage.settle(now, outbox);
        storage
    }

    /// Takes `input` at `now`; what follows from it goes to `outbox`.
    pub fn handle(&mut self, now: Time, input: TargetInput<'_>, outbox: &mut Outbox) {
        if let TargetInput::Message(Message::PutRequest(asked)) = &input {
            self.keep(now, &asked.chunk);
        }
        match input {
            // What is not available would be waited for in every round.
            TargetInput::Message(message) if !self.is_available() || self.cannot_tell(message) => {
                if let Some(answer) = answer_for(message, self.position) {
                    outbox.answer(now, answer);
                }
            }
            TargetInput::Message(message) if self.overlooks(message) => {}
            TargetInput::Message(message) => {
                if matches!(message, Message::PutRequest(_)) {
                    self.look_for_room(now);
                }
                self.tell(now, NegotiatorInput::Message(message));
            }
            TargetInput::Received(request, content, took) => {
                let size = Size::from_bytes(content.bytes().len() as u64);
                let rate = took.and_then(|took| {
                    self.meters.as_mut()?.came(now, request.initiator, (size, took))
                });
                if let Some(rate) = rate {
                    self.tell(now, rate);
                }
                self.received(now, request, content);
            }
            TargetInput::Damaged(request, chunk) => {
                if self.mistake == Some(Mistake::StoresDamaged) {
                    let content = Content::of(chunk.0.to_vec().into());
                    self.received(now, request, content);
                    return self.settle(now, outbox);
                }
                let (size, intact) = (Size::ZERO, false);
                self.tell(now, NegotiatorInput::Received { request, chunk, size, intact });
            }
            TargetInput::Sent(request) => self.tell(now, NegotiatorInput::Sent { request }),
            TargetInput::Disk(op, result) => {
                self.disk_watch.ended(now, op);
                let meters = self.meters.as_mut();
                if let Some(rate) = meters.and_then(|m| m.ended(now, op, result.is_ok())) {
                    self.tell(now, rate);
                }
                self.store.handle(StoreInput::Disk(op, result), &mut self.store_effects);
            }
            TargetInput::Worked(worked) => {
                self.store.handle(StoreInput::Worked(worked), &mut self.store_effects);
            }
            TargetInput::LookAtDisk => {
                let next = self.disk_watch.look(now);
                outbox.wants.extend(next.map(|time| (self.id, Want::LookAtDisk(time))));
            }
            TargetInput::DiskGone => {
                self.store.handle(StoreInput::Gone, &mut self.store_effects);
            }
            TargetInput::Remove(chunk) => {
                self.last_ticket += 1;
                let input = StoreInput::Remove(Ticket(self.last_ticket), chunk);
                self.store.handle(input, &mut self.store_effects);
            }
            TargetInput::Repair(input) => self.tell_repair(now, input),
            TargetInput::MayRemove { removed, kept } => self.may_remove(now, removed, kept),
            TargetInput::Membership(membership) => {
                self.membership = membership;
                // Also while its disk does not answer. Before it is open there is nothing to scan.
                if self.is_open() {
                    self.tell_repair(now, RepairInput::Draining(membership.is_draining()));
                }
            }
        }
        self.settle(now, outbox);
    }

    /// What it is told has consequences until nobody wants anything.
    fn settle(&mut self, now: Time, outbox: &mut Outbox) {
        loop {
            self.carry_out_store(now, outbox);
            self.carry_out_negotiator(now, outbox);
            self.carry_out_repair(now, outbox);
            let is_settled = self.store_effects.is_empty()
                && self.negotiator_effects.is_empty()
                && self.repair_effects.is_empty();
            if is_settled {
                break;
            }
        }
        self.account.disk(now, !self.asked.is_empty());
        let status = self.store.status();
        let doing = (status, self.is_scanning(), self.is_scrubbing(now));
        let (repair, store) = (&self.repair, &self.store);
        let numbers = || (repair.statistics(), store.statistics());
        self.log.look(now, self.id, doing, numbers, &mut outbox.effects);
        self.negotiator.set_intake(self.intake());
        if self.said_failed != self.has_failed() {
            self.said_failed = self.has_failed();
            outbox.wants.push((self.id, Want::Failed(self.said_failed)));
        }
    }

    /// Whether nothing that it holds counts: its disk does not write, or does not answer.
    pub fn has_failed(&self) -> bool {
        let status = self.store.status();
        self.disk_watch.is_stalled()
            || matches!(status, StoreStatus::ReadOnly(_) | StoreStatus::Failed(_))
    }

    /// What it says to puts. One that leaves, or whose disk does not write, counts for nobody.
    fn intake(&self) -> Intake {
        let drains = self.mistake == Some(Mistake::TakesPutsWhileDraining);
        if !(drains || self.membership.takes_puts()) {
            return Intake::Closed;
        }
        match self.store.status() {
            StoreStatus::Open => Intake::Open,
            StoreStatus::Full => Intake::Full,
            StoreStatus::ReadOnly(_) if self.mistake == Some(Mistake::CountsThoughFailed) => {
                Intake::Full
            }
            StoreStatus::Opening | StoreStatus::ReadOnly(_) | StoreStatus::Failed(_) => {
                Intake::Closed
            }
        }
    }

    /// Somebody wants room: others may have made some on the disk.
    fn look_for_room(&mut self, now: Time) {
        if self.store.status() == StoreStatus::Full && now >= self.next_look {
            self.next_look = now + self.room_pause;
            self.store.handle(StoreInput::LookForRoom, &mut self.store_effects);
        }
    }

    /// A mistake: a cancellation is not taken up.
    fn overlooks(&self, message: &Message) -> bool {
        let is_cancelled = |accept: &PutAccept| accept.grants.of(self.position).is_none();
        self.mistake == Some(Mistake::IgnoresCancellation)
            && matches!(message, Message::PutAccept(accept) if is_cancelled(accept))
    }

    /// Whether it answers: it is open, and its disk is there.
    pub fn is_available(&self) -> bool {
        let status = self.store.status();
        !self.disk_watch.is_stalled()
            && !matches!(
                status,
                StoreStatus::Opening
                    | StoreStatus::Failed(_)
                    | StoreStatus::ReadOnly(DiskError::Gone)
            )
    }

    /// Whether its store knows what it holds.
    pub fn is_open(&self) -> bool {
        matches!(
            self.store.status(),
            StoreStatus::Open | StoreStatus::Full | StoreStatus::ReadOnly(_)
        )
    }

    /// Whether it will be there soon: it opens, and its disk answers.
    pub fn is_opening(&self) -> bool {
        self.store.status() == StoreStatus::Opening && !self.disk_watch.is_stalled()
    }

    /// Whether it gives away what it holds.
    pub fn is_draining(&self) -> bool {
        self.membership.is_draining()
    }

    /// Whether it drains, and others hold all that it holds.
    pub fn has_handed_over(&self) -> bool {
        match self.mistake {
            Some(Mistake::HandsOverEarly) => {
                self.is_available() && self.repair.statistics().under_replicated == 0
            }
            _ => self.is_available() && self.repair.has_handed_over(),
        }
    }

    /// Which.
    pub fn id(&self) -> TargetId {
        self.id
    }

    /// The machine that negotiates.
    pub fn negotiator(&self) -> &Target {
        &self.negotiator
    }

    /// What its store can do.
    pub fn status(&self) -> StoreStatus {
        self.store.status()
    }

    /// Numbers of its store. O(1).
    pub fn statistics(&self) -> Statistics {
        self.store.statistics()
    }

    /// Numbers of its repair.
    pub fn repair_statistics(&self) -> RepairStatistics {
        self.repair.statistics()
    }

    /// How far its scan is, and its scrub, if they are under way.
    pub fn repair_progress(&self, now: Time) -> (Option<RepairProgress>, Option<RepairProgress>) {
        (self.repair.progress(now), self.repair.scrub_progress(now))
    }

    /// What it is busy with.
    pub fn load(&self, now: Time) -> TargetLoad {
        let measured = self.meters.as_ref().map_or((None, None), Meters::measured);
        self.account.load(now, &self.negotiator, self.asked.len(), measured)
    }

    /// On how many targets a chunk is wanted, and by whom, as it is stored here on stable storage; none if it is not.
    pub fn wanted(&self, chunk: &ChunkId) -> Option<Wanted> {
        self.store.wanted(chunk)
    }

    /// All chunks that are stored here, in the order of their names.
    pub fn chunks(&self) -> impl Iterator<Item = ChunkId> {
        self.chunks_from(ChunkId([0; 32]))
    }

    /// The same, from one on.
    pub(crate) fn chunks_from(&self, first: ChunkId) -> impl Iterator<Item = ChunkId> {
        self.store.chunks(first)
    }

    /// Whether a chunk that is stored here was put for names, and not bare.
    pub fn is_for_names(&self, chunk: &ChunkId) -> bool {
        self.wanted(chunk).is_some_and(|wanted| wanted.claim == Claim::Names)
    }

    /// Forgets what was promised to initiators, and keeps what is stored. To plant a mistake.
    #[doc(hidden)]
    pub fn forget_promises(&mut self, now: Time) {
        self.negotiator.restart(now);
    }

    /// The work that its host is to have done. See [`Store::take_work`].
    pub fn take_work(&mut self) -> Option<Work> {
        self.store.take_work()
    }

    /// What its negotiator heard and did since it was last asked; nothing unless it records.
    pub fn take_tape(&mut self) -> Vec<TargetEntry> {
        self.tape.as_mut().map(core::mem::take).unwrap_or_default()
    }

    fn tell(&mut self, now: Time, input: NegotiatorInput<'_>) {
        let before = self.negotiator_effects.len();
        let watched = self.before_windows(&input);
        let shelf = Shelf(&self.store, &self.releasing);
        self.negotiator.handle(now, input, &shelf, &mut self.negotiator_effects);
        if let Some(watched) = watched {
            self.after_windows(now, watched);
        }
        if let Some(tape) = &mut self.tape {
            let did = self.negotiator_effects[before..].to_vec();
            tape.push(TargetEntry { now, heard: input.into(), did });
        }
    }

    fn ticket(&mut self, asker: Asker) -> Ticket {
        self.last_ticket += 1;
        let ticket = Ticket(self.last_ticket);
        self.asked.insert(ticket, asker);
        ticket
    }
}
