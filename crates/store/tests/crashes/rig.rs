//! A store on a simulated disk, with what its user knows of each chunk.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use slotcast_faults::{DiskFaults, SimulatedDisk};
use slotcast_protocol::ranges::range_of;
use slotcast_protocol::{ChunkId, Claim};
use slotcast_store::{
    Config, Content, Effect, Identity, Input, ReadError, Store, StoreStatus, Ticket, Work,
};

pub(crate) const CHUNKS: u8 = 12;

pub(crate) fn config() -> Config {
    Config { segment_size: 64 << 10, batch: 20_000, ..Config::new(Identity([9; 32])) }
}

/// Chunk `n` has its own content, from nothing to the longest.
pub(crate) fn content(n: u8) -> Content {
    let length = usize::from(n) * 16_384 / usize::from(CHUNKS - 1);
    Content::of(Bytes::from(vec![n; length]))
}

/// What is to become of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Write {
    /// It is stored for at least so many replicas, with at least this claim.
    Put(u8, Claim),
    Removal,
}

impl Write {
    /// For what the chunk is stored afterwards, where it was for `before`.
    pub(crate) fn after(self, before: StoredFor) -> StoredFor {
        match self {
            Write::Put(replicas, claim) => (before.0.max(replicas), before.1.max(claim)),
            Write::Removal => NOT_STORED,
        }
    }
}

/// For how many replicas a chunk is stored, and with which claim.
type StoredFor = (u8, Claim);

const NOT_STORED: StoredFor = (0, Claim::Names);

/// What may be true of a chunk, as far as its user knows: for what it is stored.
#[derive(Debug, Clone)]
struct Known {
    possible: BTreeSet<StoredFor>,
    /// Writes that are under way, in order.
    under_way: Vec<(Ticket, Write)>,
    /// The disk could not read it, or not all that may be said of it: whether it counts as stored is not known
    /// until the store is opened again, or puts it. What is true of it stays.
    is_unread: bool,
}

impl Known {
    /// A write is done.
    fn done(&mut self, write: Write) {
        self.possible = self.possible.iter().map(|before| write.after(*before)).collect();
    }

    /// A write may be done or not.
    fn maybe_done(&mut self, write: Write) {
        let after: Vec<_> = self.possible.iter().map(|before| write.after(*before)).collect();
        self.possible.extend(after);
    }
}

fn stored_for(store: &Store, chunk: &ChunkId) -> StoredFor {
    let stored_for = store.replicas(chunk).zip(store.claim(chunk));
    stored_for.unwrap_or(NOT_STORED)
}

/// The store, its disk and its user.
#[derive(Debug)]
pub(crate) struct Rig {
    pub(crate) store: Store,
    pub(crate) disk: SimulatedDisk,
    /// A part of opening the store, which is done before the next operation of the disk or after some more.
    work: Option<Work>,
    steps: u64,
    known: BTreeMap<ChunkId, Known>,
    gets: BTreeMap<Ticket, ChunkId>,
    next: u64,
    fetched: u64,
    /// Chunks and removals may be lost, because bits were made to rot.
    pub(crate) rots: bool,
}

impl Rig {
    pub(crate) fn new(seed: u64) -> Rig {
        let mut effects = Vec::new();
        let store = Store::open(config(), &mut effects);
        let unknown =
            || Known { possible: [NOT_STORED].into(), under_way: Vec::new(), is_unread: false };
        let known = (0..CHUNKS).map(|n| (content(n).chunk(), unknown())).collect();
        let disk = SimulatedDisk::new(seed);
        let gets = BTreeMap::new();
        let (work, steps, rots) = (None, 0, false);
        let mut rig = Rig { store, disk, work, steps, known, gets, next: 0, fetched: 0, rots };
        rig.take(effects);
        rig.settle();
        rig
    }

    fn ticket(&mut self) -> Ticket {
        self.next += 1;
        Ticket(self.next)
    }

