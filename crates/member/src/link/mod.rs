//! The way to the other nodes: what is said to them, and what is believed of what they say.
//!
//! * [`hear`](Link::datagram): datagrams are judged, chunks put together.
//! * `tell`: messages to members of a group, by multicast where that reaches all of them, and not to nodes
//!   that are down.
//! * `chunks`: a chunk leaves in passes, until everybody has said that it has all.
//! * `failed`: which targets of whom have failed.
//! * `agree`: in which version two nodes speak, and whether they have the same layout.
//! * `surveys`: which chunks members at other nodes hold.
//! * `letters`: what is said about names.
//! * `short`: how many chunks have too few replicas.
//! * `beat`: a word to each peer several times a second, and probes of the multicast.

mod agree;
mod beat;
mod chunks;
mod counters;
mod failed;
mod hear;
mod letters;
mod seats;
mod short;
mod surveys;
mod tell;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::net::SocketAddr;

use slotcast_protocol::{
    Delivery, GroupId, GroupMap, LayoutDigest, Members, Message, RequestId, TargetId, Timing,
};
use slotcast_store::Content;
use slotcast_transport::{
    Address, Body, Datagram, Header, Inbox, InboxLimits, PeerChange, PeerState, Reach, Report,
    Short, Survey, SurveyReply, Suspicions, Versions, piece_len,
};
use slotcast_units::{Span, Time};

pub use agree::PeerRefusal;
pub use counters::Counters;
pub(crate) use seats::Seats;

use crate::config::{NetworkConfig, Times};
use crate::effect::Effect;
use crate::map::ClusterMap;
use crate::mistake::Mistake;
use agree::Agreed;
use chunks::Outgoing;
pub(crate) use chunks::ToSend;
use short::Said;

/// Something that the link has heard, or found out.
#[derive(Debug, Clone, PartialEq)]
pub enum LinkEvent {
    /// A message came, as it was said: on the sender's clock.
    Message {
        /// The node that sent it.
        from: u32,
        /// For whom it is.
        to: Address,
        /// What it says.
        message: Message,
        /// When it left, on the sender's clock.
        sent_at: Time,
        /// By how much the sender's clock is ahead, in nanoseconds.
        ahead: i64,
        /// Whether the sender has a later version of the cluster map.
        knows_more: bool,
    },
    /// A chunk came, or was given up.
    Arrived {
        /// It answers a get; otherwise it is a put.
        is_get: bool,
        /// For which request.
        request: RequestId,
        /// The group of its members.
        group: GroupId,
        /// The members that it is for.
        members: Members,
        /// The name that it is said to have.
        name: slotcast_protocol::ChunkId,
        /// The chunk, if all of it came and its hash is its name.
        content: Option<Content>,
        /// From its first piece to its last.
        took: Span,
    },
    /// The chunk of a get has left a target.
    Sent(TargetId, RequestId),
    /// All of the chunk of a put has come to these members.
    Reached(RequestId, Members),
    /// The chunk of a put did not reach these members.
    NotReached(RequestId, Members),
    /// A peer is heard again, or not any more.
    Peer(u32, PeerChange),
    /// A peer is another incarnation than before.
    Restarted(u32),
    /// A peer is heard, and not believed.
    Refused(u32, PeerRefusal),
    /// Members of a group, at a peer, have failed.
    Failed(u32, GroupId, Members),
    /// A peer asks what members here hold.
    Survey(u32, Survey),
    /// A member at a peer has answered.
    SurveyReply(SurveyReply),
    /// A peer says something about names.
    Names(u32, slotcast_object::Message),
}

/// Another node of the map.
#[derive(Debug, Clone)]
struct Peer {
    address: SocketAddr,
    state: PeerState,
    agreed: Agreed,
    groups: Vec<GroupId>,
    /// Its members of groups that have failed, as it says.
    failed: BTreeMap<GroupId, Members>,
    /// How many chunks have too few replicas, as it said last, and when.
    short: Option<(Short, Time)>,
}

/// A peer, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerStatus {
    /// Its number.
    pub node: u32,
    /// Where it is.
    pub address: SocketAddr,
    /// Whether it is heard, and believed.
    pub is_up: bool,
    /// Why it is not believed, if it is heard.
    pub refusal: Option<PeerRefusal>,
    /// In which version of datagrams both speak; none before it is known.
    pub version: Option<u8>,
    /// By how much its clock is ahead in nanoseconds, and how wrong that may be.
    pub clock: Option<(i64, Span)>,
    /// Groups of it that this node reaches by multicast.
    pub multicast_groups: u32,
}

