//! A target's reservations: which windows of its link are promised to whom.
//!
//! Windows of one calendar never overlap, but for tentative ones under [`OfferRule::DoubleBooking`].
//! A window is *tentative* from the bid until the initiator accepts or cancels it, *accepted* until
//! the chunk has arrived, and, under [`OfferRule::Queue`], *cancelled* until its time has passed, so
//! that it can be offered again.
//!
//! How a new window is found is a value, [`OfferRule`]: at the end of the queue or in a cancelled
//! window (`queue.rs`), in the first hole that is wide enough (`first_fit.rs`), or there or in a
//! window that is only bid so far (`double_booking.rs`). A window that a proxy has found is entered as
//! it is (`book.rs`).

mod book;
mod double_booking;
mod first_fit;
mod queue;

use alloc::vec::Vec;
use core::cmp::Ordering;

use slotcast_units::{Size, Span, Time};

use crate::claim::Wanted;
use crate::ids::RequestId;
use crate::timing::{Timing, WindowSize};
use crate::window::Window;

pub(crate) use book::NotBooked;

/// How a calendar finds a window for a new request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfferRule {
    /// At the end of the queue, or in a window that was cancelled (the paper's Replicast-M).
    Queue,
    /// In the first hole; cancelled windows vanish (the paper's Replicast-H).
    FirstFit,
    /// As [`OfferRule::FirstFit`], or earlier, in a window that has been bid to one other initiator
    /// and is not decided: who accepts first has it (SURGE's Replicast-H with double booking).
    DoubleBooking,
}

/// What governs a calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CalendarRules {
    /// How windows are found.
    pub offer: OfferRule,
    /// Idle time between windows, beyond one trip.
    pub gap: Span,
    /// How long after its window an accepted transfer may still come.
    pub grace: Span,
    /// How long after its window a chunk is still expected: what has not come by then is no work that bids
    /// and offers wait for, though it is taken until the end of the grace.
    pub expected: Span,
    /// How long a bid is kept open; a later acceptance finds no reservation.
    pub hold: Span,
    /// How far ahead an initiator may ask for windows: one that asks for later ones gets none, and
    /// cannot fill the calendar of the years to come.
    pub horizon: Span,
    /// Most reservations at a time; a request beyond gets none.
    pub capacity: usize,
}

impl CalendarRules {
    /// Whether a promise is still good.
    #[inline]
    fn keep(&self, slot: &Reservation, now: Time) -> bool {
        match slot.state {
            State::Tentative => {
                slot.window.end > now && slot.bid_at.saturating_add(self.hold) > now
            }
            State::Accepted => slot.window.end.saturating_add(self.grace) > now,
            State::Cancelled => false,
        }
    }
}

/// The state of a reservation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Bid, and neither accepted nor cancelled.
    Tentative,
    /// Accepted; the chunk is to come.
    Accepted,
    /// Cancelled; may be offered again.
    Cancelled,
}

/// One promised window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reservation {
    /// For which request; of a cancelled reservation, the last one.
    pub request: RequestId,
    /// The request's round of asking.
    pub round: u8,
    /// Where it stands.
    pub state: State,
    /// The promised time.
    pub window: Window,
    /// What is to come in it.
    pub payload: Size,
    /// On how many targets of the group it is wanted, and by whom; none where that was not said.
    pub wanted: Option<Wanted>,
    /// When it was bid.
    pub bid_at: Time,
}

impl Reservation {
    fn tentative(now: Time, ask: &Ask, window: Window) -> Reservation {
        Reservation {
            request: ask.request,
            round: ask.round,
            state: State::Tentative,
            window,
            payload: ask.payload,
            wanted: ask.wanted,
            bid_at: now,
        }
    }
}

/// A request for a window.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ask {
    pub(crate) request: RequestId,
    pub(crate) round: u8,
    pub(crate) payload: Size,
    /// Of a put: on how many targets it is wanted, and by whom.
    pub(crate) wanted: Option<Wanted>,
    /// The initiator cannot send, or the disk cannot deliver, before this time.
    pub(crate) not_before: Time,
    pub(crate) size: WindowSize,
    /// How long the backlog of the disk defers the window.
    pub(crate) disk_delay: Span,
    /// By how much the window grows if nothing else is reserved.
    pub(crate) idle_extension: Span,
}

