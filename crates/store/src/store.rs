//! The machine: takes puts, gets and removals, and says what the disk is to do.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;

use slotcast_protocol::ChunkId;

use crate::batch::{Asker, Batch, Queue, Room, Waiting};
use crate::compaction::{self, Compaction};
use crate::content::Content;
use crate::footer::{self, Entry};
use crate::index::{Index, Place};
use crate::io::{DiskError, Op, OpId, Output, SegmentId};
use crate::opening::{Opening, Step, Unfinished};
use crate::record::{BLOCK, HEADER, Identity, Kind, Record};

/// A put, get or removal, numbered by whoever asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// Parameters of a store. All but `segments` and `replicas` must stay what they were when it was formatted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// What its records are checked with.
    pub identity: Identity,
    /// Size of a segment in bytes: a multiple of 4096, from 64 KiB to 2 GiB. The largest chunk is a
    /// quarter of it.
    pub segment_size: u64,
    /// Segments that the store may have; it is full when it would need more. At least 3.
    pub segments: u32,
    /// Bytes that are written and flushed together, if no single record is longer.
    pub batch: u64,
    /// A full segment is compacted when less than this of it holds, in percent.
    pub compact_below: u8,
    /// How many targets are to hold a chunk that was put without a number of its own: the cluster's number,
    /// 1 to 8.
    pub replicas: u8,
}

impl Config {
    /// With segments of 64 MiB, batches of 8 MiB, compaction below one half, and 3 replicas.
    pub const fn new(identity: Identity) -> Config {
        Config {
            identity,
            segment_size: 64 << 20,
            segments: u32::MAX,
            batch: 8 << 20,
            compact_below: 50,
            replicas: 3,
        }
    }

    /// The longest content that a chunk may have, in bytes.
    pub const fn longest_chunk(&self) -> u64 {
        self.segment_size / 4
    }
}

/// What a store is told.
#[derive(Debug)]
pub enum Input {
    /// Store this; so many targets are to hold it, or as many as the cluster's number says. If it is stored
    /// for fewer, it is written anew.
    Put(Ticket, Content, Option<u8>),
    /// Fetch this.
    Get(Ticket, ChunkId),
    /// Remove this.
    Remove(Ticket, ChunkId),
    /// A disk operation has ended.
    Disk(OpId, Result<Output, DiskError>),
    /// The disk has disappeared: whatever is under way on it, nothing more is written.
    Gone,
}

/// What is to be done, or was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Carry this out, and report it with [`Input::Disk`].
    Disk(OpId, Op),
    /// The store is open: it takes requests now.
    Opened,
    /// The store cannot be opened.
    NotOpened(DiskError),
    /// The chunk is on stable storage; `already` says that it was there before.
    Stored {
        /// Of the put.
        ticket: Ticket,
        /// Whether it was there before.
        already: bool,
    },
    /// The chunk was not stored, or not removed.
    NotWritten(Ticket, WriteError),
    /// Here is the chunk.
    Fetched(Ticket, Content),
    /// The chunk cannot be fetched.
    NotFetched(Ticket, ReadError),
    /// The chunk is removed, on stable storage; `existed` says whether it was there.
    Removed {
        /// Of the removal.
        ticket: Ticket,
        /// Whether it was there.
        existed: bool,
    },
    /// A stored chunk turned out to be unreadable: it is not stored here any more, and other replicas
    /// must make up for it. So many targets were to hold it.
    Lost(ChunkId, u8),
}

/// Why something was not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// There is no room.
    #[error("the store is full")]
    Full,
    /// The content is longer than [`Config::longest_chunk`].
    #[error("the chunk is longer than the store takes")]
    TooLong,
    /// Nothing can be written any more.
    #[error("the store takes no writes: {0}")]
    Disk(DiskError),
    /// The store is not open.
    #[error("the store is not open")]
    NotOpen,
}

/// Why something cannot be fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// It is not stored here.
    #[error("not stored here")]
    NotFound,
    /// It was stored here, and its content is not what its name says.
    #[error("the content does not match its name")]
    Corrupt,
    /// The disk cannot read it.
    #[error("the disk failed")]
    Disk,
    /// The store is not open.
    #[error("the store is not open")]
    NotOpen,
}

/// What a store can do at present.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Nothing yet: it reads what is on disk.
    Opening,
    /// Everything.
    Open,
    /// It fetches and removes; there is no room for puts.
    Full,
    /// It fetches. After a failed write or flush nobody knows what is on disk, so nothing more is
    /// written until it is opened anew.
    ReadOnly(DiskError),
    /// Nothing: it cannot be opened.
    Failed(DiskError),
}

