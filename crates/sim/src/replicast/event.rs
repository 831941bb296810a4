//! The events of a Replicast cluster.

use slotcast_protocol::{BidAnswer, FindAnswer, Members, Message, OfferAnswer, ProxyAnswer};
use slotcast_scenario::{Place, TraceLine};
use slotcast_units::Time;

use super::{ReplicastModel, owner};

/// What can happen. Sixteen bytes: messages and transfers are in pools, and named by their slots.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Event {
    /// A control message arrives at a target.
    ToTarget { target: u32, message: u32 },
    /// A control message arrives at an initiator.
    ToInitiator { initiator: u32, message: u32 },
    /// The last bit of a chunk arrives at a target.
    Received { target: u32, transfer: u32 },
    /// A disk has written a chunk.
    Written { target: u32, transfer: u32, incarnation: u16 },
    /// A disk has read a chunk.
    Read { target: u32, transfer: u32, incarnation: u16 },
    /// A chunk has left a target.
    Sent { target: u32, transfer: u32, incarnation: u16 },
    /// The next frame of a transfer may leave (frame by frame only).
    Frame { transfer: u32 },
    /// A frame that is not the last arrives at a target (frame by frame only).
    FrameReceived { target: u32, transfer: u32 },
    /// The last bit of a chunk arrives at an initiator.
    Delivered { initiator: u32, target: u32, transfer: u32 },
    /// An initiator asked to be woken.
    Wake { initiator: u32 },
    /// Open loop: a request arrives at an initiator.
    Arrival { initiator: u32 },
    /// Closed loop: an initiator starts its first requests.
    Start { initiator: u32 },
    /// A target stops.
    Down { target: u32 },
    /// A target starts again.
    Up { target: u32 },
    /// A control message arrives at the proxy on a target's node.
    ToProxy { target: u32, message: u32 },
    /// A proxy asked to be woken.
    ProxyWake { target: u32 },
    /// A disk reads or writes a chunk of a target that is down.
    Rebuild { target: u32, disk: u16 },
}

impl Event {
    /// Kind, place, and the slot or zero.
    fn parts(self) -> (u64, u32, u32) {
        match self {
            Event::ToTarget { target, message } => (1, target, message),
            Event::ToInitiator { initiator, message } => (2, initiator, message),
            Event::Received { target, transfer } => (3, target, transfer),
            Event::Written { target, transfer, .. } => (4, target, transfer),
            Event::Read { target, transfer, .. } => (5, target, transfer),
            Event::Sent { target, transfer, .. } => (6, target, transfer),
            Event::Frame { transfer } => (7, 0, transfer),
            Event::FrameReceived { target, transfer } => (8, target, transfer),
            Event::Delivered { initiator, transfer, .. } => (9, initiator, transfer),
            Event::Wake { initiator } => (10, initiator, 0),
            Event::Arrival { initiator } => (11, initiator, 0),
            Event::Start { initiator } => (12, initiator, 0),
            Event::Down { target } => (13, target, 0),
            Event::Up { target } => (14, target, 0),
            Event::ToProxy { target, message } => (15, target, message),
            // The kind has four bits in the trace word, and zero was free.
            Event::ProxyWake { target } => (0, target, 0),
            // As a target that goes down, which has no slot.
            Event::Rebuild { target, disk } => (13, target, 1 + u32::from(disk)),
        }
    }
}

impl slotcast_engine::Event for Event {
    fn trace_word(&self) -> u64 {
        let (kind, place, slot) = self.parts();
        kind << 60 ^ u64::from(place) << 32 ^ u64::from(slot)
    }
}

