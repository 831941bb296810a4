//! What is concluded from what other nodes say, and from their silence.

use alloc::vec::Vec;

use slotcast_protocol::{
    AckOutcome, GroupId, InitiatorInput, Members, Message, ReplicaAck, RequestId, TargetId,
};
use slotcast_transport::{Address, PeerChange, translate};
use slotcast_units::Time;

use super::Member;
use crate::effect::{Effect, Note};
use crate::link::LinkEvent;
use crate::mistake::Mistake;
use crate::outbox::Mail;
use crate::target::TargetInput;
use crate::timers::Timer;

impl Member {
    /// The time in which the other nodes are awaited begins now.
    pub(super) fn expect_peers(&mut self, now: Time) {
        let Some(link) = &mut self.outbox.link else { return };
        let gone_at = now + link.suspicions.gone_after();
        for node in link.suspicions.begin(now) {
            self.timers.at(gone_at, Timer::PeerGone(node));
        }
    }

    /// Begins to speak with the other nodes.
    pub(super) fn join(&mut self, now: Time) {
        if let Some(link) = &mut self.outbox.link {
            link.join(now);
        }
    }

    /// The other nodes hear of a target that has failed, so that they make up for it, or that is there again.
    pub(super) fn tell_failure(&mut self, now: Time, target: TargetId, has_failed: bool) {
        let (group, position) = self.groups.seat(target);
        self.upsets += 1;
        if has_failed {
            let members = Members::only(position);
            self.tell_initiator(now, InitiatorInput::Restarted { group, members });
        }
        let is_silent = self.errs(Mistake::FailsInSilence);
        if let Some(link) = self.outbox.link.as_mut().filter(|_| !is_silent) {
            link.set_failed(now, (group, position), has_failed, &mut self.outbox.effects);
        }
    }

    /// Targets of a peer have failed.
    fn peer_failed(&mut self, now: Time, node: u32, group: GroupId, members: Members) {
        self.upsets += 1;
        let targets = self.groups.members(group).to_vec();
        for position in members.iter() {
            self.note(Note::PeerTargetFailed(node, targets[usize::from(position)]));
        }
        // What they have acknowledged counts no more than that of an earlier incarnation.
        self.tell_initiator(now, InitiatorInput::Restarted { group, members });
        self.expect_scan(now, group);
    }

    fn note(&mut self, note: Note) {
        self.outbox.effects.push(Effect::Note(note));
    }

    pub(super) fn link_event(&mut self, now: Time, event: LinkEvent) {
        match event {
            LinkEvent::Message { to: Address::Initiator, message, ahead, knows_more, .. } => {
                let is_running = self.running.contains_key(&message.request());
                let ahead = if self.errs(Mistake::WrongClock) { -ahead } else { ahead };
                let Some(link) = &mut self.outbox.link else { return };
                let message = link.answered(message, (ahead, knows_more, is_running));
                self.outbox.mail.push_back(Mail::ToInitiator(message));
            }
            LinkEvent::Message { to: Address::Group(group, members), message, sent_at, .. } => {
                let message = translate::request(&message, sent_at, now);
                let targets = self.targets_here(group, members);
                let to = |target| Mail::ToTarget(target, message);
                self.outbox.mail.extend(targets.into_iter().map(to));
            }
            LinkEvent::Arrived { is_get: true, request, content, .. } => {
                self.delivered(now, request, content);
            }
            LinkEvent::Arrived { request, group, members, name, content, took, .. } => {
                for target in self.targets_here(group, members) {
                    let input = match content.clone() {
                        Some(content) => TargetInput::Received(request, content, Some(took)),
                        None => TargetInput::Damaged(request, name),
                    };
                    self.tell_target(now, target, input);
                }
            }
            LinkEvent::Sent(target, request) => {
                self.tell_target(now, target, TargetInput::Sent(request));
            }
            LinkEvent::Reached(request, members) => {
                self.tell_initiator(now, InitiatorInput::Reached { request, members });
            }
            LinkEvent::NotReached(request, members) => self.not_reached(request, members),
            LinkEvent::Failed(node, group, members) => {
                self.peer_failed(now, node, group, members);
            }
            LinkEvent::Survey(node, survey) => self.answer_survey(now, node, &survey),
            LinkEvent::SurveyReply(reply) => self.take_reply(now, reply),
            LinkEvent::Names(node, message) => self.heard_names(now, node, message),
            LinkEvent::Refused(node, refusal) => {
                if let Some(address) = self.link().and_then(|link| link.address_of(node)) {
                    self.note(Note::PeerRefused(node, address, refusal));
                }
            }
            LinkEvent::Peer(node, change) => self.peer_changed(now, node, change),
            LinkEvent::Restarted(node) => {
                self.upsets += 1;
                self.note(Note::PeerRestarted(node));
                for (group, members) in self.members_on(node) {
                    if !self.errs(Mistake::ForgetsRestarts) {
                        self.tell_initiator(now, InitiatorInput::Restarted { group, members });
                    }
                }
                if !self.errs(Mistake::NoScanAfterRestart) {
                    self.node_changed(now, node);
                }
            }
        }
    }

