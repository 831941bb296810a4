//! One get, from the request to the chunk.

use alloc::vec::Vec;

use slotcast_units::{Size, Span, Time};

use super::round::Round;
use super::{Failure, InitiatorEffect, Lost, Progress, Shortage, Step};
use crate::group::{GroupMap, Members};
use crate::ids::{ChunkId, GroupId, RequestId};
use crate::message::{GetAccept, GetRequest, Grant, Message, Offer, OfferAnswer};
use crate::timing::WindowRule;
use crate::window::Window;

/// How an initiator gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GetRules {
    /// How wide the windows of deliveries are.
    pub window_rule: WindowRule,
}

/// A get under way.
#[derive(Debug, Clone)]
pub(super) struct Get {
    request: RequestId,
    chunk: ChunkId,
    group: GroupId,
    round: Round,
    offers: Vec<(u8, Window, Size)>,
    /// Members that said that they do not hold the chunk.
    without: Members,
    /// Members that failed to deliver.
    failed: Members,
    /// Members that said that they could not deliver, once and twice: the latter are not asked again.
    undelivered: Members,
    hopeless: Members,
    /// Some member has offered the chunk in some round.
    was_offered: bool,
    shortage: Shortage,
    sender: Option<u8>,
    /// When the window of the first sender ended.
    expected: Option<Time>,
    /// How many senders were given up.
    given_up: u8,
    ask_at: Time,
    /// The next round asks for windows after this.
    not_before: Time,
    due: Time,
}

impl Get {
    pub(super) fn new(request: RequestId, chunk: ChunkId, group: GroupId) -> Get {
        Get {
            request,
            chunk,
            group,
            round: Round::default(),
            offers: Vec::new(),
            without: Members::NONE,
            failed: Members::NONE,
            undelivered: Members::NONE,
            hopeless: Members::NONE,
            was_offered: false,
            shortage: Shortage::default(),
            sender: None,
            expected: None,
            given_up: 0,
            ask_at: Time::NEVER,
            not_before: Time::ZERO,
            due: Time::NEVER,
        }
    }

    pub(super) fn request(&self) -> RequestId {
        self.request
    }

    pub(super) fn group(&self) -> GroupId {
        self.group
    }

    /// When [`Get::wake`] has something to do.
    pub(super) fn due(&self) -> Time {
        self.ask_at.min(self.due)
    }

    /// Starts a round.
    pub(super) fn ask(&mut self, step: &mut Step<'_>) {
        let everybody = step.groups.members_for_gets(self.group).without(self.hopeless);
        if everybody.without(self.failed).is_empty() {
            self.failed = Members::NONE;
        }
        let asked = everybody.without(self.failed);
        let round = self.round.begin(asked);
        self.without = Members::NONE;
        self.offers.clear();
        self.sender = None;
        self.ask_at = Time::NEVER;
        self.due = step.now + step.config.answer_timeout;
        let message = Message::GetRequest(GetRequest {
            request: self.request,
            round,
            group: self.group,
            skip: self.failed.union(self.hopeless),
            chunk: self.chunk,
            not_before: self.not_before,
        });
        step.effects.push(InitiatorEffect::Multicast { group: self.group, to: asked, message });
    }

    pub(super) fn message(&mut self, message: &Message, step: &mut Step<'_>) -> Progress {
        match message {
            Message::Offer(offer) => {
                let is_in_time = self.round.answered(offer.round, offer.position);
                let is_there = offer.answer != OfferAnswer::Unavailable
                    && self.round.heard(offer.round, offer.position);
                if !is_in_time {
                    return if is_there { self.heard_late(offer, step) } else { Progress::Going };
                }
                match offer.answer {
                    OfferAnswer::Window { window, size }
                        if step.config.believes(step.now, window) =>
                    {
                        self.was_offered = true;
                        self.offers.push((offer.position, window, size));
                    }
                    OfferAnswer::Window { .. } => {}
                    OfferAnswer::NotHeld => self.without.insert(offer.position),
                    OfferAnswer::NotNow { retry_after } => {
                        self.round.not_now(retry_after.min(step.config.horizon));
                    }
                    OfferAnswer::Unavailable => {
                        self.round.unavailable(Members::only(offer.position));
                    }
                }
                if self.round.is_complete() { self.choose(step) } else { Progress::Going }
            }
            Message::Undelivered(told) if self.sender == Some(told.position) => {
                // Where requests may be refused nobody is asked for ever: a disk that cannot read it will not.
                if step.config.refuse_after.is_some() {
                    let is_second = self.undelivered.contains(told.position);
                    let of = if is_second { &mut self.hopeless } else { &mut self.undelivered };
                    of.insert(told.position);
                }
                self.sender_failed(step)
            }
            _ => Progress::Going,
        }
    }

    /// A member is there that was given up in this round: it was only late, and may be in time in the next. One that
    /// does not hold the chunk is none that may, though: it may be the last to say so, and whoever is silent is not
    /// waited for longer because of it.
    fn heard_late(&mut self, offer: &Offer, step: &mut Step<'_>) -> Progress {
        if offer.answer == OfferAnswer::NotHeld {
            if self.sender.is_none() {
                self.without.insert(offer.position);
                if self.nobody_holds_it(step.groups) {
                    return self.not_found(step);
                }
            }
            return Progress::Going;
        }
        if self.shortage.end() && self.ask_at != Time::NEVER {
            self.ask_at = self.ask_at.min(step.now + step.config.answer_timeout);
        }
        Progress::Going
    }

    /// Whether all members say so. Whoever has joined since the round began was not asked in it.
    fn nobody_holds_it(&self, groups: &GroupMap) -> bool {
        groups.members_for_gets(self.group).without(self.without).is_empty()
    }

