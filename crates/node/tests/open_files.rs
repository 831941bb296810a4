//! A process that may open few files: its disks keep to their share, and go on when there are none for a while.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "it has a real disk")]

mod nine_targets;

use std::fs::{self, File};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use crossbeam_channel::{Receiver, unbounded};
use rustix::process::{Resource, Rlimit, setrlimit};
use slotcast_node::{Disk, DiskResult, Done, Folder, Node, NodeConfig, Report};
use slotcast_store::{Op, OpId, Output, SegmentId, StoreStatus};

use nine_targets::{config, content};

/// Set in the processes that run one test each, with a limit of their own.
const IS_CHILD: &str = "SLOTCAST_TEST_WITH_FEW_FILES";

/// Runs the test called `name` in a process that may open `limit` files. True in that process.
fn with_few_files(name: &str, limit: u64) -> bool {
    if std::env::var_os(IS_CHILD).is_some() {
        let limit = Rlimit { current: Some(limit), maximum: Some(limit) };
        setrlimit(Resource::Nofile, limit).expect("a lower limit");
        return true;
    }
    let mut child = Command::new(std::env::current_exe().expect("a test"));
    let output = child.args(["--exact", name, "--nocapture"]).env(IS_CHILD, "").output();
    let output = output.expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{output:?}");
    false
}

fn open_files() -> usize {
    fs::read_dir("/proc/self/fd").expect("Linux").count()
}

#[test]
fn more_segments_than_files_are_served() {
    const LIMIT: usize = 160;
    const HTTP: usize = 32;
    const CHUNKS: u32 = 300;
    if !with_few_files("more_segments_than_files_are_served", LIMIT as u64) {
        return;
    }
    let base = tempfile::tempdir().expect("a folder");
    let config = NodeConfig { segment_size: 128 << 10, ..config(base.path()) };
    let node = Node::start(&config).expect("it starts");
    let most = Arc::new(AtomicUsize::new(0));
    let seen = most.clone();
    // It ends with the process.
    thread::spawn(move || {
        loop {
            seen.fetch_max(open_files(), Ordering::Relaxed);
        }
    });
    // A few at a time, since every other put makes a segment.
    for n in 0..CHUNKS / 4 {
        let puts: Vec<_> = (4 * n..4 * n + 4).map(|n| node.put(content(n))).collect();
        for put in puts {
            assert_eq!(put.blocking_recv().expect("an answer"), Ok(()));
        }
    }
    let status = node.status().blocking_recv().expect("an answer");
    assert!(status.iter().all(|target| target.statistics.segments > 20), "{status:?}");
    // In an order without pattern, several at a time.
    for n in 0..4 * CHUNKS / 16 {
        let some = (0..16).map(|m| (n * 16 + m) * 7919 % CHUNKS);
        let gets: Vec<_> = some.map(|n| (n, node.get(content(n).chunk()))).collect();
        for (n, get) in gets {
            assert_eq!(get.blocking_recv().expect("an answer"), Ok(content(n)));
        }
    }
    let most = most.load(Ordering::Relaxed);
    assert!((1..=LIMIT - HTTP).contains(&most), "the disks took files of HTTP: {most}");
    let status = node.status().blocking_recv().expect("an answer");
    assert!(status.iter().all(|target| target.store == StoreStatus::Open), "{status:?}");
    assert!(status.iter().all(|target| target.statistics.lost == 0), "{status:?}");
}

/// A disk with one segment, written and closed again, and nothing under way.
fn disk_with_a_segment(folder: Folder) -> (Disk, Receiver<(OpId, DiskResult)>) {
    let (tell, done) = unbounded();
    let report: Report = Arc::new(move |done| {
        let Done::Op(id, result) = done else { panic!("no work was asked for") };
        drop(tell.send((id, result)));
    });
    let disk = Disk::start(folder, 2, Arc::default(), 8, None, &report).expect("threads");
    let segment = SegmentId(0);
    disk.ask(OpId(1), Op::Create { segment, length: 64 << 10 });
    assert_eq!(done.recv(), Ok((OpId(1), Ok(Output::Done))));
    (disk, done)
}

#[test]
fn a_disk_waits_for_files_and_does_not_fail() {
    if !with_few_files("a_disk_waits_for_files_and_does_not_fail", 64) {
        return;
    }
    let base = tempfile::tempdir().expect("a folder");
    let folder = Folder::open(base.path(), 64 << 10).expect("a folder");
    let (disk, done) = disk_with_a_segment(folder);
    let segment = SegmentId(0);
    let others: Vec<File> = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
    assert!(!others.is_empty());

    let parts = vec![Bytes::from(vec![7; 8192])];
    disk.ask(OpId(2), Op::Write { segment, offset: 4096, parts });
    disk.ask(OpId(3), Op::List);
    disk.ask(OpId(4), Op::Create { segment: SegmentId(1), length: 64 << 10 });
    disk.ask(OpId(5), Op::Delete { segment: SegmentId(9) });
    let early = done.recv_timeout(Duration::from_millis(300));
    assert!(early.is_err(), "there are no files: {early:?}");

    drop(others);
    let mut results: Vec<_> = (2..=5).map(|_| done.recv().expect("the disk lives")).collect();
    results.sort_by_key(|(id, _)| id.0);
    let segments = |result: &DiskResult| match result {
        Ok(Output::Segments(segments)) => segments.contains(&segment),
        _ => false,
    };
    assert_eq!(results[0], (OpId(2), Ok(Output::Done)));
    assert!(segments(&results[1].1), "{results:?}");
    assert_eq!(results[2], (OpId(4), Ok(Output::Done)));
    assert_eq!(results[3], (OpId(5), Ok(Output::Done)));
    disk.ask(OpId(6), Op::Read { segment, offset: 4096, length: 8192 });
    let read = done.recv().expect("the disk lives");
    assert_eq!(read, (OpId(6), Ok(Output::Bytes(Bytes::from(vec![7; 8192])))));
    assert!(!disk.is_gone());
}

#[test]
fn a_disk_that_waits_for_files_gives_back_its_own() {
    if !with_few_files("a_disk_that_waits_for_files_gives_back_its_own", 64) {
        return;
    }
    let base = tempfile::tempdir().expect("a folder");
    let folder = Folder::open(base.path(), 64 << 10).expect("a folder");
    let (disk, done) = disk_with_a_segment(folder);
    disk.ask(OpId(2), Op::Read { segment: SegmentId(0), offset: 0, length: 4096 });
    assert!(done.recv().expect("the disk lives").1.is_ok());
    let _others: Vec<File> = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
    // There is one file left, which the first segment has.
    disk.ask(OpId(3), Op::List);
    assert!(matches!(done.recv().expect("the disk lives"), (OpId(3), Ok(Output::Segments(_)))));
}

/// The end of a node does not wait until there are files.
#[test]
fn a_disk_without_files_stops() {
    if !with_few_files("a_disk_without_files_stops", 64) {
        return;
    }
    let base = tempfile::tempdir().expect("a folder");
    let folder = Folder::open(base.path(), 64 << 10).expect("a folder");
    let (disk, done) = disk_with_a_segment(folder);
    let _others: Vec<File> = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
    disk.ask(OpId(2), Op::List);
    drop(disk);
    assert!(matches!(done.recv(), Ok((OpId(2), Err(_)))));
}
