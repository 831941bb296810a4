//! Chunks that leave: which pieces, and when.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::net::SocketAddr;

use slotcast_protocol::{GroupId, Members, RequestId, TargetId, WindowRule};
use slotcast_store::Content;
use slotcast_transport::{Next, Pace, Purpose, Report, Sending};
use slotcast_units::{Size, Time};

use super::{Link, LinkEvent, members_of};
use crate::effect::{Effect, Pass};

/// A chunk to be sent.
#[derive(Debug, Clone)]
pub(crate) struct ToSend {
    pub(crate) request: RequestId,
    pub(crate) group: GroupId,
    pub(crate) members: Members,
    pub(crate) content: Content,
    pub(crate) start: Time,
    /// What it is.
    pub(crate) purpose: Purpose,
    /// The target that answers a get with it; none of anything else.
    pub(crate) source: Option<TargetId>,
}

/// A chunk on its way.
#[derive(Debug)]
pub(super) struct Outgoing {
    transfer: u32,
    sending: Sending,
    address: SocketAddr,
    is_multicast: bool,
    to: Vec<(u32, Members)>,
    chunk: ToSend,
    /// A pass is with the host.
    is_leaving: bool,
    has_left: bool,
    due: Time,
}

impl Outgoing {
    pub(super) fn due(&self) -> Time {
        if self.is_leaving { Time::NEVER } else { self.due }
    }

    /// The members whose nodes have not said that they have all.
    fn not_reached(&self) -> Members {
        let waiting: Vec<u32> = self.sending.waiting_for().collect();
        let missed = self.to.iter().filter(|(node, _)| waiting.contains(node));
        members_of(&missed.copied().collect::<Vec<_>>())
    }
}

impl Link {
    /// Sends the chunk of a put to the members on other nodes; gives those on this one. In one multicast where
    /// that is how chunks travel and the nodes hear it, to the others one after another.
    pub fn send_put(
        &mut self,
        now: Time,
        (request, group, members): (RequestId, GroupId, Members),
        content: &Content,
        start: Time,
        effects: &mut Vec<Effect>,
    ) -> Members {
        let (here, away) = self.seats.split(self.node, group, members);
        if away.is_empty() {
            return here;
        }
        let size = Size::from_bytes(content.bytes().len() as u64);
        let mut start = start;
        let hears = |(node, _): &(u32, Members)| {
            self.sends_chunks_by_multicast() && away.len() > 1 && self.reaches(now, *node, group)
        };
        let (hearing, others): (Vec<_>, Vec<_>) = away.iter().copied().partition(hears);
        let to_send = |members, start| {
            let content = content.clone();
            let purpose = Purpose::Put;
            ToSend { request, group, members, content, start, purpose, source: None }
        };
        if let Some(address) = self.multicast_of(group).filter(|_| !hearing.is_empty()) {
            let chunk = to_send(members_of(&hearing), start);
            self.send(now, chunk, hearing, (address, true), effects);
            start += self.timing.transfer(size);
        }
        for to in others {
            let Some(address) = self.address_of(to.0) else { continue };
            self.send(now, to_send(to.1, start), [to].into(), (address, false), effects);
            start += self.timing.transfer(size);
        }
        here
    }

    /// Sends a chunk to the node that asked for it.
    pub(crate) fn send_get(&mut self, now: Time, chunk: ToSend, effects: &mut Vec<Effect>) {
        let node = chunk.request.initiator.0;
        if let Some(address) = self.address_of(node) {
            let to = [(node, chunk.members)].into();
            self.send(now, chunk, to, (address, false), effects);
        }
    }

    pub(super) fn send(
        &mut self,
        now: Time,
        chunk: ToSend,
        to: Vec<(u32, Members)>,
        (address, is_multicast): (SocketAddr, bool),
        effects: &mut Vec<Effect>,
    ) {
        let length = chunk.content.bytes().len();
        let window = WindowRule::published(self.map.delivery)
            .size_for(&self.timing, Size::from_bytes(length as u64));
        let spare = window.accepted.saturating_sub(window.transfer);
        let slack = spare.max(self.timing.trip * 2).max(self.times.least_slack);
        let pace = Pace {
            start: chunk.start,
            rate: self.timing.data_rate,
            slack,
            give_up: chunk.start + window.accepted * 2 + self.times.repeats,
        };
        let count = length.div_ceil(usize::from(self.piece_len));
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        let nodes: Vec<u32> = to.iter().map(|(node, _)| *node).collect();
        let transfer = self.transfers;
        self.transfers = self.transfers.wrapping_add(1);
        let start = chunk.start;
        self.outgoing.push(Outgoing {
            transfer,
            sending: Sending::new(pace, count, self.piece_len, &nodes),
            address,
            is_multicast,
            to,
            chunk,
            is_leaving: false,
            has_left: false,
            due: start,
        });
        // The host waits for the start of the window: a thread that is told then would be late.
        let last = self.outgoing.len() - 1;
        self.advance(start.max(now), last, effects);
    }

