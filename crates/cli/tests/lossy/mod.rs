//! A real store on a disk that loses what was not flushed.

use std::fs;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use slotcast_lossy::{Loss, LossyDisk};
use tempfile::TempDir;

use crate::served::{PATIENCE, Served, content};

/// Clients that put at the same time.
const CLIENTS: usize = 3;

/// Content that was acknowledged.
#[derive(Debug, Clone)]
pub(crate) struct Stored {
    address: String,
    /// What it was made from.
    seed: u32,
    length: usize,
}

/// A store whose targets are on a lossy disk. The process is killed, and the disk unmounted, when it is dropped.
pub(crate) struct Store {
    pub(crate) served: Option<Served>,
    pub(crate) disk: LossyDisk,
    pub(crate) stored: Vec<Stored>,
    replicas: usize,
    targets: u32,
    next: AtomicU32,
    folder: TempDir,
}

impl Drop for Store {
    fn drop(&mut self) {
        // A process that waits for a stalled disk cannot be killed.
        self.disk.cut_power();
        self.served = None;
    }
}

/// Content of any length up to 100 000 bytes: a few sectors more often than many.
fn length_of(seed: u32) -> usize {
    let mixed = seed.wrapping_mul(2_654_435_761) >> 8;
    ((mixed % 100_000) >> (mixed / 100_000 % 6)) as usize
}

/// The body of the answer, if it came whole and is a good one.
fn ask(node: &str, line: &str, body: &[u8]) -> io::Result<Option<Vec<u8>>> {
    let mut stream = TcpStream::connect(node)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(stream, "{line} HTTP/1.0\r\nContent-Length: {}\r\n\r\n", body.len())?;
    stream.write_all(body)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).inspect_err(|error| {
        assert!(error.kind() != io::ErrorKind::WouldBlock, "no answer to {line}");
    })?;
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
    let is_good = answer.starts_with(b"HTTP/1.0 200") || answer.starts_with(b"HTTP/1.1 200");
    Ok(end.filter(|_| is_good).map(|end| answer.split_off(end + 4)))
}

fn flush(path: &Path) {
    fs::File::open(path).and_then(|file| file.sync_all()).expect("it is flushed");
}

fn put(node: &str, seed: u32, length: usize) -> Option<Stored> {
    let answer = ask(node, "PUT /v1/content", &content(length, seed)).ok()??;
    let answer: Value = serde_json::from_slice(&answer).ok()?;
    Some(Stored { address: answer["address"].as_str()?.to_owned(), seed, length })
}

impl Store {
    /// None, with the reason told, where no file system can be mounted through FUSE. Nothing is started, and nothing
    /// formatted.
    pub(crate) fn new(targets: u32, replicas: usize) -> Option<Store> {
        let folder = tempfile::tempdir().expect("a folder");
        let at = folder.path().join("disk");
        fs::create_dir(&at).expect("room");
        let disk = match LossyDisk::mount(&at) {
            Ok(disk) => disk,
            Err(error) => {
                eprintln!("skipped: no file system can be mounted through FUSE: {error}");
                return None;
            }
        };
        let (served, stored, next) = (None, Vec::new(), AtomicU32::new(0));
        Some(Store { served, disk, stored, replicas, targets, next, folder })
    }

    /// The same, with targets that have segments of 1 MiB: names come and go under load.
    pub(crate) fn with_small_segments(targets: u32, replicas: usize) -> Option<Store> {
        let store = Store::new(targets, replicas)?;
        for target in 0..targets {
            let folder = store.disk.path().join(format!("target-{target:03}"));
            let segments = folder.join("segments");
            fs::create_dir_all(&segments).expect("room");
            // As the label of a target is before it is registered.
            let label =
                format!("format = 2\nidentity = \"{target:064}\"\nsegment_size = {}\n", 1 << 20);
            for path in [segments.join("target.toml"), folder.join("target.toml")] {
                fs::write(&path, &label).expect("room");
                flush(&path);
            }
            [&segments, &folder].into_iter().for_each(|folder| flush(folder));
        }
        flush(store.disk.path());
        Some(store)
    }

    fn arguments(&self) -> [String; 4] {
        let (targets, replicas) = (self.targets.to_string(), self.replicas.to_string());
        ["--targets".into(), targets, "--replicas".into(), replicas]
    }

