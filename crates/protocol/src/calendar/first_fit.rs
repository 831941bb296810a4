//! The calendar of Replicast-H: the first hole that is wide enough.

use slotcast_units::Time;

use super::{Ask, Calendar, Reservation};
use crate::window::Window;

impl Calendar {
    /// Before which slot a window can be, and from when on.
    pub(super) fn first_hole(&self, now: Time, ask: &Ask) -> (usize, Time) {
        let mut start = ask.not_before.max(now + self.timing.lead()).max(now + ask.disk_delay);
        let mut at = self.slots.len();
        for (i, slot) in self.slots.iter().enumerate() {
            if slot.window.start.saturating_since(start) >= ask.size.bid {
                at = i;
                break;
            }
            start = start.max(slot.window.end + self.rules.gap + self.timing.trip);
        }
        (at, start)
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
}
