//! The store: what it is told, and what it has the disk do.

mod opening;
mod reading;
mod space;
mod writing;

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use slotcast_protocol::ranges::RangeSum;
use slotcast_protocol::{ChunkId, Claim, Wanted};

pub(crate) use reading::{TRIES, content_at};

use crate::batch::{Batch, Queue};
use crate::compaction::Compaction;
use crate::content::Content;
use crate::footer::Entry;
use crate::index::{Index, Place};
use crate::io::{DiskError, Op, OpId, Output, SegmentId};
use crate::opening::{Opening, Unfinished};
use crate::record::{BLOCK, Identity};
use crate::recovery::{Work, Worked};

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
    /// Store this; so many targets are to hold it, or as many as the cluster's number says, and it is kept for
    /// whom the claim says. If it is stored for fewer or with a lower claim, it is written anew, for the higher of
    /// both.
    Put(Ticket, Content, Option<u8>, Claim),
    /// Fetch this.
    Get(Ticket, ChunkId),
    /// Remove this.
    Remove(Ticket, ChunkId),
    /// A disk operation has ended.
    Disk(OpId, Result<Output, DiskError>),
    /// The piece of work is done that was taken last.
    Worked(Worked),
    /// The disk has disappeared: whatever is under way on it, nothing more is written.
    Gone,
    /// Somebody else may have made room on the disk: a full store looks for it.
    LookForRoom,
}

/// What is to be done, or was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Carry this out, and report it with [`Input::Disk`].
    Disk(OpId, Op),
    /// Take a piece of work with [`Store::take_work`], run it where nobody waits for it, and tell what came of it with
    /// [`Input::Worked`]. Disk operations are carried out meanwhile.
    Work,
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
    /// A stored chunk turned out not to be what its name says: it is not stored here any more, and other
    /// replicas must make up for it. This was wanted of it.
    Lost(ChunkId, Wanted),
    /// The disk could not read a stored chunk, however often that was tried: it does not count as stored until
    /// somebody fetches it after all, or puts it again. This was wanted of it.
    Unreadable(ChunkId, Wanted),
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
pub enum StoreStatus {
    /// Nothing yet: it reads what is on disk.
    Opening,
    /// Everything.
    Open,
    /// It fetches and removes; there is no room for puts.
    Full,
    /// It fetches what it can. After a failed write or flush nobody knows what is on disk; where segments cannot
    /// be read, removals and later puts may be on record in them; and a disk that fails read after read will not
    /// keep what it is given. So nothing more is written until it is opened anew.
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
    /// Segments, the empty ones included.
    pub segments: u32,
    /// Bytes of records that hold no more and await compaction.
    pub void_bytes: u64,
    /// Stored chunks whose content turned out to be wrong since the store was opened, and then.
    pub lost: u64,
    /// Chunks that the disk could not read when that was last tried.
    pub unreadable_chunks: u64,
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
    /// Nobody waits for what is only read back.
    ticket: Option<Ticket>,
    chunk: ChunkId,
    place: Place,
    length: u32,
    /// How often it was asked for.
    tries: u8,
}

