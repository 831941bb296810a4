//! A whole cluster in one process: what is put can be fetched, also after a start anew.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "it has a real disk")]

mod nine_targets;

use slotcast_node::Node;
use slotcast_protocol::{ChunkId, Failure};
use slotcast_store::StoreStatus;

use nine_targets::{config, content};

#[test]
fn what_is_put_can_be_fetched_and_is_still_there_after_a_start_anew() {
    let base = tempfile::tempdir().expect("a folder");
    let config = config(base.path());
    let node = Node::start(&config).expect("it starts");
    let puts: Vec<_> = (0..100).map(|n| node.put(content(n))).collect();
    for put in puts {
        assert_eq!(put.blocking_recv().expect("an answer"), Ok(()));
    }
    let stored: u64 = node
        .status()
        .blocking_recv()
        .expect("an answer")
        .iter()
        .map(|target| target.statistics.chunks)
        .sum();
    assert_eq!(stored, 300, "three replicas each");
    assert_eq!(node.get(content(7).chunk()).blocking_recv().expect("an answer"), Ok(content(7)));
    assert_eq!(
        node.get(ChunkId([9; 32])).blocking_recv().expect("an answer"),
        Err(Failure::NotFound)
    );
    drop(node);

    let node = Node::start(&config).expect("it starts again");
    assert!(
        node.status()
            .blocking_recv()
            .expect("an answer")
            .iter()
            .all(|target| target.store == StoreStatus::Open)
    );
    let gets: Vec<_> = (0..100).map(|n| node.get(content(n).chunk())).collect();
    for (n, get) in (0..100).zip(gets) {
        assert_eq!(get.blocking_recv().expect("an answer"), Ok(content(n)));
    }
    // The same content again costs no room.
    assert_eq!(node.put(content(1)).blocking_recv().expect("an answer"), Ok(()));
    let stored: u64 = node
        .status()
        .blocking_recv()
        .expect("an answer")
        .iter()
        .map(|target| target.statistics.chunks)
        .sum();
    assert_eq!(stored, 300);
}
