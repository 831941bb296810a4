//! Losses that real clusters meet: a node that does not come back, a folder that vanishes, a disk that is full
//! or read-only.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it has processes, files and sockets"
)]

#[allow(dead_code, reason = "each test file uses its own part")]
mod cluster;
#[path = "support/mount.rs"]
mod mount;
#[allow(dead_code, reason = "each test file uses its own part")]
mod served;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cluster::{Cluster, Plan, content, get, loopback_hosts, put};
use mount::Mount;
use serde_json::Value;
use served::Served;

/// A cluster on the loopback whose nodes replace what a silent one held after a second.
fn cluster(folder: &Path, nodes: u32, targets_per_node: u32, settings: &str) -> Cluster {
    let settings = format!("data_rate = \"2Gbps\"\n{settings}");
    let plan = Plan { nodes, targets_per_node, settings, hosts: loopback_hosts(nodes) };
    let cluster = Cluster::new(folder, plan);
    for node in 0..nodes {
        let path = folder.join(format!("node-{node}.toml"));
        let file = fs::read_to_string(&path).expect("it is there");
        fs::write(&path, format!("gone_after = \"1s\"\n{file}")).expect("room");
    }
    cluster
}

fn stat(cluster: &Cluster, node: usize, address: &str) -> Vec<Value> {
    let chunks = cluster.says(node, &["stat", address, "--json"]);
    serde_json::from_str(&chunks).expect("JSON")
}

/// Numbers in a field of what `stat` says of a chunk.
fn numbers(chunk: &Value, field: &str) -> Vec<u64> {
    let numbers = chunk[field].as_array().expect("numbers").iter();
    numbers.map(|number| number.as_u64().expect("a number")).collect()
}

/// Whether every chunk of all `stored` is on three targets that answer.
fn have_three_replicas(cluster: &Cluster, node: usize, stored: &[(String, Vec<u8>)]) -> bool {
    let mut chunks = stored.iter().flat_map(|(address, _)| stat(cluster, node, address));
    chunks.all(|chunk| numbers(&chunk, "holders").len() >= 3)
}

fn store(cluster: &Cluster, node: usize, seeds: std::ops::Range<u32>) -> Vec<(String, Vec<u8>)> {
    let file = |seed| content(1_300_000 + seed as usize * 50_000, seed);
    seeds.map(|seed| (put(cluster, node, &file(seed)).expect("it is stored"), file(seed))).collect()
}

fn all_readable(cluster: &Cluster, nodes: &[usize], stored: &[(String, Vec<u8>)]) {
    for (address, content) in stored {
        for node in nodes {
            assert!(get(cluster, *node, address) == *content, "{address} at node {node}");
        }
    }
}

fn target(cluster: &Cluster, node: usize, number: u64) -> Value {
    let status = cluster.status(node);
    let targets = status["targets"].as_array().expect("targets").iter();
    targets.clone().find(|target| target["target"] == number).expect("such a target").clone()
}

fn sum(cluster: &Cluster, nodes: &[usize], field: &str) -> u64 {
    let of_node = |node: &usize| -> u64 {
        let status = cluster.status(*node);
        let targets = status["targets"].as_array().expect("targets").iter();
        targets.map(|target| target["repair"][field].as_u64().expect("a number")).sum()
    };
    nodes.iter().map(of_node).sum()
}

