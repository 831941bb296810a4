//! Nodes that may open few files, and more clients than that.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it has processes, files and sockets"
)]

#[allow(dead_code, reason = "each test file uses its own part")]
mod cluster;

use std::fs;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use cluster::{Cluster, Host, Plan, content, get, loopback_hosts, put};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::Value;

/// The beginning of a command that may open so many files.
fn with_limit(files: u64) -> Vec<String> {
    let script = format!("ulimit -n {files}; exec \"$0\" \"$@\"");
    ["sh", "-c", &script].map(str::to_owned).to_vec()
}

/// One node with nine targets in a process that may open so many files.
fn nine_targets(folder: &Path, files: u64) -> Cluster {
    let hosts = loopback_hosts(1).into_iter();
    let hosts = hosts.map(|host| Host { wrapper: with_limit(files), ..host }).collect();
    let settings = "failure_domain = \"target\"".into();
    Cluster::new(folder, Plan { nodes: 1, targets_per_node: 9, settings, hosts })
}

/// Longer than a busy machine takes: only a node that takes no requests does not answer by then.
const PATIENCE: Duration = Duration::from_secs(60);

/// The answer to a request on a connection of its own.
fn ask(node: &str, request: &[u8]) -> io::Result<String> {
    let mut stream = TcpStream::connect(node)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(request)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

fn request(line: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!(
        "{line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
    );
    [head.as_bytes(), body].concat()
}

fn states(status: &Value) -> Vec<&str> {
    let targets = status["targets"].as_array().expect("targets").iter();
    targets.map(|target| target["state"].as_str().expect("text")).collect()
}

#[test]
fn idle_connections_take_no_files_from_disks() {
    const CONNECTIONS: usize = 1130;
    let own = getrlimit(Resource::Nofile);
    if own.maximum.is_some_and(|most| most < CONNECTIONS as u64 + 200) {
        return eprintln!("skipped: this process may not have so many connections");
    }
    setrlimit(Resource::Nofile, Rlimit { current: own.maximum, ..own }).expect("a higher limit");

    let folder = tempfile::tempdir().expect("a folder");
    let mut cluster = nine_targets(folder.path(), 1024);
    cluster.start(0);
    let node = cluster.http(0);
    // A put that has begun before: the node reads its content by now.
    let body = content(3_000_000, 1);
    let mut begun = TcpStream::connect(&node).expect("it listens");
    begun.set_read_timeout(Some(PATIENCE)).expect("a time");
    let expect =
        b"PUT /v1/content HTTP/1.1\r\nHost: x\r\nConnection: close\r\nExpect: 100-continue\r\n";
    begun.write_all(expect).expect("it is read");
    begun.write_all(b"Content-Length: 3000000\r\n\r\n").expect("it is read");
    let mut go_on = [0; 25];
    begun.read_exact(&mut go_on).expect("an answer");
    assert_eq!(&go_on, b"HTTP/1.1 100 Continue\r\n\r\n");
    let connect = |_| TcpStream::connect(&node).expect("it listens");
    let idle: Vec<TcpStream> = (0..CONNECTIONS).map(connect).collect();

    begun.write_all(&body).expect("it is read");
    let mut answer = String::new();
    begun.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let body = content(3_000_000, 2);
    let answer = ask(&node, &request("PUT /v1/content", &body)).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let metrics = ask(&node, &request("GET /metrics", b"")).expect("an answer");
    assert!(metrics.contains("slotcast_target_writable{target=\"8\"} 1"), "{metrics}");
    assert_eq!(states(&cluster.status(0)), ["open"; 9]);
    let stored = put(&cluster, 0, &content(2_000_000, 2)).expect("it is stored");
    assert!(get(&cluster, 0, &stored) == content(2_000_000, 2));
    assert!(cluster.logged(0, "disk operation waits").is_empty());
    assert!(!cluster.logged(0, "http connections exhausted").is_empty());

    drop(idle);
    let more = put(&cluster, 0, &content(2_000_000, 3)).expect("it is stored");
    assert!(get(&cluster, 0, &more) == content(2_000_000, 3));
    assert!(get(&cluster, 0, &stored) == content(2_000_000, 2));
    assert_eq!(states(&cluster.status(0)), ["open"; 9]);
}

/// What is said to be needed is needed, and is enough.
#[test]
fn a_node_that_may_open_too_few_files_says_how_many_it_needs() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let start = |files: u64| {
        let [sh, rest @ ..] = &with_limit(files)[..] else { unreachable!("a command") };
        let mut command = Command::new(sh);
        // One that starts nevertheless is ended.
        command.args(rest).args(["timeout", "60", env!("CARGO_BIN_EXE_slotcast")]);
        command.args(["serve", "--s3", "off", "--listen", "127.0.0.1:0", "--data"]).arg(&data);
        command.output().expect("it runs")
    };
    let refused = start(40);
    let text = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{text}");
    assert!(text.contains("9 targets and 16 connections need"), "{text}");
    assert!(text.contains("and the limit is 40"), "{text}");
    assert!(text.contains("`ulimit -n ") && text.contains("LimitNOFILE="), "{text}");
    assert!(!data.exists(), "nothing was made");
    let needed = text.split("need ").nth(1).and_then(|rest| rest.split(' ').next());
    let needed: u64 = needed.and_then(|n| n.parse().ok()).expect("a number");

    let refused = start(needed - 1);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    // A node of a cluster has sockets for that as well; this one is alone in its cluster.
    let mut cluster = nine_targets(folder.path(), needed + 30);
    let path = folder.path().join("node-0.toml");
    let file = fs::read_to_string(&path).expect("it is there");
    fs::write(&path, format!("idle_timeout = \"5s\"\n{file}")).expect("room");
    cluster.start(0);
    for seed in 0..3 {
        let stored = put(&cluster, 0, &content(2_000_000, seed)).expect("it is stored");
        assert!(get(&cluster, 0, &stored) == content(2_000_000, seed));
    }
    assert_eq!(states(&cluster.status(0)), ["open"; 9]);
    assert!(cluster.logged(0, "disk operation waits").is_empty());
}
