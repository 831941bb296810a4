//! Hears datagrams, and decides which of them are believed.

use alloc::vec::Vec;
use core::net::SocketAddr;

use slotcast_protocol::{GroupId, Members, Message};
use slotcast_store::Content;
use slotcast_transport::{Address, Arrived, Body, Clock, Data, Datagram, Header, Purpose, Verdict};
use slotcast_units::Time;

use super::agree::Agreed;
use super::{Link, LinkEvent};
use crate::effect::Effect;

/// How far the epochs of two nodes that hear each other may be apart. What is said means the same in all of
/// them, since groups and seats stay. But a node that has missed more changes than that was away for long, and
/// has to learn first who is there.
pub(super) const EPOCHS_APART: u32 = 16;

impl Link {
    /// A datagram came, sealed with the key of the cluster; `via` is the group to whose multicast address it
    /// was sent.
    pub fn datagram(
        &mut self,
        now: Time,
        (from, via): (SocketAddr, Option<GroupId>),
        datagram: &Datagram<'_>,
        effects: &mut Vec<Effect>,
        events: &mut Vec<LinkEvent>,
    ) {
        let Datagram { header, body } = datagram;
        let is_own_multicast = header.sender == self.node && via.is_some();
        if !self.has_joined || is_own_multicast {
            return;
        }
        let Some(ahead) = self.believes(now, from, datagram, effects, events) else { return };
        let number = header.sender;
        match body {
            Body::Clock(clock) => {
                if clock.wants_answer {
                    // An answer does not say what is heard.
                    self.reach.told(now, number, &clock.heard);
                    self.answer_clock(now, from, (header, clock), effects);
                }
            }
            Body::Probe(group) if via == Some(*group) => self.reach.probe(now, number, *group),
            Body::Probe(_) => self.counters.malformed += 1,
            Body::Control(to, message) => self.message(header, (*to, message), ahead, events),
            Body::Data(data) => self.data(now, number, data, effects, events),
            Body::Failed(failed) => self.heard_failed(number, failed, events),
            Body::Survey(survey) => events.push(LinkEvent::Survey(number, survey.clone())),
            Body::SurveyReply(reply) => self.heard_reply(number, reply, events),
            Body::Short(short) => self.heard_short(now, number, *short),
            Body::Letter(letter) => self.read_letter(number, letter, events),
            Body::Report(report) => self.reported(now, number, report, effects, events),
        }
    }

    /// Whether a datagram is believed: by how much the sender's clock is ahead, as far as that is known.
    fn believes(
        &mut self,
        now: Time,
        from: SocketAddr,
        Datagram { header, body }: &Datagram<'_>,
        effects: &mut Vec<Effect>,
        events: &mut Vec<LinkEvent>,
    ) -> Option<Option<i64>> {
        if header.epoch.abs_diff(self.epoch) > EPOCHS_APART {
            self.counters.epoch += 1;
            return None;
        }
        let number = header.sender;
        let peer = self.peers.get_mut(&number).filter(|peer| peer.address == from);
        let Some(peer) = peer else {
            self.counters.address += 1;
            return None;
        };
        if !self.versions.contains(header.version) {
            self.counters.version += 1;
            if let Body::Clock(Clock { versions: Some(theirs), .. }) = body {
                self.hear_versions(number, *theirs, events);
            }
            return None;
        }
        let verdict = peer.state.judge(now, self.began, header);
        let ahead = peer.state.offset().ahead(now);
        match verdict {
            Verdict::Believed => {}
            Verdict::First | Verdict::Restarted => {
                peer.failed.clear();
                peer.short = None;
                peer.agreed = Agreed::default();
                if verdict == Verdict::Restarted {
                    events.push(LinkEvent::Restarted(number));
                }
                self.inbox.forget(number);
            }
            Verdict::Replayed => {
                self.counters.replayed += 1;
                return None;
            }
            Verdict::Unproven => {
                match body {
                    Body::Clock(clock) if clock.wants_answer => {
                        self.answer_clock(now, from, (header, clock), effects);
                    }
                    _ => self.counters.unproven += 1,
                }
                return None;
            }
        }
        let was_complete = self.has_agreed(number);
        match body {
            Body::Clock(clock) => self.learn(number, header, clock, events),
            _ if self.has_agreed_in(number, header.epoch) => {}
            _ => {
                let is_other_layout =
                    self.peers.get(&number).is_some_and(|peer| peer.agreed.refusal().is_some());
                match is_other_layout {
                    true => self.counters.layout += 1,
                    false => self.counters.unproven += 1,
                }
                return None;
            }
        }
        // So that it believes this node as soon; and an answer says what is still to be agreed on.
        let is_new = matches!(verdict, Verdict::First | Verdict::Restarted);
        if is_new || !was_complete && self.is_to_agree(number) {
            self.ask_clock(now, number, effects);
        }
        Some(ahead)
    }

