//! A node that serves a whole cluster, as a process of its own.
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "it has processes and sockets"
)]

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

/// A serving process; killed when dropped.
pub(crate) struct Served {
    pub(crate) process: Child,
    pub(crate) node: String,
    /// What it said when it began to serve.
    pub(crate) told: String,
    /// The environment that it has, and commands that are run against it.
    variables: Vec<(String, String)>,
}

impl Served {
    pub(crate) fn start(data: &Path, more: &[&str]) -> Served {
        Served::start_with(data, more, &[])
    }

    /// With these variables in its environment.
    pub(crate) fn start_with(data: &Path, more: &[&str], variables: &[(&str, &str)]) -> Served {
        let mut process = Command::new(env!("CARGO_BIN_EXE_slotcast"))
            .args(["serve", "--data"])
            .arg(data)
            .args(more)
            .args(
                (!more.contains(&"--listen"))
                    .then_some(["--listen", "127.0.0.1:0"])
                    .iter()
                    .flatten(),
            )
            .args((!more.contains(&"--s3")).then_some(["--s3", "off"]).iter().flatten())
            .envs(variables.iter().copied())
            .stdout(Stdio::piped())
            .stderr(fs::File::create(data.with_extension("log")).expect("room"))
            .spawn()
            .expect("it starts");
        let mut told = String::new();
        let mut out = BufReader::new(process.stdout.take().expect("a pipe"));
        while !told.ends_with("Ctrl-C stops it.\n")
            && out.read_line(&mut told).expect("it says where it listens") > 0
        {}
        let line = told.lines().next().unwrap_or("");
        let node = line.trim().rsplit("://").next().expect("an address").to_owned();
        let variables = variables.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        Served { process, node, told, variables: variables.collect() }
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_slotcast"))
            .args(arguments)
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .env("SLOTCAST_NODE", &self.node)
            .stdin(Stdio::null())
            .output()
            .expect("it runs")
    }

    /// The same without what its environment has, but with these variables.
    pub(crate) fn run_with(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_slotcast"))
            .args(arguments)
            .envs(variables.iter().copied())
            .env("SLOTCAST_NODE", &self.node)
            .stdin(Stdio::null())
            .output()
            .expect("it runs")
    }

    pub(crate) fn says(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).expect("text").trim().to_owned()
    }
}

impl Served {
    /// A connection to it, on which nothing is waited for longer than a busy machine takes.
    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.node).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time");
        stream
    }

    /// The whole answer to `line` with `headers` and `body`, on a connection of its own; as much of it as came.
    pub(crate) fn ask(&self, line: &str, headers: &str, body: &[u8]) -> Answer {
        let mut stream = self.connect();
        let length = body.len();
        let head = format!(
            "{line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n"
        );
        // A node that refuses need not read all of it.
        let _ = stream.write_all(&[head.as_bytes(), body].concat());
        Answer::read(&mut stream)
    }

    /// Bytes of memory that the process has, and has had at most.
    pub(crate) fn memory(&self) -> (u64, u64) {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id()));
        let status = status.expect("it runs");
        let kib = |key: &str| -> u64 {
            let line = status.lines().find(|line| line.starts_with(key)).expect("a line");
            line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).expect("a number")
        };
        (kib("VmRSS:") << 10, kib("VmHWM:") << 10)
    }
}

/// Longer than a busy machine takes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// An answer over HTTP.
#[derive(Debug)]
pub(crate) struct Answer {
    /// Its status and headers, in lower case.
    pub(crate) head: String,
    /// Its content, as it was sent.
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// What comes until the other end closes, which it may do without having read everything.
    pub(crate) fn read(stream: &mut TcpStream) -> Answer {
        let mut all = Vec::new();
        match stream.read_to_end(&mut all) {
            Err(error) if error.kind() != io::ErrorKind::ConnectionReset => panic!("{error}"),
            _ => {}
        }
        let end = all.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(all.len());
        let body = all.get(end + 4..).unwrap_or_default().to_vec();
        Answer { head: String::from_utf8_lossy(&all[..end]).to_lowercase(), body }
    }

    /// The status; 0 if nothing came.
    pub(crate) fn status(&self) -> u16 {
        self.head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0)
    }

    /// The content as JSON.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The text of an error.
    pub(crate) fn error(&self) -> String {
        self.json()["error"].as_str().unwrap_or_else(|| panic!("no error: {self:?}")).to_owned()
    }
}

/// What a command said that was refused, on one line.
pub(crate) fn said(output: &Output) -> String {
    assert!(!output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stderr).replace(['\n', '│'], " ")
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Content that does not repeat.
pub(crate) fn content(length: usize, seed: u32) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_le_bytes()[3]
    };
    (0..length).map(|_| next()).collect()
}
