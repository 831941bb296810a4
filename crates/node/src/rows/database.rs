//! The ordered rows themselves: a `fjall` database with one keyspace.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use fjall::config::PinningPolicy;
use fjall::{AbstractTree, Keyspace, KeyspaceCreateOptions, PersistMode, Readable};
use slotcast_object::{MAX_SCAN, RowsOutput};

use super::failure::{Failure, failed, unusable};
use super::journal;
use super::mark::{self, COUNT, INTERVAL, Mark};
use crate::whole_file::sync_folder;

/// Bytes of blocks of tables that are kept in memory.
const CACHE: u64 = 16 << 20;

/// Bytes of rows in memory that are not in a table yet. There are at most four times as many: while one table is
/// written, the next ones wait.
const WRITE_BUFFER: u64 = 8 << 20;

/// Bytes of a table. To merge tables takes as much room beside them.
const TABLE: u64 = 32 << 20;

/// Journals have as many bytes together before tables are written because of that; the library takes no less. One
/// is given up when it has 64 MB and all its rows are in tables.
const JOURNALS: u64 = 64 << 20;

/// Files of tables that are open at any time.
pub(crate) const TABLE_FILES: usize = 16;

/// Threads that write and merge tables.
const WORKERS: usize = 1;

/// Rows that wait to become a table, and tables that wait to be merged, when writes begin to wait. The library has
/// limits of its own, 4 and 20, where it waits for as long as it takes, though nobody may be at work any more.
const MAX_WAITING_BUFFERS: usize = 1;
const MAX_WAITING_TABLES: usize = 16;

/// How long a write waits before it looks again.
const PAUSE: Duration = Duration::from_millis(1);

/// The most bytes of a key: the library cuts off the rest.
const MAX_KEY: usize = u16::MAX as usize;

/// Keys and what becomes of their values.
pub(super) type Writes = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

/// The name of the keyspace.
const ROWS: &str = "rows";

/// What the library has to have of the keyspaces, of which the first is its own: it would make those anew that lack it.
const TREES: [&str; 2] = ["keyspaces/0/current", "keyspaces/1/current"];

/// What has been written.
struct Written {
    /// The number of the latest write.
    latest: u64,
    mark: Mark,
}

/// Rows that are open.
pub(super) struct Database {
    database: fjall::Database,
    rows: Keyspace,
    folder: PathBuf,
    written: Mutex<Written>,
    /// What is in memory may be ahead of what is on stable storage.
    has_failed: AtomicBool,
}

/// Opens or makes a database, with so many threads that write and merge tables.
fn open(folder: &Path, workers: usize) -> fjall::Result<fjall::Database> {
    fjall::Database::builder(folder)
        .cache_size(CACHE)
        .max_cached_files(Some(TABLE_FILES))
        .max_journaling_size(JOURNALS)
        .worker_threads_unchecked(workers)
        .manual_journal_persist(true)
        .open()
}

/// Opens a database that is there.
fn reopen(folder: &Path, workers: usize) -> Result<(fjall::Database, Keyspace), Failure> {
    let database = open(folder, workers)
        .map_err(|error| forgotten(folder, format!("{error}; a file may be missing")))?;
    // It would be made.
    if !database.keyspace_exists(ROWS) {
        return Err(forgotten(folder, "its rows are missing"));
    }
    let rows = database.keyspace(ROWS, options)?;
    Ok((database, rows))
}

/// The number of the latest write whose rows are in tables.
fn latest_in_tables(rows: &Keyspace) -> Result<Option<u64>, Failure> {
    let Some(last) = rows.tree.get_highest_persisted_seqno() else { return Ok(None) };
    let value = rows.tree.get(COUNT, last + 1).map_err(fjall::Error::from)?;
    Ok(value.and_then(|value| (*value).try_into().map(u64::from_be_bytes).ok()))
}