/// All that is said to the other nodes and heard from them. Each method that has something sent or found out
/// appends it to `effects` or `events`.
#[derive(Debug)]
pub struct Link {
    node: u32,
    began: Time,
    /// What it begins with: its settings stay.
    map: ClusterMap,
    times: Times,
    timing: Timing,
    piece_len: u16,
    epoch: u32,
    /// Which versions of datagrams it speaks.
    versions: Versions,
    /// Of the maps that it has followed of late, by epoch.
    layouts: BTreeMap<u32, LayoutDigest>,
    peers: BTreeMap<u32, Peer>,
    seats: Seats,
    /// Positions of this node's targets in their groups.
    members_here: BTreeMap<GroupId, Members>,
    pub(crate) suspicions: Suspicions,
    /// Targets of this node that have failed.
    failed: BTreeMap<GroupId, Members>,
    /// By how much the clock was ahead of the member at a position that made an offer for a request: what is
    /// granted goes back by the same.
    ahead: BTreeMap<(RequestId, u8), i64>,
    reach: Reach,
    inbox: Inbox,
    outgoing: Vec<Outgoing>,
    reports: Vec<(u32, Report)>,
    transfers: u32,
    short: Said,
    /// Long letters so far.
    letters: u32,
    next_beat: Time,
    next_probe: Time,
    /// Nothing is heard before it has joined, and nothing is said but for what the member says.
    has_joined: bool,
    counters: Counters,
    pub(crate) mistake: Option<Mistake>,
}

/// Chunks of one sender that may be on their way at a time, and their bytes.
const MAX_INCOMING: (usize, usize) = (64, 64 << 20);

/// The first multiple of `grain` from `due` on. Each chunk has a time of its own at which its sender or receiver
/// loses patience, and most are taken back when the rest of it comes: a thread need not wake up for each.
fn coarse(due: Time, grain: Span) -> Time {
    match due {
        Time::NEVER => due,
        due => Time::from_ns(due.as_ns().next_multiple_of(grain.as_ns().max(1))),
    }
}

/// The members on any of these nodes.
fn members_of(nodes: &[(u32, Members)]) -> Members {
    nodes.iter().fold(Members::NONE, |all, (_, members)| all.union(*members))
}

impl Link {
    /// The link of `node`, which begins at `now`. It hears nothing before [`Link::join`], and says nothing by itself.
    ///
    /// # Panics
    /// If the map's datagrams have no room for a piece.
    pub fn new(
        now: Time,
        (node, began): (u32, Time),
        config: &NetworkConfig,
        groups: &GroupMap,
        times: Times,
    ) -> Link {
        let NetworkConfig { map, gone_after, max_chunk, versions } = config;
        let seats = Seats::new(map, groups);
        let others = map.nodes.iter().map(|other| other.number).filter(|other| *other != node);
        let (chunks, bytes) = MAX_INCOMING;
        let mut link = Link {
            node,
            began,
            times,
            timing: map.timing(),
            piece_len: piece_len(map.datagram).expect("a datagram has room for a piece"),
            epoch: map.epoch,
            versions: *versions,
            layouts: BTreeMap::new(),
            peers: BTreeMap::new(),
            members_here: seats.groups_of(node),
            seats,
            suspicions: Suspicions::new(now, (times.reach.patience, *gone_after), others),
            failed: BTreeMap::new(),
            ahead: BTreeMap::new(),
            reach: Reach::new(times.reach),
            inbox: Inbox::new(InboxLimits { chunk: *max_chunk, bytes, chunks }),
            outgoing: Vec::new(),
            reports: Vec::new(),
            transfers: 0,
            short: Said::default(),
            letters: 0,
            next_beat: Time::NEVER,
            next_probe: Time::NEVER,
            has_joined: false,
            counters: Counters::default(),
            mistake: None,
            map: map.clone(),
        };
        link.remember_layout(map);
        link.take_peers(map);
        link
    }

    /// Begins to hear the other nodes, and to be heard by them.
    pub fn join(&mut self, now: Time) {
        if !self.has_joined {
            self.has_joined = true;
            (self.next_beat, self.next_probe) = (now, now);
        }
    }

    /// Whether it has joined.
    pub fn has_joined(&self) -> bool {
        self.has_joined
    }

    /// Follows another map; gives the nodes of which nothing is known yet.
    pub(crate) fn take(
        &mut self,
        now: Time,
        (map, groups): (&ClusterMap, &GroupMap),
        events: &mut Vec<LinkEvent>,
    ) -> Vec<u32> {
        self.epoch = map.epoch;
        self.remember_layout(map);
        self.seats = Seats::new(map, groups);
        let new = self.take_peers(map);
        self.suspicions.follow(now, |node| map.node(node).is_some(), &new);
        self.compare_layouts(events);
        new
    }

