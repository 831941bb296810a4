//! The chunks of some content in order, found list by list: one list of each level is in memory.

use std::sync::Arc;

use slotcast_protocol::ChunkId;

use crate::content_stream::{ContentError, fetch};
use crate::node::Node;
use slotcast_object::Address;
use slotcast_object::list::{List, Part};

/// Lists of lists of lists are deep enough for 15 exabytes; deeper ones are not ours.
pub(crate) const MAX_LEVELS: usize = 4;

/// Reads the list of this name.
pub(crate) async fn fetch_list(node: &Node, chunk: ChunkId) -> Result<List, ContentError> {
    let content = fetch(node, chunk).await?;
    List::decode(content.bytes()).ok_or(ContentError::NoList(chunk))
}

/// Where a walk is in one list.
struct Level {
    list: List,
    next: usize,
}

/// A walk over the chunks that a list names, those of the lists in it included, from first to last.
pub(crate) struct Walk {
    node: Arc<Node>,
    levels: Vec<Level>,
    skip: u64,
}

impl Walk {
    /// Begins at the byte `skip` of what `list` names.
    pub(crate) fn new(node: Arc<Node>, list: List, skip: u64) -> Walk {
        Walk { node, levels: vec![Level { list, next: 0 }], skip }
    }

    /// How many lists it has in memory.
    pub(crate) fn lists(&self) -> usize {
        self.levels.len()
    }

    /// The next chunk, and how much of its beginning is passed over; none after the last.
    ///
    /// # Errors
    /// If a list cannot be fetched, is none, lies too deep, or has not the length that the list above it says.
    pub(crate) async fn next(&mut self) -> Result<Option<(Part, u64)>, ContentError> {
        loop {
            let Some(level) = self.levels.last_mut() else { return Ok(None) };
            let Some(part) = level.list.part(level.next) else {
                self.levels.pop();
                continue;
            };
            level.next += 1;
            if self.skip >= part.length {
                self.skip -= part.length;
                continue;
            }
            match part.address {
                Address::Chunk(_) => return Ok(Some((part, std::mem::take(&mut self.skip)))),
                Address::List(chunk) if self.levels.len() == MAX_LEVELS => {
                    return Err(ContentError::NoList(chunk));
                }
                Address::List(chunk) => {
                    let list = fetch_list(&self.node, chunk).await?;
                    if list.length() != part.length {
                        return Err(ContentError::NoList(chunk));
                    }
                    self.levels.push(Level { list, next: 0 });
                }
            }
        }
    }
}
