//! A disk that forgets what was not flushed, carries out operations in any order, and fails when told.

use std::collections::BTreeMap;

use bytes::Bytes;
use slotcast_store::{Content, DiskError, Op, OpId, Output, SegmentId};

/// What a disk writes in one piece.
const SECTOR: usize = 512;

/// A small generator of choices: the same seed, the same disk.
#[derive(Debug, Clone)]
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (self.0 >> 33) % n.max(1)
    }

    pub(crate) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

#[derive(Debug, Clone, Default)]
struct File {
    /// What readers see.
    cached: Vec<u8>,
    /// What is certain to be there after a crash.
    flushed: Vec<u8>,
    /// Up to where it was written, and up to where of that acknowledged data may lie. A footer, far
    /// from the data at the end, does not count.
    written: usize,
    acknowledged: usize,
}

#[derive(Debug)]
pub(crate) struct Disk {
    files: BTreeMap<SegmentId, File>,
    pending: Vec<(OpId, Op)>,
    pub(crate) chance: Chance,
    /// Files that it has room for.
    pub(crate) room: usize,
    /// One write or flush in so many fails; 0 for none.
    pub(crate) failures: u64,
}

impl Disk {
    pub(crate) fn new(seed: u64) -> Disk {
        let chance = Chance(seed);
        Disk { files: BTreeMap::new(), pending: Vec::new(), chance, room: usize::MAX, failures: 0 }
    }

    pub(crate) fn ask(&mut self, id: OpId, op: Op) {
        self.pending.push((id, op));
    }

    /// Carries out one of the operations that were asked for.
    pub(crate) fn step(&mut self) -> Option<(OpId, Result<Output, DiskError>)> {
        if self.pending.is_empty() {
            return None;
        }
        let which = self.chance.below(self.pending.len() as u64);
        let (id, op) = self.pending.remove(usize::try_from(which).unwrap());
        let writes = matches!(op, Op::Write { .. } | Op::Flush { .. });
        if writes && self.failures > 0 && self.chance.one_in(self.failures) {
            return Some((id, Err(DiskError::Failed)));
        }
        Some((id, self.carry_out(op)))
    }

    fn carry_out(&mut self, op: Op) -> Result<Output, DiskError> {
        match op {
            Op::List => return Ok(Output::Segments(self.files.keys().copied().collect())),
            Op::Create { segment, length } => {
                assert!(!self.files.contains_key(&segment), "{segment:?} is there already");
                if self.files.len() >= self.room {
                    return Err(DiskError::Full);
                }
                let zeros = vec![0; usize::try_from(length).unwrap()];
                let file = File { cached: zeros.clone(), flushed: zeros, ..File::default() };
                self.files.insert(segment, file);
            }
            Op::Write { segment, offset, parts } => {
                let file = self.files.get_mut(&segment).expect("a segment to write to");
                let mut at = usize::try_from(offset).unwrap();
                assert!(at >= file.acknowledged, "acknowledged blocks are written again");
                for part in parts {
                    file.cached[at..at + part.len()].copy_from_slice(&part);
                    at += part.len();
                }
                if at < file.cached.len() {
                    file.written = at;
                }
            }
            Op::Flush { segment } => {
                let file = self.files.get_mut(&segment).expect("a segment to flush");
                file.acknowledged = file.written;
                file.flushed.clone_from(&file.cached);
            }
            Op::Cut { segment, offset, length } => {
                let file = self.files.get_mut(&segment).expect("a segment to cut");
                file.cached.truncate(usize::try_from(offset).unwrap());
                file.cached.resize(usize::try_from(length).unwrap(), 0);
                file.flushed.clone_from(&file.cached);
            }
            Op::Read { segment, offset, length } => {
                return Ok(Output::Bytes(self.bytes(segment, offset, length)));
            }
            Op::ReadContent { segment, offset, length } => {
                return Ok(Output::Content(Content::of(self.bytes(segment, offset, length))));
            }
            Op::Delete { segment } => {
                self.files.remove(&segment);
            }
        }
        Ok(Output::Done)
    }

    fn bytes(&self, segment: SegmentId, offset: u64, length: u64) -> Bytes {
        let file = &self.files[&segment].cached;
        let at = usize::try_from(offset).unwrap().min(file.len());
        let end = usize::try_from(offset + length).unwrap().min(file.len());
        Bytes::copy_from_slice(&file[at..end])
    }

    /// The power fails: of every operation under way, and of every sector that was not flushed, nobody
    /// knows whether it reached the disk.
    pub(crate) fn crash(&mut self) {
        for (_, op) in std::mem::take(&mut self.pending) {
            if self.chance.one_in(2) {
                continue;
            }
            match op {
                Op::Create { segment, length } => {
                    let length = self.chance.below(length + 1);
                    let zeros = vec![0; usize::try_from(length).unwrap()];
                    let file = File { cached: zeros.clone(), flushed: zeros, ..File::default() };
                    self.files.insert(segment, file);
                }
                op => drop(self.carry_out(op)),
            }
        }
        for file in self.files.values_mut() {
            let sectors = file.cached.chunks(SECTOR).zip(file.flushed.chunks_mut(SECTOR));
            for (cached, flushed) in sectors {
                if cached != flushed && self.chance.one_in(2) {
                    flushed.copy_from_slice(cached);
                }
            }
            file.cached.clone_from(&file.flushed);
            (file.written, file.acknowledged) = (0, 0);
        }
    }

    /// One bit of one file changes.
    pub(crate) fn rot(&mut self) {
        let files = self.files.len() as u64;
        let which = usize::try_from(self.chance.below(files)).unwrap();
        if let Some(file) = self.files.values_mut().nth(which) {
            let bit = self.chance.below(file.cached.len() as u64 * 8);
            let (byte, bit) = (usize::try_from(bit / 8).unwrap(), bit % 8);
            file.cached[byte] ^= 1 << bit;
            file.flushed.clone_from(&file.cached);
        }
    }

    pub(crate) fn files(&self) -> usize {
        self.files.len()
    }
}
