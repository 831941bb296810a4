//! The status of a cluster says how many chunks have too few replicas, and never 0 where it does not know.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it has processes, files and sockets"
)]

#[allow(dead_code, reason = "each test file uses its own part")]
mod cluster;

use std::fs;
use std::path::Path;

use cluster::{Cluster, Plan, content, get, loopback_hosts, put};
use serde_json::Value;

/// What a node says of the whole cluster; none if it does not answer.
fn short(cluster: &Cluster, node: usize) -> Value {
    cluster.status(node)["under_replicated_chunks"].clone()
}

fn all_say(cluster: &Cluster, nodes: &[usize], what: &Value) -> bool {
    nodes.iter().all(|node| short(cluster, *node) == *what)
}

/// Whether each content, of one chunk, is on three targets.
fn have_three_replicas(cluster: &Cluster, stored: &[(String, Vec<u8>)]) -> bool {
    stored.iter().all(|(address, _)| {
        let text = cluster.says(0, &["stat", address, "--json"]);
        let chunks: Value = serde_json::from_str(&text).expect("JSON");
        chunks[0]["holders"].as_array().is_some_and(|holders| holders.len() >= 3)
    })
}

/// Takes away all files with chunks; what says whose they are stays.
fn delete_segments(folder: &Path) -> usize {
    let mut deleted = 0;
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("it is there").path();
        if path.is_dir() {
            deleted += delete_segments(&path);
        } else if path.extension().is_some_and(|extension| extension == "seg") {
            fs::remove_file(path).expect("it is there");
            deleted += 1;
        }
    }
    deleted
}

#[test]
fn status_never_says_none_where_it_does_not_know() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = "replicas = 3\ndata_rate = \"2Gbps\"".into();
    let plan = Plan { nodes: 3, targets_per_node: 1, settings, hosts: loopback_hosts(3) };
    let mut cluster = Cluster::new(folder.path(), plan);
    cluster.start_all();
    let stored: Vec<(String, Vec<u8>)> = (0..60)
        .map(|n| {
            let content = content(20_000, n);
            (put(&cluster, n as usize % 3, &content).expect("all nodes are there"), content)
        })
        .collect();
    let none = Value::from(0);
    cluster.wait("all nodes know that nothing is short", || all_say(&cluster, &[0, 1, 2], &none));
    assert!(cluster.metrics(0).contains("\nslotcast_under_replicated_chunks 0\n"));

    cluster.kill(2);
    let away = [0, 1];
    cluster.wait("they miss the node", || all_say(&cluster, &away, &Value::Null));
    assert!(!cluster.metrics(0).contains("\nslotcast_under_replicated_chunks"));
    let text = cluster.says(0, &["status"]);
    assert!(text.contains("cluster: it is not known how many chunks have too few"), "{text}");

    assert!(delete_segments(&folder.path().join("target-002")) > 0, "it had some");
    cluster.start(2);
    // Whoever says that nothing is short says so of all chunks.
    cluster.wait("all nodes know that nothing is short", || {
        let says_none = |node: &usize| short(&cluster, *node) == none;
        let [first, second, third] = [0, 1, 2].map(|node| says_none(&node));
        if first || second || third {
            assert!(have_three_replicas(&cluster, &stored), "{first} {second} {third}");
        }
        first && second && third
    });
    for (address, content) in &stored {
        assert!(get(&cluster, 2, address) == *content, "{address}");
    }
    let text = cluster.says(0, &["status"]);
    assert!(text.contains("cluster: 0 chunks have too few replicas"), "{text}");
}
