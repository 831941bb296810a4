//! Chunks that come in: bids for them, what becomes of a bid, what is done with a chunk, and acknowledgements.

use alloc::vec::Vec;

use slotcast_units::{Size, Span, Time};

use super::{AtDisk, Holdings, Intake, Target, TargetEffect};
use crate::calendar::{Ask, NoReservation, OfferRule, Reservation};
use crate::claim::Wanted;
use crate::ids::{ChunkId, RequestId, Term};
use crate::message::{
    AckOutcome, Bid, BidAnswer, LateReject, Message, Occasion, PutAccept, PutRequest, ReplicaAck,
};
use crate::timing::IdleExtension;

/// What `chunk` is stored here for.
fn held_for(holdings: &impl Holdings, chunk: &ChunkId) -> Wanted {
    Wanted { replicas: holdings.replicas_of(chunk), claim: holdings.claim_of(chunk) }
}

impl Target {
    pub(super) fn put_request(
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
        let held = holdings.size_of(&m.chunk).filter(|_| holdings.replicas_of(&m.chunk) > 0);
        let answer = match held {
            // Whoever asks may not have heard that this target leaves, or that its disk failed.
            _ if self.intake == Intake::Closed => BidAnswer::Unavailable,
            // Its acknowledgement is late, and comes.
            _ if self.is_writing(m.request) => BidAnswer::Raising,
            None if self.intake == Intake::Full => BidAnswer::Full,
            None => self.bid(now, m),
            Some(_) if held_for(holdings, &m.chunk).covers(m.wanted()) => BidAnswer::AlreadyStored,
            // What is wanted is raised by writing the chunk anew.
            Some(_) if self.intake == Intake::Full => BidAnswer::Full,
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

    /// The chunk is here, for fewer replicas than `m` wants or with a lower claim. A repeated request finds that in hand.
    fn raise(
        &mut self,
        now: Time,
        m: &PutRequest,
        (size, disk): (Size, u16),
        effects: &mut Vec<TargetEffect>,
    ) {
        let PutRequest { request, chunk, .. } = *m;
        if !self.is_writing(request) {
            self.config.disk.submit(now, size, disk);
            self.at_disk.push(AtDisk { request, disk, is_write: true });
            effects.push(TargetEffect::Raise { request, chunk, wanted: m.wanted() });
        }
    }

    fn bid(&mut self, now: Time, m: &PutRequest) -> BidAnswer {
        let size = self.config.window_rule.size_for(&self.config.timing, m.size);
        // Chunks overrun their windows by so much; those before and after are taken for alike.
        let overrun =
            self.slow_link.map(|rate| rate.time_for(m.size).saturating_sub(size.transfer));
        if let Some(overrun) = overrun {
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
            wanted: Some(m.wanted()),
            not_before: m.not_before,
            size,
            disk_delay: disk.delay(now, m.size, size.transfer, promised),
            idle_extension,
        };
        // Of two that are idle the one with the slow link is the last choice.
        let backlog = disk.backlog_with(now, m.size, promised) + overrun.unwrap_or(Span::ZERO);
        match self.incoming.offer(now, &ask) {
            Some(window) => BidAnswer::Window { window, backlog },
            None => {
                BidAnswer::NotNow { retry_after: self.incoming.busy_for(now).max(size.bid) / 2 }
            }
        }
    }

    pub(super) fn put_accept(&mut self, m: &PutAccept, effects: &mut Vec<TargetEffect>) {
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

    /// A chunk is here: it is written if its window was promised, and if it is what it is said to be.
    pub(super) fn received(
        &mut self,
        now: Time,
        request: RequestId,
        (chunk, size): (ChunkId, Size),
        intact: bool,
        effects: &mut Vec<TargetEffect>,
    ) {
        let reserved = self.incoming.release(request);
        match (reserved, intact) {
            (None, _) => self.acknowledge(request, AckOutcome::NoReservation, effects),
            (Some(_), false) => self.acknowledge(request, AckOutcome::Damaged, effects),
            (Some(Reservation { wanted, .. }), true) => {
                let disk = self.config.disk.least_busy();
                self.config.disk.submit(now, size, disk);
                self.at_disk.push(AtDisk { request, disk, is_write: true });
                effects.push(TargetEffect::Write { request, chunk, size, disk, wanted });
            }
        }
        if reserved.is_some() && self.term != Term::NONE {
            self.report(now, request, Occasion::Received, self.term, effects);
        }
    }

    /// A write has ended.
    pub(super) fn written(
        &mut self,
        now: Time,
        request: RequestId,
        stable: bool,
        effects: &mut Vec<TargetEffect>,
    ) {
        self.disk_done(now, request, true);
        let outcome = if stable { AckOutcome::Stored } else { AckOutcome::DiskFailed };
        self.acknowledge(request, outcome, effects);
    }

    pub(super) fn is_writing(&self, request: RequestId) -> bool {
        self.at_disk.iter().any(|d| d.is_write && d.request == request)
    }

    /// Tells the initiator of `request` not to count on what it was bid in `round`.
    #[inline(never)]
    pub(super) fn reject(
        &mut self,
        request: RequestId,
        round: u8,
        effects: &mut Vec<TargetEffect>,
    ) {
        self.late_rejects += 1;
        let rejection = LateReject { request, round, position: self.config.position };
        let message = Message::LateReject(rejection);
        effects.push(TargetEffect::Send { to: request.initiator, message });
    }

    pub(super) fn acknowledge(
        &self,
        request: RequestId,
        outcome: AckOutcome,
        effects: &mut Vec<TargetEffect>,
    ) {
        let ack = ReplicaAck { request, position: self.config.position, outcome };
        effects
            .push(TargetEffect::Send { to: request.initiator, message: Message::ReplicaAck(ack) });
    }
}
