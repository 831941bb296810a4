use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use proptest::prelude::*;
use slotcast_protocol::Claim;

use super::one_by_one::OneByOne;
use super::*;
use crate::recovery::{Outcome, Recovery, Task, Work};

fn entry(kind: Kind, chunk: u8, sequence: u64, offset: u32) -> Entry {
    let length = if kind == Kind::Put { 100 } else { 0 };
    let chunk = ChunkId([chunk; 32]);
    Entry { record: Record { kind, chunk, sequence, length, wanted: Wanted::bare(0) }, offset }
}

/// An index of these records, which were found in an order that follows from `order`.
fn filled(records: &[(SegmentId, Entry)], order: u64) -> Index {
    let identity = crate::record::Identity([7; 32]);
    let mut recovery = Box::new(Recovery::new(identity, Index::new(64 << 20, 50)));
    let segments: BTreeSet<_> = records.iter().map(|(segment, _)| *segment).collect();
    let mut told: Vec<_> = segments.iter().copied().collect();
    let task = Task::List(told.clone());
    recovery = Work { recovery, task }.run().recovery.expect("there is more to do");
    let mut state = order;
    for i in (1..told.len()).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        told.swap(i, usize::try_from(state >> 33).unwrap() % (i + 1));
    }
    for segment in told {
        let of_segment = records.iter().filter(|(of, _)| *of == segment);
        recovery.add(segment, &of_segment.map(|(_, entry)| entry.encode()).collect::<Vec<_>>());
    }
    loop {
        let task = Task::Build(Vec::new(), BTreeSet::new());
        let worked = Work { recovery, task }.run();
        match (worked.outcome, worked.recovery) {
            (Outcome::Built(index, last), _) => {
                let sequences = records.iter().map(|(_, entry)| entry.record.sequence);
                assert_eq!(last, sequences.max().unwrap_or(0));
                return *index;
            }
            (Outcome::Building(..), Some(unbuilt)) => recovery = unbuilt,
            (outcome, _) => panic!("{outcome:?}"),
        }
    }
}

#[test]
fn a_removal_is_needed_as_long_as_what_it_voids_is_on_disk() {
    let put = entry(Kind::Put, 1, 1, 0);
    let removal = entry(Kind::Removal, 1, 2, 0);
    let mut index = filled(&[(SegmentId(0), put), (SegmentId(1), removal)], 0);
    assert!(index.get(&ChunkId([1; 32])).is_none());
    assert!(index.holds(SegmentId(1), &removal));
    index.delete(SegmentId(0), &[put]);
    assert!(!index.holds(SegmentId(1), &removal));
    assert_eq!(index.segments.usage(SegmentId(1)).map(|usage| usage.live), Some(0));
}

/// Of a copy it is known which record it is a copy of, and that is enough.
#[test]
fn a_copy_holds_only_where_the_original_does() {
    let chunk = ChunkId([1; 32]);
    let original = Place { segment: SegmentId(0), offset: 0 };
    let copy = Origin::CopyOf(original);
    let mut index = Index::new(64 << 20, 50);
    index.add(SegmentId(0), entry(Kind::Put, 1, 1, 0), Origin::New);
    index.add(SegmentId(1), entry(Kind::Put, 1, 1, 0), copy);
    let place = |index: &Index| index.find(&chunk).map(|live| live.place.segment.0);
    assert_eq!(place(&index), Some(1));
    // Put anew while a second copy of it was on its way.
    index.add(SegmentId(2), entry(Kind::Put, 1, 2, 0), Origin::New);
    index.add(SegmentId(3), entry(Kind::Put, 1, 1, 0), copy);
    assert_eq!(place(&index), Some(2));
    // Removed, put again, and then comes a copy of the removal.
    index.add(SegmentId(4), entry(Kind::Removal, 1, 3, 0), Origin::New);
    index.add(SegmentId(5), entry(Kind::Put, 1, 1, 0), copy);
    assert_eq!(place(&index), None);
    index.add(SegmentId(6), entry(Kind::Put, 1, 4, 0), Origin::New);
    let removal = Place { segment: SegmentId(4), offset: 0 };
    index.add(SegmentId(7), entry(Kind::Removal, 1, 3, 0), Origin::CopyOf(removal));
    assert_eq!(place(&index), Some(6));
}