/// The chunk store of one target. See the crate's page.
#[derive(Debug)]
pub struct Store {
    config: Config,
    opening: Option<Box<Opening>>,
    /// A part of opening that nobody has taken yet.
    work: Option<Work>,
    trouble: Option<StoreStatus>,
    index: Index,
    queue: Queue,
    /// The batch that is being written to the active segment.
    writing: Option<(OpId, Batch)>,
    active: Option<Active>,
    spare: Spare,
    /// An empty segment that no puts are written to: where there is no room for another one, compaction copies into it what
    /// holds of the segment that it frees, and removals are written to it.
    kept: Option<SegmentId>,
    /// There was no room for a spare segment when it was last tried.
    is_full: bool,
    /// Full segments, and those found at the start, that await a footer.
    unsealed: Vec<(SegmentId, Unfinished)>,
    sealing: Option<Sealing>,
    newest: Option<SegmentId>,
    compaction: Option<Compaction>,
    compactions: u64,
    /// Chunks that were found so, since a read went well.
    unread_in_a_row: u32,
    /// Chunks that were written anew since they could not be read, and then could not be read again, since one could.
    unread_again: u32,
    reading: BTreeMap<OpId, Reading>,
    last_op: u64,
    last_sequence: u64,
    statistics: Statistics,
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
        let index = Index::new(segment_size, config.compact_below);
        let opening = Box::new(Opening::new(identity, (segment_size, config.batch), index));
        let mut store = Store {
            config,
            opening: None,
            work: None,
            trouble: None,
            index: Index::new(segment_size, config.compact_below),
            queue: Queue::default(),
            writing: None,
            active: None,
            spare: Spare::None,
            kept: None,
            is_full: false,
            unsealed: Vec::new(),
            sealing: None,
            newest: None,
            compaction: None,
            compactions: 0,
            unread_in_a_row: 0,
            unread_again: 0,
            reading: BTreeMap::new(),
            last_op: 0,
            last_sequence: 0,
            statistics: Statistics::default(),
        };
        store.open_on(opening, effects);
        store
    }

    /// What it can do.
    pub fn status(&self) -> StoreStatus {
        match (self.trouble, &self.opening) {
            (Some(trouble), _) => trouble,
            (None, Some(_)) => StoreStatus::Opening,
            (None, None) if self.is_full => StoreStatus::Full,
            (None, None) => StoreStatus::Open,
        }
    }

    /// Numbers for people. O(1).
    pub fn statistics(&self) -> Statistics {
        let spare = u32::from(matches!(self.spare, Spare::Ready(_)));
        let empty = spare + u32::from(self.kept.is_some());
        Statistics {
            chunks: self.index.len() as u64,
            unreadable_chunks: self.index.unreadable() as u64,
            content_bytes: self.index.content_bytes(),
            segments: u32::try_from(self.index.segments.len()).expect("counted in u32") + empty,
            void_bytes: self.index.segments.void_bytes(),
            ..self.statistics
        }
    }

    /// Whether it knows of every chunk that is here: all segments could be read when it was opened.
    pub fn knows_all(&self) -> bool {
        self.statistics.unreadable_segments == 0
    }

    /// Whether the last chunk that was read could be read, or none was.
    pub fn reads_well(&self) -> bool {
        self.unread_in_a_row == 0
    }

    /// Whether the chunk is stored here, on stable storage.
    pub fn holds(&self, chunk: &ChunkId) -> bool {
        self.index.get(chunk).is_some()
    }

    /// Whether a put or a removal of the chunk is on its way to the disk. A copy that compaction makes is none.
    pub fn is_changing(&self, chunk: &ChunkId) -> bool {
        self.queue.outcome(chunk).is_some()
    }

    /// Length of a stored chunk's content in bytes; also if it could not be read when that was last tried, and so
    /// does not count as stored.
    pub fn length(&self, chunk: &ChunkId) -> Option<u32> {
        self.index.find(chunk).map(|live| live.length)
    }

    /// How many targets are to hold a chunk that is stored here.
    pub fn replicas(&self, chunk: &ChunkId) -> Option<u8> {
        self.wanted(chunk).map(|wanted| wanted.replicas)
    }

    /// Who wants a chunk kept that is stored here.
    pub fn claim(&self, chunk: &ChunkId) -> Option<Claim> {
        self.wanted(chunk).map(|wanted| wanted.claim)
    }

    /// Both of these.
    pub fn wanted(&self, chunk: &ChunkId) -> Option<Wanted> {
        self.index.get(chunk).map(|live| self.meant(live.wanted))
    }

    /// What a record means by its number.
    fn meant(&self, wanted: Wanted) -> Wanted {
        let replicas = if wanted.replicas == 0 { self.config.replicas } else { wanted.replicas };
        Wanted { replicas, ..wanted }
    }

    /// What is stored of the names whose first `bits` bits, 0 to 14, are `range`. O(1).
    pub fn range_sum(&self, bits: u8, range: u32) -> RangeSum {
        self.index.range_sum(bits, range)
    }

    /// Stored chunks in the order of their names, from `from` on.
    pub fn chunks(&self, from: ChunkId) -> impl Iterator<Item = ChunkId> {
        self.index.names(from)
    }

    /// Takes an input, and appends what follows from it to `effects`.
    pub fn handle(&mut self, input: Input, effects: &mut Vec<Effect>) {
        match input {
            Input::Put(ticket, content, replicas, claim) => {
                self.put(ticket, &content, (replicas, claim), effects);
            }
            Input::Get(ticket, chunk) => self.get(ticket, chunk, effects),
            Input::Remove(ticket, chunk) => self.remove(ticket, chunk, effects),
            Input::Disk(op, result) => self.disk(op, result, effects),
            Input::Worked(worked) => self.worked(worked, effects),
            Input::Gone => match self.status() {
                // Its next operation will fail, and tell.
                StoreStatus::Opening | StoreStatus::Failed(_) => {}
                _ => self.stop_writing(DiskError::Gone, effects),
            },
            Input::LookForRoom => {
                if self.spare == Spare::Refused {
                    self.spare = Spare::None;
                }
                self.pump(effects);
            }
        }
    }

    fn ask(&mut self, op: Op, effects: &mut Vec<Effect>) -> OpId {
        self.last_op += 1;
        let id = OpId(self.last_op);
        effects.push(Effect::Disk(id, op));
        id
    }

    fn disk(&mut self, op: OpId, result: Result<Output, DiskError>, effects: &mut Vec<Effect>) {
        if let Some(mut opening) = self.opening.take_if(|opening| opening.waits_for(op)) {
            opening.done(op, result);
            return self.open_on(opening, effects);
        }
        if let Some(reading) = self.reading.remove(&op) {
            self.read(&reading, result, effects);
        } else if self.compaction.as_ref().is_some_and(|compaction| compaction.waits_for(op)) {
            self.compacted(op, result, effects);
        } else if matches!(self.spare, Spare::Creating(asked, _) if asked == op) {
            self.created(&result, effects);
        } else if let Some(sealed) = self.sealing.take_if(|sealing| sealing.op == op) {
            self.index.segments.seal(sealed.segment);
            if let Err(error) = result {
                self.stop_writing(error, effects);
            }
        } else {
            self.written(op, &result, effects);
        }
        self.pump(effects);
    }
}
