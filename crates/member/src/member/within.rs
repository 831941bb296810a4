//! Chunks that travel: to other nodes, and within this one, by reference or over links of known rates.

use slotcast_protocol::{GroupId, Members, RequestId, TargetId};
use slotcast_store::Content;
use slotcast_transport::Purpose;
use slotcast_units::{Size, Span, Time};

use super::Member;
use super::requests::Running;
use crate::link::ToSend;
use crate::mistake::Mistake;
use crate::outbox::Outbox;
use crate::target::TargetInput;
use crate::timers::Timer;

impl Member {
    /// The chunk of a put leaves at `start` for members of a group.
    pub(super) fn transfer(
        &mut self,
        now: Time,
        request: RequestId,
        (group, to): (GroupId, Members),
        start: Time,
    ) {
        let payload = self.running.get(&request).and_then(Running::payload);
        let Outbox { link, effects, .. } = &mut self.outbox;
        let is_late = self.mistake == Some(Mistake::SendsLate);
        let start = if is_late { start + Span::from_us(77) } else { start };
        let to = match (link, payload) {
            (Some(link), Some(content)) => {
                link.send_put(now, (request, group, to), content, start, effects)
            }
            _ => to,
        };
        if !to.is_empty() {
            self.timers.at(start, Timer::Transfer(request, group, to));
        }
    }

    /// The chunk of a put leaves at `start` for targets here.
    pub(super) fn leave(
        &mut self,
        now: Time,
        start: Time,
        request: RequestId,
        (group, to): (GroupId, Members),
    ) {
        let payload = self.running.get(&request).and_then(Running::payload);
        let Some(size) = payload.map(|content| Size::from_bytes(content.bytes().len() as u64))
        else {
            return;
        };
        let members = self.groups.members(group);
        let to = to.iter().map(|position| members[usize::from(position)]);
        match &mut self.links {
            Some(links) => {
                for (target, arrival) in links.put(start, size, to) {
                    self.timers.at(arrival, Timer::Arrival(request, target, start));
                }
            }
            None => {
                for target in to.collect::<alloc::vec::Vec<_>>() {
                    self.arrive(now, request, target, None);
                }
            }
        }
    }

    /// The chunk of a put is at `target`; over a link, if it left at some time before.
    pub(super) fn arrive(
        &mut self,
        now: Time,
        request: RequestId,
        target: TargetId,
        left: Option<Time>,
    ) {
        let payload = self.running.get(&request).and_then(Running::payload);
        let Some(content) = payload.cloned() else { return };
        let links = self.links.as_ref();
        let took = left.zip(links).map(|(left, links)| links.took(left, now));
        self.tell_target(now, target, TargetInput::Received(request, content, took));
    }

    /// A target sends the chunk of a get at `start`.
    pub(super) fn send_get(
        &mut self,
        now: Time,
        target: TargetId,
        request: RequestId,
        content: Content,
        start: Time,
    ) {
        let Outbox { link, effects, .. } = &mut self.outbox;
        match link {
            Some(link) if request.initiator.0 != link.node() => {
                let (group, position) = self.groups.seat(target);
                let (members, source) = (Members::only(position), Some(target));
                let purpose = Purpose::Get;
                let chunk = ToSend { request, group, members, content, start, purpose, source };
                link.send_get(now, chunk, effects);
            }
            _ if self.links.is_some() => {
                self.timers.at(start, Timer::Leaving(target, request, content));
            }
            _ => self.timers.at(start, Timer::Delivery(target, request, content)),
        }
    }
}
