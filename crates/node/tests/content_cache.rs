//! What was written or read of late is answered from memory, and only for chunks that a target holds.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "it has a real disk")]

mod nine_targets;

use std::fs::OpenOptions;
use std::path::Path;

use slotcast_node::{CacheStatistics, Limits, Node, NodeConfig};
use slotcast_units::Size;

use nine_targets::{config, content};

const CHUNKS: u32 = 50;

fn start(base: &Path, cache_memory: Option<Size>) -> Node {
    let config = config(base);
    let limits = Limits { cache_memory, ..config.limits };
    Node::start(&NodeConfig { limits, ..config }).expect("it starts")
}

fn cache(node: &Node) -> CacheStatistics {
    node.cache().blocking_recv().expect("an answer")
}

/// Gets all of them, one after another, and says how many were in memory and how many were not.
fn get_all(node: &Node) -> (u64, u64) {
    let before = cache(node);
    for n in 0..CHUNKS {
        let got = node.get(content(n).chunk()).blocking_recv().expect("an answer");
        let got = got.expect("it is there");
        assert_eq!(got.bytes(), content(n).bytes());
    }
    let after = cache(node);
    (after.hits - before.hits, after.misses - before.misses)
}

fn put_all(node: &Node) {
    let puts: Vec<_> = (0..CHUNKS).map(|n| node.put(content(n))).collect();
    for put in puts {
        assert_eq!(put.blocking_recv().expect("an answer"), Ok(()));
    }
}

#[test]
fn what_was_written_or_read_is_in_memory_and_nothing_is_if_nothing_may_be() {
    let base = tempfile::tempdir().expect("a folder");
    let all = u64::from(CHUNKS);
    let node = start(base.path(), None);
    put_all(&node);
    assert_eq!(get_all(&node), (all, 0), "just written");
    let bytes: u64 = (0..CHUNKS).map(|n| content(n).bytes().len() as u64).sum();
    assert!(cache(&node).bytes >= bytes && cache(&node).bytes < 2 * bytes, "once for all targets");
    drop(node);

    let node = start(base.path(), None);
    assert_eq!(get_all(&node), (0, all), "after a start everything is read");
    let (hits, misses) = get_all(&node);
    assert_eq!(hits + misses, all);
    assert_eq!(misses, 0, "and then it is in memory");
    drop(node);

    let node = start(base.path(), Some(Size::ZERO));
    get_all(&node);
    assert_eq!(get_all(&node), (0, 0));
    assert_eq!(cache(&node), CacheStatistics::default());
}

#[test]
fn memory_says_nothing_of_what_is_stored() {
    let base = tempfile::tempdir().expect("a folder");
    let config = config(base.path());
    let node = start(base.path(), None);
    put_all(&node);
    drop(node);
    // The same node, whose disks have lost everything: what is in memory by a put that follows is written, and what
    // no target holds is not there.
    for folder in &config.folders {
        let segments = std::fs::read_dir(folder.join("segments")).expect("a folder");
        for segment in segments.flatten() {
            let file = OpenOptions::new().write(true).open(segment.path()).expect("a segment");
            file.set_len(0).expect("it is cut");
        }
    }
    let node = start(base.path(), None);
    for n in 0..CHUNKS {
        assert!(node.get(content(n).chunk()).blocking_recv().expect("an answer").is_err());
    }
    put_all(&node);
    assert_eq!(get_all(&node), (u64::from(CHUNKS), 0));
}
