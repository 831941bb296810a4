//! The target: answers requests from its calendar, takes chunks in, hands them out.

mod disk;
mod find;
mod get;
mod lag;
mod proxied;
mod put;
#[cfg(test)]
mod quiet_tests;
#[cfg(test)]
mod tests;

use alloc::vec::Vec;

use slotcast_units::{Rate, Size, Time};

pub use disk::{Backpressure, DiskForecast};
use lag::AcceptanceLag;

use crate::calendar::{Calendar, CalendarRules, OfferRule};
use crate::claim::{Claim, Wanted};
use crate::ids::{ChunkId, GroupId, InitiatorId, RequestId, Term};
use crate::message::{MAX_REPLICAS, Message};
use crate::timing::{IdleExtension, Timing, WindowRule};
use crate::window::Window;

/// What a target must know.
#[derive(Debug, Clone)]
pub struct TargetConfig {
    /// The negotiating group that it belongs to.
    pub group: GroupId,
    /// Its position there.
    pub position: u8,
    /// Times shared with the initiators.
    pub timing: Timing,
    /// How wide it bids.
    pub window_rule: WindowRule,
    /// How its idle bids are stretched.
    pub idle_extension: IdleExtension,
    /// How windows for incoming chunks are found and kept.
    pub calendar: CalendarRules,
    /// What it expects of its disks.
    pub disk: DiskForecast,
}

#[expect(clippy::cast_possible_truncation, reason = "at most 8")]
const REPLICA_LIMIT: u8 = MAX_REPLICAS as u8;

/// What the target has on its disks. The host looks it up; the machine only asks.
pub trait Holdings {
    /// The size of `chunk`, if it is stored here; also if it could not be read when that was last tried.
    fn size_of(&self, chunk: &ChunkId) -> Option<Size>;

    /// How many targets are to hold `chunk`, as it was stored here; asked only for a chunk that is. A host
    /// that keeps no such numbers says the most, and none is ever raised. 0 if the chunk could not be read: gets try
    /// that again, and it does not count as a replica.
    fn replicas_of(&self, _chunk: &ChunkId) -> u8 {
        REPLICA_LIMIT
    }

    /// Who wants `chunk` kept, as it was stored here; asked only for a chunk that is.
    fn claim_of(&self, _chunk: &ChunkId) -> Claim {
        Claim::Bare
    }

    /// The disk that holds `chunk`, counted from zero; asked only for a chunk that is stored here.
    fn disk_of(&self, _chunk: &ChunkId) -> u16 {
        0
    }
}

/// What a host tells the target.
#[derive(Debug, Clone, Copy)]
pub enum TargetInput<'a> {
    /// A message arrived.
    Message(&'a Message),
    /// A chunk arrived, whole; `intact` if its content matches its name.
    Received {
        /// For which request.
        request: RequestId,
        /// The chunk.
        chunk: ChunkId,
        /// Its size.
        size: Size,
        /// Whether its content matches its name.
        intact: bool,
    },
    /// A write ended: `stable` if the chunk is on stable storage.
    Written {
        /// For which request.
        request: RequestId,
        /// Whether it is on stable storage.
        stable: bool,
    },
    /// A read ended.
    Read {
        /// For which request.
        request: RequestId,
        /// Whether the content matches the name.
        intact: bool,
    },
    /// A transfer to an initiator has left.
    Sent {
        /// For which request.
        request: RequestId,
    },
    /// The disks were measured: from now on bids count on this.
    DiskRate {
        /// How fast each of them is.
        rate: Rate,
        /// Backlog from which initiators are asked to wait.
        queue_limit: Size,
    },
    /// Reads were measured: from now on offers count on this.
    ReadRate(Rate),
    /// The link was measured: from now on windows leave room for what comes slower than agreed.
    LinkRate(Rate),
}

