//! What the nodes of a real cluster heard and did, played to members without any host.

use std::fs;

use slotcast_member::Tape;

use super::*;
use crate::cluster::map_text;

fn start(file: &NodeFile) -> Node {
    Node::join_taped(file, 4 << 20).expect("it starts")
}

fn tape(node: &Node) -> Tape {
    node.tape().expect("it is taped")
}

fn content(n: u32) -> Content {
    Content::of(Bytes::from(n.to_le_bytes().repeat(20_000 + 1000 * n as usize)))
}

fn wait(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..6000 {
        if holds() {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("not within a minute: {what}");
}

fn peers_up(node: &Node) -> usize {
    let snapshot = node.network().blocking_recv().expect("an answer").expect("a network");
    snapshot.peers.iter().filter(|peer| peer.is_up).count()
}

/// Takes another map into the file of all nodes, and has the nodes read it.
fn publish(base: &Path, nodes: &[Node], map: &ClusterMap) {
    fs::write(base.join("cluster.toml"), map_text(map)).expect("room");
    nodes.iter().for_each(Node::read_map_again);
}

/// Three nodes, puts and gets of each; one is drained and one dies and comes back. Then a member that is told what
/// each of them was told does what each of them did, to the last field.
#[test]
fn members_repeat_what_nodes_did() {
    let base = tempfile::tempdir().expect("a folder");
    let files = files(base.path());
    let mut map = ClusterMap { replicas: 2, group_size: 3, ..files[0].map.clone() };
    let files: Vec<NodeFile> =
        files.into_iter().map(|file| NodeFile { map: map.clone(), ..file }).collect();
    fs::write(base.path().join("cluster.toml"), map_text(&map)).expect("room");
    let mut nodes: Vec<Node> = files.iter().map(start).collect();
    nodes.iter().for_each(|node| wait("they hear each other", || peers_up(node) == 2));
    let put = |node: &Node, n| node.put(content(n)).blocking_recv().expect("an answer");
    for n in 0..12 {
        assert_eq!(put(&nodes[n as usize % 3], n), Ok(()), "{n}");
        let got = nodes[(n as usize + 1) % 3].get(content(n).chunk()).blocking_recv();
        assert_eq!(got.expect("an answer"), Ok(content(n)), "{n}");
    }
    assert!(nodes[0].get(ChunkId([7; 32])).blocking_recv().expect("an answer").is_err());

    // Node 1 dies with a put under way, and starts again over what is on its disk.
    let under_way = nodes[1].put(content(40));
    let mut tapes = vec![tape(&nodes[1])];
    drop(nodes.remove(1));
    drop(under_way);
    nodes.insert(1, start(&files[1]));
    nodes.iter().for_each(|node| wait("they hear each other again", || peers_up(node) == 2));

    // Node 2 leaves.
    map = ClusterMap { epoch: map.epoch + 1, ..map };
    map.nodes[2].membership = Membership::Draining;
    publish(base.path(), &nodes, &map);
    let has_handed_over = || {
        let snapshot = nodes[2].network().blocking_recv().expect("an answer").expect("a network");
        snapshot.membership.has_handed_over
    };
    wait("node 2 hands over", has_handed_over);
    for n in 0..12 {
        let got = nodes[0].get(content(n).chunk()).blocking_recv().expect("an answer");
        assert_eq!(got, Ok(content(n)), "{n}");
    }
    tapes.extend(nodes.iter().map(tape));
    drop(nodes);

    let mut kinds = std::collections::BTreeSet::new();
    for (n, tape) in tapes.iter().enumerate() {
        assert_eq!(tape.play(), Ok(()), "tape {n} of {} entries", tape.len());
        kinds.extend(tape.kinds().into_keys());
    }
    for kind in ["a request", "a datagram", "a transfer has left", "a disk operation has ended"] {
        assert!(kinds.contains(kind), "{kind} is on no tape: {kinds:?}");
    }
    for kind in ["a map", "its time has come"] {
        assert!(kinds.contains(kind), "{kind} is on no tape: {kinds:?}");
    }
    // Another member does not: one that has missed something, or waits for other times.
    let opened = tapes[1].first("a disk operation has ended").expect("its target has opened");
    let missed = tapes[1].clone().without(opened);
    let difference = missed.play().expect_err("it was never opened");
    assert!(difference.entry.is_some(), "{difference}");
    let mut other = tapes[1].config().clone();
    other.times.beat = other.times.beat * 2;
    assert!(tapes[1].play_to(other).is_err());
}
