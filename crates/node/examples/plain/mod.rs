//! What a disk and two cores do without a store: the baselines of the examples beside this.
#![allow(dead_code, reason = "not every example needs all of them")]

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// Bytes per second of writing `total` bytes into a file in `folder`, with an `fdatasync` after each MiB.
pub(crate) fn rate(folder: &Path, total: usize) -> f64 {
    let took: Duration = writes(folder, total, 1 << 20).iter().sum();
    total as f64 / took.as_secs_f64()
}

/// How long each of the writes takes, of `size` bytes each and with an `fdatasync` after it, one at a time.
pub(crate) fn writes(folder: &Path, total: usize, size: usize) -> Vec<Duration> {
    let path = folder.join("plain");
    let mut file = File::create(&path).expect("a file");
    let block = vec![0x5a; size];
    let mut took = Vec::new();
    for _ in 0..total / size {
        let start = Instant::now();
        file.write_all(&block).expect("room");
        file.sync_data().expect("a flush");
        took.push(start.elapsed());
    }
    std::fs::remove_file(path).expect("it was there");
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
    std::fs::remove_file(path).expect("it was there");
    (total * rounds) as f64 / took.as_secs_f64()
}
