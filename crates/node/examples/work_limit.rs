//! Processor time of puts and gets of a whole cluster in one process, as a count of instructions: the same on any
//! machine, however busy.
//!
//! ```sh
//! cargo build --release -p slotcast-node --example work_limit
//! valgrind --tool=callgrind --callgrind-out-file=FILE target/release/examples/work_limit FOLDER CHUNKS GETS [BYTES [MEMORY]]
//! ```
//!
//! It puts so many chunks, one after another, and then gets them by turns. A get costs what a run with some takes more
//! than one without, divided by their number; a put costs the same of two runs with other numbers of chunks. MEMORY is
//! what the node keeps content in, in bytes: with 0 all gets come from the disks, and nothing of a put is kept. Valgrind counts
//! an instruction for each byte where one instruction copies them all, as `memcpy` has it for some KiB and more.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "it is a host")]

use std::path::Path;

use bytes::Bytes;
use slotcast_node::{Limits, Node, NodeConfig};
use slotcast_protocol::ChunkId;
use slotcast_store::Content;
use slotcast_units::Size;

fn content(n: usize, size: usize) -> Content {
    let mut bytes = vec![0x5a; size];
    bytes[..8].copy_from_slice(&(n as u64).to_le_bytes());
    Content::of(Bytes::from(bytes))
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, chunks, gets, rest @ ..] = &arguments[..] else {
        panic!("FOLDER CHUNKS GETS [BYTES [MEMORY]]");
    };
    let number = |text: &String| text.parse::<usize>().expect("a number");
    let size = rest.first().map_or(16 << 10, number);
    let cache_memory = rest.get(1).map(|text| Size::from_bytes(number(text) as u64));
    let base = Path::new(folder).join("work-limit");
    let config = NodeConfig {
        register: None,
        folders: (0..9).map(|n| base.join(format!("target-{n}"))).collect(),
        group_size: 9,
        replicas: 3,
        segment_size: 64 << 20,
        limits: Limits { cache_memory, ..Limits::default() },
    };
    let node = Node::start(&config).expect("it starts");
    let put = |n| {
        let content = content(n, size);
        let name = content.chunk();
        node.put(content).blocking_recv().expect("an answer").expect("stored");
        name
    };
    let names: Vec<ChunkId> = (0..number(chunks)).map(put).collect();
    for name in names.iter().cycle().take(number(gets)) {
        node.get(*name).blocking_recv().expect("an answer").expect("it is there");
    }
    drop(node);
    std::fs::remove_dir_all(base).expect("it was there");
}
