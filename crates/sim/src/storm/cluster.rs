//! The cluster in the storm: hosts the machines of ring 1 and carries out what they want.

use std::collections::{BTreeMap, VecDeque};

use slotcast_engine::{Agenda, Model, Stream, Streams};
use slotcast_faults::SimulatedDisk;
use slotcast_protocol::{
    AckOutcome, GroupMap, Initiator, InitiatorEffect, InitiatorId, InitiatorInput, Inventory,
    Message, Repair, RepairEffect, RepairInput, RepairOutcome, TargetId,
};
use slotcast_store::{OpId, QueueRule, StoringEffect, StoringTarget};
use slotcast_units::{Size, Span, Time};

use super::Mistake;
use super::catalogue::Catalogue;
use super::drain::Leaving;
use super::event::Event;
use super::hosts::{InitiatorHost, Kind, Parcel, Parcels, Purpose, Running, TargetHost};
use super::network::Network;
use super::plan::Plan;
use super::report::StormReport;
use super::windows::Accepted;

/// When targets that measure their disk ask to be waited for: some chunks of a storm.
const QUEUE: QueueRule = QueueRule { time: Span::from_ms(5), most: Size::from_mib(1) };

/// What a machine wants, and which one it was.
enum Wish {
    Target(u32, StoringEffect),
    Repair(u32, RepairEffect),
    Initiator(u32, InitiatorEffect),
}

/// All that is simulated.
pub(super) struct Storm {
    pub(super) plan: Plan,
    pub(super) mistake: Option<Mistake>,
    pub(super) groups: GroupMap,
    pub(super) network: Network,
    /// Those of users, then one for the repair of each target.
    pub(super) initiators: Vec<InitiatorHost>,
    pub(super) targets: Vec<TargetHost>,
    pub(super) catalogue: Catalogue,
    pub(super) parcels: Parcels,
    disk_times: Stream,
    /// Of users and faults.
    pub(super) chance: Stream,
    /// Of wanted replicas.
    pub(super) numbers: Stream,
    pub(super) is_calm: bool,
    /// Waves of faults so far.
    pub(super) wave: u32,
    /// Checks that are asked for and have not ended.
    pub(super) checks: usize,
    pub(super) report: StormReport,
    wishes: VecDeque<Wish>,
    pub(super) storing: Vec<StoringEffect>,
    pub(super) initiating: Vec<InitiatorEffect>,
    repairing: Vec<RepairEffect>,
}

impl Model for Storm {
    type Event = Event;

    fn handle(&mut self, now: Time, event: Event, agenda: &mut Agenda<Event>) {
        match event {
            Event::ToTarget { target, parcel } => {
                let parcel = self.parcels.take(parcel);
                self.arrives_at_target(now, target, parcel);
            }
            Event::ToInitiator { initiator, parcel } => {
                let parcel = self.parcels.take(parcel);
                self.arrives_at_initiator(now, initiator, &parcel);
            }
            Event::Sent { target, parcel, life } => {
                let Parcel::Request(request) = self.parcels.take(parcel) else { return };
                let host = &mut self.targets[target as usize];
                if let Some(machine) = host.machine.as_mut().filter(|_| host.life == life) {
                    machine.sent(now, request);
                }
            }
            Event::Check { chunk } => {
                let user = chunk % self.plan.users;
                self.get(now, user, chunk, Purpose::Check);
            }
            Event::Disk { target, life, op } => self.disk_done(now, target, life, op),
            Event::WakeInitiator { initiator, life } => {
                if self.initiators[initiator as usize].life == life {
                    self.tell_initiator(now, initiator, InitiatorInput::Wake);
                }
            }
            Event::WakeRepair { target, life } => {
                if self.targets[target as usize].life == life {
                    self.tell_repair(now, target, RepairInput::Wake);
                }
            }
            Event::Ask => self.ask(now),
            Event::Retire => self.retire(now),
            Event::Fault(fault) => self.inject(now, fault, agenda),
            Event::Over { fault, of, life } => self.over(now, fault, of, life, agenda),
            Event::Noticed { target, life } => self.noticed(now, target, life),
            Event::Drain { target } => self.drain(now, target),
        }
        self.settle(now, agenda);
    }
}

