//! A simulated disk does what it was told: operations of each kind fail and hang, and what was
//! confirmed is there.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use proptest::prelude::*;
use slotcast_disk::io::{DiskError, Op, OpId, Output, SegmentId};
use slotcast_faults::{DiskFaults, Hang, OpFaults, SimulatedDisk, Transient};
use slotcast_protocol::ChunkId;

const SEGMENT: SegmentId = SegmentId(1);
const LENGTH: u64 = 16 << 10;
const BLOCK: u64 = 512;

const ERRORS: [DiskError; 4] =
    [DiskError::Full, DiskError::ReadOnly, DiskError::Gone, DiskError::Failed];

/// One operation of each kind, in an order in which all can succeed, and its faults.
type Kind = (Op, fn(&mut DiskFaults) -> &mut OpFaults);

fn kinds() -> [Kind; 7] {
    let block = Bytes::from(vec![7; BLOCK as usize]);
    [
        (Op::Create { segment: SEGMENT, length: LENGTH }, |f| &mut f.create),
        (Op::List, |f| &mut f.list),
        (Op::Write { segment: SEGMENT, offset: 0, parts: vec![block] }, |f| &mut f.write),
        (Op::Cut { segment: SEGMENT, offset: BLOCK, length: LENGTH }, |f| &mut f.cut),
        (Op::Read { segment: SEGMENT, offset: 0, length: BLOCK }, |f| &mut f.read),
        (Op::ReadContent { segment: SEGMENT, offset: 0, length: BLOCK }, |f| &mut f.read_content),
        (Op::Delete { segment: SEGMENT }, |f| &mut f.delete),
    ]
}

fn run(disk: &mut SimulatedDisk, op: &Op) -> Option<Result<Output, DiskError>> {
    disk.ask(OpId(1), op.clone());
    disk.finish(OpId(1))
}

fn read(disk: &mut SimulatedDisk, segment: SegmentId, offset: u64, length: u64) -> Bytes {
    let output = run(disk, &Op::Read { segment, offset, length });
    let Some(Ok(Output::Bytes(bytes))) = output else { panic!("{output:?}") };
    bytes
}

/// The record of a chunk with 100 bytes, as stores write it.
fn record(chunk: u8) -> [Bytes; 2] {
    let mut header = vec![0; 64];
    header[..5].copy_from_slice(b"SLC1\x01");
    header[8] = 100;
    header[24..56].fill(chunk);
    [header.into(), vec![chunk; 100].into()]
}

#[test]
fn an_operation_of_each_kind_fails_with_what_was_chosen() {
    let mut disk = SimulatedDisk::new(3);
    for (op, faults_of) in kinds() {
        for error in ERRORS {
            let lasting = OpFaults { lasting: Some(error), ..OpFaults::default() };
            let transient = Some(Transient { one_in: 1, error });
            let transient = OpFaults { transient, ..OpFaults::default() };
            for faults in [lasting, transient] {
                let mut faulty = disk.clone();
                *faults_of(&mut faulty.faults) = faults;
                for _ in 0..2 {
                    assert_eq!(run(&mut faulty, &op), Some(Err(error)), "{op:?}");
                }
            }
        }
        assert!(matches!(run(&mut disk, &op), Some(Ok(_))), "{op:?}");
    }
}

/// A disk that is gone, full or read-only has written nothing; one that failed, perhaps.
#[test]
fn what_failed_may_have_been_done_only_if_the_device_failed() {
    for (n, (op, faults_of)) in kinds().iter().enumerate() {
        for error in ERRORS {
            let mut outcomes = BTreeSet::new();
            for seed in 0..40 {
                let mut disk = SimulatedDisk::new(seed);
                for (before, _) in &kinds()[..n] {
                    run(&mut disk, before);
                }
                if let Op::Cut { .. } = op {
                    let parts = vec![Bytes::from(vec![9; BLOCK as usize])];
                    run(&mut disk, &Op::Write { segment: SEGMENT, offset: BLOCK, parts });
                }
                faults_of(&mut disk.faults).lasting = Some(error);
                run(&mut disk, op);
                let files = disk.files();
                disk.faults = DiskFaults::default();
                let content = (files > 0).then(|| read(&mut disk, SEGMENT, 0, LENGTH));
                outcomes.insert((files, content));
            }
            let changes = !matches!(op, Op::List | Op::Read { .. } | Op::ReadContent { .. });
            let may_be_done = changes && error == DiskError::Failed
                || error == DiskError::Full && matches!(op, Op::Create { .. });
            assert_eq!(outcomes.len() > 1, may_be_done, "{op:?}, {error:?}");
        }
    }
}