    /// The targets of this node among `members` of `group`. Both come from another node, and may be anything.
    fn targets_here(&self, group: GroupId, members: Members) -> Vec<TargetId> {
        let Some(link) = self.link() else { return Vec::new() };
        let here = link.seats().members_on(self.node, group).intersection(members);
        if here.is_empty() {
            return Vec::new();
        }
        let targets = self.groups.members(group);
        here.iter().map(|position| targets[usize::from(position)]).collect()
    }

    fn members_on(&self, node: u32) -> Vec<(GroupId, Members)> {
        let groups = self.link().map(|link| link.seats().groups_of(node));
        groups.into_iter().flatten().collect()
    }

    /// The chunk of a put did not reach `members`: their part of the put has failed, and the initiator need
    /// not wait for them until its time is up.
    fn not_reached(&mut self, request: RequestId, members: Members) {
        for position in members.iter() {
            let ack = ReplicaAck { request, position, outcome: AckOutcome::Damaged };
            self.outbox.mail.push_back(Mail::ToInitiator(Message::ReplicaAck(ack)));
        }
    }

    fn peer_changed(&mut self, now: Time, node: u32, change: PeerChange) {
        let Some(link) = &mut self.outbox.link else { return };
        let Some(address) = link.address_of(node) else { return };
        self.upsets += u64::from(change == PeerChange::Down);
        match change {
            PeerChange::Up => {
                link.suspicions.up(node);
                self.note(Note::PeerUp(node, address));
                self.node_changed(now, node);
                self.look_soon_for_voters(now);
            }
            PeerChange::Down => {
                link.suspicions.down(now, node);
                let gone_after = link.suspicions.gone_after();
                self.note(Note::PeerDown(node, address, gone_after));
                self.timers.at(now + gone_after, Timer::PeerGone(node));
            }
            PeerChange::Responds => link.suspicions.heard(node),
            PeerChange::Unresponsive => {
                link.suspicions.unresponsive(node);
                for (group, members) in self.members_on(node) {
                    self.tell_initiator(now, InitiatorInput::Unavailable { group, members });
                }
            }
        }
    }

    pub(super) fn peer_may_be_gone(&mut self, now: Time, node: u32) {
        if self.link().is_some_and(|link| link.suspicions.is_gone(now, node)) {
            self.note(Note::PeerGone(node));
            self.look_soon_for_voters(now);
            if !self.errs(Mistake::NoScanWhenPeerGone) {
                self.node_changed(now, node);
            }
        }
    }

    pub(super) fn node_changed(&mut self, now: Time, node: u32) {
        for (group, _) in self.members_on(node) {
            self.expect_scan(now, group);
        }
    }
}
