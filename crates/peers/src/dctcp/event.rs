//! The events of a cluster connected by DCTCP.

use slotcast_scenario::{Place, TraceLine};
use slotcast_units::Time;

use super::{DctcpModel, Stream};

/// What can happen. `packet`, `stream` and `request` name slots; a `node` is an initiator or a target.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Event {
    /// Closed loop: an initiator starts its first requests.
    Start { initiator: u32 },
    /// Open loop: a request arrives at an initiator.
    Arrival { initiator: u32 },
    /// A node's link has sent a frame, and another one waits.
    LinkFree { node: u32 },
    /// The last bit of a frame arrives.
    Frame { packet: u32 },
    /// The acknowledgement of a frame arrives.
    Ack { packet: u32 },
    /// News of room to receive arrive.
    WindowUpdate { packet: u32 },
    /// A retransmission timeout may have come.
    Timeout { stream: u32 },
    /// A target's disk has room again.
    Resume { target: u32 },
    /// A replica is on disk, and the initiator knows.
    ReplicaAck { request: u32 },
    /// A target is asked for a chunk.
    GetRequest { request: u32 },
    /// A target has read a chunk.
    ChunkRead { request: u32 },
}

impl slotcast_engine::Event for Event {
    fn trace_word(&self) -> u64 {
        let (kind, slot) = match *self {
            Event::Start { initiator } => (1, initiator),
            Event::Arrival { initiator } => (2, initiator),
            Event::LinkFree { node } => (3, node),
            Event::Frame { packet } => (4, packet),
            Event::Ack { packet } => (5, packet),
            Event::WindowUpdate { packet } => (6, packet),
            Event::Timeout { stream } => (7, stream),
            Event::Resume { target } => (8, target),
            Event::ReplicaAck { request } => (9, request),
            Event::GetRequest { request } => (10, request),
            Event::ChunkRead { request } => (11, request),
        };
        kind << 32 | u64::from(slot)
    }
}

impl DctcpModel {
    pub(super) fn place(&self, node: u32) -> Place {
        self.target_at(node).map_or(Place::Initiator(node), Place::Target)
    }

    /// Writes the line of `event`, before it is handled.
    #[cold]
    pub(super) fn trace_event(&mut self, now: Time, event: Event) {
        let nothing = String::new;
        let between =
            |stream: &Stream| format!("{}-{}", self.place(stream.from), self.place(stream.to));
        let of_stream = |slot: u32| &self.streams[slot as usize];
        let of_request = |slot: u32| {
            let request = self.requests.get(slot);
            (request, self.name_of(slot).to_string())
        };
        let (place, kind, request, detail) = match event {
            Event::Start { initiator } => {
                (Place::Initiator(initiator), "start", nothing(), nothing())
            }
            Event::Arrival { initiator } => {
                (Place::Initiator(initiator), "arrival", nothing(), nothing())
            }
            Event::LinkFree { node } => (self.place(node), "link-free", nothing(), nothing()),
            Event::Frame { packet } => {
                let frame = self.packets.get(packet);
                let stream = of_stream(frame.stream);
                let mark = if frame.marked { " marked" } else { "" };
                let detail = format!("{} {}+{}B{mark}", between(stream), frame.start, frame.len);
                (self.place(stream.to), "frame", nothing(), detail)
            }
            Event::Ack { packet } => {
                let frame = self.packets.get(packet);
                let stream = of_stream(frame.stream);
                let mark = if frame.marked { " marked" } else { "" };
                let detail = format!("{} {}+{}B{mark}", between(stream), frame.start, frame.len);
                (self.place(stream.from), "ack", nothing(), detail)
            }
            Event::WindowUpdate { packet } => {
                let news = self.packets.get(packet);
                let stream = of_stream(news.stream);
                let detail = format!("{} room to {}", between(stream), news.edge);
                (self.place(stream.from), "window-update", nothing(), detail)
            }
            Event::Timeout { stream } => {
                let stream = of_stream(stream);
                (self.place(stream.from), "timeout", nothing(), between(stream))
            }
            Event::Resume { target } => (Place::Target(target), "resume", nothing(), nothing()),
            Event::ReplicaAck { request } => {
                let (request, name) = of_request(request);
                (Place::Initiator(request.initiator), "replica-ack", name, nothing())
            }
            Event::GetRequest { request } => {
                let (request, name) = of_request(request);
                (Place::Target(request.holder), "get-request", name, nothing())
            }
            Event::ChunkRead { request } => {
                let (request, name) = of_request(request);
                (Place::Target(request.holder), "read", name, nothing())
            }
        };
        self.trace.write(|sequence| TraceLine { at: now, sequence, place, kind, request, detail });
    }
}