impl ReplicastModel {
    /// Writes the line of `event`, before it is handled.
    pub(super) fn trace_event(&mut self, now: Time, event: Event) {
        let (_, number, slot) = event.parts();
        let transfer = |kind| {
            let t = self.transfers.get(slot);
            (kind, t.request.to_string(), format!("chunk={} {}", t.chunk, t.size))
        };
        let message = || {
            let m = self.messages.get(slot);
            (m.name(), m.request().to_string(), detail(m))
        };
        let plain = |kind| (kind, String::new(), String::new());
        let ((kind, request, detail), place) = match event {
            Event::ToTarget { .. } => (message(), Place::Target(number)),
            Event::ToInitiator { .. } => (message(), Place::Initiator(number)),
            Event::Received { .. } => (transfer("received"), Place::Target(number)),
            Event::Written { .. } => (transfer("written"), Place::Target(number)),
            Event::Read { .. } => (transfer("read"), Place::Target(number)),
            Event::Sent { .. } => (transfer("sent"), Place::Target(number)),
            Event::Frame { .. } => {
                let from = owner(self.transfers.get(slot).request);
                (transfer("frame"), Place::Initiator(from))
            }
            Event::FrameReceived { .. } => (transfer("frame-received"), Place::Target(number)),
            Event::Delivered { .. } => (transfer("delivered"), Place::Initiator(number)),
            Event::Wake { .. } => (plain("wake"), Place::Initiator(number)),
            Event::Arrival { .. } => (plain("arrival"), Place::Initiator(number)),
            Event::Start { .. } => (plain("start"), Place::Initiator(number)),
            Event::Down { .. } => (plain("down"), Place::Target(number)),
            Event::Up { .. } => (plain("up"), Place::Target(number)),
            Event::ToProxy { .. } => (message(), Place::Target(number)),
            Event::ProxyWake { .. } => (plain("proxy-wake"), Place::Target(number)),
            Event::Rebuild { disk, .. } => {
                (("rebuild", String::new(), format!("disk={disk}")), Place::Target(number))
            }
        };
        self.trace.write(|sequence| TraceLine { at: now, sequence, place, kind, request, detail });
    }
}

fn detail(message: &Message) -> String {
    match message {
        Message::PutRequest(m) => {
            format!("round={} group={} chunk={} {}", m.round, m.group.0, m.chunk, m.size)
        }
        Message::Bid(m) => match m.answer {
            BidAnswer::Window { window, .. } => {
                format!("round={} member={} window={window}", m.round, m.position)
            }
            BidAnswer::AlreadyStored => format!("member={} already-stored", m.position),
            BidAnswer::Raising => format!("member={} raising", m.position),
            BidAnswer::Full => format!("member={} full", m.position),
            BidAnswer::Unavailable => format!("member={} unavailable", m.position),
            BidAnswer::NotNow { retry_after } => {
                format!("member={} not-now retry-after={retry_after}", m.position)
            }
        },
        Message::PutAccept(m) => {
            let grants: Vec<String> =
                m.grants.iter().map(|g| format!("{}={}", g.position, g.window)).collect();
            format!("round={} granted {}", m.round, grants.join(" "))
        }
        Message::ReplicaAck(m) => format!("member={} {:?}", m.position, m.outcome),
        Message::GetRequest(m) => {
            format!("round={} group={} chunk={}", m.round, m.group.0, m.chunk)
        }
        Message::Offer(m) => match m.answer {
            OfferAnswer::Window { window, .. } => format!("member={} window={window}", m.position),
            OfferAnswer::NotHeld => format!("member={} not-held", m.position),
            OfferAnswer::Unavailable => format!("member={} unavailable", m.position),
            OfferAnswer::NotNow { retry_after } => {
                format!("member={} not-now retry-after={retry_after}", m.position)
            }
        },
        Message::GetAccept(m) => match m.grant {
            Some(grant) => format!("round={} granted {}={}", m.round, grant.position, grant.window),
            None => format!("round={} granted nobody", m.round),
        },
        Message::Undelivered(m) => format!("member={}", m.position),
        Message::LateReject(m) => format!("round={} member={}", m.round, m.position),
        Message::ProxyRequest(m) => {
            format!("round={} group={} chunk={} {}", m.round, m.group.0, m.chunk, m.size)
        }
        Message::ProxyReply(m) => match m.answer {
            ProxyAnswer::Granted { window, members } => {
                format!("round={} granted {}={window}", m.round, listed(members))
            }
            ProxyAnswer::NotNow { retry_after } => format!("not-now retry-after={retry_after}"),
            ProxyAnswer::Moved => format!("proxy={}", m.term.position),
        },
        Message::ProxyNotice(m) => {
            format!("round={} granted {}={}", m.round, listed(m.members), m.window)
        }
        Message::ProxyQuery(m) => format!("proxy={} term={}", m.term.position, m.term.count),
        Message::ProxyReport(m) => {
            format!("member={} {:?} disk-done={}", m.position, m.occasion, m.disk_done)
        }
        Message::FindRequest(m) => format!("group={} chunk={}", m.group.0, m.chunk),
        Message::FindReply(m) => match m.answer {
            FindAnswer::Held { size, .. } => format!("member={} {size}", m.position),
            FindAnswer::NotHeld => format!("member={} not-held", m.position),
        },
    }
}

/// `2,7,8`.
fn listed(members: Members) -> String {
    let positions: Vec<String> = members.iter().map(|position| position.to_string()).collect();
    positions.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_stay_small() {
        assert!(size_of::<Event>() <= 16, "{} bytes", size_of::<Event>());
    }
}
