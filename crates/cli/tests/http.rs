//! What a node answers over HTTP, and what the command line makes of it.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it has clocks, processes, files and sockets"
)]

#[allow(dead_code, reason = "each test file uses its own part")]
mod served;

use std::fs;
use std::io::Write;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use served::{PATIENCE, Served, content};

const FEW: [&str; 4] = ["--targets", "3", "--replicas", "2"];

fn start(folder: &tempfile::TempDir, more: &[&str]) -> Served {
    Served::start(&folder.path().join("data"), &[&FEW, more].concat())
}

fn put(served: &Served, query: &str, body: &[u8]) -> String {
    let answer = served.ask(&format!("PUT /v1/content{query}"), "", body);
    assert_eq!(answer.status(), 200, "{answer:?}");
    answer.json()["address"].as_str().expect("an address").to_owned()
}

fn refusal(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn every_error_is_json_and_names_what_is_wrong() {
    let folder = tempfile::tempdir().expect("a folder");
    let served = start(&folder, &[]);
    let absent = format!("chunk-{}", "0".repeat(64));
    for (line, status, says) in [
        ("PUT /v1/content?chunksize=4096", 400, "`chunksize`"),
        ("PUT /v1/content?chunk_size=x", 400, "chunk_size"),
        ("PUT /v1/content?replicas=2&replicas=3", 400, "`replicas`"),
        (&format!("GET /v1/content/{absent}?range=1"), 400, "`range`"),
        (&format!("GET /v1/content/{absent}/chunks?all"), 400, "`all`"),
        ("GET /v1/status?verbose=1", 400, "`verbose`"),
        ("GET /metrics?x=1", 400, "`x`"),
        ("GET /v1/content/nonsense", 400, "not an address"),
        ("GET /v1/content/%ff", 400, ""),
        (&format!("GET /v1/content/{absent}"), 404, "is not stored here"),
        ("GET /v3/content", 404, "/v3/content"),
        ("DELETE /v1/content", 405, "DELETE"),
        ("PUT /metrics", 405, "PUT"),
    ] {
        let answer = served.ask(line, "", b"");
        assert_eq!(answer.status(), status, "{line}: {answer:?}");
        assert!(answer.head.contains("content-type: application/json"), "{answer:?}");
        assert!(answer.error().contains(says), "{line}: {answer:?}");
    }
}

#[test]
fn parts_of_content_are_got_and_known_content_is_not_sent() {
    let folder = tempfile::tempdir().expect("a folder");
    let served = start(&folder, &[]);
    let all = content(100_000, 1);
    for (query, body) in [("?chunk_size=4096", &all[..]), ("", &all[..4000]), ("", &[])] {
        let address = put(&served, query, body);
        let line = format!("GET /v1/content/{address}");
        let whole = served.ask(&line, "", b"");
        assert_eq!((whole.status(), &whole.body[..]), (200, body));
        assert!(whole.head.contains("accept-ranges: bytes"), "{}", whole.head);
        assert!(whole.head.contains(&format!("etag: \"{address}\"")), "{}", whole.head);
        let length = body.len();
        for (begin, end) in [(0, 1), (4095, 4097), (4096, 8192), (50_000, length), (0, length)] {
            if begin >= end || end > length {
                continue;
            }
            let range = format!("Range: bytes={begin}-{}\r\n", end - 1);
            let part = served.ask(&line, &range, b"");
            assert_eq!((part.status(), &part.body[..]), (206, &body[begin..end]), "{range}");
            let told = format!("content-range: bytes {begin}-{}/{length}", end - 1);
            assert!(part.head.contains(&told), "{}", part.head);
            assert!(part.head.contains(&format!("content-length: {}", end - begin)));
        }
        let none = served.ask(&line, &format!("Range: bytes={length}-\r\n"), b"");
        assert_eq!(none.status(), 416);
        assert!(none.head.contains(&format!("content-range: bytes */{length}")), "{}", none.head);
        assert!(none.error().contains(&length.to_string()));
        let known = served.ask(&line, &format!("If-None-Match: \"{address}\"\r\n"), b"");
        assert_eq!((known.status(), known.body.len()), (304, 0));
        let other = served.ask(&line, "If-None-Match: \"x\"\r\nIf-Range: \"x\"\r\n", b"");
        assert_eq!((other.status(), &other.body[..]), (200, body));
        let head = served.ask(&line.replace("GET", "HEAD"), "", b"");
        assert_eq!((head.status(), head.body.len()), (200, 0));
        assert!(head.head.contains(&format!("content-length: {length}")), "{}", head.head);
    }
}

#[test]
fn metrics_tell_of_requests_room_and_replicas() {
    let folder = tempfile::tempdir().expect("a folder");
    let served = start(&folder, &[]);
    put(&served, "", &content(5000, 1));
    assert_eq!(served.ask("GET /v1/content/nonsense", "", b"").status(), 400);
    // A request counts when its answer has gone out, a moment before it arrives or after.
    let begun = Instant::now();
    loop {
        let text = String::from_utf8(served.ask("GET /metrics", "", b"").body).expect("text");
        let wanted = [
            "slotcast_http_requests_total{method=\"PUT\",status=\"200\"} 1",
            "slotcast_http_requests_total{method=\"GET\",status=\"400\"} 1",
            "slotcast_http_request_duration_seconds_count{method=\"PUT\"} 1",
            "slotcast_http_connections ",
            "slotcast_http_body_memory_bytes 0",
            "slotcast_target_free_bytes{target=\"2\"} ",
            "slotcast_target_under_replicated_chunks{target=\"2\"} ",
            "\nslotcast_under_replicated_chunks 0\n",
        ];
        match wanted.iter().find(|line| !text.contains(**line)) {
            None => break,
            Some(line) => assert!(begun.elapsed() < PATIENCE, "{line}: {text}"),
        }
    }
}

/// It has sent a lot by then, and nobody takes in the rest.
#[test]
fn a_put_that_is_refused_on_the_way_says_why() {
    let folder = tempfile::tempdir().expect("a folder");
    let served = start(&folder, &["--body-size", "1MiB"]);
    let large = folder.path().join("large");
    // More than the node takes in before it closes: it has holes, and takes no room.
    let file = fs::File::create(&large).and_then(|file| file.set_len(1 << 40));
    file.expect("a file system with holes");
    let large = large.to_str().expect("UTF-8");
    for _ in 0..2 {
        let text = refusal(&served.run(&["put", large]));
        assert!(text.contains("at most 1048576 bytes") && text.contains("413"), "{text}");
        assert!(!text.contains("is it running?"), "{text}");
    }
    served.says(&["put", "Cargo.toml"]);
}

#[test]
fn a_file_that_changes_while_it_is_put_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let served = start(&folder, &["--disk-rate", "20MB/s"]);
    let path = folder.path().join("file");
    fs::write(&path, content(40_000_000, 1)).expect("room");
    let putting = Command::new(env!("CARGO_BIN_EXE_slotcast"))
        .arg("put")
        .arg(&path)
        .env("SLOTCAST_NODE", &served.node)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    // It has begun when chunks of it are there.
    let begun = Instant::now();
    let chunks = || {
        let status = served.ask("GET /v1/status", "", b"").json();
        let targets = status["targets"].as_array().expect("targets").clone();
        targets.iter().map(|target| target["chunks"].as_u64().expect("a number")).sum::<u64>()
    };
    while chunks() == 0 {
        assert!(begun.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(1));
    }
    let mut file = fs::OpenOptions::new().append(true).open(&path).expect("it is there");
    file.write_all(b"more").expect("room");
    let output = putting.wait_with_output().expect("it ends");
    let text = refusal(&output);
    assert!(text.contains("changed while it was put"), "{text}");
    assert!(output.stdout.is_empty(), "{output:?}");
    served.says(&["put", path.to_str().expect("UTF-8")]);
}

