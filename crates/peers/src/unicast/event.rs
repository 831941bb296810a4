//! The events of a unicast cluster.

use slotcast_scenario::{Place, TraceLine};
use slotcast_units::Time;

use super::UnicastModel;

/// What can happen. `flow` and `request` name slots; `serial` tells a flow from a later one in the
/// same slot; `share` is the number of flows among which the target divides its link.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Event {
    /// Closed loop: an initiator starts its first requests.
    Start { initiator: u32 },
    /// Open loop: a request arrives at an initiator.
    Arrival { initiator: u32 },
    /// A target is asked to take a chunk.
    PutRequest { flow: u32 },
    /// A sender may start.
    RateInit { flow: u32, serial: u16, share: u16 },
    /// A sender has a new rate.
    RateSet { flow: u32, serial: u16, share: u16 },
    /// A frame may leave.
    Frame { flow: u32 },
    /// A frame that is not the last arrives (frame by frame only).
    FrameReceived { flow: u32, serial: u16 },
    /// UCH-AIMD: a sender is told to slow down.
    Ding { flow: u32, serial: u16 },
    /// The last bit of a chunk arrives.
    Received { flow: u32 },
    /// A replica is acknowledged.
    Ack { request: u32 },
    /// A target is asked for a chunk.
    GetRequest { request: u32 },
    /// A target has read a chunk.
    Read { request: u32 },
}

impl Event {
    fn parts(self) -> (u64, u32) {
        match self {
            Event::Start { initiator } => (1, initiator),
            Event::Arrival { initiator } => (2, initiator),
            Event::PutRequest { flow } => (3, flow),
            Event::RateInit { flow, share, .. } => (4 | u64::from(share) << 4, flow),
            Event::RateSet { flow, share, .. } => (5 | u64::from(share) << 4, flow),
            Event::Frame { flow } => (6, flow),
            Event::FrameReceived { flow, .. } => (7, flow),
            Event::Ding { flow, .. } => (8, flow),
            Event::Received { flow } => (9, flow),
            Event::Ack { request } => (10, request),
            Event::GetRequest { request } => (11, request),
            Event::Read { request } => (12, request),
        }
    }
}

impl slotcast_engine::Event for Event {
    fn trace_word(&self) -> u64 {
        let (kind, slot) = self.parts();
        kind << 32 ^ u64::from(slot)
    }
}

impl UnicastModel {
    /// Writes the line of `event`, before it is handled.
    pub(super) fn trace_event(&mut self, now: Time, event: Event) {
        let at_initiator = |slot: u32| Place::Initiator(self.flows.get(slot).initiator);
        let at_target = |slot: u32| Place::Target(self.flows.get(slot).target);
        let of_request = |slot: u32| {
            let initiator = self.requests.get(slot).initiator;
            (Place::Initiator(initiator), self.name_of(slot).to_string())
        };
        let of_flow = |slot: u32| self.name_of(self.flows.get(slot).operation).to_string();
        let rate = |share: u16| format!("rate={}", self.rules.usable.split(u64::from(share)));
        let (kind, place, request, detail) = match event {
            Event::Start { initiator } => {
                ("start", Place::Initiator(initiator), String::new(), String::new())
            }
            Event::Arrival { initiator } => {
                ("arrival", Place::Initiator(initiator), String::new(), String::new())
            }
            Event::PutRequest { flow } => {
                ("put-request", at_target(flow), of_flow(flow), String::new())
            }
            Event::RateInit { flow, share, .. } => {
                ("rate-init", at_initiator(flow), of_flow(flow), rate(share))
            }
            Event::RateSet { flow, share, .. } => {
                ("rate-set", at_initiator(flow), of_flow(flow), rate(share))
            }
            Event::Frame { flow } => ("frame", at_initiator(flow), of_flow(flow), String::new()),
            Event::FrameReceived { flow, .. } => {
                ("frame-received", at_target(flow), of_flow(flow), String::new())
            }
            Event::Ding { flow, .. } => ("ding", at_initiator(flow), of_flow(flow), String::new()),
            Event::Received { flow } => {
                let size = self.flows.get(flow).size;
                ("received", at_target(flow), of_flow(flow), size.to_string())
            }
            Event::Ack { request } => {
                let (place, name) = of_request(request);
                ("replica-ack", place, name, String::new())
            }
            Event::GetRequest { request } => {
                let (_, name) = of_request(request);
                let holder = self.requests.get(request);
                let target = holder.placement.targets()[usize::from(holder.next)];
                ("get-request", Place::Target(target), name, String::new())
            }
            Event::Read { request } => {
                let (_, name) = of_request(request);
                let holder = self.requests.get(request);
                let target = holder.placement.targets()[usize::from(holder.next)];
                ("read", Place::Target(target), name, String::new())
            }
        };
        self.trace.write(|sequence| TraceLine { at: now, sequence, place, kind, request, detail });
    }
}
