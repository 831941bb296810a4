//! **UCH-DCTCP**: hash placement over TCP as data centres run it, with DCTCP's congestion control.
//!
//! Sources: RFC 8257; Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010; Alizadeh, Javanmard,
//! Prabhakar, "Analysis of DCTCP", SIGMETRICS 2011. What is modelled and what is left out is said in
//! `docs/simulate/peers.md`.
//!
//! Frames are events: one when the last bit arrives, one when the acknowledgement is back, and one more
//! if a frame had to wait for its sender's own link. What happens in the switch is computed when a frame
//! leaves: all trips are of one length, so frames come to a port in the order in which they were sent.
//!
//! A *stream* is one direction of a connection. Connections are there before the run and stay.

mod congestion;
mod event;
mod intake;
mod port;
mod receiver;
mod sender;
mod setup;
#[cfg(test)]
mod tests;
mod transfer;
mod watched;

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use slotcast_engine::{Agenda, Model, Pool};
use slotcast_scenario::clients::{Clients, Job};
use slotcast_scenario::drive::{ClusterModel, Trace};
use slotcast_scenario::faults::Faults;
use slotcast_scenario::recorder::Recorder;
use slotcast_scenario::watch::Watch;
use slotcast_scenario::{Operation, PortQueues, PortSample};
use slotcast_units::{Rate, Size, Span, Time};

use crate::ring::{Chooser, Placement};
use event::Event;
use port::{Link, Port, PortRules};
use receiver::{Message, Receiver};
use sender::{Sender, SenderRules};
pub(crate) use setup::check;

/// A request under way.
#[derive(Debug, Clone, Copy)]
struct Request {
    initiator: u32,
    serial: u32,
    asked: Time,
    operation: Operation,
    placement: Placement,
    /// Puts: replicas that are on disk.
    acknowledged: u8,
    /// Gets: the target that is asked.
    holder: u32,
}

/// A frame on its way, and then its acknowledgement. Without a length, news of room to receive.
#[derive(Debug, Clone, Copy)]
struct Packet {
    stream: u32,
    len: u32,
    start: u64,
    transmission: u64,
    sent: Time,
    marked: bool,
    edge: u64,
}

/// One direction of a connection, between two nodes.
#[derive(Debug)]
struct Stream {
    from: u32,
    to: u32,
    sender: Sender,
    receiver: Receiver,
}

#[derive(Debug)]
struct Target {
    disk_rate: Rate,
    /// The backlog of its disk from which it reads no more.
    full: Span,
    /// Streams with unread data, in the order in which they will be read.
    waiting: VecDeque<u32>,
    /// Whether an event for the time at which the disk has room is pending.
    resuming: bool,
}

/// What the settings say, in the form that handlers need.
#[derive(Debug)]
struct Rules {
    initiators: u32,
    replicas: usize,
    sender: SenderRules,
    port: PortRules,
    frame: u32,
    frame_time: Span,
    /// The rate of an initiator's own link, if it is not that of the ports.
    initiator_rate: Option<Rate>,
    /// What every request takes at a disk beyond the time of its bytes.
    access: Span,
    trip: Span,
    /// A control message or an acknowledgement, from one node to another.
    one_way: Span,
    receive_buffer: u64,
}

impl Rules {
    /// How long a frame of `len` bytes takes through a port.
    fn time_for(&self, len: u32) -> Span {
        match len == self.frame {
            true => self.frame_time,
            false => self.port.rate.time_for_bits(u64::from(len) * 8),
        }
    }

    /// How long a frame of `len` bytes takes on the link of `node`.
    fn link_time_for(&self, node: u32, len: u32) -> Span {
        match self.initiator_rate {
            Some(rate) if node < self.initiators => rate.time_for_bits(u64::from(len) * 8),
            _ => self.time_for(len),
        }
    }
}

/// A cluster of initiators and targets that are connected by DCTCP. Initiators are the first nodes,
/// targets the others.
#[derive(Debug)]
pub(crate) struct DctcpModel {
    rules: Rules,
    links: Vec<Link>,
    ports: Vec<Port>,
    targets: Vec<Target>,
    streams: Vec<Stream>,
    stream_between: FxHashMap<(u32, u32), u32>,
    packets: Pool<Packet>,
    requests: Pool<Request>,
    chooser: Chooser,
    clients: Clients,
    faults: Faults,
    /// Where stored chunks are, for gets; empty if there are none.
    catalogue: Vec<Placement>,
    keep_catalogue: bool,
    recorder: Recorder,
    trace: Trace,
    watch: Option<Box<Watch>>,
    /// Counts the requests of all initiators.
    next_serial: u32,
    sample_every: Span,
    next_sample: Time,
    samples: Vec<PortSample>,
}

