//! Hosts the Replicast machines in the simulator: carries messages and payload between them, writes
//! to disks, and starts requests. Decides nothing: that is ring 1.

mod effects;
mod event;
mod machines;
mod proxy;
mod rebuild;
mod setup;
mod store;
mod tape;
#[cfg(test)]
mod tests;
mod windows;

use slotcast_engine::{Agenda, Model, Pool, TimerId};
use slotcast_protocol::tape::InitiatorHeard;
use slotcast_protocol::{
    ChunkId, Claim, GroupId, GroupMap, Initiator, InitiatorEffect, InitiatorId, Members, Message,
    ProxyEffect, ProxyInput, RequestId, Target, TargetEffect, TargetInput, Timing,
};
use slotcast_scenario::clients::{Client, Clients, Job};
use slotcast_scenario::drive::{ClusterModel, Trace};
use slotcast_scenario::faults::Faults;
use slotcast_scenario::recorder::Recorder;
use slotcast_scenario::watch::Watch;
use slotcast_scenario::{Fidelity, Observation, Operation, Place, Quirks};
use slotcast_units::{Rate, Size, Span, Time};

use crate::objects::{Object, Objects, Part, part};
use event::Event;
use proxy::ProxyHost;
use store::Stores;
use windows::{Cause, Windows};

pub use setup::MachineConfigs;
pub(crate) use setup::{control_size_problem, machine_configs, new_model, timing};
pub use tape::{Difference, Tapes};
pub(crate) use tape::{record, replay};

/// A chunk on its way, or at a disk.
#[derive(Debug, Clone, Copy)]
struct Transfer {
    request: RequestId,
    chunk: ChunkId,
    size: Size,
    /// Payload that is still to leave, frame by frame.
    left: Size,
    /// To which members of which group; nobody, for a chunk at a disk or sent to an initiator.
    group: GroupId,
    to: Members,
    start: Time,
    /// At which disk of a target, for a chunk at a disk.
    disk: u16,
}

/// A request that an initiator has under way: for an object, or for one chunk of a larger one.
#[derive(Debug, Clone, Copy)]
struct Running {
    request: RequestId,
    object: Object,
    /// Where an object of several chunks is kept.
    slot: Option<u32>,
}

/// What the host keeps for one initiator.
#[derive(Debug)]
struct InitiatorHost {
    machine: Initiator,
    running: Vec<Running>,
    /// Until when its port is busy with a control message; payload waits for that.
    control_until: Time,
    previous_group: Option<GroupId>,
    alarm: Option<TimerId>,
}

/// What the host keeps for one target.
#[derive(Debug)]
struct TargetHost {
    machine: Target,
    /// Where groups have proxies: every member can be one.
    proxy: Option<Box<ProxyHost>>,
    disk_rate: Rate,
    up: bool,
    /// Counts restarts: what was on its way through the disk before one is lost.
    incarnation: u16,
}

/// A cluster that speaks Replicast.
#[derive(Debug)]
pub(crate) struct ReplicastModel {
    timing: Timing,
    fidelity: Fidelity,
    quirks: Quirks,
    /// Time of a disk for each request, beyond that of its bytes.
    access: Span,
    groups: GroupMap,
    initiators: Vec<InitiatorHost>,
    targets: Vec<TargetHost>,
    messages: Pool<Message>,
    transfers: Pool<Transfer>,
    clients: Clients,
    objects: Objects,
    stores: Stores,
    faults: Faults,
    down: Option<Outage>,
    recorder: Recorder,
    trace: Trace,
    watch: Option<Box<Watch>>,
    /// What the machines hear and do, if somebody wants to know.
    tape: Option<Box<Tapes>>,
    windows: Windows,
    initiator_effects: Vec<InitiatorEffect>,
    target_effects: Vec<TargetEffect>,
    proxy_effects: Vec<ProxyEffect>,
}

/// When the chosen targets go down, and when they come back.
#[derive(Debug, Clone, Copy)]
struct Outage {
    from: Time,
    to: Option<Time>,
}

impl Model for ReplicastModel {
    type Event = Event;

