//! What travels between nodes.

use std::net::SocketAddr;
use std::rc::Rc;

use slotcast_member::{ClusterMap, Pass};
use slotcast_protocol::{GroupId, PartValue};
use slotcast_transport::Datagram;
use slotcast_units::Time;

/// Something under way.
#[derive(Debug, Clone)]
pub(super) enum Parcel {
    /// A datagram, and by the multicast of which group it came.
    Datagram { from: SocketAddr, via: Option<GroupId>, datagram: Rc<Datagram<'static>> },
    /// The same with a piece of a chunk.
    Piece { from: SocketAddr, via: Option<GroupId>, piece: Piece },
    /// A cluster map.
    Map(Rc<ClusterMap>),
}

/// One piece of a pass.
#[derive(Debug, Clone)]
pub(super) struct Piece {
    pub(super) pass: Rc<Pass>,
    /// Which of the pieces of the pass.
    pub(super) n: usize,
    pub(super) sequence: u64,
    /// On the sender's clock.
    pub(super) sent_at: Time,
    pub(super) value: PartValue,
}

impl Piece {
    /// The datagram with the piece.
    pub(super) fn datagram(&self) -> Datagram<'_> {
        self.pass.datagram(self.n, (self.sent_at, self.sequence), self.value)
    }
}

/// Parcels under way, named by their slots.
#[derive(Debug, Default)]
pub(super) struct Parcels {
    slots: Vec<Option<Parcel>>,
    free: Vec<u32>,
}

impl Parcels {
    pub(super) fn send(&mut self, parcel: Parcel) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = Some(parcel);
            return slot;
        }
        self.slots.push(Some(parcel));
        u32::try_from(self.slots.len() - 1).expect("counted in u32")
    }

    pub(super) fn take(&mut self, slot: u32) -> Parcel {
        self.free.push(slot);
        self.slots[slot as usize].take().expect("each parcel arrives once")
    }
}
