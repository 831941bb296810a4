//! Content of any length, cut into chunks on the way in; [`crate::content_read`] puts it together on the way out.
//! Neither takes more memory for longer content.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt};
use slotcast_protocol::{ChunkId, Claim, Failure};
use slotcast_store::Content;
use tokio::sync::oneshot;

use crate::body_memory::{BodyMemory, Busy, Hold, Share};
use crate::encryption::EncryptionError;
use crate::node::{Node, Upload};
use crate::reactor::{GetResult, PutResult};
use slotcast_object::Address;
use slotcast_object::list::{self, Lists, MAX_PARTS, Part, Rest};

/// Chunks that are stored or fetched at a time for one stream.
pub(crate) const AT_A_TIME: usize = 16;

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
    /// What should be a list is none that a node has written.
    #[error("chunk {0} is not a list of chunks")]
    NoList(ChunkId),
    /// A chunk is longer or shorter than its list says.
    #[error("chunk {0} does not have the length that its list says")]
    WrongLength(ChunkId),
    /// What was to be stored is too long.
    #[error("at most {0} bytes may be stored at a time here (--body-size)")]
    TooLong(u64),
    /// Nothing of what was to be stored came for too long.
    #[error("nothing came for {} s", .0.as_secs())]
    Stalled(Duration),
    /// There is no memory for more content.
    #[error("too much content is on its way: ask again later")]
    Busy,
    /// It cannot be encrypted or decrypted.
    #[error(transparent)]
    Encryption(#[from] EncryptionError),
    /// The node stops.
    #[error("the node stops")]
    Stopped,
}

impl From<Busy> for ContentError {
    fn from(_: Busy) -> ContentError {
        ContentError::Busy
    }
}

pub(crate) fn meaning(chunk: ChunkId, failure: Failure) -> ContentError {
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
#[derive(Debug)]
pub(crate) struct Stored {
    /// Under which address.
    pub(crate) address: Address,
    /// How long it is.
    pub(crate) length: u64,
    /// Into how many chunks it was cut.
    pub(crate) chunks: u64,
    /// Of what was put for a name: as long as this is kept none of it is taken for garbage.
    pub(crate) _upload: Option<Upload>,
}

/// How content is to be stored.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    /// Bytes of its chunks, but for the last one.
    pub(crate) chunk_size: usize,
    /// On how many targets, or else on as many as the cluster's number says.
    pub(crate) replicas: Option<u8>,
    /// Who wants it kept.
    pub(crate) claim: Claim,
    /// How long it is, if that is known.
    pub(crate) length: Option<u64>,
    /// Bytes of it that are in memory before they are read here.
    pub(crate) buffered: u64,
    /// How long it may be.
    pub(crate) max_length: u64,
    /// How long nothing of it may come.
    pub(crate) timeout: Duration,
}

/// Memory for the lists of content whose length is not known.
const LISTS: u64 = 2 * list::MAX_BYTES as u64;

impl Plan {
    /// The largest chunk.
    fn largest(&self) -> u64 {
        let chunk_size = self.chunk_size as u64;
        self.length.map_or(chunk_size, |length| length.min(chunk_size))
    }

    /// With so much memory it goes on to its end by itself.
    fn memory(&self) -> u64 {
        let chunk_size = self.chunk_size as u64;
        let lists = match self.length {
            // A part in memory, and the same as it is stored.
            Some(length) => (length.div_ceil(chunk_size) * 96).min(LISTS),
            None => LISTS,
        };
        self.largest() + lists + self.buffered
    }
}

/// Puts of one stream, a few at a time, in order.
struct Puts<'a> {
    node: &'a Node,
    replicas: Option<u8>,
    /// What was put without a name is never garbage.
    upload: Option<Upload>,
    under_way: VecDeque<(ChunkId, oneshot::Receiver<PutResult>, Option<Hold>)>,
}

impl Puts<'_> {
    async fn add(&mut self, bytes: Bytes, hold: Option<Hold>) -> Result<ChunkId, ContentError> {
        if self.under_way.len() == AT_A_TIME {
            self.wait().await?;
        }
        let content = Content::of(bytes);
        let chunk = content.chunk();
        let put = match &self.upload {
            Some(upload) => self.node.put_of(upload, content, self.replicas),
            None => self.node.put_on(content, self.replicas, Claim::Bare),
        };
        self.under_way.push_back((chunk, put, hold));
        Ok(chunk)
    }

    async fn wait(&mut self) -> Result<(), ContentError> {
        let Some((chunk, put, _hold)) = self.under_way.pop_front() else { return Ok(()) };
        put.await.map_err(|_| ContentError::Stopped)?.map_err(|failure| meaning(chunk, failure))
    }

    async fn wait_for_all(&mut self) -> Result<(), ContentError> {
        while !self.under_way.is_empty() {
            self.wait().await?;
        }
        Ok(())
    }

    /// Memory for a further chunk; where there is none, when chunks before it are stored.
    async fn hold(&mut self, share: &Arc<Share>, bytes: u64) -> Result<Hold, ContentError> {
        while !self.under_way.is_empty() {
            if let Some(hold) = share.try_hold(bytes) {
                return Ok(hold);
            }
            self.wait().await?;
        }
        Ok(share.hold(bytes).await?)
    }
}

