//! The rows of names of each target: a store beside its disk, with faults of its own.

use slotcast_engine::Agenda;
use slotcast_faults::{Hang, RowsFaults, RowsOpFaults, SimulatedRows};
use slotcast_object::{RowsError, RowsOp, RowsOpId};
use slotcast_protocol::TargetId;
use slotcast_units::{Span, Time};

use super::Mistake;
use super::cluster::Cluster;
use super::event::Event;
use super::node::{DiskHost, NodeHost};

/// The rows of a target.
#[derive(Debug)]
pub(super) struct RowsHost {
    pub(super) rows: SimulatedRows,
    /// How many times slower than usual they are.
    slowness: u64,
    /// Something has failed since the node started: nothing is heard of them until it starts again.
    pub(super) has_failed: bool,
}

impl RowsHost {
    pub(super) fn new(seed: u64, mistake: Option<Mistake>) -> RowsHost {
        let mut rows = SimulatedRows::new(seed);
        rows.lies = mistake == Some(Mistake::RowsAcknowledgeBeforeFlush);
        RowsHost { rows, slowness: 1, has_failed: false }
    }

    /// The power of the node fails.
    pub(super) fn crash(&mut self) {
        self.rows.crash();
        self.has_failed = false;
    }

    /// They fail for good.
    pub(super) fn die(&mut self) {
        let fails = RowsOpFaults { lasting: true, ..RowsOpFaults::default() };
        self.rows.faults = RowsFaults::of_every_kind(fails);
    }
}

impl DiskHost {
    /// No segment can be made on it any more, and its rows have little room left; or both have room.
    pub(super) fn set_full(&mut self, is_full: bool) {
        self.disk.room = if is_full { self.disk.files() } else { usize::MAX };
        self.rows.rows.is_nearly_full = is_full;
    }

    /// Everything on the disk is gone.
    pub(super) fn wipe(&mut self, mistake: Option<Mistake>) {
        self.disk.wipe();
        self.held.clear();
        match mistake {
            Some(Mistake::WipedRowsKeepTheirIdentity) => self.rows.rows.wipe_rows(),
            _ => self.rows.rows.wipe(),
        }
    }
}

impl NodeHost {
    /// Whether rows of a disk that is well have failed: they are opened anew when the node is started.
    pub(super) fn has_failed_rows(&self) -> bool {
        self.disks.values().any(|disk| disk.rows.has_failed && !disk.is_dead)
    }
}

impl Cluster {
    /// A node wants something of the rows of a target.
    pub(super) fn ask_rows(
        &mut self,
        now: Time,
        (node, target): (u32, TargetId),
        (op, what): (RowsOpId, RowsOp),
        agenda: &mut Agenda<Event>,
    ) {
        let incarnation = self.nodes[node as usize].incarnation;
        let disk = self.disk_mut(target);
        if disk.instead.is_none() {
            disk.rows.rows.ask(op, what);
        }
        let slowness = disk.rows.slowness;
        let delay = self.names.rows_times.exponential(self.plan.disk_delay * slowness);
        let at = now + Span::from_us(2) + delay;
        agenda.at(at, Event::Rows { node, target, incarnation, op });
    }

    /// It is done. Where something else lies in the place of a disk nothing is known of its rows.
    pub(super) fn rows_done(
        &mut self,
        now: Time,
        (node, target): (u32, TargetId),
        op: RowsOpId,
        agenda: &mut Agenda<Event>,
    ) {
        let disk = self.disk_mut(target);
        let result = match disk.instead {
            Some(_) => Some(Err(RowsError)),
            None => disk.rows.rows.finish(op),
        };
        if let Some(result) = result {
            disk.rows.has_failed |= result.is_err();
            self.tell(now, node, slotcast_member::Input::Rows(target, op, result), agenda);
        }
    }

    /// Operations of some kinds fail from now on, some or all of them.
    pub(super) fn begin_failing_rows(&mut self, target: TargetId) {
        self.report.injected.failing_rows += 1;
        let mut faults = self.disk(target).rows.rows.faults;
        for of in each_kind(&mut faults) {
            match self.names.chance.below(10) {
                0..3 => of.one_in = Some(2 + self.names.chance.below(12)),
                3 => of.lasting = true,
                _ => {}
            }
        }
        self.set_rows_faults(target, faults);
    }

    /// Operations of some kinds are not answered from now on.
    pub(super) fn stall_rows(&mut self, target: TargetId) {
        self.report.injected.stalled_rows += 1;
        let mut faults = self.disk(target).rows.rows.faults;
        let all = self.names.chance.chance(0.4);
        for of in each_kind(&mut faults) {
            if all || self.names.chance.chance(0.3) {
                of.hang = Some(Hang::UntilReleased);
            }
        }
        self.set_rows_faults(target, faults);
    }

    fn set_rows_faults(&mut self, target: TargetId, faults: RowsFaults) {
        let disk = self.disk_mut(target);
        if !disk.is_dead {
            disk.rows.rows.faults = faults;
        }
    }

    /// Every operation takes longer from now on.
    pub(super) fn slow_rows(&mut self, target: TargetId) {
        self.report.injected.slow_rows += 1;
        let slowness = 5 + self.names.chance.below(40);
        self.disk_mut(target).rows.slowness = slowness;
    }

    /// Faults of rows end, unless their disk has failed for good. What hung is carried out.
    pub(super) fn mend_rows(&mut self, now: Time, target: TargetId, agenda: &mut Agenda<Event>) {
        let place = self.node_of(target);
        let node = u32::try_from(place).expect("small");
        let incarnation = self.nodes[place].incarnation;
        let disk = self.disk_mut(target);
        disk.rows.slowness = 1;
        if disk.is_dead {
            return;
        }
        disk.rows.rows.faults = RowsFaults::default();
        for op in disk.rows.rows.release() {
            agenda.at(now, Event::Rows { node, target, incarnation, op });
        }
    }

    /// Rows do not fail any more. Somebody may have seen that they did.
    pub(super) fn rows_are_well(
        &mut self,
        now: Time,
        target: TargetId,
        agenda: &mut Agenda<Event>,
    ) {
        self.mend_rows(now, target, agenda);
        let place = self.node_of(target);
        let host = &self.nodes[place];
        let is_to_restart = host.member.is_some() && host.has_failed_rows();
        if is_to_restart && self.names.chance.chance(0.5) {
            let node = u32::try_from(place).expect("small");
            self.stop(now, node, agenda);
            self.start(now, node, agenda);
        }
    }
}

fn each_kind(faults: &mut RowsFaults) -> [&mut RowsOpFaults; 5] {
    let RowsFaults { open, get, write, scan, clear } = faults;
    [open, get, write, scan, clear]
}
