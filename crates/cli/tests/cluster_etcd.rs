//! A cluster whose map is in etcd: nodes join, are drained, and leave while it is used.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it has processes, files and sockets"
)]

#[allow(dead_code, reason = "each test file uses its own part")]
mod cluster;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

use cluster::etcd::Etcd;
use cluster::{Cluster, Plan, content, get, loopback_hosts, put};

fn slotcast(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_slotcast"))
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .expect("it runs")
}

/// What a command about the map prints.
fn says(map: &str, arguments: &[&str]) -> String {
    let all = [&["cluster"], arguments, &["--map", map]].concat();
    let output = slotcast(&all);
    assert!(output.status.success(), "{all:?}: {output:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// What a command about the map that is refused says.
fn refuses(map: &str, arguments: &[&str]) -> String {
    let all = [&["cluster"], arguments, &["--map", map]].concat();
    let output = slotcast(&all);
    assert_eq!(output.status.code(), Some(2), "{all:?}: {output:?}");
    String::from_utf8(output.stderr).expect("text")
}

/// Three nodes of two targets, that do not run yet, with their map in etcd.
fn three_nodes(folder: &Path, etcd: &Etcd) -> Cluster {
    let settings = "data_rate = \"2Gbps\"\ngroup_size = 3".into();
    let hosts = loopback_hosts(3);
    let cluster = Cluster::new(folder, Plan { nodes: 3, targets_per_node: 2, settings, hosts });
    let map = etcd.map();
    for node in 0..3 {
        let path = folder.join(format!("node-{node}.toml"));
        let text = fs::read_to_string(&path).expect("it is there");
        fs::write(path, text.replace("\"cluster.toml\"", &format!("\"{map}\""))).expect("room");
    }
    let file = folder.join("cluster.toml").display().to_string();
    assert!(says(&map, &["init", &file]).contains(&map));
    cluster
}

fn map_status(cluster: &Cluster, node: usize) -> serde_json::Value {
    cluster.status(node)["network"]["map"].clone()
}

fn epoch(cluster: &Cluster, node: usize) -> u64 {
    cluster.status(node)["network"]["epoch"].as_u64().expect("an epoch")
}

/// The epoch of a map, as a text says it.
fn epoch_in(text: &str) -> u64 {
    let after = text.split("epoch ").nth(1).unwrap_or_else(|| panic!("no epoch: {text}"));
    let number = after.split(|letter: char| !letter.is_ascii_digit()).next();
    number.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("no epoch: {text}"))
}

/// Waits until these nodes follow the map in etcd. Who keeps names changes it, too, when a node leaves.
fn wait_for_map(cluster: &Cluster, map: &str, nodes: &[usize]) {
    let follow = || {
        let kept = epoch_in(&says(map, &["show"]));
        nodes.iter().all(|node| epoch(cluster, *node) == kept)
    };
    cluster.wait(&format!("nodes {nodes:?} follow the map"), follow);
}

/// The epoch in which three nodes of so many targets each know who keeps the names of so many groups: from then on
/// nodes that stay have nothing to say in the map.
fn epoch_with_voters(cluster: &Cluster, folder: &Path, targets: usize, groups: usize) -> u64 {
    for node in 0..3 {
        let copy = folder.join(format!("target-{:03}/cluster.toml", node * targets));
        let knows = || {
            let text = fs::read_to_string(&copy).unwrap_or_default();
            text.matches("[[names]]").count() == groups
        };
        cluster.wait(&format!("node {node} knows who votes"), knows);
    }
    epoch(cluster, 0)
}

#[test]
fn a_cluster_starts_from_etcd_and_goes_on_without_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(mut etcd) = Etcd::start(folder.path()) else { return };
    let map = etcd.map();
    assert!(refuses(&map, &["show"]).contains("there is no cluster map"));
    let mut cluster = three_nodes(folder.path(), &etcd);
    let file = folder.path().join("cluster.toml").display().to_string();
    assert!(refuses(&map, &["init", &file]).contains("there is a cluster map already"));
    assert!(says(&map, &["show"]).contains("epoch 1, 3 replicas, 2 groups"));
    cluster.start_all();
    assert_eq!(map_status(&cluster, 1)["source"], map);
    let first = epoch_with_voters(&cluster, folder.path(), 2, 2);
    let stored = content(3_000_000, 1);
    let address = put(&cluster, 0, &stored).expect("it is stored");

    etcd.kill();
    cluster.wait("it is said that etcd is away", || map_status(&cluster, 2)["problem"].is_string());
    assert!(cluster.says(2, &["status"]).contains("cluster map: etcd at 127.0.0.1:"));
    assert!(get(&cluster, 2, &address) == stored);
    let later = content(2_000_000, 2);
    let later_address = put(&cluster, 1, &later).expect("it is stored");

    // A node that is started now has a copy of the map.
    cluster.kill(1);
    cluster.start(1);
    cluster.wait_for_peers(1, 2);
    let problem = map_status(&cluster, 1)["problem"].to_string();
    assert!(problem.contains(&format!("epoch {first}")), "{problem}");
    assert!(get(&cluster, 1, &later_address) == later);

    etcd.restart();
    for node in 0..3 {
        let is_there = || map_status(&cluster, node)["problem"].is_null();
        cluster.wait(&format!("node {node} has found etcd again"), is_there);
    }
    // Without a copy it cannot start, and says which etcd it asks.
    etcd.kill();
    cluster.kill(2);
    fs::remove_file(folder.path().join("target-004/cluster.toml")).expect("the copy");
    let path = folder.path().join("node-2.toml").display().to_string();
    let output = slotcast(&["serve", "--config", &path]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("is it running, and is its address right?"), "{text}");
}