/// What the target wants of its host.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TargetEffect {
    /// Send a message.
    Send {
        /// To whom.
        to: InitiatorId,
        /// What.
        message: Message,
    },
    /// Write the chunk that was received for `request` to stable storage, then say
    /// [`TargetInput::Written`].
    Write {
        /// For which request.
        request: RequestId,
        /// The chunk.
        chunk: ChunkId,
        /// Its size.
        size: Size,
        /// On which of the target's disks, counted from zero.
        disk: u16,
        /// On how many targets it is wanted, and by whom, to be stored with it; none where a proxy has found the
        /// window, which is not told: then on as many as the cluster's number says, and bare.
        wanted: Option<Wanted>,
    },
    /// Note on stable storage on how many targets a chunk is wanted, and by whom, that is stored here for fewer or
    /// with a lower claim, then say [`TargetInput::Written`]. What is stored is not lowered by that.
    Raise {
        /// For which request.
        request: RequestId,
        /// The chunk.
        chunk: ChunkId,
        /// What is wanted.
        wanted: Wanted,
    },
    /// Read a chunk from the disk, then say [`TargetInput::Read`].
    Read {
        /// For which request.
        request: RequestId,
        /// The chunk.
        chunk: ChunkId,
        /// Its size.
        size: Size,
        /// From which of the target's disks, counted from zero.
        disk: u16,
    },
    /// Send the chunk that was read for `request`, from `start` on, then say
    /// [`TargetInput::Sent`].
    Transfer {
        /// For which request; names the initiator.
        request: RequestId,
        /// The chunk.
        chunk: ChunkId,
        /// Its size.
        size: Size,
        /// When.
        start: Time,
    },
    /// Send a message to the proxy at a position of this target's group; nobody hears it if the
    /// group has no such position.
    Report {
        /// The proxy's position.
        to: u8,
        /// What.
        message: Message,
    },
}

/// A get that was accepted and is not yet sent.
#[derive(Debug, Clone, Copy)]
struct Delivering {
    request: RequestId,
    round: u8,
    chunk: ChunkId,
    size: Size,
    disk: u16,
    window: Window,
    offered_at: Time,
    accepted: bool,
}

/// A chunk that is being written or read.
#[derive(Debug, Clone, Copy)]
struct AtDisk {
    request: RequestId,
    disk: u16,
    is_write: bool,
}

/// What a target says to puts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Intake {
    /// It bids.
    #[default]
    Open,
    /// It has no room: what it holds counts as a replica, and it bids for nothing else.
    Full,
    /// It is not available: what it holds counts for nobody, since it leaves, or since its disk does not write.
    Closed,
}

/// One storage target.
#[derive(Debug, Clone)]
pub struct Target {
    config: TargetConfig,
    incoming: Calendar,
    outgoing: Calendar,
    deliveries: Vec<Delivering>,
    at_disk: Vec<AtDisk>,
    /// How long after their offers gets are accepted.
    acceptance: AcceptanceLag,
    /// The latest proxy of the group that this target has heard of.
    term: Term,
    rejected: u64,
    /// Chunks that were read too late for their window are sent in another.
    sends_late_reads: bool,
    intake: Intake,
    late_rejects: u64,
    /// What chunks come in at, if that is less than agreed.
    slow_link: Option<Rate>,
}

impl Target {
    /// A target with nothing promised.
    pub fn new(config: TargetConfig) -> Target {
        let outgoing = CalendarRules { offer: OfferRule::FirstFit, ..config.calendar };
        Target {
            incoming: Calendar::new(config.calendar, config.timing),
            outgoing: Calendar::new(outgoing, config.timing),
            deliveries: Vec::new(),
            at_disk: Vec::new(),
            acceptance: AcceptanceLag::new(config.timing.round_trip()),
            term: Term::NONE,
            rejected: 0,
            late_rejects: 0,
            sends_late_reads: false,
            slow_link: None,
            intake: Intake::Open,
            config,
        }
    }

