//! Hears datagrams, and decides which of them are believed.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crossbeam_channel::Sender;
use slotcast_protocol::{GroupId, Members, Message};
use slotcast_store::Content;
use slotcast_transport::{
    Address, Arrived, Body, Data, Datagram, Header, Inbox, InboxLimits, Refused, Report, Verdict,
};
use slotcast_units::{Span, Time};

use super::bursts::Bursts;
use super::counters::count;
use super::peer::Peer;
use super::sender::ToSender;
use super::shared::{Shared, View};
use super::socket::{Buffers, Socket, wait};
use super::{Heard, MOST_CHUNK, NetworkConfig, NetworkEvent, Received};
use crate::mailbox::Tell;
use crate::reactor::Event;

/// How long the thread may not notice that it should end.
const NAP: Span = Span::from_ms(100);

/// A socket for the multicast of each group that has members here; none where the map has no multicast
/// address, or the system none to give: then nobody is told that this node hears, and all is sent to it by
/// itself.
pub(super) fn multicast_sockets(
    config: &NetworkConfig<'_>,
    shared: &Shared,
) -> Vec<(GroupId, Socket)> {
    let SocketAddr::V4(own) = config.listen else { return Vec::new() };
    let join = |group: &GroupId| {
        let socket = Socket::join(config.map.multicast_of(*group)?, *own.ip()).ok()?;
        Some((*group, socket))
    };
    shared.members_here.keys().filter_map(join).collect()
}

/// How far the epochs of two nodes that hear each other may be apart. What is said means the same in all of
/// them, since groups and seats stay. But a node that has missed more changes than that was away for long, and
/// has to learn first who is there.
const EPOCHS_APART: u32 = 16;

/// The receiving thread.
pub(super) struct Receiver {
    shared: Arc<Shared>,
    multicast: Vec<(GroupId, Socket)>,
    tell: Tell,
    sender: Sender<ToSender>,
    inbox: Inbox,
    reports: Vec<(u32, Report)>,
}

impl Receiver {
    pub(super) fn new(
        shared: Arc<Shared>,
        multicast: Vec<(GroupId, Socket)>,
        tell: Tell,
        sender: Sender<ToSender>,
    ) -> Receiver {
        let limits = InboxLimits { chunk: MOST_CHUNK, bytes: 64 << 20, chunks: 64 };
        let inbox = Inbox::new(limits);
        Receiver { shared, multicast, tell, sender, inbox, reports: Vec::new() }
    }

