//! Content of any length, put together from its chunks: some of them, and a list of each level, are in memory.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use slotcast_object::Body;
use tokio::sync::oneshot::Receiver;

use crate::body_memory::{BodyMemory, Hold, Lease, Share, counted};
use crate::content_stream::{AT_A_TIME, ContentError, fetch, fetched};
use crate::node::Node;
use crate::reactor::GetResult;
use crate::walk::{MAX_LEVELS, Walk, fetch_list};
use slotcast_object::Address;
use slotcast_object::list::{self, List, Part};

/// Chunks are fetched ahead up to so many bytes together, and one at least.
const MAX_AHEAD: u64 = 16 << 20;

/// The longest chunk that content can have.
pub(crate) const MAX_CHUNK: u64 = *crate::http::CHUNK_SIZES.end() as u64;

/// Memory for one list of each level.
const LISTS: u64 = (MAX_LEVELS * list::MAX_BYTES) as u64;

/// Content that was found, with the memory to read it.
pub(crate) enum Found {
    /// It is one chunk.
    Chunk(Bytes, Lease),
    /// It is what a list names.
    List(List, Lease),
}

impl Found {
    /// Finds the content at `address`.
    ///
    /// # Errors
    /// If its chunk or its list cannot be fetched, the list is none, or there is no memory for it.
    pub(crate) async fn at(
        node: &Node,
        memory: &BodyMemory,
        address: Address,
    ) -> Result<Found, ContentError> {
        match address {
            Address::Chunk(chunk) => {
                let mut lease = memory.take(MAX_CHUNK).await?;
                let bytes = fetch(node, chunk).await?.bytes().clone();
                lease.shrink(bytes.len() as u64);
                Ok(Found::Chunk(bytes, lease))
            }
            Address::List(chunk) => {
                let lease = memory.take(LISTS + MAX_CHUNK).await?;
                Ok(Found::List(fetch_list(node, chunk).await?, lease))
            }
        }
    }

    /// The content of an object.
    ///
    /// # Errors
    /// As [`Found::at`].
    pub(crate) async fn of(
        node: &Node,
        memory: &BodyMemory,
        body: &Body,
    ) -> Result<Found, ContentError> {
        match body {
            Body::Inline(bytes, _) => {
                let lease = memory.take(bytes.len() as u64).await?;
                Ok(Found::Chunk(bytes.clone(), lease))
            }
            Body::Chunk(chunk) => Found::at(node, memory, Address::Chunk(*chunk)).await,
            Body::List(chunk) => Found::at(node, memory, Address::List(*chunk)).await,
        }
    }

    /// These bytes of it. The first piece is there when this returns.
    ///
    /// # Errors
    /// If a list or the first chunk cannot be fetched.
    pub(crate) async fn read(
        self,
        (node, memory): (&Arc<Node>, &BodyMemory),
        range: Range<u64>,
    ) -> Result<impl Stream<Item = Result<Bytes, ContentError>> + Send + use<>, ContentError> {
        Ok(match self {
            Found::Chunk(bytes, lease) => {
                let end = range.end.min(bytes.len() as u64);
                // Both are within the chunk, whose length is one of memory.
                let bytes = bytes.slice(range.start.min(end) as usize..end as usize);
                stream::iter([Ok(counted(bytes, lease))]).left_stream()
            }
            Found::List(list, lease) => {
                let range = range.start..range.end.min(list.length());
                let mut reader = Reader::new(node.clone(), memory, (list, lease), range).await?;
                let first = reader.next().await?;
                reader.stream(first).right_stream()
            }
        })
    }

    /// Its length in bytes.
    pub(crate) fn length(&self) -> u64 {
        match self {
            Found::Chunk(bytes, _) => bytes.len() as u64,
            Found::List(list, _) => list.length(),
        }
    }
}

/// The chunks at `address` in order, with the length that their list says; of a chunk by itself it is 0.
///
/// # Errors
/// If the first list cannot be fetched, or is none.
pub(crate) async fn parts(
    node: Arc<Node>,
    memory: &BodyMemory,
    address: Address,
) -> Result<impl Stream<Item = Result<Part, ContentError>> + use<>, ContentError> {
    let lease = memory.take(LISTS).await?;
    let (single, walk) = match address {
        Address::Chunk(_) => (Some(Part { address, length: 0 }), None),
        Address::List(chunk) => {
            let list = fetch_list(&node, chunk).await?;
            (None, Some(Walk::new(node, list, 0)))
        }
    };
    let begin = (single, walk, lease);
    Ok(stream::try_unfold(begin, async |(single, mut walk, lease)| {
        if let Some(part) = single {
            return Ok(Some((part, (None, walk, lease))));
        }
        let next = match &mut walk {
            Some(walk) => walk.next().await?,
            None => None,
        };
        Ok(next.map(|(part, _)| (part, (None, walk, lease))))
    }))
}