impl DctcpModel {
    fn target_node(&self, target: u32) -> u32 {
        self.rules.initiators + target
    }

    /// The target that a node is, if it is one.
    fn target_at(&self, node: u32) -> Option<u32> {
        node.checked_sub(self.rules.initiators)
    }

    /// Starts as many requests as the window of `initiator` allows.
    fn start_requests(&mut self, now: Time, initiator: u32, agenda: &mut Agenda<Event>) {
        while let Some(job) = self.clients.next(initiator, now, self.catalogue.len()) {
            let Job { operation, asked } = job;
            let client = self.clients.client(initiator);
            let placement = match operation {
                Operation::Put => self.chooser.place(initiator, self.rules.replicas, client),
                Operation::Get => {
                    let pick = client.below(self.catalogue.len() as u64);
                    self.catalogue[usize::try_from(pick).expect("below a length")]
                }
            };
            let holder = match operation {
                Operation::Put => 0,
                Operation::Get => {
                    let pick = client.below(placement.targets().len() as u64);
                    placement.targets()[usize::try_from(pick).expect("below a length")]
                }
            };
            let serial = self.next_serial;
            self.next_serial = serial.wrapping_add(1);
            let request =
                Request { initiator, serial, asked, operation, placement, acknowledged: 0, holder };
            let slot = self.requests.insert(request, 1);
            if self.watch.is_some() {
                self.watch_started(now, slot);
            }
            match operation {
                Operation::Put => {
                    for &target in placement.targets() {
                        self.write(now, (initiator, self.target_node(target)), slot, agenda);
                    }
                }
                Operation::Get => {
                    if self.watch.is_some() {
                        self.watch_get_request(now, slot);
                    }
                    agenda.at(now + self.rules.one_way, Event::GetRequest { request: slot });
                }
            }
        }
    }

    /// A node writes a chunk into its stream to another.
    fn write(&mut self, now: Time, ends: (u32, u32), request: u32, agenda: &mut Agenda<Event>) {
        let size = self.clients.chunk_size();
        let slot = self.stream(ends);
        let stream = &mut self.streams[slot as usize];
        let end = stream.sender.write(now, size.as_bytes(), &self.rules.sender);
        stream.receiver.expect(Message { end, request });
        if self.watch.is_some() {
            self.watch_write_into(slot, end, request);
        }
        let stream = &mut self.streams[slot as usize];
        if self.faults.damages_transfer() {
            let from_the_end = self.faults.damaged_byte(size) + 1;
            stream.receiver.damage(end - from_the_end);
        }
        self.offer(now, slot, agenda);
    }

    /// The stream between two nodes, which is set up when it is used first.
    fn stream(&mut self, (from, to): (u32, u32)) -> u32 {
        let next = u32::try_from(self.streams.len()).expect("fewer than 2^32 streams");
        let slot = *self.stream_between.entry((from, to)).or_insert(next);
        if slot == next {
            let sender = Sender::new(&self.rules.sender);
            self.streams.push(Stream { from, to, sender, receiver: Receiver::default() });
        }
        slot
    }

    fn replica_ack(&mut self, now: Time, slot: u32, agenda: &mut Agenda<Event>) {
        let request = self.requests.get_mut(slot);
        request.acknowledged += 1;
        if usize::from(request.acknowledged) == request.placement.targets().len() {
            if self.keep_catalogue {
                self.catalogue.push(request.placement);
            }
            self.end(now, slot, agenda);
        }
    }

    /// A target is asked for a chunk.
    fn get_request(&mut self, now: Time, slot: u32, agenda: &mut Agenda<Event>) {
        let target = self.requests.get(slot).holder as usize;
        let chunk = self.clients.chunk_size();
        let service = self.targets[target].disk_rate.time_for(chunk) + self.rules.access;
        let read = self.recorder.devices[target].disk.serve(now, service);
        if self.watch.is_some() {
            self.watch_read(slot, (now, read - service, read));
        }
        agenda.at(read, Event::ChunkRead { request: slot });
    }

    /// A target has read a chunk, and sends it.
    fn chunk_read(&mut self, now: Time, slot: u32, agenda: &mut Agenda<Event>) {
        let Request { initiator, holder, .. } = *self.requests.get(slot);
        self.write(now, (self.target_node(holder), initiator), slot, agenda);
    }