/// Numbers for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Statistics {
    /// Stored chunks.
    pub chunks: u64,
    /// Their content in bytes.
    pub content_bytes: u64,
    /// Segments, the spare one included.
    pub segments: u32,
    /// Bytes of records that hold no more and await compaction.
    pub void_bytes: u64,
    /// Stored chunks that turned out to be unreadable since the store was opened, and then.
    pub lost: u64,
    /// Segments that could not be read when it was opened.
    pub unreadable_segments: u32,
    /// Flushes that confirmed a batch.
    pub batches: u64,
    /// Segments that compaction has freed.
    pub compacted: u64,
}

/// Where records are appended.
#[derive(Debug)]
struct Active {
    segment: SegmentId,
    entries: Vec<Entry>,
    end: u64,
}

/// The segment that comes after the active one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spare {
    None,
    Creating(OpId, SegmentId),
    Ready(SegmentId),
    /// There is no room for it.
    Refused,
}

/// The footer of a full segment is written. Nobody waits for it: a segment without one is only slower to
/// open.
#[derive(Debug, Clone, Copy)]
struct Sealing {
    segment: SegmentId,
    op: OpId,
}

#[derive(Debug)]
struct Reading {
    ticket: Ticket,
    chunk: ChunkId,
    place: Place,
}

/// The chunk store of one target. See the crate's page.
#[derive(Debug)]
pub struct Store {
    config: Config,
    opening: Option<(OpId, Box<Opening>)>,
    trouble: Option<Standing>,
    index: Index,
    queue: Queue,
    /// The batch that is being written to the active segment.
    writing: Option<(OpId, Batch)>,
    active: Option<Active>,
    spare: Spare,
    /// There was no room for a spare segment when it was last tried: what is left of the active one is
    /// for compaction and removals.
    is_full: bool,
    /// Full segments, and those found at the start, that await a footer.
    unsealed: Vec<(SegmentId, Unfinished)>,
    sealing: Option<Sealing>,
    newest: Option<SegmentId>,
    compaction: Option<Compaction>,
    compactions: u64,
    /// Segments that compaction leaves alone for now: their footer cannot be read, or there was no room.
    avoided: BTreeSet<SegmentId>,
    reading: BTreeMap<OpId, Reading>,
    last_op: u64,
    last_sequence: u64,
    statistics: Statistics,
}

/// Reads the content of the record at `place`.
pub(crate) fn content_at(place: Place, length: u32) -> Op {
    let offset = u64::from(place.offset) + HEADER as u64;
    Op::ReadContent { segment: place.segment, offset, length: u64::from(length) }
}

impl Store {
    /// Begins to open the store; [`Effect::Opened`] or [`Effect::NotOpened`] will follow.
    ///
    /// # Panics
    /// If the configuration is out of its ranges.
    pub fn open(config: Config, effects: &mut Vec<Effect>) -> Store {
        let Config { identity, segment_size, segments, .. } = config;
        assert!(
            (64 << 10..=2 << 30).contains(&segment_size) && segment_size.is_multiple_of(BLOCK),
            "a segment is a multiple of 4096 from 64 KiB to 2 GiB, not {segment_size}"
        );
        assert!(segments >= 3, "a store needs 3 segments, not {segments}");
        let opening = Box::new(Opening::new(identity, segment_size));
        let mut store = Store {
            config,
            opening: None,
            trouble: None,
            index: Index::default(),
            queue: Queue::default(),
            writing: None,
            active: None,
            spare: Spare::None,
            is_full: false,
            unsealed: Vec::new(),
            sealing: None,
            newest: None,
            compaction: None,
            compactions: 0,
            avoided: BTreeSet::new(),
            reading: BTreeMap::new(),
            last_op: 0,
            last_sequence: 0,
            statistics: Statistics::default(),
        };
        let op = store.ask(Op::List, effects);
        store.opening = Some((op, opening));
        store
    }

    /// What it can do.
    pub fn standing(&self) -> Standing {
        match (self.trouble, &self.opening) {
            (Some(trouble), _) => trouble,
            (None, Some(_)) => Standing::Opening,
            (None, None) if self.is_full => Standing::Full,
            (None, None) => Standing::Open,
        }
    }

    /// Numbers for people. O(segments).
    pub fn statistics(&self) -> Statistics {
        let usage = self.index.segments.values();
        let spare = u32::from(matches!(self.spare, Spare::Ready(_)));
        Statistics {
            chunks: self.index.len() as u64,
            content_bytes: self.index.content_bytes(),
            segments: u32::try_from(self.index.segments.len()).expect("counted in u32") + spare,
            void_bytes: usage.map(|usage| usage.written - usage.live).sum(),
            ..self.statistics
        }
    }

