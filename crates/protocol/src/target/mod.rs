//! The target: answers requests from its calendar, takes chunks in, hands them out.

mod disk;
mod lag;
mod proxied;
#[cfg(test)]
mod quiet_tests;
#[cfg(test)]
mod tests;

use alloc::vec::Vec;
use core::cmp::Ordering;

use slotcast_units::{Rate, Size, Span, Time};

pub use disk::{Backpressure, DiskForecast};
use lag::AcceptanceLag;

use crate::calendar::{Ask, Calendar, CalendarRules, NoReservation, OfferRule, Reservation};
use crate::ids::{ChunkId, GroupId, InitiatorId, RequestId, Term};
use crate::message::{
    AckOutcome, Bid, BidAnswer, FindAnswer, FindReply, FindRequest, GetAccept, GetRequest,
    LateReject, MAX_REPLICAS, Message, Occasion, Offer, OfferAnswer, PutAccept, PutRequest,
    ReplicaAck, Undelivered,
};
use crate::timing::{Delivery, IdleExtension, Timing, WindowRule};
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
const MOST_REPLICAS: u8 = MAX_REPLICAS as u8;

/// What the target has on its disks. The host looks it up; the machine only asks.
pub trait Holdings {
    /// The size of `chunk`, if it is stored here.
    fn size_of(&self, chunk: &ChunkId) -> Option<Size>;

    /// How many targets are to hold `chunk`, as it was stored here; asked only for a chunk that is. A host
    /// that keeps no such numbers says the most, and none is ever raised.
    fn replicas_of(&self, _chunk: &ChunkId) -> u8 {
        MOST_REPLICAS
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
        /// How many targets are to hold it, to be stored with it; none where a proxy has found the window,
        /// which is not told.
        replicas: Option<u8>,
    },
    /// Note on stable storage that this many targets are to hold a chunk that is stored here for fewer, then
    /// say [`TargetInput::Written`].
    Raise {
        /// For which request.
        request: RequestId,
        /// The chunk.
        chunk: ChunkId,
        /// How many targets are to hold it.
        replicas: u8,
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
    takes_puts: bool,
    late_rejects: u64,
    /// What chunks come in at, if that is less than agreed.
    slow_link: Option<Rate>,
}

/// Most gets that a target holds offers or deliveries for; further ones are asked to come later.
const MAX_DELIVERIES: usize = 256;

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
            takes_puts: true,
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