impl Storm {
    pub(super) fn new(seed: u64, mistake: Option<Mistake>) -> Storm {
        let streams = Streams::new(seed);
        let mut plan = Plan::new(&streams);
        if mistake == Some(Mistake::CountsWhatIsOver) {
            plan.expected = Span::MAX;
        }
        let groups = plan.groups();
        let hosts = (plan.users + plan.targets) as usize;
        let network = Network::new(hosts, plan.timing.trip, streams.stream("network", 0));
        let initiator = |id| InitiatorHost {
            machine: Initiator::new(plan.initiator(id)),
            running: BTreeMap::new(),
            life: 0,
        };
        let initiators = (0..plan.users + plan.targets).map(initiator).collect();
        let target = |number: u32| {
            let disk_seed = streams.stream("disks", u64::from(number)).next_u64();
            let mut disk = SimulatedDisk::new(disk_seed);
            disk.lies = mistake == Some(Mistake::AcknowledgeBeforeFlush);
            TargetHost {
                machine: None,
                disk,
                repair: new_repair(&plan, &groups, number),
                reading: BTreeMap::new(),
                accepted: Accepted::default(),
                life: 0,
                slowness: 1,
                harmed: false,
                held: Vec::new(),
                dark: false,
                leaving: Leaving::No,
                known_gone: false,
            }
        };
        let targets = (0..plan.targets).map(target).collect();
        Storm {
            mistake,
            groups,
            network,
            initiators,
            targets,
            catalogue: Catalogue::new(streams.stream("content", 0)),
            parcels: Parcels::default(),
            disk_times: streams.stream("disk-times", 0),
            chance: streams.stream("chance", 0),
            numbers: streams.stream("replicas", 1),
            is_calm: true,
            wave: 0,
            checks: 0,
            report: StormReport { seed, ..StormReport::default() },
            wishes: VecDeque::new(),
            storing: Vec::new(),
            initiating: Vec::new(),
            repairing: Vec::new(),
            plan,
        }
    }

    /// The initiator of a target's repair.
    pub(super) fn repairer(&self, target: u32) -> u32 {
        self.plan.users + target
    }

    /// Where an initiator runs: users on hosts of their own, repair on that of its target.
    pub(super) fn host_of(initiator: u32) -> usize {
        initiator as usize
    }

    /// Starts a target over what is on its disk.
    pub(super) fn start(&mut self, now: Time, target: u32) {
        let config = self.plan.target(&self.groups, target);
        let store = self.plan.store(target);
        let repairer = self.repairer(target);
        let host = &mut self.targets[target as usize];
        host.life += 1;
        host.repair = new_repair(&self.plan, &self.groups, target);
        let machine = StoringTarget::open(now, config, store, &mut self.storing);
        host.machine = Some(match target % 2 {
            // Some measure their disks, as in a node, and some believe what they were told.
            0 => machine.measuring(now, QUEUE),
            _ => machine,
        });
        let life = host.life;
        self.renew(repairer, life);
        self.take_storing(target);
        self.take_no_puts(now, target);
    }

    /// The power of a target fails.
    pub(super) fn stop(&mut self, now: Time, target: u32, agenda: &mut Agenda<Event>) {
        let repairer = self.repairer(target);
        let host = &mut self.targets[target as usize];
        if host.is_open() {
            host.held = host.chunks();
        }
        if let Some(machine) = host.machine.take() {
            self.report.compacted += machine.statistics().compacted;
        }
        self.report.healed += host.repair.statistics().healed;
        host.repair = new_repair(&self.plan, &self.groups, target);
        host.reading.clear();
        host.accepted.clear();
        host.disk.crash();
        host.life += 1;
        let life = host.life;
        self.renew(repairer, life);
        agenda.at(now + super::plan::GONE_AFTER, Event::Noticed { target, life });
    }