    fn fetched(&mut self, now: Time, slot: u32, agenda: &mut Agenda<Event>) {
        let target = self.requests.get(slot).holder;
        self.recorder.devices[target as usize].sent += self.clients.chunk_size();
        self.end(now, slot, agenda);
    }

    fn end(&mut self, now: Time, slot: u32, agenda: &mut Agenda<Event>) {
        if self.watch.is_some() {
            self.watch_ended(now, slot);
        }
        let Request { initiator, asked, operation, .. } = *self.requests.get(slot);
        self.requests.release(slot);
        self.recorder.complete(asked, now, operation);
        self.clients.ended(initiator);
        self.start_requests(now, initiator, agenda);
    }

    /// Takes the samples that were due before `now`. Nothing happened since, so they are exact.
    #[cold]
    fn sample(&mut self, now: Time) {
        while self.next_sample <= now {
            let at = self.next_sample;
            let mut acknowledged = vec![Size::ZERO; self.rules.initiators as usize];
            for stream in &self.streams {
                if let Some(sum) = acknowledged.get_mut(stream.from as usize) {
                    *sum += Size::from_bytes(stream.sender.acknowledged());
                }
            }
            // Frames that have left are on their way to the port for a trip.
            let seen = at + self.rules.trip;
            let towards_targets = &self.ports[self.rules.initiators as usize..];
            let queue = |port: &Port| Size::from_bytes(port.queue(seen, &self.rules.port));
            let queues = towards_targets.iter().map(queue).collect();
            self.samples.push(PortSample { at, acknowledged, queues });
            self.next_sample = at.saturating_add(self.sample_every);
        }
    }
}

impl Model for DctcpModel {
    type Event = Event;

    fn handle(&mut self, now: Time, event: Event, agenda: &mut Agenda<Event>) {
        if self.next_sample <= now {
            self.sample(now);
        }
        if self.trace.wanted {
            self.trace_event(now, event);
        }
        match event {
            Event::Frame { packet } => self.frame(now, packet, agenda),
            Event::Ack { packet } => self.acknowledged(now, packet, agenda),
            Event::LinkFree { node } => {
                self.links[node as usize].waking = false;
                self.send_frames(now, node, agenda);
            }
            Event::Timeout { stream } => self.timeout(now, stream, agenda),
            Event::Resume { target } => self.resume(now, target, agenda),
            Event::WindowUpdate { packet } => self.window_update(now, packet, agenda),
            Event::ReplicaAck { request } => self.replica_ack(now, request, agenda),
            Event::GetRequest { request } => self.get_request(now, request, agenda),
            Event::ChunkRead { request } => self.chunk_read(now, request, agenda),
            Event::Start { initiator } => self.start_requests(now, initiator, agenda),
            Event::Arrival { initiator } => {
                self.clients.arrive(initiator, now);
                agenda.after(self.clients.next_gap(initiator), Event::Arrival { initiator });
                self.start_requests(now, initiator, agenda);
            }
        }
    }
}

impl ClusterModel for DctcpModel {
    fn start(&mut self, agenda: &mut Agenda<Event>) {
        for initiator in 0..self.rules.initiators {
            if self.clients.is_open() {
                agenda.after(self.clients.next_gap(initiator), Event::Arrival { initiator });
            } else {
                agenda.after(self.clients.start_delay(initiator), Event::Start { initiator });
            }
        }
    }

    fn recorder(&mut self) -> &mut Recorder {
        &mut self.recorder
    }

    fn start_measuring(&mut self, now: Time) {
        self.recorder.start_measuring(now);
        self.ports.iter_mut().for_each(Port::reset);
    }

    fn port_queues(&mut self, measured: Span) -> Option<PortQueues> {
        let ports = &self.ports[self.rules.initiators as usize..];
        let mean = ports.iter().map(|port| port.mean(measured)).sum::<f64>() / ports.len() as f64;
        let longest = ports.iter().map(Port::longest).max().unwrap_or(Size::ZERO);
        Some(PortQueues { mean, longest, samples: std::mem::take(&mut self.samples) })
    }

    fn into_recorder(self) -> Recorder {
        self.recorder
    }

    fn clients(&mut self) -> &mut Clients {
        &mut self.clients
    }

    fn asked(&self) -> impl Iterator<Item = Time> {
        self.requests.iter().map(|request| request.asked)
    }

    fn trace(&mut self) -> &mut Trace {
        &mut self.trace
    }

    fn watch(&mut self) -> &mut Option<Box<Watch>> {
        &mut self.watch
    }

    fn tell_rest(&mut self, end: Time) {
        if let Some(watch) = &mut self.watch {
            watch.end(end, self.rules.trip, |_| true);
        }
    }
}
