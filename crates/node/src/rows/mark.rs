//! Whether rows that are opened have all that was ever acknowledged: a voter that forgets what it has promised would let two
//! conflicting writes of a name both succeed.
//!
//! Each write carries its number, in a row of its own ([`COUNT`]), so the numbers in tables and journals must join. What is
//! missing at the end cannot be told from inside: a mark beside the rows says which journal and which write have been
//! there at least.
//!
//! ```text
//!  tables: writes 1 to 70    7.jnl: writes 61 to 99    8.jnl: writes 100 to 130    mark: journal 8, write 100
//! ```
//!
//! The mark is on stable storage before a write into a newer journal is reported, and moved up at each opening, each closing
//! and every [`INTERVAL`] writes. So a journal that was taken away is always noticed; older rows in the place of newer ones
//! are, if they are older than the mark. Rows of an earlier program have no mark and no numbers, and get both.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::failure::{Failure, failed, unusable};
use crate::whole_file::write_whole;

/// The key of the row that has the number of the latest write, as eight bytes with the highest first. It is before all keys of
/// names, and is not returned by readings.
pub(super) const COUNT: &[u8] = &[0];

/// Writes after which the mark is moved up while rows are open: two flushes for so many.
pub(super) const INTERVAL: u64 = 4096;

/// What has been on stable storage at least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Mark {
    /// A journal with this number or a higher one is there.
    pub(super) journal: u64,
    /// This write was acknowledged, if it is not 0.
    pub(super) write: u64,
}

/// The writes in a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    /// The number of the journal.
    pub(super) journal: u64,
    /// The numbers of its first and its last write; none of a write by a program that did not count. None if it is empty.
    pub(super) writes: Option<(Option<u64>, Option<u64>)>,
}

/// What cannot be there if nothing was taken away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Missing {
    /// This journal, which has been there.
    Journal(u64),
    /// Some writes before the first one in this journal.
    Before(u64, u64),
    /// The last of them, from the first number up to the second.
    Writes(u64, u64),
    /// Writes are counted, and there is no mark.
    Mark,
}

impl Missing {
    /// In words, after the path of the rows.
    pub(super) fn text(&self) -> String {
        match self {
            Missing::Journal(journal) => {
                format!("`{journal}.jnl` is missing, which had writes that were acknowledged")
            }
            Missing::Before(journal, write) => format!(
                "writes before number {write}, the first one in `{journal}.jnl`, are missing: an older journal was taken away"
            ),
            Missing::Writes(write, last) => format!(
                "writes {write} to {last} are missing, which were acknowledged: these are older rows, or something was taken away"
            ),
            Missing::Mark => {
                "the file with its name and `.toml` is missing, which says what is in it".to_owned()
            }
        }
    }
}

/// The number of the latest write in rows that have lost nothing: tables up to write `tables`, and journals, the oldest
/// first.
pub(super) fn latest(
    mark: Option<Mark>,
    tables: Option<u64>,
    journals: &[Span],
) -> Result<Option<u64>, Missing> {
    // The library always has one, and gives up the oldest ones first.
    let newest = journals.last().map(|span| span.journal);
    let marked = mark.map_or(0, |mark| mark.journal);
    if newest.is_none_or(|newest| newest < marked) {
        return Err(Missing::Journal(marked));
    }
    let next_to = |pair: &&[Span]| pair[0].journal + 1 == pair[1].journal;
    if let Some(pair) = journals.windows(2).find(|pair| !next_to(pair)) {
        return Err(Missing::Journal(pair[0].journal + 1));
    }
    let mut before = Some(tables.unwrap_or(0));
    let mut latest = tables;
    for span in journals {
        let Some((first, last)) = span.writes else { continue };
        // Tables may have what is in journals, too.
        if let (Some(before), Some(first)) = (before, first)
            && first > before + 1
        {
            return Err(Missing::Before(span.journal, first));
        }
        before = last;
        latest = latest.max(last);
    }
    match (mark, latest) {
        (None, Some(_)) => Err(Missing::Mark),
        (Some(mark), latest) if latest.unwrap_or(0) < mark.write => {
            Err(Missing::Writes(latest.unwrap_or(0) + 1, mark.write))
        }
        _ => Ok(latest),
    }
}

