//! Sends chunks piece by piece, at the granted rate, and keeps in touch with the peers.

use std::net::SocketAddr;
use std::sync::Arc;

use crossbeam_channel::{Receiver, RecvTimeoutError};
use slotcast_protocol::{GroupId, Members, PartValue, RequestId, TargetId, WindowRule};
use slotcast_schedule::TokenBucket;
use slotcast_store::Content;
use slotcast_transport::{Body, Data, Datagram, HEADER_LEN, Next, Pace, Report, Sending};
use slotcast_units::{Size, Span, Time};

use super::counters::count;
use super::peer::Peer;
use super::shared::Shared;
use super::{BEAT, FIRST_BEAT, NetworkEvent, SILENCE, ToSend, YOUTH};
use crate::mailbox::Tell;
use crate::reactor::Event;

/// From one probe of a group to the next.
const PROBE: Span = Span::from_ms(200);

/// What the sender is told.
pub(super) enum ToSender {
    Chunk(Box<Outgoing>),
    /// A node says what it lacks.
    Report(u32, Report),
    Stop,
}

/// A chunk on its way.
pub(super) struct Outgoing {
    transfer: u32,
    sending: Sending,
    address: SocketAddr,
    /// The only node that it goes to, for an echo.
    node: Option<u32>,
    to: Vec<(u32, Members)>,
    request: RequestId,
    group: GroupId,
    members: Members,
    content: Content,
    slack: Span,
    source: Option<TargetId>,
    is_told: bool,
}

/// Reports are not awaited for less than this: threads of a busy machine are late by as much.
const LEAST_SLACK: Span = Span::from_ms(1);

/// How long after its window a chunk may still be repeated. The target keeps its reservation for longer.
const GRACE: Span = Span::from_ms(250);

impl Outgoing {
    /// The chunk of `to_send` for some nodes at `address`, from `start` on.
    pub(super) fn new(
        shared: &Shared,
        to_send: &ToSend,
        to: Vec<(u32, Members)>,
        address: SocketAddr,
        start: Time,
    ) -> Outgoing {
        let ToSend { request, group, ref content, source, .. } = *to_send;
        let length = content.bytes().len();
        let size = Size::from_bytes(length as u64);
        let window = WindowRule::published(shared.map.delivery).size_for(&shared.timing, size);
        let slack =
            (window.accepted - window.transfer).max(shared.timing.trip * 2).max(LEAST_SLACK);
        let pace = Pace {
            start,
            rate: shared.timing.data_rate,
            slack,
            give_up: start + window.accepted * 2 + GRACE,
        };
        let count = length.div_ceil(usize::from(shared.piece_len));
        let nodes: Vec<u32> = to.iter().map(|(node, _)| *node).collect();
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        Outgoing {
            transfer: shared.next_transfer(),
            sending: Sending::new(pace, count, shared.piece_len, &nodes),
            address,
            node: if let [node] = nodes[..] { Some(node) } else { None },
            members: to.iter().fold(Members::NONE, |all, (_, members)| all.union(*members)),
            to,
            request,
            group,
            content: content.clone(),
            slack,
            source,
            is_told: false,
        }
    }

    /// The members whose nodes have not said that they have all.
    fn not_reached(&self) -> Members {
        let waiting: Vec<u32> = self.sending.waiting_for().collect();
        let missed = self.to.iter().filter(|(node, _)| waiting.contains(node));
        missed.fold(Members::NONE, |all, (_, members)| all.union(*members))
    }
}

/// The sending thread.
pub(super) struct Chunks {
    shared: Arc<Shared>,
    inbox: Receiver<ToSender>,
    tell: Tell,
    outgoing: Vec<Outgoing>,
    pieces: Vec<u32>,
    buffer: Vec<u8>,
    next_beat: Time,
    next_probe: Time,
    /// What chunks may take of the link, if that is limited.
    limit: Option<TokenBucket>,
}

/// The longest that one call of the system can send.
const BATCH: usize = 65_000;

impl Chunks {
    pub(super) fn new(
        shared: Arc<Shared>,
        inbox: Receiver<ToSender>,
        tell: Tell,
        limit: Option<TokenBucket>,
    ) -> Chunks {
        Chunks {
            shared,
            inbox,
            tell,
            outgoing: Vec::new(),
            pieces: Vec::new(),
            buffer: Vec::with_capacity(BATCH),
            next_beat: Time::ZERO,
            next_probe: Time::ZERO,
            limit,
        }
    }