    /// Whether the chunk is stored here, on stable storage.
    pub fn holds(&self, chunk: &ChunkId) -> bool {
        self.index.get(chunk).is_some()
    }

    /// Length of a stored chunk's content in bytes.
    pub fn length(&self, chunk: &ChunkId) -> Option<u32> {
        self.index.get(chunk).map(|live| live.length)
    }

    /// How many targets are to hold a chunk that is stored here.
    pub fn replicas(&self, chunk: &ChunkId) -> Option<u8> {
        self.index.get(chunk).map(|live| self.meant(live.replicas))
    }

    /// What a record means by its number.
    fn meant(&self, replicas: u8) -> u8 {
        if replicas == 0 { self.config.replicas } else { replicas }
    }

    /// Stored chunks in the order of their names, from `from` on.
    pub fn chunks(&self, from: ChunkId) -> impl Iterator<Item = &ChunkId> {
        self.index.names(from)
    }

    /// Takes an input, and appends what follows from it to `effects`.
    pub fn handle(&mut self, input: Input, effects: &mut Vec<Effect>) {
        match input {
            Input::Put(ticket, content, replicas) => {
                self.put(ticket, &content, replicas, effects);
            }
            Input::Get(ticket, chunk) => self.get(ticket, chunk, effects),
            Input::Remove(ticket, chunk) => self.remove(ticket, chunk, effects),
            Input::Disk(op, result) => self.disk(op, result, effects),
            Input::Gone => match self.standing() {
                // Its next operation will fail, and tell.
                Standing::Opening | Standing::Failed(_) => {}
                _ => self.stop_writing(DiskError::Gone, effects),
            },
        }
    }

    fn ask(&mut self, op: Op, effects: &mut Vec<Effect>) -> OpId {
        self.last_op += 1;
        let id = OpId(self.last_op);
        effects.push(Effect::Disk(id, op));
        id
    }

    fn next_sequence(&mut self) -> u64 {
        self.last_sequence += 1;
        self.last_sequence
    }

    /// Why nothing can be written at present.
    fn refusal(&self) -> Option<WriteError> {
        match self.standing() {
            Standing::Open | Standing::Full => None,
            Standing::ReadOnly(error) => Some(WriteError::Disk(error)),
            Standing::Opening | Standing::Failed(_) => Some(WriteError::NotOpen),
        }
    }

    fn put(
        &mut self,
        ticket: Ticket,
        content: &Content,
        replicas: Option<u8>,
        effects: &mut Vec<Effect>,
    ) {
        let chunk = content.chunk();
        let wanted = replicas.unwrap_or(self.config.replicas);
        if let Some(error) = self.refusal() {
            return effects.push(Effect::NotWritten(ticket, error));
        }
        match self.queue.outcome(&chunk) {
            Some(last) if last.kind == Kind::Put && self.meant(last.replicas) >= wanted => {
                return self.queue.follow(&chunk, ticket);
            }
            None if self.replicas(&chunk).is_some_and(|held| held >= wanted) => {
                return effects.push(Effect::Stored { ticket, already: true });
            }
            _ => {}
        }
        let length = content.bytes().len();
        let Some(length) = u32::try_from(length)
            .ok()
            .filter(|length| u64::from(*length) <= self.config.longest_chunk())
        else {
            return effects.push(Effect::NotWritten(ticket, WriteError::TooLong));
        };
        if self.standing() == Standing::Full {
            effects.push(Effect::NotWritten(ticket, WriteError::Full));
            // Somebody else may have made room on the disk.
            if self.spare == Spare::Refused {
                self.spare = Spare::None;
            }
            return self.pump(effects);
        }
        let sequence = self.next_sequence();
        // The cluster's number may change, and then holds for chunks without one of their own.
        let replicas = if wanted == self.config.replicas { 0 } else { wanted };
        let record = Record { kind: Kind::Put, chunk, sequence, length, replicas };
        let content = content.bytes().clone();
        self.queue.push(Waiting { record, content, asker: Asker::Ticket(ticket) });
        self.pump(effects);
    }

    fn remove(&mut self, ticket: Ticket, chunk: ChunkId, effects: &mut Vec<Effect>) {
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
        let sequence = self.next_sequence();
        let record = Record { kind: Kind::Removal, chunk, sequence, length: 0, replicas: 0 };
        let content = bytes::Bytes::new();
        self.queue.push(Waiting { record, content, asker: Asker::Ticket(ticket) });
        self.pump(effects);
    }

