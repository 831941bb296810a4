//! Puts and gets of a whole cluster in one process, against what the disk under it can do.
//!
//! ```sh
//! cargo run --release -p slotcast-node --example node_limit -- [FOLDER]
//! ```
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "it measures wall time")]

mod plain;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use bytes::Bytes;
use slotcast_node::{GetResult, Limits, Node, NodeConfig, PutResult};
use slotcast_store::Content;
use tokio::sync::oneshot::Receiver;

const TOTAL: usize = 256 << 20;
const AT_A_TIME: usize = 16;

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

fn main() {
    let argument = std::env::args().nth(1);
    let base =
        argument.map_or_else(|| tempfile::tempdir().expect("a folder").keep(), PathBuf::from);
    std::fs::create_dir_all(&base).expect("a folder");
    for size in [1 << 20, 128 << 10, 16 << 10] {
        let limit = plain::rate(&base, TOTAL) / 3.0;
        let folders = (0..9).map(|n| base.join(format!("{size}/target-{n}"))).collect();
        let config = NodeConfig {
            folders,
            group_size: 9,
            replicas: 3,
            segment_size: 64 << 20,
            limits: Limits::default(),
        };
        let node = Node::start(&config).expect("it starts");
        let count = TOTAL / size;
        let (start, used) = (Instant::now(), processor());
        let mut under_way: VecDeque<(Instant, Receiver<PutResult>)> = VecDeque::new();
        let mut names = Vec::new();
        let mut latencies = Vec::new();
        for n in 0..count {
            if under_way.len() == AT_A_TIME {
                let (begun, put) = under_way.pop_front().expect("some are under way");
                put.blocking_recv().expect("an answer").expect("stored");
                latencies.push(begun.elapsed());
            }
            let content = content(n, size);
            names.push(content.chunk());
            under_way.push_back((Instant::now(), node.put(content)));
        }
        for (_, put) in under_way {
            put.blocking_recv().expect("an answer").expect("stored");
        }
        let (took, used) = (start.elapsed(), processor() - used);
        latencies.sort();
        println!(
            "put {:>4} KiB: {:>4.0} MB/s, {:>3.0} % of {:.0}/3 MB/s; processor {:.3} ms a put; p50 {:?} p99 {:?}",
            size >> 10,
            TOTAL as f64 / took.as_secs_f64() / 1e6,
            TOTAL as f64 / took.as_secs_f64() / limit * 100.0,
            limit * 3.0 / 1e6,
            used.as_secs_f64() * 1e3 / count as f64,
            latencies[latencies.len() / 2],
            latencies[latencies.len() * 99 / 100],
        );
        let (start, used) = (Instant::now(), processor());
        let mut under_way = VecDeque::new();
        let mut failed = 0;
        for name in &names {
            if under_way.len() == AT_A_TIME {
                let get: Receiver<GetResult> = under_way.pop_front().expect("some are under way");
                failed += usize::from(get.blocking_recv().expect("an answer").is_err());
            }
            under_way.push_back(node.get(*name));
        }
        for get in under_way {
            failed += usize::from(get.blocking_recv().expect("an answer").is_err());
        }
        let (took, used) = (start.elapsed(), processor() - used);
        println!(
            "get {:>4} KiB: {:>4.0} MB/s; processor {:.3} ms a get; {failed} failed",
            size >> 10,
            TOTAL as f64 / took.as_secs_f64() / 1e6,
            used.as_secs_f64() * 1e3 / count as f64,
        );
        drop(node);
        std::fs::remove_dir_all(base.join(size.to_string())).expect("it was there");
    }
}