/// Somebody who puts and gets all the time, through one node.
struct Load {
    stops: Arc<AtomicBool>,
    stored: Arc<AtomicUsize>,
    thread: JoinHandle<Vec<(String, Vec<u8>)>>,
}

impl Load {
    fn start(folder: &Path, http: String, seed: u32) -> Load {
        let (stops, stored) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let files = ["put", "got"].map(|name| folder.join(format!("{name}-{seed}")));
        let (stop, count) = (stops.clone(), stored.clone());
        let thread = thread::spawn(move || load(&files, &http, seed, &stop, &count));
        Load { stops, stored, thread }
    }

    /// Waits until it has stored `count` files more.
    fn wait(&self, cluster: &Cluster, count: usize) {
        let wanted = self.stored.load(Ordering::Relaxed) + count;
        cluster.wait("puts go on", || self.stored.load(Ordering::Relaxed) >= wanted);
    }

    /// What it has put and was acknowledged.
    fn end(self) -> Vec<(String, Vec<u8>)> {
        self.stops.store(true, Ordering::Relaxed);
        self.thread.join().expect("everything could be put and got")
    }
}

fn load(
    [put, got]: &[PathBuf; 2],
    http: &str,
    seed: u32,
    stops: &AtomicBool,
    count: &AtomicUsize,
) -> Vec<(String, Vec<u8>)> {
    let mut stored: Vec<(String, Vec<u8>)> = Vec::new();
    let (put_name, got_name) = (put.display().to_string(), got.display().to_string());
    for n in 0.. {
        if stops.load(Ordering::Relaxed) {
            break;
        }
        let content = content(100_000 + (n as usize % 7) * 30_000, seed * 100_000 + n);
        fs::write(put, &content).expect("room");
        let output = slotcast(&["put", &put_name, "--node", http]);
        assert!(output.status.success(), "put {n} through {http}: {output:?}");
        let address = String::from_utf8(output.stdout).expect("text").trim().to_owned();
        stored.push((address, content));
        count.fetch_add(1, Ordering::Relaxed);
        // What was just stored, and something older.
        for (address, content) in [&stored[stored.len() - 1], &stored[n as usize * 7 / 11]] {
            let output = slotcast(&["get", address, "-o", &got_name, "--node", http]);
            assert!(output.status.success(), "get {address} through {http}: {output:?}");
            assert!(fs::read(got).expect("it is there") == *content, "{address}");
        }
    }
    stored
}

