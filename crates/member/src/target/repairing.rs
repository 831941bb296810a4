//! A target's repair and its store.

use slotcast_protocol::{ChunkId, Inventory, RepairEffect, RepairInput, RepairOutcome};
use slotcast_store::{Content, Input as StoreInput, ReadError, StoreStatus};
use slotcast_units::{Size, Time};

use super::holdings::Stock;
use super::{Asker, Meters, StorageTarget};
use crate::outbox::{Outbox, Want};

impl StorageTarget {
    /// How many chunks it knows to have too few replicas; none if it does not know: what it holds does not count or is not
    /// known to it, or its repair has still to look.
    pub fn short(&self) -> Option<u64> {
        let is_sound = matches!(self.store.status(), StoreStatus::Open | StoreStatus::Full)
            && self.store.knows_all()
            && !self.has_failed();
        self.repair.short().filter(|_| is_sound)
    }

    /// Whether it is about to look once more for chunks that have too few or too many replicas, since somebody has not
    /// answered.
    pub fn scans_again(&self) -> bool {
        self.repair.scans_again()
    }

    /// Whether it looks for chunks that have too few replicas.
    pub fn is_scanning(&self) -> bool {
        self.repair.is_scanning()
    }

    pub(super) fn is_scrubbing(&self, now: Time) -> bool {
        self.repair.scrub_progress(now).is_some()
    }

    pub(super) fn tell_repair(&mut self, now: Time, input: RepairInput) {
        let rate = self.meters.as_ref().map_or(self.negotiator.disk_rate(), Meters::repair_rate);
        let stock = Stock(&self.store, rate);
        self.repair.handle(now, input, &stock, &mut self.repair_effects);
    }

    fn ended(&mut self, now: Time, chunk: ChunkId, outcome: RepairOutcome) {
        self.tell_repair(now, RepairInput::Ended(chunk, outcome));
    }

    pub(super) fn carry_out_repair(&mut self, now: Time, outbox: &mut Outbox) {
        for effect in core::mem::take(&mut self.repair_effects) {
            match effect {
                RepairEffect::Compare { bits, first, count } => {
                    outbox.wants.push((self.id, Want::Compare(bits, first, count)));
                }
                RepairEffect::Survey(number, chunks) => {
                    outbox.wants.push((self.id, Want::Survey(number, chunks)));
                }
                RepairEffect::Release(chunks) => self.release(now, chunks, outbox),
                RepairEffect::Check(chunk) => self.check(now, chunk, outbox),
                RepairEffect::PutAgain(chunk) | RepairEffect::Read(chunk) => {
                    let is_to_put = matches!(effect, RepairEffect::PutAgain(_));
                    self.fetch(now, chunk, is_to_put, outbox);
                }
                RepairEffect::Recover(chunk, wanted) => {
                    outbox.wants.push((self.id, Want::Recover(chunk, wanted)));
                }
                RepairEffect::WakeAt(time) => {
                    outbox.wants.push((self.id, Want::WakeRepair(time)));
                }
            }
        }
    }

    /// Repair wants to know whether there are enough replicas.
    fn check(&mut self, now: Time, chunk: ChunkId, outbox: &mut Outbox) {
        let stock = Stock(&self.store, self.negotiator.disk_rate());
        match (stock.size(&chunk), stock.wanted(&chunk)) {
            // An empty chunk is never sent: it has no replicas to make.
            (Some(Size::ZERO), _) => self.ended(now, chunk, RepairOutcome::Complete),
            (Some(size), Some(wanted)) => {
                outbox.wants.push((self.id, Want::Check(chunk, size, wanted)));
            }
            _ => self.ended(now, chunk, RepairOutcome::NotFound),
        }
    }

    /// Reads a chunk for repair. The disk operation is asked for within, so that it counts as one of repair.
    fn fetch(&mut self, now: Time, chunk: ChunkId, is_to_put: bool, outbox: &mut Outbox) {
        self.carry_out_store(now, outbox);
        let ticket = self.ticket(Asker::Repair(chunk, is_to_put));
        self.store.handle(StoreInput::Get(ticket, chunk), &mut self.store_effects);
        self.is_fetching = true;
        self.carry_out_store(now, outbox);
        self.is_fetching = false;
    }

    pub(super) fn fetched_for_repair(
        &mut self,
        now: Time,
        (chunk, is_to_put): (ChunkId, bool),
        result: Result<Content, ReadError>,
        outbox: &mut Outbox,
    ) {
        let wanted = self.store.wanted(&chunk);
        let outcome = match (result, wanted) {
            (Ok(content), Some(wanted)) if is_to_put => {
                return outbox.wants.push((self.id, Want::PutAgain(content, wanted)));
            }
            (Ok(_), None) if is_to_put => RepairOutcome::NotFound,
            (Ok(_), _) => RepairOutcome::Complete,
            // Compaction has moved it while it was read.
            (Err(_), Some(_)) => RepairOutcome::Failed,
            (Err(_), None) => RepairOutcome::NotFound,
        };
        self.ended(now, chunk, outcome);
    }
}