#[test]
fn faults_of_one_kind_are_none_of_another() {
    for chosen in 0..kinds().len() {
        let mut disk = SimulatedDisk::new(5);
        let faults = OpFaults { lasting: Some(DiskError::Failed), ..OpFaults::default() };
        *kinds()[chosen].1(&mut disk.faults) = faults;
        assert_eq!(disk.faults.of(&kinds()[chosen].0), &faults);
        for (n, (op, _)) in kinds().iter().enumerate().filter(|(n, _)| *n != chosen) {
            // Without a segment there is nothing to write to.
            if chosen == 0 && disk.files() == 0 && n > 1 {
                break;
            }
            assert!(matches!(run(&mut disk, op), Some(Ok(_))), "{op:?}");
        }
    }
}

#[test]
fn transient_errors_have_their_rate() {
    let mut disk = SimulatedDisk::new(1);
    disk.faults.list.transient = Some(Transient { one_in: 10, error: DiskError::Gone });
    let failed = (0..10_000).filter(|_| run(&mut disk, &Op::List) == Some(Err(DiskError::Gone)));
    // Six standard deviations.
    assert!((820..1180).contains(&failed.count()));
}

#[test]
fn an_operation_that_hangs_is_answered_when_it_is_released_or_never() {
    for (n, (op, faults_of)) in kinds().iter().enumerate() {
        for hang in [Hang::UntilReleased, Hang::UntilCrash] {
            let mut disk = SimulatedDisk::new(9);
            for (before, _) in &kinds()[..n] {
                run(&mut disk, before);
            }
            faults_of(&mut disk.faults).hang = Some(hang);
            disk.ask(OpId(7), op.clone());
            assert_eq!((disk.finish(OpId(7)), disk.step()), (None, None), "{op:?} hangs");
            let released = disk.release();
            if hang == Hang::UntilReleased {
                assert_eq!(released, [OpId(7)]);
                assert_eq!(disk.faults, DiskFaults::default());
                assert!(matches!(disk.step(), Some((OpId(7), Ok(_)))));
            } else {
                disk.faults = DiskFaults::default();
                assert_eq!((released, disk.step()), (vec![], None));
            }
            disk.crash();
            assert_eq!((disk.release(), disk.step()), (vec![], None));
        }
    }
}

#[test]
fn operations_of_other_kinds_pass_those_that_hang() {
    let mut disk = SimulatedDisk::new(2);
    disk.faults.list.hang = Some(Hang::UntilReleased);
    disk.ask(OpId(1), Op::List);
    disk.ask(OpId(2), Op::Create { segment: SEGMENT, length: LENGTH });
    assert_eq!(disk.step(), Some((OpId(2), Ok(Output::Done))));
    assert_eq!(disk.step(), None);
    disk.faults.list.hang = None;
    disk.ask(OpId(3), Op::List);
    let listed = Ok(Output::Segments(vec![SEGMENT]));
    assert_eq!(disk.step(), Some((OpId(3), listed.clone())), "hangs no more, those before do");
    assert_eq!(disk.release(), [OpId(1)]);
    assert_eq!(disk.finish(OpId(1)), Some(listed));
}