fn options() -> KeyspaceCreateOptions {
    KeyspaceCreateOptions::default()
        .max_memtable_size(WRITE_BUFFER)
        .manual_journal_persist(true)
        // What is pinned would not count as cached.
        .index_block_pinning_policy(PinningPolicy::all(false))
        .filter_block_pinning_policy(PinningPolicy::all(false))
        .compaction_strategy(std::sync::Arc::new(
            fjall::compaction::Leveled::default().with_table_target_size(TABLE),
        ))
}

impl Database {
    /// Makes empty rows in a folder that is not there, on stable storage but for the name of the folder.
    pub(super) fn make(folder: &Path) -> Result<Database, Failure> {
        let database = open(folder, WORKERS)?;
        let rows = database.keyspace(ROWS, options)?;
        // The library leaves out the names of some folders.
        sync_all(folder)?;
        let mark = Mark { journal: 0, write: 0 };
        mark::write(folder, mark)?;
        Ok(Database::new(folder, database, rows, Written { latest: 0, mark }))
    }

    fn new(folder: &Path, database: fjall::Database, rows: Keyspace, written: Written) -> Database {
        let (folder, written) = (folder.to_path_buf(), Mutex::new(written));
        Database { database, rows, folder, written, has_failed: AtomicBool::new(false) }
    }

    /// Opens rows that are there.
    pub(super) fn open(folder: &Path) -> Result<Database, Failure> {
        // The library would make what is missing.
        for name in ["version"].into_iter().chain(TREES) {
            if !folder.join(name).try_exists().map_err(failed("read", folder))? {
                return Err(forgotten(folder, format!("`{name}` is missing")));
            }
        }
        let before = mark::read(folder)?;
        let journals = journal::settle(folder)?;
        let Some(newest) = journals.last() else {
            return Err(forgotten(folder, "its journals are missing"));
        };
        // Tables are looked at before anybody adds to them what is in journals.
        let tables = latest_in_tables(&reopen(folder, 0)?.1)?;
        let latest = mark::latest(before, tables, &journals)
            .map_err(|missing| forgotten(folder, missing.text()))?
            .unwrap_or(0);
        let mark = Mark { journal: newest.journal, write: latest };
        if before != Some(mark) {
            mark::write(folder, mark)?;
        }
        let (database, rows) = reopen(folder, WORKERS)?;
        Ok(Database::new(folder, database, rows, Written { latest, mark }))
    }

    /// What `attempt` comes to. After an error nothing is read or written any more.
    pub(super) fn attempt<T>(
        &self,
        attempt: impl FnOnce(&Database) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        if self.has_failed.load(Ordering::Acquire) {
            return Err(Failure::Closed);
        }
        let attempt = std::panic::AssertUnwindSafe(|| attempt(self));
        let result = std::panic::catch_unwind(attempt).unwrap_or(Err(Failure::Panicked));
        if result.is_err() {
            self.has_failed.store(true, Ordering::Release);
        }
        result
    }

    /// Writes all of it or nothing, and puts it on stable storage. Readers see it only then.
    pub(super) fn write(&self, writes: Writes) -> Result<(), Failure> {
        if writes.is_empty() {
            return Ok(());
        }
        self.wait_for_tables()?;
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let mut batch = self.database.batch().durability(Some(PersistMode::SyncData));
        batch.insert(&self.rows, COUNT, (written.latest + 1).to_be_bytes());
        for (key, value) in writes {
            if key.is_empty() || key.len() > MAX_KEY || key == COUNT {
                return Err(unusable(self.rows.path(), format!("a key of {} bytes", key.len())));
            }
            match value {
                Some(value) => batch.insert(&self.rows, key, value),
                None => batch.remove(&self.rows, key),
            }
        }
        batch.commit()?;
        written.latest += 1;
        self.follow(&mut written)
    }

