//! The scan after a start: it reads what lacks replicas, and nothing else.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "it has a real disk")]

mod nine_targets;

use std::time::{Duration, Instant};

use slotcast_node::{Node, TargetStatus};
use slotcast_units::Span;

use nine_targets::{config, content};

const CHUNKS: u32 = 60;

fn status(node: &Node) -> Vec<TargetStatus> {
    node.status().blocking_recv().expect("an answer")
}

fn sum(status: &[TargetStatus], of: impl Fn(&TargetStatus) -> u64) -> u64 {
    status.iter().map(of).sum()
}

/// Waits until every target has scanned its chunks.
fn scanned(node: &Node) -> Vec<TargetStatus> {
    let patience = Instant::now() + Duration::from_secs(120);
    loop {
        let status = status(node);
        if status.iter().all(|target| target.repair.scans > 0 && target.scan.is_none()) {
            return status;
        }
        assert!(Instant::now() < patience, "{status:#?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_scan_reads_only_what_lacks_replicas() {
    let base = tempfile::tempdir().expect("a folder");
    let config = config(base.path());
    let node = Node::start(&config).expect("it starts");
    let puts: Vec<_> = (0..CHUNKS).map(|n| node.put(content(n))).collect();
    for put in puts {
        assert_eq!(put.blocking_recv().expect("an answer"), Ok(()));
    }
    drop(node);

    let node = Node::start(&config).expect("it starts again");
    let found = scanned(&node);
    assert!(sum(&found, |target| target.repair.visited) >= u64::from(CHUNKS) * 3);
    assert_eq!(sum(&found, |target| target.repair.healed), 0);
    assert!(found.iter().all(|target| target.load.disk_busy == Span::ZERO), "{found:#?}");
    let lost = found[3].statistics.chunks;
    assert!(lost > 0);
    drop(node);

    std::fs::remove_dir_all(&config.folders[3]).expect("it goes");
    let node = Node::start(&config).expect("it starts with an empty folder");
    let found = scanned(&node);
    // Two holders that ask at the same moment may both put.
    assert!(sum(&found, |target| target.statistics.chunks) >= u64::from(CHUNKS) * 3);
    assert!(sum(&found, |target| target.repair.healed) >= lost);
    assert_eq!(sum(&found, |target| target.repair.under_replicated), 0);
    for n in 0..CHUNKS {
        let got = node.get(content(n).chunk()).blocking_recv().expect("an answer");
        assert_eq!(got, Ok(content(n)));
    }
}
