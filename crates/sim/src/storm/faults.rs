//! Faults: whom they hit, what they do, and how they end.

use slotcast_engine::Agenda;
use slotcast_faults::{DiskFaults, Transient};
use slotcast_protocol::{GroupId, RepairStatistics, TargetId};
use slotcast_store::DiskError;
use slotcast_units::{Span, Time};

use super::Mistake;
use super::cluster::Storm;
use super::drain::Leaving;
use super::event::{Event, Fault};
use super::network::Weather;

impl Storm {
    /// Spreads the load and the faults of one wave over its length.
    pub(super) fn begin_wave(&mut self, now: Time, agenda: &mut Agenda<Event>) {
        let plan = self.plan.clone();
        self.is_calm = false;
        self.expect_drain(now, self.wave, agenda);
        self.wave += 1;
        self.network.weather = plan.weather;
        let mut spread = |count: u64, event: Event| {
            for _ in 0..count {
                let after = Span::from_ns(self.chance.below(plan.wave.as_ns()));
                agenda.at(now + after, event);
            }
        };
        spread(plan.requests, Event::Ask);
        spread(plan.retirements, Event::Retire);
        spread(plan.crashes, Event::Fault(Fault::Crash));
        spread(plan.gone, Event::Fault(Fault::Gone));
        spread(plan.partitions, Event::Fault(Fault::Partition));
        spread(plan.bits, Event::Fault(Fault::Bit));
        spread(plan.lost_writes, Event::Fault(Fault::LostWrite));
        spread(plan.full, Event::Fault(Fault::Full));
        spread(plan.slow, Event::Fault(Fault::Slow));
        spread(plan.failing, Event::Fault(Fault::Failing));
        spread(plan.restarts, Event::Fault(Fault::Restart));
        if self.mistake == Some(Mistake::ForgetPromises) {
            spread(2000, Event::Fault(Fault::Forget));
        }
    }

    /// The faults stop: the network is fair, what is down is started, disks are well. What they have
    /// destroyed stays destroyed.
    pub(super) fn calm(&mut self, now: Time, agenda: &mut Agenda<Event>) {
        self.is_calm = true;
        self.network.weather = Weather::FAIR;
        self.network.cut_off.fill(false);
        for target in 0..self.plan.targets {
            let host = &mut self.targets[target as usize];
            host.disk.room = usize::MAX;
            host.disk.faults = DiskFaults::default();
            host.slowness = 1;
            // Damage to the header of a record shows only when a store is opened, so those that may have
            // any are opened anew.
            if host.dark || (host.is_well() && !host.harmed) {
                continue;
            }
            if host.machine.is_some() {
                // After a failed write a store has to be opened anew; a full one finds room by itself.
                if host.is_full() && !host.harmed {
                    continue;
                }
                self.stop(now, target, agenda);
            }
            self.start(now, target);
        }
        self.settle(now, agenda);
    }

    fn any_target(&mut self) -> u32 {
        u32::try_from(self.chance.below(u64::from(self.plan.targets))).expect("small")
    }

    /// Members of a group that are gone for good, or leave.
    pub(super) fn missing(&self, group: GroupId) -> usize {
        let members = self.groups.members(group).iter();
        let hosts = members.map(|member| &self.targets[member.0 as usize]);
        hosts.filter(|host| host.dark || host.leaving != Leaving::No).count()
    }

    /// Whether replicas on `target` may be destroyed now: not at more members of its group than the
    /// chunks can bear. If so, it counts as harmed until the next heal.
    fn may_harm(&mut self, target: u32) -> bool {
        let (group, _) = self.groups.seat(TargetId(target));
        let members = self.groups.members(group);
        let harmed = members.iter().filter(|member| self.targets[member.0 as usize].harmed);
        let room = harmed.count() < self.plan.most_harmed();
        let host = &mut self.targets[target as usize];
        host.harmed |= room && !host.dark;
        host.harmed
    }

