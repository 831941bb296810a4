//! Opens a store: carries out what finding out what is on disk takes.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::{Active, Effect, Store, StoreStatus};
use crate::io::{DiskError, SegmentId};
use crate::opening::{Found, Opening, Step, Unfinished};
use crate::recovery::{Work, Worked};

impl Store {
    /// The work that [`Effect::Work`] was about. There is at most one piece at a time.
    pub fn take_work(&mut self) -> Option<Work> {
        self.work.take()
    }

    /// Goes on with opening after a result.
    pub(super) fn open_on(&mut self, mut opening: Box<Opening>, effects: &mut Vec<Effect>) {
        while let Some(step) = opening.next() {
            match step {
                Step::Ask(asked) => opening.asked(self.ask(asked.op.clone(), effects), asked),
                Step::Work(work) => {
                    self.work = Some(work);
                    effects.push(Effect::Work);
                }
                Step::Failed(error) => {
                    self.trouble = Some(StoreStatus::Failed(error));
                    return effects.push(Effect::NotOpened(error));
                }
                Step::Found(found) => return self.opened(found, effects),
            }
        }
        self.opening = Some(opening);
    }

    pub(super) fn worked(&mut self, worked: Worked, effects: &mut Vec<Effect>) {
        // It may have failed meanwhile.
        if let Some(mut opening) = self.opening.take() {
            opening.worked(worked);
            self.open_on(opening, effects);
        }
    }

    fn opened(&mut self, found: Found, effects: &mut Vec<Effect>) {
        self.index = *found.index;
        self.newest = found.newest;
        self.last_sequence = found.last_sequence.max(first_sequence(found.newest));
        self.statistics.lost = u64::from(found.damaged);
        self.statistics.unreadable_segments = found.unreadable;
        self.unsealed = found.unfinished;
        if found.unreadable > 0 {
            self.trouble = Some(StoreStatus::ReadOnly(DiskError::Failed));
        }
        if let Some((segment, Unfinished { entries, end })) = self.unsealed.pop() {
            self.active = Some(Active { segment, entries, end });
        }
        effects.push(Effect::Opened);
        self.pump(effects);
    }
}

/// What an opening numbers its records above, where `newest` is the last segment, so that they are younger than all that any
/// earlier one has written, also in segments that are not there at present and come back.
///
/// A segment has fewer than 2^32 records, and an opening begins above 2^32 times the number of the last segment that
/// there was. So it stays below that of the next one, which finds at least the spare segment that this one made.
fn first_sequence(newest: Option<SegmentId>) -> u64 {
    newest.map_or(0, |segment| u64::from(segment.0) << 32)
}
