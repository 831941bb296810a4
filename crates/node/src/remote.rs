//! The other nodes, as the reactor sees them: where the members of a group are, on which clock they speak,
//! and who is not there.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use slotcast_protocol::{
    AckOutcome, Bid, BidAnswer, GroupId, GroupMap, InitiatorId, Members, Message, Offer,
    OfferAnswer, ReplicaAck, RequestId, TargetId,
};
use slotcast_store::Content;
use slotcast_transport::{Address, Availability, Suspicions, translate};
use slotcast_units::{Span, Time};

use crate::cluster::ClusterMap;
use crate::network::{Heard, Network, Shared, ToSend};
use crate::reactor::Local;

/// What the reactor needs to speak with other nodes.
pub(crate) struct Remote {
    node: u32,
    network: Network,
    /// The nodes of the members of each group, in order of position; [`NOBODY`] for an empty seat.
    nodes: Vec<Vec<u32>>,
    /// The members of each group that hold chunks.
    asked: Vec<Members>,
    pub(crate) suspicions: Suspicions,
    /// By how much the clock was ahead of the member at a position that made an offer for a request: what is
    /// granted goes back by the same.
    ahead: BTreeMap<(RequestId, u8), i64>,
}

/// The node of an empty seat.
const NOBODY: u32 = u32::MAX;

impl Remote {
    pub(crate) fn new(
        node: u32,
        network: Network,
        groups: &GroupMap,
        node_of: &BTreeMap<TargetId, u32>,
        times: (Span, Span),
    ) -> Remote {
        let (nodes, asked) = seats(groups, node_of);
        let others = node_of.values().copied().filter(|other| *other != node);
        let suspicions = Suspicions::new(Time::ZERO, times, others);
        Remote { node, network, nodes, asked, suspicions, ahead: BTreeMap::new() }
    }

    /// Takes another map; gives the nodes of which nothing is known yet.
    pub(crate) fn take(&mut self, now: Time, map: &ClusterMap, groups: &GroupMap) -> Vec<u32> {
        let new = self.network.shared().take(map, groups);
        (self.nodes, self.asked) = seats(groups, &map.node_of_targets());
        self.suspicions.follow(now, |node| map.node(node).is_some(), &new);
        new
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        self.network.shared()
    }

    /// Whether the initiator is that of this node.
    pub(crate) fn is_here(&self, initiator: InitiatorId) -> bool {
        initiator.0 == self.node
    }

    /// Of `members` of `group`, those on this node, and the others by their nodes.
    fn split(&self, group: GroupId, members: Members) -> (Members, Vec<(u32, Members)>) {
        let mut here = Members::NONE;
        let mut away: Vec<(u32, Members)> = Vec::new();
        let nodes = &self.nodes[group.0 as usize];
        for position in members.iter() {
            let node = nodes[usize::from(position)];
            if node == self.node {
                here.insert(position);
            } else if let Some((_, members)) = away.iter_mut().find(|(other, _)| *other == node) {
                members.insert(position);
            } else {
                away.push((node, Members::from_bits(1 << position)));
            }
        }
        (here, away)
    }

    /// The targets of this node among `members` of `group`. Both come from another node, and may be anything.
    pub(crate) fn targets_here(
        &self,
        group: GroupId,
        members: Members,
        groups: &GroupMap,
    ) -> Vec<TargetId> {
        let Some(nodes) = self.nodes.get(group.0 as usize) else { return Vec::new() };
        let is_here = |position: &u8| nodes.get(usize::from(*position)) == Some(&self.node);
        let targets = groups.members(group);
        members.iter().filter(is_here).map(|position| targets[usize::from(position)]).collect()
    }

    /// A message came from another node; `is_running` if this node has a request of its number under way.
    pub(crate) fn heard(
        &mut self,
        heard: &Heard,
        is_running: bool,
        groups: &GroupMap,
        local: &mut VecDeque<Local>,
    ) {
        let Heard { from, to, message, sent_at, received, ahead, knows_more } = *heard;
        self.suspicions.heard(from);
        match to {
            Address::Initiator => {
                let position = match &message {
                    Message::Bid(bid) => Some(bid.position),
                    Message::Offer(offer) => Some(offer.position),
                    _ => None,
                };
                if let Some(position) = position.filter(|_| is_running) {
                    self.ahead.insert((message.request(), position), ahead);
                }
                let message = if knows_more { concluding_nothing(message) } else { message };
                local.push_back(Local::ToInitiator(translate::answer(&message, -ahead)));
            }
            Address::Group(group, members) => {
                let message = translate::request(&message, sent_at, received);
                let targets = self.targets_here(group, members, groups);
                local.extend(targets.into_iter().map(|target| Local::ToTarget(target, message)));
            }
        }
    }

