//! A put whose windows a proxy finds: one message to it and one back, instead of a round of bids.
//!
//! A request that stays unanswered is repeated, and the proxy answers it again. If it stays silent,
//! the next member of the group is asked. What is granted is taken as it is, unless this initiator's
//! own link is taken meanwhile; then it asks again. Acknowledgements, and what follows from missing
//! ones, are those of every put.

use slotcast_units::Time;

use super::Put;
use crate::group::Members;
use crate::ids::{GroupId, Term};
use crate::initiator::{InitiatorEffect, Progress, Step};
use crate::message::{MAX_TAKEN, Message, ProxyAnswer, ProxyReply, ProxyRequest, Taken};
use crate::window::Window;

/// So often a request is repeated before its proxy is taken for dead.
const REPEATS: u8 = 2;

/// Where a put stands with the proxies of its group.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Asking {
    /// The position that is asked; none before the first round.
    proxy: Option<u8>,
    /// The latest term that is known to be over.
    over: Term,
    /// Positions that were given up.
    silent: Members,
    /// Repetitions of the current round.
    repeats: u8,
    /// The proxy has said that it takes longer.
    told_to_wait: bool,
}

impl Put {
    /// Starts a round: asks the proxy for what is missing.
    pub(super) fn ask_proxy(&mut self, step: &mut Step<'_>) {
        self.round.begin(Members::NONE);
        self.ask_at = Time::NEVER;
        self.asking.repeats = 0;
        self.asking.told_to_wait = false;
        self.send_to_proxy(step);
    }

    /// Sends the request of the current round, once more if it must be.
    fn send_to_proxy(&mut self, step: &mut Step<'_>) {
        self.answers_due = step.now + step.config.answer_timeout;
        let everybody = Members::first(step.groups.members(self.group).len());
        let asked = self.usable(step).without(self.failed);
        let need = self.need(step);
        let egress = &mut step.shared.egress;
        egress.forget_before(step.now);
        // Earlier windows are over before the answer is here. With too many later ones, only the time
        // between the last of them can be used.
        let later = egress.taken_after(step.now + step.config.timing.round_trip());
        let (before, listed) = later.split_at(later.len().saturating_sub(MAX_TAKEN));
        let blocked = before.last().map_or(Time::ZERO, |window| window.end);
        let position = *self.asking.proxy.get_or_insert_with(|| step.shared.proxies.of(self.group));
        let message = Message::ProxyRequest(ProxyRequest {
            request: self.request,
            round: self.round.number(),
            group: self.group,
            skip: everybody.without(asked),
            chunk: self.chunk,
            size: self.size,
            not_before: self.not_before.max(blocked),
            replicas: u8::try_from(need).expect("at most MAX_REPLICAS"),
            over: self.asking.over,
            taken: listed.iter().copied().collect::<Taken>(),
        });
        let to = Members::only(position);
        step.effects.push(InitiatorEffect::Multicast { group: self.group, to, message });
    }

    /// A proxy answers.
    pub(super) fn proxy_answered(&mut self, m: &ProxyReply, step: &mut Step<'_>) -> Progress {
        let waiting = self.answers_due != Time::NEVER && m.round == self.round.number();
        let in_group = usize::from(m.term.position) < step.groups.members(self.group).len();
        if !waiting || !in_group {
            return Progress::Going;
        }
        match m.answer {
            ProxyAnswer::Granted { window, members } => {
                step.shared.proxies.learn(self.group, m.term);
                self.proxy_granted(window, members, step)
            }
            ProxyAnswer::NotNow { retry_after } => {
                step.shared.proxies.learn(self.group, m.term);
                let wait = retry_after.min(step.config.horizon);
                self.answers_due = step.now + wait + step.config.answer_timeout;
                self.asking.told_to_wait = true;
                Progress::Going
            }
            ProxyAnswer::Moved => self.proxy_moved(m.term, step),
        }
    }

