//! One put, from the first request to the last acknowledgement.
//!
//! ```text
//!            ask                 all bids, or time is up          all acks
//!  (start) ------> asking ---------------------------> transferring -----> done
//!                    ^                                   |
//!                    +-----------------------------------+
//!        more replicas needed: a later round, while transfers go on
//! ```

mod choose;
mod held;
mod proxied;
mod reminding;

use alloc::vec::Vec;

use slotcast_units::{Size, Span, Time};

use held::Held;

use super::round::Round;
use super::{Choosy, Failure, InitiatorEffect, Lost, Progress, Shortage, Step};
use crate::claim::Wanted;
use crate::group::Members;
use crate::ids::{ChunkId, GroupId, RequestId};
use crate::message::{AckOutcome, BidAnswer, Grants, Message, PutAccept, PutRequest, ReplicaAck};
use crate::selection::{SequenceRule, Ties};
use crate::timing::WindowRule;
use crate::window::Window;

pub(super) use proxied::Proxies;

/// How an initiator puts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PutRules {
    /// Wanted replicas where a put does not say, 1 to [`crate::MAX_REPLICAS`].
    pub replicas: u8,
    /// How payload travels, and with that how windows are chosen.
    pub window_rule: WindowRule,
    /// Which of several bids is taken where transfers would begin together.
    pub ties: Ties,
    /// How sequences are put together, for [`crate::Delivery::Unicast`].
    pub sequence: SequenceRule,
    /// For [`crate::Delivery::Multicast`]: the original's incomplete search for a common window.
    pub consecutive_only: bool,
    /// For [`crate::Delivery::Multicast`]: give the put up when there is no common window, as the original
    /// does, instead of asking again.
    pub abandon_without_window: bool,
    /// Whether a long wait for the best bid is taken as it comes, or asked about again.
    pub choosy: Option<Choosy>,
    /// For [`crate::Delivery::Unicast`]: targets may take an accepted window back until it begins
    /// ([`crate::OfferRule::DoubleBooking`]), so a transfer is handed over only then.
    pub double_booking: bool,
    /// Whether windows are asked of the group's proxy, which chooses them by its own rules, instead of
    /// the whole group. For [`crate::Delivery::Multicast`].
    pub proxied: bool,
}

/// A put under way.
#[derive(Debug, Clone)]
pub(super) struct Put {
    request: RequestId,
    chunk: ChunkId,
    size: Size,
    group: GroupId,
    /// Wanted replicas and the claim, as targets are told.
    wanted: Wanted,
    /// Replicas with which it is done: as many, unless the group has no room for them.
    enough: u8,
    /// It ends with the first round, whatever comes of that, and sends nothing.
    only_asks: bool,
    round: Round,
    /// How many of the last rounds found no common window.
    rounds_without_window: u8,
    /// Members that bid in this round, their windows and their backlogs.
    bids: Vec<(u8, Window, Span)>,
    /// Accepted windows that may be taken back; their members are pending.
    held: Vec<Held>,
    /// When the first of them begins.
    send_at: Time,
    /// Members that hold the chunk.
    stored: Members,
    /// Members that a transfer is on its way to.
    pending: Members,
    /// When they are asked what became of it.
    reminding: reminding::Reminding,
    /// Members that failed; left out until nobody else is usable, or available.
    failed: Members,
    shortage: Shortage,
    /// When to ask the next round.
    ask_at: Time,
    /// The next round asks for windows after this.
    not_before: Time,
    /// The bids of a round were refused, and none was accepted since.
    refused: bool,
    answers_due: Time,
    acks_due: Time,
    /// The last window accepted so far; at the start of the clock if there is none.
    last: Window,
    /// Where it stands with the proxies of its group, if it asks those.
    asking: proxied::Asking,
}

/// What an ended put leaves to the next one, so that it need not allocate.
#[derive(Debug, Clone, Default)]
pub(super) struct Buffers {
    bids: Vec<(u8, Window, Span)>,
    held: Vec<Held>,
}

