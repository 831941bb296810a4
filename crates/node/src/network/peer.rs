//! A peer of the map, and what is known of it, for all threads of the network.

use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use slotcast_transport::PeerState;
use slotcast_units::Span;

/// Another node of the map.
pub(crate) struct Peer {
    pub(super) number: u32,
    pub(super) address: SocketAddr,
    state: Mutex<PeerState>,
}

/// A peer, for people.
#[derive(Debug, Clone)]
pub(crate) struct PeerStatus {
    pub(crate) node: u32,
    pub(crate) address: SocketAddr,
    pub(crate) is_up: bool,
    /// By how much its clock is ahead, and how wrong that may be.
    pub(crate) clock: Option<(i64, Span)>,
    /// Groups of it that this node reaches by multicast.
    pub(crate) multicast_groups: u32,
}

impl Peer {
    pub(super) fn new(number: u32, address: SocketAddr) -> Peer {
        Peer { number, address, state: Mutex::new(PeerState::new()) }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, PeerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
