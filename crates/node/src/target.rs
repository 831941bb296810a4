//! Hosts one target of this node: the machine, its disk, and the repair of what it holds.

use std::collections::BTreeMap;
use std::path::PathBuf;

use slotcast_protocol::tape::TargetEntry;
use slotcast_protocol::{
    AckOutcome, ChunkId, InitiatorId, Inventory, Membership, Message, Repair, RepairEffect,
    RepairInput, RepairOutcome, RepairProgress, RepairStatistics, RequestId, State, TargetConfig,
    TargetId,
};
use slotcast_store::{
    Content, DiskError, OpId, QueueRule, Standing, Statistics, StoringEffect, StoringTarget,
};
use slotcast_units::{Rate, Size, Span, Time};

use crate::disk::{Disk, DiskResult};
use crate::folder::Refusal;
use crate::journal::TargetJournal;

/// What a target wants of the node around it.
#[derive(Debug)]
pub(crate) enum TargetWish {
    /// Send a message.
    Send(InitiatorId, Message),
    /// Send a chunk to the initiator of the request, from this time on.
    Transfer { request: RequestId, content: Content, start: Time },
    /// Ask the group whether so many targets hold this, and say how it ended with [`TargetHost::repair`].
    Check(ChunkId, Size, u8),
    /// Put this into the group again, on so many targets, and say how it ended with [`TargetHost::repair`].
    PutAgain(Content, u8),
    /// Fetch this and put it into the group again, on so many targets; the same.
    Recover(ChunkId, u8),
    /// Say [`RepairInput::Wake`] then.
    WakeRepair(Time),
}

/// What became of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TargetNews {
    /// It is open and takes requests.
    Opened,
    /// It cannot be opened.
    NotOpened(DiskError),
    /// Its folder has disappeared.
    Gone,
}

/// What a target is busy with, and was since the node started.
#[derive(Debug, Clone, Copy, Default)]
pub struct TargetLoad {
    /// Windows that it has promised or bid, in and out.
    pub windows: u32,
    /// Chunks that wait for its disk or are there.
    pub at_disk: u32,
    /// Content that came in, in bytes.
    pub received_bytes: u64,
    /// Content that went out, in bytes.
    pub sent_bytes: u64,
    /// Time in which its disk had something to do for somebody.
    pub disk_busy: Span,
    /// How fast its disk puts data on stable storage, once that was measured.
    pub disk_rate: Option<Rate>,
    /// How fast chunks come in over its link, at most the agreed rate, once that was measured.
    pub link_rate: Option<Rate>,
}

/// One target of this node.
pub(crate) struct TargetHost {
    pub(crate) id: TargetId,
    pub(crate) path: PathBuf,
    /// Why its folder is not taken for it, if that is so.
    pub(crate) refusal: Option<Refusal>,
    machine: StoringTarget,
    disk: Disk,
    effects: Vec<StoringEffect>,
    repair: Repair,
    /// What its repair reads, and whether it is to be put then.
    reading: BTreeMap<ChunkId, bool>,
    repairing: Vec<RepairEffect>,
    membership: Membership,
    is_gone: bool,
    journal: TargetJournal,
    load: TargetLoad,
    disk_busy_since: Option<Time>,
}

impl TargetHost {
    /// Begins to open the store; the news say when it is open.
    pub(crate) fn new(
        now: Time,
        (id, path, refusal): (TargetId, PathBuf, Option<Refusal>),
        config: TargetConfig,
        store: slotcast_store::Config,
        disk: Disk,
        (repair, membership): (Repair, Membership),
        (queue, records): (QueueRule, bool),
    ) -> TargetHost {
        let mut effects = Vec::new();
        let mut machine = StoringTarget::open(now, config, store, &mut effects);
        if records {
            machine = machine.recording();
        }
        let mut machine = machine.measuring(now, queue);
        machine.take_puts(membership.takes_puts());
        let (reading, repairing) = (BTreeMap::new(), Vec::new());
        let mut host = TargetHost {
            id,
            path,
            refusal,
            machine,
            disk,
            effects,
            repair,
            reading,
            repairing,
            membership,
            is_gone: false,
            journal: TargetJournal::new(),
            load: TargetLoad::default(),
            disk_busy_since: None,
        };
        host.carry_out(now, &mut Vec::new(), &mut Vec::new());
        host
    }

    /// Whether it does not answer: not yet, or not any more.
    pub(crate) fn is_mute(&self) -> bool {
        matches!(
            self.machine.standing(),
            Standing::Opening | Standing::Failed(_) | Standing::ReadOnly(DiskError::Gone)
        )
    }