impl Put {
    /// A put that has not asked yet, for `enough` replicas out of those wanted.
    #[inline]
    pub(super) fn new(
        request: RequestId,
        (chunk, size): (ChunkId, Size),
        group: GroupId,
        (wanted, enough): (Wanted, u8),
        only_asks: bool,
        Buffers { bids, held }: Buffers,
    ) -> Put {
        Put {
            request,
            chunk,
            size,
            group,
            wanted,
            enough,
            only_asks,
            round: Round::default(),
            rounds_without_window: 0,
            bids,
            held,
            send_at: Time::NEVER,
            stored: Members::NONE,
            pending: Members::NONE,
            reminding: reminding::Reminding::default(),
            failed: Members::NONE,
            shortage: Shortage::default(),
            ask_at: Time::NEVER,
            not_before: Time::ZERO,
            refused: false,
            answers_due: Time::NEVER,
            acks_due: Time::NEVER,
            last: Window { start: Time::ZERO, end: Time::ZERO },
            asking: proxied::Asking::default(),
        }
    }

    /// Its buffers, when it is over.
    pub(super) fn into_buffers(self) -> Buffers {
        let Put { mut bids, mut held, .. } = self;
        bids.clear();
        held.clear();
        Buffers { bids, held }
    }

    pub(super) fn request(&self) -> RequestId {
        self.request
    }

    pub(super) fn group(&self) -> GroupId {
        self.group
    }

    /// When [`Put::wake`] has something to do.
    pub(super) fn due(&self) -> Time {
        let due = self.ask_at.min(self.answers_due).min(self.acks_due).min(self.send_at);
        due.min(self.reminding.due)
    }

    /// Replicas that are neither stored nor on their way. Two in one failure domain count as one.
    fn need(&self, step: &Step<'_>) -> usize {
        let have = step.groups.domains_of(self.group, self.stored.union(self.pending));
        usize::from(self.enough).saturating_sub(have)
    }

    /// Members in failure domains that neither hold the chunk nor will.
    fn usable(&self, step: &Step<'_>) -> Members {
        let everybody = step.groups.members_for_puts(self.group);
        let covered = self.stored.union(self.pending);
        everybody.without(step.groups.sharing_a_domain(self.group, covered))
    }

    /// Whether windows may overlap the initiator's own transfers.
    fn may_overlap(&self, step: &Step<'_>) -> bool {
        self.refused && step.config.put.choosy.is_some_and(|choosy| choosy.overlaps)
    }

    /// Starts a round: asks every member that is usable and did not fail.
    pub(super) fn ask(&mut self, step: &mut Step<'_>) {
        if step.config.put.proxied {
            if self.need(step) == 0 {
                // A late acknowledgement has made up for what was to be asked for.
                self.ask_at = Time::NEVER;
                return;
            }
            return self.ask_proxy(step);
        }
        self.ask_members(self.usable(step).without(self.failed), step);
    }

    fn ask_members(&mut self, asked: Members, step: &mut Step<'_>) {
        let everybody = Members::first(step.groups.members(self.group).len());
        let round = self.round.begin(asked);
        self.bids.clear();
        self.ask_at = Time::NEVER;
        self.answers_due = step.now + step.config.answer_timeout;
        // Windows in which this initiator's own link is taken are of no use to it.
        let timing = &step.config.timing;
        let soonest = step.now + timing.round_trip() + timing.control;
        let link_free =
            step.shared.egress.free_from(soonest.max(self.not_before), timing.transfer(self.size));
        if link_free > soonest && !self.may_overlap(step) {
            self.not_before = link_free;
        }
        let message = Message::PutRequest(PutRequest {
            request: self.request,
            round,
            group: self.group,
            skip: everybody.without(asked),
            chunk: self.chunk,
            size: self.size,
            not_before: self.not_before,
            replicas: self.wanted.replicas,
            claim: self.wanted.claim,
        });
        step.effects.push(InitiatorEffect::Multicast { group: self.group, to: asked, message });
    }

