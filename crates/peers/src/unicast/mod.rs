//! The unicast peers that Replicast is compared with.
//!
//! **UCH-CCP** (Replicast paper, IV.B) is an idealised protocol: a target that is asked to take a
//! chunk grants a share of its link at once, tells all senders their new share whenever a flow comes
//! or goes, and no bandwidth is lost to congestion. Replicas of a chunk go out one after another;
//! the next is asked for when the last frame of the previous one starts.
//!
//! **UCH-AIMD** starts each flow slowly, speeds it up step by step, and halves it when the target
//! sees frames come too close together or its disk queue fill up (`aimd.rs`).
//!
//! These two assume a network that loses nothing, and have no answer to one that does.
//!
//! **UCH-DCTCP** is what a cluster runs today: persistent TCP connections with DCTCP (`dctcp`).

mod aimd;
mod bucket;
mod event;
mod fetch;
mod flow;
mod ports;
mod setup;
#[cfg(test)]
mod tests;
mod watched;

use slotcast_engine::{Agenda, Model, Pool};
use slotcast_scenario::Operation;
use slotcast_scenario::clients::{Clients, Job};
use slotcast_scenario::drive::{ClusterModel, Trace};
use slotcast_scenario::recorder::Recorder;
use slotcast_scenario::watch::Watch;
use slotcast_units::{Size, Span, Time};

use crate::ring::{Chooser, Placement};
use event::Event;
use flow::{Direction, Flow, FlowState};
use ports::{InitiatorPort, Rules, TargetPort};

/// A request under way.
#[derive(Debug, Clone, Copy)]
struct Request {
    initiator: u32,
    /// Counts the initiator's requests.
    serial: u32,
    asked: Time,
    operation: Operation,
    placement: Placement,
    /// Replicas asked for so far, and acknowledged so far.
    next: u8,
    acknowledged: u8,
}

/// A cluster of unicast initiators and targets.
#[derive(Debug)]
pub(crate) struct UnicastModel {
    rules: Rules,
    initiators: Vec<InitiatorPort>,
    targets: Vec<TargetPort>,
    requests: Pool<Request>,
    flows: Pool<Flow>,
    next_serial: u16,
    chooser: Chooser,
    clients: Clients,
    /// Where stored chunks are, for gets; empty if there are none.
    catalogue: Vec<Placement>,
    keep_catalogue: bool,
    recorder: Recorder,
    trace: Trace,
    watch: Option<Box<Watch>>,
}

