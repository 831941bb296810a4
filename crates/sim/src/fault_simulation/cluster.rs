//! The simulated cluster: nodes, the network between them, and what happens.

use std::collections::BTreeMap;
use std::rc::Rc;

use slotcast_engine::{Agenda, Model, Stream, Streams};
use slotcast_faults::SimulatedDisk;
use slotcast_member::{ClusterMap, Effect, Input, Member, Tape};
use slotcast_protocol::{GroupMap, TargetId};
use slotcast_store::DiskError;
use slotcast_transport::Key;
use slotcast_units::{Span, Time};

use super::Mistake;
use super::buckets::Buckets;
use super::catalogue::Catalogue;
use super::clock::Clock;
use super::event::Event;
use super::names::NameClients;
use super::network::{Network, Weather};
use super::node::{DiskHost, NodeHost, Purpose};
use super::parcel::{Parcel, Parcels};
use super::plan::Plan;
use super::report::FaultReport;
use super::rows::RowsHost;

/// All that is simulated.
pub(super) struct Cluster {
    pub(super) plan: Plan,
    pub(super) nodes: Vec<NodeHost>,
    pub(super) network: Network,
    pub(super) key: Key,
    /// The map that is kept for all, and its groups.
    pub(super) map: ClusterMap,
    pub(super) groups: GroupMap,
    /// The epoch of the last map that said more than that a round of collection has begun.
    pub(super) layout_epoch: u32,
    pub(super) catalogue: Catalogue,
    pub(super) parcels: Parcels,
    pub(super) disk_times: Stream,
    /// Of users and faults.
    pub(super) chance: Stream,
    /// Of wanted replicas.
    pub(super) numbers: Stream,
    pub(super) clocks: Stream,
    /// Of what lies in folders.
    pub(super) mounts: Stream,
    /// Of older programs and other layouts.
    pub(super) disagreements: Stream,
    pub(super) names: NameClients,
    pub(super) buckets: Buckets,
    streams: Streams,
    pub(super) is_calm: bool,
    /// How long after its window an accepted transfer may come, and how long a bid is kept.
    pub(super) bound: (Span, Span),
    /// Until then users put what is being removed as surplus.
    pub(super) used_until: Time,
    /// Waves of faults so far.
    pub(super) wave: u32,
    /// Checks that are asked for and have not ended.
    pub(super) checks: usize,
    /// Numbers the requests of users.
    pub(super) asked: u64,
    pub(super) report: FaultReport,
    /// Of incarnations that have ended, if they are kept.
    pub(super) tapes: Option<Vec<Tape>>,
    effects: Vec<Effect>,
}

impl Model for Cluster {
    type Event = Event;

