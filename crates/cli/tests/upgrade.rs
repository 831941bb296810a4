//! A cluster is upgraded node by node, from the last commit that spoke version 2 of datagrams alone.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it has processes, files and sockets"
)]

#[allow(dead_code, reason = "each test file uses its own part")]
mod cluster;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cluster::{Cluster, Plan, content, get, loopback_hosts, put};

/// The last commit whose nodes do not say which versions they speak.
const OLDER: &str = "99a21c1";

fn runs(command: &mut Command) {
    let status = command.status().expect("it runs");
    assert!(status.success(), "{command:?}: {status}");
}

/// Builds the program of that commit in a folder under `target`, or finds it there.
fn older_program() -> PathBuf {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let base = repository.join("target/upgrade");
    let source = base.join(OLDER);
    if !source.join("Cargo.toml").exists() {
        fs::create_dir_all(&source).expect("room");
        let mut archive = Command::new("git")
            .args(["archive", OLDER])
            .current_dir(&repository)
            .stdout(Stdio::piped())
            .spawn()
            .expect("git is there");
        let files = archive.stdout.take().expect("a pipe");
        runs(Command::new("tar").arg("-x").current_dir(&source).stdin(files));
        assert!(archive.wait().expect("it ends").success(), "the history has {OLDER}");
    }
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--locked", "-p", "slotcast", "--target-dir", "../build"]);
    runs(build.current_dir(&source));
    base.join("build/debug/slotcast").canonicalize().expect("it was built")
}

/// Puts a file through every node, and reads it and those before it through all.
fn traffic(cluster: &Cluster, nodes: usize, stored: &mut Vec<(String, Vec<u8>)>) {
    for node in 0..nodes {
        let bytes = content(900_000, u32::try_from(stored.len()).expect("few"));
        stored.push((put(cluster, node, &bytes).expect("it is stored"), bytes));
    }
    for (address, bytes) in stored {
        for node in 0..nodes {
            assert!(get(cluster, node, address) == *bytes, "{address} at node {node}");
        }
    }
}

/// In which version `node` speaks with each of the others, in order of their numbers.
fn versions(cluster: &Cluster, node: usize) -> Vec<u64> {
    let status = cluster.status(node);
    let peers = status["network"]["peers"].as_array().expect("peers");
    peers.iter().map(|peer| peer["version"].as_u64().unwrap_or(0)).collect()
}

#[test]
#[ignore = "minutes, as it builds an older commit: see Upgrades in docs/operate/cluster.md"]
fn a_cluster_is_upgraded_node_by_node() {
    let older = older_program();
    let folder = tempfile::tempdir().expect("a folder");
    let settings = "replicas = 3\ndata_rate = \"2Gbps\"".into();
    let plan = Plan { nodes: 5, targets_per_node: 1, settings, hosts: loopback_hosts(5) };
    let mut cluster = Cluster::new(folder.path(), plan);
    (0..5).for_each(|node| cluster.set_binary(node, Some(&older)));
    cluster.start_all();
    let mut stored = Vec::new();
    traffic(&cluster, 5, &mut stored);
    for node in 0..3 {
        cluster.kill(node);
        cluster.set_binary(node, None);
        cluster.start(node);
        (0..5).for_each(|node| cluster.wait_for_peers(node, 4));
        traffic(&cluster, 5, &mut stored);
    }
    assert_eq!(versions(&cluster, 0), [4, 4, 2, 2]);
    // The older nodes have understood all that was said to them.
    for reason in ["foreign", "seal", "malformed"] {
        assert_eq!(cluster.counted(reason), 0, "{reason}");
    }

    // An older node is drained: older and newer ones say what they hold, and take what it hands over.
    let map = folder.path().join("cluster.toml").display().to_string();
    cluster.says(0, &["cluster", "drain", "4", "--map", &map]);
    (0..5).for_each(|node| cluster.signal(node, "-HUP"));
    cluster.wait("node 4 is drained", || {
        cluster.status(4)["network"]["map"]["may_be_stopped"] == true
    });
    cluster.kill(4);
    // While it may be back, nobody replaces anything.
    cluster.says(0, &["cluster", "remove", "4", "--drained", "--map", &map]);
    (0..4).for_each(|node| cluster.signal(node, "-HUP"));
    for (address, bytes) in &stored {
        assert!(get(&cluster, 3, address) == *bytes, "{address} without node 4");
    }
    traffic(&cluster, 4, &mut stored);

    cluster.kill(3);
    cluster.set_binary(3, None);
    cluster.start(3);
    (0..4).for_each(|node| cluster.wait_for_peers(node, 3));
    traffic(&cluster, 4, &mut stored);
    assert_eq!(versions(&cluster, 0), [4, 4, 4]);
    // A newer disk has lost its content, and repair brings all back.
    cluster.kill(2);
    fs::remove_dir_all(folder.path().join("target-002")).expect("it was there");
    let config = folder.path().join("node-2.toml").display().to_string();
    cluster.says(0, &["target", "replace", "--config", &config, "--target", "2"]);
    cluster.start(2);
    (0..4).for_each(|node| cluster.wait_for_peers(node, 3));
    cluster.wait("everything has three replicas", || {
        stored.iter().all(|(address, _)| {
            let chunks: Vec<serde_json::Value> =
                serde_json::from_str(&cluster.says(0, &["stat", address, "--json"])).expect("JSON");
            chunks.iter().all(|chunk| chunk["holders"].as_array().map_or(0, Vec::len) >= 3)
        })
    });
}
