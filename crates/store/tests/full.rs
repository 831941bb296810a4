//! A disk with no more room: what is removed gives room back, wherever it lay.

mod one_store;

use bytes::Bytes;
use slotcast_protocol::{ChunkId, Claim};
use slotcast_store::{Config, Content, Effect, Identity, Input, StoreStatus, Ticket};

use one_store::Rig;

/// Segments that the disk has room for.
const ROOM: usize = 12;

fn config() -> Config {
    let config = Config::new(Identity([9; 32]));
    Config { segment_size: 256 << 10, batch: 100_000, ..config }
}

fn content(n: u32) -> Content {
    let mut bytes = vec![7; 12_000];
    bytes[..4].copy_from_slice(&n.to_le_bytes());
    Content::of(Bytes::from(bytes))
}

fn chunk(n: u32) -> ChunkId {
    content(n).chunk()
}

impl Rig {
    fn put(&mut self, n: u32) -> bool {
        self.tell(Input::Put(Ticket(0), content(n), None, Claim::Bare));
        matches!(self.told.pop(), Some(Effect::Stored { already: false, .. }))
    }

    fn remove(&mut self, n: u32) -> bool {
        self.tell(Input::Remove(Ticket(0), chunk(n)));
        matches!(self.told.pop(), Some(Effect::Removed { existed: true, .. }))
    }

    /// Puts until there is no room. Gives how many there are then.
    fn fill(&mut self, from: u32) -> u32 {
        let full = (from..).find(|n| !self.put(*n)).expect("there is an end");
        assert_eq!(self.store.status(), StoreStatus::Full);
        full
    }

    fn holds(&self, all: impl IntoIterator<Item = u32>) -> bool {
        all.into_iter().all(|n| self.store.holds(&chunk(n)))
    }
}

fn full() -> (Rig, u32) {
    let mut rig = Rig::new(config());
    rig.disk.room = ROOM;
    let all = rig.fill(0);
    // One segment is kept, and the last one is not full.
    assert!(all > 10 * 20, "{all} chunks");
    (rig, all)
}

/// A fifth of each segment, which is too little for a store with room to compact it.
#[test]
fn scattered_garbage_gives_room_back() {
    let (mut rig, all) = full();
    let removed = |n: &u32| n.is_multiple_of(5);
    for n in (0..all).filter(removed) {
        assert!(rig.remove(n), "{n} of {all}");
    }
    assert_eq!(rig.store.status(), StoreStatus::Open);
    let now = rig.fill(all);
    assert!(now - all > all / 10, "{} new ones of {all}", now - all);
    assert!(rig.holds((0..now).filter(|n| *n >= all || !removed(n))));
    rig.restart();
    assert!(rig.holds((0..now).filter(|n| *n >= all || !removed(n))));
}

/// Removals have room also where they come one at a time, and again after a start on a full disk.
#[test]
fn a_full_store_can_be_emptied() {
    for restarts in [false, true] {
        let (mut rig, all) = full();
        if restarts {
            rig.restart();
        }
        // Not in the order in which they lie.
        for n in (0..all).map(|n| n * 37 % all) {
            assert!(!rig.store.holds(&chunk(n)) || rig.remove(n), "{n} of {all}");
        }
        let left = (0..all).filter(|n| rig.store.holds(&chunk(*n)));
        for n in left.collect::<Vec<_>>() {
            assert!(rig.remove(n), "{n} of {all}");
        }
        assert_eq!((rig.store.statistics().chunks, rig.store.status()), (0, StoreStatus::Open));
        assert!(rig.put(0));
    }
}
