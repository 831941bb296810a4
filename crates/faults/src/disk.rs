//! A disk that forgets what was not flushed, carries out operations in any order, and fails and
//! hangs when told.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use core::mem;
use core::ops::Range;

use bytes::Bytes;
use slotcast_disk::content::Content;
use slotcast_disk::io::{DiskError, Op, OpId, Output, SegmentId};
use slotcast_protocol::ChunkId;
use slotcast_random::{Stream, Streams};

use crate::disk_faults::{DiskFaults, Hang, released};
use crate::harm::Harm;

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

/// An operation that was asked for and not answered yet.
#[derive(Debug, Clone)]
struct Pending {
    id: OpId,
    op: Op,
    hang: Option<Hang>,
}

/// A simulated disk: the same stream of choices, the same disk.
#[derive(Debug, Clone)]
pub struct SimulatedDisk {
    files: BTreeMap<SegmentId, File>,
    pending: Vec<Pending>,
    harm: Harm,
    chance: Stream,
    /// Files that it has room for.
    pub room: usize,
    /// It says that it has flushed, and has not.
    pub lies: bool,
    /// What goes wrong, by kind of operation.
    pub faults: DiskFaults,
    /// Reads of this file fail, if it is there.
    pub unreadable: Option<SegmentId>,
}

