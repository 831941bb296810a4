//! How long a node takes to open targets with many chunks: a first run makes the folders, with ends of full segments
//! as a store writes them, and content that is not there.
//!
//! ```sh
//! cargo run -p slotcast-node --release --example opening_limit -- FOLDER [TARGETS] [CHUNKS] [KIB-A-CHUNK]
//! ```
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "it measures wall time")]

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use slotcast_node::{Folder, Limits, Node, NodeConfig};
use slotcast_store::Identity;

const SEGMENT: u64 = 64 << 20;

fn check(identity: &Identity, bytes: &[u8]) -> [u8; 8] {
    *blake3::keyed_hash(&identity.0, bytes).as_bytes().first_chunk().expect("a hash is longer")
}

/// The end of a segment with chunks of these numbers.
fn footer(identity: &Identity, chunks: std::ops::Range<u64>, length: u32) -> Vec<u8> {
    let extent = length + 64;
    let count = u32::try_from(chunks.end - chunks.start).expect("few");
    let mut bytes = Vec::new();
    for (place, n) in (0u32..).zip(chunks) {
        bytes.extend_from_slice(blake3::hash(&n.to_le_bytes()).as_bytes());
        bytes.extend_from_slice(&(n + 1).to_le_bytes());
        bytes.extend_from_slice(&(place * extent).to_le_bytes());
        bytes.extend_from_slice(&length.to_le_bytes());
    }
    let mut trailer = [0; 64];
    trailer[..4].copy_from_slice(b"SLCF");
    trailer[8..12].copy_from_slice(&count.to_le_bytes());
    trailer[16..24].copy_from_slice(&(u64::from(count) * u64::from(extent)).to_le_bytes());
    trailer[24..32].copy_from_slice(&check(identity, &bytes));
    let all = check(identity, &trailer[..56]);
    trailer[56..].copy_from_slice(&all);
    bytes.extend_from_slice(&trailer);
    bytes
}

fn make(path: &Path, chunks: u64, length: u32) {
    let identity = Folder::open(path, SEGMENT).expect("a folder").config().identity;
    let in_segment = (SEGMENT - 64) / u64::from(length + 64 + 48);
    for segment in 0..chunks.div_ceil(in_segment) {
        let first = segment * in_segment;
        let footer = footer(&identity, first..chunks.min(first + in_segment), length);
        let file = File::create(path.join("segments").join(format!("{segment:010}.seg")));
        let file = file.expect("a file");
        file.write_all_at(&footer, SEGMENT - footer.len() as u64).expect("room");
    }
}

/// Memory of this process in MiB, at most; and its processor time in seconds.
fn usage() -> (f64, f64) {
    let status = fs::read_to_string("/proc/self/status").expect("a Linux");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("it is there");
    let kib: f64 = peak.trim().trim_end_matches(" kB").parse().expect("a number");
    let stat = fs::read_to_string("/proc/self/stat").expect("a Linux");
    let ticks = |n: usize| -> f64 { stat.split(' ').nth(n).expect("a field").parse().expect("it") };
    (kib / 1024.0, (ticks(13) + ticks(14)) / 100.0)
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let base = PathBuf::from(arguments.next().expect("a folder"));
    let mut number =
        |default: u64| arguments.next().map_or(default, |text| text.parse().expect("a number"));
    let (targets, chunks, kib) = (number(1), number(10_000_000), number(1024));
    let folders: Vec<_> = (0..targets).map(|n| base.join(format!("target-{n}"))).collect();
    let length = u32::try_from(kib << 10).expect("a short chunk");
    for folder in folders.iter().filter(|folder| !folder.exists()) {
        make(folder, chunks, length);
    }
    let config = NodeConfig {
        folders,
        register: None,
        group_size: u32::try_from(targets).expect("few"),
        replicas: 1,
        segment_size: SEGMENT,
        limits: Limits::default(),
    };
    let ((_, before), start) = (usage(), Instant::now());
    let node = Node::start(&config).expect("it starts");
    let seconds = start.elapsed().as_secs_f64();
    let (peak, after) = usage();
    let status = node.status().blocking_recv().expect("an answer");
    let held: u64 = status.iter().map(|target| target.statistics.chunks).sum();
    println!(
        "{targets} targets, {held} chunks: {seconds:.2} s, {:.2} s of processors",
        after - before
    );
    println!("memory at most: {peak:.0} MiB, {:.1} bytes a chunk", peak * 1048576.0 / held as f64);
}
