//! Faults: whom they hit, what they do, and how they end.

use slotcast_engine::{Agenda, Stream};
use slotcast_protocol::{GroupId, TargetId};
use slotcast_units::{Span, Time};

use super::Mistake;
use super::cluster::Cluster;
use super::event::{Event, Fault};
use super::network::Weather;
use super::node::{DiskHost, Leaving};

/// How often in a wave the windows of all targets are looked at.
const LOOKS: u64 = 4;

/// Of these a wave has one that has a single fault.
const SINGLE: [Fault; 13] = [
    Fault::Crash,
    Fault::Pause,
    Fault::Gone,
    Fault::Refused,
    Fault::Partition,
    Fault::Full,
    Fault::Slow,
    Fault::Failing,
    Fault::Stalled,
    Fault::Dying,
    Fault::RowsFailing,
    Fault::RowsStalled,
    Fault::RowsSlow,
];

fn any_fault(chance: &mut Stream) -> Fault {
    SINGLE[usize::try_from(chance.below(SINGLE.len() as u64)).expect("an index")]
}

impl Cluster {
    /// Spreads the load and the faults of one wave over its length.
    pub(super) fn begin_wave(&mut self, now: Time, agenda: &mut Agenda<Event>) {
        let plan = self.plan.clone();
        self.is_calm = false;
        self.release_named();
        if let Some(drain) = plan.drain.filter(|drain| drain.wave == self.wave) {
            agenda.at(now + drain.after, Event::Drain { node: drain.node });
        }
        let joins = u64::from(plan.join == Some(self.wave));
        self.wave += 1;
        self.network.weather = plan.weather;
        let single = plan.single.then(|| any_fault(&mut self.chance));
        let mut spread = |count: u64, event: Event| {
            for _ in 0..count {
                let after = Span::from_ns(self.chance.below(plan.wave.as_ns()));
                agenda.at(now + after, event);
            }
        };
        let counts = plan.counts;
        spread(plan.requests, Event::Ask);
        single.into_iter().for_each(|fault| spread(1, Event::Fault(fault)));
        spread(joins, Event::Join);
        spread(LOOKS, Event::Look);
        spread(counts.retirements, Event::Retire);
        spread(counts.crashes, Event::Fault(Fault::Crash));
        spread(counts.pauses, Event::Fault(Fault::Pause));
        spread(counts.gone, Event::Fault(Fault::Gone));
        spread(counts.refused, Event::Fault(Fault::Refused));
        spread(counts.partitions, Event::Fault(Fault::Partition));
        spread(counts.bits, Event::Fault(Fault::Bit));
        spread(counts.lost_writes, Event::Fault(Fault::LostWrite));
        spread(counts.full, Event::Fault(Fault::Full));
        spread(counts.slow, Event::Fault(Fault::Slow));
        spread(counts.failing, Event::Fault(Fault::Failing));
        spread(counts.stalled, Event::Fault(Fault::Stalled));
        spread(counts.dying, Event::Fault(Fault::Dying));
        spread(counts.deaf, Event::Fault(Fault::Deaf));
        if let Some(names) = plan.names {
            spread(names.requests, Event::AskName);
            spread(names.failing, Event::Fault(Fault::RowsFailing));
            spread(names.stalled, Event::Fault(Fault::RowsStalled));
            spread(names.slow, Event::Fault(Fault::RowsSlow));
        }
        if plan.mistake == Some(Mistake::ForgetPromises) {
            spread(2000, Event::Fault(Fault::Forget));
        }
        if plan.names.is_some() {
            self.spread_buckets(now, agenda);
        }
    }

    /// The faults stop: the network is fair, what is down is started, disks are well. What they have
    /// destroyed stays destroyed.
    pub(super) fn calm(&mut self, now: Time, agenda: &mut Agenda<Event>) {
        self.is_calm = true;
        self.network.weather = Weather::FAIR;
        self.network.join();
        self.network.hear();
        for node in 0..u32::try_from(self.nodes.len()).expect("small") {
            let host = &mut self.nodes[node as usize];
            host.paused_until = Time::ZERO;
            self.resume(now, node, agenda);
            let host = &mut self.nodes[node as usize];
            // Damage to the header of a record shows only when a store is opened, so those that may have any are
            // opened anew; and a store after a failed write. A full one finds room by itself.
            // Nobody touches one of which a disk has failed.
            let is_harmed =
                |disk: &DiskHost| disk.harmed && !disk.is_dead || disk.instead.is_some();
            let is_other = host.right_map.is_some();
            let is_to_restart = host.disks.values().any(is_harmed)
                || !host.is_well()
                || is_other
                || host.has_failed_rows();
            for disk in host.disks.values_mut() {
                disk.set_full(false);
                disk.slowness = 1;
            }
            let is_gone = host.is_gone();
            self.mend_disks(now, node, agenda);
            if is_gone || !is_to_restart {
                continue;
            }
            self.stop(now, node, agenda);
            self.mend_disks(now, node, agenda);
            self.mount(node);
            self.start(now, node, agenda);
        }
    }

