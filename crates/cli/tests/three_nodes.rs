//! `operate/three-nodes`: a cluster of three processes with one command, that takes puts at one node and gets at another, ends
//! with one signal, and goes on with the next start.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it has clocks, processes and files"
)]

mod support;

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{TcpListener, UdpSocket};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use support::root;

/// Longer than a busy machine takes.
const PATIENCE: Duration = Duration::from_secs(120);

/// The running script; what is left of it is killed when dropped.
struct Script {
    process: Child,
    told: String,
    /// It goes on writing.
    _out: BufReader<ChildStdout>,
}

impl Script {
    fn start(folder: &Path, port: u16) -> Script {
        let mut process = Command::new(root().join("operate/three-nodes"))
            .arg(folder.join("cluster"))
            .args(["--port", &port.to_string()])
            .env("SLOTCAST", env!("CARGO_BIN_EXE_slotcast"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("bash is here");
        let mut told = String::new();
        let mut out = BufReader::new(process.stdout.take().expect("a pipe"));
        while !told.ends_with("Ctrl-C stops them.\n")
            && out.read_line(&mut told).expect("it says where the nodes are") > 0
        {}
        Script { process, told, _out: out }
    }

    fn signal(&self, signal: &str) {
        let id = self.process.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().expect("it runs").success());
    }

    fn wait(mut self) -> ExitStatus {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.process.try_wait().expect("it is ours") {
                return status;
            }
            assert!(begun.elapsed() < PATIENCE, "it does not stop");
            sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        // It stops its nodes by itself; nothing happens to a process that has ended.
        if self.process.try_wait().ok().flatten().is_none() {
            self.signal("-TERM");
            let _ = self.process.wait();
        }
    }
}

/// The first of eight ports that are free.
fn port() -> u16 {
    let is_free = |port: &u16| {
        TcpListener::bind(("127.0.0.1", *port)).is_ok()
            && UdpSocket::bind(("127.0.0.1", *port)).is_ok()
    };
    // Below those that the system gives to whoever asks for any.
    let begin = 12_000 + u16::try_from(std::process::id() % 1000).expect("small") * 16;
    let mut all = (begin..32_000).step_by(16);
    all.find(|first| (*first..first + 8).all(|port| is_free(&port))).expect("eight free ports")
}

fn run(node: u16, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_slotcast"))
        .args(arguments)
        .env("SLOTCAST_NODE", format!("127.0.0.1:{node}"))
        .stdin(Stdio::null())
        .output()
        .expect("it runs")
}

fn says(node: u16, arguments: &[&str]) -> String {
    let output = run(node, arguments);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).expect("text").trim().to_owned()
}

#[test]
fn three_nodes_start_with_one_command_and_stop_with_one_signal() {
    let folder = tempfile::tempdir().expect("a folder");
    let port = port();
    let file = folder.path().join("file");
    let bytes: Vec<u8> = (0..2_500_000_u32).flat_map(|n| n.to_le_bytes()).take(2_500_000).collect();
    fs::write(&file, &bytes).expect("room");
    let path = file.to_str().expect("UTF-8");
    let copy = folder.path().join("copy");
    let to = copy.to_str().expect("UTF-8");

    let script = Script::start(folder.path(), port);
    assert!(script.told.contains(&format!("http://127.0.0.1:{}/", port + 2)), "{}", script.told);
    let address = says(port, &["put", path]);
    says(port + 1, &["get", &address, "-o", to]);
    assert!(fs::read(&copy).expect("it is there") == bytes);
    // Where etcd is installed nodes agree on voters, and so there are buckets.
    let has_buckets = script.told.contains("slotcast mb");
    if has_buckets {
        let begun = Instant::now();
        while !run(port, &["mb", "slot://docs"]).status.success() {
            assert!(begun.elapsed() < PATIENCE, "no voters are chosen");
            sleep(Duration::from_millis(100));
        }
        says(port, &["cp", path, "slot://docs/file"]);
    } else {
        eprintln!("skipped: without etcd there are no buckets");
    }
    // As Ctrl-C does; but a shell cannot trap that signal where whoever runs the tests in the background has it ignored.
    script.signal("-TERM");
    let status = script.wait();
    assert!(status.success(), "{status:?}, signal {:?}", status.signal());
    for node in port..port + 3 {
        assert!(!run(node, &["status"]).status.success(), "{node} still answers");
    }

    // The next start goes on with what is there, and with the same ports alone.
    let other = Script::start(folder.path(), port + 1);
    assert_eq!(other.told, "");
    assert_eq!(other.wait().code(), Some(1));
    let script = Script::start(folder.path(), port);
    fs::remove_file(&copy).expect("it is there");
    match has_buckets {
        true => says(port + 2, &["cp", "slot://docs/file", to]),
        false => says(port + 2, &["get", &address, "-o", to]),
    };
    assert!(fs::read(&copy).expect("it is there") == bytes);
    script.signal("-TERM");
    assert!(script.wait().success());
}
