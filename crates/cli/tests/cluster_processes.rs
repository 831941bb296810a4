//! A cluster of several processes that speak by UDP.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it has processes, files and sockets"
)]

#[allow(dead_code, reason = "each test file uses its own part")]
mod cluster;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use cluster::{Cluster, Plan, content, get, loopback_hosts, put, survives_a_kill_and_a_pause};

fn plan(nodes: u32, targets_per_node: u32, settings: &str) -> Plan {
    Plan { nodes, targets_per_node, settings: settings.into(), hosts: loopback_hosts(nodes) }
}

#[test]
fn what_one_node_puts_every_node_gets() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut cluster = Cluster::new(folder.path(), plan(3, 1, "data_rate = \"2Gbps\""));
    cluster.start_all();
    for (n, length) in [1, 4096, 1 << 20, (1 << 20) + 1, 9_000_000].into_iter().enumerate() {
        let content = content(length, u32::try_from(n).expect("few"));
        let address = put(&cluster, n % 3, &content).expect("it is stored");
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
    let metrics = cluster.metrics(0);
    for line in [
        "slotcast_peer_up{peer=\"2\"} 1",
        "slotcast_network_datagrams_refused_total{reason=\"seal\"} 0",
        "slotcast_network_chunks_received_total ",
    ] {
        assert!(metrics.contains(line), "`{line}` is not in:\n{metrics}");
    }
    let status = cluster.says(1, &["status"]);
    assert!(status.contains("this is node 1 in epoch 1"), "{status}");
    // What is not there is said not to be there by all.
    let absent = format!("chunk-{}", "0".repeat(64));
    let output = cluster.run(0, &["get", &absent]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("is not stored here"), "{text}");
}

#[test]
fn replicas_may_share_a_node_and_travel_by_multicast_where_that_is_wanted() {
    let folder = tempfile::tempdir().expect("a folder");
    let port = loopback_hosts(1)[0].udp.rsplit(':').next().expect("a port").to_owned();
    let settings = format!(
        "failure_domain = \"target\"\ndata_rate = \"2Gbps\"\ndelivery = \"multicast\"\n\
         multicast = \"239.77.0.0:{port}\""
    );
    let mut cluster = Cluster::new(folder.path(), plan(2, 4, &settings));
    cluster.start_all();
    for n in 0..4 {
        let content = content(3_000_000, n);
        let address = put(&cluster, n as usize % 2, &content).expect("it is stored");
        for node in 0..2 {
            assert!(get(&cluster, node, &address) == content, "{address} at node {node}");
        }
    }
    // Four files of three chunks and a list, three times; where an answer came late, once more.
    assert!(cluster.held(0) + cluster.held(1) >= 48);
}

#[test]
fn twelve_targets_in_four_processes_survive_a_kill_and_a_pause() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = "data_rate = \"2Gbps\"\ngroup_size = 12";
    let mut cluster = Cluster::new(folder.path(), plan(4, 3, settings));
    cluster.start_all();
    survives_a_kill_and_a_pause(&mut cluster);
}

#[test]
fn a_node_with_another_key_or_another_map_is_not_heard() {
    for (name, reason) in [("key", "seal"), ("epoch", "epoch")] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut cluster = Cluster::new(folder.path(), plan(3, 1, ""));
        cluster.start(0);
        cluster.start(1);
        cluster.wait_for_peers(0, 1);
        match name {
            "key" => fs::write(folder.path().join("cluster.key"), "5".repeat(64)).expect("room"),
            _ => {
                let path = folder.path().join("cluster.toml");
                let map = fs::read_to_string(&path).expect("it is there");
                fs::write(path, map.replace("epoch = 1", "epoch = 20")).expect("room");
            }
        }
        cluster.start(2);
        cluster.wait(&format!("{reason} is counted"), || cluster.counted(reason) > 20);
        cluster.wait_for_peers(0, 1);
        cluster.wait_for_peers(2, 0);
        let status = cluster.status(2);
        assert_eq!(status["network"]["counters"]["chunks_received"], 0, "{status}");
    }
}

