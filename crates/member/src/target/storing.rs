//! A target's negotiator and its store: chunks that come are written, chunks that are asked for are read.

use slotcast_protocol::{
    AckOutcome, ChunkId, Claim, Message, RepairInput, RequestId, TargetEffect,
    TargetInput as NegotiatorInput, Wanted,
};
use slotcast_store::{Content, Effect as StoreEffect, Input as StoreInput, ReadError, Ticket};
use slotcast_units::{Size, Time};

use super::{Asker, StorageTarget};
use crate::effect::{Effect, Note};
use crate::mistake::Mistake;
use crate::outbox::{Outbox, Want};

impl StorageTarget {
    /// A chunk came, whole and right. Without a reservation it is not wanted.
    pub(super) fn received(&mut self, now: Time, request: RequestId, content: Content) {
        let chunk = content.chunk();
        let size = Size::from_bytes(content.bytes().len() as u64);
        self.account.received_bytes += content.bytes().len() as u64;
        let before = self.negotiator_effects.len();
        self.tell(now, NegotiatorInput::Received { request, chunk, size, intact: true });
        let is_write = |effect: &TargetEffect| matches!(effect, TargetEffect::Write { .. });
        if self.negotiator_effects[before..].iter().any(is_write) {
            self.arrived.insert(request, content);
        }
    }

    pub(super) fn carry_out_store(&mut self, now: Time, outbox: &mut Outbox) {
        if self.store_effects.is_empty() {
            return;
        }
        let mut effects = core::mem::take(&mut self.store_effects);
        for effect in effects.drain(..) {
            self.store_effect(now, effect, outbox);
        }
        if self.store_effects.is_empty() {
            self.store_effects = effects;
        }
    }

    fn store_effect(&mut self, now: Time, effect: StoreEffect, outbox: &mut Outbox) {
        match effect {
            StoreEffect::Disk(id, op) => {
                if let Some(meters) = &mut self.meters {
                    meters.begun(now, id, &op, self.is_fetching);
                }
                let look = self.disk_watch.begun(now, id, &op);
                outbox.wants.extend(look.map(|time| (self.id, Want::LookAtDisk(time))));
                outbox.effects.push(Effect::Disk(self.id, id, op));
            }
            StoreEffect::Work => outbox.effects.push(Effect::Work(self.id)),
            StoreEffect::Opened => {
                outbox.wants.push((self.id, Want::Opened));
                // Before, there was nothing to scan.
                self.tell_repair(now, RepairInput::Draining(self.membership.is_draining()));
            }
            StoreEffect::NotOpened(_) => outbox.wants.push((self.id, Want::Opened)),
            StoreEffect::Lost(chunk, wanted) => {
                let note = Note::ChunkLost { target: self.id, chunk };
                outbox.effects.push(Effect::Note(note));
                if self.mistake != Some(Mistake::LostNotRecovered) {
                    self.tell_repair(now, RepairInput::Lost(chunk, wanted));
                }
            }
            StoreEffect::Unreadable(chunk, wanted) => {
                let note = Note::ChunkUnreadable { target: self.id, chunk };
                outbox.effects.push(Effect::Note(note));
                if self.mistake != Some(Mistake::UnreadNotRecovered) {
                    self.tell_repair(now, RepairInput::Lost(chunk, wanted));
                }
            }
            StoreEffect::Stored { ticket, .. } => self.written(now, ticket, true),
            StoreEffect::NotWritten(ticket, error) => match self.asked.get(&ticket) {
                Some(Asker::Release(_) | Asker::Sweep(_)) => self.not_removed(ticket, error),
                _ => self.written(now, ticket, false),
            },
            StoreEffect::Fetched(ticket, content) => self.fetched(now, ticket, Ok(content), outbox),
            StoreEffect::NotFetched(ticket, error) => {
                self.fetched(now, ticket, Err(error), outbox);
            }
            StoreEffect::Removed { ticket, .. } => self.removed(ticket),
        }
    }

    fn fetched(
        &mut self,
        now: Time,
        ticket: Ticket,
        result: Result<Content, ReadError>,
        outbox: &mut Outbox,
    ) {
        match (self.asked.remove(&ticket), result) {
            (Some(Asker::Request(request)), result) => {
                let _ = result.as_ref().inspect(|content| outbox.cache.keep_read(content));
                self.read(now, request, result);
            }
            (Some(Asker::Raise(request, wanted)), Ok(content)) => {
                self.put(request, content, Some(wanted));
            }
            (Some(Asker::Raise(request, _)), Err(_)) => {
                self.tell(now, NegotiatorInput::Written { request, stable: false });
            }
            (Some(Asker::Repair(chunk, is_to_put)), result) => {
                self.fetched_for_repair(now, (chunk, is_to_put), result, outbox);
            }
            (Some(Asker::Release(_) | Asker::Sweep(_)) | None, _) => {}
        }
    }