#[test]
fn what_a_lost_node_held_is_brought_back_and_a_further_loss_is_borne() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut cluster = cluster(folder.path(), 4, 1, "");
    cluster.start_all();
    let stored = store(&cluster, 0, 0..8);
    // Any node knows where a chunk is, on whichever node.
    let chunks: Vec<Value> =
        stored.iter().flat_map(|(address, _)| stat(&cluster, 1, address)).collect();
    assert_eq!(chunks.len(), 16);
    for chunk in &chunks {
        assert!(numbers(chunk, "holders").len() >= 3, "{chunk}");
        assert!(numbers(chunk, "silent_targets").is_empty(), "{chunk}");
        assert!(chunk["length"].as_u64() > Some(0), "{chunk}");
    }
    let on_3 = chunks.iter().filter(|chunk| numbers(chunk, "holders").contains(&3)).count();
    assert!(on_3 > 0, "{chunks:?}");

    cluster.kill(3);
    for chunk in stat(&cluster, 0, &stored[0].0) {
        assert_eq!(numbers(&chunk, "silent_targets"), [3], "{chunk}");
        assert_eq!(numbers(&chunk, "silent_nodes"), [3], "{chunk}");
    }
    let text = cluster.says(2, &["stat", &stored[0].0]);
    assert!(text.contains("no answer from target 3 of node 3"), "{text}");

    cluster
        .wait("all chunks have three replicas again", || have_three_replicas(&cluster, 0, &stored));
    cluster.wait("the survivors say so", || {
        let (healed, lacking) = (
            sum(&cluster, &[0, 1, 2], "healed_chunks"),
            sum(&cluster, &[0, 1, 2], "under_replicated_chunks"),
        );
        healed >= on_3 as u64 && lacking == 0
    });
    let status = cluster.says(0, &["status"]);
    assert!(status.contains("0 chunks known to have too few replicas"), "{status}");
    let gone = cluster.logged(0, "peer gone: what it held is replaced");
    assert_eq!((gone.len(), &gone[0]["node"]), (1, &3.into()), "{gone:?}");

    cluster.kill(2);
    all_readable(&cluster, &[0, 1], &stored);
}

#[test]
fn a_node_whose_folder_vanishes_goes_on_with_the_rest() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut cluster = cluster(folder.path(), 2, 3, "failure_domain = \"target\"");
    cluster.start_all();
    let mut stored = store(&cluster, 0, 0..6);
    assert!(target(&cluster, 0, 1)["chunks"].as_u64() > Some(0));

    fs::rename(folder.path().join("target-001"), folder.path().join("away")).expect("it moves");
    cluster.wait("status says that it is gone", || target(&cluster, 0, 1)["state"] == "gone");
    assert_eq!(target(&cluster, 0, 1)["reason"], "the disk is gone");
    let text = cluster.says(0, &["status"]);
    assert!(text.contains("gone: the disk is gone"), "{text}");
    for other in [0, 2] {
        assert_eq!(target(&cluster, 0, other)["state"], "open");
    }
    stored.extend(store(&cluster, 0, 6..9));
    cluster
        .wait("all chunks have three replicas again", || have_three_replicas(&cluster, 1, &stored));
    all_readable(&cluster, &[0, 1], &stored);

    // It is moved back, and the node is started anew: what it holds counts again.
    cluster.signal(0, "-TERM");
    cluster.wait("node 0 stops", || !cluster.logged(0, "stopped").is_empty());
    cluster.kill(0);
    let place = folder.path().join("target-001");
    assert!(!place.exists(), "nothing is made in its place");
    fs::rename(folder.path().join("away"), place).expect("it moves");
    cluster.start(0);
    cluster.wait_for_peers(0, 1);
    assert_eq!(target(&cluster, 0, 1)["state"], "open");
    all_readable(&cluster, &[0], &stored);
}

#[test]
fn a_full_disk_refuses_puts_serves_gets_and_takes_puts_again_when_there_is_room() {
    let folder = tempfile::tempdir().expect("a folder");
    // The file system outlives the cluster: variables are dropped in reverse.
    let at = folder.path().join("target-000");
    let Some(mount) = Mount::new(at, &["-t", "tmpfs", "-o", "size=600M", "none"]) else { return };
    let mut cluster = cluster(folder.path(), 1, 1, "replicas = 1");
    cluster.start(0);
    fs::write(mount.0.join("others"), vec![1; 230 << 20]).expect("room");
    let first = store(&cluster, 0, 0..3);
    let mut refused = String::new();
    let mut stored = Vec::new();
    for seed in 100..110 {
        let file = content(24 << 20, seed);
        let name = folder.path().join("in");
        fs::write(&name, &file).expect("room");
        let output = cluster.run(0, &["put", &name.display().to_string()]);
        if output.status.success() {
            let address = String::from_utf8(output.stdout).expect("text").trim().to_owned();
            stored.push((address, file));
        } else {
            refused = String::from_utf8_lossy(&output.stderr).into_owned();
            break;
        }
    }
    assert!(!stored.is_empty(), "{refused}");
    assert!(refused.contains("could not be stored on enough targets"), "{refused}");
    assert!(refused.contains("take no puts: 0 (full)"), "{refused}");
    assert!(refused.contains("507"), "{refused}");
    assert_eq!(target(&cluster, 0, 0)["state"], "full");
    assert_eq!(cluster.logged(0, "target full: it refuses puts").len(), 1);
    all_readable(&cluster, &[0], &first);
    all_readable(&cluster, &[0], &stored);

    fs::remove_file(mount.0.join("others")).expect("it goes");
    cluster.wait("puts are taken again", || put(&cluster, 0, &content(3_000_000, 77)).is_some());
    cluster.wait("status says so", || target(&cluster, 0, 0)["state"] == "open");
    let more = store(&cluster, 0, 3..6);
    all_readable(&cluster, &[0], &more);
    cluster.kill(0);
    cluster.start(0);
    for stored in [first, stored, more] {
        all_readable(&cluster, &[0], &stored);
    }
}

