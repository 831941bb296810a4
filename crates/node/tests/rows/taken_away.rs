//! Files of rows are taken away, or replaced by older ones, while nobody has them open: a voter must not vote without what it
//! has promised.

use std::fs;
use std::path::{Path, PathBuf};

use slotcast_object::{RowsError, RowsOp, RowsOutput};

use crate::contract::Contract;
use crate::disk::RowsOnDisk;

/// Bytes of the value of a write: about 60 writes to a journal.
const LARGE: usize = 1 << 20;

fn write(number: u64, bytes: usize) -> RowsOp {
    RowsOp::Write(vec![
        (b"number".to_vec(), Some(number.to_be_bytes().to_vec())),
        (row(number), Some(vec![number as u8; bytes])),
    ])
}

fn row(number: u64) -> Vec<u8> {
    format!("row {number}").into_bytes()
}

fn get(number: u64) -> RowsOp {
    RowsOp::Get(row(number))
}

fn last(rows: &mut RowsOnDisk) -> Option<u64> {
    match rows.run(RowsOp::Get(b"number".to_vec())) {
        Ok(RowsOutput::Got(value)) => {
            value.map(|value| u64::from_be_bytes(value.try_into().expect("eight bytes")))
        }
        other => panic!("{other:?}"),
    }
}

/// Rows with so many writes, which are closed.
fn written(writes: u64, bytes: usize) -> RowsOnDisk {
    let mut rows = RowsOnDisk::new();
    rows.open();
    (1..=writes).for_each(|number| {
        assert_eq!(rows.run(write(number, bytes)), Ok(RowsOutput::Done));
    });
    rows.stop();
    rows
}

