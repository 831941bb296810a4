//! The journals of a `fjall` database, before it is opened after a crash.
//!
//! A batch is acknowledged when the journal is flushed, and the next one begins after that. So a crash leaves at most
//! one batch that is not whole, the last one, of which any sectors may be missing: it was not acknowledged, and is cut
//! off. The library itself gives up if the end of that batch is there and something before it is not, and drops all
//! that follows a place that it cannot read, even if it was acknowledged. Here that is a [`Failure::Damaged`].
//!
//! What is left of the last journal is written anew: it may be in the page cache only, because its flush failed or the
//! process ended before, and then a flush of the same file may find nothing to do.
//!
//! ```text
//!  batch  = start item*n end
//!  start  = 1, n: u32, sequence number: u64                              integers are little-endian
//!  item   = 2, kind, compression: u8, keyspace: u64, lengths of key: u16, value: u32, stored value: u32, key, value
//!  end    = 3, XXH3 of all items: u64, "FJL\x03"
//! ```
//!
//! A row whose content is a copy of a journal can make a torn batch look like damage; never the other way round.

use std::fs::{self, File};
use std::io::{self, BufReader, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::Xxh3;

use super::failure::{Failure, failed};
use super::mark::{COUNT, Span};
use crate::whole_file::sync_folder;

const START: u8 = 1;
const START_LENGTH: usize = 13;
const ITEM: u8 = 2;
const ITEM_LENGTH: usize = 21;
const END: u8 = 3;
const END_LENGTH: usize = 13;
const MAGIC: [u8; 4] = *b"FJL\x03";

/// How much of a journal is read at once.
const PIECE: usize = 1 << 20;

/// A journal: its batches that are whole end at `whole`.
struct Journal {
    path: PathBuf,
    whole: u64,
    /// The numbers of its first and its last whole batch, if it has any.
    writes: Option<(Option<u64>, Option<u64>)>,
    /// Something else follows.
    is_torn: bool,
    /// Among that is another whole batch.
    has_more: bool,
}

/// A batch that is whole.
struct Batch {
    length: u64,
    /// The number of the write, if it was counted.
    number: Option<u64>,
}

/// Cuts off what was not acknowledged, and puts the rest of the last journal on stable storage. Returns the writes in each
/// journal, the oldest first.
///
/// # Errors
/// If something is missing that was acknowledged, or the folder cannot be read or written.
pub(super) fn settle(folder: &Path) -> Result<Vec<Span>, Failure> {
    let paths = journals_of(folder)?;
    let mut spans = Vec::with_capacity(paths.len());
    let mut torn: Option<Journal> = None;
    for (number, path) in &paths {
        let journal = read(path).map_err(failed("read", path))?;
        if let Some(torn) = &torn
            && journal.whole > 0
        {
            return Err(Failure::Damaged { path: torn.path.clone(), at: torn.whole });
        }
        if journal.has_more {
            return Err(Failure::Damaged { path: journal.path, at: journal.whole });
        }
        if journal.is_torn {
            let (journal, bytes) = (journal.path.display(), journal.whole);
            tracing::info!(%journal, bytes, "batch of rows cut off that was not acknowledged");
        }
        let is_last = spans.len() + 1 == paths.len();
        if journal.is_torn || is_last {
            rewrite(&journal).map_err(failed("rewrite", path))?;
        }
        spans.push(Span { journal: *number, writes: journal.writes });
        torn = torn.or(Some(journal).filter(|journal| journal.is_torn));
    }
    sync_folder(folder).map_err(failed("flush", folder))?;
    Ok(spans)
}

/// Journals and their numbers, the oldest first.
fn journals_of(folder: &Path) -> Result<Vec<(u64, PathBuf)>, Failure> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed("list", folder))? {
        let path = entry.map_err(failed("list", folder))?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if let Some(number) = name.strip_suffix(".jnl") {
            found.extend(number.parse::<u64>().ok().map(|number| (number, path)));
        }
    }
    found.sort();
    Ok(found)
}

