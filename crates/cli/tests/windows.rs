//! What becomes of the windows of targets, as a node tells those who watch.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it has clocks, processes and sockets"
)]

#[allow(dead_code, reason = "each test file uses its own part")]
mod served;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use served::{PATIENCE, Served, content};

fn start(folder: &tempfile::TempDir) -> Served {
    Served::start(&folder.path().join("data"), &["--targets", "5", "--replicas", "2"])
}

/// Somebody who watches windows.
struct Watching(BufReader<TcpStream>);

impl Watching {
    fn begin(served: &Served) -> (Watching, u16) {
        let mut stream = served.connect();
        write!(stream, "GET /v1/events HTTP/1.1\r\nHost: x\r\n\r\n").expect("it is read");
        let mut lines = BufReader::new(stream);
        let mut first = String::new();
        lines.read_line(&mut first).expect("an answer");
        let status = first.split(' ').nth(1).and_then(|text| text.parse().ok()).expect("a status");
        (Watching(lines), status)
    }

    /// What is told next; none at the end.
    fn next(&mut self) -> Option<Value> {
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).expect("more, or the end") == 0 {
                return None;
            }
            if let Some(data) = line.strip_prefix("data: ") {
                return Some(serde_json::from_str(data).expect("JSON"));
            }
        }
    }
}

#[test]
fn windows_are_told_from_bid_to_use() {
    let folder = tempfile::tempdir().expect("a folder");
    let served = start(&folder);
    let (mut watching, status) = Watching::begin(&served);
    assert_eq!(status, 200);
    let quiet = watching.next().expect("something is said though nothing happens");
    assert_eq!(quiet["events"], serde_json::json!([]));
    let answer = served.ask("PUT /v1/content?chunk_size=65536", "", &content(300_000, 5));
    assert_eq!(answer.status(), 200, "{answer:?}");
    let address = answer.json()["address"].as_str().expect("an address").to_owned();
    let mut states: BTreeMap<(i64, i64, i64, i64), Vec<i64>> = BTreeMap::new();
    let mut has_asked = false;
    let count = |states: &BTreeMap<_, Vec<i64>>, outgoing: i64| {
        let of = |(key, states): (&(i64, i64, i64, i64), &Vec<i64>)| {
            (key.1 == outgoing && states.ends_with(&[2])).then_some(())
        };
        states.iter().filter_map(of).count()
    };
    // Five chunks and their list on two targets each; then each is read once.
    while count(&states, 0) < 12 || count(&states, 1) < 6 {
        let told = watching.next().expect("it goes on");
        assert_eq!(told["left_out"], 0);
        for event in told["events"].as_array().expect("a list") {
            let number = |at: usize| event[at].as_i64().expect("a number");
            assert!((0..5).contains(&number(1)), "{event}");
            assert!(number(6) < number(7), "a window has a length: {event}");
            assert!(number(9) > 0 && number(9) <= 65536, "bytes of a chunk: {event}");
            states.entry((number(1), number(2), number(4), number(5))).or_default().push(number(0));
        }
        if count(&states, 0) >= 12 && !has_asked {
            has_asked = true;
            assert_eq!(served.ask(&format!("GET /v1/content/{address}"), "", b"").status(), 200);
        }
    }
    for (key, states) in &states {
        // A chunk that was read too late for its window leaves in another one.
        let follows = |pair: &[i64]| matches!(pair, [0, 1 | 3] | [1, 2 | 3] | [3, 1]);
        let is_right = states[0] == 0 && states.windows(2).all(follows);
        assert!(is_right, "{key:?}: {states:?}");
    }
    // Each is counted when the last byte of its answer has gone.
    let begun = Instant::now();
    loop {
        let requests = &served.ask("GET /v1/status", "", b"").json()["requests"];
        let sum = |kind: &str| -> u64 {
            let buckets = requests[kind]["buckets"].as_array().expect("a list");
            buckets.iter().map(|n| n.as_u64().expect("a number")).sum()
        };
        let counts = (sum("put"), sum("get"));
        if counts == (1, 1) {
            return;
        }
        assert!(counts.0 <= 1 && counts.1 <= 1, "{counts:?}");
        assert!(begun.elapsed() < PATIENCE, "{counts:?}");
    }
}

#[test]
fn watchers_have_a_bound_and_hold_up_no_stop() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut served = start(&folder);
    let mut watching: Vec<_> = (0..16).map(|_| Watching::begin(&served)).collect();
    assert!(watching.iter().all(|(_, status)| *status == 200));
    assert_eq!(Watching::begin(&served).1, 503);
    // The place of one that goes is free soon.
    drop(watching.pop());
    let begun = Instant::now();
    let last = loop {
        let (watching, status) = Watching::begin(&served);
        if status == 200 {
            break watching;
        }
        assert!(begun.elapsed() < PATIENCE, "it is never free");
    };
    watching.push((last, 200));
    let pid = Pid::from_raw(i32::try_from(served.process.id()).expect("a number")).expect("not 0");
    kill_process(pid, Signal::TERM).expect("it runs");
    assert!(served.process.wait().expect("it ends").success());
    for (mut watching, _) in watching {
        while watching.next().is_some() {}
    }
    let log = std::fs::read_to_string(folder.path().join("data.log")).expect("a log");
    assert!(!log.contains("broken off"), "{log}");
}
