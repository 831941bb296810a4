//! What all threads of a node's network use: the socket, the peers, and what is written into headers.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use slotcast_protocol::{Delivery, GroupId, GroupMap, Members, Timing};
use slotcast_transport::{Body, Datagram, Header, Key, Reach, piece_len};
use slotcast_units::{Size, Span, Time};

use super::NetworkConfig;
use super::counters::{Counters, count};
use super::peer::{Peer, PeerStatus};
use super::socket::Socket;
use crate::clock::Clock;
use crate::cluster::ClusterMap;

pub(crate) struct Shared {
    pub(super) key: Key,
    pub(super) map: ClusterMap,
    pub(super) node: u32,
    pub(super) clock: Clock,
    pub(super) socket: Socket,
    pub(super) peers: BTreeMap<u32, Peer>,
    pub(super) counters: Counters,
    pub(super) stops: AtomicBool,
    pub(super) timing: Timing,
    pub(super) piece_len: u16,
    /// Positions of this node's targets in their groups.
    pub(super) members_here: BTreeMap<GroupId, Members>,
    /// Groups of each peer.
    pub(super) groups_of: BTreeMap<u32, Vec<GroupId>>,
    reach: Mutex<Reach>,
    incarnation: u64,
    sequence: AtomicU64,
    transfers: AtomicU32,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Shared(node {})", self.node)
    }
}

impl Shared {
    pub(super) fn new(config: &NetworkConfig<'_>, key: Key) -> io::Result<Shared> {
        let NetworkConfig { map, groups, node, listen, clock, .. } = *config;
        let others = map.nodes.iter().filter(|other| other.number != node);
        Ok(Shared {
            key,
            node,
            clock,
            socket: Socket::bind(listen)?,
            peers: others.clone().map(|n| (n.number, Peer::new(n.number, n.address))).collect(),
            counters: Counters::default(),
            stops: AtomicBool::new(false),
            timing: timing(map),
            piece_len: piece_len(map.datagram).expect("a datagram has room for a piece"),
            members_here: members_of(map, groups, node),
            groups_of: others
                .map(|n| (n.number, members_of(map, groups, n.number).into_keys().collect()))
                .collect(),
            reach: Mutex::new(Reach::new()),
            incarnation: clock.began().as_ns(),
            sequence: AtomicU64::new(0),
            transfers: AtomicU32::new(0),
            map: map.clone(),
        })
    }

    pub(super) fn reach(&self) -> MutexGuard<'_, Reach> {
        self.reach.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn reaches(&self, now: Time, node: u32, group: GroupId) -> bool {
        self.map.multicast.is_some() && self.reach().reaches(now, node, group)
    }

    pub(crate) fn address_of(&self, node: u32) -> Option<SocketAddr> {
        self.peers.get(&node).map(|peer| peer.address)
    }

    /// The multicast address of `group`, for control messages, and for chunks where they travel so.
    pub(super) fn multicast_of(&self, group: GroupId) -> Option<SocketAddr> {
        self.map.multicast_of(group).map(SocketAddr::from)
    }

    pub(super) fn sends_chunks_by_multicast(&self) -> bool {
        self.map.delivery == Delivery::Multicast
    }

    /// How long a chunk of `length` bytes takes to be sent.
    pub(super) fn transfer(&self, length: usize) -> Span {
        self.timing.transfer(Size::from_bytes(length as u64))
    }

    pub(super) fn next_transfer(&self) -> u32 {
        self.transfers.fetch_add(1, Ordering::Relaxed)
    }

    /// A header for the next datagram, with an echo for `peer`.
    pub(super) fn header(&self, now: Time, echo: Option<(Time, Span)>) -> Header {
        Header {
            epoch: self.map.epoch,
            sender: self.node,
            incarnation: self.incarnation,
            sequence: self.sequence.fetch_add(1, Ordering::Relaxed),
            sent_at: now,
            echo,
        }
    }

    /// Sends one datagram to `node`, with an echo of what it said last.
    pub(super) fn send_to(&self, node: u32, body: Body<'_>) {
        let Some(peer) = self.peers.get(&node) else { return };
        let now = self.clock.now();
        let echo = peer.state().echo(now);
        self.send_one(peer.address, self.header(now, echo), body);
    }

    pub(super) fn send_multicast(&self, address: SocketAddr, body: Body<'_>) {
        self.send_one(address, self.header(self.clock.now(), None), body);
    }

    pub(super) fn send_one(&self, address: SocketAddr, header: Header, body: Body<'_>) {
        let mut bytes = Vec::with_capacity(512);
        let length = Datagram { header, body }.encode(&self.key, &mut bytes);
        self.send_bytes(address, &bytes, length, 1);
    }

    /// Sends `datagrams` datagrams that lie one after another, of `length` bytes each but the last.
    pub(super) fn send_bytes(&self, to: SocketAddr, bytes: &[u8], length: usize, datagrams: u64) {
        match self.socket.send(to, bytes, length) {
            Ok(()) => {
                count(&self.counters.sent, datagrams);
                count(&self.counters.sent_bytes, bytes.len() as u64);
            }
            // What is lost is repeated; that it was lost here is seen in the metrics.
            Err(_) => count(&self.counters.send_failures, datagrams),
        }
    }

    /// The number of this node.
    pub(crate) fn node(&self) -> u32 {
        self.node
    }

    /// Version of its cluster map.
    pub(crate) fn epoch(&self) -> u32 {
        self.map.epoch
    }

    /// Its counters.
    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Its peers, for people.
    pub(crate) fn peer_status(&self) -> Vec<PeerStatus> {
        let now = self.clock.now();
        let status = |peer: &Peer| {
            let groups = self.groups_of.get(&peer.number).map_or(&[][..], |groups| groups);
            let reached = groups.iter().filter(|group| self.reaches(now, peer.number, **group));
            let multicast_groups = u32::try_from(reached.count()).unwrap_or(u32::MAX);
            let state = peer.state();
            PeerStatus {
                node: peer.number,
                address: peer.address,
                is_up: state.is_up,
                clock: state.offset().ahead(now).zip(state.offset().doubt(now)),
                multicast_groups,
            }
        };
        self.peers.values().map(status).collect()
    }
}

/// Positions of the targets of node `number` in their groups.
fn members_of(map: &ClusterMap, groups: &GroupMap, number: u32) -> BTreeMap<GroupId, Members> {
    let mut members = BTreeMap::new();
    for target in map.node(number).iter().flat_map(|node| &node.targets) {
        let (group, position) = groups.seat(*target);
        members.entry(group).or_insert(Members::NONE).insert(position);
    }
    members
}

/// Times that the nodes of a cluster agree on.
pub(crate) fn timing(map: &ClusterMap) -> Timing {
    Timing {
        control: Span::from_us(20),
        trip: map.trip,
        data_rate: map.data_rate,
        frame: Size::from_bytes(map.datagram as u64),
    }
}
