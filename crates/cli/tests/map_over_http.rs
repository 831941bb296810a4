//! The cluster map over HTTP: shown by every node, changed where it is in etcd, as the page of a node does.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it has processes, files and sockets"
)]

#[allow(dead_code, reason = "each test file uses its own part")]
mod cluster;
#[allow(dead_code, reason = "each test file uses its own part")]
mod served;

use std::io::{Read, Write};
use std::net::TcpStream;

use cluster::etcd::Etcd;
use cluster::{Cluster, content, get, put};
use serde_json::{Value, json};
use served::Served;

/// The status of an answer of `node`, and what it says.
fn ask(cluster: &Cluster, node: usize, line: &str, body: &str) -> (u16, Value) {
    let mut stream = TcpStream::connect(cluster.http(node)).expect("it listens");
    let length = body.len();
    let head = "Host: x\r\nConnection: close\r\nContent-Type: application/json";
    write!(stream, "{line} HTTP/1.1\r\n{head}\r\nContent-Length: {length}\r\n\r\n{body}")
        .expect("it takes requests");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("text");
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
    let (_, json) = answer.split_once("\r\n\r\n").expect("a body");
    (status.expect("a status"), serde_json::from_str(json).expect("JSON"))
}

fn state(map: &Value, node: usize) -> &str {
    map["nodes"][node]["state"].as_str().expect("a state")
}

#[test]
fn a_map_in_etcd_is_changed_by_any_node() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(etcd) = Etcd::start(folder.path()) else { return };
    let cluster = Cluster::of_three(folder.path(), Some(&etcd));
    let stored = content(300_000, 5);
    let address = put(&cluster, 0, &stored).expect("it is stored");
    let (status, map) = ask(&cluster, 0, "GET /v1/map", "");
    assert_eq!((status, &map["can_change"]), (200, &json!(true)));
    assert_eq!((state(&map, 1), map["source"].as_str()), ("active", Some(etcd.map().as_str())));

    // Any node does it: also one for itself, or for another.
    let (status, map) = ask(&cluster, 2, "PATCH /v1/map/nodes/1", r#"{"state": "draining"}"#);
    assert_eq!((status, state(&map, 1)), (200, "draining"), "{map}");
    cluster.wait("node 1 is drained", || {
        state(&ask(&cluster, 0, "GET /v1/map", "").1, 1) == "drained"
    });
    let (status, map) = ask(&cluster, 0, "PATCH /v1/map/nodes/1", r#"{"state": "removed"}"#);
    assert_eq!((status, map["nodes"].as_array().map(Vec::len)), (200, Some(2)), "{map}");
    assert!(get(&cluster, 0, &address) == stored);

    // What would lose something is refused with what helps, and nothing changes.
    let (status, refused) = ask(&cluster, 0, "PATCH /v1/map/nodes/2", r#"{"state": "draining"}"#);
    assert_eq!(status, 409, "{refused}");
    let error = refused["error"].as_str().expect("an error");
    assert!(error.contains("failure domains for 2 replicas; let another node join"), "{error}");
    let (status, refused) = ask(&cluster, 0, "PATCH /v1/map/nodes/2", r#"{"state": "removed"}"#);
    assert_eq!(status, 409, "{refused}");

    let new = r#"{"address": "127.0.0.1:9", "targets": 2}"#;
    let (status, joined) = ask(&cluster, 0, "POST /v1/map/nodes", new);
    assert_eq!((status, &joined["state"]), (201, &json!("joining")), "{joined}");
    assert_eq!(joined["targets"].as_array().map(Vec::len), Some(2), "{joined}");
    let (status, again) = ask(&cluster, 0, "POST /v1/map/nodes", new);
    assert_eq!(status, 409, "{again}");
    assert!(again["error"].as_str().is_some_and(|error| error.contains("is the address of node")));
}

#[test]
fn a_map_in_a_file_is_shown_with_what_to_type() {
    let folder = tempfile::tempdir().expect("a folder");
    let cluster = Cluster::of_three(folder.path(), None);
    let (status, map) = ask(&cluster, 1, "GET /v1/map", "");
    assert_eq!((status, &map["can_change"]), (200, &json!(false)));
    assert_eq!(map["nodes"].as_array().map(Vec::len), Some(3));
    let (status, refused) = ask(&cluster, 1, "PATCH /v1/map/nodes/2", r#"{"state": "draining"}"#);
    assert_eq!(status, 409, "{refused}");
    let error = refused["error"].as_str().expect("an error");
    assert!(error.contains("slotcast cluster --map") && error.contains("SIGHUP"), "{error}");
    assert_eq!(state(&ask(&cluster, 1, "GET /v1/map", "").1, 2), "active");
}

#[test]
fn a_cluster_in_one_process_has_no_map_to_change() {
    let folder = tempfile::tempdir().expect("a folder");
    let few = ["--targets", "3", "--replicas", "2"];
    let served = Served::start(&folder.path().join("data"), &few);
    for (line, body) in [
        ("GET /v1/map", ""),
        ("POST /v1/map/nodes", r#"{"address": "127.0.0.1:1", "targets": 1}"#),
        ("PATCH /v1/map/nodes/0", r#"{"state": "draining"}"#),
    ] {
        let answer = served.ask(line, "", body.as_bytes());
        assert_eq!(answer.status(), 404, "{line}: {answer:?}");
        assert!(answer.error().contains("one process"), "{answer:?}");
    }
    let wrong = served.ask("PATCH /v1/map/nodes/0", "", br#"{"state": "gone"}"#);
    assert_eq!(wrong.status(), 400, "{wrong:?}");
}