    fn handle(&mut self, now: Time, event: Event, agenda: &mut Agenda<Event>) {
        if let Some(node) = self.stands_still(now, event) {
            return self.nodes[node as usize].postponed.push(event);
        }
        match event {
            Event::Datagram { node, parcel } => {
                let parcel = self.parcels.take(parcel);
                self.arrives(now, node, parcel, agenda);
            }
            Event::Left { node, incarnation, transfer } => {
                if self.is_same(node, incarnation) {
                    self.tell(now, node, Input::Left(transfer), agenda);
                }
            }
            Event::Disk { node, target, incarnation, op } => {
                if self.is_same(node, incarnation) {
                    self.disk_done(now, node, target, op, agenda);
                }
            }
            Event::Rows { node, target, incarnation, op } => {
                if self.is_same(node, incarnation) {
                    self.rows_done(now, (node, target), op, agenda);
                }
            }
            Event::Worked { node, target, incarnation } => {
                // Work of an incarnation that has ended is not that of the next one.
                let is_same = self.is_same(node, incarnation);
                let member = self.nodes[node as usize].member.as_mut().filter(|_| is_same);
                if let Some(work) = member.and_then(|member| member.take_work(target)) {
                    self.tell(now, node, Input::Worked(target, work.run()), agenda);
                }
            }
            Event::Wake { node, incarnation } => {
                if self.is_same(node, incarnation) {
                    self.nodes[node as usize].alarm = None;
                    self.tell(now, node, Input::Wake, agenda);
                }
            }
            Event::Map { node, incarnation, parcel } => {
                let Parcel::Map(map) = self.parcels.take(parcel) else { return };
                if self.is_same(node, incarnation) {
                    let map = Box::new((*map).clone());
                    self.tell(now, node, Input::Map(map), agenda);
                }
            }
            Event::Propose { parcel } => {
                let Parcel::Map(map) = self.parcels.take(parcel) else { return };
                self.proposed(now, &map, agenda);
            }
            Event::Check { chunk } => self.get(now, chunk, Purpose::Check, agenda),
            Event::Look => self.check_windows(now),
            Event::Ask => self.ask(now, agenda),
            Event::Fair => self.network.weather = Weather::FAIR,
            Event::PutAgain { chunk, on_most } => self.put_again(now, (chunk, on_most), agenda),
            Event::AskName => self.ask_name(now, agenda),
            Event::UploadGoesOn { ask } => self.upload_goes_on(now, ask as usize, agenda),
            Event::NameAgain { ask } => self.name_again(now, ask as usize, agenda),
            Event::MakeBucket => self.make_bucket(now, agenda),
            Event::UseBucket { bucket, what } => {
                self.use_bucket(now, (bucket as usize, what), agenda);
            }
            Event::Retire => self.retire(now, agenda),
            Event::Fault(fault) => self.inject(now, fault, agenda),
            Event::Over { fault, of, incarnation } => {
                self.over(now, fault, (of, incarnation), agenda);
            }
            Event::Drain { node } => self.drain(now, node, agenda),
            Event::Join => self.join(now, agenda),
        }
    }
}

impl Cluster {
    pub(super) fn new(seed: u64, mistake: Option<Mistake>) -> Cluster {
        Cluster::of(seed, Plan::new(&Streams::new(seed), mistake))
    }

    /// The cluster of a plan, with what a seed draws later.
    pub(super) fn of(seed: u64, plan: Plan) -> Cluster {
        let streams = Streams::new(seed);
        let map = plan.map();
        let rules = plan.rules(&map);
        let groups = map.groups().expect("targets for a group");
        let mut cluster = Cluster {
            nodes: Vec::new(),
            network: Network::new(map.trip, streams.stream("network", 0)),
            key: Key::new(&[5; 32]),
            groups,
            layout_epoch: 1,
            catalogue: Catalogue::new(streams.stream("content", 0)),
            parcels: Parcels::default(),
            disk_times: streams.stream("disk-times", 0),
            chance: streams.stream("chance", 0),
            numbers: streams.stream("replicas", 1),
            clocks: streams.stream("clocks", 0),
            mounts: streams.stream("mounts", 0),
            disagreements: streams.stream("disagreement", 1),
            names: NameClients::new(&streams, plan.names.is_some_and(|names| names.versioned)),
            buckets: Buckets::new(&streams, plan.mistake),
            streams,
            is_calm: true,
            bound: (rules.grace, rules.hold),
            used_until: Time::ZERO,
            wave: 0,
            checks: 0,
            asked: 0,
            report: FaultReport { seed, ..FaultReport::default() },
            tapes: None,
            effects: Vec::new(),
            map,
            plan,
        };
        for node in 0..cluster.plan.nodes {
            cluster.add_node(Time::ZERO, node);
        }
        cluster
    }

    /// Makes the host of a node of the map.
    pub(super) fn add_node(&mut self, now: Time, node: u32) {
        let targets = self.map.node(node).expect("a node of the map").targets.clone();
        let disks = targets.into_iter().map(|target| (target, self.new_disk(target)));
        let disks: BTreeMap<TargetId, DiskHost> = disks.collect();
        let clock = Clock::set(now, &mut self.clocks);
        self.nodes.push(NodeHost::new(self.map.clone(), disks, clock));
    }

