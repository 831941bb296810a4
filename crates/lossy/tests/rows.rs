//! The rows of names of a node, on a file system that loses what was not flushed.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "it has files and threads")]

mod mount;

use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, unbounded};
use slotcast_lossy::{Effect, Error, LossyDisk, Operation, Rule};
use slotcast_node::{Rows, RowsResult};
use slotcast_object::{RowsOp, RowsOpId, RowsOutput};

use mount::mounted;

const PATIENCE: Duration = Duration::from_secs(60);

/// Writes are under way at any time.
const UNDER_WAY: u64 = 3;

/// Rows of one write: all of them say its number.
const ROWS: u8 = 12;

struct Opened {
    rows: Rows,
    told: Receiver<(RowsOpId, RowsResult)>,
}

impl Opened {
    fn start(disk: &LossyDisk) -> Opened {
        let (tell, told) = unbounded();
        let report = Arc::new(move |id, result| drop(tell.send((id, result))));
        let rows = Rows::start(disk.path().join("target/names"), 1, report).expect("threads");
        Opened { rows, told }
    }

    fn next(&self) -> (u64, RowsResult) {
        let (id, result) = self.told.recv_timeout(PATIENCE).expect("it answers");
        (id.0, result)
    }

    fn run(&self, op: RowsOp) -> RowsResult {
        self.rows.ask(RowsOpId(u64::MAX), op);
        self.next().1
    }

    fn try_open(&self) -> Option<u64> {
        match self.run(RowsOp::Open) {
            Ok(RowsOutput::Opened(store)) => Some(store),
            _ => None,
        }
    }

    /// The number of the last write that is there. All of a write is there or nothing.
    fn last(&self) -> u64 {
        let scan = RowsOp::Scan { from: vec![0], before: None, limit: 1000 };
        let Ok(RowsOutput::Scanned(rows, true)) = self.run(scan) else { panic!("not open") };
        let numbers: Vec<u64> = rows.iter().map(|(_, value)| number_of(value)).collect();
        let Some(last) = numbers.first() else { return 0 };
        assert!(numbers.iter().all(|number| number == last), "half of a write: {numbers:?}");
        assert_eq!(numbers.len(), usize::from(ROWS));
        *last
    }
}

fn number_of(value: &[u8]) -> u64 {
    let number = u64::from_le_bytes(*value.first_chunk().expect("it is longer"));
    assert!(value[8..].iter().all(|byte| *byte == value[0]), "not what was written");
    number
}

/// Several sectors, and several lengths.
fn write(number: u64) -> RowsOp {
    let row = |n: u8| {
        let mut value = number.to_le_bytes().to_vec();
        value.resize(8 + usize::from(n) * 97, value[0]);
        (vec![b'r', n], Some(value))
    };
    RowsOp::Write((0..ROWS).map(row).collect())
}

fn mixed(number: u64) -> u64 {
    let mixed = (number ^ (number >> 31)).wrapping_add(1).wrapping_mul(0xd6e8_feb8_6659_fd93);
    mixed ^ (mixed >> 32)
}

/// Writes until the power is off; the number of the last write that was reported.
fn write_until_off(opened: &Opened, disk: &LossyDisk, first: u64, count: u64) -> u64 {
    let mut reported = first - 1;
    (first..first + UNDER_WAY).for_each(|number| opened.rows.ask(RowsOpId(number), write(number)));
    loop {
        let (number, result) = opened.next();
        if result.is_err() {
            return reported;
        }
        assert_eq!(number, reported + 1, "in order");
        reported = number;
        if number == first + count {
            disk.cut_power();
        }
        let next = number + UNDER_WAY;
        opened.rows.ask(RowsOpId(next), write(next));
    }
}

/// So many power failures under load; the sectors that were lost. None if nothing can be mounted, or if rows that were
/// reported are not there: that is what it looks for.
fn lose_power(seed: u64, failures: u64, rule: Option<&Rule>) -> Option<Result<u64, String>> {
    let (mut disk, _folder) = mounted()?;
    let (mut store, mut expected, mut sectors) = (None, 0..=0, 0);
    for failure in 0..=failures {
        let draw = mixed(seed << 32 | failure);
        let opened = Opened::start(&disk);
        let Some(found) = opened.try_open() else {
            return Some(Err(format!("failure {failure}: not opened")));
        };
        if *store.get_or_insert(found) != found {
            return Some(Err(format!("failure {failure}: another store")));
        }
        let last = opened.last();
        if !expected.contains(&last) {
            return Some(Err(format!("failure {failure}: {last} is there, not {expected:?}")));
        }
        rule.into_iter().for_each(|rule| _ = disk.inject(rule.clone()));
        let is_cleared = draw.is_multiple_of(5);
        if is_cleared {
            assert_eq!(opened.run(RowsOp::Clear), Ok(RowsOutput::Done));
            assert_eq!(opened.last(), 0);
        }
        // The power fails after a write that was reported, at any change, or before a flush.
        match draw % 3 {
            0 => disk.cut_power_at(&Operation::CHANGES, draw / 15 % 60),
            1 => disk.cut_power_at(&[Operation::Flush], draw / 15 % 30),
            _ => {}
        }
        let reported = write_until_off(&opened, &disk, last + 1, draw / 15 % 80);
        let is_empty = is_cleared && reported == last;
        expected = if is_empty { 0 } else { reported }..=reported + UNDER_WAY;
        drop(opened);
        sectors += disk.restore_power(draw).expect("it is mounted").sectors;
    }
    Some(Ok(sectors))
}

