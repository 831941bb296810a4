//! Asking members of a group what they hold: many chunks in one datagram, and nothing is reserved.

use alloc::vec::Vec;

use slotcast_protocol::{ChunkId, GroupId, Wanted};

use super::read::Reader;

/// The most chunks that one survey names: they fit into the smallest datagram.
pub const MAX_SURVEYED_CHUNKS: usize = 32;

/// The most ranges that one survey names.
pub const MAX_SURVEYED_RANGES: u8 = 64;

/// The finest ranges: those of names that have so many bits in common.
const MAX_BITS: u8 = 14;

const RANGES: u8 = 1;
const CHUNKS: u8 = 2;

const NOTHING: u8 = 0;
const SUMS: u8 = 1;
const HELD: u8 = 2;

/// What is asked of the members of a group at one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survey {
    /// Numbers the surveys of the sender.
    pub number: u32,
    /// The group.
    pub group: GroupId,
    /// About what.
    pub about: SurveyAbout,
}

/// What a survey is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SurveyAbout {
    /// The sum of all chunks in each of some ranges of names: those whose first `bits` bits are `first`, and so on.
    Ranges {
        /// How many bits the names of a range have in common, 0 to 14.
        bits: u8,
        /// The first range.
        first: u32,
        /// How many, 1 to 64.
        count: u8,
    },
    /// Which of these chunks are held for at least so many replicas, with at least this claim; 1 to 32 chunks.
    Chunks(Vec<(ChunkId, Wanted)>),
}

/// What one member holds of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SurveyReply {
    /// Of which survey.
    pub number: u32,
    /// The group.
    pub group: GroupId,
    /// The member's position in it.
    pub position: u8,
    /// What it says.
    pub says: SurveySays,
}

/// What a member says in a survey.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SurveySays {
    /// What it holds does not count as a replica: it drains, or its disk does not write.
    Nothing,
    /// The sums of the ranges, in order.
    Sums(Vec<u64>),
    /// A bit for each chunk, the first one the least.
    Held(u32),
}

impl Survey {
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.number.to_le_bytes());
        out.extend_from_slice(&self.group.0.to_le_bytes());
        match &self.about {
            SurveyAbout::Ranges { bits, first, count } => {
                out.extend_from_slice(&[RANGES, *bits]);
                out.extend_from_slice(&first.to_le_bytes());
                out.push(*count);
            }
            SurveyAbout::Chunks(chunks) => {
                out.push(CHUNKS);
                for (chunk, wanted) in chunks.iter().take(MAX_SURVEYED_CHUNKS) {
                    out.extend_from_slice(&chunk.0);
                    out.push(wanted.to_byte());
                }
            }
        }
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Option<Survey> {
        let (number, group) = (reader.u32()?, GroupId(reader.u32()?));
        let about = match reader.u8()? {
            RANGES => {
                let (bits, first, count) = (reader.u8()?, reader.u32()?, reader.u8()?);
                let is_known = bits <= MAX_BITS && (1..=MAX_SURVEYED_RANGES).contains(&count);
                let past = u64::from(first) + u64::from(count);
                if !is_known || past > 1 << bits {
                    return None;
                }
                SurveyAbout::Ranges { bits, first, count }
            }
            CHUNKS => {
                let count = reader.0.len() / 33;
                if !(1..=MAX_SURVEYED_CHUNKS).contains(&count) {
                    return None;
                }
                let mut chunks = Vec::with_capacity(count);
                for _ in 0..count {
                    chunks.push((ChunkId(reader.take()?), Wanted::from_byte(reader.u8()?)?));
                }
                SurveyAbout::Chunks(chunks)
            }
            _ => return None,
        };
        Some(Survey { number, group, about })
    }
}

impl SurveyReply {
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.number.to_le_bytes());
        out.extend_from_slice(&self.group.0.to_le_bytes());
        out.push(self.position);
        match &self.says {
            SurveySays::Nothing => out.push(NOTHING),
            SurveySays::Sums(sums) => {
                out.push(SUMS);
                for sum in sums.iter().take(usize::from(MAX_SURVEYED_RANGES)) {
                    out.extend_from_slice(&sum.to_le_bytes());
                }
            }
            SurveySays::Held(held) => {
                out.push(HELD);
                out.extend_from_slice(&held.to_le_bytes());
            }
        }
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Option<SurveyReply> {
        let (number, group) = (reader.u32()?, GroupId(reader.u32()?));
        let position = reader.u8()?;
        let says = match reader.u8()? {
            NOTHING => SurveySays::Nothing,
            SUMS => {
                let count = reader.0.len() / 8;
                if !(1..=usize::from(MAX_SURVEYED_RANGES)).contains(&count) {
                    return None;
                }
                let sums = (0..count).map(|_| reader.u64()).collect::<Option<Vec<u64>>>()?;
                SurveySays::Sums(sums)
            }
            HELD => SurveySays::Held(reader.u32()?),
            _ => return None,
        };
        Some(SurveyReply { number, group, position, says })
    }
}
