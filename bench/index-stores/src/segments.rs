//! The store of a target as it is, on files: its index is rebuilt from the lists in its segments.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use slotcast_protocol::{ChunkId, Claim};
use slotcast_store::{
    Config, Content, Effect, Identity, Input, Op, OpId, Output, SegmentId, Store, Ticket,
};

use crate::Outcome;
use crate::files::create;
use crate::workload::{Index, Workload};

pub(crate) struct Segments {
    store: Store,
    folder: PathBuf,
    files: BTreeMap<SegmentId, File>,
    to_do: VecDeque<(OpId, Op)>,
    effects: Vec<Effect>,
    is_open: bool,
    stored: u64,
}

impl Segments {
    pub(crate) fn open(folder: &Path) -> Outcome<Segments> {
        let folder = folder.join("segments");
        fs::create_dir_all(&folder)?;
        let mut effects = Vec::new();
        let store = Store::open(Config::new(Identity([7; 32])), &mut effects);
        let (files, to_do) = (BTreeMap::new(), VecDeque::new());
        let mut segments =
            Segments { store, folder, files, to_do, effects, is_open: false, stored: 0 };
        while !segments.is_open && segments.step()? {}
        Ok(segments)
    }

    /// Carries out one operation; false if there is none.
    fn step(&mut self) -> Outcome<bool> {
        self.heed()?;
        if let Some(work) = self.store.take_work() {
            self.store.handle(Input::Worked(work.run()), &mut self.effects);
            return Ok(true);
        }
        let Some((id, op)) = self.to_do.pop_front() else { return Ok(false) };
        let output = self.carry_out(op)?;
        self.store.handle(Input::Disk(id, Ok(output)), &mut self.effects);
        self.heed()?;
        Ok(true)
    }

    fn heed(&mut self) -> Outcome<()> {
        for effect in self.effects.drain(..) {
            match effect {
                Effect::Disk(id, op) => self.to_do.push_back((id, op)),
                Effect::Stored { .. } => self.stored += 1,
                Effect::Opened => self.is_open = true,
                Effect::Work => {}
                other => return Err(format!("{other:?}").into()),
            }
        }
        Ok(())
    }

    fn path(&self, segment: SegmentId) -> PathBuf {
        self.folder.join(format!("{:010}.seg", segment.0))
    }

    fn file(&mut self, segment: SegmentId) -> io::Result<&File> {
        let path = self.path(segment);
        Ok(match self.files.entry(segment) {
            std::collections::btree_map::Entry::Occupied(open) => open.into_mut(),
            std::collections::btree_map::Entry::Vacant(place) => {
                place.insert(File::options().read(true).write(true).open(path)?)
            }
        })
    }

    fn carry_out(&mut self, op: Op) -> Outcome<Output> {
        match op {
            Op::List => {
                let mut found = Vec::new();
                for entry in fs::read_dir(&self.folder)? {
                    let name = entry?.file_name();
                    let number = name.to_str().and_then(|name| name.strip_suffix(".seg"));
                    found.extend(number.and_then(|number| number.parse().ok()).map(SegmentId));
                }
                return Ok(Output::Segments(found));
            }
            Op::Create { segment, length } => {
                let file = create(&self.path(segment), length)?;
                self.files.insert(segment, file);
            }
            Op::Write { segment, offset, parts } => {
                // The records of a batch lie side by side: one write, as on the node.
                let bytes = parts.concat();
                let file = self.file(segment)?;
                file.write_all_at(&bytes, offset)?;
                file.sync_data()?;
            }
            Op::Cut { segment, offset, length } => {
                let file = self.file(segment)?;
                file.set_len(offset)?;
                file.set_len(length)?;
                file.sync_all()?;
            }
            Op::Read { segment, offset, length } => {
                return Ok(Output::Bytes(self.read(segment, offset, length)?));
            }
            Op::ReadContent { segment, offset, length } => {
                return Ok(Output::Content(Content::of(self.read(segment, offset, length)?)));
            }
            Op::Delete { segment } => {
                self.files.remove(&segment);
                let _ = fs::remove_file(self.path(segment));
            }
        }
        Ok(Output::Done)
    }

    fn read(&mut self, segment: SegmentId, offset: u64, length: u64) -> Outcome<Bytes> {
        let file = self.file(segment)?;
        let length = length.min(file.metadata()?.len().saturating_sub(offset));
        let mut bytes = vec![0; usize::try_from(length)?];
        file.read_exact_at(&mut bytes, offset)?;
        Ok(Bytes::from(bytes))
    }
}

impl Index for Segments {
    /// Twice a batch of puts is under way, so that one batch waits while the other is flushed.
    fn insert(&mut self, workload: &Workload) -> Outcome<()> {
        let mut asked = 0;
        while self.stored < workload.chunks {
            let most = self.stored + 2 * workload.batch as u64;
            while asked < workload.chunks.min(most) {
                let content = workload.content(asked);
                self.store.handle(Input::Put(Ticket(asked), content, None, Claim::Bare), &mut self.effects);
                asked += 1;
            }
            self.step()?;
        }
        while self.step()? {}
        Ok(())
    }

    fn holds(&self, chunk: &ChunkId) -> Outcome<bool> {
        Ok(self.store.holds(chunk))
    }

    fn commits(&self) -> u64 {
        self.store.statistics().batches
    }
}

/// A header of 64 bytes and padding to 64 for each chunk, padding to 4096 for each batch, and 48 bytes in a list.
pub(crate) fn overhead(folder: &Path, workload: &Workload) -> Outcome<u64> {
    let segments = Segments::open(folder)?;
    let mut written = 0;
    for path in segments.files.keys().map(|segment| segments.path(*segment)) {
        // What is reserved for later does not count.
        written += data(&path)?;
    }
    Ok(written.saturating_sub(workload.chunks * workload.length as u64))
}

/// Bytes of a file in blocks of 4096 that are not all zero.
fn data(path: &Path) -> Outcome<u64> {
    let bytes = fs::read(path)?;
    Ok(bytes.chunks(4096).filter(|block| block.iter().any(|byte| *byte != 0)).count() as u64 * 4096)
}
