//! Clients that stand still, send too much, or are too many: what they take of a node has a bound.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it has clocks, processes and sockets"
)]

#[allow(dead_code, reason = "each test file uses its own part")]
mod served;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use served::{Answer, PATIENCE, Served, content};

fn start(folder: &tempfile::TempDir, more: &[&str]) -> Served {
    let few = ["--targets", "3", "--replicas", "2"];
    Served::start(&folder.path().join("data"), &[&few, more].concat())
}

const HEAD: &str = "HTTP/1.1\r\nHost: x\r\nConnection: close\r\n";

/// A put of `length` bytes of which `begun` were sent.
fn begun_put(served: &Served, query: &str, length: usize, begun: &[u8]) -> TcpStream {
    let mut stream = served.connect();
    write!(stream, "PUT /v1/content{query} {HEAD}Content-Length: {length}\r\n\r\n").expect("room");
    // A node that reads no more need not take all of it.
    stream.set_write_timeout(Some(Duration::from_millis(10))).expect("a time");
    let _ = stream.write_all(begun);
    stream
}

/// One that is known to be under way, as its content was asked for: it has its memory.
fn expected_put(served: &Served, query: &str, length: usize) -> TcpStream {
    let mut stream = served.connect();
    let lines = format!("{HEAD}Expect: 100-continue\r\nContent-Length: {length}\r\n\r\n");
    write!(stream, "PUT /v1/content{query} {lines}").expect("room");
    let mut answer = [0; 25];
    stream.read_exact(&mut answer).expect("content is asked for");
    assert_eq!(answer, *b"HTTP/1.1 100 Continue\r\n\r\n");
    stream
}

fn tell(served: &Served, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(served.process.id()).expect("a number"));
    kill_process(pid.expect("not 0"), signal).expect("it runs");
}

/// Waits for its end; the result is the time that this took, and how it ended.
fn wait_for_end(mut served: Served) -> (Duration, std::process::ExitStatus) {
    let begun = Instant::now();
    loop {
        if let Some(status) = served.process.try_wait().expect("it is ours") {
            return (begun.elapsed(), status);
        }
        assert!(begun.elapsed() < PATIENCE, "it does not end");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn puts_that_stand_still_take_bounded_memory_and_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let limits = ["--body-memory", "64MiB", "--body-timeout", "4s", "--waiting", "300"];
    let served = start(&folder, &limits);
    let (before, _) = served.memory();
    let half = content(2_000_000, 1);
    let puts: Vec<TcpStream> =
        (0..400).map(|_| begun_put(&served, "?chunk_size=8388608", 8 << 20, &half)).collect();
    let mut counts = std::collections::BTreeMap::new();
    for mut put in puts {
        let answer = Answer::read(&mut put);
        *counts.entry(answer.status()).or_insert(0) += 1;
        if answer.status() == 408 {
            assert!(answer.error().contains("nothing came for 4 s"), "{answer:?}");
        }
        if answer.status() == 503 {
            assert!(answer.head.contains("retry-after: 1"), "{answer:?}");
            assert!(answer.error().contains("ask again later"), "{answer:?}");
        }
    }
    // Some have been broken off, the others did not get in.
    assert!(counts.contains_key(&408) && counts.contains_key(&503), "{counts:?}");
    assert_eq!(counts[&408] + counts[&503], 400, "{counts:?}");
    let (after, most) = served.memory();
    assert!(most - before < 250 << 20, "{before} before, {most} at most, {after} after");
    let whole = content(3_000_000, 2);
    assert_eq!(served.ask("PUT /v1/content", "", &whole).status(), 200);
}

#[test]
fn gets_that_are_not_read_take_bounded_memory_and_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let served = start(&folder, &["--body-memory", "64MiB", "--body-timeout", "2s"]);
    let whole = content(100_000_000, 1);
    let answer = served.ask("PUT /v1/content?chunk_size=8388608", "", &whole);
    let address = answer.json()["address"].as_str().expect("text").to_owned();
    let (before, _) = served.memory();
    let mut gets: Vec<TcpStream> = (0..100)
        .map(|_| {
            let mut stream = served.connect();
            write!(stream, "GET /v1/content/{address} {HEAD}\r\n").expect("room");
            stream
        })
        .collect();
    // While others do not read, one that does gets everything, sooner or later.
    let begun = Instant::now();
    loop {
        let got = served.ask(&format!("GET /v1/content/{address}"), "", b"");
        if got.status() == 200 {
            assert!(got.body == whole);
            break;
        }
        assert_eq!(got.status(), 503, "{}", got.head);
        assert!(begun.elapsed() < PATIENCE);
    }
    let (_, most) = served.memory();
    assert!(most - before < 250 << 20, "{before} before, {most} at most");
    // They are broken off: the rest does not come.
    std::thread::sleep(Duration::from_secs(4));
    let broken =
        gets.iter_mut().map(Answer::read).filter(|got| got.body.len() < whole.len()).count();
    assert!(broken > 0);
}

#[test]
fn a_stop_waits_for_nobody_who_stands_still() {
    let folder = tempfile::tempdir().expect("a folder");
    let served = start(&folder, &[]);
    let stored = served.ask("PUT /v1/content", "", &content(100_000_000, 1));
    let address = stored.json()["address"].as_str().expect("text").to_owned();
    let mut get = served.connect();
    write!(get, "GET /v1/content/{address} {HEAD}\r\n").expect("room");
    let _put = expected_put(&served, "", 1000);
    tell(&served, Signal::TERM);
    let (took, status) = wait_for_end(served);
    assert!(status.success() && took < Duration::from_secs(30), "{status} after {took:?}");
    // What was acknowledged is there.
    let served = start(&folder, &[]);
    assert_eq!(served.ask(&format!("GET /v1/content/{address}"), "", b"").body.len(), 100_000_000);
}

