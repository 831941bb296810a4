//! What must hold once the faults have stopped.

use std::collections::BTreeMap;

use slotcast_engine::Agenda;
use slotcast_faults::SimulatedDisk;
use slotcast_protocol::{ChunkId, GroupId};
use slotcast_store::{Config, Effect, Input, Store, Ticket};
use slotcast_units::{Span, Time};

use super::catalogue::Known;
use super::cluster::Storm;
use super::drain::Leaving;
use super::event::Event;
use super::hosts::{Kind, Purpose, Running};

/// From one check to the next: many at a time, but not all at once.
const APART: Span = Span::from_us(10);

impl Storm {
    /// Whether no request of a user is under way, and no check.
    pub(super) fn is_quiet(&self) -> bool {
        let users = &self.initiators[..self.plan.users as usize];
        self.checks == 0 && users.iter().all(|host| host.running.is_empty())
    }

    /// What is under way, for whoever wants to know why it hangs.
    pub(super) fn tell_open(&mut self, now: Time) {
        let users = self.initiators[..self.plan.users as usize].iter();
        let open: Vec<_> = users.flat_map(|host| host.running.keys()).collect();
        let mut leave = (0..).zip(&self.targets);
        let leaving = leave.find(|(_, host)| !host.dark && host.leaving == Leaving::Draining);
        let what = match leaving {
            Some((target, _)) if open.is_empty() => {
                format!(
                    "at {now} target {target} has not handed over, and nothing is wrong any more"
                )
            }
            _ => format!("at {now} requests are still open: {open:?}"),
        };
        self.report.violated(what);
    }

    /// Fetches every acknowledged chunk, and puts a new one into every group.
    pub(super) fn check_all(&mut self, now: Time, agenda: &mut Agenda<Event>) {
        let all: Vec<_> = self.catalogue.acknowledged().collect();
        let mut at = now;
        for (chunk, _) in all {
            at += APART;
            agenda.at(at, Event::Check { chunk });
            self.checks += 1;
        }
        for group in 0..self.groups.groups() {
            let content = loop {
                let content = self.catalogue.add(self.plan.longest);
                if self.groups.group_of(&content.chunk()) == GroupId(group) {
                    break content;
                }
            };
            self.checks += 1;
            let (chunk, purpose) = (content.chunk(), Purpose::Check);
            let kind = Kind::Put { content, made: false };
            let replicas = self.plan.wanted(&mut self.numbers);
            let running = Running { chunk, replicas, purpose, kind };
            self.begin(now, group % self.plan.users, running);
        }
        self.settle(now, agenda);
    }

    /// A store that was opened must have found all that it held before, but for what was harmed since, or may
    /// have been removed.
    pub(super) fn check_found(&mut self, now: Time, target: u32) {
        let host = &mut self.targets[target as usize];
        let held = std::mem::take(&mut host.held);
        for chunk in held {
            let host = &self.targets[target as usize];
            let is_held = host.machine.as_ref().is_some_and(|machine| machine.holds(&chunk));
            let is_retired = self.catalogue.known(&chunk) == Known::Retired;
            if !is_held && !is_retired && !host.disk.excuses(&chunk) {
                let what = format!(
                    "target {target} at {now} held {chunk}, and has not found it at its start"
                );
                self.report.violated(what);
            }
        }
    }

    /// Whether as many targets were harmed as the chunk is wanted on: then it may be lost. That is so only of
    /// one that is wanted on fewer than the cluster's number.
    pub(super) fn may_be_lost(&self, chunk: &ChunkId) -> bool {
        let members = self.groups.members(self.groups.group_of(chunk)).iter();
        let harmed = members.filter(|member| self.targets[member.0 as usize].harmed).count();
        usize::from(self.catalogue.wanted(chunk)) <= harmed
    }

    /// Counts the replicas that would be there if the power of all targets failed now, each with a number that
    /// has it kept.
    pub(super) fn check_replicas(&mut self) {
        let mut replicas: BTreeMap<ChunkId, Vec<u8>> = BTreeMap::new();
        for (number, host) in (0..).zip(&self.targets) {
            // Who has handed over is about to be taken away.
            if host.dark || host.leaving == Leaving::HandedOver {
                continue;
            }
            for (chunk, wanted) in readable(self.plan.store(number), host.disk.clone()) {
                replicas.entry(chunk).or_default().push(wanted);
            }
        }
        let acknowledged: Vec<_> = self.catalogue.acknowledged().collect();
        for (_, chunk) in acknowledged {
            let wanted = self.catalogue.wanted(&chunk);
            let found = replicas.get(&chunk).into_iter().flatten();
            let found = found.filter(|told| **told >= wanted).count();
            if found >= usize::from(wanted) {
                continue;
            }
            if self.may_be_lost(&chunk) {
                self.catalogue.forget(&chunk);
            } else {
                let what = format!("{chunk} has {found} of {wanted} replicas after the repair");
                self.report.violated(what);
            }
        }
    }
}

/// The chunks that a store finds, and can read, on `disk` after a power failure, with their wanted replicas.
fn readable(config: Config, mut disk: SimulatedDisk) -> Vec<(ChunkId, u8)> {
    disk.crash();
    let mut effects = Vec::new();
    let mut store = Store::open(config, &mut effects);
    let mut found = Vec::new();
    let mut is_asked = false;
    loop {
        for effect in effects.drain(..) {
            match effect {
                Effect::Disk(id, op) => disk.ask(id, op),
                Effect::Fetched(_, content) => {
                    let chunk = content.chunk();
                    found.extend(store.replicas(&chunk).map(|wanted| (chunk, wanted)));
                }
                _ => {}
            }
        }
        if let Some((id, result)) = disk.step() {
            store.handle(Input::Disk(id, result), &mut effects);
        } else if is_asked {
            return found;
        } else {
            is_asked = true;
            let held: Vec<_> = store.chunks(ChunkId([0; 32])).copied().collect();
            for (ticket, chunk) in (0..).zip(held) {
                store.handle(Input::Get(Ticket(ticket), chunk), &mut effects);
            }
        }
    }
}