    fn any_target(&mut self) -> TargetId {
        let targets: Vec<_> = self.nodes.iter().flat_map(|host| host.disks.keys()).collect();
        let which = self.chance.below(targets.len() as u64);
        *targets[usize::try_from(which).expect("an index")]
    }

    /// Members of a group that are gone for good, or leave, or have not begun, or whose disks have failed.
    pub(super) fn missing(&self, group: GroupId) -> usize {
        let members = self.groups.members(group).iter();
        let is_missing = |target: &&TargetId| {
            let host = self.nodes.get(self.node_of(**target));
            host.is_none_or(|host| host.leaving != Leaving::No || host.is_dead(**target))
        };
        members.filter(is_missing).count()
    }

    /// Whether replicas on `target` may be destroyed now: not at more members of its group than the
    /// chunks can bear. If so, it counts as harmed until the next heal.
    pub(super) fn may_harm(&mut self, target: TargetId) -> bool {
        let Some((group, _)) = self.groups.find(target) else { return false };
        let members = self.groups.members(group).iter();
        let harmed = members
            .filter(|member| self.groups.find(**member).is_some() && self.disk(**member).harmed);
        let has_room = harmed.count() < self.plan.max_harmed();
        let disk = self.disk_mut(target);
        disk.harmed |= has_room;
        disk.harmed
    }

    fn length_of_fault(&mut self) -> Span {
        let (least, more) = self.plan.pace.fault;
        least + self.chance.exponential(more)
    }

    pub(super) fn inject(&mut self, now: Time, fault: Fault, agenda: &mut Agenda<Event>) {
        if self.is_calm {
            return;
        }
        let target = self.any_target();
        let place = self.node_of(target);
        let node = u32::try_from(place).expect("small");
        let lasts = self.length_of_fault();
        if self.nodes[place].is_gone() || self.groups.find(target).is_none() {
            return;
        }
        let is_up = self.nodes[place].member.is_some();
        match fault {
            Fault::Crash if is_up => {
                self.report.injected.crashes += 1;
                self.stop(now, node, agenda);
            }
            Fault::Pause if is_up => {
                self.report.injected.pauses += 1;
                let host = &mut self.nodes[place];
                host.paused_until = host.paused_until.max(now + lasts);
            }
            Fault::Gone => return self.lose_disk(now, target, lasts, agenda),
            Fault::Refused if is_up => {
                self.report.injected.refused += 1;
                self.stop(now, node, agenda);
                self.unmount(target);
            }
            Fault::Partition => {
                self.report.injected.partitions += 1;
                self.network.part(u32::try_from(self.nodes.len()).expect("small"));
            }
            Fault::Bit if self.may_harm(target) => {
                self.report.injected.rotten_bits += 1;
                let is_untold = self.plan.mistake == Some(Mistake::UntoldHarm);
                let disk = &mut self.disk_mut(target).disk;
                if is_untold {
                    disk.rot_untold();
                }
                return disk.rot();
            }
            Fault::LostWrite if self.may_harm(target) => {
                self.report.injected.lost_writes += 1;
                return self.disk_mut(target).disk.lose_write();
            }
            Fault::Full => {
                self.report.injected.full_disks += 1;
                self.disk_mut(target).set_full(true);
            }
            Fault::Slow => {
                self.report.injected.slow_disks += 1;
                self.disk_mut(target).slowness = 5 + self.chance.below(40);
            }
            Fault::RowsFailing => self.begin_failing_rows(target),
            Fault::RowsStalled => self.stall_rows(target),
            Fault::RowsSlow => self.slow_rows(target),
            Fault::Failing => self.begin_failing(target),
            Fault::Stalled => self.stall(target),
            Fault::Dying => return self.begin_dying(now, target, agenda),
            Fault::Deaf => {
                self.report.injected.deaf += 1;
                let (group, _) = self.groups.seat(target);
                self.network.set_deaf(node, group, true);
            }
            Fault::Forget => {
                let host = &mut self.nodes[place];
                let local = host.clock.local(now);
                let member = host.member.as_mut();
                if let Some(target) = member.and_then(|member| member.target_mut(target)) {
                    target.forget_promises(local);
                }
                return;
            }
            Fault::Crash | Fault::Pause | Fault::Refused | Fault::Bit | Fault::LostWrite => return,
            Fault::OtherLayout => return,
        }
        let incarnation = self.nodes[place].incarnation;
        agenda.at(now + lasts, Event::Over { fault, of: target.0, incarnation });
    }

