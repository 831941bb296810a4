//! One put, from the first request to the last acknowledgement.
//!
//! ```text
//!            ask                 all bids, or time is up          all acks
//!  (start) ------> asking ---------------------------> transferring -----> done
//!                    ^                                   |
//!                    +-----------------------------------+
//!        more replicas needed: a later round, while transfers go on
//! ```

use alloc::vec::Vec;

use slotcast_units::{Size, Span, Time};

use super::{Failure, InitiatorEffect, Progress, Step};
use crate::group::Members;
use crate::ids::{ChunkId, GroupId, InitiatorId, RequestId};
use crate::message::{
    AckOutcome, BidAnswer, Grant, Grants, Message, PutAccept, PutRequest, ReplicaAck,
};
use crate::selection::{
    Candidate, CommonWindow, Sequence, SequenceRule, earliest_common_window, earliest_sequence,
    sort_candidates,
};
use crate::timing::{Delivery, WindowRule};
use crate::window::Window;

/// How an initiator puts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PutRules {
    /// Wanted replicas, 1 to [`crate::MAX_REPLICAS`].
    pub replicas: u8,
    /// How payload travels, and with that how windows are chosen.
    pub window_rule: WindowRule,
    /// How sequences are put together, for [`Delivery::Unicast`].
    pub sequence: SequenceRule,
    /// For [`Delivery::Multicast`]: the original's incomplete search for a common window.
    pub consecutive_only: bool,
    /// For [`Delivery::Multicast`]: give the put up when there is no common window, as the original
    /// does, instead of asking again.
    pub abandon_without_window: bool,
}

/// A put under way.
#[derive(Debug, Clone)]
pub(super) struct Put {
    request: RequestId,
    chunk: ChunkId,
    size: Size,
    group: GroupId,
    /// Rounds asked so far.
    rounds: u8,
    /// How many of the last rounds found no common window.
    rounds_without_window: u8,
    /// Members asked in this round; bids of this round are reserved there until it ends.
    asked: Members,
    /// Of these, the ones that have not answered.
    silent: Members,
    windows: Vec<(u8, Window)>,
    /// Shortest wait that a member without room for a reservation asked for, in this round.
    retry_after: Option<Span>,
    /// Members that hold the chunk.
    stored: Members,
    /// Members that a transfer is on its way to.
    pending: Members,
    /// Members that failed; left out until nobody else is usable.
    failed: Members,
    /// When to ask the next round.
    ask_at: Time,
    /// The next round asks for windows after this.
    not_before: Time,
    answers_due: Time,
    acks_due: Time,
    /// The last window accepted so far; at the start of the clock if there is none.
    last: Window,
}

/// So many rounds in a row may look for one window common to all replicas; the next one takes what
/// it gets, and places the remaining replicas later.
const PATIENCE: u8 = 2;

impl Default for Put {
    fn default() -> Put {
        Put {
            request: RequestId { initiator: InitiatorId(0), serial: 0 },
            chunk: ChunkId([0; 32]),
            size: Size::ZERO,
            group: GroupId(0),
            rounds: 0,
            rounds_without_window: 0,
            asked: Members::NONE,
            silent: Members::NONE,
            windows: Vec::new(),
            retry_after: None,
            stored: Members::NONE,
            pending: Members::NONE,
            failed: Members::NONE,
            ask_at: Time::NEVER,
            not_before: Time::ZERO,
            answers_due: Time::NEVER,
            acks_due: Time::NEVER,
            last: Window { start: Time::ZERO, end: Time::ZERO },
        }
    }
}

impl Put {
    /// Makes this a new put, keeping its buffers.
    pub(super) fn start(&mut self, request: RequestId, chunk: ChunkId, size: Size, group: GroupId) {
        let mut windows = core::mem::take(&mut self.windows);
        windows.clear();
        *self = Put { request, chunk, size, group, windows, ..Put::default() };
    }

    pub(super) fn request(&self) -> RequestId {
        self.request
    }

    /// When [`Put::wake`] has something to do.
    pub(super) fn due(&self) -> Time {
        self.ask_at.min(self.answers_due).min(self.acks_due)
    }

    /// Replicas that are neither stored nor on their way. Two in one failure domain count as one.
    fn need(&self, step: &Step<'_>) -> usize {
        let have = step.groups.domains_of(self.group, self.stored.union(self.pending));
        usize::from(step.config.put.replicas).saturating_sub(have)
    }

    /// Members in failure domains that neither hold the chunk nor will.
    fn usable(&self, step: &Step<'_>) -> Members {
        let everybody = Members::first(step.groups.members(self.group).len());
        let covered = self.stored.union(self.pending);
        everybody.without(step.groups.sharing_a_domain(self.group, covered))
    }

