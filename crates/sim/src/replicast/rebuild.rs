//! Bringing back what targets that are down have held: requests of the disks beside those of the users.
//!
//! A chunk stays in its group, so only the disks of the other members take part. The share of their time is
//! spent at even distances, as a token bucket lets through what wants to go faster. Transfers are left out:
//! they take a far smaller part of the links than of disks.

use slotcast_engine::Agenda;
use slotcast_protocol::{GroupMap, TargetId};
use slotcast_scenario::faults::Faults;
use slotcast_units::{Share, Span, Time};

use super::{Event, ReplicastModel};

/// Whether `target` brings back what a member of its group held that is down.
pub(super) fn takes_part(faults: &Faults, groups: &GroupMap, target: u32) -> bool {
    let is_down = |target: u32| faults.goes_down(target, groups.targets());
    let (group, _) = groups.seat(TargetId(target));
    faults.rebuild_share() > Share::ZERO
        && !is_down(target)
        && groups.members(group).iter().any(|&TargetId(member)| is_down(member))
}

impl ReplicastModel {
    /// From `from` on the disks of every group with a member that is down work for it, too.
    pub(super) fn start_rebuild(&mut self, from: Time, agenda: &mut Agenda<Event>) {
        let disks = self.recorder.disks_of_each();
        let mut first = Vec::new();
        for target in 0..self.groups.targets() {
            if takes_part(&self.faults, &self.groups, target) {
                first.extend((0..disks).map(|disk| Event::Rebuild { target, disk }));
            }
        }
        // Disks that all began together would all be busy together.
        let all = (first.len() as u64).max(1);
        for (place, event) in (0..).zip(first) {
            let Event::Rebuild { target, .. } = event else { continue };
            let distance = self.rebuild_distance(target);
            agenda.at(from + Span::from_ns(distance.as_ns() / all * place), event);
        }
    }

    /// A disk reads or writes one chunk, until the targets are back.
    pub(super) fn rebuild(
        &mut self,
        now: Time,
        target: u32,
        disk: u16,
        agenda: &mut Agenda<Event>,
    ) {
        if self.down.as_ref().and_then(|down| down.to).is_some_and(|back| now >= back) {
            return;
        }
        let service = self.rebuild_service(target);
        self.recorder.disk(target, disk).serve(now, service);
        agenda.after(self.rebuild_distance(target), Event::Rebuild { target, disk });
    }

    fn rebuild_service(&self, target: u32) -> Span {
        let rate = self.targets[target as usize].disk_rate;
        rate.time_for(self.clients.chunk_size()) + self.access
    }

    /// Time from one chunk of a disk to the next.
    fn rebuild_distance(&self, target: u32) -> Span {
        let share = self.faults.rebuild_share().as_f64();
        let distance = self.rebuild_service(target).as_secs_f64() / share;
        Span::from_secs_f64(distance).max(Span::from_ns(1))
    }
}