    fn proxy_granted(&mut self, window: Window, members: Members, step: &mut Step<'_>) -> Progress {
        let everybody = Members::first(step.groups.members(self.group).len());
        let useful = everybody.without(self.stored.union(self.pending));
        let sensible = !members.is_empty()
            && members.without(useful).is_empty()
            && members.len() <= usize::from(self.enough)
            && step.config.believes(step.now, window);
        if !sensible {
            return Progress::Going;
        }
        self.answers_due = Time::NEVER;
        if self.need(step) == 0 {
            // A late acknowledgement has made up for what was asked for.
            return self.go_on(step);
        }
        let transfer = step.config.timing.transfer(self.size);
        let egress = &mut step.shared.egress;
        egress.forget_before(step.now);
        let start = egress.free_from(window.start.max(step.now), transfer);
        if start + transfer > window.end {
            // The answer is too late, or another put got there first. A later round gives this
            // window back.
            self.not_before = start;
            return self.go_on(step);
        }
        egress.take(Window::new(start, transfer));
        self.await_acks(members, window.end, step);
        step.effects.push(InitiatorEffect::Transfer {
            request: self.request,
            chunk: self.chunk,
            size: self.size,
            group: self.group,
            to: members,
            start,
        });
        self.go_on(step)
    }

    /// Somebody who is not the proxy says who is.
    fn proxy_moved(&mut self, term: Term, step: &mut Step<'_>) -> Progress {
        if self.asking.silent.contains(term.position) {
            // Then whoever said so shall take over, knowing what this put knows.
            if term <= self.asking.over {
                return Progress::Going;
            }
            self.asking.over = term;
        } else if self.asking.proxy == Some(term.position) {
            return Progress::Going;
        } else {
            step.shared.proxies.learn(self.group, term);
            self.asking.proxy = Some(term.position);
            // The named member may have forgotten that it is the proxy.
            self.asking.over = self.asking.over.max(term.before());
        }
        self.answers_due = Time::NEVER;
        self.go_on(step)
    }

    /// No answer in time.
    pub(super) fn proxy_is_silent(&mut self, step: &mut Step<'_>) -> Progress {
        let repeat = self.asking.repeats < REPEATS && !self.asking.told_to_wait;
        if repeat && self.need(step) > 0 {
            self.asking.repeats += 1;
            self.send_to_proxy(step);
            return Progress::Going;
        }
        self.answers_due = Time::NEVER;
        if self.asking.repeats == REPEATS
            && let Some(silent) = self.asking.proxy
        {
            self.give_up_proxy(silent, step);
        }
        self.go_on(step)
    }

    /// The next member in the group's order is asked from now on.
    fn give_up_proxy(&mut self, silent: u8, step: &mut Step<'_>) {
        let members = step.groups.members(self.group).len();
        self.asking.silent.insert(silent);
        if self.asking.silent.len() >= members {
            // All of them were silent: more likely the network was.
            self.asking.silent = Members::NONE;
        }
        if let Some(term) = step.shared.proxies.term_of(self.group, silent) {
            self.asking.over = self.asking.over.max(term);
        }
        let next = usize::from(silent) + 1;
        self.asking.proxy = u8::try_from(if next < members { next } else { 0 }).ok();
    }
}

/// Which member of each group was the proxy when it was last heard of.
#[derive(Debug, Clone, Default)]
pub(in crate::initiator) struct Proxies {
    /// Only groups whose proxy is not the first member: in a cluster that is well there are none.
    moved: alloc::collections::BTreeMap<GroupId, Term>,
}

impl Proxies {
    fn of(&self, group: GroupId) -> u8 {
        self.moved.get(&group).map_or(0, |term| term.position)
    }

    /// The term of the member at `position`, if it is known to be the proxy.
    fn term_of(&self, group: GroupId, position: u8) -> Option<Term> {
        self.moved.get(&group).copied().filter(|term| term.position == position)
    }

    fn learn(&mut self, group: GroupId, term: Term) {
        if self.moved.get(&group).is_some_and(|known| *known > term) {
            return;
        }
        if term.position == 0 {
            self.moved.remove(&group);
        } else {
            self.moved.insert(group, term);
        }
    }
}