fn read(path: &Path) -> io::Result<Journal> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut from = BufReader::with_capacity(PIECE, &file);
    let (mut whole, mut writes, mut buffer) = (0, None, Vec::new());
    while let Some(batch) = read_batch(&mut from, length - whole, &mut buffer)? {
        whole += batch.length;
        let first = writes.map_or(batch.number, |(first, _)| first);
        writes = Some((first, batch.number));
    }
    let rest = read_rest(&file, whole)?;
    let mut has_more = false;
    for at in (0..rest.len()).filter(|at| rest[*at] == START) {
        let room = (rest.len() - at) as u64;
        has_more = has_more || read_batch(&mut &rest[at..], room, &mut buffer)?.is_some();
    }
    Ok(Journal { path: path.to_path_buf(), whole, writes, is_torn: !rest.is_empty(), has_more })
}

/// The batch that begins here, if there is a whole one of at most `room` bytes.
fn read_batch(from: &mut impl Read, room: u64, buffer: &mut Vec<u8>) -> io::Result<Option<Batch>> {
    let mut start = [0; START_LENGTH];
    if !fill(from, &mut start)? || start[0] != START {
        return Ok(None);
    }
    let count = u32::from_le_bytes([start[1], start[2], start[3], start[4]]);
    let mut length = (START_LENGTH + END_LENGTH) as u64;
    let (mut sum, mut number) = (Xxh3::new(), None);
    for _ in 0..count {
        let mut item = [0; ITEM_LENGTH];
        if !fill(from, &mut item)? || item[0] != ITEM {
            return Ok(None);
        }
        let key = u16::from_le_bytes([item[11], item[12]]);
        let value = u32::from_le_bytes([item[17], item[18], item[19], item[20]]);
        let content = u64::from(key) + u64::from(value);
        length += ITEM_LENGTH as u64 + content;
        if length > room {
            return Ok(None);
        }
        buffer.resize(usize::try_from(content).map_err(io::Error::other)?, 0);
        if !fill(from, buffer)? {
            return Ok(None);
        }
        sum.update(&item);
        sum.update(buffer);
        if usize::from(key) == COUNT.len() && buffer.starts_with(COUNT) {
            number = buffer[COUNT.len()..].try_into().map(u64::from_be_bytes).ok();
        }
    }
    let mut end = [0; END_LENGTH];
    let is_there = count > 0 && fill(from, &mut end)? && end[0] == END;
    let is_whole = is_there && end[1..9] == sum.digest().to_le_bytes() && end[9..] == MAGIC;
    Ok(is_whole.then_some(Batch { length, number }))
}

/// Fills the buffer; false if there is less.
fn fill(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match from.read_exact(buffer) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
        Ok(()) => Ok(true),
    }
}

/// What follows, without the zeros at the end.
fn read_rest(file: &File, mut offset: u64) -> io::Result<Vec<u8>> {
    let (mut rest, mut zeros) = (Vec::new(), 0);
    let mut piece = vec![0; PIECE];
    loop {
        let count = crate::folder::read_at(file, offset, &mut piece)?;
        offset += count as u64;
        let read = &piece[..count];
        match read.iter().rposition(|byte| *byte != 0) {
            Some(last) => {
                rest.resize(rest.len() + zeros, 0);
                rest.extend_from_slice(&read[..=last]);
                zeros = count - last - 1;
            }
            None => zeros += count,
        }
        if count < PIECE {
            return Ok(rest);
        }
    }
}

/// Puts a journal with nothing but its whole batches on stable storage, and in the place of what is there. That it is
/// there is for the caller to flush.
fn rewrite(journal: &Journal) -> io::Result<()> {
    let mut new = journal.path.clone().into_os_string();
    new.push(".new");
    let mut file = File::create(&new)?;
    let mut from = File::open(&journal.path)?.take(journal.whole);
    if io::copy(&mut from, &mut file)? < journal.whole {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    file.flush()?;
    file.sync_all()?;
    fs::rename(&new, &journal.path)
}

#[cfg(test)]
mod tests;
