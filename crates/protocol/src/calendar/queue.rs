//! The calendar of Replicast-M: windows in a row, cancelled ones kept to be offered again.
//!
//! A multicast transfer needs windows of several targets that overlap. Offering a cancelled window
//! again, instead of one at the end, keeps the targets of a group close to each other in time.

use slotcast_units::{Span, Time};

use super::{Ask, Calendar, Reservation, State};
use crate::window::Window;

/// A longer queue than this has little to gain from a cancelled window.
const LONGEST_QUEUE_TO_SEARCH: usize = 3;

impl Calendar {
    pub(super) fn offer_queue(&mut self, now: Time, ask: &Ask) -> Window {
        let earliest = ask.not_before.max(now + self.timing.lead());
        if ask.disk_delay == Span::ZERO
            && self.slots.len() <= LONGEST_QUEUE_TO_SEARCH
            && let Some(window) = self.reuse_cancelled(now, earliest, ask)
        {
            return window;
        }
        let idle = self.slots.is_empty();
        let start = self.after_last().max(earliest).max(now + ask.disk_delay);
        let mut window = Window::new(start, ask.size.bid);
        if idle && ask.disk_delay < ask.size.transfer {
            window.end += ask.idle_extension;
        }
        self.slots.push(Reservation::tentative(now, ask, window));
        window
    }

    /// Gives the latest cancelled window, whole, if it is not too far gone.
    fn reuse_cancelled(&mut self, now: Time, earliest: Time, ask: &Ask) -> Option<Window> {
        let slot = self.slots.iter_mut().rev().find(|slot| slot.state == State::Cancelled)?;
        let window = slot.window;
        if window.end.saturating_since(window.start.max(earliest)) < ask.size.bid {
            return None;
        }
        *slot = Reservation::tentative(now, ask, window);
        Some(window)
    }

    /// Marks slot `i` cancelled and merges it with cancelled neighbours.
    pub(super) fn cancel_in_queue(&mut self, i: usize) {
        self.slots[i].state = State::Cancelled;
        let cancelled =
            |slot: Option<&Reservation>| slot.is_some_and(|s| s.state == State::Cancelled);
        if cancelled(self.slots.get(i + 1)) {
            self.slots[i].window.end = self.slots[i + 1].window.end;
            self.slots.remove(i + 1);
        }
        if i > 0 && cancelled(self.slots.get(i - 1)) {
            self.slots[i - 1].window.end = self.slots[i].window.end;
            self.slots.remove(i);
        }
    }

    /// Lets cancelled neighbours of slot `i` grow over the time that its trimming freed, where that
    /// is more than a control message.
    pub(super) fn give_to_neighbours(&mut self, i: usize) {
        let Window { start, end } = self.slots[i].window;
        if let Some(before) = i.checked_sub(1).map(|j| &mut self.slots[j]) {
            let freed = start.saturating_since(before.window.end);
            if before.state == State::Cancelled && freed > self.timing.control {
                before.window.end = start;
            }
        }
        if let Some(after) = self.slots.get_mut(i + 1) {
            let freed = after.window.start.saturating_since(end);
            if after.state == State::Cancelled && freed > self.timing.control {
                after.window.start = end;
            }
        }
    }
}