#[test]
fn what_was_reported_survives_power_failures() {
    let mut sectors = 0;
    for seed in 0..5 {
        let Some(result) = lose_power(seed, 10, None) else { return };
        sectors += result.expect("nothing is lost");
    }
    assert!(sectors > 0, "nothing was tried");
}

/// As if the flush of the journal were left out.
#[test]
fn a_flush_that_is_left_out_is_found() {
    let lie = Rule::new(&[Operation::Flush], "*.jnl", Effect::Lie);
    let mut found = 0;
    for seed in 0..3 {
        let Some(result) = lose_power(seed, 5, Some(&lie)) else { return };
        found += u32::from(result.is_err());
    }
    assert!(found > 0, "nothing is lost, so the check is blind");
}

/// The power fails at each change in turn that making a store takes: what was not reported is made anew, and what was is
/// there.
#[test]
fn a_power_failure_at_any_moment_of_the_first_opening_is_made_up_for() {
    for changes in 0.. {
        let Some((mut disk, _folder)) = mounted() else { return };
        disk.cut_power_at(&Operation::CHANGES, changes);
        let opened = Opened::start(&disk);
        let store = opened.try_open();
        drop(opened);
        let is_cut = disk.is_cut();
        disk.cut_power();
        disk.restore_power(mixed(changes)).expect("it is mounted");
        let opened = Opened::start(&disk);
        let found = opened.try_open().expect("it opens");
        assert!(store.is_none_or(|store| store == found), "another store");
        assert_eq!(opened.last(), 0);
        drop(opened);
        if !is_cut {
            assert!(changes > 10, "it makes more changes than {changes}");
            return;
        }
    }
}

/// The same while rows are cleared: all are there, or none.
#[test]
fn a_power_failure_at_any_moment_of_clearing_leaves_all_or_nothing() {
    let mut left = [0; 2];
    for changes in 0.. {
        let Some((mut disk, _folder)) = mounted() else { return };
        let opened = Opened::start(&disk);
        let store = opened.try_open().expect("it opens");
        assert_eq!(opened.run(write(1)), Ok(RowsOutput::Done));
        disk.cut_power_at(&Operation::CHANGES, changes);
        let is_cleared = opened.run(RowsOp::Clear).is_ok();
        drop(opened);
        let is_cut = disk.is_cut();
        disk.cut_power();
        disk.restore_power(mixed(changes)).expect("it is mounted");
        let opened = Opened::start(&disk);
        assert_eq!(opened.try_open(), Some(store));
        let last = opened.last();
        assert!(last == 0 || !is_cleared, "it was reported");
        left[usize::from(last == 1)] += 1;
        drop(opened);
        if !is_cut {
            assert!(left[0] > 0 && left[1] > 0, "{left:?}");
            return;
        }
    }
}

/// A flush that fails closes the rows. What was reported before is there when they are opened anew.
#[test]
fn a_flush_that_fails_is_told_and_closes_the_rows() {
    let Some((disk, _folder)) = mounted() else { return };
    let opened = Opened::start(&disk);
    let store = opened.try_open().expect("it opens");
    assert_eq!(opened.run(write(1)), Ok(RowsOutput::Done));
    let rule = Rule::new(&[Operation::Flush], "*.jnl", Effect::Fail(Error::Io));
    let rule = disk.inject(rule);
    assert!(opened.run(write(2)).is_err());
    disk.withdraw(rule);
    assert!(opened.run(write(3)).is_err());
    assert!(opened.run(RowsOp::Get(vec![b'r', 0])).is_err());
    assert_eq!(opened.try_open(), Some(store));
    assert!((1..=2).contains(&opened.last()));
    assert_eq!(opened.run(write(3)), Ok(RowsOutput::Done));
    assert_eq!(opened.last(), 3);
}
