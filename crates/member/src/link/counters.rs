//! What a link counts.

/// Chunks and pieces since the start, and datagrams that were not believed, by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Pieces that were sent again.
    pub repeated_pieces: u64,
    /// Chunks whose transfer has ended.
    pub chunks_sent: u64,
    /// Those of them that did not reach everybody.
    pub chunks_not_delivered: u64,
    /// Chunks that came whole.
    pub chunks_received: u64,
    /// Chunks of which some pieces never came.
    pub chunks_given_up: u64,
    /// Datagrams of nodes whose map is too many versions away.
    pub epoch: u64,
    /// Of a node with another layout of the same epoch.
    pub layout: u64,
    /// In a version of datagrams that this node does not speak.
    pub version: u64,
    /// Of a node that is not in the map, or from an address that is not that node's.
    pub address: u64,
    /// Heard before.
    pub replayed: u64,
    /// Of an incarnation that has not shown that it hears this one.
    pub unproven: u64,
    /// Sealed, and still not as they should be.
    pub malformed: u64,
    /// Pieces of a chunk for which there was no room.
    pub full: u64,
}