    fn message(
        &mut self,
        header: &Header,
        (to, message): (Address, &Message),
        ahead: Option<i64>,
        events: &mut Vec<LinkEvent>,
    ) {
        let initiator = message.request().initiator.0;
        let expected = match to {
            Address::Group(..) => header.sender,
            Address::Initiator => self.node,
        };
        let is_expected = initiator == expected && !is_of_a_proxy(message);
        let Some(ahead) = ahead.filter(|_| is_expected) else {
            self.counters.malformed += 1;
            return;
        };
        let (from, message) = (header.sender, *message);
        if to == Address::Initiator {
            self.reach.answered(from);
        }
        self.suspicions.heard(from);
        let (sent_at, knows_more) = (header.sent_at, header.epoch > self.epoch);
        events.push(LinkEvent::Message { from, to, message, sent_at, ahead, knows_more });
    }

    fn data(
        &mut self,
        now: Time,
        number: u32,
        data: &Data<'_>,
        effects: &mut Vec<Effect>,
        events: &mut Vec<LinkEvent>,
    ) {
        let initiator = if data.purpose == Purpose::Get { self.node } else { number };
        if data.request.initiator.0 != initiator {
            self.counters.malformed += 1;
            return;
        }
        // A multicast is for some of those who hear it.
        let here = self.members_here.get(&data.group).copied().unwrap_or(Members::NONE);
        if data.purpose == Purpose::Put && data.members.intersection(here).is_empty() {
            return;
        }
        match self.inbox.piece(now, number, data, &mut self.reports) {
            Ok(arrived) => {
                self.send_reports(now, effects);
                if let Some(arrived) = arrived {
                    self.arrived(arrived, events);
                }
            }
            Err(_) => self.counters.full += 1,
        }
    }

    fn arrived(&mut self, arrived: Arrived, events: &mut Vec<LinkEvent>) {
        let Arrived { sender, purpose, request, group, members, name, chunk, took } = arrived;
        match chunk {
            Some(_) => self.counters.chunks_received += 1,
            None => self.counters.chunks_given_up += 1,
        }
        let content = chunk.and_then(|(bytes, parts)| Content::of_parts(name, bytes.into(), parts));
        let is_get = match purpose {
            Purpose::Put => false,
            Purpose::Get => true,
            Purpose::Letter => {
                if let Some(content) = content {
                    self.read_letter(sender, content.bytes(), events);
                }
                return;
            }
        };
        events.push(LinkEvent::Arrived { is_get, request, group, members, name, content, took });
    }

    /// Reminds senders that have fallen silent of what is missing, and gives up on those that stay so.
    pub(super) fn remind(
        &mut self,
        now: Time,
        effects: &mut Vec<Effect>,
        events: &mut Vec<LinkEvent>,
    ) {
        let mut given_up = Vec::new();
        self.inbox.wake(now, &mut self.reports, &mut given_up);
        self.send_reports(now, effects);
        given_up.into_iter().for_each(|arrived| self.arrived(arrived, events));
    }

    fn send_reports(&mut self, now: Time, effects: &mut Vec<Effect>) {
        while let Some((node, report)) = self.reports.pop() {
            self.send_to(now, node, Body::Report(report), effects);
        }
    }

    /// As long as the question at most: no use to somebody who has forged the address.
    fn answer_clock(
        &self,
        now: Time,
        to: SocketAddr,
        (question, clock): (&Header, &Clock),
        effects: &mut Vec<Effect>,
    ) {
        let echo = Some((question.sent_at, slotcast_units::Span::ZERO));
        let mut answer = self.clock(question.version);
        if clock.versions.is_none() {
            answer.versions = None;
        }
        let header = self.header(now, question.version, echo);
        let body = Body::Clock(answer);
        effects.push(Effect::Send(to, Datagram { header, body }));
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
