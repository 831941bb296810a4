//! Puts and gets: who begins them, and what is concluded from how they end.

use slotcast_protocol::{Failure, Inventory, RepairOutcome, RequestId};
use slotcast_units::{Size, Time};

use super::catalogue::Known;
use super::cluster::Storm;
use super::hosts::{Kind, Purpose, Running};

impl Storm {
    /// Starts a request.
    pub(super) fn begin(&mut self, now: Time, initiator: u32, running: Running) {
        let host = &mut self.initiators[initiator as usize];
        let effects = &mut self.initiating;
        let request = match &running.kind {
            Kind::Put { content, .. } => {
                let size = Size::from_bytes(content.bytes().len() as u64);
                let (machine, replicas, what) =
                    (&mut host.machine, running.replicas, (running.chunk, size));
                match running.purpose {
                    Purpose::PutAgain | Purpose::Recover => {
                        machine.put_again(now, replicas, what, &self.groups, effects)
                    }
                    Purpose::User | Purpose::Check | Purpose::Ask => {
                        machine.put_on(now, Some(replicas), what, &self.groups, effects)
                    }
                }
            }
            Kind::Question(size) => {
                let what = (running.chunk, *size);
                host.machine.check(now, running.replicas, what, &self.groups, effects)
            }
            Kind::Get { .. } => host.machine.get(now, running.chunk, &self.groups, effects),
        };
        host.running.insert(request, running);
        self.take_initiating(initiator);
    }

    pub(super) fn end(&mut self, initiator: u32, request: RequestId) -> Option<Running> {
        let running = self.initiators[initiator as usize].running.remove(&request)?;
        self.checks -= usize::from(running.purpose == Purpose::Check);
        Some(running)
    }

    pub(super) fn put_done(&mut self, now: Time, initiator: u32, request: RequestId) {
        let Some(Running { chunk, replicas, purpose, kind }) = self.end(initiator, request) else {
            return;
        };
        let made = matches!(kind, Kind::Put { made: true, .. });
        match purpose {
            Purpose::User | Purpose::Check => {
                self.report.acknowledged += 1;
                self.catalogue.acknowledge(&chunk, replicas);
            }
            Purpose::PutAgain | Purpose::Recover | Purpose::Ask => {
                let outcome = if made { RepairOutcome::Healed } else { RepairOutcome::Complete };
                self.repaired(now, initiator - self.plan.users, chunk, outcome);
            }
        }
    }

    pub(super) fn get_done(&mut self, now: Time, initiator: u32, request: RequestId) {
        let Some(Running { chunk, replicas, purpose, kind }) = self.end(initiator, request) else {
            return;
        };
        let Kind::Get { content, .. } = kind else { return };
        let right = self.catalogue.content(&chunk);
        let Some(content) = content.filter(|content| content == right) else {
            return self.report.violated(format!("{request} at {now}: {chunk} has wrong content"));
        };
        self.report.fetched += 1;
        if purpose == Purpose::Recover {
            let kind = Kind::Put { content, made: false };
            self.begin(now, initiator, Running { chunk, replicas, purpose, kind });
        }
    }

    pub(super) fn failed(
        &mut self,
        now: Time,
        initiator: u32,
        request: RequestId,
        reason: Failure,
    ) {
        let Some(Running { chunk, purpose, kind, .. }) = self.end(initiator, request) else {
            return;
        };
        let is_get = matches!(kind, Kind::Get { .. });
        let must_be_there = matches!(kind, Kind::Get { must_be_there: true, .. })
            && self.catalogue.known(&chunk) == Known::Acknowledged
            && !self.may_be_lost(&chunk);
        if must_be_there && (purpose == Purpose::Check || reason == Failure::NotFound) {
            let what =
                format!("{request} at {now}: acknowledged {chunk} cannot be read: {reason:?}");
            self.report.violated(what);
        }
        match purpose {
            Purpose::User => self.report.given_up += 1,
            Purpose::Check if !is_get => {
                let what =
                    format!("{request} at {now}: {chunk} cannot be put in a calm: {reason:?}");
                self.report.violated(what);
            }
            Purpose::Check => {}
            Purpose::Ask => {
                let target = initiator - self.plan.users;
                self.repaired(now, target, chunk, RepairOutcome::Lacking);
            }
            Purpose::PutAgain | Purpose::Recover => {
                let is_nowhere = is_get && reason == Failure::NotFound;
                let outcome =
                    if is_nowhere { RepairOutcome::NotFound } else { RepairOutcome::Failed };
                self.repaired(now, initiator - self.plan.users, chunk, outcome);
            }
        }
    }

    /// A user puts something new, puts something again, or fetches something.
    pub(super) fn ask(&mut self, now: Time) {
        let user = u32::try_from(self.chance.below(u64::from(self.plan.users))).expect("small");
        let known = self.catalogue.any();
        let is_get = self.chance.chance(self.plan.get_share);
        let again = self.chance.chance(0.15);
        let content = match known {
            Some(content) if is_get || again => content,
            _ => self.catalogue.add(self.plan.longest),
        };
        let (chunk, purpose) = (content.chunk(), Purpose::User);
        let kind = if is_get {
            let must_be_there = self.catalogue.known(&chunk) == Known::Acknowledged;
            Kind::Get { content: None, must_be_there }
        } else {
            Kind::Put { content, made: false }
        };
        let replicas = self.plan.wanted(&mut self.numbers);
        self.begin(now, user, Running { chunk, replicas, purpose, kind });
    }

    pub(super) fn get(&mut self, now: Time, user: u32, number: u32, purpose: Purpose) {
        let chunk = self.catalogue.get(number).chunk();
        let must_be_there = self.catalogue.known(&chunk) == Known::Acknowledged;
        let kind = Kind::Get { content: None, must_be_there };
        let replicas = self.plan.replicas;
        self.begin(now, user, Running { chunk, replicas, purpose, kind });
    }

    /// A chunk is removed from all targets that are up, as far as they hear of it.
    pub(super) fn retire(&mut self, now: Time) {
        let Some(content) = self.catalogue.any() else { return };
        let chunk = content.chunk();
        self.catalogue.retire(&chunk);
        let (group, _) = (self.groups.group_of(&chunk), ());
        for member in self.groups.members(group).to_vec() {
            if let Some(machine) = &mut self.targets[member.0 as usize].machine
                && machine.chunk_from(std::ops::Bound::Included(chunk)) == Some(chunk)
            {
                machine.remove(now, chunk, &mut self.storing);
                self.take_storing(member.0);
            }
        }
    }
}