/// One of a few names, of which some begin alike, and records of it in a store that has a history: what is put, put
/// anew for more replicas, removed, and copied by compaction, with some segments deleted and some written in part.
#[derive(Debug, Clone)]
struct History {
    records: Vec<(SegmentId, Entry)>,
}

fn name_of(n: u8) -> ChunkId {
    let mut name = [n % 4 * 64; 32];
    name[7 + usize::from(n % 3) * 12] = n;
    ChunkId(name)
}

/// Of each step: what is done to which chunk, for how many replicas and with which claim, and how many segments are begun before.
fn history() -> impl Strategy<Value = History> {
    let step =
        (0u8..8, 0u8..24, (0u8..=8, any::<bool>()), prop_oneof![9 => Just(0u32), 1 => 1u32..4]);
    (proptest::collection::vec(step, 0..200), any::<u64>()).prop_map(|(steps, lost)| {
        let (mut segment, mut offset) = (0, 0);
        let mut records: Vec<(SegmentId, Entry)> = Vec::new();
        for (sequence, (what, n, (replicas, is_named), begun)) in (1..).zip(steps) {
            if begun > 0 {
                (segment, offset) = (segment + begun, 0);
            }
            let chunk = name_of(n);
            let of_chunk = records.iter().rev().find(|(_, entry)| entry.record.chunk == chunk);
            let claim = if is_named { Claim::Names } else { Claim::Bare };
            let wanted = Wanted { replicas, claim };
            let record = match (what, of_chunk) {
                // A copy has the sequence number of the original.
                (0 | 1, Some((_, original))) => original.record,
                (0..=2, _) => {
                    let wanted = Wanted::bare(0);
                    Record { kind: Kind::Removal, chunk, sequence, length: 0, wanted }
                }
                _ => {
                    let length = u32::from(n) * 100;
                    Record { kind: Kind::Put, chunk, sequence, length, wanted }
                }
            };
            records.push((SegmentId(segment), Entry { record, offset }));
            offset += u32::try_from(record.extent()).expect("short");
        }
        // Compacted segments are gone, or were not flushed.
        records.retain(|(SegmentId(segment), _)| *segment < 2 || lost >> (segment % 64) & 3 != 0);
        History { records }
    })
}

proptest! {
    /// All at once gives the state that one after another gives, in whatever order segments are read.
    #[test]
    fn an_index_is_filled_as_one_by_one(history in history(), order in any::<u64>()) {
        let mut plain = OneByOne::default();
        history.records.iter().for_each(|(segment, entry)| plain.add(*segment, *entry));
        plain.settle();
        plain.assert_is(&filled(&history.records, order));
    }
}

/// As many records as take several sections, most of them alone of their name.
#[test]
fn a_large_index_is_filled_as_one_by_one() {
    let mut records = Vec::new();
    for n in 0..150_000u64 {
        // Every 16th name again, by turns removed and put anew.
        let name = if n % 16 == 0 { n / 64 } else { n };
        let chunk = ChunkId(*blake3::hash(&name.to_le_bytes()).as_bytes());
        let kind = if n % 64 == 16 { Kind::Removal } else { Kind::Put };
        let length = if kind == Kind::Put { 1000 } else { 0 };
        let replicas = (n % 5) as u8;
        let wanted = if n % 7 < 4 { Wanted::bare(replicas) } else { Wanted::named(replicas) };
        let record = Record { kind, chunk, sequence: n / 3, length, wanted };
        let (segment, place) = (n / 1000, n % 1000);
        let offset = u32::try_from(place * 1088).expect("short");
        records.push((SegmentId(u32::try_from(segment).expect("few")), Entry { record, offset }));
    }
    let mut plain = OneByOne::default();
    records.iter().for_each(|(segment, entry)| plain.add(*segment, *entry));
    plain.settle();
    plain.assert_is(&filled(&records, 5));
}