    fn handle(&mut self, now: Time, event: Event, agenda: &mut Agenda<Event>) {
        if self.trace.wanted {
            self.trace_event(now, event);
        }
        match event {
            Event::ToTarget { target, message } => {
                self.deliver_to_target(now, target, message, agenda);
            }
            Event::ToInitiator { initiator, message } => {
                self.deliver_to_initiator(now, initiator, message, agenda);
            }
            Event::ToProxy { target, message } => {
                let heard = *self.messages.get(message);
                self.messages.release(message);
                self.tell_proxy(now, target, ProxyInput::Message(&heard), agenda);
            }
            Event::ProxyWake { target } => self.tell_proxy(now, target, ProxyInput::Wake, agenda),
            Event::Received { target, transfer } => self.received(now, target, transfer, agenda),
            Event::Written { target, transfer, incarnation } => {
                self.written(now, target, transfer, incarnation, agenda);
            }
            Event::Read { target, transfer, incarnation } => {
                self.read(now, target, transfer, incarnation, agenda);
            }
            Event::Sent { target, transfer, incarnation } => {
                self.sent(now, target, transfer, incarnation, agenda);
            }
            Event::Frame { transfer } => self.frame(now, transfer, agenda),
            Event::FrameReceived { .. } => {}
            Event::Delivered { initiator, target, transfer } => {
                self.delivered(now, (target, initiator), transfer, agenda);
            }
            Event::Wake { initiator } => self.wake(now, initiator, agenda),
            Event::Arrival { initiator } => {
                self.clients.arrive(initiator, now);
                agenda.after(self.clients.next_gap(initiator), Event::Arrival { initiator });
                self.start_requests(now, initiator);
                self.carry_out(now, initiator, agenda);
            }
            Event::Start { initiator } => {
                self.start_requests(now, initiator);
                self.carry_out(now, initiator, agenda);
            }
            Event::Down { target } => self.go_down(now, target),
            Event::Rebuild { target, disk } => self.rebuild(now, target, disk, agenda),
            Event::Up { target } => {
                self.targets[target as usize].up = true;
                if let Some(watch) = &mut self.watch {
                    watch.tell(Observation::TargetUp { at: now, target });
                }
            }
        }
    }
}

impl ClusterModel for ReplicastModel {
    fn start(&mut self, agenda: &mut Agenda<Event>) {
        let count = u32::try_from(self.targets.len()).expect("counted in u32");
        if let Some(Outage { from, to }) = self.down {
            for target in (0..count).filter(|&t| self.faults.goes_down(t, count)) {
                agenda.at(from, Event::Down { target });
                if let Some(to) = to {
                    agenda.at(to, Event::Up { target });
                }
            }
            self.start_rebuild(from, agenda);
        }
        for initiator in 0..u32::try_from(self.initiators.len()).expect("counted in u32") {
            if self.clients.is_open() {
                agenda.after(self.clients.next_gap(initiator), Event::Arrival { initiator });
            } else {
                let start = self.clients.start_delay(initiator);
                agenda.after(start, Event::Start { initiator });
            }
        }
    }

    fn recorder(&mut self) -> &mut Recorder {
        &mut self.recorder
    }

    fn into_recorder(mut self) -> Recorder {
        for TargetHost { machine, .. } in &self.targets {
            self.recorder.counts.double_bookings += machine.incoming().double_bookings();
            self.recorder.counts.late_rejects += machine.late_rejects();
        }
        self.recorder
    }

    fn clients(&mut self) -> &mut Clients {
        &mut self.clients
    }

    fn asked(&self) -> impl Iterator<Item = Time> {
        let chunks = self.initiators.iter().flat_map(|host| host.running.iter());
        let whole = chunks.filter(|running| running.slot.is_none());
        whole.map(|running| running.object.asked).chain(self.objects.asked())
    }

    fn trace(&mut self) -> &mut Trace {
        &mut self.trace
    }

    fn watch(&mut self) -> &mut Option<Box<Watch>> {
        &mut self.watch
    }

    fn tell_rest(&mut self, end: Time) {
        self.close_windows(end);
        let is_up = |place| match place {
            Place::Target(target) => self.targets[target as usize].up,
            Place::Initiator(_) => true,
        };
        if let Some(watch) = &mut self.watch {
            watch.end(end, self.timing.trip, is_up);
        }
    }
}