/// An acceptance that names no tentative reservation, or a window outside of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no tentative reservation holds the accepted window")]
pub struct NoReservation;

/// The reservations of one target, ordered in time.
#[derive(Debug, Clone)]
pub struct Calendar {
    rules: CalendarRules,
    timing: Timing,
    slots: Vec<Reservation>,
    /// Second bookings of tentative windows in `slots`, each inside of its first.
    seconds: Vec<Reservation>,
    double_bookings: u64,
}

impl Calendar {
    /// An empty calendar.
    pub fn new(rules: CalendarRules, timing: Timing) -> Calendar {
        Calendar { rules, timing, slots: Vec::new(), seconds: Vec::new(), double_bookings: 0 }
    }

    /// From now on windows leave this idle time between them, beyond one trip.
    pub(crate) fn set_gap(&mut self, gap: Span) {
        self.rules.gap = gap;
    }

    /// All reservations in order of time, cancelled ones among them, second bookings not.
    pub fn reservations(&self) -> &[Reservation] {
        &self.slots
    }

    /// Second bookings, each inside the window of a tentative reservation.
    pub fn second_bookings(&self) -> &[Reservation] {
        &self.seconds
    }

    /// How many windows have been offered a second time.
    pub fn double_bookings(&self) -> u64 {
        self.double_bookings
    }

    /// Reserves a window tentatively, or gives `None` if the calendar is full, the request asks for
    /// a time beyond the horizon, or it has been overtaken by a later round of itself.
    ///
    /// Asking again in the same round gives the same window (a repeated message); asking in a later
    /// round gives up the earlier window, even an accepted one: its initiator no longer counts on
    /// it. O(n) in the number of reservations.
    pub(crate) fn offer(&mut self, now: Time, ask: &Ask) -> Option<Window> {
        if let Some(i) = self.position(ask.request) {
            let slot = &self.slots[i];
            match ask.round.cmp(&slot.round) {
                Ordering::Equal => return Some(slot.window),
                // A message that was overtaken by its successor.
                Ordering::Less => return None,
                Ordering::Greater => self.give_up(i),
            }
        } else if let Some(j) = self.second_of(ask.request) {
            match ask.round.cmp(&self.seconds[j].round) {
                Ordering::Equal => return Some(self.seconds[j].window),
                Ordering::Less => return None,
                Ordering::Greater => self.seconds.swap_remove(j),
            };
        }
        self.expire(now, ask.size.bid);
        let too_far = ask.not_before.saturating_since(now) > self.rules.horizon;
        if too_far || self.slots.len() + self.seconds.len() >= self.rules.capacity {
            return None;
        }
        let window = match self.rules.offer {
            OfferRule::Queue => self.offer_queue(now, ask),
            OfferRule::FirstFit | OfferRule::DoubleBooking => {
                let (at, start) = self.first_hole_for(now, ask);
                let shared = match self.rules.offer {
                    OfferRule::DoubleBooking => self.book_twice(now, ask, start),
                    _ => None,
                };
                shared.unwrap_or_else(|| self.reserve(at, start, now, ask))
            }
        };
        debug_assert!(window.width() >= ask.size.transfer, "a window that holds its transfer");
        self.check();
        Some(window)
    }

    /// Turns a tentative reservation into an accepted one, trimmed to `window`. Gives the reservation
    /// that loses its window by that, if it was booked twice.
    ///
    /// # Errors
    /// If the reservation is gone, of another round, or does not contain `window`.
    pub fn accept(
        &mut self,
        request: RequestId,
        round: u8,
        window: Window,
    ) -> Result<Option<Reservation>, NoReservation> {
        let Some(i) = self.position(request) else {
            return self.accept_second(request, round, window);
        };
        let slot = &mut self.slots[i];
        let repeated = slot.state == State::Accepted && slot.window == window;
        if slot.round == round && repeated {
            return Ok(None);
        }
        let fits = slot.window.contains(&window) && window.start < window.end;
        if slot.round != round || slot.state != State::Tentative || !fits {
            return Err(NoReservation);
        }
        let bid = core::mem::replace(&mut slot.window, window);
        slot.state = State::Accepted;
        if self.rules.offer == OfferRule::Queue {
            self.give_to_neighbours(i);
        }
        let loser = self.drop_second(bid);
        self.check();
        Ok(loser)
    }

