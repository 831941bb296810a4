//! The list at the end of a full segment of what it holds.

use alloc::vec::Vec;

use bytes::Bytes;
use slotcast_protocol::{ChunkId, Wanted};

use crate::io::{Op, SegmentId};
use crate::record::{CHECK, HEADER, Identity, Kind, REPLICA_LIMIT, Record, wanted_from};

/// A record and where it lies in its segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) record: Record,
    pub(crate) offset: u32,
}

/// Length of an entry, and of the trailer after the last one.
pub(crate) const ENTRY: usize = 48;
const TRAILER: usize = 64;
const MAGIC: [u8; 4] = *b"SLCF";
const REMOVAL: u32 = 1 << 31;
/// Records begin at multiples of 64: these bits of an offset say what is wanted, as a byte of [`Wanted`] does.
const WANTED: u32 = 0x1f;

impl Entry {
    /// As in a footer.
    pub(crate) fn encode(&self) -> [u8; ENTRY] {
        let Entry { record, offset } = self;
        let removal = if record.kind == Kind::Removal { REMOVAL } else { 0 };
        debug_assert!(offset & WANTED == 0, "a record begins at a multiple of 64");
        let mut bytes = [0; ENTRY];
        bytes[..32].copy_from_slice(&record.chunk.0);
        bytes[32..40].copy_from_slice(&record.sequence.to_le_bytes());
        bytes[40..44].copy_from_slice(&(offset | u32::from(record.wanted.to_byte())).to_le_bytes());
        bytes[44..].copy_from_slice(&(record.length | removal).to_le_bytes());
        bytes
    }

    /// What [`Entry::encode`] made these of.
    pub(crate) fn decode(bytes: &[u8; ENTRY]) -> Entry {
        let number = |at: usize| u32::from_le_bytes(*bytes[at..].first_chunk().expect("48 bytes"));
        let (offset, length) = (number(40), number(44));
        let [wanted, ..] = (offset & WANTED).to_le_bytes();
        let record = Record {
            kind: if length & REMOVAL == 0 { Kind::Put } else { Kind::Removal },
            chunk: ChunkId(*bytes.first_chunk().expect("48 bytes")),
            sequence: u64::from(number(36)) << 32 | u64::from(number(32)),
            length: length & !REMOVAL,
            wanted: wanted_from(wanted),
        };
        Entry { record, offset: offset & !WANTED }
    }
}

/// Length of a footer with `entries` entries.
pub(crate) fn length(entries: usize) -> u64 {
    (entries * ENTRY + TRAILER) as u64
}

/// How much of the end of a segment is its trailer.
pub(crate) const PROBE: u64 = TRAILER as u64;

/// Reads the trailer of a segment of `size` bytes.
pub(crate) fn probe(segment: SegmentId, size: u64) -> Op {
    tail(segment, size, PROBE)
}

/// Reads the last `length` bytes of a segment of `size` bytes.
pub(crate) fn tail(segment: SegmentId, size: u64, length: u64) -> Op {
    Op::Read { segment, offset: size - length, length }
}

/// The footer: it ends where the segment ends.
pub(crate) fn encode(entries: &[Entry], data_end: u64, identity: &Identity) -> Bytes {
    let mut bytes = Vec::with_capacity(entries.len() * ENTRY + TRAILER);
    entries.iter().for_each(|entry| bytes.extend_from_slice(&entry.encode()));
    let of_entries = identity.check(&bytes);
    let mut trailer = [0; TRAILER];
    trailer[..4].copy_from_slice(&MAGIC);
    let count = u32::try_from(entries.len()).expect("a segment holds fewer");
    trailer[8..12].copy_from_slice(&count.to_le_bytes());
    trailer[16..24].copy_from_slice(&data_end.to_le_bytes());
    trailer[24..32].copy_from_slice(&of_entries);
    let check = identity.check(&trailer[..TRAILER - CHECK]);
    trailer[TRAILER - CHECK..].copy_from_slice(&check);
    bytes.extend_from_slice(&trailer);
    Bytes::from(bytes)
}

/// A trailer: how many entries are before it, and where the records end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Trailer {
    pub(crate) entries: u32,
    pub(crate) data_end: u64,
    check: [u8; CHECK],
}

impl Trailer {
    /// From the last bytes of a segment; none if this store has not written one there.
    pub(crate) fn decode(bytes: &[u8], identity: &Identity) -> Option<Trailer> {
        let bytes: &[u8; TRAILER] = bytes.last_chunk()?;
        let check = identity.check(&bytes[..TRAILER - CHECK]);
        if bytes[..4] != MAGIC || check != bytes[TRAILER - CHECK..] {
            return None;
        }
        Some(Trailer {
            entries: u32::from_le_bytes(*bytes[8..].first_chunk()?),
            data_end: u64::from_le_bytes(*bytes[16..].first_chunk()?),
            check: *bytes[24..].first_chunk()?,
        })
    }

    /// Reads the entries of a segment of `size` bytes.
    pub(crate) fn op(&self, segment: SegmentId, size: u64) -> Op {
        let length = self.length();
        Op::Read { segment, offset: size - PROBE - length, length }
    }

    /// Length of the entries.
    pub(crate) fn length(&self) -> u64 {
        u64::from(self.entries) * ENTRY as u64
    }

    /// The entries; none if they are not those that the trailer was written with.
    pub(crate) fn entries(&self, bytes: &[u8], identity: &Identity) -> Option<Vec<Entry>> {
        Some(self.checked(bytes, identity)?.iter().map(Entry::decode).collect())
    }

    /// The same, each still as in the footer.
    pub(crate) fn checked<'a>(
        &self,
        bytes: &'a [u8],
        identity: &Identity,
    ) -> Option<&'a [[u8; ENTRY]]> {
        let is_right = bytes.len() as u64 == self.length() && identity.check(bytes) == self.check;
        is_right.then_some(bytes.as_chunks().0)
    }
}

const _: () = assert!(TRAILER == HEADER, "both are one line");
const _: () =
    assert!(Wanted::named(REPLICA_LIMIT).to_byte() as u32 <= WANTED && WANTED < HEADER as u32);

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn a_footer_comes_back_whole_or_not_at_all() {
        let identity = Identity([3; 32]);
        let record = |kind, n: u8, length, wanted| Record {
            kind,
            chunk: ChunkId([n; 32]),
            sequence: u64::from(n),
            length,
            wanted,
        };
        let entries = vec![
            Entry { record: record(Kind::Put, 1, 5000, Wanted::named(8)), offset: 0 },
            Entry { record: record(Kind::Removal, 2, 0, Wanted::bare(0)), offset: 5120 },
            Entry { record: record(Kind::Put, 3, 64, Wanted::bare(8)), offset: 5184 },
        ];
        let bytes = encode(&entries, 8192, &identity);
        assert_eq!(bytes.len() as u64, length(3));
        let read = |bytes: &[u8]| {
            let trailer = Trailer::decode(bytes, &identity)?;
            assert_eq!(trailer.data_end, 8192);
            let rest = bytes.len() - TRAILER;
            trailer.entries(&bytes[..rest], &identity)
        };
        assert_eq!(read(&bytes), Some(entries));
        for byte in 0..bytes.len() {
            let mut damaged = bytes.to_vec();
            damaged[byte] ^= 0x10;
            assert_eq!(read(&damaged), None, "byte {byte}");
        }
    }
}
