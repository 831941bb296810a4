//! Simulated rows fail, hang and forget as they are told. What they do without faults is held to the real ones in
//! `slotcast-node`.

use slotcast_faults::{Hang, RowsFaults, RowsOpFaults, SimulatedRows};
use slotcast_object::{RowsError, RowsOp, RowsOpId, RowsOutput};

type Result = std::result::Result<RowsOutput, RowsError>;

fn run(rows: &mut SimulatedRows, op: RowsOp) -> Option<Result> {
    rows.ask(RowsOpId(1000), op);
    rows.finish(RowsOpId(1000))
}

fn opened(seed: u64) -> (SimulatedRows, u64) {
    let mut rows = SimulatedRows::new(seed);
    let store = open(&mut rows);
    (rows, store)
}

fn open(rows: &mut SimulatedRows) -> u64 {
    match run(rows, RowsOp::Open) {
        Some(Ok(RowsOutput::Opened(store))) => store,
        other => panic!("{other:?}"),
    }
}

fn write(key: u8, value: u8) -> RowsOp {
    RowsOp::Write(vec![(vec![key], Some(vec![value])), (vec![key, key], Some(vec![value]))])
}

/// The value of both keys of a write.
fn get(rows: &mut SimulatedRows, key: u8) -> Option<u8> {
    let mut value = |key| match run(rows, RowsOp::Get(key)) {
        Some(Ok(RowsOutput::Got(value))) => value.map(|value| value[0]),
        other => panic!("{other:?}"),
    };
    let (one, other) = (value(vec![key]), value(vec![key, key]));
    assert_eq!(one, other, "half of a write");
    one
}

#[test]
fn what_was_reported_is_there_after_a_crash_and_the_rest_in_order() {
    let mut kept = [0; 4];
    for seed in 0..200 {
        let (mut rows, store) = opened(seed);
        assert_eq!(run(&mut rows, write(0, 1)), Some(Ok(RowsOutput::Done)));
        (1..4).for_each(|key| rows.ask(RowsOpId(key.into()), write(key, 1)));
        rows.crash();
        assert_eq!(run(&mut rows, RowsOp::Get(vec![0])), Some(Err(RowsError)), "not opened");
        assert_eq!(open(&mut rows), store);
        assert_eq!(rows.flushed(&[0]), Some(&[1][..]));
        let there: Vec<bool> = (0..4).map(|key| get(&mut rows, key).is_some()).collect();
        assert!(there[0] && there.is_sorted_by(|a, b| a >= b), "{there:?}");
        kept[there.iter().filter(|there| **there).count() - 1] += 1;
    }
    assert!(kept.iter().all(|count| *count > 20), "{kept:?}");
}

#[test]
fn a_store_that_was_not_reported_may_be_another_one() {
    let mut is_same = [0; 2];
    for seed in 0..50 {
        let mut rows = SimulatedRows::new(seed);
        rows.ask(RowsOpId(0), RowsOp::Open);
        rows.crash();
        let store = open(&mut rows);
        assert_eq!(open(&mut rows), store);
        rows.wipe();
        is_same[usize::from(open(&mut rows) == store)] += 1;
    }
    assert_eq!(is_same, [50, 0]);
}

#[test]
fn a_store_that_lies_about_flushes_loses_what_was_reported() {
    let lost = |lies| {
        let mut lost = 0;
        for seed in 0..50 {
            let (mut rows, _) = opened(seed);
            rows.lies = lies;
            assert_eq!(run(&mut rows, write(1, 1)), Some(Ok(RowsOutput::Done)));
            assert_eq!(run(&mut rows, RowsOp::Clear), Some(Ok(RowsOutput::Done)));
            assert_eq!(run(&mut rows, write(2, 2)), Some(Ok(RowsOutput::Done)));
            assert_eq!((get(&mut rows, 1), get(&mut rows, 2)), (None, Some(2)));
            rows.crash();
            open(&mut rows);
            lost += u32::from((get(&mut rows, 1), get(&mut rows, 2)) != (None, Some(2)));
        }
        lost
    };
    assert_eq!(lost(false), 0);
    assert!(lost(true) > 20);
}

