//! Notices what people want to know of a target.

use alloc::vec::Vec;

use slotcast_protocol::{RepairStatistics, TargetId};
use slotcast_store::{Statistics, StoreStatus};
use slotcast_units::Time;

use crate::effect::{Effect, Note};

/// What is remembered of a target, to notice that something has changed.
#[derive(Debug)]
pub(super) struct TargetLog {
    status: StoreStatus,
    /// The scan under way, and the scrub: their beginnings, and the numbers of then.
    scan: Option<(Time, RepairStatistics)>,
    scrub: Option<(Time, RepairStatistics, Statistics)>,
}

impl TargetLog {
    /// Of a target that is being opened.
    pub(super) fn new() -> TargetLog {
        TargetLog { status: StoreStatus::Opening, scan: None, scrub: None }
    }

    /// Notes what has changed: what the target can do, whether it scans, whether it scrubs.
    pub(super) fn look(
        &mut self,
        now: Time,
        target: TargetId,
        (status, is_scanning, is_scrubbing): (StoreStatus, bool, bool),
        numbers: impl FnOnce() -> (RepairStatistics, Statistics),
        effects: &mut Vec<Effect>,
    ) {
        let is_as_before = status == self.status
            && is_scanning == self.scan.is_some()
            && is_scrubbing == self.scrub.is_some();
        if is_as_before {
            return;
        }
        let (repair, statistics) = numbers();
        let chunks = statistics.chunks;
        let mut note = |note| effects.push(Effect::Note(note));
        if status != self.status {
            let before = core::mem::replace(&mut self.status, status);
            note(Note::Target { target, before, status, statistics });
        }
        if is_scanning && self.scan.is_none() {
            self.scan = Some((now, repair));
            note(Note::ScanBegun { target, chunks });
        } else if let Some((began, before)) = self.scan.take_if(|_| !is_scanning) {
            note(Note::ScanEnded {
                target,
                visited: repair.visited - before.visited,
                healed: repair.healed - before.healed,
                failed: repair.failed - before.failed,
                under_replicated: repair.under_replicated,
                elapsed: now.saturating_since(began),
            });
        }
        if is_scrubbing && self.scrub.is_none() {
            self.scrub = Some((now, repair, statistics));
            note(Note::ScrubBegun { target, chunks });
        } else if let Some((began, before, held)) = self.scrub.take_if(|_| !is_scrubbing) {
            note(Note::ScrubEnded {
                target,
                read: repair.scrubbed - before.scrubbed,
                lost: statistics.lost - held.lost,
                elapsed: now.saturating_since(began),
            });
        }
    }
}