#[test]
fn the_chunks_of_long_content_are_summed_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let served = start(&folder, &[]);
    let few = put(&served, "?chunk_size=4096", &content(20_000, 1));
    let text = served.says(&["stat", &few]);
    assert!(text.contains("5 chunks") && text.matches("chunk-").count() == 5, "{text}");
    // As many chunks as 5 GiB has.
    let many = put(&served, "?chunk_size=4096", &content(64 << 10, 1).repeat(320));
    let text = served.says(&["stat", &many]);
    assert!(text.contains("5120 chunks, 20MiB in all"), "{text}");
    assert!(text.contains("each on as many targets as wanted"), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    let all = served.says(&["stat", "--all", &many]);
    assert_eq!(all.matches("chunk-").count(), 5120);
    let json = served.says(&["stat", "--json", &many]);
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json.as_array().expect("a list").len(), 5120);
}

#[test]
fn a_node_that_others_can_reach_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = |served: Served| {
        drop(served);
        fs::read_to_string(folder.path().join("data.log")).expect("it is there")
    };
    let all = log(start(&folder, &["--listen", "0.0.0.0:0", "--insecure"]));
    assert!(all.contains("Warning: --insecure: everybody who reaches 0.0.0.0:"), "{all}");
    let own = log(start(&folder, &[]));
    assert!(!own.contains("Warning"), "{own}");
}
