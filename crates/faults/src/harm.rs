//! What was done to a disk, and which chunks lie there: so that a chunk that is lost anywhere else is found out.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::ops::Range;

use slotcast_disk::io::SegmentId;
use slotcast_protocol::ChunkId;

/// A place on a disk, in bytes of a segment.
type Place = (SegmentId, Range<usize>);

/// Length of the header of a record, and what it begins with if it is one of a chunk; where in it the length
/// of the content is, and the name. As in `slotcast-store`.
const HEADER: usize = 64;
const MAGIC: [u8; 4] = *b"SLC1";
const PUT: u8 = 1;
const LENGTH: Range<usize> = 8..12;
const NAME: Range<usize> = 24..56;

/// The records that were written to a disk, and what of it was harmed since.
#[derive(Debug, Clone, Default)]
pub(crate) struct Harm {
    records: BTreeMap<ChunkId, Vec<Place>>,
    harmed: Vec<Place>,
    /// Chunks with a record that was harmed and is cut off or deleted, and none that was written since.
    ruined: BTreeSet<ChunkId>,
    /// What could not be read just now, although it is there.
    unread: Option<Place>,
}

fn overlap((a, x): &Place, (b, y): &Place) -> bool {
    a == b && x.start < y.end && y.start < x.end
}

impl Harm {
    /// `part` was written at `at`. What was harmed there before does not matter any more.
    pub(crate) fn written(&mut self, segment: SegmentId, at: usize, part: &[u8]) {
        let whole = at..at + part.len();
        let is_inside = |range: &Range<usize>| whole.start <= range.start && range.end <= whole.end;
        self.harmed.retain(|(of, range)| *of != segment || !is_inside(range));
        if part.len() == HEADER && part.starts_with(&MAGIC) && part[MAGIC.len()] == PUT {
            let length = u32::from_le_bytes(part[LENGTH].try_into().expect("four bytes"));
            let length = usize::try_from(length).expect("chunks are small");
            let chunk = ChunkId(part[NAME].try_into().expect("32 bytes"));
            let place = (segment, at..at + HEADER + length);
            self.ruined.remove(&chunk);
            self.records.entry(chunk).or_default().push(place);
        }
    }

    /// What lies there is not what was written.
    pub(crate) fn harmed(&mut self, segment: SegmentId, range: Range<usize>) {
        self.harmed.push((segment, range));
    }

    /// An operation ends: what could not be read before does not count any more.
    pub(crate) fn operation(&mut self) {
        self.unread = None;
    }

    /// The operation that ends could not read this content. It may be empty: the end of its header
    /// counts, too.
    pub(crate) fn content_not_read(&mut self, segment: SegmentId, range: Range<usize>) {
        self.unread = Some((segment, range.start.saturating_sub(1)..range.end));
    }

    /// Everything from `offset` on is gone, as it should be: with that the end of a record, if it was harmed and
    /// so was not taken for one.
    pub(crate) fn cut(&mut self, segment: SegmentId, offset: usize) {
        let Harm { records, harmed, ruined, .. } = self;
        let stays = |(of, range): &Place| *of != segment || range.end <= offset;
        records.retain(|chunk, places| {
            let is_harmed = |place: &Place| harmed.iter().any(|harm| overlap(place, harm));
            if places.iter().any(|place| !stays(place) && is_harmed(place)) {
                ruined.insert(*chunk);
            }
            places.retain(stays);
            !places.is_empty()
        });
        harmed.retain(|(of, range)| *of != segment || range.start < offset);
    }

    /// Where records of `chunk` were written.
    pub(super) fn places_of(&self, chunk: &ChunkId) -> impl Iterator<Item = &Place> {
        self.records.get(chunk).into_iter().flatten()
    }

    /// Whether a record of `chunk` was touched by what was done to the disk.
    pub(crate) fn excuses(&self, chunk: &ChunkId) -> bool {
        let mut places = self.places_of(chunk);
        self.ruined.contains(chunk)
            || places.any(|place| self.harmed.iter().any(|harm| overlap(place, harm)))
    }

    /// Whether a record of `chunk` could not be read just now.
    pub(crate) fn is_unread(&self, chunk: &ChunkId) -> bool {
        let mut places = self.places_of(chunk);
        places.any(|place| self.unread.as_ref().is_some_and(|unread| overlap(place, unread)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(chunk: u8, length: u32) -> [u8; HEADER] {
        let mut header = [0; HEADER];
        header[..4].copy_from_slice(&MAGIC);
        header[4] = PUT;
        header[LENGTH].copy_from_slice(&length.to_le_bytes());
        header[NAME].fill(chunk);
        header
    }

    #[test]
    fn only_what_was_touched_is_excused() {
        let (segment, a, b) = (SegmentId(3), ChunkId([1; 32]), ChunkId([2; 32]));
        let mut harm = Harm::default();
        harm.written(segment, 0, &header(1, 100));
        harm.written(segment, 192, &header(2, 100));
        assert!(!harm.excuses(&a));
        harm.content_not_read(segment, 64..64);
        assert!(harm.is_unread(&a) && !harm.is_unread(&b), "content of no length, by its header");
        assert!(!harm.excuses(&a), "what could not be read is there nevertheless");
        harm.operation();
        assert!(!harm.is_unread(&a));
        harm.harmed(segment, 163..164);
        assert!(harm.excuses(&a) && !harm.excuses(&b), "the last byte of its content");
        harm.harmed(segment, 164..192);
        harm.harmed(SegmentId(4), 200..210);
        assert!(!harm.excuses(&b), "between the two, and in another segment");
        harm.content_not_read(segment, 256..356);
        assert!(harm.is_unread(&b));
        harm.operation();
        assert!(!harm.is_unread(&b));
        harm.written(segment, 0, &[0; 192]);
        assert!(!harm.excuses(&a), "written again");
        harm.harmed(segment, 0..1);
        harm.cut(segment, 64);
        assert!(harm.excuses(&a) && !harm.excuses(&b));
        harm.cut(segment, 0);
        assert!(harm.excuses(&a), "what was harmed is not missed when it is cut off");
        harm.written(segment, 0, &header(1, 100));
        assert!(!harm.excuses(&a), "but what is written then is");
    }

    /// The end of the last record is rotten: it is not found, and what is cut off begins within it.
    #[test]
    fn a_record_that_is_cut_within_was_harmed_or_is_missed() {
        let (segment, rotten, whole) = (SegmentId(2), ChunkId([1; 32]), ChunkId([2; 32]));
        let mut harm = Harm::default();
        harm.written(segment, 4032, &header(1, 500));
        harm.harmed(segment, 4500..4501);
        harm.cut(segment, 4096);
        assert!(harm.excuses(&rotten));
        harm.written(segment, 4096, &header(1, 500));
        assert!(!harm.excuses(&rotten), "it was written anew");
        harm.written(segment, 8128, &header(2, 500));
        harm.cut(segment, 8192);
        assert!(!harm.excuses(&whole));
    }
}
