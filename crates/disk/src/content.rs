//! Content whose name is known to be right.

use core::fmt;

use bytes::Bytes;
use slotcast_protocol::{ChunkId, Parts};

/// Bytes that are hashed at a time: enough for all lanes of the processor, and little beside its second
/// cache.
const PIECE: usize = 128 << 10;

/// Length of the parts whose values are kept: the longest that a jumbo frame carries.
const PART: u32 = 8 << 10;

/// The content of a chunk together with its hash. Cheap to clone.
#[derive(Clone)]
pub struct Content {
    chunk: ChunkId,
    bytes: Bytes,
    /// What its name was computed from, if it was: who sends the content in such parts needs their values.
    parts: Option<Parts>,
}

/// Contents of the same name are the same.
impl PartialEq for Content {
    fn eq(&self, other: &Content) -> bool {
        self.chunk == other.chunk
    }
}

impl Eq for Content {}

impl Content {
    /// Hashes `bytes` with BLAKE3: O(length), some GB/s.
    pub fn of(bytes: Bytes) -> Content {
        let parts = Parts::of(&bytes, PART);
        Content { chunk: parts.name(&bytes), bytes, parts: Some(parts) }
    }

    /// Content that `fill` reads into `buffer`, hashed piece by piece while it is in the processor's cache:
    /// what is only copied and hashed later has to come from memory twice.
    ///
    /// `fill` gets the place of a piece in the content and the piece, and says how much of it was there.
    /// The content ends with the first piece that is not full.
    ///
    /// # Errors
    /// What `fill` says.
    pub fn filled<E>(
        mut buffer: impl AsRef<[u8]> + AsMut<[u8]> + Send + 'static,
        mut fill: impl FnMut(usize, &mut [u8]) -> Result<usize, E>,
    ) -> Result<Content, E> {
        let mut hasher = blake3::Hasher::new();
        let mut length = 0;
        for piece in buffer.as_mut().chunks_mut(PIECE) {
            let filled = fill(length, piece)?;
            hasher.update(&piece[..filled]);
            length += filled;
            if filled < piece.len() {
                break;
            }
        }
        let chunk = ChunkId(*hasher.finalize().as_bytes());
        Ok(Content { chunk, bytes: Bytes::from_owner(buffer).slice(..length), parts: None })
    }

    /// Content that came in parts, and was hashed part by part: none if that does not give `chunk`.
    ///
    /// That `parts` are those of `bytes` is the caller's word.
    pub fn of_parts(chunk: ChunkId, bytes: Bytes, parts: Parts) -> Option<Content> {
        (parts.name(&bytes) == chunk).then_some(Content { chunk, bytes, parts: Some(parts) })
    }

    /// The same content in other memory. That `bytes` are the same is the caller's word.
    pub fn with_bytes(&self, bytes: Bytes) -> Content {
        debug_assert_eq!(bytes, self.bytes, "the same bytes");
        Content { chunk: self.chunk, bytes, parts: self.parts.clone() }
    }

    /// The values of its parts, as far as they are known.
    pub fn parts(&self) -> Option<&Parts> {
        self.parts.as_ref()
    }

    /// The chunk's name.
    pub fn chunk(&self) -> ChunkId {
        self.chunk
    }

    /// The bytes.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Content({}, {} bytes)", self.chunk, self.bytes.len())
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use super::*;

    fn read(bytes: &[u8], wanted: usize) -> Content {
        let fill = |place: usize, piece: &mut [u8]| {
            let rest = &bytes[place.min(bytes.len())..];
            let filled = rest.len().min(piece.len());
            piece[..filled].copy_from_slice(&rest[..filled]);
            Ok::<_, ()>(filled)
        };
        Content::filled(vec![0xff; wanted], fill).expect("nothing fails")
    }

    #[test]
    fn what_is_hashed_in_pieces_has_the_same_name() {
        let bytes: Vec<u8> = (0..3 * PIECE + 17).map(|n| (n % 251) as u8).collect();
        for length in [0, 1, 1024, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE, bytes.len()] {
            let whole = Content::of(Bytes::copy_from_slice(&bytes[..length]));
            assert_eq!(whole.chunk().0, *blake3::hash(&bytes[..length]).as_bytes());
            assert_eq!(read(&bytes[..length], length), whole, "{length} bytes");
            assert_eq!(read(&bytes[..length], length + PIECE), whole, "{length} bytes and no more");
        }
    }

    #[test]
    fn what_comes_in_parts_is_what_its_parts_say() {
        let bytes: Bytes = (0..20_000).map(|n| (n % 251) as u8).collect();
        let whole = Content::of(bytes.clone());
        let parts = Parts::of(&bytes, 1024);
        assert_eq!(Content::of_parts(whole.chunk(), bytes.clone(), parts.clone()), Some(whole));
        assert_eq!(Content::of_parts(ChunkId([1; 32]), bytes, parts), None);
    }

    #[test]
    fn a_failure_gives_no_content() {
        let fill = |place: usize, piece: &mut [u8]| match place {
            0 => Ok(piece.len()),
            place => Err(place),
        };
        assert_eq!(Content::filled(vec![0; 2 * PIECE], fill), Err(PIECE));
    }
}
