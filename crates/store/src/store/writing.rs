//! Puts and removals: what waits is written in batches, and confirmed when it is on stable storage.

use alloc::vec;
use alloc::vec::Vec;

use slotcast_protocol::{ChunkId, Claim, Wanted};

use super::{Active, Effect, Sealing, Spare, Store, StoreStatus, Ticket, WriteError};
use crate::batch::{Asker, Batch, Room, Waiting};
use crate::content::Content;
use crate::footer;
use crate::index::Origin;
use crate::io::{DiskError, Op, OpId, Output, SegmentId};
use crate::opening::Unfinished;
use crate::record::{Kind, Record};

impl Store {
    pub(super) fn put(
        &mut self,
        ticket: Ticket,
        content: &Content,
        (replicas, claim): (Option<u8>, Claim),
        effects: &mut Vec<Effect>,
    ) {
        let chunk = content.chunk();
        let replicas = replicas.unwrap_or(self.config.replicas);
        let mut wanted = Wanted { replicas, claim };
        if let Some(error) = self.refusal() {
            return effects.push(Effect::NotWritten(ticket, error));
        }
        match self.queue.outcome(&chunk) {
            Some(last) if last.kind == Kind::Put => {
                let before = self.meant(last.wanted);
                if before.covers(wanted) {
                    return self.queue.follow(&chunk, ticket);
                }
                wanted = wanted.and(before);
            }
            Some(_) => {}
            None => {
                if let Some(live) = self.index.find(&chunk) {
                    let before = self.meant(live.wanted);
                    if before.covers(wanted) && !live.is_unreadable {
                        return effects.push(Effect::Stored { ticket, already: true });
                    }
                    // Neither is lowered; of what cannot be read, too, both are known.
                    wanted = wanted.and(before);
                }
            }
        }
        let length = content.bytes().len();
        let Some(length) = u32::try_from(length)
            .ok()
            .filter(|length| u64::from(*length) <= self.config.longest_chunk())
        else {
            return effects.push(Effect::NotWritten(ticket, WriteError::TooLong));
        };
        if self.status() == StoreStatus::Full {
            return effects.push(Effect::NotWritten(ticket, WriteError::Full));
        }
        let sequence = self.next_sequence();
        // The cluster's number may change, and then holds for chunks without one of their own.
        let is_own = wanted.replicas != self.config.replicas;
        let replicas = if is_own { wanted.replicas } else { 0 };
        let wanted = Wanted { replicas, ..wanted };
        let record = Record { kind: Kind::Put, chunk, sequence, length, wanted };
        let content = content.bytes().clone();
        self.queue.push(Waiting { record, content, asker: Asker::Ticket(ticket) });
        self.pump(effects);
    }

    pub(super) fn remove(&mut self, ticket: Ticket, chunk: ChunkId, effects: &mut Vec<Effect>) {
        if let Some(error) = self.refusal() {
            return effects.push(Effect::NotWritten(ticket, error));
        }
        match self.queue.outcome(&chunk) {
            Some(last) if last.kind == Kind::Removal => return self.queue.follow(&chunk, ticket),
            None if !self.index.can_be_removed(&chunk) => {
                return effects.push(Effect::Removed { ticket, existed: false });
            }
            _ => {}
        }
        self.queue_removal(chunk, Asker::Ticket(ticket));
        self.pump(effects);
    }

    fn queue_removal(&mut self, chunk: ChunkId, asker: Asker) {
        let sequence = self.next_sequence();
        let wanted = Wanted::bare(0);
        let record = Record { kind: Kind::Removal, chunk, sequence, length: 0, wanted };
        self.queue.push(Waiting { record, content: bytes::Bytes::new(), asker });
    }

    /// The chunk was given up: that is written down, or the next start would find its record again, and say that it is
    /// stored here. Where nothing can be written the next start does find it.
    pub(super) fn note_lost(&mut self, chunk: ChunkId) {
        if self.refusal().is_none() && self.queue.outcome(&chunk).is_none() {
            self.queue_removal(chunk, Asker::Store);
        }
    }

