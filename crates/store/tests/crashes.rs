//! What was acknowledged survives any crash, and nothing that was removed comes back.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use proptest::prelude::*;
use slotcast_faults::{DiskFaults, SimulatedDisk, Transient};
use slotcast_protocol::ChunkId;
use slotcast_random::{Stream, Streams};
use slotcast_store::{
    Config, Content, DiskError, Effect, Identity, Input, ReadError, Standing, Store, Ticket,
};

const CHUNKS: u8 = 12;

fn config() -> Config {
    Config { segment_size: 64 << 10, batch: 20_000, ..Config::new(Identity([9; 32])) }
}

/// Chunk `n` has its own content, from nothing to the longest.
fn content(n: u8) -> Content {
    let length = usize::from(n) * 16_384 / usize::from(CHUNKS - 1);
    Content::of(Bytes::from(vec![n; length]))
}

/// What is to become of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Write {
    /// It is stored for at least so many replicas.
    Put(u8),
    Removal,
}

impl Write {
    /// For how many replicas the chunk is stored afterwards, where it was for `before`; 0 if it is not.
    fn after(self, before: u8) -> u8 {
        match self {
            Write::Put(replicas) => before.max(replicas),
            Write::Removal => 0,
        }
    }
}

/// What may be true of a chunk, as far as its user knows: for how many replicas it is stored, 0 if it is not.
#[derive(Debug, Clone)]
struct Known {
    possible: BTreeSet<u8>,
    /// Writes that are under way, in order.
    under_way: Vec<(Ticket, Write)>,
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

#[derive(Debug)]
struct Rig {
    store: Store,
    disk: SimulatedDisk,
    known: BTreeMap<ChunkId, Known>,
    gets: BTreeMap<Ticket, ChunkId>,
    next: u64,
    fetched: u64,
    /// Chunks and removals may be lost, because bits were made to rot.
    rots: bool,
}

impl Rig {
    fn new(seed: u64) -> Rig {
        let mut effects = Vec::new();
        let store = Store::open(config(), &mut effects);
        let unknown = || Known { possible: [0].into(), under_way: Vec::new() };
        let known = (0..CHUNKS).map(|n| (content(n).chunk(), unknown())).collect();
        let disk = SimulatedDisk::new(seed);
        let gets = BTreeMap::new();
        let mut rig = Rig { store, disk, known, gets, next: 0, fetched: 0, rots: false };
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
        self.take(effects);
    }

    fn put(&mut self, n: u8) {
        self.put_for(n, None);
    }

    fn put_for(&mut self, n: u8, replicas: Option<u8>) {
        let (ticket, content) = (self.ticket(), content(n));
        let write = Write::Put(replicas.unwrap_or(config().replicas));
        self.known.get_mut(&content.chunk()).unwrap().under_way.push((ticket, write));
        self.tell(Input::Put(ticket, content, replicas));
    }

    fn remove(&mut self, n: u8) {
        let (ticket, chunk) = (self.ticket(), content(n).chunk());
        self.known.get_mut(&chunk).unwrap().under_way.push((ticket, Write::Removal));
        self.tell(Input::Remove(ticket, chunk));
    }

    fn get(&mut self, n: u8) {
        let (ticket, chunk) = (self.ticket(), content(n).chunk());
        self.gets.insert(ticket, chunk);
        self.tell(Input::Get(ticket, chunk));
    }