/// A file that was taken away from a disk.
#[derive(Debug, Clone)]
pub struct TakenFile {
    segment: SegmentId,
    file: File,
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
            lies: false,
            faults: DiskFaults::default(),
            unreadable: None,
        }
    }

    /// Takes an operation, to be carried out later.
    pub fn ask(&mut self, id: OpId, op: Op) {
        let hang = self.faults.of(&op).hang;
        self.pending.push(Pending { id, op, hang });
    }

    /// Carries out one of the operations that were asked for and do not hang, any of them.
    pub fn step(&mut self) -> Option<(OpId, Result<Output, DiskError>)> {
        let ready = || self.pending.iter().filter(|pending| pending.hang.is_none());
        let count = ready().count() as u64;
        if count == 0 {
            return None;
        }
        let id = ready().nth(place(self.chance.below(count)))?.id;
        self.finish(id).map(|result| (id, result))
    }

    /// Carries out the operation `id`; none if it hangs, was never asked for, or the power has
    /// failed since.
    pub fn finish(&mut self, id: OpId) -> Option<Result<Output, DiskError>> {
        let is_ready = |pending: &Pending| pending.id == id && pending.hang.is_none();
        let which = self.pending.iter().position(is_ready)?;
        let Pending { op, .. } = self.pending.remove(which);
        self.harm.operation();
        Some(match self.injected(&op) {
            Some(error) => {
                self.fail(op, error);
                Err(error)
            }
            None => self.carry_out(op),
        })
    }

    /// Ends [`Hang::UntilReleased`]. Returns the operations that hung so, which can be carried out
    /// now, in the order in which they were asked for.
    pub fn release(&mut self) -> Vec<OpId> {
        self.faults.release();
        released(self.pending.iter_mut().map(|pending| (pending.id, &mut pending.hang)))
    }

    /// What `op` fails with, if it does.
    fn injected(&mut self, op: &Op) -> Option<DiskError> {
        if let Op::Read { segment, .. } | Op::ReadContent { segment, .. } = op
            && self.unreadable == Some(*segment)
        {
            return Some(DiskError::Failed);
        }
        let faults = *self.faults.of(op);
        if faults.lasting.is_some() {
            return faults.lasting;
        }
        let transient = faults.transient?;
        (self.chance.below(transient.one_in) == 0).then_some(transient.error)
    }

    /// What an operation leaves behind that fails with `error`. A device that failed may have
    /// carried it out nevertheless, and a full disk may have made the file before it found no room
    /// for its content.
    fn fail(&mut self, op: Op, error: DiskError) {
        let may_be_done = match (&op, error) {
            (Op::ReadContent { segment, offset, length }, _) => {
                let range = place(*offset)..place(offset + length);
                return self.harm.content_not_read(*segment, range);
            }
            (Op::Cut { segment, offset, .. }, DiskError::Full) => {
                return self.cut(*segment, (*offset, *offset));
            }
            (Op::List | Op::Read { .. }, _) => false,
            (Op::Create { .. }, DiskError::Full) => true,
            (_, error) => error == DiskError::Failed,
        };
        if may_be_done && self.chance.below(2) == 0 {
            self.leave(op);
        }
    }

    /// Carries out an operation that nobody will confirm: a new segment may lack some of its
    /// length, and what is written is not flushed.
    fn leave(&mut self, op: Op) {
        match op {
            Op::Create { segment, length } => {
                let length = self.chance.below(length + 1);
                self.files.insert(segment, File::of_zeros(length));
            }
            Op::Write { segment, offset, parts } => self.write(segment, offset, &parts),
            op => drop(self.carry_out(op)),
        }
    }

    fn carry_out(&mut self, op: Op) -> Result<Output, DiskError> {
        match op {
            Op::List => {
                return Ok(Output::Segments(self.files.keys().copied().collect()));
            }
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
            Op::Cut { segment, offset, length } => self.cut(segment, (offset, length)),
            Op::Read { segment, offset, length } => {
                return Ok(Output::Bytes(self.bytes(segment, offset, length)?));
            }
            Op::ReadContent { segment, offset, length } => {
                return Ok(Output::Content(Content::of(self.bytes(segment, offset, length)?)));
            }
            Op::Delete { segment } => {
                self.files.remove(&segment);
                self.harm.cut(segment, 0);
            }
        }
        Ok(Output::Done)
    }

    fn cut(&mut self, segment: SegmentId, (offset, length): (u64, u64)) {
        let file = self.files.get_mut(&segment).expect("a segment to cut");
        file.cached.truncate(place(offset));
        file.cached.resize(place(length), 0);
        file.flushed.clone_from(&file.cached);
        file.unflushed.clear();
        self.harm.cut(segment, place(offset));
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

    /// What readers see; an error if there is no such segment, perhaps because its deletion did not
    /// fail after all.
    fn bytes(&self, segment: SegmentId, offset: u64, length: u64) -> Result<Bytes, DiskError> {
        let file = &self.files.get(&segment).ok_or(DiskError::Gone)?.cached;
        let at = place(offset).min(file.len());
        let end = place(offset + length).min(file.len());
        Ok(Bytes::copy_from_slice(&file[at..end]))
    }

    /// The power fails: of every operation under way, and of every sector that was not flushed, nobody
    /// knows whether it reached the disk.
    pub fn crash(&mut self) {
        for Pending { op, .. } in mem::take(&mut self.pending) {
            if self.chance.below(2) != 0 {
                self.leave(op);
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

    /// Whether a record of `chunk` is on the disk, and would be after a power failure: its content, and what was
    /// written of its header.
    pub fn has_flushed(&self, chunk: &ChunkId) -> bool {
        self.harm.places_of(chunk).any(|(segment, range)| {
            self.files.get(segment).is_some_and(|file| {
                let (range, length) = (range.clone(), file.flushed.len());
                range.end <= length && file.flushed[range.clone()] == file.cached[range]
            })
        })
    }

    /// Whether what was done to this disk can be why `chunk` is not stored on it any more. That something could
    /// not be read is no reason.
    pub fn excuses(&self, chunk: &ChunkId) -> bool {
        self.harm.excuses(chunk)
    }

    /// Whether the operation that has just ended could not read a record of `chunk`.
    pub fn is_unread(&self, chunk: &ChunkId) -> bool {
        self.harm.is_unread(chunk)
    }

    /// Bits change that the disk does not keep account of.
    pub fn rot_untold(&mut self) {
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
        self.unreadable = None;
    }

    /// The segments that are on it, in order.
    pub fn segments(&self) -> Vec<SegmentId> {
        self.files.keys().copied().collect()
    }

    /// Takes a file away, if it is there; nobody may be at work on it.
    pub fn take_away(&mut self, segment: SegmentId) -> Option<TakenFile> {
        self.files.remove(&segment).map(|file| TakenFile { segment, file })
    }

    /// Puts a file back that was taken away, as it was.
    pub fn put_back(&mut self, TakenFile { segment, file }: TakenFile) {
        let before = self.files.insert(segment, file);
        assert!(before.is_none(), "{segment:?} was made anew");
    }

    /// How many files are on it.
    pub fn files(&self) -> usize {
        self.files.len()
    }
}
