//! How a node is, as people and programs read it.

use serde::{Deserialize, Serialize};
use slotcast_store::Standing;

use crate::reactor::TargetStatus;

/// One node.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NodeStatus {
    /// Version of the program.
    pub version: String,
    /// Its targets, in order.
    pub targets: Vec<Target>,
}

/// One target.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Target {
    /// Its number.
    pub target: u32,
    /// Its folder.
    pub folder: String,
    /// `open`, `full`, `read-only`, `opening` or `failed`.
    pub state: String,
    /// Why it is not open, if it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Chunks that it holds.
    pub chunks: u64,
    /// Their content in bytes.
    pub content_bytes: u64,
    /// Bytes of removed chunks that await compaction.
    pub void_bytes: u64,
    /// Its segments.
    pub segments: u32,
    /// Chunks that turned out to be unreadable since the start.
    pub lost_chunks: u64,
    /// Segments that could not be read at the start.
    pub unreadable_segments: u32,
    /// Segments that compaction has freed since the start.
    pub compacted_segments: u64,
    /// Batches that were flushed since the start.
    pub flushed_batches: u64,
}

impl NodeStatus {
    /// Of these targets.
    pub fn new(targets: &[TargetStatus]) -> NodeStatus {
        NodeStatus {
            version: env!("CARGO_PKG_VERSION").into(),
            targets: targets.iter().map(Target::new).collect(),
        }
    }
}

impl Target {
    fn new(status: &TargetStatus) -> Target {
        let (state, reason) = match status.standing {
            Standing::Opening => ("opening", None),
            Standing::Open => ("open", None),
            Standing::Full => ("full", None),
            Standing::ReadOnly(error) => ("read-only", Some(error.to_string())),
            Standing::Failed(error) => ("failed", Some(error.to_string())),
        };
        let numbers = &status.statistics;
        Target {
            target: status.target.0,
            folder: status.path.display().to_string(),
            state: state.into(),
            reason,
            chunks: numbers.chunks,
            content_bytes: numbers.content_bytes,
            void_bytes: numbers.void_bytes,
            segments: numbers.segments,
            lost_chunks: numbers.lost,
            unreadable_segments: numbers.unreadable_segments,
            compacted_segments: numbers.compacted,
            flushed_batches: numbers.batches,
        }
    }
}