    /// A message of this request arrived.
    pub(super) fn message(&mut self, message: &Message, step: &mut Step<'_>) -> Progress {
        match message {
            Message::Bid(bid) => {
                let is_in_time = self.round.answered(bid.round, bid.position);
                let is_there = bid.answer != BidAnswer::Unavailable
                    && self.round.heard(bid.round, bid.position);
                if !is_in_time {
                    if is_there {
                        self.heard_late(step);
                    }
                    return Progress::Going;
                }
                self.answered_reminder(bid);
                match bid.answer {
                    BidAnswer::Window { window, backlog }
                        if step.config.believes(step.now, window) =>
                    {
                        self.bids.push((bid.position, window, backlog));
                    }
                    BidAnswer::Window { .. } => {}
                    BidAnswer::AlreadyStored => self.stored.insert(bid.position),
                    // Its acknowledgement may have overtaken this.
                    BidAnswer::Raising if self.stored.contains(bid.position) => {}
                    // It is awaited already: whoever is writing does not get more time by saying so.
                    BidAnswer::Raising if self.pending.contains(bid.position) => {}
                    BidAnswer::Raising => {
                        self.await_acks(Members::only(bid.position), step.now, step);
                    }
                    BidAnswer::NotNow { retry_after } => {
                        self.round.not_now(retry_after.min(step.config.horizon));
                    }
                    BidAnswer::Unavailable => self.round.unavailable(Members::only(bid.position)),
                    BidAnswer::Full => self.round.has_no_room(bid.position),
                }
                if self.round.is_complete() { self.choose(step) } else { Progress::Going }
            }
            Message::ReplicaAck(ack) => self.acknowledged(ack, step),
            Message::LateReject(rejection) => self.late_rejected(rejection, step),
            Message::ProxyReply(reply) => self.proxy_answered(reply, step),
            _ => Progress::Going,
        }
    }

    /// A member is there that was given up in this round: it was only late, and may be in time in the next.
    fn heard_late(&mut self, step: &Step<'_>) {
        if self.shortage.end() && self.bids.is_empty() && self.ask_at != Time::NEVER {
            self.ask_at = self.ask_at.min(step.now + step.config.answer_timeout);
        }
    }