    /// Starts whatever can be started.
    pub(super) fn pump(&mut self, effects: &mut Vec<Effect>) {
        if !matches!(self.status(), StoreStatus::Open | StoreStatus::Full) {
            return;
        }
        if self.spare == Spare::None {
            self.make_spare(effects);
        }
        self.seal_next(effects);
        if self.writing.is_none() {
            self.write_next(effects);
        }
        self.compact(effects);
    }

    pub(super) fn write_next(&mut self, effects: &mut Vec<Effect>) {
        if self.queue.is_empty() || self.waits_for_copies() {
            return;
        }
        if self.active.is_none()
            && let Spare::Ready(segment) = self.spare
        {
            self.begin_segment(segment);
            self.spare = Spare::None;
            self.make_spare(effects);
        }
        let Some(active) = &self.active else {
            if self.spare == Spare::Refused {
                self.fail_waiting(WriteError::Full, effects);
            }
            return;
        };
        let size = self.config.segment_size;
        let is_followed = matches!(self.spare, Spare::Ready(_));
        let for_puts = match self.kept {
            Some(_) => size,
            // It is the one that was kept.
            None if self.is_full => 0,
            None if is_followed => size,
            None => size - self.config.longest_chunk(),
        };
        let room = Room {
            start: active.end,
            entries: active.entries.len(),
            size,
            for_puts,
            limit: self.config.batch,
        };
        if let Some((batch, parts)) = self.queue.batch(&self.config.identity, room) {
            let write = Op::Write { segment: active.segment, offset: active.end, parts };
            self.writing = Some((self.ask(write, effects), batch));
        } else if is_followed {
            self.end_segment(effects);
            self.write_next(effects);
        } else if self.spare == Spare::Refused {
            // What is left is for removals and compaction.
            let puts = self.queue.take_puts();
            let had_puts = !puts.is_empty();
            self.fail_all(puts, WriteError::Full, effects);
            if !had_puts {
                let Some(kept) = self.kept.take() else {
                    // It was not enough.
                    return self.fail_waiting(WriteError::Full, effects);
                };
                self.end_segment(effects);
                self.begin_segment(kept);
            }
            self.write_next(effects);
        }
    }

    fn begin_segment(&mut self, segment: SegmentId) {
        self.index.segments.insert(segment);
        self.active = Some(Active { segment, entries: Vec::new(), end: 0 });
    }

    /// Nothing more is written to the active one.
    fn end_segment(&mut self, effects: &mut Vec<Effect>) {
        if let Some(Active { segment, entries, end }) = self.active.take() {
            self.unsealed.push((segment, Unfinished { entries, end }));
            self.seal_next(effects);
        }
    }

    fn seal_next(&mut self, effects: &mut Vec<Effect>) {
        if self.sealing.is_some() {
            return;
        }
        let Some((segment, Unfinished { entries, end })) = self.unsealed.pop() else { return };
        let footer = footer::encode(&entries, end, &self.config.identity);
        let offset = self.config.segment_size - footer.len() as u64;
        let op = self.ask(Op::Write { segment, offset, parts: vec![footer] }, effects);
        self.sealing = Some(Sealing { segment, op });
    }

    /// A batch has been written, or could not be.
    pub(super) fn written(
        &mut self,
        op: OpId,
        result: &Result<Output, DiskError>,
        effects: &mut Vec<Effect>,
    ) {
        if let Err(error) = result
            && self.writing.as_ref().is_some_and(|(asked, _)| *asked == op)
        {
            return self.stop_writing(*error, effects);
        }
        if let Some((_, batch)) = self.writing.take_if(|(asked, _)| *asked == op) {
            self.committed(batch, effects);
        }
    }

