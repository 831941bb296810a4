//! What a proxy knows of one member: when its link is taken, and when its disk will be done.

use slotcast_units::{Rate, Size, Span, Time};

use super::ProxyConfig;
use crate::calendar::{Calendar, CalendarRules, OfferRule};
use crate::ids::{RequestId, Term};
use crate::message::{Occasion, ProxyReport};
use crate::target::DiskForecast;
use crate::timing::Timing;
use crate::window::Window;

/// A member's disk is believed to be at most so many times faster or slower than expected: further
/// off is nonsense, and would lead to times beyond the clock.
const BELIEVED_FACTOR: u64 = 1000;

/// One member, as its proxy sees it.
#[derive(Debug, Clone)]
pub(super) struct Member {
    pub(super) domain: u32,
    /// Whether it has said what it has promised. Until then nothing is granted in its name.
    pub(super) heard: bool,
    /// What has been granted in its name, and has not come.
    calendar: Calendar,
    /// Before this time it may have promises that this proxy does not know of.
    free_from: Time,
    /// When its disks are done with what has come.
    disk: DiskForecast,
    expected_rate: Rate,
}

impl Member {
    /// A member that has said nothing so far.
    pub(super) fn new(domain: u32, config: &ProxyConfig) -> Member {
        let rules = CalendarRules {
            offer: OfferRule::FirstFit,
            grace: config.answer_timeout,
            ..config.calendar
        };
        Member {
            domain,
            heard: false,
            calendar: Calendar::new(rules, config.timing),
            free_from: Time::ZERO,
            disk: config.disk.clone(),
            expected_rate: config.disk.rate(),
        }
    }

    /// Whether more can be granted in its name.
    pub(super) fn has_room(&self) -> bool {
        self.heard && !self.calendar.is_full()
    }

    /// The first time from `start` on at which a window of `width` fits.
    pub(super) fn hole(&self, start: Time, width: Span) -> Time {
        self.calendar.hole(start.max(self.free_from), width)
    }

    /// When its disks can take a chunk more than all that has come and all that has been granted, but at
    /// most `horizon` from now. O(n) in the number of grants.
    pub(super) fn disk_free(&self, now: Time, timing: &Timing, horizon: Span) -> Time {
        let grants = self.calendar.reservations().iter();
        let done = grants.fold(self.disk.done_at(), |done, grant| {
            let here = grant.window.start + timing.transfer(grant.payload) + timing.trip;
            done.max(here).saturating_add(self.disk.turnover(grant.payload))
        });
        done.min(now.saturating_add(horizon))
    }

    /// By how much a chunk must be deferred so that the disk keeps up, if it is done at `free`.
    pub(super) fn disk_delay(&self, now: Time, free: Time, size: Size, transfer: Span) -> Span {
        self.disk.delay_behind(free.saturating_since(now), size, transfer)
    }

    /// The round in which `request` has a window here, and the window.
    pub(super) fn window_of(&self, request: RequestId) -> Option<(u8, Window)> {
        self.calendar.window_of(request)
    }

    /// `window` is granted in its name. It must be free.
    pub(super) fn grant(
        &mut self,
        now: Time,
        request: (RequestId, u8),
        window: Window,
        payload: Size,
    ) {
        let booked = self.calendar.book(now, request, window, payload);
        debug_assert_eq!(booked, Ok(()), "{window} was free");
    }

    /// Gives up what has been granted to `request`; says whether there was something.
    pub(super) fn release(&mut self, request: RequestId) -> bool {
        self.calendar.release(request).is_some()
    }

    /// Takes back what should have been reported long ago. The report may be lost, or the chunk, or
    /// the member: until it says which, nothing more is granted in its name.
    pub(super) fn miss(&mut self, now: Time, timing: &Timing, grace: Span) {
        let overdue = |window: Window| window.end.saturating_add(grace) <= now;
        while let Some(first) = self.calendar.reservations().first().copied()
            && overdue(first.window)
        {
            let here = first.window.start + timing.transfer(first.payload) + timing.trip;
            let done = self.disk.done_at().max(here) + self.disk.turnover(first.payload);
            self.disk.correct(self.disk.rate(), done);
            self.calendar.release(first.request);
            self.heard = false;
        }
    }

    /// It reports to the proxy of `term`. What it says is believed within bounds.
    pub(super) fn reported(&mut self, now: Time, m: &ProxyReport, term: Term, horizon: Span) {
        let (slowest, fastest) = (
            self.expected_rate.as_bps() / BELIEVED_FACTOR,
            self.expected_rate.as_bps().saturating_mul(BELIEVED_FACTOR),
        );
        let rate = Rate::from_bps(m.disk_rate.as_bps().clamp(slowest.max(1), fastest));
        let latest = now.saturating_add(horizon);
        self.disk.correct(rate, m.disk_done.min(latest));
        match m.occasion {
            Occasion::Received => {
                self.calendar.release(m.request);
            }
            // What an earlier proxy may still accept for it, nobody knows.
            Occasion::Asked if m.term < term => {}
            Occasion::Asked => {
                self.heard = true;
                self.free_from = m.free_from.min(latest);
            }
        }
    }
}
