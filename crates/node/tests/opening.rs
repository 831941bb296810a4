//! Opening a store: its work is done by the threads of its own disk, beside others.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "it has a real disk")]

use std::path::Path;
use std::sync::Arc;
use std::thread;

use bytes::Bytes;
use crossbeam_channel::{Receiver, Sender, unbounded};
use slotcast_node::{Disk, Done, Folder, Report};
use slotcast_protocol::Claim;
use slotcast_store::{Content, Effect, Input, Store, StoreStatus, Ticket};

/// A store with its disk. Whoever reports that work is done waits for the gate before.
struct Rig {
    store: Store,
    disk: Disk,
    done: Receiver<Done>,
    effects: Vec<Effect>,
    pieces: u32,
}

impl Rig {
    fn new(path: &Path, gate: Option<Receiver<()>>) -> Rig {
        let folder = Folder::open(path, 1 << 20).expect("a folder");
        let config = folder.config();
        let (tell, done): (Sender<Done>, _) = unbounded();
        let host = thread::current().id();
        let report: Report = Arc::new(move |done| {
            assert_ne!(thread::current().id(), host, "its threads do it, and not whoever asks");
            if let (Done::Work(_), Some(gate)) = (&done, &gate) {
                let _ = gate.recv();
            }
            drop(tell.send(done));
        });
        let disk = Disk::start(folder, 2, Arc::default(), 96, None, &report).expect("threads");
        let mut effects = Vec::new();
        let store = Store::open(config, &mut effects);
        Rig { store, disk, done, effects, pieces: 0 }
    }

    /// Hands out what is to be done; the result is what has happened.
    fn hand_out(&mut self) -> Vec<Effect> {
        let mut happened = Vec::new();
        for effect in std::mem::take(&mut self.effects) {
            match effect {
                Effect::Disk(id, op) => self.disk.ask(id, op),
                Effect::Work => {
                    self.pieces += 1;
                    self.disk.work(self.store.take_work().expect("it said so"));
                }
                other => happened.push(other),
            }
        }
        happened
    }

    fn take(&mut self, done: Done) {
        let input = match done {
            Done::Op(id, result) => Input::Disk(id, result),
            Done::Work(worked) => Input::Worked(worked),
        };
        self.store.handle(input, &mut self.effects);
    }

    /// Goes on until something has happened.
    fn next(&mut self) -> Vec<Effect> {
        loop {
            let happened = self.hand_out();
            if !happened.is_empty() {
                return happened;
            }
            let done = self.done.recv().expect("the disk lives");
            self.take(done);
        }
    }

    fn put(&mut self, n: u64) {
        let content = Content::of(Bytes::from(n.to_le_bytes().repeat(1000)));
        self.store.handle(Input::Put(Ticket(n), content, None, Claim::Bare), &mut self.effects);
        assert_eq!(self.next(), [Effect::Stored { ticket: Ticket(n), already: false }]);
    }
}

/// One thread works both stores, as one works all targets of a node. While one piece of the work of opening the first
/// is under way, it opens the second, puts and gets.
#[test]
fn whoever_works_the_targets_goes_on_while_one_is_opened() {
    let base = tempfile::tempdir().expect("a folder");
    let mut large = Rig::new(&base.path().join("large"), None);
    assert_eq!(large.next(), [Effect::Opened]);
    (0..300).for_each(|n| large.put(n));
    drop(large);

    let (open_gate, gate) = unbounded();
    let mut large = Rig::new(&base.path().join("large"), Some(gate));
    while large.pieces == 0 {
        large.hand_out();
        if large.pieces == 0 {
            let done = large.done.recv().expect("the disk lives");
            large.take(done);
        }
    }
    let mut small = Rig::new(&base.path().join("small"), None);
    assert_eq!(small.next(), [Effect::Opened]);
    (0..50).for_each(|n| small.put(n));
    for n in 0..50 {
        let content = Content::of(Bytes::from(u64::to_le_bytes(n).repeat(1000)));
        small.store.handle(Input::Get(Ticket(n), content.chunk()), &mut small.effects);
        assert_eq!(small.next(), [Effect::Fetched(Ticket(n), content)]);
    }
    assert_eq!((large.store.status(), large.pieces), (StoreStatus::Opening, 1));
    drop(open_gate);
    assert_eq!(large.next(), [Effect::Opened]);
    assert_eq!(large.store.statistics().chunks, 300);
}
