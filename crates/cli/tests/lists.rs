//! Lists that no node has written, and long content: memory has a bound.
#![allow(clippy::disallowed_types, reason = "it has sockets")]

#[allow(dead_code, reason = "each test file uses its own part")]
mod served;

use std::io::{Read, Write};

use bytes::Bytes;
use served::{Served, content};
use slotcast_node::Address;
use slotcast_node::list::{MAX_PARTS, Part, encode};

/// A process that has had more than this has kept something as long as the content.
const MAX_MEMORY: u64 = 400 << 20;

/// Stores `bytes` as one chunk; the result is that chunk taken for a list.
fn put_list(served: &Served, bytes: &Bytes) -> Address {
    let answer = served.ask("PUT /v1/content?chunk_size=8388608", "", bytes);
    assert_eq!(answer.status(), 200, "{answer:?}");
    let address = answer.json()["address"].as_str().expect("an address").replace("chunk-", "list-");
    address.parse().expect("an address")
}

#[test]
fn a_list_that_names_another_one_many_times_costs_little() {
    let folder = tempfile::tempdir().expect("a folder");
    let served = Served::start(&folder.path().join("data"), &["--targets", "3"]);
    let inner = put_list(&served, &encode(&[]));
    let many = |address: Address, length: u64, times: usize| {
        encode(&vec![Part { address, length }; times])
    };
    // Each names the one below: 200,000 to the third power chunks in the end.
    let mut lists = vec![inner];
    for length in [0, 200_000, 40_000_000_000] {
        let below = *lists.last().expect("one");
        lists.push(put_list(&served, &many(below, length, 200_000)));
    }
    for list in &lists[1..] {
        for path in ["", "/chunks"] {
            let answer = served.ask(&format!("GET /v1/content/{list}{path}"), "", b"");
            assert_eq!(answer.status(), 400, "{answer:?}");
            assert!(answer.error().contains("is not a list of chunks"), "{answer:?}");
        }
    }
    // As many parts as a list may have, level upon level: it is sent piece by piece, while anybody reads.
    let chunk = served.ask("PUT /v1/content", "", &content(4096, 1)).json()["address"].clone();
    let chunk: Address = chunk.as_str().expect("text").parse().expect("an address");
    let (mut part, mut length) = (chunk, 4096);
    for _ in 0..3 {
        part = put_list(&served, &many(part, length, MAX_PARTS));
        length *= MAX_PARTS as u64;
    }
    for path in ["", "/chunks"] {
        let mut stream = served.connect();
        write!(stream, "GET /v1/content/{part}{path} HTTP/1.1\r\nHost: x\r\n\r\n")
            .expect("it is read");
        let mut some = vec![0; 32 << 20];
        stream.read_exact(&mut some).expect("it goes on");
        assert!(some.starts_with(b"HTTP/1.1 200"));
    }
    // A level more than any node makes.
    let deep = put_list(&served, &encode(&[Part { address: part, length }]));
    let deeper = put_list(&served, &encode(&[Part { address: deep, length }]));
    let answer = served.ask(&format!("GET /v1/content/{deeper}"), "", b"");
    assert_eq!(answer.status(), 400, "{answer:?}");
    let (_, most) = served.memory();
    assert!(most < MAX_MEMORY, "{most} bytes");
}

#[test]
fn lengths_that_do_not_fit_end_the_answer() {
    let folder = tempfile::tempdir().expect("a folder");
    let served = Served::start(&folder.path().join("data"), &["--targets", "3"]);
    let chunk = served.ask("PUT /v1/content", "", &content(4096, 1)).json()["address"].clone();
    let address: Address = chunk.as_str().expect("text").parse().expect("an address");
    for length in [4095, 4097, u64::MAX] {
        let list = put_list(&served, &encode(&[Part { address, length }]));
        let answer = served.ask(&format!("GET /v1/content/{list}"), "", b"");
        assert_eq!(answer.status(), 400, "{answer:?}");
        assert!(answer.error().contains("the length that its list says"), "{answer:?}");
    }
}

/// What is put and got has more chunks than one list names.
#[test]
fn memory_does_not_grow_with_the_length_of_content() {
    let folder = tempfile::tempdir().expect("a folder");
    let served = Served::start(&folder.path().join("data"), &["--targets", "3", "--replicas", "1"]);
    // Chunks repeat, so that little is stored.
    let block = content(64 << 10, 1);
    let times = MAX_PARTS / 16 + 10;
    let length = times * block.len();
    let mut stream = served.connect();
    let head = "PUT /v1/content?chunk_size=4096 HTTP/1.1\r\nHost: x\r\nConnection: close";
    write!(stream, "{head}\r\nContent-Length: {length}\r\n\r\n").expect("it is read");
    for _ in 0..times {
        stream.write_all(&block).expect("it is read");
    }
    let answer = served::Answer::read(&mut stream);
    assert_eq!(answer.status(), 200, "{answer:?}");
    let answer = answer.json();
    assert_eq!(answer["length"], length);
    assert_eq!(answer["chunks"], length / 4096);
    let address = answer["address"].as_str().expect("text");
    let got = served.ask(&format!("GET /v1/content/{address}"), "", b"");
    assert_eq!(got.status(), 200);
    assert_eq!(got.body.len(), length);
    assert!(got.body.chunks(block.len()).all(|piece| piece == block));
    let chunks = served.ask(&format!("GET /v1/content/{address}/chunks"), "", b"");
    assert!(chunks.body.windows(9).filter(|text| text == b"\"address\"").count() == length / 4096);
    let (_, most) = served.memory();
    assert!(most < MAX_MEMORY, "{most} bytes");
}
