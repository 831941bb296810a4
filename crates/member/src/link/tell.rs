//! Says something to targets and initiators of other nodes.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use slotcast_protocol::{GroupId, Members, Message, Offer, OfferAnswer, RequestId};
use slotcast_transport::{Address, Availability, Body, translate};
use slotcast_units::Time;

use super::{Link, members_of};
use crate::effect::Effect;
use crate::outbox::{Mail, answer_for};

impl Link {
    /// Says something to members of a group on other nodes; gives those on this one. For those that are not
    /// available an answer is put into `mail`.
    pub(crate) fn tell_group(
        &mut self,
        now: Time,
        (group, to): (GroupId, Members),
        message: &Message,
        mail: &mut VecDeque<Mail>,
        effects: &mut Vec<Effect>,
    ) -> Members {
        let (here, mut away) = self.seats.split(self.node, group, to);
        let is_question = matches!(message, Message::PutRequest(_) | Message::GetRequest(_));
        away.retain(|(node, members)| {
            let availability = self.suspicions.told(now, *node, is_question);
            if availability != Availability::Available {
                let answers = members.iter().filter_map(|position| answer_for(message, position));
                mail.extend(answers.map(Mail::ToInitiator));
            }
            availability != Availability::Down
        });
        if !away.is_empty() {
            let request = message.request();
            let ahead = |position| self.ahead.get(&(request, position)).copied().unwrap_or(0);
            let message = translate::acceptance(message, ahead);
            for _ in 0..times(&message) {
                self.send_to_group(now, group, &away, message, effects);
            }
        }
        here
    }

    /// By multicast if it reaches all of the nodes, and else to each.
    fn send_to_group(
        &mut self,
        now: Time,
        group: GroupId,
        to: &[(u32, Members)],
        message: Message,
        effects: &mut Vec<Effect>,
    ) {
        if to.len() > 1
            && let Some(address) = self.multicast_of(group)
            && to.iter().all(|(node, _)| self.reaches(now, *node, group))
        {
            if matches!(message, Message::PutRequest(_) | Message::GetRequest(_)) {
                to.iter().for_each(|(node, _)| self.reach.asked(now, *node));
            }
            let body = Body::Control(Address::Group(group, members_of(to)), message);
            let version = self.version_for(to.iter().map(|(node, _)| *node));
            return self.send_multicast(now, (address, version), body, effects);
        }
        for (node, members) in to {
            let body = Body::Control(Address::Group(group, *members), message);
            self.send_to(now, *node, body, effects);
        }
    }

    /// Says something to the initiator of a node.
    pub(crate) fn tell_initiator(
        &mut self,
        now: Time,
        node: u32,
        message: Message,
        effects: &mut Vec<Effect>,
    ) {
        for _ in 0..times(&message) {
            self.send_to(now, node, Body::Control(Address::Initiator, message), effects);
        }
    }

    /// What an answer that came says on this node's clock; `ahead` is by how much the sender's clock is ahead.
    /// It is remembered if the request is under way here.
    pub(crate) fn answered(
        &mut self,
        message: Message,
        (ahead, knows_more, is_running): (i64, bool, bool),
    ) -> Message {
        let position = match &message {
            Message::Bid(bid) => Some(bid.position),
            Message::Offer(offer) => Some(offer.position),
            _ => None,
        };
        if let Some(position) = position.filter(|_| is_running) {
            self.ahead.insert((message.request(), position), ahead);
        }
        let message = if knows_more { concluding_nothing(message) } else { message };
        translate::answer(&message, -ahead)
    }

    /// A request is over.
    pub(crate) fn forget(&mut self, request: RequestId) {
        let of_request = self.ahead.extract_if((request, 0)..=(request, u8::MAX), |_, _| true);
        of_request.for_each(drop);
    }
}

/// Whoever has a later map knows of members that this node does not ask: that it does not hold a chunk itself
/// says nothing about those.
fn concluding_nothing(message: Message) -> Message {
    match message {
        Message::Offer(Offer { request, round, position, answer: OfferAnswer::NotHeld }) => {
            let answer = OfferAnswer::Unavailable;
            Message::Offer(Offer { request, round, position, answer })
        }
        other => other,
    }
}

/// How often a message is sent. A question that is lost is asked again soon; what is not answered would be
/// missed for seconds, and hearing it twice changes nothing.
fn times(message: &Message) -> u32 {
    match message {
        Message::PutAccept(_)
        | Message::GetAccept(_)
        | Message::ReplicaAck(_)
        | Message::Undelivered(_)
        | Message::LateReject(_) => 2,
        _ => 1,
    }
}
