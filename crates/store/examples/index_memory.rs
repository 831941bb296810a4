//! What the index of a large target takes: memory for each chunk, and time to make it, to look a chunk up, and to
//! put one. The disk is made up: full segments of 64 MiB, with names from a counter.
//!
//! ```sh
//! cargo run -p slotcast-store --example index_memory -- [CHUNKS] [KIB-A-CHUNK] [OF-THEM-REMOVED]
//! ```
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "it measures wall time")]

use std::collections::VecDeque;
use std::time::Instant;

use bytes::Bytes;
use slotcast_protocol::{ChunkId, Claim};
use slotcast_store::{
    Config, Content, Effect, Identity, Input, Op, OpId, Output, SegmentId, Store, Ticket, Work,
};

const CHUNKS: u64 = 10_000_000;
const LOOKUPS: u64 = 1_000_000;
const PUTS: u64 = 200_000;
const REMOVAL: u32 = 1 << 31;
const IDENTITY: [u8; 32] = [7; 32];

/// The name of a chunk that is there: as evenly spread as hashes, and quicker to make.
fn name(n: u64) -> ChunkId {
    let mut bytes = [0; 32];
    for (word, part) in (0..).zip(bytes.chunks_exact_mut(8)) {
        let mut x = (n * 4 + word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        part.copy_from_slice(&(x ^ (x >> 31)).to_le_bytes());
    }
    ChunkId(bytes)
}

fn check(bytes: &[u8]) -> [u8; 8] {
    *blake3::keyed_hash(&IDENTITY, bytes).as_bytes().first_chunk().expect("a hash is longer")
}

/// Chunks in a full segment.
fn in_segment(length: u32) -> u64 {
    ((64 << 20) - 64) / u64::from(length + 64 + 48)
}

/// The end of a segment, as the store writes it: a list of what is there, and its trailer.
fn footer(segment: SegmentId, (chunks, removed): (u64, u64), length: u32) -> Vec<u8> {
    let first = u64::from(segment.0) * in_segment(length);
    let records = chunks + removed;
    let mut entries = Vec::new();
    for (place, n) in (0u32..).zip(first..records.min(first + in_segment(length))) {
        // The removals are behind all puts, and of a few chunks in each segment: there is nothing to compact.
        let (chunk, what) = match n.checked_sub(chunks) {
            None => (n, length),
            Some(n) => (n * (chunks / removed), REMOVAL),
        };
        entries.extend_from_slice(&name(chunk).0);
        entries.extend_from_slice(&(n + 1).to_le_bytes());
        entries.extend_from_slice(&(place * (length + 64)).to_le_bytes());
        entries.extend_from_slice(&what.to_le_bytes());
    }
    let mut trailer = [0; 64];
    trailer[..4].copy_from_slice(b"SLCF");
    let count = u32::try_from(entries.len() / 48).expect("few");
    trailer[8..12].copy_from_slice(&count.to_le_bytes());
    trailer[16..24].copy_from_slice(&(u64::from(count) * u64::from(length + 64)).to_le_bytes());
    trailer[24..32].copy_from_slice(&check(&entries));
    let all = check(&trailer[..56]);
    trailer[56..].copy_from_slice(&all);
    entries.extend_from_slice(&trailer);
    entries
}

/// A store on the made-up disk.
struct Target {
    store: Store,
    effects: Vec<Effect>,
    operations: VecDeque<(OpId, Op)>,
    work: Option<Work>,
    chunks: u64,
    removed: u64,
    length: u32,
    /// Time that the made-up disk took.
    disk_seconds: f64,
    is_open: bool,
    stored: u64,
}

impl Target {
    fn carry_out(&mut self, op: &Op) -> Output {
        match op {
            Op::List => {
                let records = self.chunks + self.removed;
                let count = records.div_ceil(in_segment(self.length));
                let count = u32::try_from(count).expect("32 bits");
                Output::Segments((0..count).map(SegmentId).collect())
            }
            Op::Read { segment, offset, length } => {
                let footer = footer(*segment, (self.chunks, self.removed), self.length);
                // Nothing is read but ends of segments.
                let end = usize::try_from((64 << 20) - offset).expect("the end of a segment");
                let mut bytes = vec![0; end.saturating_sub(footer.len())];
                bytes.extend_from_slice(&footer[footer.len().saturating_sub(end)..]);
                bytes.truncate(usize::try_from(*length).expect("a short read"));
                Output::Bytes(Bytes::from(bytes))
            }
            _ => Output::Done,
        }
    }

    /// Carries out what the store asks for, until it asks for nothing.
    fn run(&mut self) {
        loop {
            for effect in self.effects.drain(..) {
                match effect {
                    Effect::Disk(id, op) => self.operations.push_back((id, op)),
                    Effect::Work => self.work = self.store.take_work(),
                    Effect::Opened => self.is_open = true,
                    Effect::Stored { .. } => self.stored += 1,
                    other => panic!("{other:?}"),
                }
            }
            if let Some(work) = self.work.take() {
                self.store.handle(Input::Worked(work.run()), &mut self.effects);
                continue;
            }
            let Some((id, op)) = self.operations.pop_front() else { return };
            let start = Instant::now();
            let output = self.carry_out(&op);
            self.disk_seconds += start.elapsed().as_secs_f64();
            self.store.handle(Input::Disk(id, Ok(output)), &mut self.effects);
        }
    }
}

/// Memory of this process in bytes, now and at most.
fn memory() -> [f64; 2] {
    let status = std::fs::read_to_string("/proc/self/status").expect("a Linux");
    ["VmRSS:", "VmHWM:"].map(|line| {
        let found = status.lines().find_map(|l| l.strip_prefix(line)).expect("both are there");
        let kib: f64 = found.trim().trim_end_matches(" kB").parse().expect("a number");
        kib * 1024.0
    })
}

fn main() {
    let argument = |n| std::env::args().nth(n).map(|text| text.parse().expect("a number"));
    let chunks = argument(1).unwrap_or(CHUNKS);
    let length = u32::try_from(argument(2).unwrap_or(1024) << 10).expect("a short chunk");
    let removed = argument(3).unwrap_or(0);
    let [before, _] = memory();
    let start = Instant::now();
    let mut effects = Vec::new();
    let store = Store::open(Config::new(Identity(IDENTITY)), &mut effects);
    let mut target = Target {
        store,
        effects,
        operations: VecDeque::new(),
        work: None,
        chunks,
        removed,
        length,
        disk_seconds: 0.0,
        is_open: false,
        stored: 0,
    };
    target.run();
    assert!(target.is_open && target.store.statistics().chunks == chunks - removed);
    let seconds = start.elapsed().as_secs_f64() - target.disk_seconds;
    let [now, most] = memory().map(|bytes| (bytes - before) / chunks as f64);
    println!("{chunks} chunks in {} segments", target.store.statistics().segments);
    println!("memory: {now:.1} bytes a chunk, {most:.1} while it was opened");
    println!("opening: {seconds:.2} s, {:.0} ns a chunk", seconds * 1e9 / chunks as f64);

    // In the order of no index; half of them are not there.
    let start = Instant::now();
    let held = (0..LOOKUPS).filter(|n| target.store.holds(&name(n * 7919 % (2 * chunks)))).count();
    println!("a lookup: {:.0} ns", start.elapsed().as_secs_f64() * 1e9 / LOOKUPS as f64);
    assert!(held > 0);

    let start = Instant::now();
    let count = target.store.chunks(ChunkId([0; 32])).count();
    println!("a name in order: {:.0} ns", start.elapsed().as_secs_f64() * 1e9 / count as f64);

    let contents: Vec<Content> =
        (0..PUTS).map(|n| Content::of(Bytes::copy_from_slice(&n.to_le_bytes()))).collect();
    let start = Instant::now();
    for (ticket, contents) in (0..).zip(contents.chunks(16)) {
        for content in contents {
            let put = Input::Put(Ticket(ticket), content.clone(), None, Claim::Bare);
            target.store.handle(put, &mut target.effects);
        }
        target.run();
    }
    assert_eq!(target.stored, PUTS);
    println!(
        "a put, without the disk: {:.0} ns",
        start.elapsed().as_secs_f64() * 1e9 / PUTS as f64
    );
}
