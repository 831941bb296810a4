//! A cluster over a network that is slow and loses datagrams: network namespaces on a bridge, with a token
//! bucket on every link, random loss, and real IP multicast. It takes the rights of the super-user; where
//! they are missing the test says so and does nothing.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it has processes, files and sockets"
)]

#[allow(dead_code, reason = "each test file uses its own part")]
mod cluster;

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use cluster::{Cluster, Host, Plan, content, get, put, survives_a_kill_and_a_pause};

const NODES: u32 = 4;

/// Namespaces `prefix-0` and so on, joined by a bridge in one of their own; gone when dropped.
struct Bridge {
    prefix: String,
}

fn run(command: &str) -> Result<(), String> {
    let mut words = command.split(' ');
    let output = Command::new(words.next().unwrap_or_default())
        .args(words)
        .output()
        .map_err(|error| format!("`{command}`: {error}"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(format!("`{command}`: {}", text.trim())) }
}

impl Bridge {
    fn build(name: &str) -> Result<Bridge, String> {
        let bridge = Bridge { prefix: format!("slc{}{name}", std::process::id()) };
        let prefix = &bridge.prefix;
        run(&format!("ip netns add {prefix}-b"))?;
        run(&format!("ip -n {prefix}-b link add bridge type bridge mcast_snooping 0"))?;
        run(&format!("ip -n {prefix}-b link set bridge up"))?;
        for n in 0..NODES {
            let space = format!("{prefix}-{n}");
            run(&format!("ip netns add {space}"))?;
            run(&format!(
                "ip -n {space} link add eth0 type veth peer name port{n} netns {prefix}-b"
            ))?;
            run(&format!("ip -n {prefix}-b link set port{n} master bridge up"))?;
            run(&format!("ip -n {space} addr add 10.77.0.{}/24 dev eth0", n + 1))?;
            run(&format!("ip -n {space} link set eth0 up"))?;
            run(&format!("ip -n {space} link set lo up"))?;
            let within = format!("ip netns exec {space}");
            run(&format!(
                "{within} tc qdisc add dev eth0 root tbf rate 400mbit burst 128kb latency 50ms"
            ))?;
            run(&format!("{within} nft add table inet loss"))?;
            run(&format!(
                "{within} nft add chain inet loss in {{ type filter hook input priority 0; }}"
            ))?;
            run(&format!(
                "{within} nft add rule inet loss in udp dport 1024-65535 numgen random mod 1000 < 15 drop"
            ))?;
        }
        Ok(bridge)
    }

    /// The link of a node becomes this slow, in both directions.
    fn slow(&self, n: u32, rate: &str) {
        let prefix = &self.prefix;
        let shape = format!("root tbf rate {rate} burst 32kb latency 50ms");
        run(&format!("ip netns exec {prefix}-{n} tc qdisc replace dev eth0 {shape}")).expect("tc");
        run(&format!("ip netns exec {prefix}-b tc qdisc replace dev port{n} {shape}")).expect("tc");
    }

    fn host(&self, n: u32) -> Host {
        let space = format!("{}-{n}", self.prefix);
        Host {
            udp: format!("10.77.0.{}:7481", n + 1),
            http: "127.0.0.1:7480".into(),
            wrapper: ["ip", "netns", "exec", &space].map(str::to_owned).to_vec(),
        }
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        for name in (0..NODES).map(|n| n.to_string()).chain(["b".into()]) {
            // What was not built cannot be taken down.
            let _ = run(&format!("ip netns del {}-{name}", self.prefix));
        }
    }
}

/// A bridge and a cluster of twelve targets on it; none where the machine allows no namespaces.
fn cluster(name: &str, delivery: &str, folder: &Path) -> Option<(Bridge, Cluster)> {
    let bridge = match Bridge::build(name) {
        Ok(bridge) => bridge,
        Err(error) => {
            eprintln!("skipped, this machine allows no network namespaces: {error}");
            return None;
        }
    };
    let settings = format!(
        "data_rate = \"300Mbps\"\ngroup_size = 12\ndelivery = \"{delivery}\"\n\
         multicast = \"239.77.0.0:7482\""
    );
    let hosts = (0..NODES).map(|n| bridge.host(n)).collect();
    let plan = Plan { nodes: NODES, targets_per_node: 3, settings, hosts };
    Some((bridge, Cluster::new(folder, plan)))
}

/// The nodes that `node` reaches by multicast.
fn reached(cluster: &Cluster, node: usize) -> Vec<u64> {
    let status = cluster.status(node);
    let peers = status["network"]["peers"].as_array().expect("peers");
    let reached = peers.iter().filter(|peer| peer["multicast_groups"] == 1);
    reached.map(|peer| peer["node"].as_u64().expect("a number")).collect()
}

fn survives(delivery: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let Some((_bridge, mut cluster)) = cluster(delivery, delivery, folder.path()) else { return };
    cluster.start_all();
    // The probes have found out that the bridge forwards multicast.
    for node in 0..NODES as usize {
        cluster.wait(&format!("node {node} reaches the others by multicast"), || {
            reached(&cluster, node).len() == 3
        });
    }
    survives_a_kill_and_a_pause(&mut cluster);
    assert!(cluster.counted("pieces_repeated") > 0, "pieces were lost, and repeated");
}

#[test]
fn chunks_by_multicast_survive_loss_a_kill_and_a_pause() {
    survives("multicast");
}

#[test]
fn chunks_by_unicast_survive_loss_a_kill_and_a_pause() {
    survives("unicast");
}

#[test]
fn a_node_that_hears_no_multicast_is_sent_everything_by_itself() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some((bridge, mut cluster)) = cluster("deaf", "multicast", folder.path()) else { return };
    let within = format!("ip netns exec {}-1", bridge.prefix);
    let rule = "nft insert rule inet loss in ip daddr 224.0.0.0/4 drop";
    run(&format!("{within} {rule}")).expect("as the other rules");
    cluster.start_all();
    for node in [0, 2, 3] {
        let others: Vec<u64> = [0, 2, 3].into_iter().filter(|other| *other != node).collect();
        cluster.wait(&format!("node {node} reaches {others:?} by multicast"), || {
            reached(&cluster, node as usize) == others
        });
    }
    for n in 0..4 {
        let content = content(1_500_000, n);
        let address = put(&cluster, n as usize, &content).expect("it is stored");
        for node in 0..4 {
            assert!(get(&cluster, node, &address) == content, "{address} at node {node}");
        }
    }
    let chunks = cluster.status(1)["network"]["counters"]["chunks_received"].as_u64();
    assert!(chunks > Some(0), "it took its part: {chunks:?}");
    assert!(!reached(&cluster, 0).contains(&1));
}