fn rows_of(rows: &RowsOnDisk) -> PathBuf {
    rows.names().join("rows-1")
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("it is there").path();
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

fn mark(rows: &RowsOnDisk) -> PathBuf {
    rows.names().join("rows-1.toml")
}

fn journals(rows: &RowsOnDisk) -> Vec<PathBuf> {
    let mut found = Vec::new();
    files(&rows_of(rows), &mut found);
    found.retain(|path| path.extension().is_some_and(|extension| extension == "jnl"));
    found.sort_by_key(|path| path.file_stem().and_then(|stem| stem.to_str()?.parse::<u64>().ok()));
    found
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("room");
    for entry in fs::read_dir(from).expect("a folder") {
        let path = entry.expect("it is there").path();
        let to = to.join(path.file_name().expect("a name"));
        match path.is_dir() {
            true => copy(&path, &to),
            false => drop(fs::copy(&path, &to).expect("room")),
        }
    }
}

/// Rows are not opened, however often that is tried.
fn assert_not_opened(rows: &mut RowsOnDisk, what: &str) {
    for _ in 0..2 {
        rows.start();
        let result = rows.run(RowsOp::Open);
        assert_eq!(result, Err(RowsError), "{what}: opened with {:?}", last_if(rows));
        rows.stop();
    }
}

fn last_if(rows: &mut RowsOnDisk) -> Option<u64> {
    match rows.run(RowsOp::Get(b"number".to_vec())) {
        Ok(RowsOutput::Got(Some(value))) => value.try_into().map(u64::from_be_bytes).ok(),
        _ => None,
    }
}

#[test]
fn a_journal_that_was_deleted_is_missed() {
    let mut rows = written(5, 100);
    let journal = journals(&rows).pop().expect("at least one");
    let kept = journal.with_extension("kept");
    fs::rename(&journal, &kept).expect("it is there");
    assert_not_opened(&mut rows, "no journal");
    fs::rename(&kept, &journal).expect("it is there");
    rows.start();
    rows.open();
    assert_eq!(last(&mut rows), Some(5));
}

/// Some files of the library are of no use any more.
#[test]
fn each_file_of_rows_is_missed_if_anything_was_in_it() {
    const WRITES: u64 = 20;
    let mut rows = written(WRITES, LARGE);
    let mut all = Vec::new();
    files(&rows_of(&rows), &mut all);
    assert!(all.iter().any(|path| path.parent().is_some_and(|folder| folder.ends_with("tables"))));
    let kept = rows.names().join("kept");
    copy(&rows_of(&rows), &kept);
    let mut refused = 0;
    for path in &all {
        fs::remove_file(path).expect("it is there");
        rows.start();
        match rows.run(RowsOp::Open) {
            Err(RowsError) => refused += 1,
            Ok(_) => {
                let is_there = |number: u64| match rows.run(get(number)) {
                    Ok(RowsOutput::Got(row)) => row == Some(vec![number as u8; LARGE]),
                    other => panic!("{other:?}"),
                };
                assert!((1..=WRITES).all(is_there), "{} is not missed", path.display());
            }
        }
        rows.stop();
        fs::remove_dir_all(rows_of(&rows)).expect("it is there");
        copy(&kept, &rows_of(&rows));
    }
    assert!(refused > 5, "{refused} of {}", all.len());
    fs::remove_file(mark(&rows)).expect("it is there");
    assert_not_opened(&mut rows, "no mark");
}

/// A journal that is missing at the end cannot be told from one that was never begun, but for the mark.
#[test]
fn the_mark_knows_each_journal() {
    let mut rows = RowsOnDisk::new();
    rows.open();
    let mut number = 0;
    while !rows_of(&rows).join("1.jnl").exists() {
        number += 1;
        assert_eq!(rows.run(write(number, LARGE)), Ok(RowsOutput::Done));
        assert!(number < 1000, "no second journal");
    }
    assert_eq!(rows.run(write(number + 1, LARGE)), Ok(RowsOutput::Done));
    let text = fs::read_to_string(mark(&rows)).expect("it is there");
    assert!(text.contains("\njournal = 1\n"), "{text}");
    rows.stop();
    fs::remove_file(rows_of(&rows).join("1.jnl")).expect("it is there");
    assert_not_opened(&mut rows, "without its last journal");
}

#[test]
fn older_rows_in_the_place_of_newer_ones_are_noticed() {
    let mut rows = written(5, 100);
    let older = rows.names().join("older");
    copy(&rows_of(&rows), &older);
    rows.start();
    rows.open();
    assert_eq!(rows.run(write(6, 100)), Ok(RowsOutput::Done));
    rows.stop();
    let newer = rows.names().join("newer");
    fs::rename(rows_of(&rows), &newer).expect("it is there");
    fs::rename(&older, rows_of(&rows)).expect("it is there");
    assert_not_opened(&mut rows, "older rows");
    fs::remove_dir_all(rows_of(&rows)).expect("it is there");
    fs::rename(&newer, rows_of(&rows)).expect("it is there");
    rows.start();
    rows.open();
    assert_eq!(last(&mut rows), Some(6));
}

/// Rows that were written before writes had numbers.
#[test]
fn rows_without_a_mark_and_without_numbers_get_them() {
    let mut rows = RowsOnDisk::new();
    rows.open();
    rows.stop();
    fs::remove_file(mark(&rows)).expect("it is there");
    rows.start();
    rows.open();
    assert_eq!(rows.run(write(1, 100)), Ok(RowsOutput::Done));
    rows.stop();
    assert!(mark(&rows).exists());
    fs::remove_file(journals(&rows).pop().expect("at least one")).expect("it is there");
    assert_not_opened(&mut rows, "no journal");
}

/// The number of the latest write is nobody's row.
#[test]
fn the_number_is_not_returned() {
    let mut rows = written(2, 10);
    rows.start();
    rows.open();
    let scan = RowsOp::Scan { from: Vec::new(), before: None, limit: 100 };
    let Ok(RowsOutput::Scanned(found, true)) = rows.run(scan) else { panic!("not all") };
    assert_eq!(found.len(), 3);
    rows.ask(slotcast_object::RowsOpId(1), RowsOp::Clear);
    assert_eq!(rows.next().1, Ok(RowsOutput::Done));
    rows.stop();
    assert!(!mark(&rows).exists(), "the mark of rows that are gone");
    rows.start();
    rows.open();
    assert_eq!(last(&mut rows), None);
}