    fn get(&mut self, ticket: Ticket, chunk: ChunkId, effects: &mut Vec<Effect>) {
        if matches!(self.standing(), Standing::Opening | Standing::Failed(_)) {
            return effects.push(Effect::NotFetched(ticket, ReadError::NotOpen));
        }
        let Some(live) = self.index.get(&chunk) else {
            return effects.push(Effect::NotFetched(ticket, ReadError::NotFound));
        };
        let place = live.place;
        let op = self.ask(content_at(place, live.length), effects);
        self.reading.insert(op, Reading { ticket, chunk, place });
    }

    fn disk(&mut self, op: OpId, result: Result<Output, DiskError>, effects: &mut Vec<Effect>) {
        if let Some((_, mut opening)) = self.opening.take_if(|(asked, _)| *asked == op) {
            return match opening.done(result) {
                Step::Ask(next) => {
                    let op = self.ask(next, effects);
                    self.opening = Some((op, opening));
                }
                Step::Failed(error) => {
                    self.trouble = Some(Standing::Failed(error));
                    effects.push(Effect::NotOpened(error));
                }
                Step::Found(found) => self.opened(found, effects),
            };
        }
        if let Some(reading) = self.reading.remove(&op) {
            self.read(&reading, result, effects);
        } else if self.compaction.as_ref().is_some_and(|compaction| compaction.waits_for(op)) {
            self.compacted(op, result, effects);
        } else if matches!(self.spare, Spare::Creating(asked, _) if asked == op) {
            self.created(&result, effects);
        } else if self.sealing.take_if(|sealing| sealing.op == op).is_some() {
            if let Err(error) = result {
                self.stop_writing(error, effects);
            }
        } else {
            self.written(op, &result, effects);
        }
        self.pump(effects);
    }

    fn opened(&mut self, found: crate::opening::Found, effects: &mut Vec<Effect>) {
        self.index = found.index;
        self.newest = found.newest;
        self.last_sequence = found.last_sequence;
        self.statistics.lost = u64::from(found.damaged);
        self.statistics.unreadable_segments = found.unreadable;
        self.unsealed = found.unfinished;
        if let Some((segment, Unfinished { entries, end })) = self.unsealed.pop() {
            self.active = Some(Active { segment, entries, end });
        }
        effects.push(Effect::Opened);
        self.pump(effects);
    }

    fn read(
        &mut self,
        reading: &Reading,
        result: Result<Output, DiskError>,
        effects: &mut Vec<Effect>,
    ) {
        let &Reading { ticket, chunk, place } = reading;
        let error = match result {
            Ok(Output::Content(content)) if content.chunk() == chunk => {
                return effects.push(Effect::Fetched(ticket, content));
            }
            Ok(_) => ReadError::Corrupt,
            Err(_) => ReadError::Disk,
        };
        effects.push(Effect::NotFetched(ticket, error));
        self.lose(chunk, place, effects);
    }

    fn lose(&mut self, chunk: ChunkId, place: Place, effects: &mut Vec<Effect>) {
        if let Some(live) = self.index.get(&chunk).filter(|live| live.place == place) {
            self.index.lose(chunk, place);
            self.statistics.lost += 1;
            effects.push(Effect::Lost(chunk, self.meant(live.replicas)));
        }
    }

