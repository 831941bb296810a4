//! A target that is drained: it takes no chunks any more, gives what it holds to the others, says that it has,
//! and is taken away for good.

use slotcast_engine::{Agenda, Streams};
use slotcast_protocol::{
    ChunkId, GroupId, GroupMap, Inventory, Member, Membership, RepairInput, TargetId,
};
use slotcast_units::{Span, Time};

use super::Mistake;
use super::catalogue::Known;
use super::cluster::Storm;
use super::event::Event;
use super::hosts::TargetHost;
use super::plan::Plan;

/// How far a target is that leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Leaving {
    /// It stays.
    #[default]
    No,
    /// It gives away what it holds.
    Draining,
    /// It says that it has handed over.
    HandedOver,
}

/// A drain that a seed has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Drain {
    wave: u32,
    target: u32,
    /// From the beginning of the wave on; it may be after the faults.
    after: Span,
    /// It is taken away as soon as it says that it has handed over, and not only in a calm.
    is_hasty: bool,
}

impl Drain {
    /// In two of five seeds. Draws from a stream of its own.
    pub(super) fn of(streams: &Streams, plan: &Plan) -> Option<Drain> {
        let chance = &mut streams.stream("drain", 0);
        chance.chance(0.4).then(|| Drain {
            wave: u32::try_from(chance.below(u64::from(plan.waves))).expect("small"),
            target: u32::try_from(chance.below(u64::from(plan.targets))).expect("small"),
            after: Span::from_ns(chance.below(plan.wave.as_ns() * 5 / 4)),
            is_hasty: chance.chance(0.5),
        })
    }
}

impl Storm {
    /// The wave of this number begins.
    pub(super) fn expect_drain(&mut self, now: Time, wave: u32, agenda: &mut Agenda<Event>) {
        if let Some(drain) = self.plan.drain.filter(|drain| drain.wave == wave) {
            agenda.at(now + drain.after, Event::Drain { target: drain.target });
        }
    }

    /// Somebody wants `target` to leave, if its group can do without it.
    pub(super) fn drain(&mut self, now: Time, target: u32) {
        let (group, _) = self.groups.seat(TargetId(target));
        let host = &self.targets[target as usize];
        if host.dark || !self.plan.can_spare(&self.groups, group, self.missing(group)) {
            return;
        }
        self.report.drained += 1;
        self.targets[target as usize].leaving = Leaving::Draining;
        self.map_anew();
        self.take_no_puts(now, target);
    }

    /// The groups, as they are when everybody knows who leaves.
    fn map_anew(&mut self) {
        let groups = self.plan.groups();
        let all = (0..groups.groups()).map(GroupId);
        let seats: Vec<_> = all.map(|group| groups.members(group).to_vec()).collect();
        let member = |target: u32| {
            let host = &self.targets[target as usize];
            let membership = match host.leaving {
                Leaving::No => Membership::Active,
                _ if host.dark => Membership::Drained,
                _ => Membership::Draining,
            };
            Member { target: TargetId(target), domain: target, membership }
        };
        let members: Vec<_> = (0..self.plan.targets).map(member).collect();
        self.groups = GroupMap::seated(&seats, &members).expect("the seats stay");
    }

    /// A target that leaves is told so, now or when its store is open.
    pub(super) fn take_no_puts(&mut self, now: Time, target: u32) {
        let host = &mut self.targets[target as usize];
        if host.leaving == Leaving::No {
            return;
        }
        if let Some(machine) = &mut host.machine {
            machine.take_puts(false);
        }
        if host.is_open() {
            self.tell_repair(now, target, RepairInput::Leaves(true));
        }
    }

    /// Looks whether a target says that it has handed over, and holds it to its word.
    pub(super) fn hear_of_leaving(&mut self, now: Time, agenda: &mut Agenda<Event>) {
        let Some(drain) = self.plan.drain else { return };
        let host = &self.targets[drain.target as usize];
        if host.leaving != Leaving::Draining || !host.is_open() {
            return;
        }
        let says_so = match self.mistake {
            Some(Mistake::HandsOverEarly) => host.repair.statistics().under_replicated == 0,
            _ => host.repair.has_handed_over(),
        };
        if !says_so {
            return;
        }
        self.report.handed_over += 1;
        for chunk in host.chunks() {
            self.check_handed_over(now, drain.target, &chunk);
        }
        self.targets[drain.target as usize].leaving = Leaving::HandedOver;
        if drain.is_hasty {
            self.take_away(now, agenda);
        }
    }

    /// Every chunk that a target holds that has handed over is with as many others as it is wanted on. Of
    /// members whose disks were harmed nobody can know; they may have said that they hold it.
    fn check_handed_over(&mut self, now: Time, target: u32, chunk: &ChunkId) {
        if self.catalogue.known(chunk) == Known::Retired {
            return;
        }
        let host = &self.targets[target as usize];
        let Some(wanted) = host.machine.as_ref().and_then(|machine| machine.wanted(chunk)) else {
            return;
        };
        let members = self.groups.members(self.groups.group_of(chunk)).iter();
        let others = members.map(|member| &self.targets[member.0 as usize]).filter(|other| {
            let keeps = |number: u8| number >= wanted;
            other.leaving == Leaving::No
                && (other.harmed
                    || match other.machine.as_ref().filter(|_| other.is_open()) {
                        Some(machine) => machine.wanted(chunk).is_some_and(keeps),
                        // What it held when it stopped it holds when it starts.
                        None => other.held.contains(chunk),
                    })
        });
        let found = others.count();
        if found < usize::from(wanted) {
            let what = format!(
                "target {target} at {now} says that it has handed over, and {chunk} is on {found} \
                 others instead of {wanted}"
            );
            self.report.violated(what);
        }
    }

    /// Whether whoever was told to leave, and is still there, has handed over.
    pub(super) fn has_handed_over(&self) -> bool {
        let mut hosts = self.targets.iter().filter(|host| !host.dark);
        !hosts.any(|host| host.leaving == Leaving::Draining)
    }

    /// The target that has handed over is taken away, and its disk with it. True if there was one.
    pub(super) fn take_away(&mut self, now: Time, agenda: &mut Agenda<Event>) -> bool {
        let has_left = |host: &TargetHost| host.leaving == Leaving::HandedOver;
        let Some(place) = self.targets.iter().position(|host| has_left(host) && !host.dark) else {
            return false;
        };
        let target = u32::try_from(place).expect("small");
        if self.targets[place].machine.is_some() {
            self.stop(now, target, agenda);
        }
        let host = &mut self.targets[place];
        host.disk.wipe();
        host.held.clear();
        host.dark = true;
        self.report.taken_away += 1;
        self.map_anew();
        true
    }
}
