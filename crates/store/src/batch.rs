//! What waits to be written, and how it is written together.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec;
use alloc::vec::Vec;

use bytes::Bytes;
use slotcast_protocol::ChunkId;

use crate::footer::Entry;
use crate::index::Place;
use crate::record::{BLOCK, HEADER, Identity, Kind, Record};
use crate::store::Ticket;

/// A record that is not on disk yet.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) record: Record,
    pub(crate) content: Bytes,
    pub(crate) asker: Asker,
}

impl Waiting {
    fn is_copy(&self) -> bool {
        matches!(self.asker, Asker::Compaction(..))
    }

    /// Whether it takes room for good: a put that somebody asked for, and not a removal or a copy.
    fn is_put(&self) -> bool {
        self.record.kind == Kind::Put && matches!(self.asker, Asker::Ticket(_))
    }
}

/// Who asked for a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asker {
    Ticket(Ticket),
    /// The store itself: nobody waits for it.
    Store,
    /// The compaction with this number copies it, from there.
    Compaction(u64, Place),
}

/// Records in the order in which they came, until they are on disk.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    waiting: VecDeque<Waiting>,
    /// Bytes on disk of all that waits.
    pub(crate) bytes: u64,
    /// How many of those that wait are no copies.
    asked: usize,
    /// What the last record of each chunk says that waits or is being written, copies excepted.
    last: BTreeMap<ChunkId, Record>,
    /// Who else waits for the record with this sequence number.
    followers: BTreeMap<u64, Vec<Ticket>>,
}

/// Records that are written together.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) written: Vec<(Entry, Asker)>,
    /// Where the next batch begins.
    pub(crate) end: u64,
}

/// Where a batch is to go.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    /// Its first byte.
    pub(crate) start: u64,
    /// Records that the segment holds already.
    pub(crate) entries: usize,
    /// Size of the segment.
    pub(crate) size: u64,
    /// Bytes of it that puts may fill: less than all where the rest is for removals, and for what compaction copies.
    pub(crate) for_puts: u64,
    /// Bytes that a batch of more than one record takes at most.
    pub(crate) limit: u64,
}

impl Queue {
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether all that waits are copies.
    pub(crate) fn is_of_compaction(&self) -> bool {
        self.asked == 0
    }

    pub(crate) fn push(&mut self, waiting: Waiting) {
        let record = waiting.record;
        if !waiting.is_copy() {
            self.asked += 1;
            self.last.insert(record.chunk, record);
        }
        self.bytes += record.extent();
        self.waiting.push_back(waiting);
    }

    /// The record that holds for the chunk once everything is on disk, if one of it is on its way.
    pub(crate) fn outcome(&self, chunk: &ChunkId) -> Option<&Record> {
        self.last.get(chunk)
    }

    /// `ticket` waits for the chunk's last record on its way, too.
    pub(crate) fn follow(&mut self, chunk: &ChunkId, ticket: Ticket) {
        let sequence = self.last[chunk].sequence;
        self.followers.entry(sequence).or_default().push(ticket);
    }

    /// The record is on disk, or never will be. Says who followed it.
    pub(crate) fn settled(&mut self, record: &Record) -> Vec<Ticket> {
        if self.last.get(&record.chunk).is_some_and(|last| last.sequence == record.sequence) {
            self.last.remove(&record.chunk);
        }
        self.followers.remove(&record.sequence).unwrap_or_default()
    }

    /// Takes all puts out. What is left of their chunks is what holds for these, once it is on disk.
    pub(crate) fn take_puts(&mut self) -> Vec<Waiting> {
        let waiting = core::mem::take(&mut self.waiting);
        let (puts, others): (Vec<_>, Vec<_>) = waiting.into_iter().partition(Waiting::is_put);
        self.bytes -= puts.iter().map(|put| put.record.extent()).sum::<u64>();
        self.asked -= puts.len();
        for left in others.iter().filter(|left| !left.is_copy()) {
            self.last.insert(left.record.chunk, left.record);
        }
        self.waiting = others.into();
        puts
    }

    /// Takes everything out.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Waiting> {
        (self.bytes, self.asked) = (0, 0);
        core::mem::take(&mut self.waiting).into_iter()
    }

    /// The next batch and what is to be written; none if the next record does not fit.
    pub(crate) fn batch(&mut self, identity: &Identity, room: Room) -> Option<(Batch, Vec<Bytes>)> {
        let mut batch = Batch { written: Vec::new(), end: room.start };
        let mut parts = Vec::new();
        while let Some(next) = self.waiting.front() {
            let end = batch.end + next.record.extent();
            let footer = crate::footer::length(room.entries + batch.written.len() + 1);
            let size = if next.is_put() { room.for_puts } else { room.size };
            let is_full = end.next_multiple_of(BLOCK) + footer > size;
            if is_full || (!batch.written.is_empty() && end - room.start > room.limit) {
                break;
            }
            let next = self.waiting.pop_front().expect("just looked");
            self.asked -= usize::from(!next.is_copy());
            let Waiting { record, content, asker } = next;
            self.bytes -= record.extent();
            parts.push(Bytes::copy_from_slice(&record.encode(identity)));
            if !content.is_empty() {
                parts.push(content);
            }
            if record.padding() > 0 {
                parts.push(Bytes::from_static(&[0; HEADER]).slice(..record.padding()));
            }
            let offset = u32::try_from(batch.end).expect("a segment is shorter than 4 GiB");
            batch.written.push((Entry { record, offset }, asker));
            batch.end = end;
        }
        if batch.written.is_empty() {
            return None;
        }
        let end = batch.end.next_multiple_of(BLOCK);
        if end > batch.end {
            let padding = usize::try_from(end - batch.end).expect("below a block");
            parts.push(Bytes::from(vec![0; padding]));
        }
        batch.end = end;
        Some((batch, parts))
    }
}

#[cfg(test)]
mod tests {
    use slotcast_protocol::Wanted;

    use super::*;

    /// A removal that waits holds for its chunk also when a put after it finds no room: whoever puts it again is not told that
    /// it is stored.
    #[test]
    fn what_is_left_when_puts_are_taken_out_holds() {
        let mut queue = Queue::default();
        let mut push = |kind, chunk, sequence| {
            let wanted = Wanted::bare(3);
            let record = Record { kind, chunk: ChunkId([chunk; 32]), sequence, length: 0, wanted };
            let asker = Asker::Ticket(Ticket(sequence));
            queue.push(Waiting { record, content: Bytes::new(), asker });
        };
        push(Kind::Put, 1, 1);
        push(Kind::Removal, 2, 2);
        push(Kind::Put, 2, 3);
        let puts = queue.take_puts();
        assert_eq!(puts.iter().map(|put| put.record.sequence).collect::<Vec<_>>(), [1, 3]);
        for put in puts {
            queue.settled(&put.record);
        }
        assert!(queue.outcome(&ChunkId([1; 32])).is_none());
        let outcome = queue.outcome(&ChunkId([2; 32])).expect("the removal waits");
        assert_eq!((outcome.kind, outcome.sequence), (Kind::Removal, 2));
        assert!(!queue.is_of_compaction());
    }
}
