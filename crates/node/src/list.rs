//! The list of the chunks of something long. It is itself a chunk.

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

/// Most parts of one list, so that a list fits into a chunk of 1 MiB.
pub const MOST_PARTS: usize = ((1 << 20) - MAGIC.len()) / ENTRY;

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

/// The parts that a chunk lists; none if it is not a list.
pub fn decode(mut bytes: &[u8]) -> Option<Vec<Part>> {
    bytes = bytes.strip_prefix(MAGIC)?;
    if !bytes.len().is_multiple_of(ENTRY) {
        return None;
    }
    let mut parts = Vec::with_capacity(bytes.len() / ENTRY);
    while bytes.has_remaining() {
        let kind = bytes.get_u8();
        let mut name = [0; 32];
        bytes.copy_to_slice(&mut name);
        let address = match kind {
            0 => Address::Chunk(ChunkId(name)),
            1 => Address::List(ChunkId(name)),
            _ => return None,
        };
        parts.push(Part { address, length: bytes.get_u64_le() });
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_as_they_are_written() {
        let parts = [
            Part { address: Address::Chunk(ChunkId([1; 32])), length: 1 << 20 },
            Part { address: Address::List(ChunkId([2; 32])), length: u64::MAX },
        ];
        let bytes = encode(&parts);
        assert_eq!(decode(&bytes), Some(parts.to_vec()));
        assert_eq!(decode(&bytes[..bytes.len() - 1]), None);
        assert_eq!(decode(b"something else"), None);
        assert_eq!(decode(&encode(&[])), Some(Vec::new()));
        assert!(encode(&vec![parts[0]; MOST_PARTS]).len() <= 1 << 20);
    }
}
