//! Windows that a proxy has found and accepted: entered as they are, or not at all.

use core::cmp::Ordering;

use slotcast_units::{Size, Span, Time};

use super::{Calendar, Reservation, State};
use crate::ids::RequestId;
use crate::window::Window;

/// Why a window is not entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotBooked {
    /// A later round of the request has a window already.
    Overtaken,
    /// Somebody else has some of the time, the window has passed, or the calendar is full.
    Unavailable,
}

impl Calendar {
    /// The first time from `start` on at which a window of `width` fits. O(n).
    pub(crate) fn hole(&self, start: Time, width: Span) -> Time {
        self.first_hole(start, width).1
    }

    /// Whether there is no room for another reservation.
    pub(crate) fn is_full(&self) -> bool {
        self.slots.len() + self.seconds.len() >= self.rules.capacity
    }

    /// The round in which `request` has a window, and the window.
    pub(crate) fn window_of(&self, request: RequestId) -> Option<(u8, Window)> {
        self.position(request).map(|i| (self.slots[i].round, self.slots[i].window))
    }

    /// Enters `window` as accepted, in place of what an earlier round of `request` has. To do so
    /// again changes nothing. O(n).
    ///
    /// # Errors
    /// If the window is not free, or not the latest of its request; then nothing has changed, unless
    /// an earlier round had a window: that one is gone.
    pub(crate) fn book(
        &mut self,
        now: Time,
        (request, round): (RequestId, u8),
        window: Window,
        payload: Size,
    ) -> Result<(), NotBooked> {
        if let Some(i) = self.position(request) {
            let slot = &self.slots[i];
            match round.cmp(&slot.round) {
                Ordering::Less => return Err(NotBooked::Overtaken),
                Ordering::Equal if slot.window == window && slot.state == State::Accepted => {
                    return Ok(());
                }
                _ => self.give_up(i),
            }
        } else if let Some(j) = self.second_of(request) {
            if round < self.seconds[j].round {
                return Err(NotBooked::Overtaken);
            }
            self.seconds.swap_remove(j);
        }
        let rules = self.rules;
        self.slots.retain(|slot| match slot.state {
            State::Cancelled => !slot.window.overlaps(&window),
            State::Tentative | State::Accepted => rules.keep(slot, now),
        });
        if !self.seconds.is_empty() {
            self.seconds.retain(|second| rules.keep(second, now));
            self.promote_seconds();
        }
        let too_far = window.start.saturating_since(now) > self.rules.horizon;
        let taken = self.slots.iter().any(|slot| slot.window.overlaps(&window));
        if too_far || taken || window.end <= now || self.is_full() {
            return Err(NotBooked::Unavailable);
        }
        let at = self.slots.partition_point(|slot| slot.window.start < window.start);
        let state = State::Accepted;
        let (wanted, bid_at) = (None, now);
        let new = Reservation { request, round, state, window, payload, wanted, bid_at };
        self.slots.insert(at, new);
        self.check();
        Ok(())
    }