#[test]
fn a_node_joins_and_another_one_is_drained_while_the_cluster_is_used() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(mut etcd) = Etcd::start(folder.path()) else { return };
    let map = etcd.map();
    let mut cluster = three_nodes(folder.path(), &etcd);
    cluster.start_all();
    let first = epoch_with_voters(&cluster, folder.path(), 2, 2);
    let load =
        |node| Load::start(folder.path(), cluster.http(node), u32::try_from(node).expect("few"));
    let loads: Vec<Load> = [0, 2].map(load).into();
    loads.iter().for_each(|load| load.wait(&cluster, 5));

    // What would lose chunks is refused.
    let text = refuses(&map, &["remove", "1"]);
    assert!(text.contains("node 1 is active") && text.contains("--lost"), "{text}");
    let text = refuses(&map, &["drain", "1"]);
    assert!(text.contains("3 replicas") && text.contains("slotcast cluster join"), "{text}");
    assert!(refuses(&map, &["drain", "9"]).contains("its nodes are 0, 1, 2"));

    // A fourth node.
    let host = loopback_hosts(1).remove(0);
    let text = says(&map, &["join", "--address", &host.udp, "--targets", "2"]);
    assert!(text.contains("node = 3") && text.contains("number = 7"), "{text}");
    let file = format!(
        "node = 3\nhttp = \"127.0.0.1:0\"\ncluster = \"{map}\"\nkey = \"cluster.key\"\n\
         [[target]]\nnumber = 6\nfolder = \"target-006\"\n\
         [[target]]\nnumber = 7\nfolder = \"target-007\"\n"
    );
    loads.iter().for_each(|load| load.wait(&cluster, 2));
    cluster.add(host, &file);
    cluster.start(3);
    for node in 0..4 {
        cluster.wait_for_peers(node, 3);
        cluster.wait("node 3 is active", || epoch(&cluster, node) == first + 2);
    }
    assert_eq!(map_status(&cluster, 3)["state"], "active");
    loads.iter().for_each(|load| load.wait(&cluster, 5));
    etcd.kill();
    loads.iter().for_each(|load| load.wait(&cluster, 2));
    etcd.restart();

    // The second one is drained, and etcd is away meanwhile.
    let text = says(&map, &["drain", "1", "--no-wait"]);
    assert!(text.contains("node 1 is draining"), "{text}");
    cluster.wait("node 1 drains", || map_status(&cluster, 1)["state"] != "active");
    let text = refuses(&map, &["drain", "2"]);
    assert!(text.contains("3 replicas"), "{text}");
    assert!(refuses(&map, &["remove", "1"]).contains("drain it first"));
    etcd.kill();
    loads.iter().for_each(|load| load.wait(&cluster, 3));
    etcd.restart();
    let text = says(&map, &["drain", "1"]);
    assert!(text.contains("node 1 is drained"), "{text}");
    wait_for_map(&cluster, &map, &[1]);
    assert!(cluster.says(1, &["status"]).contains("drained: may be stopped"));
    loads.iter().for_each(|load| load.wait(&cluster, 2));
    cluster.kill(1);
    loads.iter().for_each(|load| load.wait(&cluster, 2));
    let told = says(&map, &["remove", "1"]);
    assert!(told.contains("out of the cluster, in epoch"), "{told}");
    assert!(epoch_in(&told) > first + 5, "who kept names has changed, too: {told}");
    wait_for_map(&cluster, &map, &[0, 2, 3]);
    [0, 2, 3].into_iter().for_each(|node| cluster.wait_for_peers(node, 2));
    loads.iter().for_each(|load| load.wait(&cluster, 2));
    let stored: Vec<_> = loads.into_iter().flat_map(Load::end).collect();
    assert!(stored.len() > 40, "{}", stored.len());

    // Three replicas on three nodes: each of them holds everything.
    for node in [0, 2, 3] {
        for (address, content) in stored.iter().step_by(3) {
            assert!(get(&cluster, node, address) == *content, "{address} at node {node}");
        }
    }
    cluster.kill(0);
    cluster.kill(2);
    for (address, content) in &stored {
        assert!(get(&cluster, 3, address) == *content, "{address} at node 3 alone");
    }
}