    /// Starts a round: asks every member that is usable and did not fail.
    pub(super) fn ask(&mut self, step: &mut Step<'_>) {
        let everybody = Members::first(step.groups.members(self.group).len());
        self.asked = self.usable(step).without(self.failed);
        let skip = everybody.without(self.asked);
        self.silent = self.asked;
        self.windows.clear();
        self.retry_after = None;
        self.ask_at = Time::NEVER;
        self.answers_due = step.now + step.config.answer_timeout;
        // Windows in which this initiator's own link is taken are of no use to it.
        let timing = &step.config.timing;
        let soonest = step.now + timing.round_trip() + timing.control;
        let link_free =
            step.shared.egress.free_from(soonest.max(self.not_before), timing.transfer(self.size));
        if link_free > soonest {
            self.not_before = link_free;
        }
        let message = Message::PutRequest(PutRequest {
            request: self.request,
            round: self.rounds,
            group: self.group,
            skip,
            chunk: self.chunk,
            size: self.size,
            not_before: self.not_before,
        });
        self.rounds += 1;
        step.effects.push(InitiatorEffect::Multicast {
            group: self.group,
            to: self.asked,
            message,
        });
    }

    /// A message of this request arrived.
    pub(super) fn message(&mut self, message: &Message, step: &mut Step<'_>) -> Progress {
        match message {
            Message::Bid(bid) => {
                let this_round = self.rounds.wrapping_sub(1) == bid.round;
                if !this_round || !self.silent.remove(bid.position) {
                    return Progress::Going;
                }
                match bid.answer {
                    BidAnswer::Window(window) if step.config.believes(step.now, window) => {
                        self.windows.push((bid.position, window));
                    }
                    BidAnswer::Window(_) => {}
                    BidAnswer::AlreadyStored => self.stored.insert(bid.position),
                    BidAnswer::NotNow { retry_after } => {
                        let retry_after = retry_after.min(step.config.horizon);
                        let shortest = self.retry_after.map_or(retry_after, |r| r.min(retry_after));
                        self.retry_after = Some(shortest);
                    }
                }
                if self.silent.is_empty() { self.choose(step) } else { Progress::Going }
            }
            Message::ReplicaAck(ack) => self.acknowledged(ack, step),
            _ => Progress::Going,
        }
    }

    fn acknowledged(&mut self, ack: &ReplicaAck, step: &mut Step<'_>) -> Progress {
        if usize::from(ack.position) >= step.groups.members(self.group).len() {
            return Progress::Going;
        }
        let expected = self.pending.remove(ack.position);
        if ack.outcome == AckOutcome::Stored {
            // Counts even when it comes so late that the member was taken for failed.
            self.failed.remove(ack.position);
            self.stored.insert(ack.position);
        } else if expected {
            self.failed.insert(ack.position);
        }
        if self.pending.is_empty() {
            self.acks_due = Time::NEVER;
        }
        self.go_on(step)
    }

    /// Some deadline has passed.
    pub(super) fn wake(&mut self, step: &mut Step<'_>) -> Progress {
        if self.answers_due <= step.now {
            self.silent = Members::NONE;
            if self.choose(step) == Progress::Over {
                return Progress::Over;
            }
        }
        if self.acks_due <= step.now {
            self.acks_due = Time::NEVER;
            self.failed = self.failed.union(self.pending);
            self.pending = Members::NONE;
            if self.go_on(step) == Progress::Over {
                return Progress::Over;
            }
        }
        if self.ask_at <= step.now {
            self.ask(step);
        }
        Progress::Going
    }

    /// Ends the put if it has its replicas, and starts another round if it lacks some and none is
    /// under way.
    fn go_on(&mut self, step: &mut Step<'_>) -> Progress {
        let replicas = usize::from(step.config.put.replicas);
        if step.groups.domains_of(self.group, self.stored) >= replicas {
            self.cancel_round(step);
            let effect = InitiatorEffect::PutDone { request: self.request, rounds: self.rounds };
            step.effects.push(effect);
            return Progress::Over;
        }
        let under_way = self.answers_due != Time::NEVER || self.ask_at != Time::NEVER;
        if self.need(step) > 0 && !under_way {
            self.ask_again(step.now, step)
        } else {
            Progress::Going
        }
    }

    /// Starts another round at `at`, or gives up after the last.
    fn ask_again(&mut self, at: Time, step: &mut Step<'_>) -> Progress {
        if self.rounds < step.config.max_rounds {
            let mut at = at;
            if self.usable(step).without(self.failed).is_empty() {
                // Everybody gets another chance, after a while.
                self.failed = Members::NONE;
                at = at.max(step.now + step.config.answer_timeout);
            }
            if at <= step.now {
                self.ask(step);
            } else {
                self.ask_at = at;
            }
            return Progress::Going;
        }
        if !self.pending.is_empty() {
            // What is on its way may still arrive; the last acknowledgement decides.
            return Progress::Going;
        }
        self.cancel_round(step);
        #[expect(clippy::cast_possible_truncation, reason = "at most 64 members")]
        let stored = self.stored.len() as u8;
        let reason = Failure::TooFewReplicas { stored };
        step.effects.push(InitiatorEffect::Failed { request: self.request, reason });
        Progress::Over
    }