    /// Cancels the tentative reservation of `request` if its round is not later than `round`.
    /// An accepted one stays.
    pub fn cancel(&mut self, request: RequestId, round: u8) {
        let Some(i) = self.position(request) else {
            return self.cancel_second(request, round);
        };
        if self.slots[i].state != State::Tentative || self.slots[i].round > round {
            return;
        }
        self.give_up(i);
        self.check();
    }

    /// Frees slot `i`.
    fn give_up(&mut self, i: usize) {
        match self.rules.offer {
            OfferRule::Queue => self.cancel_in_queue(i),
            OfferRule::FirstFit => {
                self.slots.remove(i);
            }
            OfferRule::DoubleBooking => {
                self.slots.remove(i);
                self.promote_seconds();
            }
        }
    }

    /// Drops the accepted reservation of `request`, if there is one, and gives it: its chunk is here, or
    /// will not come.
    pub fn release(&mut self, request: RequestId) -> Option<Reservation> {
        let at = self.position(request)?;
        (self.slots[at].state == State::Accepted).then(|| self.slots.remove(at))
    }

    /// Accepted reservations whose chunk is expected, at `now`. Nothing else is needed to keep a reservation
    /// whose time is over from counting: whether it has expired does not matter here.
    pub(crate) fn expected(&self, now: Time) -> impl Iterator<Item = &Reservation> {
        let is_expected = move |slot: &&Reservation| {
            slot.state == State::Accepted
                && slot.window.end.saturating_add(self.rules.expected) >= now
        };
        self.slots.iter().filter(is_expected)
    }

    /// Payload that has been accepted and is expected at `now`.
    pub fn promised(&self, now: Time) -> Size {
        self.promised_until(now, Time::NEVER)
    }

    /// Payload that has been accepted, is expected at `now`, and will have come by `time`.
    pub fn promised_until(&self, now: Time, time: Time) -> Size {
        let by = time.saturating_add(self.timing.trip);
        let soon = self.expected(now).filter(|slot| slot.window.end <= by);
        soon.fold(Size::ZERO, |sum, slot| sum + slot.payload)
    }

    /// How long until the last reservation has passed.
    pub fn busy_for(&self, now: Time) -> Span {
        self.slots.last().map_or(Span::ZERO, |last| last.window.end.saturating_since(now))
    }

    /// Drops every reservation, as a restart does.
    pub fn clear(&mut self) {
        self.slots.clear();
        self.seconds.clear();
    }

    /// Where the reservation of `request` is, tentative or accepted.
    fn position(&self, request: RequestId) -> Option<usize> {
        self.slots.iter().position(|s| s.request == request && s.state != State::Cancelled)
    }

    /// The end of the last reservation and a pause, or the start of the clock.
    fn after_last(&self) -> Time {
        self.slots
            .last()
            .map_or(Time::ZERO, |last| last.window.end + self.rules.gap + self.timing.trip)
    }

    /// Forgets what has passed: tentative windows that nobody accepted in time, accepted ones whose
    /// transfer is overdue, and cancelled ones with less than `width` left.
    pub(crate) fn expire(&mut self, now: Time, width: Span) {
        let rules = self.rules;
        let reach = now + self.timing.one_way();
        self.slots.retain(|slot| match slot.state {
            State::Cancelled => {
                slot.window.start >= reach || slot.window.end.saturating_since(reach) >= width
            }
            State::Tentative | State::Accepted => rules.keep(slot, now),
        });
        while self.slots.last().is_some_and(|slot| slot.state == State::Cancelled) {
            self.slots.pop();
        }
        if !self.seconds.is_empty() {
            self.seconds.retain(|second| rules.keep(second, now));
            self.promote_seconds();
        }
    }

    /// What must hold after every change: order, and no two windows that overlap.
    fn check(&self) {
        debug_assert!(
            self.slots.windows(2).all(|pair| pair[0].window.end <= pair[1].window.start),
            "windows overlap: {:?}",
            self.slots
        );
        let len = self.slots.len() + self.seconds.len();
        debug_assert!(len <= self.rules.capacity, "a calendar beyond its capacity");
        self.check_seconds();
    }
}

#[cfg(test)]
mod tests;