    fn take(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Disk(id, op) => self.disk.ask(id, op),
                Effect::Opened => {}
                Effect::NotOpened(error) => panic!("cannot open: {error}"),
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
                    let may_be_absent = known.possible.contains(&0)
                        || !known.under_way.is_empty()
                        || error == ReadError::NotOpen;
                    assert!(may_be_absent || self.rots, "{chunk} is stored, but: {error}");
                }
                Effect::Lost(chunk, _) => {
                    assert!(self.rots, "{chunk} was lost");
                    self.known.get_mut(&chunk).unwrap().possible.insert(0);
                }
            }
        }
    }

    fn acknowledged(&mut self, ticket: Ticket) {
        for known in self.known.values_mut() {
            if let Some(at) = known.under_way.iter().position(|(t, _)| *t == ticket) {
                let (_, write) = known.under_way.remove(at);
                known.done(write);
            }
        }
    }

    /// For how many replicas the chunk is stored; 0 if it is not.
    fn stored_for(&self, chunk: &ChunkId) -> u8 {
        self.store.replicas(chunk).unwrap_or(0)
    }

    fn step(&mut self) -> bool {
        let Some((id, result)) = self.disk.step() else { return false };
        self.tell(Input::Disk(id, result));
        true
    }

    fn settle(&mut self) {
        while self.step() {}
        assert!(self.gets.is_empty(), "a get was never answered");
        for known in self.known.values() {
            assert!(known.under_way.is_empty(), "a write was never answered: {known:?}");
        }
    }

    /// The power fails, and the store is opened again.
    fn crash(&mut self) {
        self.disk.crash();
        self.gets.clear();
        for known in self.known.values_mut() {
            for (_, write) in std::mem::take(&mut known.under_way) {
                known.maybe_done(write);
            }
        }
        let mut effects = Vec::new();
        self.store = Store::open(config(), &mut effects);
        self.take(effects);
        while self.store.standing() == Standing::Opening {
            assert!(self.step(), "opening waits for nothing");
        }
        for (chunk, known) in &mut self.known {
            let stored_for = self.store.replicas(chunk).unwrap_or(0);
            // Rot can take a chunk, the note of its removal, and its last record, so that the one before holds.
            let allowed = known.possible.contains(&stored_for) || self.rots;
            assert!(allowed, "{chunk}: {stored_for}, where only {:?} is possible", known.possible);
            known.possible = [stored_for].into();
        }
    }

    /// Everything that is stored can be fetched, and is right.
    fn audit(&mut self) {
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
                let stored_for = self.stored_for(chunk);
                assert!(known.possible.contains(&stored_for), "{chunk}: {stored_for}, {known:?}");
            }
        }
        assert_eq!(
            self.store.statistics().chunks,
            self.store.chunks(ChunkId([0; 32])).count() as u64
        );
    }
}

/// What its user does, apart from what its disk does.
fn turns(seed: u64) -> Stream {
    Streams::new(seed).stream("turns", 0)
}

fn one_in(chance: &mut Stream, n: u64) -> bool {
    chance.below(n) == 0
}