    /// What it has to do with the cluster has changed.
    pub(crate) fn set_membership(
        &mut self,
        now: Time,
        membership: Membership,
        wishes: &mut Vec<TargetWish>,
        news: &mut Vec<TargetNews>,
    ) {
        self.membership = membership;
        self.machine.take_puts(membership.takes_puts());
        if !self.is_mute() {
            self.repair(now, RepairInput::Leaves(membership.leaves()), wishes, news);
        }
    }

    pub(crate) fn leaves(&self) -> bool {
        self.membership.leaves()
    }

    /// Whether it leaves, and others hold all that it holds.
    pub(crate) fn has_handed_over(&self) -> bool {
        !self.is_mute() && self.repair.has_handed_over()
    }

    pub(crate) fn repair_statistics(&self) -> RepairStatistics {
        self.repair.statistics()
    }

    /// How far its walk is, and its scrub.
    pub(crate) fn repair_progress(
        &self,
        now: Time,
    ) -> (Option<RepairProgress>, Option<RepairProgress>) {
        (self.repair.progress(now), self.repair.scrub_progress(now))
    }

    /// Its repair is told something.
    pub(crate) fn repair(
        &mut self,
        now: Time,
        input: RepairInput,
        wishes: &mut Vec<TargetWish>,
        news: &mut Vec<TargetNews>,
    ) {
        self.repair.handle(now, input, &self.machine, &mut self.repairing);
        self.carry_out(now, wishes, news);
    }

    pub(crate) fn standing(&self) -> Standing {
        self.machine.standing()
    }

    pub(crate) fn statistics(&self) -> Statistics {
        self.machine.statistics()
    }

    pub(crate) fn load(&self, now: Time) -> TargetLoad {
        let machine = self.machine.machine();
        let calendars = [machine.incoming(), machine.outgoing()];
        let windows = calendars.into_iter().flat_map(|calendar| calendar.reservations());
        let open = windows.filter(|r| r.state != State::Cancelled && r.window.end > now);
        let busy = self.disk_busy_since.map_or(Span::ZERO, |since| now.saturating_since(since));
        TargetLoad {
            windows: u32::try_from(open.count()).unwrap_or(u32::MAX),
            at_disk: u32::try_from(self.machine.at_disk()).unwrap_or(u32::MAX),
            disk_busy: self.load.disk_busy + busy,
            disk_rate: self.machine.measured().0,
            link_rate: self.machine.measured().1,
            ..self.load
        }
    }

    /// Keeps the time in which the disk is busy up to date.
    fn account(&mut self, now: Time) {
        match (self.disk_busy_since, self.machine.at_disk() == 0) {
            (None, false) => self.disk_busy_since = Some(now),
            (Some(since), true) => {
                self.load.disk_busy += now.saturating_since(since);
                self.disk_busy_since = None;
            }
            _ => {}
        }
    }

    /// A message came.
    pub(crate) fn message(
        &mut self,
        now: Time,
        message: &Message,
        wishes: &mut Vec<TargetWish>,
        news: &mut Vec<TargetNews>,
    ) {
        self.machine.message(now, message, &mut self.effects);
        self.carry_out(now, wishes, news);
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
        self.load.received_bytes += content.bytes().len() as u64;
        self.machine.received(now, request, content, &mut self.effects);
        self.carry_out(now, wishes, news);
    }

    /// The chunk that is received next came over a link in `took`, from its first byte to its last.
    pub(crate) fn came(&mut self, now: Time, size: Size, took: Span) {
        self.machine.came(now, size, took);
    }

    /// What its machine heard and did, if it records.
    pub(crate) fn take_tape(&mut self) -> Vec<TargetEntry> {
        self.machine.take_tape()
    }

    /// A chunk came that is not what it is said to be, or not all of it.
    pub(crate) fn damaged(
        &mut self,
        now: Time,
        request: RequestId,
        chunk: ChunkId,
        wishes: &mut Vec<TargetWish>,
        news: &mut Vec<TargetNews>,
    ) {
        self.machine.damaged(now, request, chunk, &mut self.effects);
        self.carry_out(now, wishes, news);
    }

    /// A chunk has left.
    pub(crate) fn sent(&mut self, now: Time, request: RequestId) {
        self.machine.sent(now, request);
    }

    /// Sees whether its folder has disappeared.
    pub(crate) fn look(
        &mut self,
        now: Time,
        wishes: &mut Vec<TargetWish>,
        news: &mut Vec<TargetNews>,
    ) {
        if !self.is_gone && self.disk.is_gone() {
            self.machine.disk_gone(now, &mut self.effects);
            self.carry_out(now, wishes, news);
        }
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
        self.machine.disk(now, op, result, &mut self.effects);
        self.carry_out(now, wishes, news);
    }