impl UnicastModel {
    fn one_way(&self) -> Span {
        self.rules.control + self.rules.trip
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
            let port = &mut self.initiators[initiator as usize];
            let serial = port.next_serial;
            port.next_serial = serial.wrapping_add(1);
            let (next, acknowledged) = (0, 0);
            let request =
                Request { initiator, serial, asked, operation, placement, next, acknowledged };
            let slot = self.requests.insert(request, 1);
            if self.watch.is_some() {
                self.watch_started(now, slot);
            }
            match operation {
                Operation::Put => self.ask_next(now, slot, agenda),
                Operation::Get => self.ask_holder(now, slot, agenda),
            }
        }
    }

    /// Asks the target of the next replica.
    fn ask_next(&mut self, now: Time, slot: u32, agenda: &mut Agenda<Event>) {
        let request = self.requests.get_mut(slot);
        let target = request.placement.targets()[usize::from(request.next)];
        let initiator = request.initiator;
        request.next += 1;
        let flow = self.new_flow(slot, (initiator, target), Direction::Put);
        self.initiators[initiator as usize].egress.take(now, self.rules.control_bits);
        if self.watch.is_some() {
            self.watch_to_target("put-request", now, flow);
        }
        agenda.at(now + self.one_way(), Event::PutRequest { flow });
    }

    fn new_flow(&mut self, request: u32, ends: (u32, u32), direction: Direction) -> u32 {
        let size = self.clients.chunk_size();
        let serial = self.next_serial;
        self.next_serial = serial.wrapping_add(1);
        let flow = Flow::new(request, ends, direction, serial, size, self.rules.frame);
        let slot = self.flows.insert(flow, 1);
        if self.watch.is_some() {
            self.watch_flow(slot);
        }
        slot
    }

    /// A target is asked to take a chunk.
    fn put_request(&mut self, now: Time, slot: u32, agenda: &mut Agenda<Event>) {
        let target = self.flows.get(slot).target;
        self.targets[target as usize].flows.push(slot);
        if self.rules.serial_grants && !self.rules.aimd {
            if self.targets[target as usize].flows.len() == 1 {
                self.admit(now, slot, 1, agenda);
            }
            return;
        }
        let share = self.targets[target as usize].flows.len();
        self.admit(now, slot, share, agenda);
        if !self.rules.aimd {
            self.set_rates(now, target, agenda);
        }
    }

    /// Gives a flow leave to start, later if the disk is behind.
    fn admit(&mut self, now: Time, slot: u32, share: usize, agenda: &mut Agenda<Event>) {
        let Flow { target, serial, .. } = *self.flows.get(slot);
        let grant = now + self.disk_delay(now, target);
        if self.watch.is_some() {
            self.watch_to_initiator("rate-init", grant, slot);
        }
        let share = clamp(share);
        agenda.at(grant + self.one_way(), Event::RateInit { flow: slot, serial, share });
    }

    /// The backlog of a disk, if it is a full queue.
    fn full_queue(&self, now: Time, target: u32) -> Option<Span> {
        let chunk = self.clients.chunk_size();
        let service = self.targets[target as usize].disk_rate.time_for(chunk) + self.rules.access;
        let backlog = self.recorder.devices[target as usize].disk.backlog(now);
        let depth = (backlog + service / 2) / service.max(Span::from_ns(1));
        (depth >= self.rules.queue_limit).then_some(backlog)
    }

    /// How long a full disk queue defers a flow (SURGE d92018f).
    fn disk_delay(&self, now: Time, target: u32) -> Span {
        let transfer = self.rules.usable.time_for(self.clients.chunk_size());
        let full = self.full_queue(now, target);
        full.map_or(Span::ZERO, |backlog| backlog.saturating_sub(transfer))
    }

    /// Tells all senders to `target` their equal share, but those that are nearly done.
    fn set_rates(&mut self, now: Time, target: u32, agenda: &mut Agenda<Event>) {
        let share = self.targets[target as usize].flows.len();
        if share == 0 {
            return;
        }
        let arrival = now + self.one_way();
        if self.watch.is_some() {
            self.watch_rates(now, target);
        }
        for &slot in &self.targets[target as usize].flows {
            let flow = self.flows.get(slot);
            if flow.unsent(now) > self.rules.frame {
                let serial = flow.serial;
                agenda.at(arrival, Event::RateSet { flow: slot, serial, share: clamp(share) });
            }
        }
    }

    /// A flow may start.
    fn rate_init(
        &mut self,
        now: Time,
        (slot, serial, share): (u32, u16, u16),
        agenda: &mut Agenda<Event>,
    ) {
        let flow = self.flows.get_mut(slot);
        debug_assert_eq!(flow.serial, serial, "a flow lives until it has started");
        if self.rules.aimd {
            flow.set_rate(now, self.rules.aimd_step);
        } else if flow.rate().as_bps() == 0 {
            // Otherwise a newer rate has overtaken this one.
            flow.set_rate(now, self.rules.usable.split(u64::from(share)));
        }
        let first = flow.next_frame().as_bits();
        let egress = &mut self.initiators[flow.initiator as usize].egress;
        let start = egress.ready(now, first);
        flow.start(start);
        if !self.rules.frame_by_frame && !flow.next_is_last() {
            egress.take(start, first);
        }
        self.schedule_frame(slot, agenda);
    }

    fn rate_set(
        &mut self,
        now: Time,
        (slot, serial, share): (u32, u16, u16),
        agenda: &mut Agenda<Event>,
    ) {
        let flow = self.flows.get_mut(slot);
        if flow.serial != serial || flow.state == FlowState::LastFrame {
            return;
        }
        let before = flow.progress();
        flow.set_rate(now, self.rules.usable.split(u64::from(share)));
        if flow.state == FlowState::Sending {
            if self.watch.is_some() && !self.rules.frame_by_frame {
                self.watch_frames_since(before, slot);
            }
            self.schedule_frame(slot, agenda);
        }
    }

    /// Sets the timer of a flow that sends: for its next frame, or for the last one only.
    fn schedule_frame(&mut self, slot: u32, agenda: &mut Agenda<Event>) {
        let flow = self.flows.get_mut(slot);
        if let Some(timer) = flow.timer.take() {
            agenda.cancel(timer);
        }
        let at = match self.rules.frame_by_frame {
            true => flow.boundary(),
            false => flow.last_frame_start(),
        };
        flow.timer = Some(agenda.timer_at(at.max(agenda.now()), Event::Frame { flow: slot }));
    }

    /// A frame of a put may leave: any frame, or, flow by flow, the last.
    fn frame(&mut self, now: Time, slot: u32, agenda: &mut Agenda<Event>) {
        let flow = self.flows.get_mut(slot);
        flow.timer = None;
        let is_put = flow.direction == Direction::Put;
        if !self.rules.frame_by_frame {
            return self.last_frame(now, slot, agenda);
        }
        if flow.boundary() > now {
            // The rate was cut since the timer was set.
            return self.schedule_frame(slot, agenda);
        }
        let bits = flow.next_frame().as_bits();
        if is_put {
            let egress = &mut self.initiators[flow.initiator as usize].egress;
            let mut ready = egress.ready(now, bits);
            if !self.rules.aimd {
                // The target's port takes no more than it can pass on.
                ready = ready.max(self.targets[flow.target as usize].ingress.ready(now, bits));
            }
            if ready > now {
                flow.timer = Some(agenda.timer_at(ready, Event::Frame { flow: slot }));
                return;
            }
            self.targets[flow.target as usize].ingress.take(now, bits);
        }
        if self.rules.aimd && is_put {
            let target = &mut self.targets[flow.target as usize];
            let begin = target.queue_frame(now, flow.rate(), bits, &self.rules);
            if let Some(watch) = &mut self.watch {
                watch.arrives((slot, 0), begin, target.busy_until, flow.next_frame());
            }
        }
        if flow.next_is_last() {
            return self.last_frame(now, slot, agenda);
        }
        if is_put {
            self.initiators[flow.initiator as usize].egress.take(now, bits);
        }
        if self.rules.aimd && is_put {
            aimd::frame_sent(flow, bits, &self.rules);
        }
        let size = flow.send_frame(now);
        let (boundary, serial) = (flow.boundary(), flow.serial);
        if let Some(watch) = &mut self.watch {
            watch.leaves((slot, 0), now, boundary, size);
        }
        agenda.at(boundary + self.rules.trip, Event::FrameReceived { flow: slot, serial });
        flow.timer = Some(agenda.timer_at(boundary, Event::Frame { flow: slot }));
    }

    /// The last frame of a flow starts; with it, the request for the next replica leaves.
    fn last_frame(&mut self, now: Time, slot: u32, agenda: &mut Agenda<Event>) {
        let flow = self.flows.get_mut(slot);
        let before = flow.progress();
        let end = flow.send_last(now);
        let Flow { operation, initiator, target, direction, .. } = *flow;
        let mut arrival = end + self.rules.trip;
        if self.rules.aimd && direction == Direction::Put {
            arrival = arrival.max(self.targets[target as usize].busy_until);
        }
        agenda.at(arrival, Event::Received { flow: slot });
        let bits = flow.last_frame().as_bits();
        if self.watch.is_some() {
            self.watch_last_frame(before, now, slot);
        }
        if direction == Direction::Get {
            return;
        }
        if !self.rules.free_last_frame {
            self.initiators[initiator as usize].egress.take(now, bits);
        }
        let request = self.requests.get(operation);
        if usize::from(request.next) < request.placement.targets().len() {
            self.ask_next(now, operation, agenda);
        }
    }

    /// The last bit of a flow has arrived.
    fn received(&mut self, now: Time, slot: u32, agenda: &mut Agenda<Event>) {
        let Flow { target, operation, direction, size, .. } = *self.flows.get(slot);
        if direction == Direction::Get {
            return self.fetched(now, slot, agenda);
        }
        if self.watch.is_some() {
            self.watch_arrival(slot);
        }
        self.flows.release(slot);
        let port = &mut self.targets[target as usize];
        port.flows.retain(|&other| other != slot);
        self.recorder.devices[target as usize].received += size;
        let written = self.use_disk(now, target, operation, size);
        if self.watch.is_some() {
            self.watch_ack(written, target, operation);
        }
        agenda.at(written + self.one_way(), Event::Ack { request: operation });
        if self.rules.aimd {
            return;
        }
        if self.rules.serial_grants {
            if let Some(&next) = self.targets[target as usize].flows.first() {
                self.admit(now, next, 1, agenda);
            }
        } else {
            self.set_rates(now, target, agenda);
        }
    }

    /// The disk of `target` writes or reads a chunk; says when it will be done.
    fn use_disk(&mut self, now: Time, target: u32, request: u32, size: Size) -> Time {
        let disk_rate = self.targets[target as usize].disk_rate;
        let service = disk_rate.time_for(size) + self.rules.access;
        let end = self.recorder.devices[target as usize].disk.serve(now, service);
        if self.watch.is_some() {
            self.watch_disk(target, request, (now, end - service, end));
        }
        end
    }

    fn acknowledged(&mut self, now: Time, slot: u32, agenda: &mut Agenda<Event>) {
        let request = self.requests.get_mut(slot);
        request.acknowledged += 1;
        if usize::from(request.acknowledged) == request.placement.targets().len() {
            if self.keep_catalogue {
                self.catalogue.push(request.placement);
            }
            self.end(now, slot, agenda);
        }
    }

    fn end(&mut self, now: Time, slot: u32, agenda: &mut Agenda<Event>) {
        let Request { initiator, asked, operation, .. } = *self.requests.get(slot);
        if self.watch.is_some() {
            self.watch_ended(now, slot);
        }
        self.requests.release(slot);
        self.recorder.complete(asked, now, operation);
        self.clients.ended(initiator);
        self.start_requests(now, initiator, agenda);
    }
}

