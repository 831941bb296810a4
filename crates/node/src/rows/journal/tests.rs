use std::os::unix::fs::FileExt;

use super::super::database::{Database, Writes};
use super::*;

/// A row of one write, of about 1000 bytes.
fn row(number: u8) -> Writes {
    [(vec![number], Some(vec![number; 1000]))].into()
}

/// A database with so many writes, and the last one of its journals.
fn written(writes: u8) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("rows");
    let database = Database::make(&place).expect("room");
    (0..writes).for_each(|number| database.write(row(number)).expect("room"));
    drop(database);
    let journal = journals_of(&place).expect("it is there").pop().expect("at least one");
    (folder, journal)
}

/// Bytes of one of the writes in the journal.
const WRITE: u64 = 13 + 21 + 1 + 1000 + 13;

fn rows_in(journal: &Path) -> Result<Vec<u8>, Failure> {
    let database = Database::open(journal.parent().expect("a folder"))?;
    let is_there = |number: &u8| match database.get(&[*number]) {
        Ok(Some(value)) => value == vec![*number; 1000],
        Ok(None) => false,
        Err(failure) => panic!("{failure}"),
    };
    Ok((0..100).filter(is_there).collect())
}

fn overwrite(journal: &Path, at: u64, bytes: &[u8]) {
    let file = File::options().write(true).open(journal).expect("it is there");
    file.write_all_at(bytes, at).expect("room");
}

#[test]
fn the_journals_of_the_library_are_read() {
    let (_folder, path) = written(9);
    let journal = read(&path).expect("it is read");
    assert_eq!((journal.whole, journal.is_torn, journal.has_more), (9 * WRITE, false, false));
    settle(path.parent().expect("a folder")).expect("nothing is missing");
    assert_eq!(path.metadata().expect("it is there").len(), 9 * WRITE);
    assert_eq!(rows_in(&path).expect("it opens"), (0..9).collect::<Vec<_>>());
    // And written on, behind what was there.
    let database = Database::open(path.parent().expect("a folder")).expect("it opens");
    database.write(row(9)).expect("room");
    drop(database);
    assert_eq!(read(&path).expect("it is read").whole, 10 * WRITE);
}

/// Whatever is missing of the last write: the library would not open the database where the end is there.
#[test]
fn a_write_that_is_torn_is_cut_off() {
    for (at, length) in [(0, 1), (0, 13), (1, 4), (13, 21), (100, 512), (700, 348), (1040, 8)] {
        let (_folder, path) = written(5);
        overwrite(&path, 4 * WRITE + at, &vec![0; length]);
        assert_eq!(rows_in(&path).expect("it opens"), [0, 1, 2, 3], "{length} bytes at {at}");
        let database = Database::open(path.parent().expect("a folder")).expect("it opens");
        database.write(row(7)).expect("room");
        drop(database);
        assert_eq!(rows_in(&path).expect("it opens"), [0, 1, 2, 3, 7]);
    }
}

#[test]
fn what_is_missing_before_a_whole_write_is_told() {
    for (at, length) in [(0, 1), (1, 4), (13, 21), (100, 512), (1040, 8)] {
        let (_folder, path) = written(5);
        overwrite(&path, 2 * WRITE + at, &vec![0; length]);
        match rows_in(&path) {
            Err(Failure::Damaged { at: found, .. }) => assert_eq!(found, 2 * WRITE),
            other => panic!("{length} bytes at {at}: {other:?}"),
        }
    }
}

/// A journal is finished before the next one is begun.
#[test]
fn what_is_missing_in_a_journal_before_another_is_told() {
    let (_folder, path) = written(5);
    fs::copy(&path, path.with_file_name("7.jnl")).expect("room");
    overwrite(&path, 4 * WRITE + 700, &[0; 100]);
    let result = settle(path.parent().expect("a folder"));
    assert!(matches!(result, Err(Failure::Damaged { .. })), "{result:?}");
    // Nothing was written into the next one.
    File::create(path.with_file_name("7.jnl")).expect("room");
    settle(path.parent().expect("a folder")).expect("nothing is missing");
    assert_eq!(path.metadata().expect("it is there").len(), 4 * WRITE);
}