    fn acknowledged(&mut self, ack: &ReplicaAck, step: &mut Step<'_>) -> Progress {
        if usize::from(ack.position) >= step.groups.members(self.group).len() {
            return Progress::Going;
        }
        let expected = self.pending.remove(ack.position);
        if expected && ack.outcome == AckOutcome::Stored {
            self.reminding.acknowledged(ack.position, step);
        }
        self.drop_held(ack.position, step);
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

    /// Members are not heard any more, or have started anew: whatever is on its way to them is to go elsewhere.
    pub(super) fn lose_members(&mut self, lost: Lost, step: &mut Step<'_>) -> Progress {
        if lost.restarted {
            self.stored = self.stored.without(lost.members);
        }
        let pending = self.pending.intersection(lost.members);
        pending.iter().for_each(|position| self.drop_held(position, step));
        self.pending = self.pending.without(pending);
        self.failed = self.failed.union(pending);
        if self.pending.is_empty() {
            self.acks_due = Time::NEVER;
        }
        if self.answers_due == Time::NEVER {
            return self.go_on(step);
        }
        if step.config.put.proxied {
            return Progress::Going;
        }
        self.bids.retain(|(position, ..)| !lost.members.contains(*position));
        self.round.unavailable(lost.members);
        if self.round.is_complete() { self.choose(step) } else { Progress::Going }
    }

    /// Some deadline has passed.
    pub(super) fn wake(&mut self, step: &mut Step<'_>) -> Progress {
        if self.send_at <= step.now {
            self.send_held(step);
            if self.go_on(step) == Progress::Over {
                return Progress::Over;
            }
        }
        if self.answers_due <= step.now {
            self.round.give_up_on_silent();
            let progress = if step.config.put.proxied {
                self.proxy_is_silent(step)
            } else {
                self.choose(step)
            };
            if progress == Progress::Over {
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
        self.remind(step);
        Progress::Going
    }

    /// Ends the put if it has its replicas, and starts another round if it lacks some and none is
    /// under way.
    fn go_on(&mut self, step: &mut Step<'_>) -> Progress {
        if step.groups.domains_of(self.group, self.stored) >= usize::from(self.enough) {
            self.cancel_round(step);
            self.send_rest(step);
            let effect =
                InitiatorEffect::PutDone { request: self.request, rounds: self.round.count };
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
        if self.round.count < step.config.max_rounds && !self.only_asks {
            let mut at = at;
            // A proxy answers for its group, and says nothing of who is there.
            let nobody_is_available =
                !step.config.put.proxied && self.bids.is_empty() && self.round.available.is_empty();
            if nobody_is_available || self.usable(step).without(self.failed).is_empty() {
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
        let stored = self.stored_count();
        self.give_up(Failure::TooFewReplicas { stored }, step)
    }

    fn stored_count(&self) -> u8 {
        u8::try_from(self.stored.len()).expect("at most 64 members")
    }

    /// Whether the members that are available are in too few failure domains, for too long. Those that failed
    /// are not asked, and may be available.
    fn is_hopeless(&mut self, step: &Step<'_>) -> bool {
        if step.config.refuse_after.is_none() {
            return false;
        }
        let possible = self.stored.union(self.pending).union(self.failed);
        let possible = possible.union(self.round.available);
        let is_short = step.groups.domains_of(self.group, possible) < usize::from(self.enough);
        self.shortage.round_ended(step, is_short) && self.pending.is_empty()
    }

    /// Why there are too few members: because those that there are have no room, or because they are away.
    fn shortage(&self, step: &Step<'_>) -> Failure {
        let stored = self.stored_count();
        let there = self.stored.union(self.pending).union(self.failed);
        let there = there.union(self.round.available).union(self.round.full);
        match step.groups.domains_of(self.group, there) < usize::from(self.enough) {
            true => Failure::TooFewAvailable { stored },
            false => Failure::TooFewReplicas { stored },
        }
    }

    fn give_up(&mut self, reason: Failure, step: &mut Step<'_>) -> Progress {
        self.cancel_round(step);
        step.effects.push(InitiatorEffect::Failed {
            request: self.request,
            rounds: self.round.count,
            reason,
        });
        Progress::Over
    }

    /// How long to wait before the next round: not at all if there were bids, which may be better
    /// next time; or else as long as the members asked for, or until the silent may be back.
    fn pause(&self, step: &Step<'_>) -> Span {
        if self.bids.is_empty() {
            self.round.retry_after.unwrap_or(step.config.pause_without_members())
        } else {
            Span::ZERO
        }
    }

    /// Grants windows, and by that cancels all other bids of the round.
    fn accept(&mut self, grants: Grants, step: &mut Step<'_>) {
        let end = grants.iter().map(|grant| grant.window.end).max();
        let end = end.expect("an acceptance grants a window");
        self.await_acks(grants.members(), end, step);
        self.end_round(grants, step);
    }

    /// A transfer to `members` will be over at `end`.
    fn await_acks(&mut self, members: Members, end: Time, step: &Step<'_>) {
        self.pending = self.pending.union(members);
        let due = end + step.config.ack_timeout;
        self.acks_due = if self.acks_due == Time::NEVER { due } else { self.acks_due.max(due) };
    }

    /// Cancels whatever is still reserved in this round.
    fn cancel_round(&mut self, step: &mut Step<'_>) {
        if !self.round.asked.is_empty() {
            self.end_round(Grants::NONE, step);
        }
    }

    fn end_round(&mut self, grants: Grants, step: &mut Step<'_>) {
        let message = Message::PutAccept(PutAccept {
            request: self.request,
            round: self.round.number(),
            delivery: step.config.put.window_rule.delivery,
            grants,
        });
        let to = self.round.end();
        step.effects.push(InitiatorEffect::Multicast { group: self.group, to, message });
    }
}
