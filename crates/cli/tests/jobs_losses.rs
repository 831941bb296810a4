//! Jobs of a real cluster go on when nodes are killed, the one that was asked among them, and when all are: each is verified,
//! and both ends have the same objects.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it has processes, files and clocks"
)]

#[allow(dead_code, reason = "each test file uses its own part")]
mod cluster;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use cluster::etcd::Etcd;
use cluster::{Cluster, Host, content, loopback_hosts};
use serde_json::Value;

const OBJECTS: usize = 999;

/// Three nodes that carry out commands, with a bucket `src` of small and longer objects.
fn cluster(folder: &Path, etcd: &Etcd) -> Cluster {
    let wrapper = vec!["env".to_owned(), "SLOTCAST_TRANSFORMS=2".to_owned()];
    let hosts = loopback_hosts(3).into_iter();
    let hosts = hosts.map(|host| Host { wrapper: wrapper.clone(), ..host }).collect();
    let cluster = Cluster::of_three_on(folder, Some(etcd), hosts);
    let made = || cluster.run(0, &["mb", "slot://src"]).status.success();
    cluster.wait("there is a bucket", made);
    let files = folder.join("files");
    fs::create_dir(&files).expect("room");
    for n in 0..OBJECTS {
        let length = if n % 100 == 7 { 60_000 } else { 100 + n };
        let seed = u32::try_from(n).expect("few");
        fs::write(files.join(format!("{n:04}")), content(length, seed)).expect("room");
    }
    cluster.says(0, &["cp", "-r", &files.display().to_string(), "slot://src/"]);
    cluster
}

/// Names and sizes in a bucket.
fn listed(cluster: &Cluster, node: usize, bucket: &str) -> BTreeMap<String, u64> {
    let lines = cluster.says(node, &["ls", "-r", "--json", &format!("slot://{bucket}")]);
    let read = |line: &str| -> (String, u64) {
        let line: Value = serde_json::from_str(line).expect("JSON");
        let name = line["name"].as_str().expect("a name").to_owned();
        (name, line["size"].as_u64().expect("a size"))
    };
    lines.lines().map(read).collect()
}

fn start(cluster: &Cluster, node: usize, arguments: &[&str]) -> String {
    cluster.says(node, &[&["job", "start"], arguments].concat())
}

fn shown(cluster: &Cluster, node: usize, job: &str) -> Option<Value> {
    let output = cluster.run(node, &["job", "show", job, "--json"]);
    output.status.success().then(|| serde_json::from_slice(&output.stdout).expect("JSON"))
}

/// Waits until a job is over; how it stands then.
fn over(cluster: &Cluster, node: usize, job: &str) -> Value {
    let is_over = || shown(cluster, node, job).is_some_and(|job| job["is_over"] == true);
    // A busy machine takes long to start a thousand processes.
    for _ in 0..4 {
        if (0..1000).any(|_| {
            sleep(Duration::from_millis(50));
            is_over()
        }) {
            return shown(cluster, node, job).expect("it answers");
        }
    }
    panic!("{job} is not over: {:?}", shown(cluster, node, job));
}

/// A job is verified, and has counted as much at either end.
fn verified(cluster: &Cluster, node: usize, job: &str) {
    let told = over(cluster, node, job);
    let log = cluster.says(node, &["job", "log", job]);
    assert_eq!(told["status"], "verified", "{told}\n{log}");
    for stage in ["work", "check"] {
        let counts = &told[stage];
        assert_eq!(counts["objects"], OBJECTS, "{stage}: {told}");
        assert_eq!(counts["outputs"], OBJECTS, "{stage}: {told}");
        assert_eq!(counts["failed"], 0, "{stage}: {told}\n{log}");
    }
}

/// Waits until a job has counted some objects, or is over: how many follows from a seed.
fn wait_for_some(cluster: &Cluster, node: usize, job: &str, seed: u64) {
    let wanted = ((seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) % (OBJECTS as u64 / 2);
    cluster.wait(&format!("{job} has counted {wanted} objects"), || {
        let told = shown(cluster, node, job).expect("it answers");
        told["is_over"] == true || told["work"]["outputs"].as_u64() > Some(wanted)
    });
}

#[test]
fn a_copy_goes_on_without_the_node_that_was_asked() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(etcd) = Etcd::start(folder.path()) else { return };
    let mut cluster = cluster(folder.path(), &etcd);
    let source = listed(&cluster, 0, "src");
    assert_eq!(source.len(), OBJECTS);
    for (seed, victim) in [(1, 2), (2, 1)] {
        let bucket = format!("copy-{seed}");
        cluster.says(0, &["mb", &format!("slot://{bucket}")]);
        let job = start(&cluster, 2, &["copy", "slot://src", &format!("slot://{bucket}")]);
        wait_for_some(&cluster, 2, &job, seed);
        cluster.kill(victim);
        verified(&cluster, 0, &job);
        assert_eq!(listed(&cluster, 0, &bucket), source);
        cluster.start(victim);
        (0..3).for_each(|node| cluster.wait_for_peers(node, 2));
    }
    let jobs: Value =
        serde_json::from_str(&cluster.says(2, &["job", "ls", "--json"])).expect("JSON");
    assert_eq!(jobs["jobs"].as_array().map(Vec::len), Some(2), "{jobs}");
}

#[test]
fn jobs_go_on_when_all_nodes_were_killed() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(etcd) = Etcd::start(folder.path()) else { return };
    let mut cluster = cluster(folder.path(), &etcd);
    cluster.says(0, &["mb", "slot://copied"]);
    cluster.says(0, &["mb", "slot://counted"]);
    let command = ["--command", "wc -c", "--suffix", ".length"];
    let transform = start(
        &cluster,
        1,
        &[&["transform", "slot://src", "slot://counted"], &command[..]].concat(),
    );
    let copy = start(&cluster, 1, &["copy", "slot://src", "slot://copied"]);
    wait_for_some(&cluster, 2, &transform, 3);
    (0..3).for_each(|node| cluster.kill(node));
    cluster.start_all();
    // And one of them once more, while they go on.
    wait_for_some(&cluster, 0, &transform, 4);
    cluster.kill(1);
    verified(&cluster, 0, &copy);
    verified(&cluster, 0, &transform);
    cluster.start(1);
    cluster.wait_for_peers(1, 2);
    let source = listed(&cluster, 1, "src");
    assert_eq!(listed(&cluster, 1, "copied"), source);
    let counted = listed(&cluster, 1, "counted");
    assert_eq!(counted.len(), OBJECTS);
    for name in ["0000", "0007", "0998"] {
        let output = cluster.says(1, &["cat", &format!("slot://counted/{name}.length")]);
        assert_eq!(output.trim(), source[name].to_string(), "{name}");
    }
}
