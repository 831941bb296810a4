//! A disk that forgets what was not flushed, carries out operations in any order, and fails when told.

use std::collections::BTreeMap;
use std::ops::Range;

use bytes::Bytes;
use slotcast_engine::{Stream, Streams};
use slotcast_protocol::ChunkId;
use slotcast_store::{Content, DiskError, Op, OpId, Output, SegmentId};

use super::harm::Harm;

/// What a disk writes in one piece.
const SECTOR: usize = 512;

#[derive(Debug, Clone, Default)]
struct File {
    /// What readers see.
    cached: Vec<u8>,
    /// What is certain to be there after a crash.
    flushed: Vec<u8>,
    /// Where the two may differ.
    unflushed: Vec<Range<usize>>,
    /// Up to where it was written, and up to where of that acknowledged data may lie. A footer, far
    /// from the data at the end, does not count.
    written: usize,
    acknowledged: usize,
}

impl File {
    fn of_zeros(length: u64) -> File {
        let zeros = vec![0; place(length)];
        File { cached: zeros.clone(), flushed: zeros, ..File::default() }
    }

    fn flush(&mut self) {
        self.acknowledged = self.written;
        for range in self.unflushed.drain(..) {
            self.flushed[range.clone()].copy_from_slice(&self.cached[range]);
        }
    }

    /// Sectors whose content is not certain.
    fn uncertain_sectors(&self) -> Vec<Range<usize>> {
        let sectors = self.unflushed.iter().flat_map(|range| {
            let first = range.start / SECTOR;
            (first..range.end.div_ceil(SECTOR)).map(|n| n * SECTOR..(n + 1) * SECTOR)
        });
        let length = self.cached.len();
        let mut sectors: Vec<_> = sectors.map(|s| s.start..s.end.min(length)).collect();
        sectors.sort_by_key(|sector| sector.start);
        sectors.dedup();
        sectors.retain(|sector| self.cached[sector.clone()] != self.flushed[sector.clone()]);
        sectors
    }
}

fn place(offset: u64) -> usize {
    usize::try_from(offset).expect("simulated files are small")
}

/// A simulated disk: the same stream of choices, the same disk.
#[derive(Debug, Clone)]
pub struct SimulatedDisk {
    files: BTreeMap<SegmentId, File>,
    pending: Vec<(OpId, Op)>,
    harm: Harm,
    chance: Stream,
    /// Files that it has room for.
    pub room: usize,
    /// One write in so many fails; 0 for none.
    pub failures: u64,
    /// One read in so many fails; 0 for none.
    pub read_failures: u64,
    /// It says that it has flushed, and has not.
    pub lies: bool,
}

impl SimulatedDisk {
    /// An empty disk without faults, that draws from `seed`.
    pub fn new(seed: u64) -> SimulatedDisk {
        SimulatedDisk {
            files: BTreeMap::new(),
            pending: Vec::new(),
            harm: Harm::default(),
            chance: Streams::new(seed).stream("disk", 0),
            room: usize::MAX,
            failures: 0,
            read_failures: 0,
            lies: false,
        }
    }

    /// Takes an operation, to be carried out later.
    pub fn ask(&mut self, id: OpId, op: Op) {
        self.pending.push((id, op));
    }

    /// Carries out one of the operations that were asked for, any of them.
    pub fn step(&mut self) -> Option<(OpId, Result<Output, DiskError>)> {
        if self.pending.is_empty() {
            return None;
        }
        let which = self.chance.below(self.pending.len() as u64);
        let id = self.pending[place(which)].0;
        self.finish(id).map(|result| (id, result))
    }

    /// Carries out the operation `id`; none if it was never asked for, or the power has failed since.
    pub fn finish(&mut self, id: OpId) -> Option<Result<Output, DiskError>> {
        let which = self.pending.iter().position(|(asked, _)| *asked == id)?;
        let (_, op) = self.pending.remove(which);
        let rate = match op {
            Op::Write { .. } => self.failures,
            Op::ReadContent { .. } => self.read_failures,
            _ => 0,
        };
        self.harm.operation(None);
        if rate > 0 && self.chance.below(rate) == 0 {
            match op {
                Op::ReadContent { segment, offset, length } => {
                    self.harm.operation(Some((segment, place(offset)..place(offset + length))));
                }
                // What was refused may be there nevertheless.
                Op::Write { segment, offset, parts } if self.chance.below(2) == 0 => {
                    self.write(segment, offset, &parts);
                }
                _ => {}
            }
            return Some(Err(DiskError::Failed));
        }
        Some(self.carry_out(op))
    }