impl ReplicastModel {
    /// Starts as many requests as the window of `initiator` allows, the chunks of an object first;
    /// their effects are left to be carried out.
    fn start_requests(&mut self, now: Time, initiator: u32) {
        loop {
            if self.objects.has_next(initiator) {
                if !self.clients.take_place(initiator) {
                    return;
                }
                let (slot, object, part) = self.objects.start_next(initiator).expect("it has one");
                self.start_request(now, initiator, object, part, Some(slot));
                continue;
            }
            let stored = self.stores.catalogue().len();
            let Some(job) = self.clients.next(initiator, now, stored) else { return };
            let Job { operation, asked } = job;
            let (name, size) = match operation {
                Operation::Put => (self.new_chunk(initiator), self.clients.object_size(initiator)),
                Operation::Get => {
                    let pick = self.clients.client(initiator).below(stored as u64);
                    self.stores.catalogue()[usize::try_from(pick).expect("below a length")]
                }
            };
            let object = Object { operation, asked, name, size };
            let slot = self.objects.open(initiator, object);
            let first = part(&name, size, self.clients.chunk_size(), 0);
            self.start_request(now, initiator, object, first, slot);
        }
    }

    /// Starts the request for one chunk of `object`.
    fn start_request(
        &mut self,
        now: Time,
        initiator: u32,
        object: Object,
        part: Part,
        slot: Option<u32>,
    ) {
        let host = &mut self.initiators[initiator as usize];
        let effects = &mut self.initiator_effects;
        let before = effects.len();
        let request = match object.operation {
            Operation::Put => host.machine.put(now, part.chunk, part.size, &self.groups, effects),
            Operation::Get => host.machine.get(now, part.chunk, &self.groups, effects),
        };
        if let Some(tape) = &mut self.tape {
            let heard = match object.operation {
                Operation::Put => InitiatorHeard::Put(part.chunk, part.size, (None, Claim::Bare)),
                Operation::Get => InitiatorHeard::Get(part.chunk),
            };
            tape.initiator(now, initiator, heard, &effects[before..]);
        }
        if let Some(watch) = &mut self.watch {
            watch.request_started(now, request, object.operation, object.asked);
        }
        host.running.push(Running { request, object, slot });
    }

    /// The name of a chunk that was never seen before.
    fn new_chunk(&mut self, initiator: u32) -> ChunkId {
        let client = self.clients.client(initiator);
        let mut chunk = client.new_chunk();
        if self.quirks.avoid_previous_group {
            let host = &mut self.initiators[initiator as usize];
            chunk = avoid_group(chunk, host.previous_group, &self.groups, client);
            host.previous_group = Some(self.groups.group_of(&chunk));
        }
        chunk
    }

    fn tell_target(
        &mut self,
        now: Time,
        target: u32,
        input: TargetInput<'_>,
        agenda: &mut Agenda<Event>,
    ) {
        let shelf = self.stores.shelf(target);
        let machine = &mut self.targets[target as usize].machine;
        machine.handle(now, input, &shelf, &mut self.target_effects);
        if let Some(tape) = &mut self.tape {
            tape.target(now, target, input, &self.target_effects);
        }
        self.carry_out_target(now, target, agenda);
    }
}

/// The original's way to a chunk in another group than the previous one: another chunk, and if that
/// fails, too, the next group.
fn avoid_group(
    chunk: ChunkId,
    previous: Option<GroupId>,
    groups: &GroupMap,
    client: &mut Client,
) -> ChunkId {
    let Some(previous) = previous.filter(|&p| p == groups.group_of(&chunk)) else { return chunk };
    let second = client.new_chunk();
    if groups.group_of(&second) != previous || groups.groups() == 1 {
        return second;
    }
    let next = GroupId((previous.0 + 1) % groups.groups());
    loop {
        let chunk = client.new_chunk();
        if groups.group_of(&chunk) == next {
            return chunk;
        }
    }
}

/// The initiator that a request belongs to.
fn owner(request: RequestId) -> u32 {
    let InitiatorId(initiator) = request.initiator;
    initiator
}
