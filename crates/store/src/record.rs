//! One record of a segment: a chunk, or the note that one was removed.

use core::fmt;

use slotcast_protocol::{ChunkId, MAX_REPLICAS, Wanted};

/// The identity of a store: 32 random bytes, made when it is formatted and kept with it. It keys the
/// checks of its records, so nobody outside can make content that looks like one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Identity(pub [u8; 32]);

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Identity(…)")
    }
}

impl Identity {
    /// The first bytes of the keyed hash of `bytes`.
    pub(crate) fn check(&self, bytes: &[u8]) -> [u8; CHECK] {
        let hash = blake3::keyed_hash(&self.0, bytes);
        let (check, _) = hash.as_bytes().split_first_chunk().expect("a hash is longer");
        *check
    }
}

/// Length of a check.
pub(crate) const CHECK: usize = 8;

/// Length of a header, and what records are aligned to.
pub(crate) const HEADER: usize = 64;

/// What batches are aligned to: the largest block that a disk is known to write in one piece.
pub(crate) const BLOCK: u64 = 4096;

const MAGIC: [u8; 4] = *b"SLC1";

/// What a record says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// This is the chunk's content.
    Put,
    /// The chunk is removed: whatever earlier records say of it is void.
    Removal,
}

/// The header of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) kind: Kind,
    pub(crate) chunk: ChunkId,
    /// Counts the records of a store; among those of one chunk the highest holds. A copy made by
    /// compaction keeps it.
    pub(crate) sequence: u64,
    /// Length of the content.
    pub(crate) length: u32,
    /// How many targets are to hold the chunk, 0 for the cluster's number, and who wants it kept.
    pub(crate) wanted: Wanted,
}

/// What is wanted, as it was read. What can not be is taken for the most.
pub(crate) fn wanted_from(byte: u8) -> Wanted {
    Wanted::from_byte(byte).unwrap_or(Wanted::bare(REPLICA_LIMIT))
}

#[expect(clippy::cast_possible_truncation, reason = "at most 8")]
pub(crate) const REPLICA_LIMIT: u8 = MAX_REPLICAS as u8;

impl Record {
    /// Length on disk, padding included.
    pub(crate) fn extent(&self) -> u64 {
        (HEADER as u64 + u64::from(self.length)).next_multiple_of(HEADER as u64)
    }

    /// Zero bytes between the content and the next record.
    pub(crate) fn padding(&self) -> usize {
        usize::try_from(self.extent() - HEADER as u64 - u64::from(self.length)).expect("below 64")
    }

    pub(crate) fn encode(&self, identity: &Identity) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4] = match self.kind {
            Kind::Put => 1,
            Kind::Removal => 2,
        };
        bytes[5] = self.wanted.to_byte();
        bytes[8..12].copy_from_slice(&self.length.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[24..56].copy_from_slice(&self.chunk.0);
        let check = identity.check(&bytes[..HEADER - CHECK]);
        bytes[HEADER - CHECK..].copy_from_slice(&check);
        bytes
    }

    /// The header at the start of `bytes`, if there is one that this store has written.
    pub(crate) fn decode(bytes: &[u8], identity: &Identity) -> Option<Record> {
        let bytes: &[u8; HEADER] = bytes.first_chunk()?;
        if bytes[..4] != MAGIC
            || identity.check(&bytes[..HEADER - CHECK]) != bytes[HEADER - CHECK..]
        {
            return None;
        }
        let kind = match bytes[4] {
            1 => Kind::Put,
            2 => Kind::Removal,
            _ => return None,
        };
        Some(Record {
            kind,
            wanted: wanted_from(bytes[5]),
            length: u32::from_le_bytes(*bytes[8..].first_chunk()?),
            sequence: u64::from_le_bytes(*bytes[16..].first_chunk()?),
            chunk: ChunkId(*bytes[24..].first_chunk()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_store_that_wrote_a_record_reads_it() {
        let chunk = ChunkId([7; 32]);
        let record =
            Record { kind: Kind::Put, chunk, sequence: 3, length: 1000, wanted: Wanted::named(5) };
        let (mine, other) = (Identity([1; 32]), Identity([2; 32]));
        let bytes = record.encode(&mine);
        assert_eq!(Record::decode(&bytes, &mine), Some(record));
        assert_eq!(Record::decode(&bytes, &other), None);
        for bit in 0..HEADER * 8 {
            let mut bytes = bytes;
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Record::decode(&bytes, &mine), None, "bit {bit}");
        }
        assert_eq!(Record::decode(&bytes[..60], &mine), None);
    }

    /// Records of before numbers were kept have a zero there.
    #[test]
    fn a_record_of_the_clusters_number_is_what_it_always_was() {
        let record = Record {
            kind: Kind::Put,
            chunk: ChunkId([7; 32]),
            sequence: 0x0203,
            length: 0x0405,
            wanted: Wanted::bare(0),
        };
        let mut expected = [0; HEADER - CHECK];
        expected[..5].copy_from_slice(b"SLC1\x01");
        expected[8..10].copy_from_slice(&[5, 4]);
        expected[16..18].copy_from_slice(&[3, 2]);
        expected[24..].fill(7);
        assert_eq!(record.encode(&Identity([1; 32]))[..HEADER - CHECK], expected);
    }

    /// Records of before there were claims have no such bit: what they hold is kept until somebody removes it.
    #[test]
    fn a_record_without_a_claim_is_bare() {
        let identity = Identity([1; 32]);
        for (byte, expected) in [
            (0, Wanted::bare(0)),
            (3, Wanted::bare(3)),
            (0x10, Wanted::named(0)),
            (0x18, Wanted::named(8)),
            (9, Wanted::bare(8)),
            (0x19, Wanted::bare(8)),
            (0x33, Wanted::bare(8)),
        ] {
            let mut bytes = [0; HEADER];
            bytes[..6].copy_from_slice(&[b'S', b'L', b'C', b'1', 1, byte]);
            let check = identity.check(&bytes[..HEADER - CHECK]);
            bytes[HEADER - CHECK..].copy_from_slice(&check);
            let record = Record::decode(&bytes, &identity).expect("a header");
            assert_eq!(record.wanted, expected, "{byte:#x}");
        }
    }

    #[test]
    fn records_take_whole_lines() {
        let chunk = ChunkId([0; 32]);
        let record = |length| Record {
            kind: Kind::Put,
            chunk,
            sequence: 0,
            length,
            wanted: Wanted::bare(0),
        };
        assert_eq!((record(0).extent(), record(0).padding()), (64, 0));
        assert_eq!((record(1).extent(), record(1).padding()), (128, 63));
        assert_eq!((record(64).extent(), record(64).padding()), (128, 0));
    }
}