    pub(super) fn run(mut self) {
        let mut buffers = Buffers::new();
        let mut bursts = Bursts::default();
        while !self.shared.stops.load(Ordering::Relaxed) {
            let mut heard = self.take(&mut buffers, None);
            for i in 0..self.multicast.len() {
                heard |= self.take(&mut buffers, Some(i));
            }
            let now = self.shared.clock.now();
            bursts.look(now, &self.shared.counters.refused);
            if self.inbox.due() <= now {
                let mut given_up = Vec::new();
                self.inbox.wake(now, &mut self.reports, &mut given_up);
                self.send_reports();
                given_up.into_iter().for_each(|arrived| self.arrived(arrived));
            }
            if !heard {
                let until = self.inbox.due().saturating_since(now).min(NAP);
                let sockets: Vec<&Socket> = std::iter::once(&self.shared.socket)
                    .chain(self.multicast.iter().map(|(_, socket)| socket))
                    .collect();
                if wait(&sockets, until).is_err() {
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
            }
        }
    }

    /// Takes what has come to this node, or to one of its groups; false if nothing has.
    fn take(&mut self, buffers: &mut Buffers, multicast: Option<usize>) -> bool {
        let group = multicast.map(|i| self.multicast[i].0);
        let socket = match multicast {
            None => &self.shared.socket,
            Some(i) => &self.multicast[i].1,
        };
        let filled = match socket.receive(buffers) {
            Ok(filled) => filled,
            // What the kernel tells of earlier datagrams; there may be more behind it.
            Err(_) => return true,
        };
        let shared = self.shared.clone();
        let (now, view) = (shared.clock.now(), shared.view());
        for (from, datagram) in buffers.datagrams(filled) {
            self.hear((&shared, &view), now, from, group, datagram);
        }
        self.send_reports();
        filled > 0
    }

    fn hear(
        &mut self,
        (shared, view): (&Shared, &View),
        now: Time,
        from: SocketAddr,
        via: Option<GroupId>,
        bytes: &[u8],
    ) {
        let refused = &shared.counters.refused;
        count(&shared.counters.received, 1);
        count(&shared.counters.received_bytes, bytes.len() as u64);
        let Datagram { header, body } = match Datagram::decode(&shared.key, bytes) {
            Ok(datagram) => datagram,
            Err(error) => {
                let counter = match error {
                    Refused::TooShort(_) | Refused::Foreign | Refused::Version(_) => {
                        &refused.foreign
                    }
                    Refused::Seal => &refused.seal,
                    Refused::Kind(_) | Refused::Body(_) | Refused::Message(_) => &refused.malformed,
                };
                return count(counter, 1);
            }
        };
        if header.sender == shared.node && via.is_some() {
            // One's own multicast.
            return;
        }
        if header.epoch.abs_diff(view.epoch) > EPOCHS_APART {
            return count(&refused.epoch, 1);
        }
        let peer = view.peers.get(&header.sender).filter(|peer| peer.address == from);
        let Some(peer) = peer else { return count(&refused.address, 1) };
        let mut state = peer.state();
        let verdict = state.judge(now, shared.clock.began(), &header);
        let ahead = state.offset().ahead(now);
        drop(state);
        match verdict {
            Verdict::Believed => {}
            Verdict::First | Verdict::Restarted => {
                if verdict == Verdict::Restarted {
                    let restarted = NetworkEvent::Restarted(peer.number);
                    (self.tell)(Event::Network(Box::new(restarted)));
                }
                self.inbox.forget(peer.number);
                // So that it believes this node as soon.
                shared.ask_clock(now, peer.number);
            }
            Verdict::Replayed => return count(&refused.replayed, 1),
            Verdict::Unproven => {
                if let Body::Clock { wants_answer: true, .. } = body {
                    answer_clock(shared, peer, now, &header);
                } else {
                    count(&refused.unproven, 1);
                }
                return;
            }
        }
        match body {
            Body::Clock { wants_answer, heard } => {
                if wants_answer {
                    // An answer does not say what is heard.
                    shared.reach().told(now, peer.number, &heard);
                    answer_clock(shared, peer, now, &header);
                }
            }
            Body::Probe(group) if via == Some(group) => {
                shared.reach().probe(now, peer.number, group);
            }
            Body::Probe(_) => count(&refused.malformed, 1),
            Body::Control(to, message) => {
                let initiator = message.request().initiator.0;
                let expected = match to {
                    Address::Group(..) => peer.number,
                    Address::Initiator => shared.node,
                };
                let is_expected = initiator == expected && !is_of_a_proxy(&message);
                let Some(ahead) = ahead.filter(|_| is_expected) else {
                    return count(&refused.malformed, 1);
                };
                let (from, sent_at) = (peer.number, header.sent_at);
                if to == Address::Initiator {
                    shared.reach().answered(peer.number);
                }
                let knows_more = header.epoch > view.epoch;
                let heard = Heard { from, to, message, sent_at, received: now, ahead, knows_more };
                (self.tell)(Event::Network(Box::new(NetworkEvent::Heard(heard))));
            }
            Body::Data(data) => self.data(now, peer, &data),
            Body::Report(report) => drop(self.sender.send(ToSender::Report(peer.number, report))),
            // Such a peer answers that it is not available, when it is asked.
            Body::Failed(_) => {}
        }
    }

    fn data(&mut self, now: Time, peer: &Peer, data: &Data<'_>) {
        let refused = &self.shared.counters.refused;
        let initiator = if data.is_get { self.shared.node } else { peer.number };
        if data.request.initiator.0 != initiator {
            return count(&refused.malformed, 1);
        }
        // A multicast is for some of those who hear it.
        let here = self.shared.members_here.get(&data.group).copied().unwrap_or(Members::NONE);
        let others = data.members.without(here);
        if !data.is_get && data.members == others {
            return;
        }
        match self.inbox.piece(now, peer.number, data, &mut self.reports) {
            Ok(Some(arrived)) => {
                self.send_reports();
                self.arrived(arrived);
            }
            Ok(None) => {}
            Err(_) => count(&refused.full, 1),
        }
    }

    fn arrived(&self, arrived: Arrived) {
        let counters = &self.shared.counters;
        let Arrived { is_get, request, group, members, name, chunk, took, .. } = arrived;
        let counter = match chunk {
            Some(_) => &counters.chunks_received,
            None => &counters.chunks_given_up,
        };
        count(counter, 1);
        let content = chunk.and_then(|(bytes, parts)| Content::of_parts(name, bytes.into(), parts));
        let received = Received { is_get, request, group, members, content, name, took };
        (self.tell)(Event::Network(Box::new(NetworkEvent::Arrived(received))));
    }

    fn send_reports(&mut self) {
        for (node, report) in self.reports.drain(..) {
            self.shared.send_to(node, Body::Report(report));
        }
    }
}

/// Nodes have no proxies of groups, and the times in such messages are not translated.
fn is_of_a_proxy(message: &Message) -> bool {
    matches!(
        message,
        Message::ProxyRequest(_)
            | Message::ProxyReply(_)
            | Message::ProxyNotice(_)
            | Message::ProxyQuery(_)
            | Message::ProxyReport(_)
    )
}

/// As long as the question at most: no use to somebody who has forged the address.
fn answer_clock(shared: &Shared, peer: &Peer, received: Time, question: &Header) {
    let now = shared.clock.now();
    let echo = Some((question.sent_at, now.saturating_since(received)));
    let body = Body::Clock { wants_answer: false, heard: Vec::new() };
    shared.send_one(peer.address, shared.header(now, echo), body);
}