#[test]
fn a_lost_node_is_made_up_for_and_a_map_in_a_file_is_read_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = "data_rate = \"2Gbps\"\nreplicas = 2".into();
    let hosts = loopback_hosts(3);
    let plan = Plan { nodes: 3, targets_per_node: 1, settings, hosts };
    let mut cluster = Cluster::new(folder.path(), plan);
    cluster.start_all();
    let stored: Vec<_> = (0..12)
        .map(|n| content(50_000, n))
        .map(|content| (put(&cluster, 0, &content).expect("it is stored"), content))
        .collect();
    let map = folder.path().join("cluster.toml").display().to_string();
    cluster.kill(1);
    let text = says(&map, &["remove", "1", "--lost"]);
    assert!(text.contains("SIGHUP") && text.contains("epoch 2"), "{text}");
    for node in [0, 2] {
        cluster.signal(node, "-HUP");
        cluster.wait(&format!("node {node} has epoch 2"), || epoch(&cluster, node) == 2);
    }
    // The two that are left hold everything, though the lost node has not been silent for long.
    for node in [0, 2] {
        cluster.wait("everything is healed", || cluster.status(node)["targets"][0]["chunks"] == 12);
    }
    // A map that would lay out the groups anew is not taken, and the node says why.
    let text = fs::read_to_string(&map).expect("it is there");
    let other =
        text.replace("epoch = 2", "epoch = 3").replace("seats = [0, 1, 2]", "seats = [2, 1, 0]");
    assert_ne!(other, text);
    fs::write(&map, other).expect("room");
    cluster.signal(0, "-HUP");
    cluster.wait("the map is refused", || {
        map_status(&cluster, 0)["problem"]
            .as_str()
            .is_some_and(|text| text.contains("laid out anew"))
    });
    assert_eq!(epoch(&cluster, 0), 2);
    cluster.kill(2);
    for (address, content) in &stored {
        assert!(get(&cluster, 0, address) == *content, "{address} at node 0 alone");
    }
}

/// The chunks that the target of `node` has.
fn chunks(cluster: &Cluster, node: usize) -> u64 {
    cluster.status(node)["targets"][0]["chunks"].as_u64().expect("a number")
}

#[test]
fn a_node_with_an_old_map_does_not_take_what_it_does_not_find_for_absent() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(etcd) = Etcd::start(folder.path()) else { return };
    let map = etcd.map();
    let settings = "data_rate = \"2Gbps\"\nreplicas = 1".into();
    let hosts = loopback_hosts(3);
    let plan = Plan { nodes: 3, targets_per_node: 1, settings, hosts };
    let mut cluster = Cluster::new(folder.path(), plan);
    let file = folder.path().join("cluster.toml").display().to_string();
    says(&map, &["init", &file]);
    let config = |node: usize| folder.path().join(format!("node-{node}.toml"));
    let point_to = |node: usize, from: &str, to: &str| {
        let text = fs::read_to_string(config(node)).expect("it is there");
        assert!(text.contains(from), "{text}");
        fs::write(config(node), text.replace(from, to)).expect("room");
    };
    (0..3).for_each(|node| point_to(node, "cluster.toml", &map));
    cluster.start_all();
    let first = epoch_with_voters(&cluster, folder.path(), 1, 1);
    // From now on node 2 does not reach etcd.
    cluster.kill(2);
    point_to(2, &map, "etcd://127.0.0.1:1/slotcast/test");
    cluster.start(2);
    let host = loopback_hosts(1).remove(0);
    says(&map, &["join", "--address", &host.udp, "--targets", "1"]);
    let file = fs::read_to_string(config(0)).expect("it is there");
    let file = file.replace("node = 0", "node = 3").replace("number = 0", "number = 3");
    cluster.add(host, &file.replace("target-000", "target-003"));
    cluster.start(3);
    (0..2).for_each(|node| {
        cluster.wait("the newcomer is active", || epoch(&cluster, node) == first + 2);
        cluster.wait_for_peers(node, 3);
    });
    cluster.wait_for_peers(2, 2);
    assert_eq!(epoch(&cluster, 2), first);

    let mut on_newcomer = None;
    for n in 0..200 {
        let (before, content) = (chunks(&cluster, 3), content(20_000, n));
        let address = put(&cluster, 0, &content).expect("it is stored");
        if chunks(&cluster, 3) > before {
            on_newcomer = Some((address, content));
            break;
        }
        assert!(get(&cluster, 2, &address) == content, "an old map is good for what it knows");
    }
    let (address, content) = on_newcomer.expect("the newcomer is chosen now and then");
    let output = cluster.run(2, &["get", &address]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && !text.contains("is not stored here"), "{text}");
    // What it puts is found by those whom it hears; it does not hear whom it does not know.
    let other = cluster::content(20_000, 999);
    let other_address = put(&cluster, 2, &other).expect("it is stored");
    assert!(get(&cluster, 0, &other_address) == other);
    // With etcd again it finds all.
    cluster.kill(2);
    point_to(2, "etcd://127.0.0.1:1/slotcast/test", &map);
    cluster.start(2);
    cluster.wait_for_peers(2, 3);
    assert!(get(&cluster, 2, &address) == content);
}