/// A number of flows that fits an event; more than 65535 at one port share as if there were so many.
fn clamp(share: usize) -> u16 {
    u16::try_from(share).unwrap_or(u16::MAX)
}

impl Model for UnicastModel {
    type Event = Event;

    fn handle(&mut self, now: Time, event: Event, agenda: &mut Agenda<Event>) {
        if self.trace.wanted {
            self.trace_event(now, event);
        }
        match event {
            Event::Start { initiator } => self.start_requests(now, initiator, agenda),
            Event::Arrival { initiator } => {
                self.clients.arrive(initiator, now);
                agenda.after(self.clients.next_gap(initiator), Event::Arrival { initiator });
                self.start_requests(now, initiator, agenda);
            }
            Event::PutRequest { flow } => self.put_request(now, flow, agenda),
            Event::RateInit { flow, serial, share } => {
                self.rate_init(now, (flow, serial, share), agenda);
            }
            Event::RateSet { flow, serial, share } => {
                self.rate_set(now, (flow, serial, share), agenda);
            }
            Event::Frame { flow } => self.frame(now, flow, agenda),
            Event::FrameReceived { flow, serial } => {
                if self.rules.aimd {
                    self.watch_congestion(now, flow, serial, agenda);
                }
            }
            Event::Ding { flow, serial } => self.dinged(now, flow, serial),
            Event::Received { flow } => self.received(now, flow, agenda),
            Event::Ack { request } => self.acknowledged(now, request, agenda),
            Event::GetRequest { request } => self.get_request(now, request, agenda),
            Event::Read { request } => self.read(now, request, agenda),
        }
    }
}

impl ClusterModel for UnicastModel {
    fn start(&mut self, agenda: &mut Agenda<Event>) {
        for initiator in 0..u32::try_from(self.initiators.len()).expect("counted in u32") {
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
        self.watch_rest(end);
    }
}