    pub(super) fn run(mut self) {
        loop {
            let now = self.shared.clock.now();
            self.beat(now);
            let wake = self.send_due().min(self.next_beat).min(self.next_probe);
            let deadline = self.shared.clock.instant(wake);
            match self.inbox.recv_deadline(deadline) {
                Ok(ToSender::Chunk(outgoing)) => self.outgoing.push(*outgoing),
                Ok(ToSender::Report(node, report)) => self.reported(node, &report),
                Err(RecvTimeoutError::Timeout) => {}
                Ok(ToSender::Stop) | Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn reported(&mut self, node: u32, report: &Report) {
        let now = self.shared.clock.now();
        let of = |outgoing: &&mut Outgoing| outgoing.transfer == report.transfer;
        if let Some(outgoing) = self.outgoing.iter_mut().find(of) {
            outgoing.sending.reported(now, node, report);
        }
    }

    /// Sends one batch of every chunk that is due; says when the next one will be.
    fn send_due(&mut self) -> Time {
        let most = (BATCH / self.shared.map.datagram).max(1);
        let mut wake = Time::NEVER;
        let mut i = 0;
        while i < self.outgoing.len() {
            let now = self.shared.clock.now();
            let may_send = self.limit.map_or(now, |limit| limit.paid_at(now));
            if may_send > now {
                // Whoever is next takes its turn then: the others come after it.
                return wake.min(may_send);
            }
            match self.outgoing[i].sending.next(now, most, &mut self.pieces) {
                Next::Send { pass, ends_pass } => {
                    self.send_pieces(now, i, pass, ends_pass);
                    wake = now;
                    i += 1;
                }
                Next::Wait(until) => {
                    wake = wake.min(until);
                    i += 1;
                }
                Next::Over(everybody_has_it) => {
                    let outgoing = self.outgoing.swap_remove(i);
                    self.over(&outgoing, everybody_has_it);
                }
            }
        }
        wake
    }

    fn over(&mut self, outgoing: &Outgoing, everybody_has_it: bool) {
        let counters = &self.shared.counters;
        count(&counters.chunks_sent, 1);
        self.tell_sent(outgoing);
        if !everybody_has_it {
            count(&counters.chunks_not_delivered, 1);
            if outgoing.address.ip().is_multicast() {
                let now = self.shared.clock.now();
                let mut reach = self.shared.reach();
                outgoing.sending.waiting_for().for_each(|node| {
                    reach.missed(now, node, outgoing.group);
                });
            }
            if outgoing.source.is_none() {
                let missed = outgoing.not_reached();
                let event = NetworkEvent::NotReached(outgoing.request, missed);
                (self.tell)(Event::Network(Box::new(event)));
            }
        }
    }

    fn tell_sent(&self, outgoing: &Outgoing) {
        if let (Some(target), false) = (outgoing.source, outgoing.is_told) {
            let event = NetworkEvent::Sent(target, outgoing.request);
            (self.tell)(Event::Network(Box::new(event)));
        }
    }

    fn send_pieces(&mut self, now: Time, i: usize, pass: u8, ends_pass: bool) {
        let shared = &self.shared;
        let outgoing = &self.outgoing[i];
        let bytes = outgoing.content.bytes();
        let piece_len = usize::from(shared.piece_len);
        let view = shared.view();
        let peer = outgoing.node.and_then(|node| view.peers.get(&node));
        let echo = peer.and_then(|peer| peer.state().echo(now));
        self.buffer.clear();
        let mut segment = HEADER_LEN;
        let parts = outgoing.content.parts();
        let parts = parts.filter(|parts| parts.len() == u32::from(shared.piece_len));
        for (n, &piece) in self.pieces.iter().enumerate() {
            let at = piece as usize * piece_len;
            let piece_bytes = &bytes[at..bytes.len().min(at + piece_len)];
            let known = parts.and_then(|parts| parts.value(piece as usize));
            let value = known.unwrap_or_else(|| PartValue::of(at as u64, piece_bytes));
            let data = Data {
                is_get: outgoing.source.is_some(),
                is_last: ends_pass && n + 1 == self.pieces.len(),
                pass,
                transfer: outgoing.transfer,
                piece: u16::try_from(piece).expect("at most 8192 pieces"),
                piece_len: shared.piece_len,
                length: u32::try_from(bytes.len()).expect("at most 8 MiB"),
                slack: outgoing.slack,
                request: outgoing.request,
                group: outgoing.group,
                members: outgoing.members,
                name: outgoing.content.chunk(),
                bytes: piece_bytes,
                value,
            };
            let datagram = Datagram { header: shared.header(now, echo), body: Body::Data(data) };
            let length = datagram.encode(&shared.key, &mut self.buffer);
            segment = segment.max(length);
        }
        let datagrams = self.pieces.len() as u64;
        shared.send_bytes(outgoing.address, &self.buffer, segment, datagrams);
        if let Some(limit) = &mut self.limit {
            limit.take(now, Size::from_bytes(self.buffer.len() as u64));
        }
        if pass > 0 {
            count(&shared.counters.repeated_pieces, datagrams);
        }
        if ends_pass {
            self.tell_sent(&self.outgoing[i]);
            self.outgoing[i].is_told = true;
        }
    }

    /// Tells the reactor what has changed for a peer.
    fn look(&self, now: Time, peer: &Peer) {
        let mut changes = Vec::new();
        peer.state().look(now, &SILENCE, &mut changes);
        for change in changes {
            let event = NetworkEvent::Peer(peer.number, change);
            (self.tell)(Event::Network(Box::new(event)));
        }
    }

    /// Says something to every peer, and probes the multicast.
    fn beat(&mut self, now: Time) {
        let shared = &self.shared;
        if now >= self.next_beat {
            let mut all_known = true;
            for peer in shared.view().peers.values() {
                self.look(now, peer);
                all_known &= peer.state().is_up();
                shared.ask_clock(now, peer.number);
            }
            let is_young = now.saturating_since(shared.clock.began()) < YOUTH;
            self.next_beat = now + if all_known || !is_young { BEAT } else { FIRST_BEAT };
        }
        if now >= self.next_probe {
            let view = shared.view();
            let mut groups: Vec<GroupId> = view.groups_of.values().flatten().copied().collect();
            groups.sort();
            groups.dedup();
            for group in groups {
                if let Some(address) = shared.multicast_of(group) {
                    shared.send_multicast(address, Body::Probe(group));
                }
            }
            self.next_probe = now + PROBE;
        }
    }
}