#[test]
fn a_target_on_a_read_only_file_system_fails_and_the_node_starts_with_the_rest() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path().join("target-001");
    let Some(mount) = Mount::new(at, &["-t", "tmpfs", "-o", "size=600M", "none"]) else { return };
    let mut cluster = cluster(folder.path(), 1, 4, "failure_domain = \"target\"");
    cluster.start(0);
    let mut stored = store(&cluster, 0, 0..4);
    cluster.kill(0);
    mount.remount("ro");
    cluster.start(0);
    let broken = target(&cluster, 0, 1);
    assert_eq!(
        (&broken["state"], &broken["reason"]),
        (&"failed".into(), &"the file system is read-only".into())
    );
    let logged = &cluster.logged(0, "folder unusable")[0];
    assert_eq!((&logged["level"], &logged["target"]), (&"ERROR".into(), &1.into()), "{logged}");
    assert!(logged["cause"].as_str().expect("text").contains("Read-only"), "{logged}");
    stored.extend(store(&cluster, 0, 4..6));
    all_readable(&cluster, &[0], &stored);
    cluster
        .wait("all chunks have three replicas again", || have_three_replicas(&cluster, 0, &stored));
    cluster.kill(0);
    mount.remount("rw");
    cluster.start(0);
    assert_eq!(target(&cluster, 0, 1)["state"], "open");
    assert!(target(&cluster, 0, 1)["chunks"].as_u64() > Some(0));
}

/// A file system with an error goes read-only under a running node, as `errors=remount-ro` has it.
#[test]
fn a_file_system_that_goes_read_only_is_served_from_and_not_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let image = folder.path().join("image");
    let made = fs::File::create(&image).and_then(|file| file.set_len(600 << 20));
    made.expect("room");
    let formatted = Command::new("mkfs.ext4").arg("-q").arg(&image).status();
    if !formatted.is_ok_and(|status| status.success()) {
        return eprintln!("skipped: no mkfs.ext4");
    }
    let at = folder.path().join("target-001");
    let image = image.display().to_string();
    let arguments = ["-o", "loop,errors=remount-ro", &image];
    let Some(mount) = Mount::new(at, &arguments) else { return };
    let device = Command::new("findmnt").args(["-no", "SOURCE"]).arg(&mount.0).output();
    let device = device.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    let Some(name) = device.ok().and_then(|d| d.rsplit('/').next().map(str::to_owned)) else {
        return eprintln!("skipped: the loop device is not known");
    };
    let trigger = PathBuf::from(format!("/sys/fs/ext4/{name}/trigger_fs_error"));
    if !trigger.exists() {
        return eprintln!("skipped: no {}", trigger.display());
    }
    let mut cluster = cluster(folder.path(), 1, 4, "failure_domain = \"target\"");
    cluster.start(0);
    let mut stored = store(&cluster, 0, 0..5);
    let held = target(&cluster, 0, 1)["chunks"].as_u64().expect("a number");
    assert!(held > 0);
    fs::write(&trigger, "1").expect("it triggers");
    stored.extend(store(&cluster, 0, 5..8));
    cluster.wait("status says so", || target(&cluster, 0, 1)["state"] == "read-only");
    let broken = target(&cluster, 0, 1);
    assert_eq!(broken["reason"], "the file system is read-only", "{broken}");
    assert_eq!(broken["chunks"], held, "it still holds, and serves, what it held");
    assert_eq!(cluster.logged(0, "target read-only until the next start").len(), 1);
    all_readable(&cluster, &[0], &stored);
}