    /// Says something to the members of a group on other nodes; gives those on this one.
    pub(crate) fn tell_group(
        &mut self,
        now: Time,
        group: GroupId,
        to: Members,
        message: Message,
        local: &mut VecDeque<Local>,
    ) -> Members {
        let (here, mut away) = self.split(group, to);
        let is_question = matches!(message, Message::PutRequest(_) | Message::GetRequest(_));
        away.retain(|(node, members)| {
            let availability = self.suspicions.told(now, *node, is_question);
            if availability != Availability::Available {
                let answers = members.iter().filter_map(|position| answer_for(&message, position));
                local.extend(answers.map(Local::ToInitiator));
            }
            availability != Availability::Down
        });
        if !away.is_empty() {
            let request = message.request();
            let ahead = |position| self.ahead.get(&(request, position)).copied().unwrap_or(0);
            let message = translate::acceptance(&message, ahead);
            for _ in 0..times(&message) {
                self.network.tell_group(now, group, &away, message);
            }
        }
        here
    }

    pub(crate) fn tell_initiator(&self, to: InitiatorId, message: Message) {
        for _ in 0..times(&message) {
            self.network.tell_initiator(to.0, message);
        }
    }

    /// Sends the chunk of a put to the members on other nodes; gives those on this one.
    pub(crate) fn send_put(
        &self,
        now: Time,
        request: RequestId,
        group: GroupId,
        to: Members,
        content: &Content,
        start: Time,
    ) -> Members {
        let (here, away) = self.split(group, to);
        if !away.is_empty() {
            let (members, content) = (to.without(here), content.clone());
            let to_send = ToSend { request, group, members, content, start, source: None };
            self.network.send_put(now, &to_send, &away);
        }
        here
    }

    /// Sends the chunk of a get from `target` to the node that asked for it.
    pub(crate) fn send_get(
        &self,
        target: TargetId,
        request: RequestId,
        content: Content,
        start: Time,
        groups: &GroupMap,
    ) {
        let (group, position) = groups.seat(target);
        let members = Members::from_bits(1 << position);
        let to_send = ToSend { request, group, members, content, start, source: Some(target) };
        self.network.send_get(&to_send);
    }

    /// The chunk of a put did not reach `members`: their part of the put has failed, and the initiator need
    /// not wait for them until its time is up.
    pub(crate) fn not_reached(
        &self,
        request: RequestId,
        members: Members,
        local: &mut VecDeque<Local>,
    ) {
        for position in members.iter() {
            let ack = ReplicaAck { request, position, outcome: AckOutcome::Damaged };
            local.push_back(Local::ToInitiator(Message::ReplicaAck(ack)));
        }
    }

    /// Whether a member of `group` is away and may be back soon.
    pub(crate) fn may_return(&self, now: Time, group: GroupId) -> bool {
        let nodes = &self.nodes[group.0 as usize];
        let mut asked = self.asked[group.0 as usize].iter().map(|p| nodes[usize::from(p)]);
        asked.any(|node| self.suspicions.may_return(now, node))
    }

    /// The groups that a node has members of, and their positions there.
    pub(crate) fn members_of(&self, node: u32) -> Vec<(GroupId, Members)> {
        let positions = |nodes: &Vec<u32>| {
            let mut members = Members::NONE;
            let of_node = (0..).zip(nodes).filter(|(_, other)| **other == node);
            of_node.for_each(|(position, _)| members.insert(position));
            members
        };
        let all = (0..).map(GroupId).zip(self.nodes.iter().map(positions));
        all.filter(|(_, members)| !members.is_empty()).collect()
    }

    /// Begins to hear the other nodes, and to be heard by them.
    pub(crate) fn join(&mut self) {
        self.network.join();
    }

    /// The nodes of members of `group`, each once.
    pub(crate) fn nodes_of(&self, group: GroupId, members: Members) -> Vec<u32> {
        let nodes = &self.nodes[group.0 as usize];
        let nodes = members.iter().map(|position| nodes[usize::from(position)]);
        nodes.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// A request is over.
    pub(crate) fn forget(&mut self, request: RequestId) {
        let mut of_request = self.ahead.extract_if((request, 0)..=(request, u8::MAX), |_, _| true);
        of_request.by_ref().for_each(drop);
    }
}

/// The nodes of the members of each group, and which of those hold chunks.
fn seats(groups: &GroupMap, node_of: &BTreeMap<TargetId, u32>) -> (Vec<Vec<u32>>, Vec<Members>) {
    let of = |target: &TargetId| node_of.get(target).copied().unwrap_or(NOBODY);
    let all = (0..groups.groups()).map(GroupId);
    all.map(|group| {
        (groups.members(group).iter().map(of).collect(), groups.members_for_gets(group))
    })
    .unzip()
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

/// What is answered for a member that cannot, so that nobody waits for it.
pub(crate) fn answer_for(message: &Message, position: u8) -> Option<Message> {
    Some(match message {
        Message::PutRequest(asked) => Message::Bid(Bid {
            request: asked.request,
            round: asked.round,
            position,
            answer: BidAnswer::Unavailable,
        }),
        Message::GetRequest(asked) => Message::Offer(Offer {
            request: asked.request,
            round: asked.round,
            position,
            answer: OfferAnswer::Unavailable,
        }),
        _ => return None,
    })
}
