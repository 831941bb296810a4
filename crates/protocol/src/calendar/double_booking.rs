//! Double booking: the window of a bid that is still open, offered to a second initiator.
//!
//! Most bids are cancelled: of nine, an initiator takes three. Until it has decided, its bids stand
//! in the way of all others, who get a later window than they need. A calendar that books twice
//! offers them the same window, and takes back what it cannot keep: who accepts first has it, the
//! other is told by a late rejection.
//!
//! Source: SURGE, model "Replicast-H with double booking and late rejection" (m9).

use slotcast_units::{Span, Time};

use super::{Ask, Calendar, NoReservation, Reservation, State};
use crate::ids::RequestId;
use crate::window::Window;

impl Calendar {
    /// Offers a tentative window for the second time, if that is earlier than `hole`.
    #[inline(never)]
    pub(super) fn book_twice(&mut self, now: Time, ask: &Ask, hole: Time) -> Option<Window> {
        let window = self.window_to_share(now, ask).filter(|window| window.start < hole)?;
        self.seconds.push(Reservation::tentative(now, ask, window));
        self.double_bookings += 1;
        Some(window)
    }

    /// The earliest window that can be offered twice: tentative, somebody else's, not booked twice
    /// yet, and far enough ahead for its loser to be told in time. A bid younger than a control
    /// message cannot have been decided on anyhow.
    fn window_to_share(&self, now: Time, ask: &Ask) -> Option<Window> {
        if ask.disk_delay > Span::ZERO {
            return None;
        }
        // The first bid travels, its acceptance does, and the rejection of the second.
        let time_to_reject = self.timing.one_way() * 3 + self.timing.trip * 2;
        let earliest = ask.not_before.max(now + self.timing.lead());
        self.slots.iter().find_map(|first| {
            let start = first.window.start.max(earliest).max(first.bid_at + time_to_reject);
            let can_be_shared = first.state == State::Tentative
                && first.request.initiator != ask.request.initiator
                && now.saturating_since(first.bid_at) >= self.timing.control
                && first.window.end.saturating_since(start) >= ask.size.bid
                && self.second_inside(first.window).is_none();
            can_be_shared.then(|| Window::new(start, ask.size.bid))
        })
    }

    /// Where the second booking of `request` is.
    pub(super) fn second_of(&self, request: RequestId) -> Option<usize> {
        self.seconds.iter().position(|second| second.request == request)
    }

    /// Where the second booking of a first one's `window` is.
    fn second_inside(&self, window: Window) -> Option<usize> {
        self.seconds.iter().position(|second| window.contains(&second.window))
    }

    /// A first booking with `window` is accepted: its second one is void.
    pub(super) fn drop_second(&mut self, window: Window) -> Option<Reservation> {
        self.second_inside(window).map(|j| self.seconds.swap_remove(j))
    }

    /// The second booking of `request` is accepted before the first: it takes the place of the first,
    /// which is given back.
    #[inline(never)]
    pub(super) fn accept_second(
        &mut self,
        request: RequestId,
        round: u8,
        window: Window,
    ) -> Result<Option<Reservation>, NoReservation> {
        let j = self.second_of(request).ok_or(NoReservation)?;
        let second = self.seconds[j];
        if second.round != round || !second.window.contains(&window) || window.width() == Span::ZERO
        {
            return Err(NoReservation);
        }
        self.seconds.swap_remove(j);
        let i = self.slots.iter().position(|first| first.window.contains(&second.window));
        let i = i.expect("a second booking lies inside a first");
        let accepted = Reservation { state: State::Accepted, window, ..second };
        let first = core::mem::replace(&mut self.slots[i], accepted);
        self.check();
        Ok(Some(first))
    }

    /// The second booking of `request` is cancelled, unless it is of a later round.
    #[inline(never)]
    pub(super) fn cancel_second(&mut self, request: RequestId, round: u8) {
        self.seconds.retain(|second| second.request != request || second.round > round);
    }

    /// Second bookings whose first is gone stand alone from now on.
    #[inline(never)]
    pub(super) fn promote_seconds(&mut self) {
        let mut j = 0;
        while let Some(second) = self.seconds.get(j) {
            if self.slots.iter().any(|first| first.window.contains(&second.window)) {
                j += 1;
                continue;
            }
            let second = self.seconds.swap_remove(j);
            let at = self.slots.partition_point(|slot| slot.window.start < second.window.start);
            self.slots.insert(at, second);
        }
    }

    /// What must hold: each second booking is tentative and inside a first one that is, too, and no
    /// window is booked three times.
    pub(super) fn check_seconds(&self) {
        debug_assert!(
            self.seconds.iter().all(|second| {
                second.state == State::Tentative
                    && self.slots.iter().any(|first| {
                        first.state == State::Tentative && first.window.contains(&second.window)
                    })
            }),
            "a second booking without a first: {:?} in {:?}",
            self.seconds,
            self.slots
        );
        debug_assert!(
            self.slots.iter().all(|first| {
                self.seconds.iter().filter(|s| first.window.contains(&s.window)).count() <= 1
            }),
            "a window is booked three times: {:?}",
            self.seconds
        );
    }
}

#[cfg(test)]
mod tests;
