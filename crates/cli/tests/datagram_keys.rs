//! What nodes say to each other is encrypted where that is asked for, and keys are changed while a cluster is used.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it has processes, files and sockets"
)]

#[allow(dead_code, reason = "each test file uses its own part")]
mod cluster;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use cluster::{Cluster, content, get, put};

fn key(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_slotcast")).arg("key").args(arguments).output().expect("runs")
}

/// Changes the keys in a file.
fn change(arguments: &[&str]) -> String {
    let output = key(arguments);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// A change that is refused.
fn refuses(arguments: &[&str]) -> String {
    let output = key(arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
    String::from_utf8_lossy(&output.stderr).replace(['\n', '│'], " ")
}

/// Waits until all three nodes know these keys, the first of which they send with.
fn wait_for_keys(cluster: &Cluster, numbers: &[u64]) {
    for node in 0..3 {
        cluster.wait(&format!("node {node} has the keys {numbers:?}"), || {
            let keys = &cluster.status(node)["network"]["keys"];
            let keys = keys.as_array().expect("keys").iter();
            keys.map(|key| key["number"].as_u64().expect("a number")).eq(numbers.iter().copied())
        });
    }
}

/// How many datagrams with this key a node has believed.
fn heard(cluster: &Cluster, node: usize, number: u64) -> u64 {
    let status = cluster.status(node);
    let keys = status["network"]["keys"].as_array().expect("keys");
    let key = keys.iter().find(|key| key["number"] == number).expect("the key");
    key["heard"].as_u64().expect("a number")
}

/// Puts through one node after another until it is told to stop; all are acknowledged.
fn put_until(cluster: &Cluster, is_over: &AtomicBool) -> Vec<(String, Vec<u8>)> {
    let mut stored = Vec::new();
    for n in 0.. {
        if is_over.load(Ordering::Relaxed) {
            break;
        }
        let content = content(100_000, n);
        let address = put(cluster, n as usize % 3, &content).expect("it is acknowledged");
        stored.push((address, content));
    }
    stored
}

fn changes_keys(cluster: &Cluster, file: &str) {
    assert!(change(&["list", file]).ends_with(": key 1\n"));
    let said = change(&["add", file]);
    assert!(said.ends_with("key 1 is sent with; believed, too: 2\n"), "{said}");
    wait_for_keys(cluster, &[1, 2]);
    assert!(refuses(&["remove", file, "1"]).contains("use another one first"));
    change(&["use", file, "2"]);
    wait_for_keys(cluster, &[2, 1]);
    assert!(cluster.says(0, &["status"]).contains("sends with key 2; believed, too: key 1 heard"));
    for node in 0..3 {
        let before = heard(cluster, node, 2);
        cluster.wait("the new key is heard", || heard(cluster, node, 2) > before + 10);
        let before = heard(cluster, node, 1);
        cluster.wait("the old key is not", || heard(cluster, node, 2) > before);
        let metrics = cluster.metrics(node);
        assert!(
            metrics.contains("slotcast_network_datagrams_by_key_total{key=\"2\"}"),
            "{metrics}"
        );
    }
    change(&["remove", file, "1"]);
    wait_for_keys(cluster, &[2]);
}

#[test]
fn keys_are_changed_while_puts_go_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut cluster = Cluster::of_three(folder.path(), None);
    let file = folder.path().join("cluster.key");
    let old = fs::read_to_string(&file).expect("it is there");
    let is_over = AtomicBool::new(false);
    let stored = thread::scope(|scope| {
        let puts = scope.spawn(|| put_until(&cluster, &is_over));
        changes_keys(&cluster, &file.display().to_string());
        is_over.store(true, Ordering::Relaxed);
        puts.join().expect("all puts are acknowledged")
    });
    assert!(!stored.is_empty());
    for (address, content) in &stored {
        assert!(get(&cluster, 1, address) == *content, "{address}");
    }
    assert_eq!(cluster.counted("seal"), 0);

    // A file that cannot be used changes nothing.
    let now = fs::read_to_string(&file).expect("it is there");
    fs::write(&file, &now[..now.len() - 10]).expect("room");
    let warned =
        || !cluster.logged(0, "the new keys cannot be used: the ones before them stay").is_empty();
    cluster.wait("it is told that the file is wrong", warned);
    put(&cluster, 0, b"with the keys as they were").expect("it is stored");
    fs::write(&file, now).expect("room");

    // Whoever has the old key alone is not believed, and the new one opens the targets as the old one did.
    cluster.kill(2);
    set_key(folder.path(), 2, "old.key");
    let old_file = folder.path().join("old.key");
    fs::copy(&file, &old_file).expect("room");
    fs::write(&old_file, old).expect("room");
    cluster.start(2);
    cluster.wait("the old key is refused", || cluster.counted("seal") > 0);
    cluster.kill(2);
    set_key(folder.path(), 2, "cluster.key");
    cluster.start(2);
    (0..3).for_each(|node| cluster.wait_for_peers(node, 2));
    let (address, content) = stored.last().expect("some");
    assert!(get(&cluster, 2, address) == *content);
}

/// Names the file of keys of a node.
fn set_key(folder: &Path, node: usize, name: &str) {
    set(folder, node, "key", &format!("\"{name}\""));
}

/// Sets a key in the file of a node.
fn set(folder: &Path, node: usize, key: &str, value: &str) {
    let path = folder.join(format!("node-{node}.toml"));
    let text = fs::read_to_string(&path).expect("it is there");
    let others = text.lines().filter(|line| !line.starts_with(&format!("{key} =")));
    let text = format!("{key} = {value}\n{}\n", others.collect::<Vec<_>>().join("\n"));
    fs::write(path, text).expect("room");
}

#[test]
fn a_cluster_in_use_begins_to_encrypt_node_by_node() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut cluster = Cluster::of_three(folder.path(), None);
    let mut stored = Vec::new();
    for (round, value) in (0u32..).zip(["\"sends\"", "true"]) {
        for node in 0..3 {
            cluster.kill(node);
            set(folder.path(), node, "encrypt", value);
            cluster.start(node);
            (0..3).for_each(|node| cluster.wait_for_peers(node, 2));
            let content = content(3_000_000, round * 3 + u32::try_from(node).expect("few"));
            stored.push((put(&cluster, node, &content).expect("it is stored"), content));
        }
    }
    for (address, content) in &stored {
        (0..3).for_each(|node| assert!(get(&cluster, node, address) == *content, "{address}"));
    }
    assert_eq!((cluster.counted("seal"), cluster.counted("plain")), (0, 0));
    // Nothing else is believed now.
    cluster.kill(2);
    set(folder.path(), 2, "encrypt", "false");
    cluster.start(2);
    cluster.wait("it is told what is not encrypted", || cluster.counted("plain") > 0);
    cluster.wait("it is silent to the others", || {
        let peers = cluster.status(0)["network"]["peers"].clone();
        peers.as_array().expect("peers").iter().any(|peer| peer["state"] != "up")
    });
    cluster.kill(2);
    set(folder.path(), 2, "encrypt", "\"always\"");
    let file = folder.path().join("node-2.toml").display().to_string();
    let mut serve = Command::new(env!("CARGO_BIN_EXE_slotcast"));
    let output = serve.args(["serve", "--config", &file]).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("encrypt = \"always\" means nothing"), "{said}");
}
