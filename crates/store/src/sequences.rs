//! The sequence numbers of all records, while a store is opened.

use alloc::vec::Vec;

use crate::footer::Entry;
use crate::index::Place;
use crate::io::SegmentId;

/// Sequence numbers by place, at 12 bytes a record.
///
/// They decide which of two records of a chunk holds. Chunks with two records are few, so these are found by a
/// search; and what is searched is in few long vectors, whose memory goes back to the system.
#[derive(Debug, Default)]
pub(crate) struct Sequences {
    offsets: Vec<u32>,
    numbers: Vec<u64>,
    /// Where the records of a segment begin and end, in the order of segments when `is_sorted`.
    parts: Vec<(SegmentId, usize, usize)>,
    is_sorted: bool,
}

impl Sequences {
    /// These records are in `segment`, in the order of their places; others may have been added before.
    pub(crate) fn add(&mut self, segment: SegmentId, entries: &[Entry]) {
        let start = self.offsets.len();
        self.offsets.extend(entries.iter().map(|entry| entry.offset));
        self.numbers.extend(entries.iter().map(|entry| entry.record.sequence));
        self.parts.push((segment, start, self.offsets.len()));
        self.is_sorted = false;
    }

    /// After records were added, before numbers are asked for.
    pub(crate) fn sort(&mut self) {
        if !self.is_sorted {
            self.parts.sort_unstable();
            self.is_sorted = true;
        }
    }

    /// The number of the record at `place`, if there is one. O(log records).
    pub(crate) fn of(&self, place: Place) -> Option<u64> {
        debug_assert!(self.is_sorted, "records were added since");
        let first = self.parts.partition_point(|(segment, ..)| *segment < place.segment);
        let parts = self.parts[first..].iter().take_while(|part| part.0 == place.segment);
        parts.into_iter().find_map(|(_, start, end)| {
            let at = self.offsets[*start..*end].binary_search(&place.offset).ok()?;
            Some(self.numbers[start + at])
        })
    }
}
