//! What the rows of one target do: durable writes one after another and sixteen at a time, gets of random keys, and a
//! scan. Rows have 300 bytes.
//!
//! ```sh
//! cargo run -p slotcast-node --release --example rows_limit -- FOLDER [ROWS]
//! ```
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "it measures wall time")]

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, unbounded};
use slotcast_node::{Rows, RowsResult};
use slotcast_object::{RowsOp, RowsOpId, RowsOutput};

/// How long each rate is measured.
const SPAN: Duration = Duration::from_secs(3);

/// Bytes of a value; a key has 40.
const VALUE: usize = 260;

struct Opened {
    rows: Rows,
    told: Receiver<(RowsOpId, RowsResult)>,
    next: u64,
}

impl Opened {
    fn start(folder: &Path) -> Opened {
        let (tell, told) = unbounded();
        let report = Arc::new(move |id, result| drop(tell.send((id, result))));
        let rows = Rows::start(folder.to_path_buf(), 2, report).expect("threads");
        let mut opened = Opened { rows, told, next: 0 };
        opened.ask(RowsOp::Open);
        opened.next();
        opened
    }

    fn ask(&mut self, op: RowsOp) {
        self.next += 1;
        self.rows.ask(RowsOpId(self.next), op);
    }

    fn next(&self) -> RowsOutput {
        self.told.recv().expect("it answers").1.expect("it works")
    }

    /// Operations in a second, so many of them under way at any time.
    fn rate(&mut self, under_way: u64, mut op: impl FnMut(u64) -> RowsOp) -> f64 {
        let (start, first) = (Instant::now(), self.next);
        let mut op = |opened: &mut Opened| {
            let op = op(opened.next - first);
            opened.ask(op);
        };
        (0..under_way).for_each(|_| op(self));
        let mut done = 0.0;
        while start.elapsed() < SPAN {
            self.next();
            done += 1.0;
            op(self);
        }
        let rate = done / start.elapsed().as_secs_f64();
        (0..under_way).for_each(|_| _ = self.next());
        rate
    }
}

fn mixed(number: u64) -> u64 {
    let mixed = (number ^ (number >> 31)).wrapping_add(1).wrapping_mul(0xd6e8_feb8_6659_fd93);
    mixed ^ (mixed >> 32)
}

/// A key among as many as there are rows: names come in no order.
fn key(number: u64) -> Vec<u8> {
    let name = mixed(number);
    format!("bucket-slot-folder-{:04x}/{name:016x}", name >> 48).into_bytes()
}

/// Content that cannot be compressed.
fn value(number: u64) -> Vec<u8> {
    (0..VALUE as u64 / 4).flat_map(|n| mixed(number << 8 | n).to_le_bytes()[..4].to_vec()).collect()
}

fn write(numbers: std::ops::Range<u64>) -> RowsOp {
    RowsOp::Write(numbers.map(|number| (key(number), Some(value(number)))).collect())
}

/// A line of `/proc/self/status` in MiB.
fn memory(line: &str) -> f64 {
    let status = fs::read_to_string("/proc/self/status").expect("a Linux");
    let found = status.lines().find_map(|found| found.strip_prefix(line)).expect("it is there");
    found
        .split_whitespace()
        .next()
        .and_then(|kb| kb.parse().ok())
        .map_or(0.0, |kb: f64| kb / 1024.0)
}

/// Blocks of all files in a folder, in MiB.
fn room(folder: &Path) -> f64 {
    use std::os::unix::fs::MetadataExt;
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("it is there"));
    let of = |entry: fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => room(&entry.path()),
        Ok(metadata) => metadata.blocks() as f64 / 2048.0,
        Err(_) => 0.0,
    };
    entries.map(of).sum()
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().expect("a folder");
    let folder = Path::new(&folder);
    let count: u64 = arguments.next().map_or(1_000_000, |rows| rows.parse().expect("a number"));
    let mut opened = Opened::start(folder);

    let start = Instant::now();
    let batches = count.div_ceil(1000);
    for batch in 0..batches {
        opened.ask(write(batch * 1000..count.min((batch + 1) * 1000)));
        if batch >= 4 {
            opened.next();
        }
    }
    (0..batches.min(4)).for_each(|_| _ = opened.next());
    let seconds = start.elapsed().as_secs_f64();
    println!("filled with {count} rows, 1000 a write: {:.0} rows/s", count as f64 / seconds);

    for under_way in [1, 16] {
        for size in [1, 10, 100] {
            let rate = opened.rate(under_way, |n| {
                let first = mixed(n) % (count - size);
                write(first..first + size)
            });
            println!("writes of {size:3} rows, {under_way:2} at a time: {rate:7.0} writes/s");
        }
    }
    for under_way in [1, 16] {
        let rate = opened.rate(under_way, |n| RowsOp::Get(key(mixed(n) % count)));
        println!("gets of random keys, {under_way:2} at a time: {rate:.0} gets/s");
    }
    let (start, mut rows, mut from) = (Instant::now(), 0, vec![0]);
    loop {
        opened.ask(RowsOp::Scan { from, before: None, limit: 1000 });
        let RowsOutput::Scanned(found, is_all) = opened.next() else { panic!("not scanned") };
        rows += found.len();
        let Some((last, _)) = found.last().filter(|_| !is_all) else { break };
        from = last.clone();
        from.push(0);
    }
    assert_eq!(rows as u64, count, "rows are missing");
    println!(
        "scan, 1000 rows at a time: {:.0} rows/s",
        rows as f64 / start.elapsed().as_secs_f64()
    );
    println!("memory: {:.0} MiB at most, {:.0} MiB now", memory("VmHWM:"), memory("VmRSS:"));
    println!("on disk: {:.0} MiB", room(folder));
    drop(opened);
    let start = Instant::now();
    drop(Opened::start(folder));
    println!("opened again in {:.2} s", start.elapsed().as_secs_f64());
}
