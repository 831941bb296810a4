//! Disks that fail: for a while, or for good.

use slotcast_engine::Agenda;
use slotcast_faults::{DiskFaults, Hang, OpFaults, RowsFaults, Transient};
use slotcast_member::StorageTarget;
use slotcast_protocol::TargetId;
use slotcast_store::DiskError;
use slotcast_units::Time;

use super::cluster::Cluster;
use super::event::Event;
use super::node::NodeHost;

impl Cluster {
    /// Operations of some kinds fail from now on, some or all of them. Nothing is harmed by that: what could not be
    /// read is there, and what was not written was not acknowledged.
    pub(super) fn begin_failing(&mut self, target: TargetId) {
        self.report.injected.failing_disks += 1;
        let mut faults = DiskFaults::default();
        for of in each_kind(&mut faults) {
            match self.chance.below(10) {
                0..3 => {
                    let (one_in, error) = (2 + self.chance.below(12), DiskError::Failed);
                    of.transient = Some(Transient { one_in, error });
                }
                3 => of.lasting = Some(DiskError::Failed),
                _ => {}
            }
        }
        // A file system that is mounted read-only, or that others have filled.
        match self.chance.below(6) {
            0 => {
                let error = Some(DiskError::ReadOnly);
                (faults.create.lasting, faults.write.lasting) = (error, error);
                (faults.cut.lasting, faults.delete.lasting) = (error, error);
            }
            1 => {
                let error = Some(DiskError::Full);
                (faults.create.lasting, faults.cut.lasting) = (error, error);
            }
            // A segment that cannot be read, also if its node starts meanwhile, and can be afterwards.
            2 | 3 => {
                let disk = &mut self.disk_mut(target).disk;
                let segments = disk.segments();
                disk.unreadable = segments.get(segments.len() / 2).copied();
            }
            _ => {}
        }
        self.disk_mut(target).disk.faults = faults;
    }

    /// Operations of some kinds are not answered from now on.
    pub(super) fn stall(&mut self, target: TargetId) {
        self.report.injected.stalled_disks += 1;
        let mut faults = self.disk(target).disk.faults;
        let all = self.chance.chance(0.4);
        for of in each_kind(&mut faults) {
            if all || self.chance.chance(0.3) {
                of.hang = Some(Hang::UntilReleased);
            }
        }
        self.disk_mut(target).disk.faults = faults;
    }

    /// A disk fails for good: it cannot be written to any more, and perhaps not read, or it does not answer. Nobody
    /// starts its node anew.
    pub(super) fn begin_dying(&mut self, now: Time, target: TargetId, agenda: &mut Agenda<Event>) {
        let (group, _) = self.groups.seat(target);
        let missing = self.missing(group);
        let can_be_spared = self.plan.can_spare(&self.groups, group, missing);
        if self.disk(target).is_dead || !can_be_spared || !self.may_harm(target) {
            return;
        }
        self.report.injected.dying_disks += 1;
        // What hung is answered: it has failed.
        self.mend_disk(now, target, agenda);
        let fails = OpFaults { lasting: Some(DiskError::Failed), ..OpFaults::default() };
        let hangs = OpFaults { hang: Some(Hang::UntilReleased), ..fails };
        let mut faults = DiskFaults::of_every_kind(fails);
        match self.chance.below(3) {
            // What is on it can be read.
            0 => {
                (faults.list, faults.read) = (OpFaults::default(), OpFaults::default());
                faults.read_content = OpFaults::default();
            }
            1 => faults = DiskFaults::of_every_kind(hangs),
            _ => {}
        }
        let disk = self.disk_mut(target);
        disk.is_dead = true;
        disk.rows.die();
        disk.disk.faults = faults;
    }

    /// Faults of a disk end, unless it has failed for good. What hung is carried out.
    pub(super) fn mend_disk(&mut self, now: Time, target: TargetId, agenda: &mut Agenda<Event>) {
        let place = self.node_of(target);
        let node = u32::try_from(place).expect("small");
        let incarnation = self.nodes[place].incarnation;
        let opens = self.nodes[place].target(target).is_none_or(StorageTarget::is_opening);
        let disk = self.disk_mut(target);
        match disk.is_dead {
            // It stays as it is; but its node waits for it to open, and nobody can ask that node anything.
            true if opens => {}
            true => return,
            false => {
                disk.disk.faults = DiskFaults::default();
                disk.disk.unreadable = None;
            }
        }
        for op in disk.disk.release() {
            agenda.at(now, Event::Disk { node, target, incarnation, op });
        }
    }

    /// The same of all disks of a node.
    pub(super) fn mend_disks(&mut self, now: Time, node: u32, agenda: &mut Agenda<Event>) {
        let targets: Vec<_> = self.nodes[node as usize].disks.keys().copied().collect();
        for target in targets {
            self.mend_disk(now, target, agenda);
            self.mend_rows(now, target, agenda);
        }
    }

    /// Whether a disk has failed for good and is not replaced yet.
    pub(super) fn has_dead(&self) -> bool {
        self.nodes.iter().flat_map(|host| host.disks.values()).any(|disk| disk.is_dead)
    }

    /// Whether somebody does not answer who may hold what others have lost: of that nobody can be certain.
    pub(super) fn has_silent(&self) -> bool {
        let mut members = self.map.nodes.iter();
        let is_gone = |number: u32| self.nodes.get(number as usize).is_some_and(NodeHost::is_gone);
        self.has_dead() || members.any(|node| is_gone(node.number))
    }

    /// Disks that failed for good are replaced by empty ones, and their nodes started anew.
    pub(super) fn replace_dead(&mut self, now: Time, agenda: &mut Agenda<Event>) {
        for node in 0..u32::try_from(self.nodes.len()).expect("small") {
            let host = &mut self.nodes[node as usize];
            if !host.disks.values().any(|disk| disk.is_dead) {
                continue;
            }
            let is_gone = host.is_gone();
            self.stop(now, node, agenda);
            let mistake = self.plan.mistake;
            let disks = self.nodes[node as usize].disks.iter_mut();
            let dead = disks.filter(|(_, disk)| disk.is_dead);
            let mut replaced = Vec::new();
            for (target, disk) in dead {
                disk.is_dead = false;
                disk.disk.faults = DiskFaults::default();
                disk.rows.rows.faults = RowsFaults::default();
                disk.wipe(mistake);
                disk.wiped_at = Some(now);
                replaced.push(*target);
            }
            replaced.into_iter().for_each(|target| self.replace(target));
            if !is_gone {
                self.start(now, node, agenda);
            }
        }
    }
}

fn each_kind(faults: &mut DiskFaults) -> [&mut OpFaults; 7] {
    let DiskFaults { list, create, write, cut, read, read_content, delete } = faults;
    [list, create, write, cut, read, read_content, delete]
}