#[test]
fn puts_and_gets_go_on_when_multicast_stops() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some((bridge, mut cluster)) = cluster("stop", "multicast", folder.path()) else { return };
    cluster.start_all();
    cluster.wait("node 0 reaches the others by multicast", || reached(&cluster, 0).len() == 3);
    for node in 0..NODES {
        let within = format!("ip netns exec {}-{node}", bridge.prefix);
        let rule = "nft insert rule inet loss in ip daddr 224.0.0.0/4 drop";
        run(&format!("{within} {rule}")).expect("as the other rules");
    }
    let start = Instant::now();
    let content = content(200_000, 1);
    let address = put(&cluster, 0, &content).expect("it is stored");
    assert!(get(&cluster, 2, &address) == content, "{address}");
    let took = start.elapsed();
    eprintln!("a put and a get while multicast stops: {took:?}");
    // Less than a second on a machine that has nothing else to do.
    assert!(took < Duration::from_secs(4), "{took:?}");
    cluster.wait("node 0 knows that nobody hears it", || reached(&cluster, 0).is_empty());
}

#[test]
fn a_node_with_a_slow_link_is_passed_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some((bridge, mut cluster)) = cluster("slow", "unicast", folder.path()) else { return };
    bridge.slow(3, "10mbit");
    cluster.start_all();
    let put_all = |numbers: std::ops::Range<u32>| {
        for n in numbers {
            let content = content(200_000, n);
            put(&cluster, (n % 3) as usize, &content).expect("it is stored");
        }
        [0, 1, 2, 3].map(|node| cluster.held(node))
    };
    // Nobody knows it before some chunks have gone there.
    let before = put_all(0..150);
    let after = put_all(150..250);
    let taken: Vec<u64> = before.iter().zip(after).map(|(before, after)| after - before).collect();
    eprintln!("chunks by node: {before:?}, then {taken:?}");
    let all: u64 = taken.iter().sum();
    assert!(all >= 300 && taken[3] * 8 < all, "half of an even share at most: {taken:?}");
}
