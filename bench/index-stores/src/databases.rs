//! An index in a database beside the segments: an entry of 16 bytes for each name of 32.

use std::path::Path;

use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};
use redb::{ReadableDatabase, TableDefinition};
use slotcast_protocol::ChunkId;
use slotcast_store::Content;

use crate::Outcome;
use crate::files::Contents;
use crate::workload::{Index, Workload};

/// Segment, offset and length.
fn entry(segment: u32, offset: u64, content: &Content) -> [u8; 16] {
    let mut entry = [0; 16];
    entry[..4].copy_from_slice(&segment.to_le_bytes());
    entry[4..12].copy_from_slice(&offset.to_le_bytes());
    let length = u32::try_from(content.bytes().len()).expect("a chunk is short");
    entry[12..].copy_from_slice(&length.to_le_bytes());
    entry
}

/// Where there is content, it is written and flushed before its entries: an entry must never be without it.
/// Gives the number of batches.
fn insert_batches(
    contents: &mut Contents,
    workload: &Workload,
    mut commit: impl FnMut(&[(ChunkId, [u8; 16])]) -> Outcome<()>,
) -> Outcome<u64> {
    let (mut number, mut batches) = (0, 0);
    while number < workload.chunks {
        let last = workload.chunks.min(number + workload.batch as u64);
        let batch: Vec<Content> = (number..last).map(|n| workload.content(n)).collect();
        let places = match workload.with_content {
            true => contents.write(&batch)?,
            false => (number..last).map(|n| (0, n)).collect(),
        };
        let entries: Vec<_> = batch
            .iter()
            .zip(places)
            .map(|(content, (segment, offset))| (content.chunk(), entry(segment, offset, content)))
            .collect();
        commit(&entries)?;
        (number, batches) = (last, batches + 1);
    }
    Ok(batches)
}

pub(crate) struct Fjall {
    database: Database,
    chunks: Keyspace,
    contents: Contents,
    commits: u64,
}

impl Fjall {
    pub(crate) fn open(folder: &Path, _: &Workload) -> Outcome<Fjall> {
        let database = Database::builder(folder.join("index")).open()?;
        let chunks = database.keyspace("chunks", KeyspaceCreateOptions::default)?;
        let contents = Contents::new(folder.join("segments"))?;
        Ok(Fjall { database, chunks, contents, commits: 0 })
    }
}

impl Index for Fjall {
    fn insert(&mut self, workload: &Workload) -> Outcome<()> {
        let Fjall { database, chunks, contents, commits } = self;
        *commits = insert_batches(contents, workload, |entries| {
            let mut batch = database.batch().durability(Some(PersistMode::SyncData));
            for (chunk, entry) in entries {
                batch.insert(chunks, chunk.0, *entry);
            }
            Ok(batch.commit()?)
        })?;
        Ok(())
    }

    fn holds(&self, chunk: &ChunkId) -> Outcome<bool> {
        Ok(self.chunks.get(chunk.0)?.is_some())
    }

    fn commits(&self) -> u64 {
        self.commits
    }
}

const CHUNKS: TableDefinition<'_, &[u8; 32], &[u8; 16]> = TableDefinition::new("chunks");

pub(crate) struct Redb {
    database: redb::Database,
    contents: Contents,
    commits: u64,
}

impl Redb {
    pub(crate) fn open(folder: &Path, _: &Workload) -> Outcome<Redb> {
        std::fs::create_dir_all(folder.join("index"))?;
        let database = redb::Database::create(folder.join("index/chunks.redb"))?;
        let contents = Contents::new(folder.join("segments"))?;
        Ok(Redb { database, contents, commits: 0 })
    }
}

impl Index for Redb {
    fn insert(&mut self, workload: &Workload) -> Outcome<()> {
        let Redb { database, contents, commits } = self;
        *commits = insert_batches(contents, workload, |entries| {
            // Durable at its commit, as by default.
            let transaction = database.begin_write()?;
            {
                let mut table = transaction.open_table(CHUNKS)?;
                for (chunk, entry) in entries {
                    table.insert(&chunk.0, entry)?;
                }
            }
            Ok(transaction.commit()?)
        })?;
        Ok(())
    }

    fn holds(&self, chunk: &ChunkId) -> Outcome<bool> {
        let table = self.database.begin_read()?.open_table(CHUNKS)?;
        Ok(table.get(&chunk.0)?.is_some())
    }

    fn commits(&self) -> u64 {
        self.commits
    }
}