    /// A chunk was read for an initiator.
    fn read(&mut self, now: Time, request: RequestId, result: Result<Content, ReadError>) {
        let before = self.negotiator_effects.len();
        self.tell(now, NegotiatorInput::Read { request, intact: result.is_ok() });
        // Sent now, or not at all: too late, the negotiator has said "undelivered" instead.
        let is_wanted = |effect: &TargetEffect| matches!(effect, TargetEffect::Transfer { request: of, .. } if *of == request);
        if let Ok(content) = result
            && self.negotiator_effects[before..].iter().any(is_wanted)
        {
            self.read.insert(request, content);
        }
    }

    /// The content of a chunk that is stored here, if it is in memory. A disk that could not read something when that was last
    /// tried is asked, so that it is found out soon if it cannot read any more.
    fn in_memory(&self, chunk: &ChunkId, outbox: &mut Outbox) -> Option<Content> {
        let is_held = self.is_open() && self.store.reads_well() && self.store.holds(chunk);
        is_held.then(|| outbox.cache.get(chunk)).flatten()
    }

    fn put(&mut self, request: RequestId, content: Content, wanted: Option<Wanted>) {
        let ticket = self.ticket(Asker::Request(request));
        // Who wants it is not told where a proxy has found the window: then it is kept.
        let claim = wanted.map_or(Claim::Bare, |wanted| wanted.claim);
        let replicas = wanted.map(|wanted| wanted.replicas);
        let input = StoreInput::Put(ticket, content, replicas, claim);
        self.store.handle(input, &mut self.store_effects);
    }

    /// A mistake: a chunk that is being written counts as stored.
    fn tells_early(&mut self, content: &Content) -> bool {
        let chunk = content.chunk();
        let is_writing = self.writing.contains(&chunk);
        if self.mistake == Some(Mistake::FollowerToldEarly) {
            self.writing.insert(chunk);
            return is_writing && self.store.replicas(&chunk).is_none();
        }
        false
    }

    fn written(&mut self, now: Time, ticket: Ticket, stable: bool) {
        if let Some(Asker::Request(request)) = self.asked.remove(&ticket) {
            self.tell(now, NegotiatorInput::Written { request, stable });
        }
    }

    pub(super) fn carry_out_negotiator(&mut self, now: Time, outbox: &mut Outbox) {
        if self.negotiator_effects.is_empty() {
            return;
        }
        let mut effects = core::mem::take(&mut self.negotiator_effects);
        for effect in effects.drain(..) {
            self.negotiator_effect(now, effect, outbox);
        }
        if self.negotiator_effects.is_empty() {
            self.negotiator_effects = effects;
        }
    }

    fn negotiator_effect(&mut self, now: Time, effect: TargetEffect, outbox: &mut Outbox) {
        match effect {
            TargetEffect::Send { message, .. } => {
                outbox.answer(now, message);
                if let Message::ReplicaAck(ack) = message
                    && ack.outcome == AckOutcome::Stored
                    && self.is_draining()
                    && self.mistake != Some(Mistake::TakesPutsWhileDraining)
                {
                    self.tell_repair(now, RepairInput::Stored);
                }
            }
            TargetEffect::Write { request, wanted, chunk, .. } => {
                self.keep(now, &chunk);
                match self.arrived.remove(&request) {
                    Some(content) if self.tells_early(&content) => {
                        self.tell(now, NegotiatorInput::Written { request, stable: true });
                    }
                    Some(content) => {
                        outbox.cache.keep_written(&content);
                        self.put(request, content, wanted);
                    }
                    None => self.tell(now, NegotiatorInput::Written { request, stable: false }),
                }
            }
            TargetEffect::Raise { request, chunk, wanted } => {
                self.keep(now, &chunk);
                if let Some(content) = self.in_memory(&chunk, outbox) {
                    return self.put(request, content, Some(wanted));
                }
                let ticket = self.ticket(Asker::Raise(request, wanted));
                self.store.handle(StoreInput::Get(ticket, chunk), &mut self.store_effects);
            }
            TargetEffect::Read { request, chunk, .. } => {
                if let Some(content) = self.in_memory(&chunk, outbox) {
                    return self.read(now, request, Ok(content));
                }
                let ticket = self.ticket(Asker::Request(request));
                self.store.handle(StoreInput::Get(ticket, chunk), &mut self.store_effects);
            }
            TargetEffect::Transfer { request, start, .. } => {
                if let Some(content) = self.read.remove(&request) {
                    self.account.sent_bytes += content.bytes().len() as u64;
                    let want = Want::Transfer { request, content, start };
                    outbox.wants.push((self.id, want));
                }
            }
            // Goes to a group's proxy, which nodes have none of.
            TargetEffect::Report { .. } => {}
        }
    }
}
