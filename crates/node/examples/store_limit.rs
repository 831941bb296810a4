//! How near one store on one folder comes to what its disk can do: the same bytes, once as a plain loop
//! of write and `fdatasync` of 1 MiB, once as chunks through the store, 16 puts at a time.
//!
//! ```sh
//! cargo run --release -p slotcast-node --example store_limit -- [FOLDER]
//! ```
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "it measures wall time")]

mod plain;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use crossbeam_channel::{Receiver, unbounded};
use slotcast_node::{Disk, Done, Folder, Report};
use slotcast_protocol::Claim;
use slotcast_store::{Content, Effect, Input, Store, Ticket};

const TOTAL: usize = 512 << 20;
const AT_A_TIME: u64 = 16;

struct Rig {
    store: Store,
    disk: Disk,
    done: Receiver<Done>,
    effects: Vec<Effect>,
}

impl Rig {
    fn open(path: &Path) -> Rig {
        let folder = Folder::open(path, 64 << 20).expect("a folder");
        let config = folder.config();
        let (tell, done) = unbounded();
        let report: Report = Arc::new(move |done| drop(tell.send(done)));
        let disk = Disk::start(folder, 2, Arc::default(), 96, None, &report).expect("threads");
        let mut effects = Vec::new();
        let store = Store::open(config, &mut effects);
        let mut rig = Rig { store, disk, done, effects };
        while !rig.step().contains(&Effect::Opened) {}
        rig
    }

    /// Hands operations out, and waits for one result if nothing else has happened.
    fn step(&mut self) -> Vec<Effect> {
        let mut others = Vec::new();
        for effect in std::mem::take(&mut self.effects) {
            match effect {
                Effect::Disk(id, op) => self.disk.ask(id, op),
                Effect::Work => {
                    self.store.take_work().into_iter().for_each(|work| self.disk.work(work));
                }
                other => others.push(other),
            }
        }
        if others.is_empty() {
            let input = match self.done.recv().expect("the disk lives") {
                Done::Op(id, result) => Input::Disk(id, result),
                Done::Work(worked) => Input::Worked(worked),
            };
            self.store.handle(input, &mut self.effects);
        }
        others
    }
}

fn chunks(path: &Path, size: usize) -> (f64, f64) {
    let mut rig = Rig::open(path);
    let mut bytes = vec![0u8; size];
    let count = (TOTAL / size) as u64;
    let start = Instant::now();
    let (mut begun, mut ended) = (0, 0);
    while ended < count {
        while begun < count && begun - ended < AT_A_TIME {
            bytes[..8].copy_from_slice(&(begun + ((size as u64) << 32)).to_le_bytes());
            let content = Content::of(Bytes::copy_from_slice(&bytes));
            rig.store
                .handle(Input::Put(Ticket(begun), content, None, Claim::Bare), &mut rig.effects);
            begun += 1;
        }
        for effect in rig.step() {
            match effect {
                Effect::Stored { .. } => ended += 1,
                other => panic!("{other:?}"),
            }
        }
    }
    let rate = TOTAL as f64 / start.elapsed().as_secs_f64();
    (rate, rig.store.statistics().batches as f64)
}

fn main() {
    let argument = std::env::args().nth(1);
    let base =
        argument.map_or_else(|| tempfile::tempdir().expect("a folder").keep(), PathBuf::from);
    std::fs::create_dir_all(&base).expect("a folder");
    for size in [1 << 20, 128 << 10, 16 << 10] {
        let limit = plain::rate(&base, TOTAL);
        let path = base.join(format!("target-{size}"));
        let (rate, batches) = chunks(&path, size);
        let again = plain::rate(&base, TOTAL);
        let limit = (limit + again) / 2.0;
        println!(
            "{:>5} KiB: {:>5.0} MB/s, {:>3.0} % of {:.0} MB/s; {:.1} chunks a flush",
            size >> 10,
            rate / 1e6,
            rate / limit * 100.0,
            limit / 1e6,
            (TOTAL / size) as f64 / batches
        );
        let start = Instant::now();
        let rig = Rig::open(&path);
        let chunks = rig.store.statistics().chunks;
        println!("           opened again with {chunks} chunks in {:?}", start.elapsed());
        drop(rig);
        std::fs::remove_dir_all(&path).expect("it was there");
    }
}