#[test]
fn what_cannot_be_read_is_there_nevertheless() {
    let mut disk = SimulatedDisk::new(4);
    let (a, b) = (ChunkId([1; 32]), ChunkId([2; 32]));
    for (segment, chunk) in [(SEGMENT, 1), (SegmentId(2), 2)] {
        run(&mut disk, &Op::Create { segment, length: LENGTH });
        let parts = record(chunk).to_vec();
        assert_eq!(
            run(&mut disk, &Op::Write { segment, offset: 0, parts }),
            Some(Ok(Output::Done))
        );
    }
    let unread = |disk: &SimulatedDisk| (disk.is_unread(&a), disk.is_unread(&b));
    assert_eq!(unread(&disk), (false, false));
    // Until the next operation.
    disk.faults.read_content.lasting = Some(DiskError::Gone);
    run(&mut disk, &Op::ReadContent { segment: SEGMENT, offset: 64, length: 100 });
    assert_eq!(unread(&disk), (true, false));
    assert!(!disk.excuses(&a), "nothing was done to it");
    run(&mut disk, &Op::List);
    assert_eq!(unread(&disk), (false, false));
}

fn any_faults() -> impl Strategy<Value = OpFaults> {
    let error = || prop::sample::select(&ERRORS[..]);
    let transient = prop::option::of((1u64..6, error()))
        .prop_map(|some| some.map(|(one_in, error)| Transient { one_in, error }));
    let hang = prop::option::weighted(
        0.2,
        prop::sample::select(&[Hang::UntilReleased, Hang::UntilCrash][..]),
    );
    let lasting = prop::option::weighted(0.2, error());
    (transient, lasting, hang).prop_map(|(transient, lasting, hang)| OpFaults {
        transient,
        lasting,
        hang,
    })
}

/// What happens to a disk: faults of a kind, one by its place in [`kinds`], a power failure, or a
/// write.
#[derive(Debug, Clone)]
enum Turn {
    Faults(usize, OpFaults),
    Crash,
    Create,
    Write(usize),
}

fn any_turn() -> impl Strategy<Value = Turn> {
    prop_oneof![
        2 => (0usize..7, any_faults()).prop_map(|(kind, faults)| Turn::Faults(kind, faults)),
        1 => Just(Turn::Crash),
        2 => Just(Turn::Create),
        8 => (0usize..1000).prop_map(Turn::Write),
    ]
}

proptest! {
    /// Whatever else fails, hangs or tears: a write that was confirmed is there after a power
    /// failure, unless the disk lies.
    #[test]
    fn what_was_confirmed_is_there(
        seed in any::<u64>(),
        turns in prop::collection::vec(any_turn(), 1..80),
    ) {
        let mut disk = SimulatedDisk::new(seed);
        // Segments, with the place after the last write; and what was confirmed.
        let mut segments: BTreeMap<SegmentId, u64> = BTreeMap::new();
        let mut confirmed = Vec::new();
        let (mut next, mut created) = (OpId(10), 0);
        for turn in turns {
            next.0 += 1;
            match turn {
                Turn::Faults(kind, faults) => *kinds()[kind].1(&mut disk.faults) = faults,
                Turn::Crash => disk.crash(),
                Turn::Create => {
                    created += 1;
                    let segment = SegmentId(created);
                    disk.ask(next, Op::Create { segment, length: LENGTH });
                    if disk.finish(next) == Some(Ok(Output::Done)) {
                        segments.insert(segment, 0);
                    }
                }
                Turn::Write(which) if !segments.is_empty() => {
                    let count = segments.len();
                    let (&segment, end) = segments.iter_mut().nth(which % count).unwrap();
                    let offset = *end;
                    if offset + BLOCK >= LENGTH {
                        continue;
                    }
                    *end += BLOCK;
                    let byte = u8::try_from(which % 251).unwrap() + 1;
                    let block = Bytes::from(vec![byte; BLOCK as usize]);
                    let parts = vec![block.clone()];
                    disk.ask(next, Op::Write { segment, offset, parts });
                    match disk.finish(next) {
                        Some(Ok(_)) => confirmed.push((segment, offset, block)),
                        Some(Err(_)) => {}
                        // A store waits for it before it writes on.
                        None => drop(segments.remove(&segment)),
                    }
                }
                Turn::Write(_) => {}
            }
        }
        disk.faults = DiskFaults::default();
        disk.crash();
        for (segment, offset, block) in confirmed {
            prop_assert_eq!(read(&mut disk, segment, offset, BLOCK), block);
        }
    }
}
