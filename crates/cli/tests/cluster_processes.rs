//! A cluster of several processes that speak by UDP.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it has processes, files and sockets"
)]

mod cluster;

use std::fs;
use std::path::Path;

use cluster::{Cluster, Plan, content, loopback_hosts};

fn plan(nodes: u32, targets_per_node: u32, settings: &str) -> Plan {
    Plan { nodes, targets_per_node, settings: settings.into(), hosts: loopback_hosts(nodes) }
}

/// Puts a file through one node and says what address it has, if it was acknowledged.
fn put(cluster: &Cluster, node: usize, name: &Path, content: &[u8]) -> Option<String> {
    fs::write(name, content).expect("room");
    let output = cluster.run(node, &["put", &name.display().to_string()]);
    let address = String::from_utf8(output.stdout).expect("text");
    output.status.success().then(|| address.trim().to_owned())
}

fn get(cluster: &Cluster, node: usize, address: &str) -> Vec<u8> {
    let out = cluster.folder.join("out");
    cluster.says(node, &["get", address, "-o", &out.display().to_string()]);
    fs::read(out).expect("it is there")
}

#[test]
fn what_one_node_puts_every_node_gets() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut cluster = Cluster::new(folder.path(), plan(3, 1, "data_rate = \"2Gbps\""));
    cluster.start_all();
    for (n, length) in [1, 4096, 1 << 20, (1 << 20) + 1, 9_000_000].into_iter().enumerate() {
        let content = content(length, n as u32);
        let name = folder.path().join("in");
        let address = put(&cluster, n % 3, &name, &content).expect("it is stored");
        for node in 0..3 {
            assert!(get(&cluster, node, &address) == content, "{length} bytes at node {node}");
        }
    }
    // Every chunk has a replica on each of the three nodes: 1 + 1 + 1 + 2 and 9, and two lists.
    for node in 0..3 {
        let status = cluster.status(node);
        assert_eq!(status["targets"][0]["chunks"], 16, "{status}");
    }
    assert!(cluster.counted("datagrams_received") > 1000);
    for reason in ["foreign", "seal", "epoch", "address", "replayed", "malformed", "full"] {
        assert_eq!(cluster.counted(reason), 0, "{reason}");
    }
    // What is not there is said not to be there by all.
    let absent = format!("chunk-{}", "0".repeat(64));
    let output = cluster.run(0, &["get", &absent]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("is not stored here"), "{text}");
}
