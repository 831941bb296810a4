//! Carries messages and chunks between hosts, through a network that may do anything to them.

use slotcast_engine::Agenda;
use slotcast_protocol::{Bid, BidAnswer, GroupId, Message, Offer, OfferAnswer};
use slotcast_units::{Span, Time};

use super::cluster::Storm;
use super::event::Event;
use super::hosts::Parcel;

/// How long a member that is known to be gone is to be left alone.
const AWAY: Span = Span::from_ms(1);

impl Storm {
    pub(super) fn send_message(
        &mut self,
        now: Time,
        initiator: u32,
        group: GroupId,
        position: u8,
        message: Message,
        agenda: &mut Agenda<Event>,
    ) {
        let target = self.groups.members(group)[usize::from(position)].0;
        if self.targets[target as usize].known_gone {
            // Nobody waits for who is known to be gone.
            if let Some(answer) = answer_for(&message, position) {
                let parcel = Parcel::Message(answer);
                self.send_to_initiator(now, initiator, initiator, &parcel, agenda);
            }
            return;
        }
        self.send_to_target(now, initiator, target, &Parcel::Message(message), agenda);
    }

    pub(super) fn send_to_target(
        &mut self,
        now: Time,
        from: u32,
        target: u32,
        parcel: &Parcel,
        agenda: &mut Agenda<Event>,
    ) {
        let ends = (Storm::host_of(from), Storm::host_of(self.repairer(target)));
        for delay in self.network.send(ends.0, ends.1, &mut self.report.injected) {
            let Some(delay) = delay else { continue };
            let parcel = self.damaged_or_not(ends, parcel);
            let parcel = self.parcels.send(parcel);
            agenda.at(now + delay, Event::ToTarget { target, parcel });
        }
    }

    pub(super) fn send_to_initiator(
        &mut self,
        now: Time,
        from: u32,
        initiator: u32,
        parcel: &Parcel,
        agenda: &mut Agenda<Event>,
    ) {
        let ends = (Storm::host_of(from), Storm::host_of(initiator));
        for delay in self.network.send(ends.0, ends.1, &mut self.report.injected) {
            let Some(delay) = delay else { continue };
            let parcel = self.damaged_or_not(ends, parcel);
            let parcel = self.parcels.send(parcel);
            agenda.at(now + delay, Event::ToInitiator { initiator, parcel });
        }
    }

    pub(super) fn damaged_or_not(&mut self, (from, to): (usize, usize), parcel: &Parcel) -> Parcel {
        match parcel {
            Parcel::Chunk(request, content)
                if self.network.damages(from, to, &mut self.report.injected) =>
            {
                Parcel::Damaged(*request, content.chunk())
            }
            other => other.clone(),
        }
    }
}

/// What is answered for a member that is gone: that it has no window now. That is true, and concludes
/// nothing about what it holds.
fn answer_for(message: &Message, position: u8) -> Option<Message> {
    match message {
        Message::PutRequest(asked) => Some(Message::Bid(Bid {
            request: asked.request,
            round: asked.round,
            position,
            answer: BidAnswer::NotNow { retry_after: AWAY },
        })),
        Message::GetRequest(asked) => Some(Message::Offer(Offer {
            request: asked.request,
            round: asked.round,
            position,
            answer: OfferAnswer::NotNow { retry_after: AWAY },
        })),
        _ => None,
    }
}
