//! Puts and gets of a whole cluster in one process, against what the disk under it can do.
//!
//! ```sh
//! cargo run --release -p slotcast-node --example node_limit -- [FOLDER]
//! ```
//!
//! Gets are measured twice: from the page cache, and from the memory of the node for what was read of late.
//!
//! The limit of puts is one thread that writes a MiB and flushes it, again and again, divided by the
//! replicas; that of gets is two threads that read and hash, and do nothing else.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "it measures wall time")]

mod plain;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bytes::Bytes;
use slotcast_node::{GetResult, Limits, Node, NodeConfig, PutResult};
use slotcast_protocol::ChunkId;
use slotcast_store::Content;
use slotcast_units::Size;
use tokio::sync::oneshot::Receiver;

const TOTAL: usize = 256 << 20;
const AT_A_TIME: usize = 16;
const REPLICAS: usize = 3;
/// Of the full load, one of these.
const PARTS: [u32; 3] = [2, 4, 8];
/// How often puts and plain writes take turns.
const TURNS: usize = 6;
/// How often everything is read.
const ROUNDS: usize = 8;

/// Processor time of this process so far.
fn processor() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux");
    let fields: Vec<i64> = stat
        .rsplit(") ")
        .next()
        .expect("fields")
        .split(' ')
        .filter_map(|field| field.parse().ok())
        .collect();
    // utime and stime are the 14th and 15th; the name and the state are not counted here.
    Duration::from_millis(u64::try_from(fields[10] + fields[11]).expect("time passes") * 10)
}

fn content(n: usize, size: usize) -> Content {
    let mut bytes = vec![0x5a; size];
    bytes[..8].copy_from_slice(&(n as u64 + ((size as u64) << 32)).to_le_bytes());
    Content::of(Bytes::from(bytes))
}

/// The value below which `percent` of `sorted` are.
fn quantile(sorted: &[Duration], percent: usize) -> Duration {
    sorted[(sorted.len() * percent / 100).min(sorted.len() - 1)]
}

/// Waits for the first put that is under way; says how long it took.
fn finish(under_way: &mut VecDeque<(Instant, Receiver<PutResult>)>) -> Duration {
    let (begun, put) = under_way.pop_front().expect("some are under way");
    put.blocking_recv().expect("an answer").expect("stored");
    begun.elapsed()
}

/// Puts, `AT_A_TIME` at a time: their names, and the bytes per second.
fn puts(node: &Node, size: usize, limit: f64) -> (Vec<ChunkId>, f64) {
    let count = TOTAL / size;
    let (start, used) = (Instant::now(), processor());
    let mut under_way = VecDeque::new();
    let (mut names, mut latencies) = (Vec::new(), Vec::new());
    for n in 0..count {
        if under_way.len() == AT_A_TIME {
            latencies.push(finish(&mut under_way));
        }
        let content = content(n, size);
        names.push(content.chunk());
        under_way.push_back((Instant::now(), node.put(content)));
    }
    while !under_way.is_empty() {
        latencies.push(finish(&mut under_way));
    }
    let (took, used) = (start.elapsed(), processor() - used);
    latencies.sort();
    let rate = TOTAL as f64 / took.as_secs_f64();
    println!(
        "put {:>4} KiB: {:>4.0} MB/s, {:>3.0} % of {:.0}/3 MB/s; processor {:.3} ms a put; p50 {:?} p99 {:?}",
        size >> 10,
        rate / 1e6,
        rate / limit * 300.0,
        limit / 1e6,
        used.as_secs_f64() * 1e3 / count as f64,
        quantile(&latencies, 50),
        quantile(&latencies, 99),
    );
    (names, rate)
}

/// Puts at one `part` of `rate`, one after another at equal distances, whether those before are done or not; single durable
/// writes one after another; and as many at once as a put has replicas, at the same times as the puts. In turns,
/// since the disk of a shared machine stands still now and then, for one as for the other.
fn puts_at(base: &Path, node: &Node, size: usize, rate: f64, part: u32) {
    let distance = Duration::from_secs_f64(f64::from(part) * size as f64 / rate);
    let (mut alone, mut at_once, mut latencies) = (Vec::new(), Vec::new(), Vec::new());
    for turn in 1..=TURNS {
        let count = TOTAL / size;
        alone.extend(plain::writes(base, count, size));
        let plain = || plain::writes_at_once(base, count, size, REPLICAS, distance);
        at_once.extend(plain::on_time(plain));
        latencies.extend(plain::on_time(|| {
            paced_puts(node, size, distance, (turn << 28) + ((part as usize) << 24))
        }));
    }
    for sample in [&mut alone, &mut at_once, &mut latencies] {
        sample.sort();
    }
    let p99 = quantile(&latencies, 99);
    let times = |own: Duration| p99.as_secs_f64() / own.as_secs_f64();
    let (one, three) = (quantile(&alone, 99), quantile(&at_once, 99));
    println!(
        "put {:>4} KiB, 1/{part} of that: p50 {:?} p99 {p99:?}, {:.1} times the {one:?} of one durable write, \
         {:.1} times the {three:?} of {REPLICAS} at once at the same times (p50 {:?})",
        size >> 10,
        quantile(&latencies, 50),
        times(one),
        times(three),
        quantile(&at_once, 50),
    );
}