fn turn(rig: &mut Rig, chance: &mut Stream) {
    let n = u8::try_from(chance.below(u64::from(CHUNKS))).unwrap();
    match chance.below(100) {
        0..30 => {
            let replicas = u8::try_from(chance.below(6)).unwrap();
            rig.put_for(n, (replicas > 0).then_some(replicas));
        }
        30..50 => rig.remove(n),
        50..60 => rig.get(n),
        _ => {
            rig.step();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_was_acknowledged_survives_any_crash(seed in any::<u64>(), length in 10u32..600) {
        let (mut rig, mut chance) = (Rig::new(seed), turns(seed));
        for _ in 0..length {
            turn(&mut rig, &mut chance);
            if one_in(&mut chance, 60) {
                rig.crash();
            }
        }
        rig.audit();
        rig.crash();
        rig.audit();
    }

    #[test]
    fn a_disk_that_fails_stops_the_writing_and_loses_nothing(seed in any::<u64>()) {
        let (mut rig, mut chance) = (Rig::new(seed), turns(seed));
        rig.disk.faults.write.transient =
            Some(Transient { one_in: 40, error: DiskError::Failed });
        for _ in 0..400 {
            turn(&mut rig, &mut chance);
            if one_in(&mut chance, 60) || matches!(rig.store.standing(), Standing::ReadOnly(_)) {
                rig.crash();
            }
        }
        rig.disk.faults = DiskFaults::default();
        rig.audit();
        rig.crash();
        rig.audit();
    }

    #[test]
    fn a_full_disk_refuses_puts_and_comes_back(seed in any::<u64>()) {
        let (mut rig, mut chance) = (Rig::new(seed), turns(seed));
        rig.disk.room = 3;
        for _ in 0..600 {
            turn(&mut rig, &mut chance);
            if one_in(&mut chance, 100) {
                rig.crash();
            }
        }
        rig.audit();
        // Room enough: whatever was in the way, it takes puts again.
        rig.disk.room = 20;
        rig.put(CHUNKS - 1);
        rig.settle();
        rig.put(CHUNKS - 1);
        rig.settle();
        prop_assert!(rig.store.holds(&content(CHUNKS - 1).chunk()));
        rig.audit();
    }

    #[test]
    fn rotten_bits_are_found(seed in any::<u64>()) {
        let (mut rig, mut chance) = (Rig::new(seed), turns(seed));
        rig.rots = true;
        for _ in 0..400 {
            turn(&mut rig, &mut chance);
            if one_in(&mut chance, 20) {
                rig.disk.rot();
            }
            if one_in(&mut chance, 100) {
                rig.crash();
            }
        }
        rig.audit();
        rig.crash();
        rig.audit();
    }
}

#[test]
fn room_of_removed_chunks_is_given_back() {
    let mut rig = Rig::new(1);
    for round in 0..200u8 {
        rig.put(round % CHUNKS);
        rig.settle();
        rig.remove(round % CHUNKS);
        rig.settle();
    }
    assert!(rig.store.statistics().compacted > 10, "{:?}", rig.store.statistics());
    assert!(rig.disk.files() <= 4, "{} files", rig.disk.files());
    rig.audit();
}

#[test]
fn a_store_whose_chunks_all_live_is_full_and_serves() {
    let mut rig = Rig::new(2);
    rig.disk.room = 3;
    for n in 0..CHUNKS {
        rig.put(n);
        rig.settle();
    }
    assert_eq!(rig.store.standing(), Standing::Full);
    rig.audit();
    // What is removed makes room: compaction finds it.
    for n in 3..CHUNKS - 1 {
        rig.remove(n);
        rig.settle();
    }
    rig.put(3);
    rig.settle();
    rig.put(3);
    rig.settle();
    assert_eq!(rig.store.standing(), Standing::Open);
    rig.audit();
}

#[test]
fn equal_chunks_are_stored_once() {
    let mut rig = Rig::new(3);
    rig.put(5);
    rig.put(5);
    rig.settle();
    rig.put(5);
    rig.settle();
    let statistics = rig.store.statistics();
    assert_eq!((statistics.chunks, statistics.void_bytes, statistics.batches), (1, 0, 1));
}

#[test]
fn a_put_for_more_replicas_writes_a_chunk_anew() {
    let mut rig = Rig::new(4);
    let chunk = content(5).chunk();
    for (asked, found, batches) in
        [(Some(2), 2, 1), (Some(1), 2, 0), (None, 3, 1), (Some(5), 5, 1), (Some(3), 5, 0)]
    {
        // Batches are counted anew after each crash.
        rig.put_for(5, asked);
        rig.settle();
        let statistics = rig.store.statistics();
        assert_eq!((rig.stored_for(&chunk), statistics.batches), (found, batches), "{asked:?}");
        assert_eq!(statistics.chunks, 1);
        rig.crash();
        assert_eq!(rig.stored_for(&chunk), found);
    }
    // Those that are on their way count, too.
    rig.put_for(6, Some(1));
    rig.put_for(6, Some(4));
    rig.put_for(6, Some(3));
    rig.settle();
    assert_eq!(rig.stored_for(&content(6).chunk()), 4);
}

/// The number is in the list at the end of a full segment, and in what compaction copies.
#[test]
fn full_segments_and_copies_keep_the_number() {
    let mut rig = Rig::new(5);
    rig.put_for(1, Some(7));
    rig.put_for(2, Some(1));
    for round in 0..60 {
        rig.put(3 + round % (CHUNKS - 3));
        rig.settle();
        rig.remove(3 + round % (CHUNKS - 3));
        rig.settle();
    }
    assert!(rig.store.statistics().compacted > 3, "{:?}", rig.store.statistics());
    for _ in 0..2 {
        let stored = [1, 2].map(|n| rig.stored_for(&content(n).chunk()));
        assert_eq!(stored, [7, 1]);
        rig.crash();
    }
}

/// As it is after a start with another number.
#[test]
fn a_chunk_without_a_number_of_its_own_follows_the_clusters() {
    let mut rig = Rig::new(6);
    rig.put(1);
    rig.put_for(2, Some(4));
    rig.settle();
    let mut effects = Vec::new();
    rig.store = Store::open(Config { replicas: 5, ..config() }, &mut effects);
    rig.take(effects);
    rig.settle();
    let stored = [1, 2].map(|n| rig.stored_for(&content(n).chunk()));
    assert_eq!(stored, [5, 4]);
}
