//! A thread for each file, which makes one system call after another.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::ReadWriteFlags;

use crate::{Block, SEGMENT, Work};

/// As the store does: a write, then `fdatasync`.
pub fn write_and_flush(files: &[File], work: &Work) -> io::Result<Vec<Duration>> {
    in_threads(files, work, |file, bytes, offset| {
        file.write_all_at(bytes, offset)?;
        file.sync_data()
    })
}

/// One call that returns when the bytes are on stable storage.
pub fn write_durably(files: &[File], work: &Work) -> io::Result<Vec<Duration>> {
    in_threads(files, work, |file, bytes, offset| {
        let parts = [io::IoSlice::new(bytes)];
        let written = rustix::io::pwritev2(file, &parts, offset, ReadWriteFlags::DSYNC)?;
        if written == bytes.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
    })
}

fn in_threads(
    files: &[File],
    work: &Work,
    write: fn(&File, &[u8], u64) -> io::Result<()>,
) -> io::Result<Vec<Duration>> {
    let begun = Instant::now();
    let one = |n: usize| {
        let block = Block::new(work.size);
        let mut took = Vec::new();
        for i in 0..work.count {
            let due = work.due(begun, n, i);
            thread::sleep(due.saturating_duration_since(Instant::now()));
            let start = Instant::now();
            write(&files[n], block.bytes(), i * work.size as u64 % SEGMENT)?;
            took.push(start.elapsed());
        }
        Ok(took)
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..files.len()).map(|n| scope.spawn(move || one(n))).collect();
        let took: io::Result<Vec<_>> =
            threads.into_iter().map(|thread| thread.join().expect("it ends")).collect();
        Ok(took?.concat())
    })
}
