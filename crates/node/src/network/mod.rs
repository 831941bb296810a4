//! The second transport: datagrams between the nodes of a cluster.
//!
//! ```text
//! reactor ── control messages ──────────────> socket ──> other nodes
//!    │ └──── chunks ──> sender (paced) ─────────┘
//!    └<───── events ─── receiver <── sockets: of this node, and of its groups' multicast
//! ```
//!
//! Control messages leave from the reactor's own thread: a change of threads costs more than the system call.
//! What to believe, repeat and translate is decided in `slotcast-transport`.

mod bursts;
mod counters;
pub mod measure;
mod peer;
mod receiver;
mod sender;
mod shared;
mod socket;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};

use crossbeam_channel::{Sender, bounded, unbounded};
use slotcast_protocol::{GroupId, GroupMap, Members, Message, RequestId, TargetId};
use slotcast_store::Content;
use slotcast_transport::{Address, Body, Key, PeerChange, SilenceRules};
use slotcast_units::{Rate, Span, Time};

pub(crate) use peer::PeerStatus;
use sender::{Outgoing, ToSender};
pub(crate) use shared::{Shared, timing};

use crate::clock::Clock;
use crate::cluster::ClusterMap;
use crate::limits::link_bucket;
use crate::mailbox::Tell;

/// What a node needs for its network.
pub(crate) struct NetworkConfig<'a> {
    pub(crate) map: &'a ClusterMap,
    pub(crate) groups: &'a GroupMap,
    pub(crate) node: u32,
    pub(crate) listen: SocketAddr,
    pub(crate) secret: &'a [u8; 32],
    pub(crate) clock: Clock,
    /// The most that chunks may take of what the node sends.
    pub(crate) link_rate: Option<Rate>,
}

/// Something that the network tells the reactor.
#[derive(Debug)]
pub(crate) enum NetworkEvent {
    /// A message came.
    Heard(Heard),
    /// A chunk came, or was given up.
    Arrived(Received),
    /// The chunk of a get has left.
    Sent(TargetId, RequestId),
    /// The chunk of a put did not reach these members.
    NotReached(RequestId, Members),
    /// A peer is heard again, or not any more.
    Peer(u32, PeerChange),
    /// A peer that was heard before is another incarnation now: it has forgotten its promises, and may have
    /// lost what it held.
    Restarted(u32),
}

/// A message, as it was said: on the sender's clock.
#[derive(Debug)]
pub(crate) struct Heard {
    pub(crate) from: u32,
    pub(crate) to: Address,
    pub(crate) message: Message,
    pub(crate) sent_at: Time,
    pub(crate) received: Time,
    /// By how much the sender's clock is ahead.
    pub(crate) ahead: i64,
    /// The sender has a later version of the cluster map.
    pub(crate) knows_more: bool,
}

/// A chunk that was sent to this node.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) is_get: bool,
    pub(crate) request: RequestId,
    pub(crate) group: GroupId,
    pub(crate) members: Members,
    /// The chunk, if all of it came and its hash is its name.
    pub(crate) content: Option<Content>,
    pub(crate) name: slotcast_protocol::ChunkId,
    /// From its first piece to its last.
    pub(crate) took: Span,
}

/// A chunk to be sent.
pub(crate) struct ToSend {
    pub(crate) request: RequestId,
    pub(crate) group: GroupId,
    pub(crate) members: Members,
    pub(crate) content: Content,
    pub(crate) start: Time,
    /// The target that answers a get with it; none for a put.
    pub(crate) source: Option<TargetId>,
}

/// The network of a node. Dropping it ends its threads.
pub(crate) struct Network {
    shared: Arc<Shared>,
    sender: Sender<ToSender>,
    threads: Vec<JoinHandle<()>>,
    /// The threads wait until it is dropped. Nothing is sent on it.
    gate: Option<Sender<()>>,
}