    pub(super) fn inject(&mut self, now: Time, fault: Fault, agenda: &mut Agenda<Event>) {
        if self.is_calm {
            return;
        }
        let target = self.any_target();
        let lasts = Span::from_us(500) + self.chance.exponential(Span::from_ms(8));
        let is_up = self.targets[target as usize].machine.is_some();
        match fault {
            Fault::Crash if is_up => {
                self.report.injected.crashes += 1;
                self.stop(now, target, agenda);
            }
            Fault::Gone => {
                if !self.may_harm(target) || self.targets[target as usize].dark {
                    return;
                }
                self.report.injected.gone += 1;
                if is_up {
                    self.stop(now, target, agenda);
                }
                let host = &mut self.targets[target as usize];
                host.disk.wipe();
                host.held.clear();
                let (group, _) = self.groups.seat(TargetId(target));
                let missing = self.missing(group);
                let comes_back = self.chance.chance(0.6);
                if !comes_back && self.plan.can_spare(&self.groups, group, missing) {
                    self.targets[target as usize].dark = true;
                    return;
                }
            }
            Fault::Partition => {
                self.report.injected.partitions += 1;
                for host in 0..self.network.cut_off.len() {
                    self.network.cut_off[host] = self.chance.chance(0.3);
                }
            }
            Fault::Bit if self.may_harm(target) => {
                self.report.injected.rotten_bits += 1;
                let disk = &mut self.targets[target as usize].disk;
                if self.mistake == Some(Mistake::UntoldHarm) {
                    disk.rot_untold();
                }
                return disk.rot();
            }
            Fault::LostWrite if self.may_harm(target) => {
                self.report.injected.lost_writes += 1;
                return self.targets[target as usize].disk.lose_write();
            }
            Fault::Full => {
                self.report.injected.full_disks += 1;
                let disk = &mut self.targets[target as usize].disk;
                disk.room = disk.files();
            }
            Fault::Slow => {
                self.report.injected.slow_disks += 1;
                self.targets[target as usize].slowness = 5 + self.chance.below(40);
            }
            Fault::Failing => {
                self.report.injected.failing_disks += 1;
                let may_harm = self.may_harm(target);
                let disk = &mut self.targets[target as usize].disk;
                let error = DiskError::Failed;
                let one_in = 3 + self.chance.below(40);
                disk.faults.write.transient = Some(Transient { one_in, error });
                if may_harm {
                    let one_in = 3 + self.chance.below(40);
                    disk.faults.read_content.transient = Some(Transient { one_in, error });
                }
            }
            Fault::Restart => {
                self.report.injected.initiator_restarts += 1;
                let user = target % self.plan.users;
                let host = &self.initiators[user as usize];
                self.report.given_up += host.running.len() as u64;
                return self.renew(user, host.life + 1);
            }
            Fault::Forget => {
                if let Some(machine) = &mut self.targets[target as usize].machine {
                    machine.forget_promises(now);
                }
                return;
            }
            Fault::Crash | Fault::Bit | Fault::LostWrite => return,
        }
        let life = self.targets[target as usize].life;
        agenda.at(now + lasts, Event::Over { fault, of: target, life });
    }

    pub(super) fn over(
        &mut self,
        now: Time,
        fault: Fault,
        target: u32,
        life: u32,
        agenda: &mut Agenda<Event>,
    ) {
        let host = &mut self.targets[target as usize];
        match fault {
            Fault::Crash | Fault::Gone => {
                if host.life == life && host.machine.is_none() && !host.dark {
                    self.start(now, target);
                }
            }
            Fault::Partition => self.network.cut_off.fill(false),
            Fault::Full => host.disk.room = usize::MAX,
            Fault::Slow => host.slowness = 1,
            Fault::Failing => {
                host.disk.faults = DiskFaults::default();
                // Somebody looks after a target that takes no writes any more.
                if host.machine.is_some() && !host.is_well() {
                    self.stop(now, target, agenda);
                    self.start(now, target);
                }
            }
            Fault::Bit | Fault::LostWrite | Fault::Restart | Fault::Forget => {}
        }
    }

    /// What the repair of each target has done.
    pub(super) fn repairs(&self) -> Vec<RepairStatistics> {
        self.targets.iter().map(|host| host.repair.statistics()).collect()
    }

    /// Whether every repair has ended so many walks and scrubs more than in `before`.
    pub(super) fn has_repaired(
        &self,
        before: &[RepairStatistics],
        (walks, scrubs): (u64, u64),
    ) -> bool {
        let mut hosts = self.targets.iter().zip(before).filter(|(host, _)| !host.dark);
        hosts.all(|(host, before)| {
            let now = host.repair.statistics();
            now.walks >= before.walks + walks && now.scrubs >= before.scrubs + scrubs
        })
    }

    /// Nothing that was destroyed is missing any more.
    pub(super) fn healed(&mut self) {
        for host in &mut self.targets {
            host.harmed = false;
        }
    }
}