/// Where failure domains are nodes, the target's own node holds no other replica of its chunks: only peers can
/// make up for it, and they are told.
#[test]
fn peers_make_up_for_a_target_whose_disk_dies_at_run_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut cluster = cluster(folder.path(), 5, 1, "failure_domain = \"node\"");
    (0..5).for_each(|node| cluster.start(node));
    (0..5).for_each(|node| cluster.wait_for_peers(node, 4));
    let stored = store(&cluster, 0, 0..6);
    assert!(target(&cluster, 1, 1)["chunks"].as_u64() > Some(0));
    fs::rename(folder.path().join("target-001"), folder.path().join("away")).expect("it moves");
    cluster.wait("node 1 says so", || target(&cluster, 1, 1)["state"] == "gone");
    cluster.wait("all chunks have three replicas again", || {
        let mut chunks = stored.iter().flat_map(|(address, _)| stat(&cluster, 0, address));
        chunks.all(|chunk| {
            let holders = numbers(&chunk, "holders");
            holders.iter().filter(|holder| **holder != 1).count() >= 3
        })
    });
    all_readable(&cluster, &[0, 1], &stored);
    let told = cluster.logged(0, "target of a peer failed: others make up for it");
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!((&told[0]["node"], &told[0]["target"]), (&1.into(), &1.into()));
}

/// Several targets share it, and each wants room for the next segment when it opens. What the test itself
/// writes is elsewhere.
#[test]
fn targets_that_start_on_a_full_disk_open_and_serve() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path().join("disk");
    let Some(mount) = Mount::new(at, &["-t", "tmpfs", "-o", "size=1200M", "none"]) else { return };
    let mut cluster = cluster(folder.path(), 1, 6, "replicas = 1\nfailure_domain = \"target\"");
    let path = folder.path().join("node-0.toml");
    let file = fs::read_to_string(&path).expect("it is there");
    fs::write(path, file.replace("\"target-", "\"disk/target-")).expect("room");
    cluster.start(0);
    assert!(mount.0.join("target-000").exists(), "the targets are on the small disk");
    let stored = store(&cluster, 0, 0..12);
    cluster.kill(0);
    // Whatever is left.
    let others = mount.0.join("others");
    assert!(
        fs::write(&others, vec![1; 1300 << 20]).is_err(),
        "the disk is larger than it was made"
    );
    cluster.start(0);
    for number in 0..6 {
        let state = target(&cluster, 0, number)["state"].clone();
        assert!(state == "full" || state == "open", "{number}: {state}");
    }
    all_readable(&cluster, &[0], &stored);
    fs::remove_file(others).expect("it goes");
    cluster.wait("puts are taken again", || put(&cluster, 0, &content(3_000_000, 77)).is_some());
    all_readable(&cluster, &[0], &stored);
}

/// They are in the rows of names alone, which cannot be written without room: there is some left when no more are taken.
#[test]
fn what_fills_a_disk_with_small_objects_can_be_deleted() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path().join("data");
    let Some(mount) = Mount::new(at, &["-t", "tmpfs", "-o", "size=1200M", "none"]) else { return };
    let data = mount.0.join("store");
    let served = Served::start(&data, &["--targets", "1", "--replicas", "1"]);
    served.says(&["mb", "slot://b"]);
    fs::write(mount.0.join("others"), vec![1; 950 << 20]).expect("room");
    let body = content(12_000, 1);
    let put = |served: &Served, n: u32| served.ask(&format!("PUT /v2/b/{n}"), "", &body).status();
    let all = (0..50_000).find(|n| put(&served, *n) != 200).expect("there is an end");
    assert!(all > 100, "{all} objects");
    assert_eq!(put(&served, all), 503);
    assert_eq!(served.ask("GET /v2/b/7", "", b"").body, body);
    drop(served);
    let served = Served::start(&data, &["--targets", "1", "--replicas", "1"]);
    assert_eq!(served.ask(&format!("GET /v2/b/{}", all - 1), "", b"").body, body);
    for n in 0..all / 4 {
        assert_eq!(served.ask(&format!("DELETE /v2/b/{n}"), "", b"").status(), 200, "{n}");
    }
    fs::remove_file(mount.0.join("others")).expect("it goes");
    // The first one finds out that there is room again.
    assert!((0..5).any(|_| put(&served, all) == 200));
}
