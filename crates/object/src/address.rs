//! What stored content is asked for by.

use alloc::string::String;
use core::fmt;
use core::str::FromStr;

use slotcast_protocol::ChunkId;

/// The address of stored content: the hash of its one chunk, or of the list of its chunks. Equal
/// content cut in the same way has the same address, wherever and whenever it is stored.
///
/// Written `chunk-` or `list-` and 64 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Address {
    /// The chunk is the content.
    Chunk(ChunkId),
    /// The chunk is a list.
    List(ChunkId),
}

impl Address {
    /// The chunk to begin with.
    pub fn chunk(&self) -> ChunkId {
        match self {
            Address::Chunk(chunk) | Address::List(chunk) => *chunk,
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, ChunkId(bytes)) = match self {
            Address::Chunk(chunk) => ("chunk", chunk),
            Address::List(chunk) => ("list", chunk),
        };
        write!(f, "{kind}-{}", blake3::Hash::from_bytes(*bytes))
    }
}

/// A text that is no address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an address: it would be `chunk-` or `list-` and 64 hexadecimal digits")]
pub struct NoAddress(String);

impl FromStr for Address {
    type Err = NoAddress;

    fn from_str(text: &str) -> Result<Address, NoAddress> {
        let wrong = || NoAddress(text.chars().take(100).collect());
        let (kind, digits) = text.split_once('-').ok_or_else(wrong)?;
        let hash = blake3::Hash::from_hex(digits).map_err(|_| wrong())?;
        let chunk = ChunkId(*hash.as_bytes());
        match kind {
            "chunk" => Ok(Address::Chunk(chunk)),
            "list" => Ok(Address::List(chunk)),
            _ => Err(wrong()),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn addresses_are_read_as_they_are_written() {
        for address in [Address::Chunk(ChunkId([7; 32])), Address::List(ChunkId([255; 32]))] {
            assert_eq!(address.to_string().parse(), Ok(address));
        }
        for wrong in ["", "chunk-", "chunk-12", "file-00", &"0".repeat(64)] {
            assert!(wrong.parse::<Address>().is_err(), "{wrong}");
        }
    }
}