    fn tell(&mut self, input: Input) {
        let mut effects = Vec::new();
        self.store.handle(input, &mut effects);
        self.check_sums();
        self.take(effects);
    }

    /// Ranges of names have the chunks that are stored, whatever has happened.
    fn check_sums(&self) {
        let mut counts = BTreeMap::<u32, u64>::new();
        for chunk in self.store.chunks(ChunkId([0; 32])) {
            *counts.entry(range_of(&chunk, 4)).or_default() += 1;
        }
        for range in 0..16 {
            let found = self.store.range_sum(4, range);
            assert_eq!(found.chunks, counts.get(&range).copied().unwrap_or(0), "range {range}");
            assert!(found.chunks > 0 || found.sum == 0, "range {range}: {found:?}");
        }
    }

    pub(crate) fn put(&mut self, n: u8) {
        self.put_for(n, None);
    }

    pub(crate) fn put_for(&mut self, n: u8, replicas: Option<u8>) {
        self.put_claimed(n, replicas, Claim::Bare);
    }

    pub(crate) fn put_claimed(&mut self, n: u8, replicas: Option<u8>, claim: Claim) {
        let (ticket, content) = (self.ticket(), content(n));
        let write = Write::Put(replicas.unwrap_or(config().replicas), claim);
        self.known.get_mut(&content.chunk()).unwrap().under_way.push((ticket, write));
        self.tell(Input::Put(ticket, content, replicas, claim));
    }

    pub(crate) fn look_for_room(&mut self) {
        self.tell(Input::LookForRoom);
    }

    pub(crate) fn remove(&mut self, n: u8) {
        let (ticket, chunk) = (self.ticket(), content(n).chunk());
        self.known.get_mut(&chunk).unwrap().under_way.push((ticket, Write::Removal));
        self.tell(Input::Remove(ticket, chunk));
    }

    pub(crate) fn get(&mut self, n: u8) {
        let (ticket, chunk) = (self.ticket(), content(n).chunk());
        self.gets.insert(ticket, chunk);
        self.tell(Input::Get(ticket, chunk));
    }

