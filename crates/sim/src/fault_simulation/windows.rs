//! Whether accepted windows overlap: kept apart from the calendars, so that a calendar that forgets
//! what it promised is found out.

use std::collections::BTreeMap;

use slotcast_protocol::{
    BidAnswer, Message, PutAccept, RequestId, Reservation, State, Target, TargetEffect, Window,
};
use slotcast_units::{Span, Time};

/// The windows for incoming chunks that one target has accepted and is still bound to.
#[derive(Debug, Default)]
pub(super) struct Accepted {
    windows: Vec<(RequestId, u8, Window)>,
    /// The bids of their last rounds, and when they were made.
    bids: BTreeMap<RequestId, (u8, Window, Time)>,
}

impl Accepted {
    /// All promises are off: the target has restarted.
    pub(super) fn clear(&mut self) {
        self.windows.clear();
        self.bids.clear();
    }

    /// Its chunk is here: the rest of the window is free.
    pub(super) fn received(&mut self, request: RequestId) {
        self.windows.retain(|(of, ..)| *of != request);
    }

    /// Its chunk came, accepted or not: the bid is over.
    pub(super) fn came(&mut self, request: RequestId) {
        self.bids.remove(&request);
    }

    /// The target did something.
    pub(super) fn did(&mut self, now: Time, effect: &TargetEffect) {
        let TargetEffect::Send { message: Message::Bid(bid), .. } = effect else { return };
        match bid.answer {
            BidAnswer::Window { window, .. } => {
                self.bids.insert(bid.request, (bid.round, window, now));
                self.bids.retain(|_, (_, window, _)| window.end > now);
            }
            _ => drop(self.bids.remove(&bid.request)),
        }
    }

    /// What was bid, and is accepted in time, is not there any more.
    /// Clocks may have been set between the two: what is granted then is another window, and means nothing.
    fn forgotten(
        &mut self,
        now: Time,
        (accept, position): (&PutAccept, u8),
        hold: Span,
    ) -> Option<String> {
        let (round, window, bid_at) = self.bids.remove(&accept.request)?;
        let granted = accept.grants.of(position)?.window;
        let is_inside = window.start <= granted.start && granted.end <= window.end;
        let is_in_time =
            is_inside && round == accept.round && now < bid_at + hold && now < window.end;
        is_in_time.then(|| {
            format!("{} was bid {window} at {bid_at}, and it is forgotten", accept.request)
        })
    }

    /// The target has handled `message`. Says what overlaps, if anything does.
    pub(super) fn handled(
        &mut self,
        now: Time,
        message: &Message,
        (target, position): (&Target, u8),
        (grace, trip, hold): (Span, Span, Span),
    ) -> Option<String> {
        match message {
            // A later round gives up what was accepted in an earlier one.
            Message::PutRequest(asked) => {
                self.windows.retain(|(request, round, _)| {
                    *request != asked.request || *round >= asked.round
                });
                None
            }
            Message::PutAccept(accept) => {
                self.windows.retain(|(_, _, window)| window.end.saturating_add(grace) > now);
                let all = target.incoming().reservations();
                accept.grants.of(position)?;
                let new = accepted(all).find(|reservation| reservation.request == accept.request);
                let Some(new) = new else {
                    return self.forgotten(now, (accept, position), hold);
                };
                self.received(new.request);
                self.bids.remove(&new.request);
                let overlap = self.windows.iter().find(|(_, _, old)| old.overlaps(&new.window));
                let found = overlap.map(|(request, _, old)| {
                    let (new, window) = (new.request, new.window);
                    format!("{new} was promised {window}, but {request} has {old}")
                });
                self.windows.push((new.request, new.round, new.window));
                found.or_else(|| overlap_in(all)).or_else(|| too_near(all, new, trip))
            }
            Message::GetAccept(_) => overlap_in(target.outgoing().reservations()),
            _ => None,
        }
    }
}

/// What was promised before `new` ends less than a trip before it begins: they meet at the target.
fn too_near(all: &[Reservation], new: &Reservation, trip: Span) -> Option<String> {
    let is_near = |slot: &&Reservation| {
        slot.bid_at < new.bid_at
            && slot.window.end <= new.window.start
            && slot.window.end + trip > new.window.start
    };
    let slot = accepted(all).find(is_near)?;
    Some(format!(
        "{} was promised {}, right after {} with {}",
        new.request, new.window, slot.request, slot.window
    ))
}

fn accepted(all: &[Reservation]) -> impl Iterator<Item = &Reservation> {
    all.iter().filter(|reservation| reservation.state == State::Accepted)
}

/// Two accepted windows of a calendar that overlap.
fn overlap_in(all: &[Reservation]) -> Option<String> {
    let mut windows: Vec<_> =
        accepted(all).map(|r| (r.window.start, r.window, r.request)).collect();
    windows.sort_by_key(|(start, ..)| *start);
    let overlap = windows.windows(2).find(|pair| pair[0].1.overlaps(&pair[1].1))?;
    let [(_, a, of_a), (_, b, of_b)] = overlap else { return None };
    Some(format!("{of_a} has {a} and {of_b} has {b}"))
}
