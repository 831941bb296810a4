//! Chunks that go out: offers of them, reads, and the windows that they leave in.

use alloc::vec::Vec;
use core::cmp::Ordering;

use slotcast_units::{Size, Span, Time};

use super::{AtDisk, Delivering, Holdings, Target, TargetEffect};
use crate::calendar::Ask;
use crate::ids::RequestId;
use crate::message::{GetAccept, GetRequest, Message, Offer, OfferAnswer, Undelivered};
use crate::timing::{Delivery, WindowRule};

/// Most gets that a target holds offers or deliveries for; further ones are asked to come later.
const MAX_DELIVERIES: usize = 256;

impl Target {
    pub(super) fn get_request(
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
            wanted: None,
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

    pub(super) fn get_accept(&mut self, now: Time, m: &GetAccept, effects: &mut Vec<TargetEffect>) {
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

    pub(super) fn read(
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
            wanted: None,
            not_before: now,
            size: rule.size_for(&self.config.timing, size),
            disk_delay: Span::ZERO,
            idle_extension: Span::ZERO,
        };
        let window = self.outgoing.offer(now, &ask)?;
        self.outgoing.accept(request, round, window).ok()?;
        Some(window.start.max(now))
    }

    pub(super) fn undelivered(&self, request: RequestId, effects: &mut Vec<TargetEffect>) {
        let message = Message::Undelivered(Undelivered { request, position: self.config.position });
        effects.push(TargetEffect::Send { to: request.initiator, message });
    }
}