    /// Of peers that are known at the same address, what was heard is kept.
    fn take_peers(&mut self, map: &ClusterMap) -> Vec<u32> {
        let mut new = Vec::new();
        let mut before = core::mem::take(&mut self.peers);
        for other in map.nodes.iter().filter(|other| other.number != self.node) {
            let groups = self.seats.groups_of(other.number).into_keys().collect();
            let known = before.remove(&other.number);
            let peer = match known.filter(|peer| peer.address == other.address) {
                Some(peer) => Peer { groups, ..peer },
                None => {
                    new.push(other.number);
                    Peer {
                        address: other.address,
                        state: PeerState::new(),
                        agreed: Agreed::default(),
                        groups,
                        failed: BTreeMap::new(),
                        short: None,
                    }
                }
            };
            self.peers.insert(other.number, peer);
        }
        new
    }

    /// The number of this node.
    pub fn node(&self) -> u32 {
        self.node
    }

    /// Version of the cluster map that it follows.
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// What it has counted.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Where a node is.
    pub fn address_of(&self, node: u32) -> Option<SocketAddr> {
        self.peers.get(&node).map(|peer| peer.address)
    }

    /// Whether more than half of the other nodes are heard.
    pub(crate) fn hears_most(&self) -> bool {
        let heard = self.peers.values().filter(|peer| peer.state.is_up()).count();
        heard * 2 > self.peers.len() || self.peers.is_empty()
    }

    /// Who has which seat.
    pub(crate) fn seats(&self) -> &Seats {
        &self.seats
    }

    /// Whether a member of `group` is away and may be back soon.
    pub(crate) fn may_return(&self, now: Time, group: GroupId) -> bool {
        let holders = self.seats.holders(group);
        holders.into_iter().any(|node| self.suspicions.may_return(now, node))
    }

    /// Its peers, for people.
    pub fn peers(&self, now: Time) -> Vec<PeerStatus> {
        let status = |(node, peer): (&u32, &Peer)| {
            let reached = peer.groups.iter().filter(|group| self.reaches(now, *node, **group));
            PeerStatus {
                node: *node,
                address: peer.address,
                is_up: peer.state.is_up(),
                refusal: peer.agreed.refusal(),
                version: peer.agreed.version(),
                clock: peer.state.offset().ahead(now).zip(peer.state.offset().doubt(now)),
                multicast_groups: u32::try_from(reached.count()).unwrap_or(u32::MAX),
            }
        };
        self.peers.iter().map(status).collect()
    }

    /// When [`Link::wake`] has something to do. O(chunks on their way).
    pub fn wakes_at(&self) -> Time {
        let outgoing = self.outgoing.iter().map(Outgoing::due).min().unwrap_or(Time::NEVER);
        let repeats = coarse(self.inbox.due().min(outgoing), self.times.least_slack / 2);
        self.next_beat.min(self.next_probe).min(repeats)
    }

    /// Does what is due.
    pub fn wake(&mut self, now: Time, effects: &mut Vec<Effect>, events: &mut Vec<LinkEvent>) {
        if now >= self.next_beat {
            self.beat(now, effects, events);
        }
        if now >= self.next_probe {
            self.probe(now, effects);
        }
        if self.inbox.due() <= now {
            self.remind(now, effects, events);
        }
        self.send_due(now, effects, events);
    }

    fn reaches(&self, now: Time, node: u32, group: GroupId) -> bool {
        self.map.multicast.is_some() && self.reach.reaches(now, node, group)
    }

    /// The multicast address of `group`, for messages, and for chunks where they travel so.
    fn multicast_of(&self, group: GroupId) -> Option<SocketAddr> {
        self.map.multicast_of(group).map(SocketAddr::from)
    }

    fn sends_chunks_by_multicast(&self) -> bool {
        self.map.delivery == Delivery::Multicast
    }

    /// A header, but for the sequence number, which the host gives.
    fn header(&self, now: Time, version: u8, echo: Option<(Time, Span)>) -> Header {
        Header {
            version,
            epoch: self.epoch,
            sender: self.node,
            incarnation: self.began.as_ns(),
            sequence: 0,
            sent_at: now,
            echo,
        }
    }

    /// Sends one datagram to `node`, with an echo of what it said last.
    fn send_to(&mut self, now: Time, node: u32, body: Body<'static>, effects: &mut Vec<Effect>) {
        let Some(peer) = self.peers.get(&node) else { return };
        let (to, echo) = (peer.address, peer.state.echo(now));
        let version = self.version_for([node]);
        let (header, body) = (self.header(now, version, echo), body.in_version(version));
        effects.push(Effect::Send(to, Datagram { header, body }));
    }

    fn send_multicast(
        &mut self,
        now: Time,
        (to, version): (SocketAddr, u8),
        body: Body<'static>,
        effects: &mut Vec<Effect>,
    ) {
        let (header, body) = (self.header(now, version, None), body.in_version(version));
        effects.push(Effect::Send(to, Datagram { header, body }));
    }
}