#[test]
fn wrong_files_are_refused_with_the_line_and_what_helps() {
    let folder = tempfile::tempdir().expect("a folder");
    let fails = |file: &str, from: &str, to: &str, says: &[&str]| {
        Cluster::new(folder.path(), plan(3, 2, "replicas = 3\ndelivery = \"unicast\""));
        let path = folder.path().join(file);
        let text = fs::read_to_string(&path).expect("it is there");
        assert!(text.contains(from), "{text}");
        fs::write(&path, text.replacen(from, to, 1)).expect("room");
        let output = Command::new(env!("CARGO_BIN_EXE_slotcast"))
            .args(["serve", "--config"])
            .arg(folder.path().join("node-1.toml"))
            .stdin(Stdio::null())
            .output()
            .expect("it runs");
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{text}");
        for part in says {
            assert!(text.contains(part), "`{part}` is not in:\n{text}");
        }
    };
    let map = "cluster.toml";
    fails(map, "replicas = 3", "replicas = 9", &["cluster.toml:2:12", "replicas = 9", "1 to 8"]);
    fails(map, "replicas = 3", "replicas = 4", &["cluster.toml:2:12", "more nodes"]);
    fails(map, "replicas = 3", "replica = 3", &["cluster.toml:2:1", "unknown field `replica`"]);
    fails(map, "\"unicast\"", "\"broadcast\"", &["cluster.toml:3:12", "\"unicast\" or"]);
    fails(map, "\"unicast\"", "\"multicast\"", &["cluster.toml:3:12", "239.77.0.0:7482"]);
    fails(map, "replicas = 3", "mtu = 500", &["cluster.toml:2:7", "mtu = 500", "1500"]);
    fails(
        map,
        "replicas = 3",
        "data_rate = \"fast\"",
        &["cluster.toml:2:13", "data_rate = \"fast\""],
    );
    fails(
        map,
        "replicas = 3",
        "multicast = \"10.0.0.1:5\"",
        &["cluster.toml:2:13", "no multicast"],
    );
    fails(map, "[2, 3]", "[2, 2]", &["2 is a target of node 1, too"]);
    fails(map, "[2, 3]", "[3, 2, 6]", &["node 1 should have 2 to 3", "failure_domain"]);
    fails("node-1.toml", "node = 1", "node = 7", &["node-1.toml:1:8", "no such node"]);
    fails("node-1.toml", "number = 3", "number = 4", &["number = 4", "node-1.toml"]);
    fails("node-1.toml", "cluster.key", "no.key", &["node-1.toml:4:7", "slotcast key"]);
    fails("cluster.key", "", "xyz", &["64 hexadecimal digits"]);
    let little = "node = 1\nbody_memory = \"1MiB\"";
    fails("node-1.toml", "node = 1", little, &["node-1.toml:2:15", "body_memory", "from 32MiB to"]);
    let short = "node = 1\nbody_timeout = \"1ms\"";
    fails("node-1.toml", "node = 1", short, &["node-1.toml:2:16", "too short", "at least 1s"]);
    let elsewhere = "node = 1\nlisten = \"192.0.2.1:7481\"";
    fails("node-1.toml", "node = 1", elsewhere, &["192.0.2.1:7481", "no address of this host"]);
}

#[test]
fn a_key_that_others_can_read_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    Cluster::new(folder.path(), plan(3, 2, "replicas = 3\ndelivery = \"unicast\""));
    for (mode, who) in [(0o604, "everybody"), (0o660, "its group")] {
        let mode = fs::Permissions::from_mode(mode);
        fs::set_permissions(folder.path().join("cluster.key"), mode).expect("it is ours");
        let output = Command::new("timeout")
            .args(["60", env!("CARGO_BIN_EXE_slotcast"), "serve", "--config"])
            .arg(folder.path().join("node-1.toml"))
            .stdin(Stdio::null())
            .output()
            .expect("it runs");
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{text}");
        for part in ["node-1.toml:4:7", who, "chmod 600"] {
            assert!(text.contains(part), "`{part}` is not in:\n{text}");
        }
    }
}