    /// Starts whatever can be started.
    fn pump(&mut self, effects: &mut Vec<Effect>) {
        if !matches!(self.standing(), Standing::Open | Standing::Full) {
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

    fn make_spare(&mut self, effects: &mut Vec<Effect>) {
        let segments = self.index.segments.len();
        if segments >= self.config.segments as usize || self.newest == Some(SegmentId(u32::MAX)) {
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

    fn created(&mut self, result: &Result<Output, DiskError>, effects: &mut Vec<Effect>) {
        let Spare::Creating(_, segment) = self.spare else { return };
        match result {
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

    fn write_next(&mut self, effects: &mut Vec<Effect>) {
        if self.queue.is_empty() {
            return;
        }
        if self.active.is_none()
            && let Spare::Ready(segment) = self.spare
        {
            self.index.segments.entry(segment).or_default();
            self.active = Some(Active { segment, entries: Vec::new(), end: 0 });
            self.spare = Spare::None;
            self.make_spare(effects);
        }
        let Some(active) = &self.active else {
            if self.spare == Spare::Refused {
                self.fail_waiting(WriteError::Full, effects);
            }
            return;
        };
        let room = Room {
            start: active.end,
            entries: active.entries.len(),
            size: self.config.segment_size,
            limit: self.config.batch,
        };
        if let Some((batch, parts)) = self.queue.batch(&self.config.identity, room) {
            let write = Op::Write { segment: active.segment, offset: active.end, parts };
            self.writing = Some((self.ask(write, effects), batch));
        } else if self.spare == Spare::Refused {
            // The rest of the last segment is for compaction, and it was not enough.
            self.fail_waiting(WriteError::Full, effects);
        } else {
            let Active { segment, entries, end } = self.active.take().expect("just looked");
            self.unsealed.push((segment, Unfinished { entries, end }));
            self.seal_next(effects);
            self.write_next(effects);
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
    fn written(&mut self, op: OpId, result: &Result<Output, DiskError>, effects: &mut Vec<Effect>) {
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
            let existed = self.index.get(&record.chunk).is_some();
            self.index.add(segment, entry);
            let ticket = match asker {
                Asker::Ticket(ticket) => ticket,
                Asker::Compaction(number) => {
                    let compaction = self.compaction.as_mut().filter(|c| c.number == number);
                    if let Some(compaction) = compaction {
                        compaction.copied(record.extent());
                    }
                    continue;
                }
            };
            if record.kind == Kind::Removal {
                self.avoided.clear();
            }
            let told = |ticket, first: bool| match record.kind {
                Kind::Put => Effect::Stored { ticket, already: !first },
                Kind::Removal => Effect::Removed { ticket, existed: existed && first },
            };
            effects.push(told(ticket, true));
            let followers = self.queue.settled(&record);
            effects.extend(followers.into_iter().map(|ticket| told(ticket, false)));
        }
    }

    /// A write went wrong: what is on disk is not known any more.
    fn stop_writing(&mut self, error: DiskError, effects: &mut Vec<Effect>) {
        self.trouble = Some(Standing::ReadOnly(error));
        if let Some((_, batch)) = self.writing.take() {
            for (entry, asker) in batch.written {
                self.fail(&entry.record, asker, WriteError::Disk(error), effects);
            }
        }
        self.fail_waiting(WriteError::Disk(error), effects);
    }

    fn fail_waiting(&mut self, error: WriteError, effects: &mut Vec<Effect>) {
        let waiting: Vec<_> = self.queue.drain().collect();
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
        let Asker::Ticket(ticket) = asker else {
            // The segment that the copy was to replace stays, until there is more room.
            if let Some(compaction) = self.compaction.take() {
                self.avoided.insert(compaction.segment);
            }
            return;
        };
        let followers = self.queue.settled(record);
        let tickets = core::iter::once(ticket).chain(followers);
        effects.extend(tickets.map(|ticket| Effect::NotWritten(ticket, error)));
    }

    /// Begins a compaction if there is reason to, and goes on with the one that is under way.
    fn compact(&mut self, effects: &mut Vec<Effect>) {
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
        let active = self.active.as_ref();
        let unsealed = |segment: &SegmentId| {
            active.is_some_and(|active| active.segment == *segment)
                || self.unsealed.iter().any(|(of, _)| of == segment)
                || self.sealing.is_some_and(|sealing| sealing.segment == *segment)
        };
        let sealed = self
            .index
            .segments
            .iter()
            .filter(|(segment, _)| !unsealed(segment) && !self.avoided.contains(segment));
        if !self.is_full {
            return compaction::victim(sealed, u64::from(self.config.compact_below), u64::MAX);
        }
        // The store is full: whatever gives room, if it fits into what is left.
        let written = active.map_or(0, |active| active.end);
        let waiting = self.queue.bytes + BLOCK;
        let footer = footer::length(active.map_or(0, |active| active.entries.len()));
        let room = self.config.segment_size.saturating_sub(written + waiting + footer);
        // Each record copied takes an entry, and at worst a batch of its own.
        let room = room / 2;
        compaction::victim(sealed, 95, room)
    }

    fn compacted(
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
                    let asker = Asker::Compaction(compaction.number);
                    self.queue.push(Waiting { record, content, asker });
                } else {
                    compaction.skipped(record.extent());
                }
            }
            Step::Lost(entry) => {
                let place = Place { segment, offset: entry.offset };
                self.lose(entry.record.chunk, place, effects);
            }
            Step::GiveUp => {
                self.avoided.insert(segment);
                self.compaction = None;
            }
            Step::Deleted(entries) => {
                self.index.delete(segment, &entries);
                self.avoided.clear();
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
