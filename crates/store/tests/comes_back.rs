//! Segments that cannot be read at a start, or are not there, and are at a later one: what was removed stays removed, and
//! numbers of replicas stay what they were raised to.

mod one_store;

use bytes::Bytes;
use slotcast_disk::io::SegmentId;
use slotcast_protocol::{ChunkId, Claim};
use slotcast_store::{
    Config, Content, DiskError, Effect, Identity, Input, StoreStatus, Ticket, WriteError,
};

use one_store::Rig;

impl Rig {
    fn put(&mut self, n: u16, replicas: u8) -> Effect {
        self.tell(Input::Put(Ticket(0), content(n), Some(replicas), Claim::Bare));
        self.told.pop().expect("it is answered")
    }

    fn remove(&mut self, n: u16) -> Effect {
        self.tell(Input::Remove(Ticket(0), chunk(n)));
        self.told.pop().expect("it is answered")
    }

    fn replicas(&self, n: u16) -> Option<u8> {
        self.store.wanted(&chunk(n)).map(|wanted| wanted.replicas)
    }

    /// The segment with the latest records, which nothing was written after.
    fn latest(&self) -> SegmentId {
        // The last one is the spare.
        let segments = self.disk.segments();
        segments[segments.len() - 2]
    }
}

/// Nothing is compacted: records stay where they were written.
fn config() -> Config {
    let config = Config::new(Identity([9; 32]));
    Config { segment_size: 64 << 10, batch: 20_000, compact_below: 0, ..config }
}

/// Four of them fill a segment.
fn content(n: u16) -> Content {
    let mut bytes = vec![7; 15_000];
    bytes[..2].copy_from_slice(&n.to_le_bytes());
    Content::of(Bytes::from(bytes))
}

fn chunk(n: u16) -> ChunkId {
    content(n).chunk()
}

const STORED: Effect = Effect::Stored { ticket: Ticket(0), already: false };
const REMOVED: Effect = Effect::Removed { ticket: Ticket(0), existed: true };

/// Where removals and later puts may be on record in what cannot be read, nothing is written, so nothing can be older or
/// younger than it.
#[test]
fn what_could_not_be_read_at_a_start_holds_when_it_can() {
    let mut rig = Rig::new(config());
    for n in 0..12 {
        assert_eq!(rig.put(n, 3), STORED);
    }
    assert_eq!(rig.remove(0), REMOVED);
    assert_eq!(rig.put(1, 5), STORED);
    for segment in rig.disk.segments() {
        rig.disk.unreadable = Some(segment);
        rig.restart();
        let is_unread = rig.store.statistics().unreadable_segments > 0;
        if is_unread {
            assert_eq!(rig.store.status(), StoreStatus::ReadOnly(DiskError::Failed));
            let refused = Effect::NotWritten(Ticket(0), WriteError::Disk(DiskError::Failed));
            for n in 0..12 {
                assert_eq!(rig.remove(n), refused);
                assert_ne!(rig.put(n, 7), STORED);
            }
            // It can be read again, while the store is open: that is for the next start.
            rig.disk.unreadable = None;
            assert_eq!(rig.remove(2), refused);
        }
        rig.disk.unreadable = None;
        rig.restart();
        assert_eq!((rig.replicas(0), rig.replicas(1)), (None, Some(5)));
        assert!((2..12).all(|n| rig.replicas(n) == Some(3)));
    }
    assert_eq!(rig.remove(2), REMOVED);
}

/// The file with the latest records is not there at a start, and nothing says so. What is written then is younger than what is
/// in it.
#[test]
fn what_was_not_there_at_a_start_is_older_than_what_was_written_meanwhile() {
    let mut rig = Rig::new(config());
    for n in 0..3 {
        assert_eq!(rig.put(n, 3), STORED);
    }
    // Three segments are full.
    for n in 10..19 {
        assert_eq!(rig.put(n, 3), STORED);
    }
    for n in [2, 1, 0] {
        assert_eq!(rig.put(n, 4), STORED);
    }
    let away = rig.latest();
    let away = rig.disk.take_away(away).expect("it is there");
    rig.restart();
    assert_eq!(rig.replicas(0), Some(3), "the latest record is away");
    assert_eq!(rig.remove(0), REMOVED);
    assert_eq!(rig.put(1, 6), STORED);
    rig.restart();
    rig.disk.put_back(away);
    rig.restart();
    assert_eq!(rig.replicas(0), None, "it was removed");
    assert_eq!(rig.replicas(1), Some(6), "its number was raised");
    assert_eq!(rig.replicas(2), Some(4), "nobody has said otherwise");
}

/// The same over many starts, where the latest segment has all that was written since the one before.
#[test]
fn each_start_numbers_its_records_above_those_of_all_before() {
    let mut rig = Rig::new(config());
    for start in 0..20 {
        let of_start = 10 * start..10 * start + 4;
        for n in of_start.clone() {
            assert_eq!(rig.put(n, 3), STORED);
        }
        rig.restart();
        for n in of_start.clone().rev() {
            assert_eq!(rig.put(n, 4), STORED);
        }
        let away = rig.latest();
        let away = rig.disk.take_away(away).expect("it is there");
        rig.restart();
        let removed = of_start.start;
        assert_eq!(rig.remove(removed), REMOVED);
        rig.restart();
        rig.disk.put_back(away);
        rig.restart();
        assert_eq!(rig.replicas(removed), None, "after {start} starts");
        // The rest of the segment that is written.
        for n in 0..3 {
            assert_eq!(rig.put(1000 + 10 * start + n, 3), STORED);
        }
        assert_eq!(rig.put(1000 + 10 * start + 3, 3), STORED);
    }
    let is_removed = |start: u16| rig.replicas(10 * start).is_none();
    assert!((0..20).all(is_removed));
}
