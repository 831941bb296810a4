//! Files of segments, written as a target writes them.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, fallocate};
use slotcast_store::Content;

use crate::Outcome;

/// Reserves a new file.
pub(crate) fn create(path: &Path, length: u64) -> Outcome<File> {
    let file = File::options().read(true).write(true).create_new(true).open(path)?;
    fallocate(&file, FallocateFlags::empty(), 0, length)?;
    file.sync_all()?;
    File::open(path.parent().ok_or("no folder")?)?.sync_all()?;
    Ok(file)
}

/// Room that the files below `folder` take.
pub(crate) fn used(folder: &Path) -> io::Result<u64> {
    let mut sum = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        sum += if metadata.is_dir() { used(&entry.path())? } else { metadata.blocks() * 512 };
    }
    Ok(sum)
}

const SEGMENT: u64 = 64 << 20;

/// Where content lies whose entries are in a database.
pub(crate) struct Contents {
    folder: PathBuf,
    file: Option<File>,
    number: u32,
    end: u64,
}

impl Contents {
    pub(crate) fn new(folder: PathBuf) -> Outcome<Contents> {
        fs::create_dir_all(&folder)?;
        Ok(Contents { folder, file: None, number: 0, end: 0 })
    }

    /// Writes and flushes a batch; where each chunk went.
    pub(crate) fn write(&mut self, batch: &[Content]) -> Outcome<Vec<(u32, u64)>> {
        let length: u64 = batch.iter().map(|content| content.bytes().len() as u64).sum();
        if self.file.is_none() || self.end + length > SEGMENT {
            self.number += 1;
            let path = self.folder.join(format!("{:010}.seg", self.number));
            (self.file, self.end) = (Some(create(&path, SEGMENT)?), 0);
        }
        let file = self.file.as_ref().ok_or("a file is open")?;
        let mut places = Vec::with_capacity(batch.len());
        for content in batch {
            file.write_all_at(content.bytes(), self.end)?;
            places.push((self.number, self.end));
            self.end += content.bytes().len() as u64;
        }
        file.sync_data()?;
        Ok(places)
    }
}
