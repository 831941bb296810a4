//! Content of any length: cut into chunks on the way in, put together on the way out, with a bounded
//! number of chunks in memory.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt, stream};
use slotcast_protocol::{ChunkId, Failure};
use slotcast_store::Content;
use tokio::sync::oneshot;

use crate::address::Address;
use crate::list::{self, MOST_PARTS, Part};
use crate::node::Node;
use crate::reactor::{GetResult, PutResult};

/// Chunks that are stored or fetched at a time for one stream.
const AT_A_TIME: usize = 16;

/// Lists of lists of lists are deep enough for 15 exabytes; deeper ones are not ours.
const MOST_LEVELS: u32 = 4;

/// Why content was not stored or fetched.
#[derive(Debug, thiserror::Error)]
pub enum ContentError {
    /// What was to be stored broke off.
    #[error("the content broke off: {0}")]
    BrokeOff(String),
    /// Nothing is stored under this address, or not all of it.
    #[error("chunk {0} is not stored here")]
    NotFound(ChunkId),
    /// Too few targets stored a chunk in time.
    #[error("chunk {0} could not be stored on enough targets")]
    TooFewReplicas(ChunkId),
    /// Too few targets are available to store a chunk.
    #[error("too few targets are available to store chunk {0}: try again later")]
    TooFewAvailable(ChunkId),
    /// Some targets that may hold a chunk are not available, and no other holds it.
    #[error(
        "chunk {0} is on none of the available targets; others, which may hold it, are not available"
    )]
    Uncertain(ChunkId),
    /// No target delivered a chunk in time.
    #[error("chunk {0} could not be fetched from any target")]
    Undelivered(ChunkId),
    /// What should be a list is none.
    #[error("chunk {0} is not a list of chunks")]
    NoList(ChunkId),
    /// The node stops.
    #[error("the node stops")]
    Stopped,
}

fn meaning(chunk: ChunkId, failure: Failure) -> ContentError {
    match failure {
        Failure::NotFound => ContentError::NotFound(chunk),
        Failure::Uncertain => ContentError::Uncertain(chunk),
        Failure::Undelivered => ContentError::Undelivered(chunk),
        Failure::TooFewAvailable { .. } => ContentError::TooFewAvailable(chunk),
        Failure::NoCommonWindow | Failure::TooFewReplicas { .. } => {
            ContentError::TooFewReplicas(chunk)
        }
    }
}

/// What was stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stored {
    /// Under which address.
    pub address: Address,
    /// How long it is.
    pub length: u64,
    /// Into how many chunks it was cut.
    pub chunks: u64,
}

/// Puts of one stream, a few at a time, in order.
struct Puts<'a> {
    node: &'a Node,
    replicas: Option<u8>,
    under_way: VecDeque<(ChunkId, oneshot::Receiver<PutResult>)>,
}

impl Puts<'_> {
    async fn add(&mut self, bytes: Bytes) -> Result<ChunkId, ContentError> {
        if self.under_way.len() == AT_A_TIME {
            self.wait().await?;
        }
        let content = Content::of(bytes);
        let chunk = content.chunk();
        self.under_way.push_back((chunk, self.node.put_on(content, self.replicas)));
        Ok(chunk)
    }

    async fn wait(&mut self) -> Result<(), ContentError> {
        let Some((chunk, put)) = self.under_way.pop_front() else { return Ok(()) };
        put.await.map_err(|_| ContentError::Stopped)?.map_err(|failure| meaning(chunk, failure))
    }

    async fn wait_for_all(&mut self) -> Result<(), ContentError> {
        while !self.under_way.is_empty() {
            self.wait().await?;
        }
        Ok(())
    }
}

/// Stores content that comes in pieces, in chunks of `chunk_size` bytes, its lists and each chunk on as many
/// targets as `replicas` says, or else the cluster's number. Done when all of it, lists
/// included, is on stable storage. Memory: some 16 chunks, and 50 bytes for each chunk of the whole.
///
/// # Errors
/// If the content breaks off, or a chunk cannot be stored; chunks that were stored by then stay.
pub async fn store<E: std::fmt::Display>(
    node: &Node,
    chunk_size: usize,
    replicas: Option<u8>,
    content: impl Stream<Item = Result<Bytes, E>>,
) -> Result<Stored, ContentError> {
    let mut content = std::pin::pin!(content);
    let mut puts = Puts { node, replicas, under_way: VecDeque::new() };
    let mut parts = Vec::new();
    let mut length = 0;
    let mut gathered = BytesMut::new();
    loop {
        let piece = content.next().await.transpose();
        let piece = piece.map_err(|error| ContentError::BrokeOff(error.to_string()))?;
        let is_over = piece.is_none();
        gathered.extend_from_slice(&piece.unwrap_or_default());
        while gathered.len() >= chunk_size || (is_over && !gathered.is_empty()) {
            let bytes = gathered.split_to(gathered.len().min(chunk_size)).freeze();
            let part_length = bytes.len() as u64;
            let address = Address::Chunk(puts.add(bytes).await?);
            length += part_length;
            parts.push(Part { address, length: part_length });
        }
        if is_over {
            break;
        }
    }
    let chunks = parts.len() as u64;
    // Content of one chunk needs no list; of none, an empty one.
    while parts.len() != 1 {
        let mut above = Vec::new();
        let lists: Vec<&[Part]> = match parts.is_empty() {
            true => vec![&[]],
            false => parts.chunks(MOST_PARTS).collect(),
        };
        for listed in lists {
            let address = Address::List(puts.add(list::encode(listed)).await?);
            let length = listed.iter().map(|part| part.length).sum();
            above.push(Part { address, length });
        }
        parts = above;
    }
    puts.wait_for_all().await?;
    Ok(Stored { address: parts[0].address, length, chunks })
}

async fn fetch(node: &Node, chunk: ChunkId) -> Result<Content, ContentError> {
    let result: GetResult = node.get(chunk).await.map_err(|_| ContentError::Stopped)?;
    result.map_err(|failure| meaning(chunk, failure))
}

/// The chunks of the content at `address`, in order, lists resolved.
///
/// # Errors
/// If a list cannot be fetched, or is none.
pub async fn chunks(node: &Node, address: Address) -> Result<Vec<Part>, ContentError> {
    let mut parts = vec![Part { address, length: 0 }];
    for _ in 0..MOST_LEVELS {
        if parts.iter().all(|part| matches!(part.address, Address::Chunk(_))) {
            break;
        }
        let mut below = Vec::new();
        for part in parts {
            match part.address {
                Address::Chunk(_) => below.push(part),
                Address::List(chunk) => {
                    let content = fetch(node, chunk).await?;
                    let listed = list::decode(content.bytes());
                    below.extend(listed.ok_or(ContentError::NoList(chunk))?);
                }
            }
        }
        parts = below;
    }
    match parts.iter().find(|part| matches!(part.address, Address::List(_))) {
        Some(part) => Err(ContentError::NoList(part.address.chunk())),
        None => Ok(parts),
    }
}

/// The content of `parts` in order, fetched some chunks ahead.
pub fn read(node: Arc<Node>, parts: Vec<Part>) -> impl Stream<Item = Result<Bytes, ContentError>> {
    let fetched = stream::iter(parts).map(move |part| {
        let node = node.clone();
        async move { fetch(&node, part.address.chunk()).await.map(|c| c.bytes().clone()) }
    });
    fetched.buffered(AT_A_TIME)
}