#[test]
fn what_is_under_way_is_ended_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let served = start(&folder, &[]);
    let mut put = expected_put(&served, "", 1000);
    tell(&served, Signal::INT);
    put.write_all(&content(1000, 1)).expect("it is read");
    assert_eq!(Answer::read(&mut put).status(), 200);
    let (_, status) = wait_for_end(served);
    assert!(status.success(), "{status}");
}

#[test]
fn a_second_signal_stops_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let served = start(&folder, &["--body-timeout", "10min"]);
    let stored = served.ask("PUT /v1/content", "", &content(1000, 1));
    let address = stored.json()["address"].as_str().expect("text").to_owned();
    let put = expected_put(&served, "", 1000);
    tell(&served, Signal::TERM);
    // The first one has been heard when no more connections are taken.
    let begun = Instant::now();
    while TcpStream::connect(&served.node).is_ok() {
        assert!(begun.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(1));
    }
    tell(&served, Signal::TERM);
    let (_, status) = wait_for_end(served);
    assert_eq!((status.code(), status.signal()), (Some(143), None));
    drop(put);
    let served = start(&folder, &[]);
    assert_eq!(served.ask(&format!("GET /v1/content/{address}"), "", b"").body, content(1000, 1));
}

#[test]
fn what_is_too_large_is_refused_with_the_limit() {
    let folder = tempfile::tempdir().expect("a folder");
    let served = start(&folder, &["--body-size", "1MiB", "--header-size", "8KiB"]);
    let large = content((1 << 20) + 1, 1);
    let refused = served.ask("PUT /v1/content", "", &large);
    assert_eq!(refused.status(), 413, "{refused:?}");
    assert!(refused.error().contains("at most 1048576 bytes"), "{refused:?}");
    // Of one whose length is not told that is seen on the way.
    let mut stream = served.connect();
    write!(stream, "PUT /v1/content {HEAD}Transfer-Encoding: chunked\r\n\r\n").expect("room");
    write!(stream, "{:x}\r\n", 4 * large.len()).expect("room");
    let _ = stream.write_all(&large).and_then(|()| stream.write_all(&large));
    let refused = Answer::read(&mut stream);
    assert_eq!(refused.status(), 413, "{refused:?}");
    assert_eq!(served.ask("PUT /v1/content", "", &large[1..]).status(), 200);
    let header = format!("X-Long: {}\r\n", "x".repeat(9000));
    assert_eq!(served.ask("GET /v1/status", &header, b"").status(), 431);
    let header = format!("X-Long: {}\r\n", "x".repeat(7000));
    assert_eq!(served.ask("GET /v1/status", &header, b"").status(), 200);
}

#[test]
fn a_header_that_comes_bit_by_bit_ends_in_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let served = start(&folder, &["--header-timeout", "1s", "--connections", "16"]);
    let mut slow: Vec<TcpStream> = (0..16).map(|_| served.connect()).collect();
    for _ in 0..30 {
        for stream in &mut slow {
            // It may be closed already.
            let _ = stream.write_all(b"GET /v1/st");
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    let answer = Answer::read(slow.last_mut().expect("one"));
    assert_eq!(answer.status(), 408, "{answer:?}");
    assert!(answer.error().contains("did not end in time"), "{answer:?}");
    // One that has not begun may wait, and so may one between two requests.
    let mut silent = served.connect();
    for _ in 0..2 {
        std::thread::sleep(Duration::from_millis(1500));
        write!(silent, "HEAD /v1/status HTTP/1.1\r\nHost: x\r\n\r\n").expect("open");
        let mut answer = vec![0; 64 << 10];
        let length = silent.read(&mut answer).expect("an answer");
        assert!(answer[..length].starts_with(b"HTTP/1.1 200"));
    }
}

/// Requests wait for memory, no more than may, and those that were admitted are not held up.
#[test]
fn what_was_accepted_goes_on_while_others_wait() {
    let folder = tempfile::tempdir().expect("a folder");
    let limits = ["--body-memory", "32MiB", "--waiting", "2", "--body-timeout", "60s"];
    let served = start(&folder, &limits);
    let body = content(8 << 20, 1);
    // All memory is theirs.
    let mut puts: Vec<TcpStream> =
        (0..3).map(|_| expected_put(&served, "?chunk_size=8388608", 8 << 20)).collect();
    puts.extend((0..40).map(|_| begun_put(&served, "?chunk_size=8388608", 8 << 20, b"")));
    let refused = loop {
        let last = puts.pop().expect("one is refused");
        let mut first = [0; 12];
        last.set_read_timeout(Some(Duration::from_millis(500))).expect("a time");
        if (&last).read_exact(&mut first).is_ok() {
            break String::from_utf8_lossy(&first).into_owned();
        }
    };
    assert_eq!(refused, "HTTP/1.1 503");
    for put in &mut puts[..3] {
        put.set_write_timeout(Some(PATIENCE)).expect("a time");
        put.write_all(&body).expect("it is read");
        assert_eq!(Answer::read(put).status(), 200);
    }
    assert_eq!(served.ask("GET /v1/status", "", b"").status(), 200);
}