/// Stores the list of `parts`; the result is what stands for them one level above.
async fn store_list(puts: &mut Puts<'_>, parts: &[Part]) -> Result<Part, ContentError> {
    let length = parts.iter().map(|part| part.length).sum();
    let address = Address::List(puts.add(list::encode(parts), None).await?);
    Ok(Part { address, length })
}

/// Stores content that comes in pieces, its lists and each chunk on as many targets as `plan` says. Done when all
/// of it, lists included, is on stable storage. Nothing of it is read before there is memory for it.
///
/// # Errors
/// If the content breaks off, stands still or is too long, there is no memory for it, or a chunk cannot be stored;
/// chunks that were stored by then stay.
pub(crate) async fn store<E: std::fmt::Display>(
    node: &Node,
    memory: &BodyMemory,
    plan: Plan,
    content: impl Stream<Item = Result<Bytes, E>>,
) -> Result<Stored, ContentError> {
    let Plan { chunk_size, replicas, claim, max_length, timeout, .. } = plan;
    if plan.length.is_some_and(|length| length > max_length) {
        return Err(ContentError::TooLong(max_length));
    }
    let share = Share::new(memory.clone(), memory.take(plan.memory()).await?, plan.largest());
    let mut content = std::pin::pin!(content);
    let upload = (claim == Claim::Names).then(|| node.begin_upload());
    let mut puts = Puts { node, replicas, upload, under_way: VecDeque::new() };
    let mut lists = Lists::new(MAX_PARTS);
    let (mut length, mut chunks) = (0, 0);
    let mut rest = Bytes::new();
    loop {
        let left = plan.length.map_or(u64::MAX, |all| all.saturating_sub(length));
        let room = left.min(chunk_size as u64).max(1);
        let hold = puts.hold(&share, room).await?;
        // No more than a chunk, whose size is one of memory.
        let mut chunk = BytesMut::with_capacity(room as usize);
        let mut is_over = false;
        while chunk.len() < chunk_size && !is_over {
            if rest.is_empty() {
                let piece = tokio::time::timeout(timeout, content.next()).await;
                let piece = piece.map_err(|_| ContentError::Stalled(timeout))?.transpose();
                let piece = piece.map_err(|error| ContentError::BrokeOff(error.to_string()))?;
                is_over = piece.is_none();
                rest = piece.unwrap_or_default();
            }
            let taken = rest.split_to(rest.len().min(chunk_size - chunk.len()));
            chunk.extend_from_slice(&taken);
            length += taken.len() as u64;
            if length > max_length {
                return Err(ContentError::TooLong(max_length));
            }
            // There is memory for so much.
            if let Some(announced) = plan.length.filter(|announced| length > *announced) {
                let message =
                    format!("it is longer than the {announced} bytes that it was to have");
                return Err(ContentError::BrokeOff(message));
            }
        }
        if !chunk.is_empty() {
            let part_length = chunk.len() as u64;
            let address = Address::Chunk(puts.add(chunk.freeze(), Some(hold)).await?);
            chunks += 1;
            lists.push(0, Part { address, length: part_length });
            while let Some((level, parts)) = lists.take_full() {
                lists.push(level, store_list(&mut puts, &parts).await?);
            }
        }
        if is_over {
            break;
        }
    }
    let whole = loop {
        match lists.take_rest() {
            Rest::Whole(part) => break part,
            Rest::List(level, parts) => lists.push(level, store_list(&mut puts, &parts).await?),
        }
    };
    puts.wait_for_all().await?;
    Ok(Stored { address: whole.address, length, chunks, _upload: puts.upload })
}

/// Reads a chunk.
pub(crate) async fn fetch(node: &Node, chunk: ChunkId) -> Result<Content, ContentError> {
    fetched(chunk, node.get(chunk)).await
}

/// The chunk that was asked for with this answer.
pub(crate) async fn fetched(
    chunk: ChunkId,
    answer: oneshot::Receiver<GetResult>,
) -> Result<Content, ContentError> {
    let result = answer.await.map_err(|_| ContentError::Stopped)?;
    result.map_err(|failure| meaning(chunk, failure))
}