    /// Nobody has reserved anything, so nothing is to be cancelled.
    fn not_found(&self, step: &mut Step<'_>) -> Progress {
        let (rounds, reason) = (self.round.count, Failure::NotFound);
        step.effects.push(InitiatorEffect::Failed { request: self.request, rounds, reason });
        Progress::Over
    }

    /// The chunk is here.
    pub(super) fn delivered(&mut self, intact: bool, step: &mut Step<'_>) -> Progress {
        if !intact {
            return self.sender_failed(step);
        }
        // Also when it comes from a sender that was given up: the content is right.
        if !self.round.asked.is_empty() {
            self.end_round(None, step);
        }
        if let Some(expected) = self.expected.filter(|_| step.config.late.is_some()) {
            step.shared.deliveries.took(step.now.saturating_since(expected));
        }
        let effect = InitiatorEffect::GetDone { request: self.request, rounds: self.round.count };
        step.effects.push(effect);
        Progress::Over
    }

    /// Members are not heard any more, or have started anew: what they were to send does not come.
    pub(super) fn lose_members(&mut self, lost: Lost, step: &mut Step<'_>) -> Progress {
        if self.sender.is_some_and(|sender| lost.members.contains(sender)) {
            return self.sender_failed(step);
        }
        if self.sender.is_some() || self.ask_at != Time::NEVER {
            return Progress::Going;
        }
        self.offers.retain(|(position, ..)| !lost.members.contains(*position));
        self.round.unavailable(lost.members);
        if self.round.is_complete() { self.choose(step) } else { Progress::Going }
    }

    pub(super) fn wake(&mut self, step: &mut Step<'_>) -> Progress {
        if self.ask_at <= step.now {
            self.ask(step);
        } else if self.due <= step.now {
            if self.sender.is_some() {
                return self.sender_failed(step);
            }
            self.round.give_up_on_silent();
            return self.choose(step);
        }
        Progress::Going
    }

    fn choose(&mut self, step: &mut Step<'_>) -> Progress {
        self.due = Time::NEVER;
        let timing = &step.config.timing;
        let rule = &step.config.get.window_rule;
        let earliest = step.now + timing.control;
        let ingress = &mut step.shared.ingress;
        ingress.forget_before(step.now);
        let tie = self.chunk.mix(u64::from(self.request.serial));
        let best = self
            .offers
            .iter()
            .filter_map(|&(position, window, size)| {
                let width = rule.size_for(timing, size).accepted;
                let start = ingress.free_from(window.start.max(earliest), width);
                let fits = window.end.saturating_since(start) >= width;
                fits.then(|| Grant { position, window: Window::new(start, width) })
            })
            .min_by_key(|g| (g.window.start, crate::ids::finish(tie ^ u64::from(g.position))));
        match best {
            Some(grant) => {
                ingress.take(grant.window);
                self.sender = Some(grant.position);
                self.expected.get_or_insert(grant.window.end);
                self.due = grant.window.end + self.patience(step);
                self.end_round(Some(grant), step);
                Progress::Going
            }
            None => {
                if self.nobody_holds_it(step.groups) {
                    return self.not_found(step);
                }
                if self.offers.is_empty() {
                    // Whoever holds it is silent, full, or failed before: all get another chance,
                    // after a while.
                    let is_short = self.failed.is_empty()
                        && self.round.available.without(self.without).is_empty();
                    if self.shortage.round_ended(step, is_short) {
                        let reason = match self.was_offered {
                            true => Failure::Undelivered,
                            false => Failure::Uncertain,
                        };
                        return self.give_up(reason, step);
                    }
                    self.failed = Members::NONE;
                    let pause = step.config.pause_without_members();
                    let wait = self.round.retry_after.unwrap_or(pause);
                    return self.ask_again(step.now + wait, step);
                }
                // Offers came, but for times at which this initiator's own link is taken.
                let free = self.offers.iter().map(|&(_, window, size)| {
                    ingress.free_from(window.start, rule.size_for(timing, size).accepted)
                });
                self.not_before = free.min().unwrap_or(self.not_before);
                self.ask_again(step.now, step)
            }
        }
    }

    /// How long after the end of its window a chunk is awaited.
    fn patience(&self, step: &Step<'_>) -> Span {
        let most = step.config.ack_timeout;
        let usual = &step.shared.deliveries;
        step.config.late.map_or(most, |rules| rules.patience(usual, self.given_up).min(most))
    }

    fn sender_failed(&mut self, step: &mut Step<'_>) -> Progress {
        if let Some(sender) = self.sender.take() {
            self.failed.insert(sender);
            self.given_up = self.given_up.saturating_add(1);
        }
        self.ask_again(step.now, step)
    }

    fn ask_again(&mut self, at: Time, step: &mut Step<'_>) -> Progress {
        if self.round.count >= step.config.max_rounds {
            return self.give_up(Failure::Undelivered, step);
        }
        if at <= step.now {
            self.ask(step);
        } else {
            self.ask_at = at;
        }
        Progress::Going
    }

    fn give_up(&mut self, reason: Failure, step: &mut Step<'_>) -> Progress {
        if !self.round.asked.is_empty() {
            self.end_round(None, step);
        }
        let rounds = self.round.count;
        step.effects.push(InitiatorEffect::Failed { request: self.request, rounds, reason });
        Progress::Over
    }

    fn end_round(&mut self, grant: Option<Grant>, step: &mut Step<'_>) {
        let message = Message::GetAccept(GetAccept {
            request: self.request,
            round: self.round.number(),
            grant,
        });
        let to = self.round.end();
        step.effects.push(InitiatorEffect::Multicast { group: self.group, to, message });
    }
}
