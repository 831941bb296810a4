//! A store that is killed at any moment, again and again, under load: what it has acknowledged is there.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it has processes, files and clocks"
)]

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const CLIENTS: u64 = 4;
const CHUNK: usize = 128 << 10;

struct Served {
    process: Child,
    node: String,
    took: Duration,
}

impl Served {
    fn start(data: &Path) -> Served {
        let start = Instant::now();
        let mut process = Command::new(env!("CARGO_BIN_EXE_slotcast"))
            .args(["serve", "--s3", "off", "--listen", "127.0.0.1:0", "--data"])
            .arg(data)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let mut line = String::new();
        let out = process.stdout.take().expect("a pipe");
        BufReader::new(out).read_line(&mut line).expect("it says where it listens");
        let node = line.trim().rsplit("http://").next().expect("an address").to_owned();
        Served { process, node, took: start.elapsed() }
    }

    /// The most memory that it has had so far, in KiB.
    fn peak_memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id()));
        let status = status.unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
    }

    /// As nobody can prevent: `SIGKILL`.
    fn kill(&mut self) {
        self.process.kill().expect("it runs");
        self.process.wait().expect("it ends");
    }
}

/// The body of the answer, if it is a good one.
fn ask(node: &str, head: &str, body: &[u8]) -> io::Result<Option<Vec<u8>>> {
    let mut stream = TcpStream::connect(node)?;
    // Without keep-alive the answer ends where the connection does.
    write!(stream, "{head} HTTP/1.0\r\nContent-Length: {}\r\n\r\n", body.len())?;
    stream.write_all(body)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n");
    let is_good =
        answer.split(|byte| *byte == b'\r').next().is_some_and(|l| l.ends_with(b"200 OK"));
    Ok(end.filter(|_| is_good).map(|end| answer.split_off(end + 4)))
}

/// Content that does not repeat.
fn content(number: u64, length: usize) -> Vec<u8> {
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut words = (0..length.div_ceil(8)).flat_map(|_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    });
    words.by_ref().take(length).collect()
}

/// What was acknowledged: its address, its number and its length.
type Acknowledged = (String, u64, usize);

fn put(node: &str, number: u64, length: usize) -> Option<Acknowledged> {
    let head = format!("PUT /v1/content?chunk_size={CHUNK}");
    let answer = ask(node, &head, &content(number, length)).ok()??;
    let answer: serde_json::Value = serde_json::from_slice(&answer).ok()?;
    Some((answer["address"].as_str()?.to_owned(), number, length))
}

fn check(node: &str, (address, number, length): &Acknowledged) {
    let found = ask(node, &format!("GET /v1/content/{address}"), &[]).expect("it serves");
    let found = found.unwrap_or_else(|| panic!("{address} was acknowledged and is not there"));
    assert!(found == content(*number, *length), "{address} has changed");
}

/// Any number, the same for the same one.
fn mixed(number: u64) -> u64 {
    let mixed = (number ^ (number >> 31)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    mixed ^ (mixed >> 32)
}

fn kill_again_and_again(data: &Path, kills: u64, stored: u64) {
    const WHOLE: usize = 32 << 20;
    let next = AtomicU64::new(0);
    let mut acknowledged: Vec<Acknowledged> = Vec::new();
    let mut served = Served::start(data);
    for _ in 0..stored / 3 / WHOLE as u64 {
        let number = next.fetch_add(1, Ordering::Relaxed);
        acknowledged.push(put(&served.node, number, WHOLE).expect("it is stored"));
    }
    served.kill();
    let first_small = acknowledged.len();

    let (mut starts, mut memory) = (Vec::new(), 0);
    for kill in 0..kills {
        let mut served = Served::start(data);
        starts.push(served.took);
        let (new, over) = (Mutex::new(Vec::new()), AtomicBool::new(false));
        let (node, next) = (&served.node.clone(), &next);
        thread::scope(|scope| {
            for _ in 0..CLIENTS {
                scope.spawn(|| {
                    while !over.load(Ordering::Relaxed) {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        let length = (mixed(number) % (3 * CHUNK as u64)) as usize;
                        new.lock().expect("whole").extend(put(node, number, length));
                    }
                });
            }
            // What earlier lives have acknowledged is read while new puts come in.
            let small = acknowledged.len() - first_small;
            for n in 0..small.min(8) as u64 {
                let any = first_small + mixed(kill << 8 | n) as usize % small;
                check(node, &acknowledged[any]);
            }
            thread::sleep(Duration::from_millis(20 + mixed(kill) % 300));
            memory = memory.max(served.peak_memory());
            served.kill();
            over.store(true, Ordering::Relaxed);
        });
        acknowledged.extend(new.into_inner().expect("whole"));
    }
    let mut served = Served::start(data);
    acknowledged.iter().for_each(|one| check(&served.node, one));
    served.kill();
    starts.sort();
    println!(
        "{kills} kills, {} puts acknowledged and there, {} MiB of them; start: median {:?}, longest {:?}; \
         memory {} MiB at most",
        acknowledged.len(),
        acknowledged.iter().map(|(.., length)| length).sum::<usize>() >> 20,
        starts[starts.len() / 2],
        starts[starts.len() - 1],
        memory >> 10,
    );
}

#[test]
fn what_was_acknowledged_is_there_after_any_kill() {
    let folder = tempfile::tempdir().expect("a folder");
    kill_again_and_again(folder.path(), 8, 0);
}

/// Says how long starts take and how much memory is used: to be run on a release build.
#[test]
#[ignore = "it takes minutes and 12 GB of room; run it with `cargo test --release --test kills -- --ignored --nocapture`"]
fn two_hundred_kills_with_ten_gibibytes_stored() {
    let folder = tempfile::tempdir_in("/var/tmp").expect("a folder");
    kill_again_and_again(folder.path(), 200, 10 << 30);
}
