//! What a disk and two cores do without a store: the baselines of the examples beside this.
#![allow(dead_code, reason = "not every example needs all of them")]

use std::fs::File;
use std::io::Write;
use std::num::NonZeroU64;
use std::os::unix::fs::FileExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use rustix::fs::{FallocateFlags, OFlags, fallocate};

/// Bytes per second of writing `total` bytes into a file in `folder`, with an `fdatasync` after each MiB: the best of
/// three times, since the first ones may wait for memory.
pub(crate) fn rate(folder: &Path, total: usize) -> f64 {
    (0..3).map(|_| rate_once(folder, total)).fold(0.0, f64::max)
}

fn rate_once(folder: &Path, total: usize) -> f64 {
    const MIB: usize = 1 << 20;
    let path = folder.join("plain");
    let mut file = File::create(&path).expect("a file");
    let block = vec![0x5a; MIB];
    let start = Instant::now();
    for _ in 0..total / MIB {
        file.write_all(&block).expect("room");
        file.sync_data().expect("a flush");
    }
    let took = start.elapsed();
    remove(&path);
    total as f64 / took.as_secs_f64()
}

/// Removes a file. The file system may tell the disk what is free now (`discard`): that is over, too, before
/// anything else is measured.
fn remove(path: &Path) {
    std::fs::remove_file(path).expect("it was there");
    rustix::fs::sync();
}

/// Runs `load` in a thread that sleeps as exactly as the kernel can: of itself it adds 50 µs (prctl(2),
/// `PR_SET_TIMERSLACK`), which would count as time that a request takes.
pub(crate) fn on_time<T: Send>(load: impl FnOnce() -> T + Send) -> T {
    let exactly = || {
        rustix::thread::set_current_timer_slack(NonZeroU64::new(1)).expect("Linux");
        load()
    };
    std::thread::scope(|scope| scope.spawn(exactly).join().expect("it ends"))
}

/// A file written as a target writes a segment: its room is reserved, and its writes go around the page cache.
struct Segment {
    file: File,
    path: PathBuf,
    memory: Vec<u8>,
    size: usize,
    end: u64,
}

impl Segment {
    /// One with room for `count` writes of `size` bytes, a multiple of 4096.
    fn new(path: PathBuf, count: usize, size: usize) -> Segment {
        let flags = OFlags::DIRECT.bits().cast_signed();
        let mut options = File::options();
        let file = options.write(true).create_new(true).custom_flags(flags).open(&path);
        let file = file.expect("a file system with writes around the page cache");
        fallocate(&file, FallocateFlags::empty(), 0, (count * size) as u64).expect("room");
        file.sync_all().expect("a flush");
        Segment { file, path, memory: vec![0x5a; size + 4096], size, end: 0 }
    }

    /// Writes, and flushes.
    fn append(&mut self) {
        let skip = self.memory.as_ptr().align_offset(4096);
        let block = &self.memory[skip..skip + self.size];
        self.file.write_all_at(block, self.end).expect("room");
        self.file.sync_data().expect("a flush");
        self.end += self.size as u64;
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

/// How long each of `count` durable writes of `size` bytes takes, one after another.
pub(crate) fn writes(folder: &Path, count: usize, size: usize) -> Vec<Duration> {
    let mut segment = Segment::new(folder.join("plain"), count, size);
    let timed = |_| {
        let start = Instant::now();
        segment.append();
        start.elapsed()
    };
    (0..count).map(timed).collect()
}

/// The same, `at_once` of them at this `distance`, on nine files in turn: how long it takes from when they are
/// due until the last of them is done. What a put does, without anything else.
pub(crate) fn writes_at_once(
    folder: &Path,
    count: usize,
    size: usize,
    at_once: usize,
    distance: Duration,
) -> Vec<Duration> {
    const FILES: usize = 9;
    let (told, ended) = channel();
    let mut took = vec![Duration::ZERO; count];
    std::thread::scope(|scope| {
        let room = count * at_once / FILES + 1;
        let start_file = |n: usize| {
            let mut segment = Segment::new(folder.join(format!("plain-{n}")), room, size);
            let (due, to_write) = channel::<(usize, Instant)>();
            let told = told.clone();
            scope.spawn(move || {
                for (n, due) in to_write {
                    segment.append();
                    told.send((n, due.elapsed())).expect("somebody listens");
                }
            });
            due
        };
        let files: Vec<_> = (0..FILES).map(start_file).collect();
        let begun = Instant::now();
        let mut file = 0;
        for n in 0..count {
            let due = begun + distance * n as u32;
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            for _ in 0..at_once {
                files[file % FILES].send((n, due)).expect("its thread lives");
                file += 1;
            }
        }
    });
    for (n, one) in ended.try_iter() {
        took[n] = took[n].max(one);
    }
    took
}

/// Reads all files in the folders in `folder` once, so that they are in memory.
pub(crate) fn warm(folder: &Path) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("a folder").path();
        if path.is_dir() {
            warm(&path);
        } else {
            let mut file = File::open(path).expect("it is there");
            std::io::copy(&mut file, &mut std::io::sink()).expect("it can be read");
        }
    }
}

/// Bytes per second of reading and hashing a file of `total` bytes that is in memory, `rounds` times in all,
/// in pieces of `size` by two threads: what gets can reach on two cores.
pub(crate) fn hashed_reads(folder: &Path, total: usize, size: usize, rounds: usize) -> f64 {
    let path = folder.join("plain");
    std::fs::write(&path, vec![0x5a; total]).expect("room");
    let file = File::open(&path).expect("it is there");
    let read = |first: usize| {
        let mut buffer = vec![0; size];
        for n in 0..total * rounds / size / 2 {
            let place = (first + 2 * n) * size % total;
            file.read_exact_at(&mut buffer, place as u64).expect("it is there");
            std::hint::black_box(blake3::hash(&buffer));
        }
    };
    let start = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| read(0));
        read(1);
    });
    let took = start.elapsed();
    remove(&path);
    (total * rounds) as f64 / took.as_secs_f64()
}
