//! Targets that come back empty before anybody has missed them, one after another.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it has processes, files and sockets"
)]

#[allow(dead_code, reason = "each test file uses its own part")]
mod cluster;

use std::fs;
use std::process::Command;

use cluster::{Cluster, Plan, content, get, loopback_hosts, put};

/// Whether each content, of one chunk, is on three targets.
fn have_three_replicas(cluster: &Cluster, stored: &[(String, Vec<u8>)]) -> bool {
    stored.iter().all(|(address, _)| {
        let text = cluster.says(3, &["stat", address, "--json"]);
        let chunks: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        chunks[0]["holders"].as_array().is_some_and(|holders| holders.len() >= 3)
    })
}

/// A restart that takes no longer than a moment is seen by the others, which look at once whether what they
/// hold is still held by as many targets as before.
#[test]
fn folders_that_are_emptied_one_after_another_lose_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let (settings, hosts) = ("data_rate = \"2Gbps\"".into(), loopback_hosts(4));
    let plan = Plan { nodes: 4, targets_per_node: 1, settings, hosts };
    let mut cluster = Cluster::new(folder.path(), plan);
    cluster.start_all();
    let stored: Vec<(String, Vec<u8>)> = (0..100)
        .map(|n| {
            let content = content(20_000, n);
            (put(&cluster, n as usize % 4, &content).expect("all nodes are there"), content)
        })
        .collect();
    assert!(have_three_replicas(&cluster, &stored));
    for node in 0..3 {
        cluster.kill(node);
        fs::remove_dir_all(folder.path().join(format!("target-{node:03}"))).expect("it is there");
        // An empty folder alone is not taken for the target's.
        let replaced = Command::new(env!("CARGO_BIN_EXE_slotcast"))
            .args(["target", "replace", "--target", &node.to_string(), "--config"])
            .arg(folder.path().join(format!("node-{node}.toml")))
            .output()
            .expect("it runs");
        assert!(replaced.status.success(), "{replaced:?}");
        cluster.start(node);
        cluster.wait(&format!("node {node} is made up for"), || {
            have_three_replicas(&cluster, &stored)
        });
    }
    for (address, content) in &stored {
        assert!(get(&cluster, 3, address) == *content, "{address}");
    }
}
