//! An acknowledgement that is late: those who have the chunk are asked what became of it.

use slotcast_units::Time;

use super::Put;
use crate::group::Members;
use crate::initiator::Step;
use crate::message::{Bid, BidAnswer};

/// When members are asked that have a chunk and have not acknowledged it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reminding {
    /// All of the chunk has come to these.
    reached: Members,
    /// When it had come to the first of them.
    since: Time,
    /// How often they were asked.
    asked: u8,
    pub(super) due: Time,
}

impl Default for Reminding {
    fn default() -> Reminding {
        Reminding { reached: Members::NONE, since: Time::NEVER, asked: 0, due: Time::NEVER }
    }
}

impl Reminding {
    /// A member that was expected to has acknowledged the chunk.
    pub(super) fn acknowledged(&mut self, position: u8, step: &mut Step<'_>) {
        if self.reached.remove(position) && self.since != Time::NEVER {
            step.shared.acks.took(step.now.saturating_since(self.since));
        }
    }
}

impl Put {
    /// All of the chunk has come to `members`.
    pub(in crate::initiator) fn reached(&mut self, members: Members, step: &mut Step<'_>) {
        let Some(rules) = step.config.late else { return };
        let reached = members.intersection(self.pending);
        if reached.is_empty() {
            return;
        }
        let Reminding { reached: all, since, asked, due } = &mut self.reminding;
        *all = all.union(reached);
        if *since == Time::NEVER {
            *since = step.now;
        }
        *due = step.now + rules.patience(&step.shared.acks, *asked);
    }

    /// Asks those who have the chunk, if it is time: as in a round of its own, in which nobody else is asked.
    pub(super) fn remind(&mut self, step: &mut Step<'_>) {
        if self.reminding.due > step.now {
            return;
        }
        self.reminding.due = Time::NEVER;
        let asked = self.reminding.reached.intersection(self.pending);
        let Some(rules) = step.config.late.filter(|_| !asked.is_empty()) else { return };
        if self.round.count >= step.config.max_rounds {
            return;
        }
        if self.answers_due != Time::NEVER || self.ask_at != Time::NEVER {
            // A round for what else is needed comes first.
            self.reminding.due = step.now + step.config.answer_timeout;
            return;
        }
        self.reminding.asked = self.reminding.asked.saturating_add(1);
        self.reminding.due = step.now + rules.patience(&step.shared.acks, self.reminding.asked);
        self.ask_members(asked, step);
    }

    /// A member has answered. If a transfer is on its way to it, it has got it by now, and is writing it, or else it does not
    /// know of that any more: then it is as any other member.
    pub(super) fn answered_reminder(&mut self, bid: &Bid) {
        let is_lost = match bid.answer {
            BidAnswer::Raising | BidAnswer::Unavailable => return,
            BidAnswer::AlreadyStored
            | BidAnswer::Window { .. }
            | BidAnswer::NotNow { .. }
            | BidAnswer::Full => self.pending.remove(bid.position),
        };
        if is_lost {
            self.reminding.reached.remove(bid.position);
            if self.pending.is_empty() {
                self.acks_due = Time::NEVER;
            }
        }
    }
}
