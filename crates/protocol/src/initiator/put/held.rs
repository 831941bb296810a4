//! Windows that a target may still take back: their transfers are held until they begin.

use slotcast_units::Time;

use super::Put;
use crate::group::Members;
use crate::initiator::{InitiatorEffect, Progress, Step};
use crate::message::{Grant, LateReject};
use crate::window::Window;

/// An accepted window whose transfer the host does not know of yet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Held {
    /// The round in which it was accepted.
    round: u8,
    grant: Grant,
}

impl Put {
    /// Hands the transfer to `to` over to the host.
    pub(super) fn transfer(&self, to: Members, start: Time, step: &mut Step<'_>) {
        step.effects.push(InitiatorEffect::Transfer {
            request: self.request,
            chunk: self.chunk,
            size: self.size,
            group: self.group,
            to,
            start,
        });
    }

    /// The transfer of one grant, now or when its window begins.
    pub(super) fn transfer_in(&mut self, grant: Grant, step: &mut Step<'_>) {
        if step.config.put.double_booking {
            self.held.push(Held { round: self.round.number(), grant });
            self.send_at = self.send_at.min(grant.window.start);
        } else {
            self.transfer(Members::only(grant.position), grant.window.start, step);
        }
    }

    /// Hands over the transfers whose windows have begun. One for which it is too late is lost.
    pub(super) fn send_held(&mut self, step: &mut Step<'_>) {
        let transfer = step.config.timing.transfer(self.size);
        let mut i = 0;
        while let Some(&Held { grant: Grant { position, window }, .. }) = self.held.get(i) {
            if window.start > step.now {
                i += 1;
                continue;
            }
            if step.now + transfer <= window.end {
                self.held.remove(i);
                self.transfer(Members::only(position), step.now, step);
            } else {
                self.lose(i, step);
            }
        }
        self.set_send_at();
    }

    /// Hands over all transfers, each for its window: nobody is left to hear of a rejection.
    pub(super) fn send_rest(&mut self, step: &mut Step<'_>) {
        for Held { grant, .. } in core::mem::take(&mut self.held) {
            self.transfer(Members::only(grant.position), grant.window.start, step);
        }
        self.send_at = Time::NEVER;
    }

    /// A target takes a window back.
    pub(super) fn late_rejected(&mut self, m: &LateReject, step: &mut Step<'_>) -> Progress {
        let is_meant = |held: &Held| held.round == m.round && held.grant.position == m.position;
        if let Some(i) = self.held.iter().position(is_meant) {
            self.lose(i, step);
            self.set_send_at();
            // A request that was to leave later, leaves now, and asks for this replica as well.
            self.ask_at = Time::NEVER;
            return self.go_on(step);
        }
        if m.round != self.round.number() || self.answers_due == Time::NEVER {
            return Progress::Going;
        }
        // The bid is void before it was chosen. If the rejection has overtaken it, it does not count.
        self.bids.retain(|(position, ..)| *position != m.position);
        let is_last = self.round.answered(m.round, m.position) && self.round.is_complete();
        if is_last { self.choose(step) } else { Progress::Going }
    }

    /// The member at `position` has answered for its transfer: one that is held is not sent.
    pub(super) fn drop_held(&mut self, position: u8, step: &mut Step<'_>) {
        if let Some(i) = self.held.iter().position(|held| held.grant.position == position) {
            self.lose(i, step);
            self.set_send_at();
        }
    }

    /// Nothing is sent in window `i`; its time is free again.
    fn lose(&mut self, i: usize, step: &mut Step<'_>) {
        let Held { grant, .. } = self.held.remove(i);
        let transfer = step.config.timing.transfer(self.size);
        step.shared.egress.release(Window::new(grant.window.start, transfer));
        self.pending.remove(grant.position);
        if self.pending.is_empty() {
            self.acks_due = Time::NEVER;
        }
        self.not_before = step.now;
    }

    fn set_send_at(&mut self) {
        let starts = self.held.iter().map(|held| held.grant.window.start);
        self.send_at = starts.min().unwrap_or(Time::NEVER);
    }
}