    /// Moves the mark up if the latest write may be in a newer journal, or much was written since.
    fn follow(&self, written: &mut Written) -> Result<(), Failure> {
        let mut journal = written.mark.journal;
        let is_there = |journal: u64| {
            let path = self.folder.join(format!("{journal}.jnl"));
            path.try_exists().map_err(failed("read", &path))
        };
        while is_there(journal + 1)? {
            journal += 1;
        }
        if journal > written.mark.journal || written.latest >= written.mark.write + INTERVAL {
            written.mark = Mark { journal, write: written.latest };
            mark::write(&self.folder, written.mark)?;
        }
        Ok(())
    }

    /// Waits while writes are ahead of the tables.
    fn wait_for_tables(&self) -> Result<(), Failure> {
        let is_behind = || {
            self.rows.sealed_memtable_count() > MAX_WAITING_BUFFERS
                || self.rows.l0_table_count() > MAX_WAITING_TABLES
        };
        while is_behind() {
            // An error if those who write tables have failed.
            self.database.persist(PersistMode::Buffer)?;
            thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// The value of a key.
    pub(super) fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Failure> {
        let value = self.database.snapshot().get(&self.rows, key)?;
        Ok(value.map(|value| value.to_vec()))
    }

    /// Rows in order; see [`RowsOp::Scan`](slotcast_object::RowsOp::Scan).
    pub(super) fn scan(
        &self,
        from: Vec<u8>,
        before: Option<Vec<u8>>,
        limit: u32,
    ) -> Result<RowsOutput, Failure> {
        use std::ops::Bound::{Excluded, Included, Unbounded};
        if before.as_ref().is_some_and(|before| *before <= from) {
            return Ok(RowsOutput::Scanned(Vec::new(), true));
        }
        let before = before.map_or(Unbounded, Excluded);
        let is_count_in = from.as_slice() <= COUNT;
        let from = if is_count_in { Excluded(COUNT.to_vec()) } else { Included(from) };
        let mut rows = self.database.snapshot().range(&self.rows, (from, before));
        let (mut found, mut bytes) = (Vec::new(), 0);
        while found.len() < limit as usize && bytes < MAX_SCAN {
            match rows.next() {
                Some(row) => {
                    let (key, value) = row.into_inner()?;
                    bytes += key.len() + value.len();
                    found.push((key.to_vec(), value.to_vec()));
                }
                None => return Ok(RowsOutput::Scanned(found, true)),
            }
        }
        let is_all = rows.next().map(|row| row.key()).transpose()?.is_none();
        Ok(RowsOutput::Scanned(found, is_all))
    }
}

impl Drop for Database {
    /// Says how many writes there are. Without that as many are known as before.
    fn drop(&mut self) {
        let written = self.written.get_mut().unwrap_or_else(PoisonError::into_inner);
        if written.latest > written.mark.write {
            let mark = Mark { write: written.latest, ..written.mark };
            let _ = mark::write(&self.folder, mark);
        }
    }
}

/// What the voter has promised is not there: it may not vote with what is left.
fn forgotten(folder: &Path, why: impl std::fmt::Display) -> Failure {
    let home = folder.parent().unwrap_or(folder).display();
    let remedy = format!(
        "{why}. The rows are not used, as this voter may have forgotten what it has promised. Put back what is missing; or stop \
         the node, remove the folder `{home}` and start it: the target is then a new voter, which is told everything by \
         the others. Do so for one voter of a group at a time"
    );
    unusable(folder, remedy)
}

/// Flushes all files and folders in a folder, and itself.
fn sync_all(folder: &Path) -> Result<(), Failure> {
    for entry in fs::read_dir(folder).map_err(failed("list", folder))? {
        let path = entry.map_err(failed("list", folder))?.path();
        match path.is_dir() {
            true => sync_all(&path)?,
            false => fs::File::open(&path)
                .and_then(|file| file.sync_all())
                .map_err(failed("flush", &path))?,
        }
    }
    sync_folder(folder).map_err(failed("flush", folder))
}