#[test]
fn after_an_error_of_any_kind_all_fails_until_it_is_opened() {
    let ops = || {
        let scan = RowsOp::Scan { from: vec![0], before: None, limit: 9 };
        [RowsOp::Open, RowsOp::Get(vec![1]), write(1, 2), scan, RowsOp::Clear]
    };
    for (kind, op) in ops().into_iter().enumerate() {
        let mut there = [0; 3];
        for seed in 0..60 {
            let (mut rows, store) = opened(seed);
            assert_eq!(run(&mut rows, write(1, 1)), Some(Ok(RowsOutput::Done)));
            let fails = RowsOpFaults { lasting: true, ..RowsOpFaults::default() };
            let RowsFaults { open: o, get: g, write: w, scan: s, clear: c } = &mut rows.faults;
            *[o, g, w, s, c][kind] = fails;
            assert_eq!(run(&mut rows, op.clone()), Some(Err(RowsError)));
            rows.faults = RowsFaults::default();
            for other in ops().into_iter().skip(1) {
                assert_eq!(run(&mut rows, other), Some(Err(RowsError)), "after {op:?}");
            }
            assert_eq!(open(&mut rows), store);
            there[usize::from(get(&mut rows, 1).unwrap_or(0))] += 1;
        }
        // A change that failed may have been made.
        match op {
            RowsOp::Write(_) => assert!(there[0] == 0 && there[1] > 10 && there[2] > 10),
            RowsOp::Clear => assert!(there[0] > 10 && there[1] > 10),
            _ => assert_eq!(there, [0, 60, 0]),
        }
    }
}

#[test]
fn some_fail_and_a_full_one_takes_no_more() {
    let (mut rows, _) = opened(1);
    rows.faults =
        RowsFaults::of_every_kind(RowsOpFaults { one_in: Some(3), ..RowsOpFaults::default() });
    let mut failed = 0;
    for _ in 0..100 {
        failed += u32::from(run(&mut rows, RowsOp::Open) == Some(Err(RowsError)));
    }
    assert!((15..60).contains(&failed), "{failed}");
    let (mut rows, _) = opened(1);
    rows.room = 3;
    assert_eq!(run(&mut rows, write(1, 1)), Some(Ok(RowsOutput::Done)));
    assert_eq!(run(&mut rows, write(1, 2)), Some(Ok(RowsOutput::Done)), "in its place");
    assert_eq!(run(&mut rows, write(2, 1)), Some(Err(RowsError)));
    open(&mut rows);
    assert_eq!((get(&mut rows, 1), get(&mut rows, 2)), (Some(2), None));
}

#[test]
fn what_hangs_holds_up_the_changes_behind_it_and_no_reading() {
    let hangs = |hang| RowsOpFaults { hang: Some(hang), ..RowsOpFaults::default() };
    let (mut rows, _) = opened(1);
    rows.faults.write = hangs(Hang::UntilReleased);
    rows.ask(RowsOpId(0), write(1, 1));
    rows.faults = RowsFaults::default();
    rows.ask(RowsOpId(1), RowsOp::Clear);
    rows.ask(RowsOpId(2), write(2, 2));
    assert_eq!((rows.finish(RowsOpId(0)), rows.finish(RowsOpId(2))), (None, None));
    assert_eq!((get(&mut rows, 1), rows.step()), (None, None));
    assert_eq!(rows.release(), [0, 1, 2].map(RowsOpId));
    // The last one is carried out after those before it.
    assert_eq!(rows.finish(RowsOpId(2)), Some(Ok(RowsOutput::Done)));
    assert_eq!((get(&mut rows, 1), get(&mut rows, 2)), (None, Some(2)));
    assert_eq!(rows.step(), Some((RowsOpId(0), Ok(RowsOutput::Done))));
    assert_eq!(rows.step(), Some((RowsOpId(1), Ok(RowsOutput::Done))));

    rows.faults.get = hangs(Hang::UntilCrash);
    rows.ask(RowsOpId(3), RowsOp::Get(vec![2]));
    rows.faults = RowsFaults::default();
    assert_eq!(rows.release(), []);
    assert_eq!((rows.finish(RowsOpId(3)), get(&mut rows, 2)), (None, Some(2)));
}

#[test]
fn equal_seeds_do_the_same() {
    let history = |seed| {
        let (mut rows, store) = opened(seed);
        let mut results = vec![Some((RowsOpId(0), Ok(RowsOutput::Opened(store))))];
        for n in 0..200u64 {
            rows.ask(RowsOpId(n), write((n % 7) as u8, n as u8));
            rows.ask(RowsOpId(n), RowsOp::Get(vec![(n % 5) as u8]));
            results.push(rows.step());
            if n % 50 == 49 {
                rows.crash();
                rows.ask(RowsOpId(n), RowsOp::Open);
            }
        }
        results
    };
    assert_eq!(history(3), history(3));
    assert_ne!(history(3), history(4));
}
