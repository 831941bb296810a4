use std::os::unix::fs::FileExt;

use super::super::database::{Database, Writes};
use super::super::mark::{self, Mark};
use super::*;

/// A row of one write, of about 1000 bytes.
fn row(number: u8) -> Writes {
    [(vec![1, number], Some(vec![number; 1000]))].into()
}

/// A database with so many writes, and the last one of its journals.
fn written(writes: u8) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("rows");
    let database = Database::make(&place).expect("room");
    (0..writes).for_each(|number| database.write(row(number)).expect("room"));
    drop(database);
    // As a crash leaves it.
    mark::write(&place, Mark { journal: 0, write: 0 }).expect("room");
    let journal = journals_of(&place).expect("it is there").pop().expect("at least one").1;
    (folder, journal)
}

/// Bytes of one of the writes in the journal.
const WRITE: u64 = 13 + (21 + 1 + 8) + (21 + 2 + 1000) + 13;

fn rows_in(journal: &Path) -> Result<Vec<u8>, Failure> {
    let database = Database::open(journal.parent().expect("a folder"))?;
    let is_there = |number: &u8| match database.get(&[1, *number]) {
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

/// Five writes of which the last two are in a second journal, and a mark that knows of it.
fn in_two_journals() -> (tempfile::TempDir, PathBuf) {
    let (folder, first) = written(5);
    let bytes = fs::read(&first).expect("it is there");
    let (three, rest) = bytes.split_at(3 * WRITE as usize);
    fs::write(&first, three).expect("room");
    fs::write(first.with_file_name("1.jnl"), rest).expect("room");
    let rows = first.parent().expect("a folder");
    mark::write(rows, Mark { journal: 1, write: 4 }).expect("room");
    (folder, first)
}

#[test]
fn one_journal_of_two_is_missed() {
    let (_folder, first) = in_two_journals();
    assert_eq!(rows_in(&first).expect("it opens"), (0..5).collect::<Vec<_>>());

    let (_folder, first) = in_two_journals();
    fs::remove_file(&first).expect("it is there");
    let Err(failure) = rows_in(&first) else { panic!("the first one is not missed") };
    let text = failure.to_string();
    assert!(
        text.contains("writes before number 4") && text.contains("remove the folder"),
        "{text}"
    );

    let (_folder, first) = in_two_journals();
    fs::remove_file(first.with_file_name("1.jnl")).expect("it is there");
    let Err(failure) = rows_in(&first) else { panic!("the second one is not missed") };
    assert!(failure.to_string().contains("`1.jnl` is missing"), "{failure}");
}
