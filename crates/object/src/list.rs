//! The list of the chunks of something long. It is itself a chunk.

use alloc::vec::Vec;

use bytes::{Buf, BufMut, Bytes};
use slotcast_protocol::ChunkId;

use crate::address::Address;

/// One part of the content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// A chunk, or a list of them.
    pub address: Address,
    /// Bytes of content that it stands for.
    pub length: u64,
}

const MAGIC: &[u8; 8] = b"SLCLIST1";
const ENTRY: usize = 41;

/// Most parts of one list, so that a list fits into a chunk of 1 MiB. A chunk that claims more is no list.
pub const MAX_PARTS: usize = ((1 << 20) - MAGIC.len()) / ENTRY;

/// The bytes of the longest list.
pub const MAX_BYTES: usize = MAGIC.len() + MAX_PARTS * ENTRY;

/// The content of the chunk that says `parts`.
pub fn encode(parts: &[Part]) -> Bytes {
    let mut bytes = Vec::with_capacity(MAGIC.len() + parts.len() * ENTRY);
    bytes.put_slice(MAGIC);
    for Part { address, length } in parts {
        bytes.put_u8(u8::from(matches!(address, Address::List(_))));
        bytes.put_slice(&address.chunk().0);
        bytes.put_u64_le(*length);
    }
    Bytes::from(bytes)
}

/// A list that was read: it takes no more memory than the chunk that it is.
#[derive(Debug, Clone)]
pub struct List {
    entries: Bytes,
    length: u64,
}

impl List {
    /// The list that a chunk holds; none if it is not a list. Anybody may store a chunk that looks like one, so
    /// nothing of it is believed: it has at most [`MAX_PARTS`] parts, none is empty, and their lengths have a sum.
    pub fn decode(bytes: &Bytes) -> Option<List> {
        let rest = bytes.strip_prefix(MAGIC)?;
        if !rest.len().is_multiple_of(ENTRY) || rest.len() / ENTRY > MAX_PARTS {
            return None;
        }
        let entries = bytes.slice(MAGIC.len()..);
        let mut length = 0_u64;
        for entry in entries.chunks_exact(ENTRY) {
            let part = part(entry)?;
            if part.length == 0 {
                return None;
            }
            length = length.checked_add(part.length)?;
        }
        Some(List { entries, length })
    }

    /// Bytes of content that all parts stand for.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Bytes of memory that it takes.
    pub fn bytes(&self) -> u64 {
        self.entries.len() as u64
    }

    /// The part at `place`, counted from 0.
    pub fn part(&self, place: usize) -> Option<Part> {
        let begin = place.checked_mul(ENTRY)?;
        part(self.entries.get(begin..begin + ENTRY)?)
    }
}

fn part(mut entry: &[u8]) -> Option<Part> {
    let kind = entry.get_u8();
    let mut name = [0; 32];
    entry.copy_to_slice(&mut name);
    let address = match kind {
        0 => Address::Chunk(ChunkId(name)),
        1 => Address::List(ChunkId(name)),
        _ => return None,
    };
    Some(Part { address, length: entry.get_u64_le() })
}

/// The lists of one content while it comes in: of each level the parts of the list that is not full yet.
#[derive(Debug)]
pub struct Lists {
    levels: Vec<Vec<Part>>,
    max_parts: usize,
}

/// What is left when nothing comes any more.
#[derive(Debug)]
pub enum Rest {
    /// A list of these parts; it becomes a part of this level.
    List(usize, Vec<Part>),
    /// One part stands for everything.
    Whole(Part),
}

impl Lists {
    /// Of at most so many parts each.
    pub fn new(max_parts: usize) -> Lists {
        Lists { levels: Vec::new(), max_parts }
    }

    /// A further part: level 0 has the chunks, each level above the lists of the one below.
    pub fn push(&mut self, level: usize, part: Part) {
        if level == self.levels.len() {
            self.levels.push(Vec::new());
        }
        self.levels[level].push(part);
    }

