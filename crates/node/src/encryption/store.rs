//! Content on its way in: encrypted before it is cut into chunks.

use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};

use super::frames::{Encryptor, FRAME, PLAIN, run, stored_length};
use super::{EncryptionError, ObjectKey};
use crate::body_memory::BodyMemory;
use crate::content_stream::{self, ContentError, Plan, Stored};
use crate::node::Node;

/// All of content that is one chunk.
pub(crate) fn encrypted(key: &ObjectKey, content: &Bytes) -> Result<Bytes, EncryptionError> {
    run(key, content)
}

/// The frames of content that comes in pieces.
fn frames<E: std::fmt::Display>(
    encryptor: Encryptor,
    content: impl Stream<Item = Result<Bytes, E>>,
) -> impl Stream<Item = Result<Bytes, String>> {
    let begin = (encryptor, Box::pin(content), Bytes::new(), false);
    stream::try_unfold(begin, async |(mut encryptor, mut content, mut rest, is_over)| {
        if is_over {
            return Ok(None);
        }
        loop {
            if rest.is_empty() {
                match content.next().await.transpose().map_err(|error| error.to_string())? {
                    Some(piece) => rest = piece,
                    None => {
                        let last = encryptor.finish();
                        return Ok(last.map(|frame| (frame, (encryptor, content, rest, true))));
                    }
                }
            }
            if let Some(frame) = encryptor.push(&mut rest) {
                return Ok(Some((frame, (encryptor, content, rest, false))));
            }
        }
    })
}

/// Stores content that comes in pieces, encrypted as this part of an object, which is 0 of all of it; not encrypted where there
/// is no key. The length of what was stored is that of the content.
///
/// # Errors
/// As [`content_stream::store`].
pub(crate) async fn store<E: std::fmt::Display>(
    node: &Node,
    memory: &BodyMemory,
    (key, part): (Option<&ObjectKey>, u32),
    plan: Plan,
    content: impl Stream<Item = Result<Bytes, E>>,
) -> Result<Stored, ContentError> {
    let Some(key) = key else {
        return content_stream::store(node, memory, plan, content).await;
    };
    if plan.length.is_some_and(|length| length > plan.max_length) {
        return Err(ContentError::TooLong(plan.max_length));
    }
    let frames = frames(Encryptor::new(key, part)?, content);
    let plan = Plan {
        // A frame is one of the sizes of chunks.
        chunk_size: FRAME as usize,
        length: plan.length.map(stored_length),
        max_length: stored_length(plan.max_length),
        // The frame that is being filled.
        buffered: plan.buffered + PLAIN.min(plan.length.unwrap_or(PLAIN)),
        ..plan
    };
    let stored = content_stream::store(node, memory, plan, frames).await?;
    let length = super::plain_length(stored.length).ok_or(EncryptionError::Altered)?;
    Ok(Stored { length, ..stored })
}
