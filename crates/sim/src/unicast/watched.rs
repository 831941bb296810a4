//! What an onlooker hears of unicast messages and flows.

use slotcast_units::Time;

use super::flow::{Direction, Flow, FlowState};
use super::{Request, UnicastModel};
use crate::observation::Observation;
use crate::observe::Place;

impl UnicastModel {
    fn watch_message(&mut self, kind: &'static str, sent: Time, ends: (Place, Place), slot: u32) {
        let request = self.name_of(slot);
        let received = Some(sent + self.one_way());
        let (from, to) = ends;
        self.watch.tell(|| Observation::Message { request, kind, from, to, sent, received });
    }

    /// The initiator of the flow in `slot` tells its target something.
    pub(super) fn watch_to_target(&mut self, kind: &'static str, sent: Time, slot: u32) {
        if self.watch.wanted {
            let Flow { initiator, target, operation, .. } = *self.flows.get(slot);
            let ends = (Place::Initiator(initiator), Place::Target(target));
            self.watch_message(kind, sent, ends, operation);
        }
    }

    /// The target of the flow in `slot` tells its initiator something.
    pub(super) fn watch_to_initiator(&mut self, kind: &'static str, sent: Time, slot: u32) {
        if self.watch.wanted {
            let Flow { initiator, target, operation, .. } = *self.flows.get(slot);
            let ends = (Place::Target(target), Place::Initiator(initiator));
            self.watch_message(kind, sent, ends, operation);
        }
    }

    /// `target` tells the initiator of the request in `slot` that a replica is written.
    pub(super) fn watch_ack(&mut self, sent: Time, target: u32, slot: u32) {
        if self.watch.wanted {
            let Request { initiator, .. } = *self.requests.get(slot);
            let ends = (Place::Target(target), Place::Initiator(initiator));
            self.watch_message("replica-ack", sent, ends, slot);
        }
    }

    /// The initiator of the request in `slot` asks `target` for a chunk.
    pub(super) fn watch_get_request(&mut self, sent: Time, target: u32, slot: u32) {
        if self.watch.wanted {
            let Request { initiator, .. } = *self.requests.get(slot);
            let ends = (Place::Initiator(initiator), Place::Target(target));
            self.watch_message("get-request", sent, ends, slot);
        }
    }

    /// A new flow is in `slot`.
    pub(super) fn watch_flow(&mut self, slot: u32) {
        if self.watch.wanted {
            let Flow { initiator, target, operation, direction, .. } = *self.flows.get(slot);
            let request = self.name_of(operation);
            let (initiator, target) = (Place::Initiator(initiator), Place::Target(target));
            let (from, to) = match direction {
                Direction::Put => (initiator, target),
                Direction::Get => (target, initiator),
            };
            self.watch.payload(slot, request, from, || vec![to]);
        }
    }

    /// The flow in `slot` has a new rate; until then it had come as far as `before`.
    pub(super) fn watch_frames_since(&mut self, before: (Time, u64), slot: u32) {
        if self.watch.wanted {
            let flow = self.flows.get(slot);
            let ((begin, already), (end, sent)) = (before, flow.progress());
            self.watch.leaves(slot, begin, end, flow.size_of(sent - already));
        }
    }

    /// The last frame of the flow in `slot` starts at `now`; until then it had come as far as `before`.
    pub(super) fn watch_last_frame(&mut self, before: (Time, u64), now: Time, slot: u32) {
        if self.watch.wanted {
            let flow = self.flows.get(slot);
            let ((begin, already), (end, sent)) = (before, flow.progress());
            self.watch.leaves(slot, begin, now, flow.size_of(sent - 1 - already));
            self.watch.leaves(slot, now, end, flow.last_frame());
            self.watch.all_sent(slot);
        }
    }

    /// The flow in `slot` is complete at its receiver.
    pub(super) fn watch_arrival(&mut self, slot: u32) {
        if self.watch.wanted {
            let Flow { initiator, target, direction, .. } = *self.flows.get(slot);
            let to = match direction {
                Direction::Put => Place::Target(target),
                Direction::Get => Place::Initiator(initiator),
            };
            self.watch.arrived(slot, to, self.rules.trip, true);
        }
    }

    /// The run ends: what flows have sent so far is told, whole frames at a time.
    pub(super) fn watch_rest(&mut self, end: Time) {
        if !self.rules.frame_by_frame {
            for slot in self.watch.slots() {
                let flow = self.flows.get_mut(slot);
                if flow.state == FlowState::Sending {
                    let before = flow.progress();
                    flow.set_rate(end, flow.rate());
                    self.watch_frames_since(before, slot);
                }
            }
        }
        self.watch.end(end, self.rules.trip, |_| true);
    }
}
