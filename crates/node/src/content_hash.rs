//! The address of content, computed as it passes by.

use slotcast_protocol::ChunkId;

use crate::http::CHUNK_SIZE;
use slotcast_object::Address;
use slotcast_object::list::{Lists, MAX_PARTS, Part, Rest, above};

/// Computes the address that content has, from its bytes alone: it is that of content which a node has cut into chunks of
/// 1 MiB, as it does with all objects. Whoever has both knows that content arrived as it was, wherever it passed by.
///
/// ```
/// use slotcast_node::ContentHash;
///
/// let mut hash = ContentHash::new();
/// hash.update(b"hello, ");
/// hash.update(b"world");
/// let address = hash.address().to_string();
/// assert!(address.starts_with("chunk-"));
/// ```
#[derive(Debug)]
pub struct ContentHash {
    chunk: blake3::Hasher,
    in_chunk: usize,
    lists: Lists,
}

impl Default for ContentHash {
    fn default() -> ContentHash {
        ContentHash::new()
    }
}

impl ContentHash {
    /// Of nothing yet.
    pub fn new() -> ContentHash {
        ContentHash { chunk: blake3::Hasher::new(), in_chunk: 0, lists: Lists::new(MAX_PARTS) }
    }

    /// These bytes come next.
    pub fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(CHUNK_SIZE - self.in_chunk));
            self.chunk.update(now);
            self.in_chunk += now.len();
            if self.in_chunk == CHUNK_SIZE {
                self.end_chunk();
            }
            bytes = later;
        }
    }

    fn end_chunk(&mut self) {
        let address = Address::Chunk(ChunkId(*self.chunk.finalize().as_bytes()));
        self.lists.push(0, Part { address, length: self.in_chunk as u64 });
        self.chunk.reset();
        self.in_chunk = 0;
        while let Some((level, parts)) = self.lists.take_full() {
            self.lists.push(level, above(&parts));
        }
    }

    /// The address of all that came.
    pub fn address(mut self) -> Address {
        if self.in_chunk > 0 {
            self.end_chunk();
        }
        loop {
            match self.lists.take_rest() {
                Rest::Whole(part) => return part.address,
                Rest::List(level, parts) => self.lists.push(level, above(&parts)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(bytes: &[u8]) -> Address {
        let part = |bytes: &[u8]| Part {
            address: Address::Chunk(ChunkId(*blake3::hash(bytes).as_bytes())),
            length: bytes.len() as u64,
        };
        match &bytes.chunks(CHUNK_SIZE).map(part).collect::<Vec<_>>()[..] {
            [whole] => whole.address,
            parts => above(parts).address,
        }
    }

    #[test]
    fn it_does_not_depend_on_the_pieces_in_which_content_comes() {
        let all: Vec<u8> = (0..3 * CHUNK_SIZE + 5).map(|n| (n % 251) as u8).collect();
        for length in [0, 1, CHUNK_SIZE - 1, CHUNK_SIZE, CHUNK_SIZE + 1, 2 * CHUNK_SIZE, all.len()]
        {
            for piece in [1009, CHUNK_SIZE, all.len()] {
                let mut hash = ContentHash::new();
                all[..length].chunks(piece).for_each(|bytes| hash.update(bytes));
                assert_eq!(hash.address(), plain(&all[..length]), "{length} bytes by {piece}");
            }
        }
    }
}
