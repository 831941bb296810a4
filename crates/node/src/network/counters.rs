//! What a node counts of its datagrams: the sockets their part, the member its own.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use slotcast_member::Counters;

use crate::cluster::MAX_KEYS;

/// Counted where datagrams are sent and received, before a member sees them.
#[derive(Debug, Default)]
pub(crate) struct SocketCounters {
    pub(super) sent: AtomicU64,
    pub(super) sent_bytes: AtomicU64,
    pub(super) received: AtomicU64,
    pub(super) received_bytes: AtomicU64,
    pub(super) send_failures: AtomicU64,
    /// Not a datagram of Slotcast.
    pub(super) foreign: AtomicU64,
    /// Of a version that is not known, and not a clock datagram.
    pub(super) version: AtomicU64,
    /// Sealed with another key, or changed on the way.
    pub(super) seal: AtomicU64,
    /// Not encrypted, where only what is counts.
    pub(super) plain: AtomicU64,
    /// Sealed, and no datagram.
    pub(super) malformed: AtomicU64,
    /// Believed, by the number of the key, modulo as many as there can be.
    pub(super) by_key: [AtomicU64; MAX_KEYS],
    /// Numbers of the keys, that which is sent with first.
    keys: Mutex<Vec<u32>>,
}

impl SocketCounters {
    /// Of nothing yet, with the keys of these numbers.
    pub(super) fn of(keys: impl Iterator<Item = u32>) -> SocketCounters {
        SocketCounters { keys: Mutex::new(keys.collect()), ..SocketCounters::default() }
    }

    /// From now on these are the keys.
    pub(super) fn set_keys(&self, keys: impl Iterator<Item = u32>) {
        *self.keys.lock().unwrap_or_else(PoisonError::into_inner) = keys.collect();
    }
}

pub(super) fn count(counter: &AtomicU64, by: u64) {
    counter.fetch_add(by, Ordering::Relaxed);
}

fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

/// All counters since the start with their names, but for what was refused.
pub(crate) fn all_counters(
    sockets: &SocketCounters,
    member: &Counters,
) -> [(&'static str, u64); 10] {
    [
        ("datagrams_sent", read(&sockets.sent)),
        ("sent_bytes", read(&sockets.sent_bytes)),
        ("datagrams_received", read(&sockets.received)),
        ("received_bytes", read(&sockets.received_bytes)),
        ("datagrams_not_sent", read(&sockets.send_failures)),
        ("pieces_repeated", member.repeated_pieces),
        ("chunks_sent", member.chunks_sent),
        ("chunks_not_delivered", member.chunks_not_delivered),
        ("chunks_received", member.chunks_received),
        ("chunks_given_up", member.chunks_given_up),
    ]
}

/// Datagrams that came and were dropped, by reason.
pub(crate) fn refusals(sockets: &SocketCounters, member: &Counters) -> [(&'static str, u64); 11] {
    [
        ("foreign", read(&sockets.foreign)),
        ("seal", read(&sockets.seal)),
        ("plain", read(&sockets.plain)),
        ("version", member.version + read(&sockets.version)),
        ("epoch", member.epoch),
        ("layout", member.layout),
        ("address", member.address),
        ("replayed", member.replayed),
        ("unproven", member.unproven),
        ("malformed", member.malformed + read(&sockets.malformed)),
        ("full", member.full),
    ]
}

/// Numbers of the keys, that which is sent with first, and how many datagrams with each were believed.
pub(crate) fn by_key(sockets: &SocketCounters) -> Vec<(u32, u64)> {
    let keys = sockets.keys.lock().unwrap_or_else(PoisonError::into_inner);
    let heard = |number: &u32| read(&sockets.by_key[*number as usize % MAX_KEYS]);
    keys.iter().map(|number| (*number, heard(number))).collect()
}
