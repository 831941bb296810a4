//! What an onlooker hears of unicast requests, messages and flows. Called only if there is one.

use slotcast_protocol::{InitiatorId, RequestId};
use slotcast_scenario::{Observation, Outcome, Place};
use slotcast_units::Time;

use super::flow::{Direction, Flow, FlowState};
use super::{Request, UnicastModel};

impl UnicastModel {
    /// The name of the request in `slot`.
    pub(super) fn name_of(&self, slot: u32) -> RequestId {
        let Request { initiator, serial, .. } = *self.requests.get(slot);
        RequestId { initiator: InitiatorId(initiator), serial }
    }

    fn tell(&mut self, observation: Observation) {
        if let Some(watch) = &mut self.watch {
            watch.tell(observation);
        }
    }

    /// The request in `slot` starts.
    #[cold]
    pub(super) fn watch_started(&mut self, now: Time, slot: u32) {
        let Request { operation, asked, .. } = *self.requests.get(slot);
        let request = self.name_of(slot);
        if let Some(watch) = &mut self.watch {
            watch.request_started(now, request, operation, asked);
        }
    }

    /// The request in `slot` is done.
    #[cold]
    pub(super) fn watch_ended(&mut self, now: Time, slot: u32) {
        let request = self.name_of(slot);
        if let Some(watch) = &mut self.watch {
            watch.request_ended(now, request, Outcome::Done);
        }
    }

    fn watch_message(&mut self, kind: &'static str, sent: Time, ends: (Place, Place), slot: u32) {
        let request = self.name_of(slot);
        let received = Some(sent + self.one_way());
        let (from, to) = ends;
        self.tell(Observation::Message { request, kind, from, to, sent, received });
    }

    /// The initiator of the flow in `slot` tells its target something.
    #[cold]
    pub(super) fn watch_to_target(&mut self, kind: &'static str, sent: Time, slot: u32) {
        let Flow { initiator, target, operation, .. } = *self.flows.get(slot);
        let ends = (Place::Initiator(initiator), Place::Target(target));
        self.watch_message(kind, sent, ends, operation);
    }

    /// The target of the flow in `slot` tells its initiator something.
    #[cold]
    pub(super) fn watch_to_initiator(&mut self, kind: &'static str, sent: Time, slot: u32) {
        let Flow { initiator, target, operation, .. } = *self.flows.get(slot);
        let ends = (Place::Target(target), Place::Initiator(initiator));
        self.watch_message(kind, sent, ends, operation);
    }

    /// `target` tells senders their new rates.
    #[cold]
    pub(super) fn watch_rates(&mut self, now: Time, target: u32) {
        let flows = &self.targets[target as usize].flows;
        let unsent = |&slot: &u32| self.flows.get(slot).unsent(now) > self.rules.frame;
        let told: Vec<u32> = flows.iter().copied().filter(unsent).collect();
        for slot in told {
            self.watch_to_initiator("rate-set", now, slot);
        }
    }

    /// `target` tells the initiator of the request in `slot` that a replica is written.
    #[cold]
    pub(super) fn watch_ack(&mut self, sent: Time, target: u32, slot: u32) {
        let Request { initiator, .. } = *self.requests.get(slot);
        let ends = (Place::Target(target), Place::Initiator(initiator));
        self.watch_message("replica-ack", sent, ends, slot);
    }

    /// The initiator of the request in `slot` asks `target` for a chunk.
    #[cold]
    pub(super) fn watch_get_request(&mut self, sent: Time, target: u32, slot: u32) {
        let Request { initiator, .. } = *self.requests.get(slot);
        let ends = (Place::Initiator(initiator), Place::Target(target));
        self.watch_message("get-request", sent, ends, slot);
    }

    /// The disk of `target` is asked to do something for the request in `slot`.
    #[cold]
    pub(super) fn watch_disk(&mut self, target: u32, slot: u32, times: (Time, Time, Time)) {
        let (request, operation) = (self.name_of(slot), self.requests.get(slot).operation);
        let (disk, (queued, begin, end)) = (0, times);
        self.tell(Observation::Disk { request, target, disk, operation, queued, begin, end });
    }

    /// A new flow is in `slot`.
    #[cold]
    pub(super) fn watch_flow(&mut self, slot: u32) {
        let Flow { initiator, target, operation, direction, .. } = *self.flows.get(slot);
        let request = self.name_of(operation);
        let (initiator, target) = (Place::Initiator(initiator), Place::Target(target));
        let (from, to) = match direction {
            Direction::Put => (initiator, target),
            Direction::Get => (target, initiator),
        };
        let may_wait = self.rules.aimd && direction == Direction::Put;
        if let Some(watch) = &mut self.watch {
            watch.payload((slot, 0), request, from, vec![to], may_wait);
        }
    }

    /// The flow in `slot` has a new rate; until then it had come as far as `before`.
    #[cold]
    pub(super) fn watch_frames_since(&mut self, before: (Time, u64), slot: u32) {
        let flow = self.flows.get(slot);
        let ((begin, already), (end, sent)) = (before, flow.progress());
        if let Some(watch) = &mut self.watch {
            watch.leaves((slot, 0), begin, end, flow.size_of(sent - already));
        }
    }

    /// The last frame of the flow in `slot` starts at `now`; until then it had come as far as `before`.
    #[cold]
    pub(super) fn watch_last_frame(&mut self, before: (Time, u64), now: Time, slot: u32) {
        let flow = self.flows.get(slot);
        let ((begin, already), (end, sent)) = (before, flow.progress());
        if let Some(watch) = &mut self.watch {
            watch.leaves((slot, 0), begin, now, flow.size_of(sent - 1 - already));
            watch.leaves((slot, 0), now, end, flow.last_frame());
        }
    }

    /// The flow in `slot` is complete at its receiver.
    #[cold]
    pub(super) fn watch_arrival(&mut self, slot: u32) {
        let Flow { initiator, target, direction, .. } = *self.flows.get(slot);
        let to = match direction {
            Direction::Put => Place::Target(target),
            Direction::Get => Place::Initiator(initiator),
        };
        if let Some(watch) = &mut self.watch {
            watch.arrived((slot, 0), to, self.rules.trip, true);
        }
    }

    /// The run ends: what flows have sent so far is told, whole frames at a time.
    pub(super) fn watch_rest(&mut self, end: Time) {
        let keys = self.watch.iter().flat_map(|watch| watch.keys_from((0, 0)));
        let slots: Vec<u32> = keys.map(|(slot, _)| slot).collect();
        for slot in slots {
            let flow = self.flows.get_mut(slot);
            if !self.rules.frame_by_frame && flow.state == FlowState::Sending {
                let before = flow.progress();
                flow.set_rate(end, flow.rate());
                self.watch_frames_since(before, slot);
            }
        }
        if let Some(watch) = &mut self.watch {
            watch.end(end, self.rules.trip, |_| true);
        }
    }
}
