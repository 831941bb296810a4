//! All records that were found while a store is opened, sorted by the first bits of their names.

use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Ordering;

use crate::footer::{ENTRY, Entry};

/// Rows are in so many parts, by the first bits of their names.
const PART_BITS: u32 = 8;

/// Rows that are taken at a time, as near as parts allow: in the cache of a processor.
const SECTION: usize = 1 << 15;

/// A record and its segment: 52 bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    /// As in a footer.
    entry: [u8; ENTRY],
    pub(crate) slot: u32,
}

impl Row {
    pub(crate) fn entry(&self) -> Entry {
        Entry::decode(&self.entry)
    }

    /// By name, and then the one last that holds: that with the highest sequence number, and of copies the one in
    /// the last segment.
    fn order(&self, other: &Row) -> Ordering {
        self.entry[..32].cmp(&other.entry[..32]).then_with(|| {
            let age = |row: &Row| {
                let Entry { record, offset } = row.entry();
                (record.sequence, row.slot, offset)
            };
            age(self).cmp(&age(other))
        })
    }
}

/// Rows with names that begin with the first `depth` bits of `prefix`, in order.
#[derive(Debug)]
pub(crate) struct Section {
    pub(crate) prefix: u64,
    pub(crate) depth: u32,
    rows: Vec<Row>,
    /// The first bits of each name, and where its row is; in order.
    order: Vec<(u64, u32)>,
}

impl Section {
    fn of(prefix: u64, depth: u32, rows: Vec<Row>) -> Section {
        let head = |row: &Row| u64::from_be_bytes(*row.entry.first_chunk().expect("48 bytes"));
        let mut order: Vec<_> = rows.iter().map(head).zip(0..).collect();
        order.sort_unstable_by(|(a, x), (b, y)| {
            a.cmp(b).then_with(|| rows[*x as usize].order(&rows[*y as usize]))
        });
        Section { prefix, depth, rows, order }
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The records of one name after another, the one that holds last.
    pub(crate) fn names(&self) -> impl Iterator<Item = impl DoubleEndedIterator<Item = &Row>> {
        let row = |at: &(u64, u32)| &self.rows[at.1 as usize];
        let is_same = move |a: &(u64, u32), b: &(u64, u32)| {
            a.0 == b.0 && row(a).entry[..32] == row(b).entry[..32]
        };
        self.order.chunk_by(is_same).map(move |same| same.iter().map(row))
    }
}

/// The rows that were found, until they are taken section by section.
///
/// Each part is one long vector: where there are many rows the system moves it when it grows, takes memory only for what
/// is written, and has it back as soon as the part is indexed.
#[derive(Debug)]
pub(crate) struct Rows {
    parts: Vec<Vec<Row>>,
    len: usize,
    /// Bits that the names of a section have in common, from the first section on.
    depth: Option<u32>,
    /// The next section.
    next: usize,
}

impl Rows {
    /// None yet.
    pub(crate) fn new() -> Rows {
        Rows { parts: vec![Vec::new(); 1 << PART_BITS], len: 0, depth: None, next: 0 }
    }

    /// Adds a record of the segment in `slot`. O(1).
    pub(crate) fn push(&mut self, entry: &[u8; ENTRY], slot: u32) {
        debug_assert!(self.depth.is_none(), "sections are taken already");
        self.parts[usize::from(entry[0])].push(Row { entry: *entry, slot });
        self.len += 1;
    }

    /// The next rows in the order of names; none after the last ones. Sections have about [`SECTION`] rows, or more
    /// where there are many, and together all names: those of a section without rows, too.
    pub(crate) fn section(&mut self) -> Option<Section> {
        let sections = (self.len / SECTION).next_power_of_two().ilog2().min(PART_BITS);
        let depth = *self.depth.get_or_insert(sections);
        let parts = 1 << (PART_BITS - depth);
        let first = self.next * parts;
        if first == self.parts.len() {
            return None;
        }
        let prefix = (first as u64) << (u64::BITS - PART_BITS);
        self.next += 1;
        let mut rows = core::mem::take(&mut self.parts[first]);
        for part in &mut self.parts[first + 1..first + parts] {
            rows.append(part);
            *part = Vec::new();
        }
        Some(Section::of(prefix, depth, rows))
    }
}

const _: () = assert!(size_of::<Row>() == 52);
