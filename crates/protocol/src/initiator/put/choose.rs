//! The end of a round: which bids are taken, and when the next round starts.

use slotcast_units::{Span, Time};

use super::Put;
use crate::initiator::{Failure, InitiatorEffect, Progress, Step};
use crate::message::{Grant, Grants};
use crate::selection::{
    AskNext, Candidate, CommonWindow, LinkSchedule, Sequence, earliest_common_window,
    earliest_sequence, lot, sort_candidates,
};
use crate::timing::Delivery;
use crate::window::Window;

/// So many rounds in a row may look for one window common to all replicas; the next one takes what
/// it gets, and places the remaining replicas later.
const PATIENCE: u8 = 2;

impl Put {
    /// All answers of a round are in, or the time for them is up.
    pub(super) fn choose(&mut self, step: &mut Step<'_>) -> Progress {
        self.answers_due = Time::NEVER;
        let need = self.need(step);
        if need == 0 {
            self.cancel_round(step);
            return self.go_on(step);
        }
        if self.only_asks {
            self.cancel_round(step);
            // Those that hold it for fewer replicas count when they have raised the number.
            return self.ask_again(step.now, step);
        }
        if self.is_hopeless(step) {
            return self.give_up(self.shortage(step), step);
        }
        self.collect_candidates(step);
        match step.config.put.window_rule.delivery {
            Delivery::Multicast => self.choose_common_window(need, step),
            Delivery::Unicast => self.choose_sequence(need, step),
        }
    }

    fn collect_candidates(&mut self, step: &mut Step<'_>) {
        let members = step.groups.members(self.group);
        let domain = |position: u8| step.groups.domain(members[usize::from(position)]);
        let shared = &mut *step.shared;
        shared.taken_domains.clear();
        shared.taken_domains.extend(self.stored.union(self.pending).iter().map(domain));
        shared.candidates.clear();
        shared.candidates.extend(self.bids.iter().map(|&(position, window, backlog)| Candidate {
            position,
            domain: domain(position),
            window,
            backlog,
            lot: lot(&self.chunk, position),
        }));
        sort_candidates(&mut shared.candidates);
    }

    fn choose_common_window(&mut self, need: usize, step: &mut Step<'_>) -> Progress {
        let rules = &step.config.put;
        let timing = &step.config.timing;
        let size = rules.window_rule.size_for(timing, self.size);
        let shared = &mut *step.shared;
        shared.egress.forget_before(step.now);
        // A group with members missing still takes what replicas it can; and so does one that has
        // no window common to all that are needed, if that lasts.
        let all = need.min(shared.candidates.len());
        let fewest = if self.rounds_without_window < PATIENCE { all } else { 1 };
        let found = (fewest..=all).rev().find_map(|need| {
            let look_for = CommonWindow {
                need,
                earliest: step.now + timing.control,
                width: size.accepted,
                link: &shared.egress,
                transfer: size.transfer,
                taken: &shared.taken_domains,
                ties: rules.ties,
                consecutive_only: rules.consecutive_only,
            };
            earliest_common_window(&shared.candidates, &look_for, &mut shared.chosen)
        });
        let Some(window) = found else {
            if rules.abandon_without_window {
                self.cancel_round(step);
                let reason = Failure::NoCommonWindow;
                step.effects.push(InitiatorEffect::Failed {
                    request: self.request,
                    rounds: self.round.count,
                    reason,
                });
                return Progress::Over;
            }
            // The next round's request replaces the bids of this one. It asks for a window from the
            // time on at which enough members are free, so that their bids start together, and
            // this initiator's own link: a member that would bid the same again is of no use.
            self.rounds_without_window += 1;
            let free = shared.candidates.get(all.saturating_sub(1)).map(|c| c.window.start);
            let free = free.map(|start| shared.egress.free_from(start, size.transfer));
            self.not_before = free.unwrap_or(self.not_before);
            return self.ask_again(step.now + self.pause(step), step);
        };
        self.rounds_without_window = 0;
        if let Some(again) = self.refuse(window, step) {
            return again;
        }
        let shared = &mut *step.shared;
        let grants: Grants =
            shared.chosen.iter().map(|c| Grant { position: c.position, window }).collect();
        shared.egress.take(Window::new(window.start, size.transfer));
        let to = grants.members();
        self.accept(grants, step);
        self.transfer(to, window.start, step);
        self.go_on(step)
    }

