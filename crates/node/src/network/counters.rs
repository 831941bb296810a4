//! What a node counts of its datagrams.

use std::sync::atomic::{AtomicU64, Ordering};

/// Datagrams that came and were dropped, by reason.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    /// Not a datagram of Slotcast, or of another version.
    pub(crate) foreign: AtomicU64,
    /// Sealed with another key, or changed on the way.
    pub(crate) seal: AtomicU64,
    /// Of another version of the cluster map.
    pub(crate) epoch: AtomicU64,
    /// Of a node that is not in the map, or from an address that is not that node's.
    pub(crate) address: AtomicU64,
    /// Heard before.
    pub(crate) replayed: AtomicU64,
    /// Of a life of a node that has not shown that it hears this one.
    pub(crate) unproven: AtomicU64,
    /// Sealed, and still not as they should be.
    pub(crate) malformed: AtomicU64,
    /// A piece of a chunk for which there was no room.
    pub(crate) full: AtomicU64,
}

/// All counters, since the start.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) sent: AtomicU64,
    pub(crate) sent_bytes: AtomicU64,
    pub(crate) received: AtomicU64,
    pub(crate) received_bytes: AtomicU64,
    pub(crate) send_failures: AtomicU64,
    pub(crate) repeated_pieces: AtomicU64,
    pub(crate) chunks_sent: AtomicU64,
    pub(crate) chunks_not_delivered: AtomicU64,
    pub(crate) chunks_received: AtomicU64,
    pub(crate) chunks_given_up: AtomicU64,
    pub(crate) refused: Refusals,
}

pub(crate) fn count(counter: &AtomicU64, by: u64) {
    counter.fetch_add(by, Ordering::Relaxed);
}

fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

impl Counters {
    /// Each with its name, but for what was refused.
    pub(crate) fn all(&self) -> [(&'static str, u64); 10] {
        [
            ("datagrams_sent", read(&self.sent)),
            ("sent_bytes", read(&self.sent_bytes)),
            ("datagrams_received", read(&self.received)),
            ("received_bytes", read(&self.received_bytes)),
            ("datagrams_not_sent", read(&self.send_failures)),
            ("pieces_repeated", read(&self.repeated_pieces)),
            ("chunks_sent", read(&self.chunks_sent)),
            ("chunks_not_delivered", read(&self.chunks_not_delivered)),
            ("chunks_received", read(&self.chunks_received)),
            ("chunks_given_up", read(&self.chunks_given_up)),
        ]
    }
}

impl Refusals {
    /// Each with its name.
    pub(crate) fn all(&self) -> [(&'static str, u64); 8] {
        [
            ("foreign", read(&self.foreign)),
            ("seal", read(&self.seal)),
            ("epoch", read(&self.epoch)),
            ("address", read(&self.address)),
            ("replayed", read(&self.replayed)),
            ("unproven", read(&self.unproven)),
            ("malformed", read(&self.malformed)),
            ("full", read(&self.full)),
        ]
    }
}