/// Three nodes with a target each, two replicas, and so many chunks that a scan takes seconds; their address
/// and their content.
fn three_nodes_with_chunks(folder: &Path, etcd: &Etcd) -> (Cluster, String, Vec<u8>) {
    let map = etcd.map();
    let settings = "data_rate = \"2Gbps\"\nreplicas = 2\n".into();
    let hosts = loopback_hosts(3);
    let plan = Plan { nodes: 3, targets_per_node: 1, settings, hosts };
    let mut cluster = Cluster::new(folder, plan);
    let file = folder.join("cluster.toml").display().to_string();
    says(&map, &["init", &file]);
    for node in 0..3 {
        let path = folder.join(format!("node-{node}.toml"));
        let text = fs::read_to_string(&path).expect("it is there");
        fs::write(path, text.replace("cluster.toml", &map)).expect("room");
    }
    cluster.start_all();
    epoch_with_voters(&cluster, folder, 1, 1);
    let stored = content(1_600_000, 5);
    let name = folder.join("file").display().to_string();
    fs::write(&name, &stored).expect("room");
    let address = cluster.says(0, &["put", &name, "--chunk-size", "4KiB"]);
    assert!(chunks(&cluster, 1) > 100);
    (cluster, address, stored)
}

/// Nobody else scans here: what is done is done by the node that leaves.
#[test]
fn what_a_drained_node_held_is_with_the_others() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(etcd) = Etcd::start(folder.path()) else { return };
    let (mut cluster, address, stored) = three_nodes_with_chunks(folder.path(), &etcd);
    // Scans that the start has brought are over: they would heal, too.
    for node in 0..3 {
        let rests = || {
            let repair = &cluster.status(node)["targets"][0]["repair"];
            repair["walk"].is_null() && repair["walks"].as_u64() > Some(0)
        };
        cluster.wait("scans are over", rests);
    }
    let held = chunks(&cluster, 1);
    assert!(says(&etcd.map(), &["drain", "1"]).contains("node 1 is drained"));
    assert_eq!(chunks(&cluster, 1), held, "it removes nothing");
    cluster.kill(1);
    cluster.kill(0);
    assert!(get(&cluster, 2, &address) == stored, "node 2 alone has all");
}

#[test]
fn a_node_that_is_killed_while_it_drains_begins_anew() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(etcd) = Etcd::start(folder.path()) else { return };
    let (mut cluster, address, stored) = three_nodes_with_chunks(folder.path(), &etcd);
    let map = etcd.map();
    says(&map, &["drain", "1", "--no-wait"]);
    cluster.wait("it drains", || map_status(&cluster, 1)["state"] == "draining");
    cluster.kill(1);
    // Nobody takes it for drained.
    assert!(refuses(&map, &["remove", "1"]).contains("node 1 is draining"));
    assert!(says(&map, &["show"]).contains("draining"));
    cluster.start(1);
    assert!(says(&map, &["drain", "1"]).contains("node 1 is drained"));
    assert!(says(&map, &["drain", "1"]).contains("node 1 is drained"), "again");
    cluster.kill(1);
    says(&map, &["remove", "1"]);
    wait_for_map(&cluster, &map, &[0, 2]);
    cluster.kill(0);
    assert!(get(&cluster, 2, &address) == stored, "node 2 alone has all");
}
