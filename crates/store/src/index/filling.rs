//! Fills an index with all records of a store, section by section of their names.

use alloc::vec::Vec;

use super::{Index, Live, Place};
use crate::footer::Entry;
use crate::record::Kind;
use crate::rows::{Row, Section};
use crate::voids::Void;

impl Index {
    /// Adds all records of these names. Of the records of a chunk the last in its order holds: whatever it says, the
    /// others are void. A removal that voids nothing is of no use.
    ///
    /// Sections come in order, and the slots of segments are in the order of segments. [`Index::filled`] must follow.
    pub(crate) fn fill(&mut self, section: &Section) {
        let (mut stored, mut voids) = (Vec::with_capacity(section.len()), Vec::new());
        for mut records in section.names() {
            let Some(last) = records.next_back() else { continue };
            let Entry { record, offset } = last.entry();
            let puts = records.map(|row| self.void(row)).sum::<u32>();
            let mut void = Void { puts, removal: None };
            let chunk = record.chunk;
            let place = Place { segment: self.segments.in_slot(last.slot), offset };
            match record.kind {
                Kind::Put => {
                    let (length, wanted) = (record.length, record.wanted);
                    let live = Live { place, length, wanted, is_unreadable: false };
                    stored.push(self.chunks.row(&chunk, &live, last.slot));
                    self.sums.add_finest(&chunk, wanted);
                    self.live_bytes += u64::from(length);
                }
                Kind::Removal if puts > 0 => void.removal = Some(place),
                Kind::Removal => self.segments.void_in(last.slot, record.extent()),
            }
            if puts > 0 {
                voids.push(self.voids.row(&chunk, void, last.slot));
            }
        }
        self.voids.fill(section.prefix, section.depth, &voids);
        self.chunks.fill(section.prefix, section.depth, &stored);
    }

    /// The record does not hold. The result is how many puts it is: 1, or 0 for a removal.
    fn void(&mut self, row: &Row) -> u32 {
        let record = row.entry().record;
        self.segments.void_in(row.slot, record.extent());
        u32::from(record.kind == Kind::Put)
    }

    /// After all sections.
    pub(crate) fn filled(&mut self) {
        self.sums.fold();
    }
}
