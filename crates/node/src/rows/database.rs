//! The ordered rows themselves: a `fjall` database with one keyspace.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use fjall::config::PinningPolicy;
use fjall::{Keyspace, KeyspaceCreateOptions, PersistMode, Readable};
use slotcast_object::{MAX_SCAN, RowsOutput};

use super::failure::{Failure, failed, unusable};
use super::journal;
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

/// Rows that are open.
pub(super) struct Database {
    database: fjall::Database,
    rows: Keyspace,
    /// What is in memory may be ahead of what is on stable storage.
    has_failed: AtomicBool,
}

fn open(folder: &Path) -> fjall::Result<fjall::Database> {
    fjall::Database::builder(folder)
        .cache_size(CACHE)
        .max_cached_files(Some(TABLE_FILES))
        .max_journaling_size(JOURNALS)
        .worker_threads(WORKERS)
        .manual_journal_persist(true)
        .open()
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
        let database = open(folder)?;
        let rows = database.keyspace(ROWS, options)?;
        // The library leaves out the names of some folders.
        sync_all(folder)?;
        Ok(Database { database, rows, has_failed: AtomicBool::new(false) })
    }

    /// Opens rows that are there.
    pub(super) fn open(folder: &Path) -> Result<Database, Failure> {
        // The library would make what is missing.
        if !folder.join("version").try_exists().map_err(failed("read", folder))? {
            return Err(unusable(folder, "its rows are missing"));
        }
        journal::settle(folder)?;
        let database = open(folder)?;
        if !database.keyspace_exists(ROWS) {
            return Err(unusable(folder, "its rows are missing"));
        }
        let rows = database.keyspace(ROWS, options)?;
        Ok(Database { database, rows, has_failed: AtomicBool::new(false) })
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
        self.wait_for_tables()?;
        let mut batch = self.database.batch().durability(Some(PersistMode::SyncData));
        for (key, value) in writes {
            if key.is_empty() || key.len() > MAX_KEY {
                return Err(unusable(self.rows.path(), format!("a key of {} bytes", key.len())));
            }
            match value {
                Some(value) => batch.insert(&self.rows, key, value),
                None => batch.remove(&self.rows, key),
            }
        }
        Ok(batch.commit()?)
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
        let mut rows = self.database.snapshot().range(&self.rows, (Included(from), before));
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