    fn choose_sequence(&mut self, need: usize, step: &mut Step<'_>) -> Progress {
        let rules = &step.config.put;
        let timing = step.config.timing;
        let size = rules.window_rule.size_for(&timing, self.size);
        let may_overlap = self.may_overlap(step);
        let shared = &mut *step.shared;
        shared.egress.forget_before(step.now);
        let look_for = Sequence {
            need,
            earliest: (step.now + timing.control).max(self.not_before),
            width: size.accepted,
            link: if may_overlap { &LinkSchedule::IDLE } else { &shared.egress },
            transfer: size.transfer,
            taken: &shared.taken_domains,
            ties: rules.ties,
            rule: rules.sequence,
        };
        earliest_sequence(&shared.candidates, &look_for, &mut shared.chosen);
        let Some(first) = shared.chosen.first().map(|c| c.window) else {
            // Bids came, but for times at which this initiator's own link is taken.
            let starts = shared.candidates.iter().map(|c| c.window.start);
            let free = starts.map(|start| shared.egress.free_from(start, size.transfer)).min();
            self.not_before = free.unwrap_or(self.not_before);
            return self.ask_again(step.now + self.pause(step), step);
        };
        if let Some(again) = self.refuse(first, step) {
            return again;
        }
        let shared = &mut *step.shared;
        let second = shared.chosen.get(1).map(|c| c.window);
        let last = shared.chosen[shared.chosen.len() - 1].window;
        let grants: Grants = shared
            .chosen
            .iter()
            .map(|c| Grant { position: c.position, window: c.window })
            .collect();
        for chosen in &shared.chosen {
            let start = chosen.window.start;
            if !may_overlap || shared.egress.free_from(start, size.transfer) == start {
                shared.egress.take(Window::new(start, size.transfer));
            }
        }
        self.refused = false;
        self.accept(grants, step);
        for &grant in grants.iter() {
            self.transfer_in(grant, step);
        }
        let previous_end = self.last.end;
        self.last = last;
        self.not_before = last.end;
        if self.need(step) == 0 {
            return Progress::Going;
        }
        if rules.sequence.ask_next == AskNext::AtStart {
            let at = last.start.max(step.now + timing.trip + timing.control * 3 / 2);
            return self.ask_again(at, step);
        }
        // The next request must not leave while payload does: in the idle time before the first
        // window, between the first two, or near the end of the last.
        let reach = step.now + timing.one_way();
        let between = second.map_or(Span::ZERO, |w| w.start.saturating_since(first.end));
        let at = if previous_end > reach
            && first.start.saturating_since(previous_end) > timing.control
        {
            previous_end
        } else if between > timing.control {
            first.end
        } else {
            last.start.max(last.end.saturating_sub(timing.control * 2))
        };
        self.ask_again(at, step)
    }

    /// A choosy initiator does not wait too long for `best`: it cancels the round, and asks again.
    fn refuse(&mut self, best: Window, step: &mut Step<'_>) -> Option<Progress> {
        let idle = best.start.saturating_since(step.now);
        if self.round.count >= step.config.max_rounds {
            return None;
        }
        let pause = step.shared.patience.as_mut()?.refuses(idle)?;
        self.cancel_round(step);
        self.refused = true;
        // Not before the cancellation is out.
        let timing = &step.config.timing;
        let at = step.now + pause.max(timing.trip + timing.control * 3 / 2);
        self.not_before = at;
        Some(self.ask_again(at, step))
    }
}