    /// A list that is full, with the level of the part that it becomes.
    pub fn take_full(&mut self) -> Option<(usize, Vec<Part>)> {
        let level = self.levels.iter().position(|parts| parts.len() == self.max_parts)?;
        Some((level + 1, core::mem::take(&mut self.levels[level])))
    }

    /// The next list that is not full, or the part that stands for everything. Content of one chunk needs no
    /// list; of none, an empty one.
    pub fn take_rest(&mut self) -> Rest {
        let Some(level) = self.levels.iter().position(|parts| !parts.is_empty()) else {
            return Rest::List(0, Vec::new());
        };
        match &self.levels[level][..] {
            [whole] if level + 1 == self.levels.len() => Rest::Whole(*whole),
            _ => Rest::List(level + 1, core::mem::take(&mut self.levels[level])),
        }
    }
}

/// What stands for `parts` one level above them.
pub fn above(parts: &[Part]) -> Part {
    let name = ChunkId(*blake3::hash(&encode(parts)).as_bytes());
    Part { address: Address::List(name), length: parts.iter().map(|part| part.length).sum() }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    /// Level by level, with everything in memory.
    fn plain(mut parts: Vec<Part>, max_parts: usize) -> Part {
        while parts.len() != 1 {
            parts = match parts.is_empty() {
                true => vec![above(&[])],
                false => parts.chunks(max_parts).map(above).collect(),
            };
        }
        parts[0]
    }

    /// Addresses must not depend on when lists are made: equal content has equal addresses.
    #[test]
    fn lists_that_are_made_on_the_way_are_those_of_the_whole() {
        for count in 0..100 {
            let parts: Vec<Part> = (0..count).map(|n| chunk(n, u64::from(n) + 1)).collect();
            let mut lists = Lists::new(3);
            for part in &parts {
                lists.push(0, *part);
                while let Some((level, parts)) = lists.take_full() {
                    lists.push(level, above(&parts));
                }
                assert!(lists.levels.iter().all(|parts| parts.len() < 3));
            }
            let whole = loop {
                match lists.take_rest() {
                    Rest::Whole(part) => break part,
                    Rest::List(level, parts) => lists.push(level, above(&parts)),
                }
            };
            assert_eq!(whole, plain(parts, 3), "{count} chunks");
        }
    }

    fn chunk(n: u8, length: u64) -> Part {
        Part { address: Address::Chunk(ChunkId([n; 32])), length }
    }

    fn decoded(parts: &[Part]) -> Option<Vec<Part>> {
        let list = List::decode(&encode(parts))?;
        assert_eq!(list.length(), parts.iter().map(|part| part.length).sum::<u64>());
        Some((0..).map_while(|place| list.part(place)).collect())
    }

    #[test]
    fn lists_are_read_as_they_are_written() {
        let parts = [
            chunk(1, 1 << 20),
            Part { address: Address::List(ChunkId([2; 32])), length: u64::MAX - (1 << 20) },
        ];
        assert_eq!(decoded(&parts), Some(parts.to_vec()));
        assert_eq!(decoded(&[]), Some(Vec::new()));
        let bytes = encode(&parts);
        assert!(List::decode(&bytes.slice(..bytes.len() - 1)).is_none());
        assert!(List::decode(&Bytes::from_static(b"something else")).is_none());
        assert_eq!(encode(&vec![parts[0]; MAX_PARTS]).len(), MAX_BYTES);
        const { assert!(MAX_BYTES <= 1 << 20) };
    }

    #[test]
    fn what_no_node_writes_is_no_list() {
        let most = vec![chunk(1, 1); MAX_PARTS];
        assert_eq!(decoded(&most), Some(most.clone()));
        assert!(decoded(&vec![chunk(1, 1); MAX_PARTS + 1]).is_none(), "too many");
        assert!(List::decode(&encode(&[chunk(1, 1), chunk(2, 0)])).is_none(), "an empty part");
        assert!(List::decode(&encode(&[chunk(1, u64::MAX), chunk(2, 1)])).is_none(), "no sum");
        let mut kind = encode(&[chunk(1, 1)]).to_vec();
        kind[MAGIC.len()] = 2;
        assert!(List::decode(&Bytes::from(kind)).is_none(), "an unknown kind");
    }
}