    fn carry_out(&mut self, now: Time, wishes: &mut Vec<TargetWish>, news: &mut Vec<TargetNews>) {
        while !self.effects.is_empty() || !self.repairing.is_empty() {
            for effect in std::mem::take(&mut self.effects) {
                self.store_effect(now, effect, wishes, news);
            }
            for effect in std::mem::take(&mut self.repairing) {
                match effect {
                    RepairEffect::Check(chunk) => self.check(now, chunk, wishes),
                    RepairEffect::PutAgain(chunk) | RepairEffect::Read(chunk) => {
                        let put = matches!(effect, RepairEffect::PutAgain(_));
                        self.reading.insert(chunk, put);
                        self.machine.fetch(now, chunk, &mut self.effects);
                    }
                    RepairEffect::Recover(chunk, replicas) => {
                        wishes.push(TargetWish::Recover(chunk, replicas));
                    }
                    RepairEffect::WakeAt(time) => wishes.push(TargetWish::WakeRepair(time)),
                }
            }
        }
        self.account(now);
        let (id, machine, repair) = (self.id, &self.machine, &self.repair);
        let standing = machine.standing();
        self.journal.standing(id, &self.path, standing, || machine.statistics());
        let is_walking = repair.progress(now).is_some();
        let is_scrubbing = repair.scrub_progress(now).is_some();
        self.journal.repair(now, id, (is_walking, is_scrubbing), || {
            (repair.statistics(), machine.statistics())
        });
        if !self.is_gone && standing == Standing::ReadOnly(DiskError::Gone) {
            self.is_gone = true;
            news.push(TargetNews::Gone);
        }
    }

    /// Its repair wants to know whether there are enough replicas.
    fn check(&mut self, now: Time, chunk: ChunkId, wishes: &mut Vec<TargetWish>) {
        let outcome = match (self.machine.size(&chunk), self.machine.wanted(&chunk)) {
            // An empty chunk is never sent: it has no replicas to make.
            (Some(Size::ZERO), _) => RepairOutcome::Complete,
            (Some(size), Some(replicas)) => {
                return wishes.push(TargetWish::Check(chunk, size, replicas));
            }
            _ => RepairOutcome::NotFound,
        };
        let input = RepairInput::Ended(chunk, outcome);
        self.repair.handle(now, input, &self.machine, &mut self.repairing);
    }

    fn store_effect(
        &mut self,
        now: Time,
        effect: StoringEffect,
        wishes: &mut Vec<TargetWish>,
        news: &mut Vec<TargetNews>,
    ) {
        let input = match effect {
            StoringEffect::Disk(id, op) => return self.disk.ask(id, op),
            StoringEffect::Send(to, message) => {
                wishes.push(TargetWish::Send(to, message));
                match message {
                    Message::ReplicaAck(ack)
                        if ack.outcome == AckOutcome::Stored && self.membership.leaves() =>
                    {
                        RepairInput::Stored
                    }
                    _ => return,
                }
            }
            StoringEffect::Transfer { request, content, start } => {
                self.load.sent_bytes += content.bytes().len() as u64;
                return wishes.push(TargetWish::Transfer { request, content, start });
            }
            StoringEffect::Opened => {
                news.push(TargetNews::Opened);
                // Before, there was nothing to walk over.
                RepairInput::Leaves(self.membership.leaves())
            }
            StoringEffect::NotOpened(error) => return news.push(TargetNews::NotOpened(error)),
            StoringEffect::Lost(chunk, replicas) => {
                self.journal.lost(self.id, &self.path, &chunk);
                RepairInput::Lost(chunk, replicas)
            }
            StoringEffect::Fetched(chunk, result) => match (result, self.reading.remove(&chunk)) {
                (Ok(content), Some(true)) => match self.machine.wanted(&chunk) {
                    Some(replicas) => {
                        return wishes.push(TargetWish::PutAgain(content, replicas));
                    }
                    None => RepairInput::Ended(chunk, RepairOutcome::NotFound),
                },
                (Ok(_), Some(_)) => RepairInput::Ended(chunk, RepairOutcome::Complete),
                // Compaction has moved it while it was read.
                (Err(_), Some(_)) if self.machine.holds(&chunk) => {
                    RepairInput::Ended(chunk, RepairOutcome::Failed)
                }
                (Err(_), Some(_)) => RepairInput::Ended(chunk, RepairOutcome::NotFound),
                (_, None) => return,
            },
        };
        self.repair.handle(now, input, &self.machine, &mut self.repairing);
    }
}