    /// A node loses the content of a disk with its power: it starts with an empty one, soon or later, or is never
    /// seen again.
    fn lose_disk(&mut self, now: Time, target: TargetId, lasts: Span, agenda: &mut Agenda<Event>) {
        let place = self.node_of(target);
        let node = u32::try_from(place).expect("small");
        // With a node that is gone go all of its disks.
        let all: Vec<TargetId> = self.nodes[place].disks.keys().copied().collect();
        let all_may_go = self.chance.chance(0.4)
            && self.nodes[place].leaving == Leaving::No
            && self.map.node(node).is_some()
            && all.iter().all(|target| {
                let (group, _) = self.groups.seat(*target);
                self.plan.can_spare(&self.groups, group, self.missing(group))
            })
            && all.iter().all(|target| self.may_harm(*target));
        if !all_may_go && !self.may_harm(target) {
            return;
        }
        self.report.injected.gone += 1;
        self.stop(now, node, agenda);
        for lost in if all_may_go { all } else { vec![target] } {
            let mistake = self.plan.mistake;
            let disk = self.disk_mut(lost);
            disk.wipe(mistake);
            disk.wiped_at = Some(now);
            self.replace(lost);
        }
        if all_may_go {
            self.nodes[place].leaving = Leaving::Gone;
            // Somebody may say so before the others have noticed; of a month it is said later, when there is another one.
            if self.chance.chance(0.5) && !self.plan.single {
                self.remove(now, node, true, agenda);
            }
            return;
        }
        // Most are back before anybody takes them for gone.
        let back = if self.chance.chance(0.5) { Span::from_us(300) } else { lasts };
        let incarnation = self.nodes[place].incarnation;
        agenda.at(now + back, Event::Over { fault: Fault::Gone, of: target.0, incarnation });
    }

    pub(super) fn over(
        &mut self,
        now: Time,
        fault: Fault,
        (target, incarnation): (u32, u32),
        agenda: &mut Agenda<Event>,
    ) {
        let target = TargetId(target);
        let place = self.node_of(target);
        let node = u32::try_from(place).expect("small");
        let host = &mut self.nodes[place];
        let is_same = host.incarnation == incarnation;
        match fault {
            Fault::Crash | Fault::Gone | Fault::Refused => {
                if is_same && host.member.is_none() && !host.is_gone() {
                    self.start(now, node, agenda);
                }
            }
            Fault::Partition => self.network.join(),
            Fault::Full => self.disk_mut(target).set_full(false),
            Fault::Slow => self.disk_mut(target).slowness = 1,
            Fault::RowsFailing => self.rows_are_well(now, target, agenda),
            Fault::RowsStalled | Fault::RowsSlow => self.mend_rows(now, target, agenda),
            Fault::Stalled => self.mend_disk(now, target, agenda),
            Fault::Failing => {
                self.mend_disk(now, target, agenda);
                // Somebody looks after a target that takes no writes any more.
                let host = &self.nodes[place];
                if host.member.is_some() && !host.is_well() {
                    self.stop(now, node, agenda);
                    self.start(now, node, agenda);
                }
            }
            Fault::Deaf => {
                if let Some((group, _)) = self.groups.find(target) {
                    self.network.set_deaf(node, group, false);
                }
            }
            Fault::OtherLayout => {
                // Somebody has seen what its status says.
                if is_same && host.member.is_some() {
                    self.stop(now, node, agenda);
                    self.start(now, node, agenda);
                }
            }
            Fault::Pause => self.resume(now, node, agenda),
            Fault::Bit | Fault::LostWrite | Fault::Dying | Fault::Forget => {}
        }
    }

    /// How many scrubs each target has ended.
    pub(super) fn scrubs(&self) -> Vec<Vec<u64>> {
        let of = |host: &super::node::NodeHost| {
            let targets = host.member.iter().flat_map(|member| member.targets());
            targets.map(|target| target.repair_statistics().scrubs).collect()
        };
        self.nodes.iter().map(of).collect()
    }

    /// Whether every target has ended so many scrubs more than in `before`, and nothing is left to repair.
    pub(super) fn has_repaired(&self, now: Time, before: &[Vec<u64>], scrubs: u64) -> bool {
        let after = self.scrubs();
        let hosts = self.nodes.iter().zip(before.iter().zip(&after));
        hosts.filter(|(host, _)| !host.is_gone()).all(|(host, (before, after))| {
            let mut each = host.disks.values().zip(before.iter().zip(after));
            each.all(|(disk, (before, after))| disk.is_dead || *after >= before + scrubs)
                && host.has_settled(host.clock.local(now), self.has_silent())
        })
    }

    /// Nothing that was destroyed is missing any more.
    pub(super) fn healed(&mut self) {
        for disk in self.nodes.iter_mut().flat_map(|host| host.disks.values_mut()) {
            disk.harmed = false;
        }
    }
}