    /// An initiator that knows nothing of its earlier requests, and never repeats their names.
    pub(super) fn renew(&mut self, initiator: u32, life: u32) {
        let config = self.plan.initiator(initiator);
        let host = &mut self.initiators[initiator as usize];
        host.machine = Initiator::new(config).counting_from(life << 16);
        host.running.clear();
        host.life = life;
    }

    /// The other members of its group learn that a target is gone, or back.
    fn noticed(&mut self, now: Time, target: u32, life: u32) {
        let host = &mut self.targets[target as usize];
        if host.life != life {
            return;
        }
        host.known_gone = host.machine.is_none();
        let (group, _) = self.groups.seat(TargetId(target));
        for member in self.groups.members(group).to_vec() {
            if member.0 != target && self.targets[member.0 as usize].machine.is_some() {
                self.tell_repair(now, member.0, RepairInput::Changed);
            }
        }
    }

    fn arrives_at_target(&mut self, now: Time, target: u32, parcel: Parcel) {
        let repairer = InitiatorId(self.repairer(target));
        let grace = self.plan.initiator(0).ack_timeout;
        let host = &mut self.targets[target as usize];
        let Some(machine) = &mut host.machine else { return };
        match parcel {
            Parcel::Message(message) => {
                machine.message(now, &message, &mut self.storing);
                if let Message::PutAccept(_) | Message::GetAccept(_) = message {
                    self.report.acceptances += 1;
                }
                let overlap = host.accepted.handled(now, &message, machine.machine(), grace);
                if let Some(overlap) = overlap {
                    self.report.violated(format!("target {target} at {now}: {overlap}"));
                }
                if let Message::PutRequest(asked) = &message
                    && asked.request.initiator != repairer
                {
                    self.tell_repair(now, target, RepairInput::Heard(asked.chunk, asked.replicas));
                }
            }
            Parcel::Chunk(request, content) => {
                machine.received(now, request, content, &mut self.storing);
                host.accepted.received(request);
            }
            Parcel::Damaged(request, chunk) => {
                machine.damaged(now, request, chunk, &mut self.storing);
                host.accepted.received(request);
            }
            Parcel::Request(_) => {}
        }
        self.take_storing(target);
    }

    fn arrives_at_initiator(&mut self, now: Time, initiator: u32, parcel: &Parcel) {
        let input = match parcel {
            Parcel::Message(message) => InitiatorInput::Message(message),
            Parcel::Damaged(request, _) => {
                InitiatorInput::Delivered { request: *request, intact: false }
            }
            Parcel::Chunk(request, came) => {
                let host = &mut self.initiators[initiator as usize];
                if let Some(Running { kind: Kind::Get { content, .. }, .. }) =
                    host.running.get_mut(request)
                {
                    *content = Some(came.clone());
                }
                InitiatorInput::Delivered { request: *request, intact: true }
            }
            Parcel::Request(_) => return,
        };
        self.tell_initiator(now, initiator, input);
    }

    fn disk_done(&mut self, now: Time, target: u32, life: u32, op: OpId) {
        let host = &mut self.targets[target as usize];
        if host.life != life {
            return;
        }
        if let (Some(machine), Some(result)) = (&mut host.machine, host.disk.finish(op)) {
            machine.disk(now, op, result, &mut self.storing);
            self.take_storing(target);
        }
    }

    pub(super) fn take_storing(&mut self, target: u32) {
        self.wishes.extend(self.storing.drain(..).map(|effect| Wish::Target(target, effect)));
    }

    fn tell_initiator(&mut self, now: Time, initiator: u32, input: InitiatorInput<'_>) {
        let machine = &mut self.initiators[initiator as usize].machine;
        machine.handle(now, input, &self.groups, &mut self.initiating);
        self.take_initiating(initiator);
    }

    pub(super) fn take_initiating(&mut self, initiator: u32) {
        let wish = |effect| Wish::Initiator(initiator, effect);
        self.wishes.extend(self.initiating.drain(..).map(wish));
    }

