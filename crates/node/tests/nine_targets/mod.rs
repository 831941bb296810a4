//! A cluster of nine targets in one process, and what is put into it.

use std::path::Path;

use bytes::Bytes;
use slotcast_node::{Limits, NodeConfig};
use slotcast_store::Content;

pub(crate) fn config(base: &Path) -> NodeConfig {
    NodeConfig {
        folders: (0..9).map(|n| base.join(format!("target-{n}"))).collect(),
        register: None,
        group_size: 9,
        replicas: 3,
        segment_size: 4 << 20,
        limits: Limits::default(),
    }
}

pub(crate) fn content(n: u32) -> Content {
    Content::of(Bytes::from(n.to_le_bytes().repeat(8192)))
}