    /// All answers of a round are in, or the time for them is up.
    fn choose(&mut self, step: &mut Step<'_>) -> Progress {
        self.answers_due = Time::NEVER;
        let need = self.need(step);
        if need == 0 {
            self.cancel_round(step);
            return self.go_on(step);
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
        shared.candidates.extend(self.windows.iter().map(|&(position, window)| Candidate {
            position,
            domain: domain(position),
            window,
        }));
        sort_candidates(&mut shared.candidates, &self.chunk);
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
                consecutive_only: rules.consecutive_only,
            };
            earliest_common_window(&shared.candidates, &look_for, &mut shared.chosen)
        });
        let Some(window) = found else {
            if rules.abandon_without_window {
                self.cancel_round(step);
                let reason = Failure::NoCommonWindow;
                step.effects.push(InitiatorEffect::Failed { request: self.request, reason });
                return Progress::Over;
            }
            // The next round's request replaces the bids of this one. It asks for a window from the
            // time on at which enough members are free, so that their bids start together.
            self.rounds_without_window += 1;
            let free = shared.candidates.get(all.saturating_sub(1)).map(|c| c.window.start);
            self.not_before = free.unwrap_or(self.not_before);
            return self.ask_again(step.now + self.pause(step), step);
        };
        self.rounds_without_window = 0;
        let grants: Grants =
            shared.chosen.iter().map(|c| Grant { position: c.position, window }).collect();
        shared.egress.take(Window::new(window.start, size.transfer));
        let to = grants.members();
        self.accept(grants, step);
        step.effects.push(InitiatorEffect::Transfer {
            request: self.request,
            chunk: self.chunk,
            size: self.size,
            group: self.group,
            to,
            start: window.start,
        });
        self.go_on(step)
    }

    fn choose_sequence(&mut self, need: usize, step: &mut Step<'_>) -> Progress {
        let rules = &step.config.put;
        let timing = step.config.timing;
        let size = rules.window_rule.size_for(&timing, self.size);
        let shared = &mut *step.shared;
        shared.egress.forget_before(step.now);
        let look_for = Sequence {
            need,
            earliest: (step.now + timing.control).max(self.not_before),
            width: size.accepted,
            link: &shared.egress,
            transfer: size.transfer,
            taken: &shared.taken_domains,
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
        let second = shared.chosen.get(1).map(|c| c.window);
        let last = shared.chosen[shared.chosen.len() - 1].window;
        let grants: Grants = shared
            .chosen
            .iter()
            .map(|c| Grant { position: c.position, window: c.window })
            .collect();
        for chosen in &shared.chosen {
            shared.egress.take(Window::new(chosen.window.start, size.transfer));
        }
        self.accept(grants, step);
        for grant in grants.iter() {
            let mut to = Members::NONE;
            to.insert(grant.position);
            step.effects.push(InitiatorEffect::Transfer {
                request: self.request,
                chunk: self.chunk,
                size: self.size,
                group: self.group,
                to,
                start: grant.window.start,
            });
        }
        let previous_end = self.last.end;
        self.last = last;
        self.not_before = last.end;
        if self.need(step) == 0 {
            return Progress::Going;
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

    /// How long to wait before the next round: not at all if there were bids, which may be better
    /// next time; or else as long as the members asked for, or until the silent may be back.
    fn pause(&self, step: &Step<'_>) -> Span {
        if self.windows.is_empty() {
            self.retry_after.unwrap_or(step.config.answer_timeout)
        } else {
            Span::ZERO
        }
    }

    /// Grants windows, and by that cancels all other bids of the round.
    fn accept(&mut self, grants: Grants, step: &mut Step<'_>) {
        let end = grants.iter().map(|grant| grant.window.end).max();
        let end = end.expect("an acceptance grants a window");
        self.pending = self.pending.union(grants.members());
        let due = end + step.config.ack_timeout;
        self.acks_due = if self.acks_due == Time::NEVER { due } else { self.acks_due.max(due) };
        self.end_round(grants, step);
    }

    /// Cancels whatever is still reserved in this round.
    fn cancel_round(&mut self, step: &mut Step<'_>) {
        if !self.asked.is_empty() {
            self.end_round(Grants::NONE, step);
        }
    }

    fn end_round(&mut self, grants: Grants, step: &mut Step<'_>) {
        let message = Message::PutAccept(PutAccept {
            request: self.request,
            round: self.rounds - 1,
            delivery: step.config.put.window_rule.delivery,
            grants,
        });
        let to = core::mem::take(&mut self.asked);
        step.effects.push(InitiatorEffect::Multicast { group: self.group, to, message });
    }
}