/// Puts at this `distance`: how long each took.
fn paced_puts(node: &Node, size: usize, distance: Duration, first: usize) -> Vec<Duration> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build();
    let runtime = runtime.expect("a thread");
    let contents: Vec<Content> = (0..TOTAL / size).map(|n| content(n + first, size)).collect();
    let mut waiting = Vec::new();
    let start = Instant::now();
    for (n, content) in (0..).zip(contents) {
        let due = start + distance * n;
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        // From when it was due: what comes late because the machine is busy has waited, too.
        let put = node.put(content);
        waiting.push(runtime.spawn(async move {
            put.await.expect("an answer").expect("stored");
            due.elapsed()
        }));
    }
    waiting.into_iter().map(|put| runtime.block_on(put).expect("it is stored")).collect()
}

/// Gets of all `names`, `AT_A_TIME` at a time, some rounds, with everything in the page cache; or in the memory of the node,
/// if it has some.
fn gets(base: &Path, node: &Node, size: usize, names: &[ChunkId], from: &str) {
    let limit = plain::hashed_reads(base, TOTAL, size, ROUNDS);
    plain::warm(&base.join(size.to_string()));
    let (start, used) = (Instant::now(), processor());
    let mut under_way: VecDeque<Receiver<GetResult>> = VecDeque::new();
    let mut failed = 0;
    let mut finish = |get: Receiver<GetResult>| {
        failed += usize::from(get.blocking_recv().expect("an answer").is_err());
    };
    for name in names.iter().cycle().take(names.len() * ROUNDS) {
        if under_way.len() == AT_A_TIME {
            finish(under_way.pop_front().expect("some are under way"));
        }
        under_way.push_back(node.get(*name));
    }
    under_way.into_iter().for_each(&mut finish);
    let (took, used) = (start.elapsed(), processor() - used);
    let rate = (TOTAL * ROUNDS) as f64 / took.as_secs_f64();
    println!(
        "get {:>4} KiB from {from}: {:>4.0} MB/s, {:>3.0} % of {:.0} MB/s; processor {:.3} ms a get; {failed} failed",
        size >> 10,
        rate / 1e6,
        rate / limit * 100.0,
        limit / 1e6,
        used.as_secs_f64() * 1e3 / (names.len() * ROUNDS) as f64,
    );
}

fn main() {
    let argument = std::env::args().nth(1);
    let base =
        argument.map_or_else(|| tempfile::tempdir().expect("a folder").keep(), PathBuf::from);
    let base = base.join("node-limit");
    std::fs::create_dir_all(&base).expect("a folder");
    for size in [1 << 20, 128 << 10, 16 << 10] {
        let limit = plain::rate(&base, TOTAL);
        let folders = (0..9).map(|n| base.join(format!("{size}/target-{n}"))).collect();
        let config = NodeConfig {
            register: None,
            folders,
            group_size: 9,
            replicas: REPLICAS as u8,
            segment_size: 64 << 20,
            limits: Limits { cache_memory: Some(Size::ZERO), ..Limits::default() },
        };
        let node = Node::start(&config).expect("it starts");
        let (names, rate) = puts(&node, size, limit);
        if size == 128 << 10 {
            for part in PARTS {
                puts_at(&base, &node, size, rate, part);
            }
        }
        gets(&base, &node, size, &names, "the page cache");
        drop(node);
        // With memory for all of it, into which it is read once.
        let cache_memory = Some(Size::from_bytes(4 * TOTAL as u64));
        let limits = Limits { cache_memory, ..Limits::default() };
        let node = Node::start(&NodeConfig { limits, ..config }).expect("it starts");
        for name in names.iter().chain(&names) {
            node.get(*name).blocking_recv().expect("an answer").expect("it is there");
        }
        gets(&base, &node, size, &names, "memory");
        drop(node);
    }
    std::fs::remove_dir_all(base).expect("it was there");
}
