//! The calendar of Replicast-H, and of a proxy: the first hole that is wide enough.

use slotcast_units::{Span, Time};

use super::{Ask, Calendar, Reservation};
use crate::window::Window;

impl Calendar {
    /// Before which slot the window of `ask` can be, and from when on.
    pub(super) fn first_hole_for(&self, now: Time, ask: &Ask) -> (usize, Time) {
        let start = ask.not_before.max(now + self.timing.lead()).max(now + ask.disk_delay);
        self.first_hole(start, ask.size.bid)
    }

    /// Reserves a window before slot `at`, stretched if there is nothing else.
    pub(super) fn reserve(&mut self, at: usize, start: Time, now: Time, ask: &Ask) -> Window {
        let idle = self.slots.is_empty();
        let mut window = Window::new(start, ask.size.bid);
        if idle && ask.disk_delay < ask.size.transfer {
            window.end += ask.idle_extension;
        }
        self.slots.insert(at, Reservation::tentative(now, ask, window));
        window
    }

    /// Where a window of `width` fits first, from `start` on: before which slot, and when.
    #[inline]
    pub(super) fn first_hole(&self, mut start: Time, width: Span) -> (usize, Time) {
        for (i, slot) in self.slots.iter().enumerate() {
            if slot.window.start.saturating_since(start) >= width {
                return (i, start);
            }
            start = start.max(slot.window.end + self.rules.gap + self.timing.trip);
        }
        (self.slots.len(), start)
    }
}