    pub(crate) fn take(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Disk(id, op) => self.disk.ask(id, op),
                Effect::Work => self.work = self.store.take_work(),
                Effect::Opened => {}
                Effect::NotOpened(error) => {
                    assert!(self.disk.faults != DiskFaults::default(), "cannot open: {error}");
                }
                Effect::Stored { ticket, .. } => self.acknowledged(ticket),
                Effect::Removed { ticket, .. } => self.acknowledged(ticket),
                Effect::NotWritten(ticket, _) => {
                    let known = self.known.values_mut();
                    for known in known {
                        if let Some(at) = known.under_way.iter().position(|(t, _)| *t == ticket) {
                            let (_, write) = known.under_way.remove(at);
                            known.maybe_done(write);
                        }
                    }
                }
                Effect::Fetched(ticket, content) => {
                    assert_eq!(self.gets.remove(&ticket), Some(content.chunk()));
                    assert_eq!(Content::of(content.bytes().clone()), content);
                    self.fetched += 1;
                }
                Effect::NotFetched(ticket, error) => {
                    let chunk = self.gets.remove(&ticket).expect("a get under way");
                    let known = &self.known[&chunk];
                    let may_be_absent = known.possible.contains(&NOT_STORED)
                        || known.is_unread
                        || !known.under_way.is_empty()
                        || error == ReadError::NotOpen
                        || error == ReadError::Disk && self.disk.is_unread(&chunk);
                    assert!(may_be_absent || self.rots, "{chunk} is stored, but: {error}");
                }
                Effect::Lost(chunk, _) => {
                    let is_harmed = self.disk.excuses(&chunk);
                    let known = self.known.get_mut(&chunk).unwrap();
                    assert!(self.rots && is_harmed, "{chunk} was lost");
                    known.possible.insert(NOT_STORED);
                }
                Effect::Unreadable(chunk, _) => {
                    assert!(self.disk.is_unread(&chunk), "{chunk} could be read");
                    self.known.get_mut(&chunk).unwrap().is_unread = true;
                }
            }
        }
    }

    pub(crate) fn acknowledged(&mut self, ticket: Ticket) {
        for known in self.known.values_mut() {
            if let Some(at) = known.under_way.iter().position(|(t, _)| *t == ticket) {
                let (_, write) = known.under_way.remove(at);
                known.done(write);
            }
        }
    }

    /// For how many replicas the chunk is stored; 0 if it is not.
    pub(crate) fn stored_for(&self, chunk: &ChunkId) -> u8 {
        self.store.replicas(chunk).unwrap_or(0)
    }

    pub(crate) fn step(&mut self) -> bool {
        self.steps += 1;
        let waits = self.steps % 4 < 2;
        if !waits && let Some(work) = self.work.take() {
            self.tell(Input::Worked(work.run()));
        } else if let Some((id, result)) = self.disk.step() {
            self.tell(Input::Disk(id, result));
        } else if let Some(work) = self.work.take() {
            self.tell(Input::Worked(work.run()));
        } else {
            return false;
        }
        true
    }

    pub(crate) fn settle(&mut self) {
        while self.step() {}
        assert!(self.gets.is_empty(), "a get was never answered");
        for known in self.known.values() {
            assert!(known.under_way.is_empty(), "a write was never answered: {known:?}");
        }
    }

    /// The power fails, and the store is opened again; without faults, if it cannot be opened with
    /// them.
    pub(crate) fn crash(&mut self) {
        if !self.reopens() {
            self.disk.faults = DiskFaults::default();
            assert!(self.reopens(), "opening waits for nothing");
        }
        // Puts and removals alike may be on record in a segment that could not be read: so nothing is written,
        // and all is as it was when it can be read again.
        let is_unread = self.store.statistics().unreadable_segments > 0;
        assert!(!is_unread || matches!(self.store.status(), StoreStatus::ReadOnly(_)));
        for (chunk, known) in &mut self.known {
            known.is_unread = is_unread;
            if is_unread {
                continue;
            }
            let stored_for = stored_for(&self.store, chunk);
            // Rot can take a chunk, the note of its removal, and its last record, so that the one before holds.
            let allowed = known.possible.contains(&stored_for) || self.rots;
            assert!(
                allowed,
                "{chunk}: {stored_for:?}, where only {:?} is possible",
                known.possible
            );
            known.possible = [stored_for].into();
        }
    }

    /// The power fails, and the store is opened again, if the disk lets it.
    fn reopens(&mut self) -> bool {
        self.disk.crash();
        self.gets.clear();
        for known in self.known.values_mut() {
            for (_, write) in std::mem::take(&mut known.under_way) {
                known.maybe_done(write);
            }
        }
        let mut effects = Vec::new();
        self.store = Store::open(config(), &mut effects);
        self.work = None;
        self.take(effects);
        while self.store.status() == StoreStatus::Opening && self.step() {}
        !matches!(self.store.status(), StoreStatus::Opening | StoreStatus::Failed(_))
    }

    /// Everything that is stored can be fetched, and is right.
    pub(crate) fn audit(&mut self) {
        self.settle();
        // What could not be read before can be now.
        (0..CHUNKS).for_each(|n| self.get(n));
        self.settle();
        let before = self.fetched;
        let stored = (0..CHUNKS).filter(|n| self.store.holds(&content(*n).chunk())).count();
        for n in 0..CHUNKS {
            self.get(n);
        }
        self.settle();
        if !self.rots {
            assert_eq!(self.fetched - before, stored as u64);
            for (chunk, known) in &self.known {
                let stored_for = stored_for(&self.store, chunk);
                assert!(
                    known.is_unread || known.possible.contains(&stored_for),
                    "{chunk}: {stored_for:?}, {known:?}"
                );
            }
        }
        assert_eq!(
            self.store.statistics().chunks,
            self.store.chunks(ChunkId([0; 32])).count() as u64
        );
    }
}