    /// The same, with another answer where a read ends too late for its window: the chunk leaves in the
    /// next one that is free, instead of not at all. On a real disk reads are often late, and to ask
    /// again would not make them earlier; the initiator may then be receiving something else.
    #[must_use]
    pub fn sending_late_reads(self) -> Target {
        Target { sends_late_reads: true, ..self }
    }

    /// What it says to puts from now on. What it has promised it keeps.
    pub fn set_intake(&mut self, intake: Intake) {
        self.intake = intake;
    }

    /// Reservations for incoming chunks.
    pub fn incoming(&self) -> &Calendar {
        &self.incoming
    }

    /// Reservations for outgoing chunks.
    pub fn outgoing(&self) -> &Calendar {
        &self.outgoing
    }

    /// How fast it expects its disks to be.
    pub fn disk_rate(&self) -> Rate {
        self.config.disk.rate()
    }

    /// How fast it expects chunks to come in.
    pub fn link_rate(&self) -> Rate {
        self.slow_link.unwrap_or(self.config.timing.data_rate)
    }

    /// Messages that made no sense to this target and were dropped.
    pub fn rejected(&self) -> u64 {
        self.rejected
    }

    /// Initiators that were told that their window is not to be had any more.
    pub fn late_rejects(&self) -> u64 {
        self.late_rejects
    }

    /// Forgets every promise, as a restart does. What is on the disk stays.
    pub fn restart(&mut self, now: Time) {
        self.incoming.clear();
        self.outgoing.clear();
        self.deliveries.clear();
        self.at_disk.clear();
        self.acceptance = AcceptanceLag::new(self.config.timing.round_trip());
        self.term = Term::NONE;
        self.config.disk.forget(now);
    }

    /// Takes `input` at `now` and appends what is to be done to `effects`.
    pub fn handle(
        &mut self,
        now: Time,
        input: TargetInput<'_>,
        holdings: &impl Holdings,
        effects: &mut Vec<TargetEffect>,
    ) {
        match input {
            TargetInput::Message(Message::PutRequest(m)) => {
                self.put_request(now, m, holdings, effects);
            }
            TargetInput::Message(Message::PutAccept(m)) => self.put_accept(m, effects),
            TargetInput::Message(Message::GetRequest(m)) => {
                self.get_request(now, m, holdings, effects);
            }
            TargetInput::Message(Message::GetAccept(m)) => self.get_accept(now, m, effects),
            TargetInput::Message(Message::ProxyNotice(m)) => {
                self.proxy_notice(now, m, holdings, effects);
            }
            TargetInput::Message(Message::ProxyQuery(m)) => self.proxy_query(now, m, effects),
            TargetInput::Message(Message::FindRequest(m)) => {
                self.find_request(m, holdings, effects);
            }
            TargetInput::Message(_) => self.rejected += 1,
            TargetInput::Received { request, chunk, size, intact } => {
                self.received(now, request, (chunk, size), intact, effects);
            }
            TargetInput::Written { request, stable } => {
                self.written(now, request, stable, effects);
            }
            TargetInput::Read { request, intact } => self.read(now, request, intact, effects),
            TargetInput::Sent { request } => {
                self.outgoing.release(request);
            }
            TargetInput::DiskRate { rate, queue_limit } => {
                self.config.disk.follow(now, rate, queue_limit);
            }
            TargetInput::ReadRate(rate) => self.config.disk.follow_reads(rate),
            TargetInput::LinkRate(rate) => {
                let is_slower = rate < self.config.timing.data_rate;
                self.slow_link = is_slower.then_some(rate);
                if !is_slower {
                    self.incoming.set_gap(self.config.calendar.gap);
                }
            }
        }
    }

    /// A disk has done what it was given for `request`.
    fn disk_done(&mut self, now: Time, request: RequestId, is_write: bool) {
        let done = self.at_disk.iter().position(|d| d.request == request && d.is_write == is_write);
        // Nothing is known any more of what was given to a disk before a restart.
        if let Some(done) = done {
            let AtDisk { disk, .. } = self.at_disk.swap_remove(done);
            self.config.disk.complete(now, disk);
        }
    }
}