/// A chunk that was asked for.
struct Ahead {
    part: Part,
    skip: u64,
    answer: Receiver<GetResult>,
    hold: Hold,
}

/// Reads what a list names, some chunks ahead.
pub(crate) struct Reader {
    node: Arc<Node>,
    walk: Walk,
    share: Arc<Share>,
    /// A chunk for which there was no memory yet.
    found: Option<(Part, u64)>,
    ahead: VecDeque<Ahead>,
    /// Bytes of the chunks in it.
    bytes_ahead: u64,
    /// Bytes of content that are not asked for yet.
    to_ask: u64,
    /// Bytes of content that are still to come out.
    to_come: u64,
}

impl Reader {
    /// Of these bytes of the content.
    ///
    /// # Errors
    /// If a list on the way to the first of its chunks cannot be fetched, or is none.
    pub(crate) async fn new(
        node: Arc<Node>,
        memory: &BodyMemory,
        (list, mut lease): (List, Lease),
        range: Range<u64>,
    ) -> Result<Reader, ContentError> {
        let length = range.end.saturating_sub(range.start);
        let own_list = list.bytes();
        let mut walk = Walk::new(node.clone(), list, range.start);
        let found = if length > 0 { walk.next().await? } else { None };
        let chunk = found.map_or(0, |(part, _)| part.length.min(MAX_CHUNK));
        lease.shrink(chunk + if walk.lists() > 1 { LISTS } else { own_list });
        Ok(Reader {
            node,
            walk,
            share: Share::new(memory.clone(), lease, chunk),
            found,
            ahead: VecDeque::new(),
            bytes_ahead: 0,
            to_ask: length,
            to_come: length,
        })
    }

    /// The next piece; none at the end.
    ///
    /// # Errors
    /// If a list or a chunk cannot be fetched, or is not what the list above it says.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, ContentError> {
        self.ask_ahead().await?;
        let Some(Ahead { part, skip, answer, hold }) = self.ahead.pop_front() else {
            return Ok(None);
        };
        self.bytes_ahead -= part.length;
        let chunk = part.address.chunk();
        let content = fetched(chunk, answer).await?;
        let bytes = content.bytes();
        if bytes.len() as u64 != part.length {
            return Err(ContentError::WrongLength(chunk));
        }
        let length = (part.length - skip).min(self.to_come);
        self.to_come -= length;
        // Both are within the chunk, whose length is one of memory.
        let (begin, end) = (skip as usize, (skip + length) as usize);
        Ok(Some(counted(bytes.slice(begin..end), hold)))
    }

    async fn ask_ahead(&mut self) -> Result<(), ContentError> {
        while self.to_ask > 0 && self.ahead.len() < AT_A_TIME && self.bytes_ahead < MAX_AHEAD {
            if self.found.is_none() {
                self.found = self.walk.next().await?;
            }
            let Some((part, skip)) = self.found else { return Ok(()) };
            if part.length > MAX_CHUNK {
                return Err(ContentError::WrongLength(part.address.chunk()));
            }
            let hold = match self.share.try_hold(part.length) {
                Some(hold) => hold,
                // When the client has taken in what came before.
                None if self.ahead.is_empty() => self.share.hold(part.length).await?,
                None => return Ok(()),
            };
            self.found = None;
            self.to_ask = self.to_ask.saturating_sub(part.length - skip);
            self.bytes_ahead += part.length;
            let answer = self.node.get(part.address.chunk());
            self.ahead.push_back(Ahead { part, skip, answer, hold });
        }
        Ok(())
    }

    /// All pieces, `first` before them.
    pub(crate) fn stream(
        self,
        first: Option<Bytes>,
    ) -> impl Stream<Item = Result<Bytes, ContentError>> {
        stream::try_unfold((self, first), async |(mut reader, first)| {
            let piece = match first {
                Some(piece) => Some(piece),
                None => reader.next().await?,
            };
            Ok(piece.map(|piece| (piece, (reader, None))))
        })
    }
}
