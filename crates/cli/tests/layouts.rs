//! Nodes whose cluster maps place chunks differently: none starts unnoticed, and those that run do not believe each
//! other.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it has processes, files and sockets"
)]

#[allow(dead_code, reason = "each test file uses its own part")]
mod cluster;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use cluster::{Cluster, Plan, content, get, loopback_hosts, put};

fn slotcast(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_slotcast"));
    command.args(arguments).stdin(Stdio::null()).output().expect("it runs")
}

fn edit(path: &Path, edit: impl Fn(&str) -> String) {
    let text = fs::read_to_string(path).expect("it is there");
    let edited = edit(&text);
    assert_ne!(edited, text, "{}", path.display());
    fs::write(path, edited).expect("room");
}

/// What a node that must not start says.
fn refused_start(config: &str) -> String {
    let mut process = Command::new(env!("CARGO_BIN_EXE_slotcast"))
        .args(["serve", "--config", config])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut line = String::new();
    let out = process.stdout.as_mut().expect("a pipe");
    BufReader::new(out).read_line(&mut line).expect("text");
    if !line.is_empty() {
        process.kill().expect("it runs");
    }
    let output = process.wait_with_output().expect("it ends");
    assert_eq!((line.as_str(), output.status.code()), ("", Some(2)), "{output:?}");
    String::from_utf8(output.stderr).expect("text")
}

/// A second node doubles the targets, and every target of the first one keeps its seat: only the layout as a whole
/// shows that chunks are in other groups.
#[test]
fn a_start_with_another_layout_is_refused_until_somebody_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = "failure_domain = \"target\"\ngroup_size = 4".into();
    let hosts = loopback_hosts(2);
    let plan = Plan { nodes: 1, targets_per_node: 4, settings, hosts: hosts[..1].to_vec() };
    let mut cluster = Cluster::new(folder.path(), plan);
    let map = folder.path().join("cluster.toml");
    let config = folder.path().join("node-0.toml").display().to_string();
    cluster.start(0);
    let bytes = content(200_000, 1);
    let address = put(&cluster, 0, &bytes).expect("it is stored");
    cluster.kill(0);

    let before = fs::read_to_string(&map).expect("it is there");
    let more = |text: &str| {
        let udp = &hosts[1].udp;
        format!("{text}\n[[node]]\nnumber = 1\naddress = \"{udp}\"\ntargets = [4, 5, 6, 7]\n")
    };
    for epoch in [1, 2] {
        let later = before.replace("epoch = 1", &format!("epoch = {epoch}"));
        fs::write(&map, more(&later)).expect("room");
        let told = refused_start(&config);
        assert!(told.contains("another layout") && told.contains("2 negotiating groups"), "{told}");
        assert!(told.contains("slotcast target accept-layout"), "{told}");
    }
    // With the map as it was all is as it was.
    fs::write(&map, &before).expect("room");
    cluster.start(0);
    assert!(get(&cluster, 0, &address) == bytes);
    cluster.kill(0);

    // As many groups, and an epoch that has had another layout already.
    let one_group = |text: &str| more(&text.replace("group_size = 4", "group_size = 8"));
    fs::write(&map, one_group(&before)).expect("room");
    let told = refused_start(&config);
    assert!(told.contains("of epoch 1 has layout") && told.contains("epoch = 2"), "{told}");
    edit(&map, |text| text.replace("epoch = 1", "epoch = 2"));
    cluster.start(0);
    let again = slotcast(&["target", "accept-layout", "--config", &config]);
    assert!(!again.status.success(), "the node runs: {again:?}");
    cluster.kill(0);

    // Whoever insists may begin with anything, once.
    fs::write(&map, &before).expect("room");
    let told = refused_start(&config);
    assert!(told.contains("of epoch 2"), "{told}");
    let accepted = slotcast(&["target", "accept-layout", "--config", &config]);
    assert!(accepted.status.success(), "{accepted:?}");
    cluster.start(0);
    assert!(get(&cluster, 0, &address) == bytes);
    cluster.kill(0);
    fs::write(&map, one_group(&before)).expect("room");
    assert!(refused_start(&config).contains("of epoch 1 has layout"));
}