    fn new_disk(&self, target: TargetId) -> DiskHost {
        let seed = self.streams.stream("disks", u64::from(target.0)).next_u64();
        let mut disk = SimulatedDisk::new(seed);
        disk.lies = self.plan.mistake == Some(Mistake::AcknowledgeBeforeFlush);
        let rows = self.streams.stream("rows", u64::from(target.0)).next_u64();
        DiskHost::new(disk, RowsHost::new(rows, self.plan.mistake))
    }

    /// Which node has a target.
    pub(super) fn node_of(&self, target: TargetId) -> usize {
        (target.0 / self.plan.each) as usize
    }

    pub(super) fn disk(&self, target: TargetId) -> &DiskHost {
        &self.nodes[self.node_of(target)].disks[&target]
    }

    pub(super) fn disk_mut(&mut self, target: TargetId) -> &mut DiskHost {
        let node = self.node_of(target);
        self.nodes[node].disks.get_mut(&target).expect("a disk of the node")
    }

    fn is_same(&self, node: u32, incarnation: u32) -> bool {
        self.nodes[node as usize].incarnation == incarnation
    }

    /// The node to which something happens, if it stands still.
    fn stands_still(&self, now: Time, event: Event) -> Option<u32> {
        let (Event::Datagram { node, .. }
        | Event::Left { node, .. }
        | Event::Disk { node, .. }
        | Event::Rows { node, .. }
        | Event::Worked { node, .. }
        | Event::Wake { node, .. }
        | Event::Map { node, .. }) = event
        else {
            return None;
        };
        (self.nodes[node as usize].paused_until > now).then_some(node)
    }

    /// A node goes on, unless it stands still for longer: all that has happened to it meanwhile it hears of now. What
    /// was kept back until a later time would leave it in its pause, in a calm too: it would not even be woken.
    pub(super) fn resume(&mut self, now: Time, node: u32, agenda: &mut Agenda<Event>) {
        let host = &mut self.nodes[node as usize];
        if host.paused_until <= now {
            std::mem::take(&mut host.postponed).into_iter().for_each(|event| agenda.at(now, event));
        }
    }

    /// Starts a node over what is on its disks, with the map that it has kept.
    pub(super) fn start(&mut self, now: Time, node: u32, agenda: &mut Agenda<Event>) {
        self.disagree(now, node, agenda);
        let identities = self.take_folders(node);
        let host = &mut self.nodes[node as usize];
        host.incarnation += 1;
        host.sequence = 0;
        host.started_at = now;
        // Somebody may have set the date, also back.
        host.clock = Clock::set(now, &mut self.clocks);
        let local = host.clock.local(now);
        host.began = local;
        let own = (node, &identities);
        let program = (host.versions, self.names.salts.next_u64());
        let config = self.plan.member(&host.map, own, (local, host.incarnation), program);
        host.down = config
            .network
            .iter()
            .flat_map(|network| &network.map.nodes)
            .map(|other| (other.number, now))
            .filter(|(other, _)| *other != node)
            .collect();
        let mut effects = std::mem::take(&mut self.effects);
        let taped = self.tapes.is_some().then(|| config.clone());
        host.member = Some(Member::new(local, config, &mut effects));
        host.tape = taped.map(|config| Tape::new(local, config, &effects));
        self.carry_out(now, node, effects, agenda);
        let incarnation = self.nodes[node as usize].incarnation;
        let delay = self.chance.exponential(self.plan.map_delay);
        let parcel = self.parcels.send(Parcel::Map(Rc::new(self.map.clone())));
        agenda.at(now + delay, Event::Map { node, incarnation, parcel });
    }

