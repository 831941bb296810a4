//! A real store: a process that serves, others that put and get, and a kill in between.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it has processes and files"
)]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

/// A serving process; killed when dropped.
struct Served {
    process: Child,
    node: String,
}

impl Served {
    fn start(data: &Path, more: &[&str]) -> Served {
        let mut process = Command::new(env!("CARGO_BIN_EXE_slotcast"))
            .args(["serve", "--listen", "127.0.0.1:0", "--data"])
            .arg(data)
            .args(more)
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut line = String::new();
        let out = process.stdout.take().expect("a pipe");
        BufReader::new(out).read_line(&mut line).expect("it says where it listens");
        let node = line.trim().rsplit("http://").next().expect("an address").to_owned();
        Served { process, node }
    }

    fn run(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_slotcast"))
            .args(arguments)
            .env("SLOTCAST_NODE", &self.node)
            .stdin(Stdio::null())
            .output()
            .expect("it runs")
    }

    fn says(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).expect("text").trim().to_owned()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Content that does not repeat.
fn content(length: usize, seed: u32) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_le_bytes()[3]
    };
    (0..length).map(|_| next()).collect()
}

#[test]
fn what_was_put_is_there_after_a_kill() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let served = Served::start(&folder.path().join("data"), &[]);
    let mut stored = Vec::new();
    for (n, length) in [0, 1, 4096, 1 << 20, (1 << 20) + 1, 20_000_000].into_iter().enumerate() {
        let content = content(length, u32::try_from(n).unwrap());
        fs::write(path("in"), &content).unwrap();
        stored.push((served.says(&["put", &path("in")]), content));
    }
    drop(served);

    let served = Served::start(&folder.path().join("data"), &[]);
    for (address, content) in &stored {
        served.says(&["get", address, "-o", &path("out")]);
        assert!(fs::read(path("out")).unwrap() == *content, "{address}");
        assert!(!Path::new(&path("out.part")).exists());
    }
    // Equal content costs no room, and has the same address.
    let before = served.says(&["status", "--json"]);
    fs::write(path("in"), &stored[5].1).unwrap();
    assert_eq!(served.says(&["put", &path("in")]), stored[5].0);
    let chunks = |status: &str| -> u64 {
        let status: serde_json::Value = serde_json::from_str(status).unwrap();
        status["targets"].as_array().unwrap().iter().map(|t| t["chunks"].as_u64().unwrap()).sum()
    };
    assert_eq!(chunks(&served.says(&["status", "--json"])), chunks(&before));

    // Every chunk has its three replicas on different targets.
    let chunks = served.says(&["stat", &stored[5].0, "--json"]);
    let chunks: serde_json::Value = serde_json::from_str(&chunks).unwrap();
    let chunks = chunks.as_array().unwrap();
    assert_eq!(chunks.len(), 20);
    for chunk in chunks {
        assert_eq!(chunk["holders"].as_array().unwrap().len(), 3, "{chunk}");
    }
}

#[test]
fn errors_say_what_is_wrong() {
    let folder = tempfile::tempdir().expect("a folder");
    let served = Served::start(&folder.path().join("data"), &[]);
    let absent = format!("chunk-{}", "0".repeat(64));
    let fails = |arguments: &[&str], says: &str| {
        let output = served.run(arguments);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        assert!(text.contains(says), "{arguments:?}: {text}");
    };
    fails(&["get", &absent], "is not stored here");
    fails(&["get", "nonsense"], "`nonsense` is not an address");
    fails(&["put", "no-such-file"], "cannot read `no-such-file`");
    fails(&["put", "."], "it is a folder");
    fails(&["put", "--chunk-size", "1KiB", "Cargo.toml"], "from 4096 to 8388608 bytes, not 1024");
    fails(&["status", "--node", "127.0.0.1:1"], "slotcast serve");
    let data = folder.path().join("data").display().to_string();
    fails(&["serve", "--data", &data, "--listen", "127.0.0.1:0"], "is used by another process");
    fails(&["serve", "--listen", &served.node], "does another one run?");
    fails(&["serve", "--targets", "2"], "3 replicas need as many targets");
}

#[test]
fn the_node_speaks_http_with_anybody() {
    let folder = tempfile::tempdir().expect("a folder");
    let served = Served::start(&folder.path().join("data"), &[]);
    let mut stream = TcpStream::connect(&served.node).expect("it listens");
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("text");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains("slotcast_target_up{target=\"8\"} 1"), "{answer}");
    assert!(answer.ends_with("# EOF\n"), "{answer}");
}