    /// Starts the process; returns when it takes requests.
    pub(crate) fn start(&mut self) {
        let arguments = self.arguments();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let disk = &self.disk;
        let (started, is_started) = mpsc::channel::<()>();
        self.served = Some(thread::scope(|scope| {
            // If it waits for a disk that stalls, the disk fails instead, and this test with it.
            scope.spawn(move || {
                if is_started.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                    disk.cut_power();
                }
            });
            let served = Served::start(disk.path(), &arguments);
            drop(started);
            served
        }));
        assert!(!self.disk.is_cut(), "it does not start");
    }

    /// Starts the process where it may end again before it takes requests, and leaves it until it has ended or the
    /// power has failed. Says whether it has.
    pub(crate) fn try_start(&self) -> bool {
        let log = fs::File::create(self.log()).expect("room");
        let mut process = Command::new(env!("CARGO_BIN_EXE_slotcast"))
            // What is in memory would hide what is on the disk.
            .args(["serve", "--cache-memory", "0B"])
            .args(["--s3", "off", "--listen", "127.0.0.1:0", "--data"])
            .arg(self.disk.path())
            .args(self.arguments())
            .stdout(log.try_clone().expect("a file"))
            .stderr(log)
            .spawn()
            .expect("it starts");
        let serves = || fs::read_to_string(self.log()).is_ok_and(|text| text.contains("http://"));
        while !self.disk.is_cut()
            && !serves()
            && process.try_wait().expect("it is a child").is_none()
        {
            thread::sleep(Duration::from_millis(5));
        }
        let is_cut = self.disk.is_cut();
        self.disk.cut_power();
        process.kill().expect("it is a child");
        process.wait().expect("it ends");
        is_cut
    }

    /// What the process has logged since its start.
    pub(crate) fn log(&self) -> PathBuf {
        self.folder.path().join("disk.log")
    }

    fn node(&self) -> &str {
        &self.served.as_ref().expect("it runs").node
    }

    /// Puts `count` contents one after another, of `length` bytes if that is given; returns the number of those that were
    /// acknowledged.
    pub(crate) fn put(&mut self, count: u32, length: Option<usize>) -> usize {
        let next = |_| self.next.fetch_add(1, Ordering::Relaxed);
        let one = |seed| put(self.node(), seed, length.unwrap_or_else(|| length_of(seed)));
        let new: Vec<Stored> = (0..count).map(next).filter_map(one).collect();
        let acknowledged = new.len();
        self.stored.extend(new);
        acknowledged
    }

    /// Puts the last content once more; says whether that was acknowledged.
    pub(crate) fn put_again(&mut self, length: usize) -> bool {
        let stored = put(self.node(), self.next.load(Ordering::Relaxed) - 1, length);
        self.stored.extend(stored.clone());
        stored.is_some()
    }

    /// Puts from several clients until `during`, beside them, has cut the power or killed the process.
    pub(crate) fn put_while(&mut self, during: impl FnOnce(&mut Served, &LossyDisk)) {
        let (new, is_over) = (Mutex::new(Vec::new()), AtomicBool::new(false));
        let mut served = self.served.take().expect("it runs");
        let node = &served.node.clone();
        thread::scope(|scope| {
            for _ in 0..CLIENTS {
                scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        let seed = self.next.fetch_add(1, Ordering::Relaxed);
                        let stored = put(node, seed, length_of(seed));
                        new.lock().expect("whole").extend(stored);
                    }
                });
            }
            during(&mut served, &self.disk);
            served.process.kill().expect("it is a child");
            served.process.wait().expect("it ends");
            is_over.store(true, Ordering::Relaxed);
        });
        self.stored.extend(new.into_inner().expect("whole"));
    }

    /// Kills the process and lets the power fail.
    pub(crate) fn lose_power(&mut self, seed: u64) -> Loss {
        // The files that it has open are closed when it has ended.
        self.served = None;
        self.disk.restore_power(seed).expect("nobody uses it")
    }

    /// What of `stored` cannot be read back as it was put.
    fn lost(&self, stored: &[Stored]) -> Vec<Stored> {
        let is_there = |Stored { address, seed, length }: &Stored| {
            let found = ask(self.node(), &format!("GET /v1/content/{address}"), &[]);
            found.is_ok_and(|found| found.is_some_and(|found| found == content(*length, *seed)))
        };
        stored.iter().filter(|stored| !is_there(stored)).cloned().collect()
    }

    /// Number of contents that were acknowledged and cannot be read back as they were put.
    pub(crate) fn count_lost(&self) -> usize {
        self.lost(&self.stored).len()
    }

    /// Everything that was acknowledged is there, from number `first` on.
    pub(crate) fn check_from(&self, first: usize) {
        let lost = self.lost(&self.stored[first.min(self.stored.len())..]);
        let log = || fs::read_to_string(self.log()).unwrap_or_default();
        assert!(lost.is_empty(), "acknowledged and lost: {lost:?}\n{}", log());
    }

    /// Everything that was acknowledged is there.
    pub(crate) fn check(&self) {
        self.check_from(0);
    }

    /// Each chunk of what was acknowledged, from number `first` on, is on as many targets as were wanted.
    pub(crate) fn check_replicas_from(&self, first: usize) {
        for Stored { address, .. } in &self.stored[first.min(self.stored.len())..] {
            let line = format!("GET /v1/content/{address}/chunks");
            let chunks = ask(self.node(), &line, &[]).expect("it serves").expect("it is there");
            let chunks: Value = serde_json::from_slice(&chunks).expect("JSON");
            for chunk in chunks.as_array().expect("chunks") {
                let holders = chunk["holders"].as_array().map_or(0, Vec::len);
                assert!(holders >= self.replicas, "{address}: {chunk}");
            }
        }
    }

    /// What status says of each target.
    pub(crate) fn targets(&self) -> Vec<Value> {
        let status = ask(self.node(), "GET /v1/status", &[]).expect("it serves").expect("a status");
        let status: Value = serde_json::from_slice(&status).expect("JSON");
        status["targets"].as_array().expect("targets").clone()
    }

    /// All targets are open and can read their segments.
    pub(crate) fn check_open(&self) {
        for target in self.targets() {
            let says = (&target["state"], &target["unreadable_segments"]);
            assert_eq!(says, (&"open".into(), &0.into()), "{target}");
        }
    }

    /// Chunks that targets say they have lost.
    pub(crate) fn said_lost(&self) -> u64 {
        self.targets().iter().filter_map(|target| target["lost_chunks"].as_u64()).sum()
    }
}
