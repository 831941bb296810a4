//! One request, from its beginning to its end.

use slotcast_units::{Span, Time};

use super::NameTimes;
use super::machine::Machine;
use crate::garbage::Root;

/// A request that is under way.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) number: u64,
    /// The listing that it is for.
    pub(super) parent: Option<u64>,
    pub(super) machine: Machine,
    pub(super) began: Time,
    /// When a voter answered last, or it began.
    pub(super) heard: Time,
    pub(super) due: Time,
    /// It waits until it is tried again.
    pub(super) is_backing_off: bool,
    pub(super) waits_for_map: bool,
    /// The epoch that it needed last.
    pub(super) last_map: u64,
    /// How often somebody else was faster.
    pub(super) lost: u32,
    /// What is to be touched before it is named.
    pub(super) upload: Upload,
    patience: Span,
}

/// Content that a change names, and the round of collection since which all of it was stored or touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Upload {
    /// It names none.
    Nothing,
    /// It was, since this round.
    Since(Root, u64),
    /// It is being touched, in this round at least.
    Touches(Root, u64),
    /// It is to be, when this round has begun.
    Deferred(Root, u64),
    /// It is to be, when it is stored: it is on its way. A voter knows of this round.
    Coming(Root, u64),
}

impl Upload {
    pub(super) fn since(self) -> Option<u64> {
        match self {
            Upload::Since(_, round) => Some(round),
            Upload::Nothing | Upload::Touches(..) | Upload::Deferred(..) | Upload::Coming(..) => {
                None
            }
        }
    }
}

impl Task {
    pub(super) fn new(
        now: Time,
        (number, parent): (u64, Option<u64>),
        machine: Machine,
        times: NameTimes,
    ) -> Task {
        Task {
            number,
            parent,
            machine,
            began: now,
            heard: now,
            due: Time::NEVER,
            is_backing_off: false,
            waits_for_map: false,
            last_map: 0,
            lost: 0,
            upload: Upload::Nothing,
            patience: times.patience,
        }
    }

    /// When it is given up.
    pub(super) fn gives_up(&self, times: NameTimes) -> Time {
        match self.machine {
            // Whoever touches comes to an end.
            _ if matches!(self.upload, Upload::Touches(..)) => Time::NEVER,
            _ if matches!(self.upload, Upload::Deferred(..)) => self.began + times.most,
            // Its chunk is on its way.
            _ if self.machine.is_held() => Time::NEVER,
            // The voters do not change before all is done.
            Machine::Move(_) => Time::NEVER,
            // It is given up where it is woken.
            Machine::Forget(_) => Time::NEVER,
            // Others of this node change the name before it.
            Machine::Waiting(_, false) => self.began + times.most,
            // There may be one soon, as at the first start of a cluster.
            _ if self.waits_for_map => self.began + times.most,
            _ => (self.heard + times.silence).min(self.began + times.most),
        }
    }

    /// How long it waits before it asks again: longer each time.
    pub(super) fn patience(&mut self, times: NameTimes) -> Span {
        let patience = self.patience;
        self.patience = (patience + patience / 2).min(times.silence);
        patience
    }

    /// What it has asked was answered, and it asks something else: that may have been lost once, not often.
    pub(super) fn has_come_on(&mut self, times: NameTimes) {
        self.patience = times.patience;
    }

    /// Whether it needed this epoch before, and began anew with it: more is needed than the map says.
    pub(super) fn has_needed(&self, epoch: u64) -> bool {
        self.last_map >= epoch
    }
}