    /// A batch is on stable storage.
    fn committed(&mut self, batch: Batch, effects: &mut Vec<Effect>) {
        let active = self.active.as_mut().expect("a batch goes there");
        active.end = batch.end;
        let segment = active.segment;
        active.entries.extend(batch.written.iter().map(|(entry, _)| *entry));
        self.statistics.batches += 1;
        for (entry, asker) in batch.written {
            let record = entry.record;
            let before = self.index.find(&record.chunk);
            let existed = before.is_some();
            let origin = match asker {
                Asker::Ticket(_) | Asker::Store => Origin::New,
                Asker::Compaction(_, from) => Origin::CopyOf(from),
            };
            self.index.add(segment, entry, origin);
            if let Some(before) = before.filter(|live| live.is_unreadable) {
                let now = self.index.find(&record.chunk).map(|live| live.place);
                if now != Some(before.place) {
                    // What could not be read there is not needed any more.
                    self.index.segments.release(before.place.segment);
                    if record.kind == Kind::Put {
                        self.read_back(record.chunk, effects);
                    }
                }
            }
            let ticket = match asker {
                Asker::Ticket(ticket) => Some(ticket),
                Asker::Store => None,
                Asker::Compaction(number, _) => {
                    let compaction = self.compaction.as_mut().filter(|c| c.number == number);
                    if let Some(compaction) = compaction {
                        compaction.copied(record.extent());
                    }
                    continue;
                }
            };
            if record.kind == Kind::Removal {
                self.index.segments.avoid_none();
            }
            let told = |ticket, first: bool| match record.kind {
                Kind::Put => Effect::Stored { ticket, already: !first },
                Kind::Removal => Effect::Removed { ticket, existed: existed && first },
            };
            effects.extend(ticket.map(|ticket| told(ticket, true)));
            let followers = self.queue.settled(&record);
            effects.extend(followers.into_iter().map(|ticket| told(ticket, false)));
        }
    }

    /// A write went wrong: what is on disk is not known any more.
    pub(super) fn stop_writing(&mut self, error: DiskError, effects: &mut Vec<Effect>) {
        self.trouble = Some(StoreStatus::ReadOnly(error));
        if let Some((_, batch)) = self.writing.take() {
            for (entry, asker) in batch.written {
                self.fail(&entry.record, asker, WriteError::Disk(error), effects);
            }
        }
        self.fail_waiting(WriteError::Disk(error), effects);
    }

    pub(super) fn fail_waiting(&mut self, error: WriteError, effects: &mut Vec<Effect>) {
        let waiting = self.queue.drain().collect();
        self.fail_all(waiting, error, effects);
    }

    fn fail_all(&mut self, waiting: Vec<Waiting>, error: WriteError, effects: &mut Vec<Effect>) {
        for Waiting { record, asker, .. } in waiting {
            self.fail(&record, asker, error, effects);
        }
    }

    fn fail(
        &mut self,
        record: &Record,
        asker: Asker,
        error: WriteError,
        effects: &mut Vec<Effect>,
    ) {
        let ticket = match asker {
            Asker::Ticket(ticket) => Some(ticket),
            Asker::Store => None,
            Asker::Compaction(..) => {
                // The segment that the copy was to replace stays, until there is more room.
                if let Some(compaction) = self.compaction.take() {
                    self.index.segments.avoid(compaction.segment);
                }
                return;
            }
        };
        let followers = self.queue.settled(record);
        let tickets = ticket.into_iter().chain(followers);
        effects.extend(tickets.map(|ticket| Effect::NotWritten(ticket, error)));
    }

    /// Why nothing can be written at present.
    fn refusal(&self) -> Option<WriteError> {
        match self.status() {
            StoreStatus::Open | StoreStatus::Full => None,
            StoreStatus::ReadOnly(error) => Some(WriteError::Disk(error)),
            StoreStatus::Opening | StoreStatus::Failed(_) => Some(WriteError::NotOpen),
        }
    }

    fn next_sequence(&mut self) -> u64 {
        self.last_sequence += 1;
        self.last_sequence
    }
}