    /// Does what is due for chunks that leave.
    pub(super) fn send_due(
        &mut self,
        now: Time,
        effects: &mut Vec<Effect>,
        events: &mut Vec<LinkEvent>,
    ) {
        let mut i = 0;
        while i < self.outgoing.len() {
            let is_over = self.outgoing[i].due() <= now && self.advance(now, i, effects);
            if is_over { self.end(now, i, events) } else { i += 1 }
        }
    }

    /// Asks what comes next for a chunk; true if it is over.
    fn advance(&mut self, now: Time, i: usize, effects: &mut Vec<Effect>) -> bool {
        let outgoing = &mut self.outgoing[i];
        let mut pieces = Vec::new();
        match outgoing.sending.next(now, usize::MAX, &mut pieces) {
            Next::Over(_) => return true,
            Next::Wait(until) => outgoing.due = until,
            Next::Send { pass, .. } => {
                outgoing.is_leaving = true;
                if pass > 0 {
                    self.counters.repeated_pieces += pieces.len() as u64;
                }
                self.send_pass(now, i, pass, pieces, effects);
            }
        }
        false
    }

    fn send_pass(
        &mut self,
        start: Time,
        i: usize,
        pass: u8,
        pieces: Vec<u32>,
        effects: &mut Vec<Effect>,
    ) {
        let outgoing = &self.outgoing[i];
        let version = self.version_for(outgoing.to.iter().map(|(node, _)| *node));
        let header = self.header(start, version, None);
        let pace = outgoing.sending.pace();
        let node = outgoing.to.first().filter(|_| !outgoing.is_multicast);
        let peer = node.and_then(|(node, _)| self.peers.get(node));
        let ToSend { request, group, members, ref content, purpose, .. } = outgoing.chunk;
        effects.push(Effect::SendPieces(Box::new(Pass {
            to: outgoing.address,
            header,
            echo: peer.and_then(|peer| peer.state.last_heard()),
            transfer: outgoing.transfer,
            pass,
            purpose,
            slack: pace.slack,
            request,
            group,
            members,
            content: content.clone(),
            piece_len: self.piece_len,
            pieces,
            start,
            piece_time: outgoing.sending.piece_time(),
            give_up: pace.give_up,
        })));
    }

    /// All pieces of a pass of a transfer have left.
    pub fn left(
        &mut self,
        now: Time,
        transfer: u32,
        effects: &mut Vec<Effect>,
        events: &mut Vec<LinkEvent>,
    ) {
        let of = |outgoing: &Outgoing| outgoing.transfer == transfer;
        let Some(i) = self.outgoing.iter().position(of) else { return };
        let outgoing = &mut self.outgoing[i];
        outgoing.is_leaving = false;
        outgoing.sending.left(now);
        if !outgoing.has_left {
            outgoing.has_left = true;
            let source = outgoing.chunk.source;
            events.extend(source.map(|target| LinkEvent::Sent(target, outgoing.chunk.request)));
        }
        if self.advance(now, i, effects) {
            self.end(now, i, events);
        }
    }

    /// A node says what it lacks.
    pub(super) fn reported(
        &mut self,
        now: Time,
        node: u32,
        report: &Report,
        effects: &mut Vec<Effect>,
        events: &mut Vec<LinkEvent>,
    ) {
        let of = |outgoing: &Outgoing| outgoing.transfer == report.transfer;
        let Some(i) = self.outgoing.iter().position(of) else { return };
        let outgoing = &mut self.outgoing[i];
        // What is missing while pieces are still leaving need not be sent again.
        if outgoing.is_leaving && !report.missing.is_empty() {
            return;
        }
        outgoing.sending.reported(now, node, report);
        let has_ended = outgoing.sending.is_over();
        if has_ended || (!outgoing.is_leaving && self.advance(now, i, effects)) {
            self.end(now, i, events);
        }
    }

    /// A transfer is over, one way or the other.
    fn end(&mut self, now: Time, i: usize, events: &mut Vec<LinkEvent>) {
        let outgoing = self.outgoing.swap_remove(i);
        let ToSend { request, group, purpose, source, .. } = outgoing.chunk;
        if purpose == Purpose::Letter {
            // Whoever waits for an answer asks again.
            return;
        }
        self.counters.chunks_sent += 1;
        if let (Some(target), false) = (source, outgoing.has_left) {
            events.push(LinkEvent::Sent(target, request));
        }
        let missed = outgoing.not_reached();
        let reached = members_of(&outgoing.to).without(missed);
        if source.is_none() && !reached.is_empty() {
            events.push(LinkEvent::Reached(request, reached));
        }
        if missed.is_empty() {
            return;
        }
        self.counters.chunks_not_delivered += 1;
        if outgoing.is_multicast {
            for node in outgoing.sending.waiting_for() {
                self.reach.missed(now, node, group);
            }
        }
        if source.is_none() {
            events.push(LinkEvent::NotReached(request, missed));
        }
    }
}