    /// Whether it bids for chunks that it does not hold; if not, it keeps what it has promised.
    pub fn take_puts(&mut self, takes_puts: bool) {
        self.takes_puts = takes_puts;
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
                let reserved = self.incoming.release(request);
                match (reserved, intact) {
                    (None, _) => self.acknowledge(request, AckOutcome::NoReservation, effects),
                    (Some(_), false) => self.acknowledge(request, AckOutcome::Damaged, effects),
                    (Some(Reservation { replicas, .. }), true) => {
                        let disk = self.config.disk.least_busy();
                        self.config.disk.submit(now, size, disk);
                        self.at_disk.push(AtDisk { request, disk, is_write: true });
                        effects.push(TargetEffect::Write { request, chunk, size, disk, replicas });
                    }
                }
                if reserved.is_some() && self.term != Term::NONE {
                    self.report(now, request, Occasion::Received, self.term, effects);
                }
            }
            TargetInput::Written { request, stable } => {
                self.disk_done(now, request, true);
                let outcome = if stable { AckOutcome::Stored } else { AckOutcome::DiskFailed };
                self.acknowledge(request, outcome, effects);
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

    fn put_request(
        &mut self,
        now: Time,
        m: &PutRequest,
        holdings: &impl Holdings,
        effects: &mut Vec<TargetEffect>,
    ) {
        if m.group != self.config.group || m.size == Size::ZERO {
            self.rejected += 1;
            return;
        }
        if m.skip.contains(self.config.position) {
            return;
        }
        let answer = match holdings.size_of(&m.chunk) {
            None => self.bid(now, m),
            Some(_) if holdings.replicas_of(&m.chunk) >= m.replicas => BidAnswer::AlreadyStored,
            Some(size) => {
                let disk = holdings.disk_of(&m.chunk);
                self.raise(now, m, (size, disk), effects);
                BidAnswer::Raising
            }
        };
        let bid =
            Bid { request: m.request, round: m.round, position: self.config.position, answer };
        effects.push(TargetEffect::Send { to: m.request.initiator, message: Message::Bid(bid) });
    }

    /// The chunk is here, for fewer replicas than `m` wants. A repeated request finds that in hand.
    fn raise(
        &mut self,
        now: Time,
        m: &PutRequest,
        (size, disk): (Size, u16),
        effects: &mut Vec<TargetEffect>,
    ) {
        let PutRequest { request, chunk, replicas, .. } = *m;
        if !self.is_writing(request) {
            self.config.disk.submit(now, size, disk);
            self.at_disk.push(AtDisk { request, disk, is_write: true });
            effects.push(TargetEffect::Raise { request, chunk, replicas });
        }
    }

    fn bid(&mut self, now: Time, m: &PutRequest) -> BidAnswer {
        let size = self.config.window_rule.size_for(&self.config.timing, m.size);
        if let Some(rate) = self.slow_link {
            // Chunks overrun their windows by so much; those before and after are taken for alike.
            let overrun = rate.time_for(m.size).saturating_sub(size.transfer);
            self.incoming.set_gap(self.config.calendar.gap + overrun);
        }
        let idle_extension = match self.config.idle_extension {
            IdleExtension::TwoTransfers => size.transfer * 2,
            IdleExtension::TwoTrips => self.config.timing.trip * 2,
            IdleExtension::TwoTransfersByCoin => {
                let coin = m.chunk.mix(2 + u64::from(self.config.position)) >> 63;
                size.transfer * 2 * coin
            }
        };
        let disk = &self.config.disk;
        let promised = self.incoming.promised(now);
        let ask = Ask {
            request: m.request,
            round: m.round,
            payload: m.size,
            replicas: Some(m.replicas),
            not_before: m.not_before,
            size,
            disk_delay: disk.delay(now, m.size, size.transfer, promised),
            idle_extension,
        };
        let backlog = disk.backlog_with(now, m.size, promised);
        let offer = if self.takes_puts { self.incoming.offer(now, &ask) } else { None };
        match offer {
            Some(window) => BidAnswer::Window { window, backlog },
            None => {
                BidAnswer::NotNow { retry_after: self.incoming.busy_for(now).max(size.bid) / 2 }
            }
        }
    }

    fn put_accept(&mut self, m: &PutAccept, effects: &mut Vec<TargetEffect>) {
        match m.grants.of(self.config.position) {
            None => self.incoming.cancel(m.request, m.round),
            Some(grant) => match self.incoming.accept(m.request, m.round, grant.window) {
                Ok(None) => {}
                Ok(Some(loser)) => self.reject(loser.request, loser.round, effects),
                // A repeated acceptance may come when the chunk is here already.
                Err(NoReservation) if self.is_writing(m.request) => {}
                // The rejection and this acceptance have crossed, or the rejection was lost.
                Err(NoReservation) if self.config.calendar.offer == OfferRule::DoubleBooking => {
                    self.reject(m.request, m.round, effects);
                }
                Err(NoReservation) => {
                    self.acknowledge(m.request, AckOutcome::NoReservation, effects);
                }
            },
        }
    }

    /// Tells the initiator of `request` not to count on what it was bid in `round`.
    #[inline(never)]
    fn reject(&mut self, request: RequestId, round: u8, effects: &mut Vec<TargetEffect>) {
        self.late_rejects += 1;
        let rejection = LateReject { request, round, position: self.config.position };
        let message = Message::LateReject(rejection);
        effects.push(TargetEffect::Send { to: request.initiator, message });
    }

    fn get_request(
        &mut self,
        now: Time,
        m: &GetRequest,
        holdings: &impl Holdings,
        effects: &mut Vec<TargetEffect>,
    ) {
        if m.group != self.config.group {
            self.rejected += 1;
            return;
        }
        if m.skip.contains(self.config.position) {
            return;
        }
        let answer = match holdings.size_of(&m.chunk) {
            None => OfferAnswer::NotHeld,
            Some(size) => self.offer(now, m, size, holdings.disk_of(&m.chunk)),
        };
        let offer =
            Offer { request: m.request, round: m.round, position: self.config.position, answer };
        effects
            .push(TargetEffect::Send { to: m.request.initiator, message: Message::Offer(offer) });
    }

    fn find_request(
        &mut self,
        m: &FindRequest,
        holdings: &impl Holdings,
        effects: &mut Vec<TargetEffect>,
    ) {
        if m.group != self.config.group {
            self.rejected += 1;
            return;
        }
        let replicas = || holdings.replicas_of(&m.chunk);
        let held = holdings.size_of(&m.chunk);
        let held = held.map(|size| FindAnswer::Held { size, replicas: replicas() });
        let answer = held.unwrap_or(FindAnswer::NotHeld);
        let reply = FindReply { request: m.request, position: self.config.position, answer };
        let message = Message::FindReply(reply);
        effects.push(TargetEffect::Send { to: m.request.initiator, message });
    }

    fn offer(&mut self, now: Time, m: &GetRequest, size: Size, on: u16) -> OfferAnswer {
        let rule = WindowRule::published(Delivery::Unicast);
        let width = rule.size_for(&self.config.timing, size);
        if let Some(at) = self.deliveries.iter().position(|d| d.request == m.request) {
            let known = &self.deliveries[at];
            match m.round.cmp(&known.round) {
                Ordering::Equal => return OfferAnswer::Window { window: known.window, size },
                Ordering::Less => return OfferAnswer::NotNow { retry_after: width.bid },
                // The initiator no longer counts on what it accepted before.
                Ordering::Greater => self.deliveries.swap_remove(at),
            };
        }
        self.outgoing.expire(now, width.bid);
        let outgoing = &self.outgoing;
        self.deliveries.retain(|d| {
            d.accepted || outgoing.reservations().iter().any(|r| r.request == d.request)
        });
        if self.deliveries.len() >= MAX_DELIVERIES {
            return OfferAnswer::NotNow { retry_after: width.bid };
        }
        // The read starts when the offer is accepted, behind what the disk has then: what it has now,
        // what will have come in by then, and the reads of offers that are accepted before.
        let acceptance = now + self.acceptance.expected(now);
        let disk = &self.config.disk;
        let ahead = self.incoming.promised_until(now, acceptance);
        let offered: Span = self
            .deliveries
            .iter()
            .filter(|delivery| !delivery.accepted && delivery.disk == on)
            .map(|delivery| disk.read_service(delivery.size))
            .sum();
        let read = disk.read_delay(now, on, size, ahead, offered);
        let ask = Ask {
            request: m.request,
            round: m.round,
            payload: size,
            replicas: None,
            not_before: m.not_before.max(acceptance + read),
            size: width,
            disk_delay: Span::ZERO,
            idle_extension: Span::ZERO,
        };
        let Some(window) = self.outgoing.offer(now, &ask) else {
            return OfferAnswer::NotNow {
                retry_after: self.outgoing.busy_for(now).max(width.bid) / 2,
            };
        };
        self.deliveries.push(Delivering {
            request: m.request,
            round: m.round,
            chunk: m.chunk,
            size,
            disk: on,
            window,
            offered_at: now,
            accepted: false,
        });
        OfferAnswer::Window { window, size }
    }

    fn get_accept(&mut self, now: Time, m: &GetAccept, effects: &mut Vec<TargetEffect>) {
        let grant = m.grant.filter(|grant| grant.position == self.config.position);
        let Some(at) = self.deliveries.iter().position(|d| d.request == m.request) else {
            if grant.is_some() {
                self.undelivered(m.request, effects);
            }
            return;
        };
        if self.deliveries[at].accepted || self.deliveries[at].round != m.round {
            return;
        }
        let Some(grant) = grant else {
            self.outgoing.cancel(m.request, m.round);
            self.deliveries.swap_remove(at);
            return;
        };
        if self.outgoing.accept(m.request, m.round, grant.window).is_err() {
            self.deliveries.swap_remove(at);
            self.undelivered(m.request, effects);
            return;
        }
        let delivery = &mut self.deliveries[at];
        self.acceptance.observed(now, now.saturating_since(delivery.offered_at));
        delivery.accepted = true;
        delivery.window = grant.window;
        let Delivering { request, chunk, size, disk, .. } = *delivery;
        self.config.disk.submit_read(now, size, disk);
        self.at_disk.push(AtDisk { request, disk, is_write: false });
        effects.push(TargetEffect::Read { request, chunk, size, disk });
    }

    fn read(
        &mut self,
        now: Time,
        request: RequestId,
        intact: bool,
        effects: &mut Vec<TargetEffect>,
    ) {
        self.disk_done(now, request, false);
        let found = self.deliveries.iter().position(|d| d.request == request && d.accepted);
        let Some(at) = found else { return };
        let Delivering { chunk, size, window, round, .. } = self.deliveries.swap_remove(at);
        let start = window.start.max(now);
        // Outside of its window the link belongs to others.
        let late = start + self.config.timing.transfer(size) > window.end;
        let start = match (intact, late) {
            (true, false) => Some(start),
            (true, true) if self.sends_late_reads => self.next_window(now, request, round, size),
            _ => None,
        };
        let Some(start) = start else {
            self.outgoing.release(request);
            self.undelivered(request, effects);
            return;
        };
        effects.push(TargetEffect::Transfer { request, chunk, size, start });
    }

    /// When a chunk that has missed its window can leave: in the next window that is free, which is
    /// reserved for it.
    fn next_window(
        &mut self,
        now: Time,
        request: RequestId,
        round: u8,
        size: Size,
    ) -> Option<Time> {
        self.outgoing.release(request);
        let rule = WindowRule::published(Delivery::Unicast);
        let ask = Ask {
            request,
            round,
            payload: size,
            replicas: None,
            not_before: now,
            size: rule.size_for(&self.config.timing, size),
            disk_delay: Span::ZERO,
            idle_extension: Span::ZERO,
        };
        let window = self.outgoing.offer(now, &ask)?;
        self.outgoing.accept(request, round, window).ok()?;
        Some(window.start.max(now))
    }

    fn is_writing(&self, request: RequestId) -> bool {
        self.at_disk.iter().any(|d| d.is_write && d.request == request)
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

    fn acknowledge(
        &self,
        request: RequestId,
        outcome: AckOutcome,
        effects: &mut Vec<TargetEffect>,
    ) {
        let ack = ReplicaAck { request, position: self.config.position, outcome };
        effects
            .push(TargetEffect::Send { to: request.initiator, message: Message::ReplicaAck(ack) });
    }

    fn undelivered(&self, request: RequestId, effects: &mut Vec<TargetEffect>) {
        let message = Message::Undelivered(Undelivered { request, position: self.config.position });
        effects.push(TargetEffect::Send { to: request.initiator, message });
    }
}
