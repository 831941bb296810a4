//! Content of objects on its way out, decrypted where it is encrypted.

use std::ops::Range;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt, stream};
use slotcast_object::Object;
use slotcast_object::list::List;

use super::frames::{Decryptor, plain_length};
use super::{CustomerKey, EncryptionError, key_of};
use crate::body_memory::{BodyMemory, counted};
use crate::content_read::Found;
use crate::content_stream::ContentError;
use crate::node::Node;

/// Bytes of each entry of a list.
fn lengths(list: &List) -> Vec<u64> {
    (0..).map_while(|place| list.part(place)).map(|part| part.length).collect()
}

/// Bytes of content of each entry of the list of an object.
pub(crate) fn plain_lengths(list: &List, is_encrypted: bool) -> Result<Vec<u64>, ContentError> {
    let all = lengths(list);
    if !is_encrypted {
        return Ok(all);
    }
    let plain: Option<Vec<u64>> = all.into_iter().map(plain_length).collect();
    Ok(plain.ok_or(EncryptionError::Altered)?)
}

/// These bytes of the content of an object. The first piece is there when this returns, so that most of what can go wrong is
/// known.
///
/// # Errors
/// If a chunk cannot be fetched, there is no memory for it, or it cannot be decrypted.
pub(crate) async fn read(
    (node, memory): (&Arc<Node>, &BodyMemory),
    object: &Object,
    customer: Option<&CustomerKey>,
    range: Range<u64>,
) -> Result<BoxStream<'static, Result<Bytes, ContentError>>, ContentError> {
    let key = key_of(node, object, customer)?;
    let found = Found::of(node, memory, &object.body).await?;
    let Some(key) = key else {
        return Ok(found.read((node, memory), range).await?.boxed());
    };
    let runs = match &found {
        Found::List(list, _) if object.parts > 0 => lengths(list),
        found => vec![found.length()],
    };
    let range = range.start.min(object.size)..range.end.min(object.size);
    let runs = (&runs[..], object.parts > 0);
    let (decryptor, stored) = Decryptor::new(key, runs, (object.size, range))?;
    let frames = found.read((node, memory), stored).await?;
    let mut pieces = Box::pin(decrypted(decryptor, frames));
    let first = pieces.next().await.transpose()?;
    Ok(stream::iter(first.map(Ok)).chain(pieces).boxed())
}

/// What frames say that come in pieces.
fn decrypted(
    decryptor: Decryptor,
    frames: impl Stream<Item = Result<Bytes, ContentError>>,
) -> impl Stream<Item = Result<Bytes, ContentError>> {
    let begin = (decryptor, Box::pin(frames), Bytes::new());
    stream::try_unfold(begin, async |(mut decryptor, mut frames, mut rest)| {
        let Some(length) = decryptor.next_length() else { return Ok(None) };
        let mut frame = BytesMut::with_capacity(length);
        // Their memory counts for what is decrypted of them.
        let mut held = Vec::new();
        while frame.len() < length {
            if rest.is_empty() {
                rest = frames.next().await.transpose()?.ok_or(EncryptionError::Altered)?;
            }
            let taken = rest.split_to(rest.len().min(length - frame.len()));
            frame.extend_from_slice(&taken);
            held.push(taken);
        }
        let wanted = decryptor.open(&mut frame)?;
        let piece = counted(frame.freeze().slice(wanted), held);
        Ok(Some((piece, (decryptor, frames, rest))))
    })
}