/// Where the mark of the rows in a folder is.
pub(super) fn path_of(folder: &Path) -> PathBuf {
    folder.with_extension("toml")
}

/// The mark of the rows in a folder, if it has one.
pub(super) fn read(folder: &Path) -> Result<Option<Mark>, Failure> {
    let path = path_of(folder);
    match fs::read_to_string(&path) {
        Ok(text) => match toml::from_str(&text) {
            Ok(mark) => Ok(Some(mark)),
            Err(error) => Err(unusable(&path, error.message())),
        },
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed("read", &path)(error)),
    }
}

/// Puts the mark of the rows in a folder on stable storage.
pub(super) fn write(folder: &Path, mark: Mark) -> Result<(), Failure> {
    let Mark { journal, write } = mark;
    let text = format!(
        "# What the rows beside this have at least. Without this they are not opened.\n\
         journal = {journal}\nwrite = {write}\n"
    );
    let path = path_of(folder);
    write_whole(&path, &text).map_err(failed("write", &path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(journal: u64, first: u64, last: u64) -> Span {
        Span { journal, writes: Some((Some(first), Some(last))) }
    }

    fn mark(journal: u64, write: u64) -> Option<Mark> {
        Some(Mark { journal, write })
    }

    #[test]
    fn what_was_marked_must_be_there() {
        let whole = [span(7, 61, 99), span(8, 100, 130)];
        assert_eq!(latest(mark(8, 130), Some(70), &whole), Ok(Some(130)));
        assert_eq!(latest(mark(8, 100), Some(130), &whole), Ok(Some(130)));
        assert_eq!(latest(mark(8, 131), Some(70), &whole), Err(Missing::Writes(131, 131)));
        assert_eq!(latest(mark(8, 100), Some(70), &whole[..1]), Err(Missing::Journal(8)));
        assert_eq!(latest(mark(8, 100), Some(70), &whole[1..]), Err(Missing::Before(8, 100)));
        assert_eq!(latest(mark(8, 100), Some(99), &whole[1..]), Ok(Some(130)));
        assert_eq!(latest(mark(8, 100), Some(70), &[]), Err(Missing::Journal(8)));
        assert_eq!(latest(mark(0, 0), None, &whole[1..]), Err(Missing::Before(8, 100)));
        assert_eq!(latest(mark(0, 0), None, &[]), Err(Missing::Journal(0)));
        assert_eq!(latest(None, Some(70), &whole), Err(Missing::Mark));
        let gap = [span(7, 61, 99), Span { journal: 9, writes: None }];
        assert_eq!(latest(mark(8, 90), Some(70), &gap), Err(Missing::Journal(8)));
    }

    #[test]
    fn a_journal_that_was_just_begun_may_be_empty_or_not_be_marked() {
        let begun = [span(7, 61, 99), Span { journal: 8, writes: None }];
        assert_eq!(latest(mark(7, 61), Some(70), &begun), Ok(Some(99)));
        assert_eq!(latest(mark(8, 99), Some(99), &begun[1..]), Ok(Some(99)));
        assert_eq!(
            latest(mark(7, 61), Some(70), &[span(7, 61, 99), span(8, 100, 100)]),
            Ok(Some(100))
        );
    }

    #[test]
    fn rows_of_a_program_that_did_not_count_are_opened() {
        let old = [Span { journal: 3, writes: Some((None, None)) }];
        assert_eq!(latest(None, None, &old), Ok(None));
        let mixed = [Span { journal: 3, writes: Some((None, Some(4))) }, span(4, 5, 9)];
        assert_eq!(latest(mark(3, 2), None, &mixed), Ok(Some(9)));
        // It was stepped back to that program for some time.
        let back = [Span { journal: 3, writes: Some((Some(1), None)) }, span(4, 5, 9)];
        assert_eq!(latest(mark(3, 2), None, &back), Ok(Some(9)));
    }
}