    pub(super) fn tell_repair(&mut self, now: Time, target: u32, input: RepairInput) {
        let host = &mut self.targets[target as usize];
        if let Some(machine) = &host.machine {
            host.repair.handle(now, input, machine, &mut self.repairing);
            let wish = |effect| Wish::Repair(target, effect);
            self.wishes.extend(self.repairing.drain(..).map(wish));
        }
    }

    /// Carries out what the machines want, until none wants anything.
    pub(super) fn settle(&mut self, now: Time, agenda: &mut Agenda<Event>) {
        while let Some(wish) = self.wishes.pop_front() {
            match wish {
                Wish::Target(target, effect) => self.target_effect(now, target, effect, agenda),
                Wish::Repair(target, effect) => self.repair_effect(now, target, effect, agenda),
                Wish::Initiator(initiator, effect) => {
                    self.initiator_effect(now, initiator, effect, agenda);
                }
            }
        }
        self.hear_of_leaving(now, agenda);
    }

    fn target_effect(
        &mut self,
        now: Time,
        target: u32,
        effect: StoringEffect,
        agenda: &mut Agenda<Event>,
    ) {
        let host = &mut self.targets[target as usize];
        let life = host.life;
        match effect {
            StoringEffect::Disk(op, what) => {
                host.disk.ask(op, what);
                let mean = self.plan.disk_delay * host.slowness;
                let delay = Span::from_us(2) + self.disk_times.exponential(mean);
                agenda.at(now + delay, Event::Disk { target, life, op });
            }
            StoringEffect::Send(to, message) => {
                let is_stored = matches!(&message, Message::ReplicaAck(ack)
                    if ack.outcome == AckOutcome::Stored && host.leaving != Leaving::No);
                let (from, to) = (self.repairer(target), to.0);
                let parcel = Parcel::Message(message);
                self.send_to_initiator(now, from, to, &parcel, agenda);
                if is_stored {
                    self.tell_repair(now, target, RepairInput::Stored);
                }
            }
            StoringEffect::Transfer { request, content, start } => {
                let size = Size::from_bytes(content.bytes().len() as u64);
                let left = start.max(now) + self.plan.timing.transfer(size);
                let parcel = self.parcels.send(Parcel::Request(request));
                agenda.at(left, Event::Sent { target, parcel, life });
                let (from, to) = (self.repairer(target), request.initiator.0);
                let parcel = Parcel::Chunk(request, content);
                self.send_to_initiator(left, from, to, &parcel, agenda);
            }
            StoringEffect::Opened => {
                self.check_found(now, target);
                let life = self.targets[target as usize].life;
                agenda.at(now + self.plan.timing.trip, Event::Noticed { target, life });
                self.tell_repair(now, target, RepairInput::Changed);
                self.take_no_puts(now, target);
            }
            StoringEffect::NotOpened(error) => {
                self.report.violated(format!("target {target} at {now} does not open: {error}"));
            }
            StoringEffect::Lost(chunk, replicas) => {
                if !host.disk.excuses(&chunk) && !host.disk.is_unread(&chunk) {
                    let what = format!("target {target} at {now} lost {chunk} without a reason");
                    self.report.violated(what);
                }
                self.tell_repair(now, target, RepairInput::Lost(chunk, replicas));
            }
            StoringEffect::Fetched(chunk, result) => {
                let Some(put) = host.reading.remove(&chunk) else { return };
                // If it is still held, compaction has moved it while it was read.
                let wanted = host.machine.as_ref().and_then(|machine| machine.wanted(&chunk));
                match (result, wanted) {
                    (Ok(content), Some(wanted)) if put => {
                        let replicas = self.to_repair(wanted);
                        let repairer = self.repairer(target);
                        let kind = Kind::Put { content, made: false };
                        let purpose = Purpose::PutAgain;
                        let running = Running { chunk, replicas, purpose, kind };
                        self.begin(now, repairer, running);
                    }
                    (Ok(_), Some(_)) => {
                        self.repaired(now, target, chunk, RepairOutcome::Complete);
                    }
                    (Err(_), Some(_)) => {
                        self.repaired(now, target, chunk, RepairOutcome::Failed);
                    }
                    (_, None) => self.repaired(now, target, chunk, RepairOutcome::NotFound),
                }
            }
        }
    }