/// A peer of `node`, as that shows it.
fn peer(cluster: &Cluster, node: usize, other: u64) -> serde_json::Value {
    let status = cluster.status(node);
    let mut peers = status["network"]["peers"].as_array().expect("peers").iter();
    peers.find(|peer| peer["node"] == other).expect("it is in the map").clone()
}

/// One of three nodes has a map in which the others have changed their seats, and nobody has raised the epoch.
#[test]
fn nodes_of_different_layouts_do_not_believe_each_other_and_say_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = "replicas = 2\ndata_rate = \"2Gbps\"".into();
    let plan = Plan { nodes: 3, targets_per_node: 1, settings, hosts: loopback_hosts(3) };
    let mut cluster = Cluster::new(folder.path(), plan);
    let map = fs::read_to_string(folder.path().join("cluster.toml")).expect("it is there");
    let other = folder.path().join("other.toml");
    fs::write(&other, format!("{map}\n[[group]]\nseats = [1, 0, 2]\n")).expect("room");
    let config = folder.path().join("node-2.toml");
    edit(&config, |text| text.replace("cluster.toml", "other.toml"));
    (0..3).for_each(|node| cluster.start(node));
    cluster.wait_for_peers(0, 1);
    cluster.wait_for_peers(1, 1);
    for (node, others) in [(0, &[2][..]), (1, &[2]), (2, &[0, 1])] {
        for other in others {
            let refused = || peer(&cluster, node, *other)["refused"] == "layout";
            cluster.wait(&format!("node {node} refuses node {other}"), refused);
            let peer = peer(&cluster, node, *other);
            assert_eq!(peer["state"], "down", "{peer}");
            assert!(peer["remedy"].as_str().expect("text").contains("epoch = 2"), "{peer}");
        }
        let logged = cluster.logged(node, "peer not believed");
        assert_eq!((logged.len(), &logged[0]["level"]), (others.len(), &"ERROR".into()));
        assert_eq!(logged[0]["reason"], "layout");
        let told = cluster.says(node, &["status"]);
        assert!(told.contains("is not believed: it has layout"), "{told}");
    }
    let metrics = cluster.metrics(0);
    for line in [
        "slotcast_peer_up{peer=\"2\"} 0",
        "slotcast_peer_refused{peer=\"2\",reason=\"layout\"} 1",
        "slotcast_peer_refused{peer=\"1\",reason=\"layout\"} 0",
    ] {
        assert!(metrics.contains(line), "`{line}` is not in:\n{metrics}");
    }
    // Two of three go on; the third one alone acknowledges nothing.
    let bytes = content(300_000, 1);
    let address = put(&cluster, 0, &bytes).expect("two nodes agree");
    assert!(get(&cluster, 1, &address) == bytes);
    assert_eq!(put(&cluster, 2, &content(300_000, 2)), None);
    let absent = cluster.run(2, &["get", &address]);
    let told = String::from_utf8_lossy(&absent.stderr).into_owned();
    assert!(!absent.status.success() && !told.contains("is not stored here"), "{told}");

    // Somebody gives it the map of the others. It has used its target with another layout of that epoch.
    cluster.kill(2);
    fs::copy(folder.path().join("cluster.toml"), &other).expect("room");
    let config = config.display().to_string();
    assert!(refused_start(&config).contains("of epoch 1 has layout"));
    assert!(slotcast(&["target", "accept-layout", "--config", &config]).status.success());
    cluster.start(2);
    (0..3).for_each(|node| cluster.wait_for_peers(node, 2));
    assert!(get(&cluster, 2, &address) == bytes);
    assert_eq!(peer(&cluster, 0, 2)["refused"], serde_json::Value::Null);
    assert_eq!(peer(&cluster, 0, 2)["version"], 4);
}
