//! Room for what comes: a spare segment, and compaction of those of which little holds.

use alloc::vec::Vec;

use super::{Config, Effect, Spare, Store};
use crate::batch::{Asker, Waiting};
use crate::chunks::max_segments;
use crate::compaction::{self, Compaction};
use crate::footer;
use crate::index::Place;
use crate::io::{DiskError, Op, OpId, Output, SegmentId};
use crate::record::BLOCK;
use crate::segments::Need;

impl Store {
    pub(super) fn make_spare(&mut self, effects: &mut Vec<Effect>) {
        let segments = self.index.segments.len() + usize::from(self.kept.is_some());
        let max = self.config.segments.min(max_segments(self.config.segment_size));
        if segments >= max as usize || self.newest == Some(SegmentId(u32::MAX)) {
            self.refuse();
            return;
        }
        let segment = SegmentId(self.newest.map_or(0, |SegmentId(newest)| newest + 1));
        self.newest = Some(segment);
        let op = self.ask(Op::Create { segment, length: self.config.segment_size }, effects);
        self.spare = Spare::Creating(op, segment);
    }

    fn refuse(&mut self) {
        self.spare = Spare::Refused;
        self.is_full = true;
    }

    pub(super) fn created(
        &mut self,
        result: &Result<Output, DiskError>,
        effects: &mut Vec<Effect>,
    ) {
        let Spare::Creating(_, segment) = self.spare else { return };
        match result {
            // A new store begins with puts.
            Ok(_) if self.kept.is_none() && self.active.is_some() => {
                self.kept = Some(segment);
                self.spare = Spare::None;
                self.make_spare(effects);
            }
            Ok(_) => {
                self.spare = Spare::Ready(segment);
                self.is_full = false;
            }
            Err(DiskError::Full) => {
                self.refuse();
                // What is left of the attempt must not be found at the next start.
                self.ask(Op::Delete { segment }, effects);
            }
            Err(error) => self.stop_writing(*error, effects),
        }
    }

    /// Begins a compaction if there is reason to, and goes on with the one that is under way.
    pub(super) fn compact(&mut self, effects: &mut Vec<Effect>) {
        if self.compaction.is_none()
            && let Some(segment) = self.victim()
        {
            let op = self.ask(footer::probe(segment, self.config.segment_size), effects);
            self.compactions += 1;
            let size = self.config.segment_size;
            self.compaction = Some(Compaction::new(segment, self.compactions, size, op));
        }
        while let Some(compaction) = &mut self.compaction {
            let segment = compaction.segment;
            let is_read = self.reading.values().any(|reading| reading.place.segment == segment);
            let Some(step) = compaction.proceed(&self.index, is_read) else { break };
            self.carry_out(step, effects);
        }
        if self.writing.is_none() && !self.queue.is_empty() {
            self.write_next(effects);
        }
    }

    fn victim(&self) -> Option<SegmentId> {
        if !self.is_full {
            return self.index.segments.victim(Need::Routine);
        }
        if self.kept.is_some() {
            return self.index.segments.victim(Need::Room(self.copies()));
        }
        // What holds must fit into what is left.
        let active = self.active.as_ref();
        let written = active.map_or(0, |active| active.end);
        let waiting = self.queue.bytes + BLOCK;
        let footer = footer::length(active.map_or(0, |active| active.entries.len()));
        let room = self.config.segment_size.saturating_sub(written + waiting + footer);
        // Each record copied takes an entry, and at worst a batch of its own.
        self.index.segments.victim(Need::Room(room / 2))
    }

    /// Bytes of records, of any lengths, that can be copied into an empty segment out of another one, where there is room for
    /// their entries, too: they are written in batches, after as many were read as are read ahead, and each batch takes part
    /// of a block more than its records.
    fn copies(&self) -> u64 {
        let Config { segment_size: size, batch, .. } = self.config;
        let batches = 2 * size.div_ceil(batch) + size.div_ceil(compaction::AHEAD) + 2;
        size.saturating_sub(batches * BLOCK)
    }

    /// Whether what waits is copied by a compaction that has not read yet what it reads ahead: in a full store it is written
    /// in few batches.
    pub(super) fn waits_for_copies(&self) -> bool {
        let is_reading = self.compaction.as_ref().is_some_and(Compaction::is_reading);
        self.is_full && is_reading && self.queue.is_of_compaction()
    }

    pub(super) fn compacted(
        &mut self,
        op: OpId,
        result: Result<Output, DiskError>,
        effects: &mut Vec<Effect>,
    ) {
        let Some(compaction) = &mut self.compaction else { return };
        if let Some(step) = compaction.done(op, result, &self.config.identity) {
            self.carry_out(step, effects);
        }
    }

    fn carry_out(&mut self, step: compaction::Step, effects: &mut Vec<Effect>) {
        use compaction::Step;
        let Some(segment) = self.compaction.as_ref().map(|compaction| compaction.segment) else {
            return;
        };
        match step {
            Step::Ask(op, purpose) => {
                let op = self.ask(op, effects);
                if let Some(compaction) = &mut self.compaction {
                    compaction.asked(op, &purpose);
                }
            }
            Step::Copy(entry, content) => {
                let record = entry.record;
                let compaction = self.compaction.as_mut().expect("just looked");
                if self.index.holds(segment, &entry) {
                    compaction.copies();
                    let from = Place { segment, offset: entry.offset };
                    let asker = Asker::Compaction(compaction.number, from);
                    self.queue.push(Waiting { record, content, asker });
                } else {
                    compaction.skipped(record.extent());
                }
            }
            Step::Lost(entry) => {
                let place = Place { segment, offset: entry.offset };
                self.lose(entry.record.chunk, place, effects);
            }
            Step::Unreadable(entry, error) => {
                let place = Place { segment, offset: entry.offset };
                self.cannot_read((entry.record.chunk, place), error, effects);
                self.compaction = None;
            }
            Step::GiveUp => {
                self.index.segments.avoid(segment);
                self.compaction = None;
            }
            Step::Deleted(entries) => {
                self.index.delete(segment, &entries);
                self.index.segments.avoid_none();
                self.compaction = None;
                self.statistics.compacted += 1;
                if self.spare == Spare::Refused {
                    self.spare = Spare::None;
                    self.make_spare(effects);
                }
            }
        }
    }
}