    /// The power of a node fails.
    pub(super) fn stop(&mut self, now: Time, node: u32, agenda: &mut Agenda<Event>) {
        let host = &mut self.nodes[node as usize];
        let Some(member) = host.member.take() else { return };
        self.tapes.iter_mut().for_each(|tapes| tapes.extend(host.tape.take()));
        for target in member.targets() {
            self.report.healed += target.repair_statistics().healed;
            self.report.compacted += target.statistics().compacted;
            self.report.surplus_removed += target.surplus_removed();
            let disk = host.disks.get_mut(&target.id()).expect("a disk of the node");
            // Removals may be on record in a segment that could not be read, and count when it is back.
            if target.is_open() && target.statistics().unreadable_segments == 0 {
                // A removal may be on the disk already.
                disk.held = target.chunks().filter(|chunk| !target.is_removing(chunk)).collect();
            }
            disk.accepted.clear();
            disk.disk.crash();
            disk.rows.crash();
            disk.instead.iter_mut().for_each(|instead| instead.disk.crash());
        }
        host.egress.clear();
        host.acks.clear();
        host.down.clear();
        host.restarts.clear();
        host.incarnation += 1;
        host.stopped_at = now;
        host.paused_until = Time::ZERO;
        if let Some((_, alarm)) = host.alarm.take() {
            agenda.cancel(alarm);
        }
        self.resume(now, node, agenda);
        let host = &mut self.nodes[node as usize];
        for (_, running) in std::mem::take(&mut host.running) {
            self.checks -= usize::from(running.purpose == Purpose::Check);
            self.report.given_up += u64::from(running.purpose == Purpose::User);
        }
        self.lose_name_answers(now, node, agenda);
        self.lose_clients(now, node, agenda);
    }

    /// A node is told something, and what it wants is done.
    pub(super) fn tell(
        &mut self,
        now: Time,
        node: u32,
        input: Input<'_>,
        agenda: &mut Agenda<Event>,
    ) {
        let host = &mut self.nodes[node as usize];
        let Some(member) = &mut host.member else { return };
        let mut effects = std::mem::take(&mut self.effects);
        let local = host.clock.local(now);
        if let Some(tape) = &mut host.tape {
            tape.heard(local, &input);
        }
        member.handle(local, input, &mut effects);
        if let Some(tape) = &mut host.tape {
            tape.did(&effects);
        }
        self.carry_out(now, node, effects, agenda);
    }

    fn carry_out(
        &mut self,
        now: Time,
        node: u32,
        mut effects: Vec<Effect>,
        agenda: &mut Agenda<Event>,
    ) {
        self.watch(now, node);
        for effect in effects.drain(..) {
            self.effect(now, node, effect, agenda);
        }
        if self.effects.is_empty() {
            self.effects = effects;
        }
        if now < self.used_until {
            self.put_what_is_released(now, node, agenda);
        }
        self.set_alarm(now, node, agenda);
    }

    fn set_alarm(&mut self, now: Time, node: u32, agenda: &mut Agenda<Event>) {
        let host = &mut self.nodes[node as usize];
        let Some(member) = &host.member else { return };
        let local = member.wakes_at();
        if host.alarm.is_some_and(|(at, _)| at == local) {
            return;
        }
        if let Some((_, alarm)) = host.alarm.take() {
            agenda.cancel(alarm);
        }
        if local != Time::NEVER {
            let at = host.clock.global(local).max(now);
            let event = Event::Wake { node, incarnation: host.incarnation };
            host.alarm = Some((local, agenda.timer_at(at, event)));
        }
    }

    fn disk_done(
        &mut self,
        now: Time,
        node: u32,
        target: TargetId,
        op: slotcast_store::OpId,
        agenda: &mut Agenda<Event>,
    ) {
        let result = match self.disk_mut(target).in_use() {
            Some(disk) => disk.finish(op),
            None => Some(Err(DiskError::Gone)),
        };
        if let Some(result) = result {
            self.tell(now, node, Input::Disk(target, op, result), agenda);
        }
    }
}