impl Network {
    /// Opens the sockets. Nothing is sent and heard before [`Network::join`].
    pub(crate) fn start(config: &NetworkConfig<'_>, tell: &Tell) -> io::Result<Network> {
        let shared = Arc::new(Shared::new(config, Key::new(config.secret))?);
        let multicast = receiver::multicast_sockets(config, &shared);
        let (to_sender, for_sender) = unbounded();
        let mut threads = Vec::new();
        let (gate, at_gate) = bounded::<()>(0);
        let spawn = |name: &str, run: Box<dyn FnOnce() + Send>| {
            let at_gate = at_gate.clone();
            thread::Builder::new().name(name.into()).spawn(move || {
                let _ = at_gate.recv();
                run();
            })
        };
        let sender = sender::Chunks::new(
            shared.clone(),
            for_sender,
            tell.clone(),
            config.link_rate.map(link_bucket),
        );
        threads.push(spawn("udp-send", Box::new(move || sender.run()))?);
        let receiver =
            receiver::Receiver::new(shared.clone(), multicast, tell.clone(), to_sender.clone());
        threads.push(spawn("udp-receive", Box::new(move || receiver.run()))?);
        Ok(Network { shared, sender: to_sender, threads, gate: Some(gate) })
    }

    /// Begins to speak with the other nodes.
    pub(crate) fn join(&mut self) {
        self.gate = None;
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Says something to the initiator of a node.
    pub(crate) fn tell_initiator(&self, node: u32, message: Message) {
        self.shared.send_to(node, Body::Control(Address::Initiator, message));
    }

    /// Says something to members of a group: by multicast if it reaches all of the nodes, and else to each.
    pub(crate) fn tell_group(
        &self,
        now: Time,
        group: GroupId,
        to: &[(u32, Members)],
        message: Message,
    ) {
        let all = to.iter().fold(Members::NONE, |all, (_, members)| all.union(*members));
        let reaches = |(node, _): &(u32, Members)| self.shared.reaches(now, *node, group);
        if to.len() > 1
            && let Some(address) = self.shared.multicast_of(group)
            && to.iter().all(reaches)
        {
            if matches!(message, Message::PutRequest(_) | Message::GetRequest(_)) {
                let mut reach = self.shared.reach();
                to.iter().for_each(|(node, _)| reach.asked(now, *node));
            }
            let body = Body::Control(Address::Group(group, all), message);
            self.shared.send_multicast(address, body);
            return;
        }
        for (node, members) in to {
            self.shared.send_to(*node, Body::Control(Address::Group(group, *members), message));
        }
    }

    /// Sends a chunk to the nodes of the members of a put: in one multicast where that is how chunks travel
    /// and the nodes hear it, to the others one after another.
    pub(crate) fn send_put(&self, now: Time, to_send: &ToSend, to: &[(u32, Members)]) {
        let length = to_send.content.bytes().len();
        let mut start = to_send.start;
        let address = self.shared.multicast_of(to_send.group);
        let (heard, rest): (Vec<(u32, Members)>, Vec<_>) =
            to.iter().copied().partition(|(node, _)| {
                self.shared.sends_chunks_by_multicast()
                    && to.len() > 1
                    && self.shared.reaches(now, *node, to_send.group)
            });
        if let Some(address) = address
            && !heard.is_empty()
        {
            self.give(Outgoing::new(&self.shared, to_send, heard, address, start));
            start += self.shared.transfer(length);
        }
        for to in rest {
            let Some(address) = self.shared.address_of(to.0) else { continue };
            self.give(Outgoing::new(&self.shared, to_send, vec![to], address, start));
            start += self.shared.transfer(length);
        }
    }

    /// Sends a chunk to the node that asked for it.
    pub(crate) fn send_get(&self, to_send: &ToSend) {
        let node = to_send.request.initiator.0;
        if let Some(address) = self.shared.address_of(node) {
            let to = vec![(node, to_send.members)];
            self.give(Outgoing::new(&self.shared, to_send, to, address, to_send.start));
        }
    }

    fn give(&self, outgoing: Outgoing) {
        // The thread lives as long as this: it cannot fail.
        let _ = self.sender.send(ToSender::Chunk(Box::new(outgoing)));
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        self.shared.stops.store(true, Ordering::Relaxed);
        let _ = self.sender.send(ToSender::Stop);
        self.gate = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Chunks up to this length travel; it is the longest that HTTP takes.
pub(crate) const MOST_CHUNK: u32 = 8 << 20;

/// How often a node says something to each peer, so that clocks are compared and silence is noticed.
pub(crate) const BEAT: Span = Span::from_ms(100);
/// The same while nothing is known of some peer and this node is young.
pub(crate) const FIRST_BEAT: Span = Span::from_ms(50);
/// How long it is.
pub(crate) const YOUTH: Span = Span::from_secs(5);
/// Four beats may be lost before requests do not wait for a peer.
const SILENCE: SilenceRules =
    SilenceRules { unresponsive: Span::from_ms(450), silence: Span::from_ms(2500) };