    /// On how many targets repair puts what is wanted on so many.
    fn to_repair(&self, wanted: u8) -> u8 {
        match self.mistake {
            Some(Mistake::RepairKnowsOneNumber) => self.plan.replicas,
            _ => wanted,
        }
    }

    pub(super) fn repaired(
        &mut self,
        now: Time,
        target: u32,
        chunk: slotcast_protocol::ChunkId,
        outcome: RepairOutcome,
    ) {
        self.tell_repair(now, target, RepairInput::Ended(chunk, outcome));
    }

    fn repair_effect(
        &mut self,
        now: Time,
        target: u32,
        effect: RepairEffect,
        agenda: &mut Agenda<Event>,
    ) {
        let repairer = self.repairer(target);
        let host = &mut self.targets[target as usize];
        let Some(machine) = &mut host.machine else { return };
        match effect {
            RepairEffect::Check(chunk)
                if self.mistake == Some(Mistake::RepairForgets) && chunk.0[0] % 4 == 0 =>
            {
                self.repaired(now, target, chunk, RepairOutcome::Complete);
            }
            RepairEffect::Check(chunk) => {
                let (Some(size), Some(wanted)) = (machine.size(&chunk), machine.wanted(&chunk))
                else {
                    return self.repaired(now, target, chunk, RepairOutcome::NotFound);
                };
                let (replicas, kind) = (self.to_repair(wanted), Kind::Question(size));
                let purpose = Purpose::Ask;
                self.begin(now, repairer, Running { chunk, replicas, purpose, kind });
            }
            RepairEffect::PutAgain(chunk) | RepairEffect::Read(chunk) => {
                let put = matches!(effect, RepairEffect::PutAgain(_));
                host.reading.insert(chunk, put);
                machine.fetch(now, chunk, &mut self.storing);
                self.take_storing(target);
            }
            RepairEffect::Recover(chunk, replicas) => {
                let kind = Kind::Get { content: None, must_be_there: false };
                let purpose = Purpose::Recover;
                self.begin(now, repairer, Running { chunk, replicas, purpose, kind });
            }
            RepairEffect::WakeAt(time) => {
                let life = host.life;
                agenda.at(time.max(now), Event::WakeRepair { target, life });
            }
        }
    }

    fn initiator_effect(
        &mut self,
        now: Time,
        initiator: u32,
        effect: InitiatorEffect,
        agenda: &mut Agenda<Event>,
    ) {
        let host = &mut self.initiators[initiator as usize];
        match effect {
            InitiatorEffect::Multicast { group, to, message } => {
                for position in to.iter() {
                    self.send_message(now, initiator, group, position, message, agenda);
                }
            }
            InitiatorEffect::Transfer { request, size, group, to, start, .. } => {
                let Some(Running { kind: Kind::Put { content, made }, .. }) =
                    host.running.get_mut(&request)
                else {
                    return;
                };
                *made = true;
                let content = content.clone();
                let left = start.max(now) + self.plan.timing.transfer(size);
                for position in to.iter() {
                    let target = self.groups.members(group)[usize::from(position)].0;
                    let parcel = Parcel::Chunk(request, content.clone());
                    self.send_to_target(left, initiator, target, &parcel, agenda);
                }
            }
            InitiatorEffect::PutDone { request, .. } => self.put_done(now, initiator, request),
            InitiatorEffect::GetDone { request, .. } => self.get_done(now, initiator, request),
            InitiatorEffect::Failed { request, reason, .. } => {
                self.failed(now, initiator, request, reason);
            }
            InitiatorEffect::WakeAt(time) => {
                let life = host.life;
                agenda.at(time.max(now), Event::WakeInitiator { initiator, life });
            }
        }
    }
}

fn new_repair(plan: &Plan, groups: &GroupMap, target: u32) -> Repair {
    let (group, position) = groups.seat(TargetId(target));
    Repair::new(plan.repair(), position, groups.members(group).len())
}