    /// Gives up whatever `request` has from a round before `round`.
    pub(crate) fn give_up_before(&mut self, request: RequestId, round: u8) {
        if let Some(i) = self.position(request)
            && self.slots[i].round < round
        {
            self.give_up(i);
        } else if let Some(j) = self.second_of(request)
            && self.seconds[j].round < round
        {
            self.seconds.swap_remove(j);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Ask, CalendarRules, OfferRule};
    use super::*;
    use crate::ids::InitiatorId;
    use crate::timing::{Delivery, Timing, WindowRule};
    use alloc::vec::Vec;
    use proptest::prelude::*;

    const SIZE: Size = Size::from_kib(1);

    fn calendar(offer: OfferRule) -> Calendar {
        let rules = CalendarRules {
            offer,
            gap: Span::ZERO,
            grace: Span::from_ns(500),
            expected: Span::from_ns(100),
            hold: Span::from_ms(50),
            horizon: Span::from_secs(1),
            capacity: 8,
        };
        Calendar::new(rules, Timing::published())
    }

    fn of(serial: u32, round: u8) -> (RequestId, u8) {
        (RequestId { initiator: InitiatorId(1), serial }, round)
    }

    fn window(start: u64, end: u64) -> Window {
        Window { start: Time::from_ns(start), end: Time::from_ns(end) }
    }

    #[test]
    fn a_free_window_is_entered_and_a_taken_one_is_not() {
        let mut calendar = calendar(OfferRule::FirstFit);
        let now = Time::from_ns(10);
        assert_eq!(calendar.book(now, of(1, 0), window(100, 200), SIZE), Ok(()));
        assert_eq!(calendar.book(now, of(1, 0), window(100, 200), SIZE), Ok(()), "repeated");
        let taken = Err(NotBooked::Unavailable);
        assert_eq!(calendar.book(now, of(2, 0), window(199, 300), SIZE), taken);
        assert_eq!(calendar.book(now, of(2, 0), window(200, 300), SIZE), Ok(()), "edges may meet");
        assert_eq!(calendar.book(now, of(3, 0), window(1, 10), SIZE), taken, "it is over");
        let late = window(1_000_000_011, 1_000_000_012);
        assert_eq!(calendar.book(now, of(3, 0), late, SIZE), taken, "beyond the horizon");
        assert_eq!(calendar.reservations().len(), 2);
    }

    #[test]
    fn a_later_round_replaces_an_earlier_one() {
        let mut calendar = calendar(OfferRule::FirstFit);
        let now = Time::ZERO;
        calendar.book(now, of(1, 0), window(100, 200), SIZE).unwrap();
        calendar.book(now, of(1, 2), window(150, 250), SIZE).unwrap();
        let overtaken = Err(NotBooked::Overtaken);
        assert_eq!(calendar.book(now, of(1, 1), window(300, 400), SIZE), overtaken);
        assert_eq!(calendar.window_of(of(1, 0).0), Some((2, window(150, 250))));
        calendar.give_up_before(of(1, 0).0, 2);
        assert_eq!(calendar.reservations().len(), 1, "not before its own round");
        calendar.give_up_before(of(1, 0).0, 3);
        assert_eq!(calendar.reservations(), []);
    }

    proptest! {
        /// Whatever is entered, in any kind of calendar, between bids of its own: windows never overlap,
        /// and what was entered is there.
        #[test]
        fn entered_windows_never_overlap(
            offer in prop::sample::select(
                &[OfferRule::Queue, OfferRule::FirstFit, OfferRule::DoubleBooking][..],
            ),
            steps in prop::collection::vec(
                (0u64..60, 0u32..6, 0u8..3, 0u64..600, 1u64..200, 0..5),
                0..60,
            ),
        ) {
            let mut calendar = calendar(offer);
            let mut now = Time::ZERO;
            for (pause, serial, round, start, width, step) in steps {
                now += Span::from_ns(pause);
                let wanted = Window::new(now + Span::from_ns(start), Span::from_ns(width));
                let (request, _) = of(serial, 0);
                if step == 0 {
                    calendar.release(request);
                } else if step == 1 {
                    calendar.give_up_before(request, round);
                } else if step == 2 {
                    let window = WindowRule::published(Delivery::Unicast);
                    let ask = Ask {
                        // A second initiator, for the windows that are booked twice.
                        request: RequestId { initiator: InitiatorId(serial % 3), ..request },
                        round,
                        payload: SIZE,
                        wanted: None,
                        not_before: wanted.start,
                        size: window.size_for(&Timing::published(), SIZE),
                        disk_delay: Span::ZERO,
                        idle_extension: Span::ZERO,
                    };
                    calendar.offer(now, &ask);
                } else if calendar.book(now, of(serial, round), wanted, SIZE).is_ok() {
                    prop_assert_eq!(calendar.window_of(of(serial, 0).0), Some((round, wanted)));
                }
                calendar.check();
                let windows: Vec<Window> =
                    calendar.reservations().iter().map(|slot| slot.window).collect();
                prop_assert!(windows.windows(2).all(|pair| pair[0].end <= pair[1].start));
                prop_assert!(windows.len() + calendar.second_bookings().len() <= 8);
            }
        }
    }
}
