//! What all threads of a node's network use: the socket, the peers, and what is written into headers.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use slotcast_protocol::{Delivery, GroupId, GroupMap, Members, Membership, Timing};
use slotcast_transport::{Body, Datagram, Header, Key, Reach, ReachRules, piece_len};
use slotcast_units::{Size, Span, Time};

use super::NetworkConfig;
use super::counters::{Counters, count};
use super::peer::{Peer, PeerStatus};
use super::socket::Socket;
use crate::clock::Clock;
use crate::cluster::ClusterMap;
use crate::node::answer_timeout;

pub(crate) struct Shared {
    pub(super) key: Key,
    /// The map that the node has started with: its settings stay.
    pub(super) map: ClusterMap,
    view: RwLock<Arc<View>>,
    standing: Mutex<MapStanding>,
    pub(super) node: u32,
    pub(super) clock: Clock,
    pub(super) socket: Socket,
    pub(super) counters: Counters,
    pub(super) stops: AtomicBool,
    pub(super) timing: Timing,
    pub(super) piece_len: u16,
    /// Positions of this node's targets in their groups.
    pub(super) members_here: BTreeMap<GroupId, Members>,
    reach: Mutex<Reach>,
    incarnation: u64,
    sequence: AtomicU64,
    transfers: AtomicU32,
}

/// Whom the map of the moment names.
pub(super) struct View {
    pub(super) epoch: u32,
    pub(super) peers: BTreeMap<u32, Arc<Peer>>,
    /// Groups of each peer.
    pub(super) groups_of: BTreeMap<u32, Vec<GroupId>>,
}

/// How this node stands to the map, for people.
#[derive(Debug, Clone)]
pub(crate) struct MapStanding {
    pub(crate) membership: Membership,
    /// Why the newest map is not known or not taken.
    pub(crate) problem: Option<String>,
    /// Whether all that this node holds is held by others in the wanted number.
    pub(crate) has_handed_over: bool,
}

impl View {
    /// What `map` says of the others than `node`. Of those that `before` knows at the same address, what was
    /// heard is kept.
    fn new(map: &ClusterMap, groups: &GroupMap, node: u32, before: Option<&View>) -> View {
        let others = map.nodes.iter().filter(|other| other.number != node);
        let peer = |number: u32, address: SocketAddr| {
            let known = before.and_then(|before| before.peers.get(&number));
            let known = known.filter(|peer| peer.address == address).cloned();
            known.unwrap_or_else(|| Arc::new(Peer::new(number, address)))
        };
        View {
            epoch: map.epoch,
            peers: others.clone().map(|n| (n.number, peer(n.number, n.address))).collect(),
            groups_of: others
                .map(|n| (n.number, members_of(map, groups, n.number).into_keys().collect()))
                .collect(),
        }
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Shared(node {})", self.node)
    }
}

impl Shared {
    pub(super) fn new(config: &NetworkConfig<'_>, key: Key) -> io::Result<Shared> {
        let NetworkConfig { map, groups, node, listen, clock, .. } = *config;
        let membership = map.node(node).map_or(Membership::Active, |node| node.membership);
        let standing = MapStanding { membership, problem: None, has_handed_over: false };
        Ok(Shared {
            key,
            node,
            clock,
            socket: Socket::bind(listen)?,
            view: RwLock::new(Arc::new(View::new(map, groups, node, None))),
            standing: Mutex::new(standing),
            counters: Counters::default(),
            stops: AtomicBool::new(false),
            timing: timing(map),
            piece_len: piece_len(map.datagram).expect("a datagram has room for a piece"),
            members_here: members_of(map, groups, node),
            reach: Mutex::new(Reach::new(reach_rules(answer_timeout(map.trip)))),
            incarnation: clock.began().as_ns(),
            sequence: AtomicU64::new(0),
            transfers: AtomicU32::new(0),
            map: map.clone(),
        })
    }

    pub(super) fn view(&self) -> Arc<View> {
        self.view.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes another map; gives the numbers of peers of which nothing is known yet.
    pub(crate) fn take(&self, map: &ClusterMap, groups: &GroupMap) -> Vec<u32> {
        let before = self.view();
        let view = View::new(map, groups, self.node, Some(&before));
        let is_new = |peer: &&Arc<Peer>| {
            before.peers.get(&peer.number).is_none_or(|known| !Arc::ptr_eq(known, peer))
        };
        let new = view.peers.values().filter(is_new).map(|peer| peer.number).collect();
        if let Some(node) = map.node(self.node) {
            let mut standing = self.standing();
            standing.membership = node.membership;
            // The reactor says so anew.
            standing.has_handed_over = false;
        }
        *self.view.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(view);
        new
    }

    /// How this node stands to the map.
    pub(crate) fn standing(&self) -> MutexGuard<'_, MapStanding> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether more than half of the other nodes are heard.
    pub(crate) fn hears_most(&self) -> bool {
        let view = self.view();
        let heard = view.peers.values().filter(|peer| peer.state().is_up()).count();
        heard * 2 > view.peers.len() || view.peers.is_empty()
    }

    /// Whether this node, which drains in `epoch`, holds nothing that others do not hold.
    pub(crate) fn has_handed_over(&self, epoch: u32) -> bool {
        self.epoch() == epoch && self.standing().has_handed_over
    }

    pub(super) fn reach(&self) -> MutexGuard<'_, Reach> {
        self.reach.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn reaches(&self, now: Time, node: u32, group: GroupId) -> bool {
        self.map.multicast.is_some() && self.reach().reaches(now, node, group)
    }

    pub(crate) fn address_of(&self, node: u32) -> Option<SocketAddr> {
        self.view().peers.get(&node).map(|peer| peer.address)
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
            epoch: self.epoch(),
            sender: self.node,
            incarnation: self.incarnation,
            sequence: self.sequence.fetch_add(1, Ordering::Relaxed),
            sent_at: now,
            echo,
        }
    }

    /// Sends one datagram to `node`, with an echo of what it said last.
    pub(super) fn send_to(&self, node: u32, body: Body<'_>) {
        let view = self.view();
        let Some(peer) = view.peers.get(&node) else { return };
        let now = self.clock.now();
        let echo = peer.state().echo(now);
        self.send_one(peer.address, self.header(now, echo), body);
    }

    /// Asks `node` for an answer with its clock, and says in which groups its multicast is heard.
    pub(super) fn ask_clock(&self, now: Time, node: u32) {
        let heard = self.reach().heard_of(now, node).collect();
        self.send_to(node, Body::Clock { wants_answer: true, heard });
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
        self.view().epoch
    }

    /// Its counters.
    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Its peers, for people.
    pub(crate) fn peer_status(&self) -> Vec<PeerStatus> {
        let (now, view) = (self.clock.now(), self.view());
        let status = |peer: &Arc<Peer>| {
            let groups = view.groups_of.get(&peer.number).map_or(&[][..], |groups| groups);
            let reached = groups.iter().filter(|group| self.reaches(now, peer.number, **group));
            let multicast_groups = u32::try_from(reached.count()).unwrap_or(u32::MAX);
            let state = peer.state();
            PeerStatus {
                node: peer.number,
                address: peer.address,
                is_up: state.is_up(),
                clock: state.offset().ahead(now).zip(state.offset().doubt(now)),
                multicast_groups,
            }
        };
        view.peers.values().map(status).collect()
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

/// For how long what was heard of multicast is believed, where an answer takes `patience` at most.
fn reach_rules(patience: Span) -> ReachRules {
    ReachRules { patience, heard: Span::from_ms(500), lasts: Span::from_secs(5) }
}
