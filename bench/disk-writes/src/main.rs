//! How a target should write: every way makes the same durable writes to nine files, as nine targets do that
//! share a disk, first as fast as it goes and then at half the rate that system calls in threads reach.
//!
//! ```sh
//! cargo run --release -- FOLDER        # a folder on the disk in question, with 2 GiB of room
//! ```

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "it measures wall time")]

mod ring;
mod threads;

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{FallocateFlags, OFlags, fallocate};

/// Files, each with one write under way.
const FILES: usize = 9;
/// Length of a file: when it is full, writing begins anew, in another one.
const SEGMENT: u64 = 64 << 20;
/// Bytes written to all files in a run.
const TOTAL: u64 = 512 << 20;

/// Writes of one size, one after another to each file.
#[derive(Clone, Copy)]
pub struct Work {
    size: usize,
    /// Writes to each file.
    count: u64,
    /// From one write of a file to the next; none for as fast as it goes.
    distance: Option<Duration>,
}

impl Work {
    /// When write `n` of file `file` is due: the files take turns.
    fn due(&self, begun: Instant, file: usize, n: u64) -> Instant {
        let Some(distance) = self.distance else { return begun };
        begun + distance * u32::try_from(n).expect("few") + distance * file as u32 / FILES as u32
    }
}

/// What there is of a file before the first write.
#[derive(Clone, Copy, PartialEq)]
enum Room {
    /// Reserved, as a segment is, and written through the page cache.
    Cached,
    /// Reserved, and written around it.
    Direct,
    /// Zeros, so that a write changes nothing that the file system keeps about the file.
    Zeros,
}

/// A file with its room reserved.
fn segment(folder: &Path, n: usize, room: Room) -> io::Result<File> {
    let path = folder.join(format!("segment-{n}"));
    let flags = if room == Room::Cached { 0 } else { OFlags::DIRECT.bits() as i32 };
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .custom_flags(flags)
        .open(path)?;
    fallocate(&file, FallocateFlags::empty(), 0, SEGMENT)?;
    if room == Room::Zeros {
        let zeros = Block::of(0, 1 << 20);
        for place in (0..SEGMENT).step_by(1 << 20) {
            file.write_all_at(zeros.bytes(), place)?;
        }
    }
    file.sync_all()?;
    Ok(file)
}

/// What is written: aligned, so that it can go around the page cache.
pub struct Block(Vec<u8>, usize, usize);

impl Block {
    fn new(size: usize) -> Block {
        Block::of(0x5a, size)
    }

    fn of(byte: u8, size: usize) -> Block {
        let bytes = vec![byte; size + 4096];
        let skip = bytes.as_ptr().align_offset(4096);
        Block(bytes, skip, size)
    }

    fn bytes(&self) -> &[u8] {
        &self.0[self.1..self.1 + self.2]
    }
}

/// Processor time of this process and of the kernel for it.
fn processor() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux");
    let fields: Vec<i64> = stat
        .rsplit(") ")
        .next()
        .expect("fields")
        .split(' ')
        .filter_map(|field| field.parse().ok())
        .collect();
    // utime and stime, in hundredths of a second.
    Duration::from_millis(u64::try_from(fields[10] + fields[11]).expect("time passes") * 10)
}

fn quantile(sorted: &[Duration], per_mille: usize) -> Duration {
    sorted[(sorted.len() * per_mille / 1000).min(sorted.len() - 1)]
}

type Way = fn(&[File], &Work) -> io::Result<Vec<Duration>>;

const WAYS: [(&str, Room, Way); 7] = [
    ("threads, page cache", Room::Cached, threads::write_and_flush),
    ("threads, direct", Room::Direct, threads::write_and_flush),
    ("threads, direct, over zeros", Room::Zeros, threads::write_and_flush),
    ("threads, direct, O_DSYNC", Room::Direct, threads::write_durably),
    ("io_uring, page cache", Room::Cached, ring::write_and_flush),
    ("io_uring, direct", Room::Direct, ring::write_and_flush),
    ("io_uring, direct, over zeros", Room::Zeros, ring::write_and_flush),
];

/// Runs one way; says how many bytes per second it wrote.
fn run(folder: &Path, name: &str, room: Room, way: Way, work: &Work) -> io::Result<f64> {
    let files = (0..FILES).map(|n| segment(folder, n, room)).collect::<io::Result<Vec<_>>>()?;
    let (begun, used) = (Instant::now(), processor());
    let mut took = way(&files, work)?;
    let (elapsed, used) = (begun.elapsed(), processor() - used);
    took.sort();
    let rate = (took.len() * work.size) as f64 / elapsed.as_secs_f64();
    println!(
        "| {name} | {} | {:.0} MB/s | {:.3} ms | {:.2} ms | {:.2} ms | {:.2} ms |",
        if work.distance.is_some() { "half" } else { "full" },
        rate / 1e6,
        used.as_secs_f64() * 1e3 / took.len() as f64,
        quantile(&took, 500).as_secs_f64() * 1e3,
        quantile(&took, 990).as_secs_f64() * 1e3,
        quantile(&took, 999).as_secs_f64() * 1e3,
    );
    Ok(rate)
}

fn main() -> io::Result<()> {
    let folder = std::env::args().nth(1).expect("the folder to write in");
    let folder = Path::new(&folder);
    std::fs::create_dir_all(folder)?;
    for size in [16 << 10, 128 << 10, 1 << 20] {
        println!("\n{} KiB, durable, to {FILES} files\n", size >> 10);
        println!("| way | load | rate | processor | p50 | p99 | p99.9 |");
        println!("|---|---|---:|---:|---:|---:|---:|");
        let total = if size < 128 << 10 { TOTAL / 4 } else { TOTAL };
        let work = Work { size, count: total / (size * FILES) as u64, distance: None };
        let mut half = None;
        for (name, room, way) in WAYS {
            let rate = run(folder, name, room, way, &work)?;
            let distance = *half
                .get_or_insert_with(|| Duration::from_secs_f64(2.0 * (size * FILES) as f64 / rate));
            run(folder, name, room, way, &Work { distance: Some(distance), ..work })?;
        }
    }
    for n in 0..FILES {
        std::fs::remove_file(folder.join(format!("segment-{n}")))?;
    }
    Ok(())
}