    fn carry_out(&mut self, op: Op) -> Result<Output, DiskError> {
        match op {
            Op::List => return Ok(Output::Segments(self.files.keys().copied().collect())),
            Op::Create { segment, length } => {
                assert!(!self.files.contains_key(&segment), "{segment:?} is there already");
                if self.files.len() >= self.room {
                    return Err(DiskError::Full);
                }
                self.files.insert(segment, File::of_zeros(length));
            }
            Op::Write { segment, offset, parts } => {
                self.write(segment, offset, &parts);
                let file = self.files.get_mut(&segment).expect("just written to");
                if !self.lies {
                    file.flush();
                }
            }
            Op::Cut { segment, offset, length } => {
                let file = self.files.get_mut(&segment).expect("a segment to cut");
                file.cached.truncate(place(offset));
                file.cached.resize(place(length), 0);
                file.flushed.clone_from(&file.cached);
                file.unflushed.clear();
                self.harm.cut(segment, place(offset));
            }
            Op::Read { segment, offset, length } => {
                return Ok(Output::Bytes(self.bytes(segment, offset, length)));
            }
            Op::ReadContent { segment, offset, length } => {
                return Ok(Output::Content(Content::of(self.bytes(segment, offset, length))));
            }
            Op::Delete { segment } => {
                self.files.remove(&segment);
                self.harm.cut(segment, 0);
            }
        }
        Ok(Output::Done)
    }

    /// What the disk has taken, and forgets when the power fails before it is flushed.
    fn write(&mut self, segment: SegmentId, offset: u64, parts: &[Bytes]) {
        let file = self.files.get_mut(&segment).expect("a segment to write to");
        let first = place(offset);
        let mut at = first;
        assert!(at >= file.acknowledged, "acknowledged blocks are written again");
        for part in parts {
            file.cached[at..at + part.len()].copy_from_slice(part);
            self.harm.written(segment, at, part);
            at += part.len();
        }
        file.unflushed.push(first..at);
        if at < file.cached.len() {
            file.written = at;
        }
    }

    fn bytes(&self, segment: SegmentId, offset: u64, length: u64) -> Bytes {
        let file = &self.files[&segment].cached;
        let at = place(offset).min(file.len());
        let end = place(offset + length).min(file.len());
        Bytes::copy_from_slice(&file[at..end])
    }

    /// The power fails: of every operation under way, and of every sector that was not flushed, nobody
    /// knows whether it reached the disk.
    pub fn crash(&mut self) {
        for (_, op) in std::mem::take(&mut self.pending) {
            if self.chance.below(2) == 0 {
                continue;
            }
            match op {
                Op::Create { segment, length } => {
                    let length = self.chance.below(length + 1);
                    self.files.insert(segment, File::of_zeros(length));
                }
                Op::Write { segment, offset, parts } => self.write(segment, offset, &parts),
                op => drop(self.carry_out(op)),
            }
        }
        for file in self.files.values_mut() {
            for sector in file.uncertain_sectors() {
                let File { cached, flushed, .. } = file;
                match self.chance.below(2) {
                    0 => flushed[sector.clone()].copy_from_slice(&cached[sector]),
                    _ => cached[sector.clone()].copy_from_slice(&flushed[sector]),
                }
            }
            file.unflushed.clear();
            (file.written, file.acknowledged) = (0, 0);
        }
    }

    fn any_file(&mut self) -> Option<(SegmentId, &mut File)> {
        let files = self.files.len() as u64;
        let which = self.chance.below(files.max(1));
        self.files.iter_mut().nth(place(which)).map(|(segment, file)| (*segment, file))
    }

    /// Whether what was done to this disk can be why `chunk` is not readable on it.
    pub(super) fn excuses(&self, chunk: &ChunkId) -> bool {
        self.harm.excuses(chunk)
    }

    /// Bits change that the disk does not keep account of.
    pub(super) fn rot_untold(&mut self) {
        let harm = self.harm.clone();
        self.rot();
        self.harm = harm;
    }

    /// One bit of one file changes.
    pub fn rot(&mut self) {
        let draw = self.chance.next_u64();
        if let Some((segment, file)) = self.any_file() {
            let bits = file.cached.len() as u64 * 8;
            let Some(bit) = draw.checked_rem(bits) else { return };
            let (byte, bit) = (place(bit / 8), bit % 8);
            file.cached[byte] ^= 1 << bit;
            file.flushed[byte] ^= 1 << bit;
            self.harm.harmed(segment, byte..byte + 1);
        }
    }

    /// A sector that was written turns out never to have been: it is what it was before, all zero.
    pub fn lose_write(&mut self) {
        let draw = self.chance.next_u64();
        if let Some((segment, file)) = self.any_file() {
            let sectors = (file.acknowledged / SECTOR) as u64;
            let Some(sector) = draw.checked_rem(sectors) else { return };
            let range = place(sector) * SECTOR..(place(sector) + 1) * SECTOR;
            file.cached[range.clone()].fill(0);
            file.flushed[range.clone()].fill(0);
            self.harm.harmed(segment, range);
        }
    }

    /// Everything on it is gone.
    pub fn wipe(&mut self) {
        self.files.clear();
        self.pending.clear();
        self.harm = Harm::default();
    }

    /// How many files are on it.
    pub fn files(&self) -> usize {
        self.files.len()
    }
}
