//! What becomes of the windows that targets reserve.
//!
//! The calendars of ring 1 are read after each step of a target and compared with what was seen
//! before: what they hold is what was decided. They forget windows that have passed when they next
//! look for one, so that is when an onlooker hears of it.

use slotcast_protocol::{Calendar, RequestId, Reservation, State, Window};
use slotcast_units::Time;

use super::ReplicastModel;
use crate::observation::{ClosedWindow, Fate, Observation, Way};
use crate::watch::Watch;

/// Why a target was called: what may have happened to its windows.
#[derive(Debug, Clone, Copy)]
pub(super) enum Cause {
    /// A message of this request came.
    Message(RequestId),
    /// Payload of this request came, or went; when it left its sender.
    Payload { request: RequestId, begin: Time, end: Time },
    /// The target went down.
    Restart,
    /// Anything else.
    Other,
}

/// The windows of all targets as last seen. Empty if nobody looks on.
#[derive(Debug, Default)]
pub(super) struct Windows(Vec<Seen>);

#[derive(Debug, Default)]
struct Seen {
    incoming: Vec<Held>,
    outgoing: Vec<Held>,
}

/// A reserved window.
#[derive(Debug, Clone, Copy)]
struct Held {
    request: RequestId,
    round: u8,
    bid_at: Time,
    bid: Window,
    accepted: Option<(Time, Window)>,
}

impl Held {
    fn is(&self, reservation: &Reservation) -> bool {
        self.request == reservation.request && self.round == reservation.round
    }

    fn fate(&self, cause: Cause) -> Fate {
        match cause {
            Cause::Restart => Fate::Forgotten,
            Cause::Payload { request, begin, end } if request == self.request => {
                Fate::Used { begin, end }
            }
            _ if self.accepted.is_some() => Fate::Idle,
            Cause::Message(request) if request == self.request => Fate::Cancelled,
            _ => Fate::Expired,
        }
    }

    fn closed(&self, at: Time, target: u32, way: Way, fate: Fate) -> Observation {
        let Held { request, bid_at, bid, accepted, .. } = *self;
        let window = ClosedWindow { at, target, way, request, bid_at, bid, accepted, fate };
        Observation::WindowClosed(window)
    }
}

impl ReplicastModel {
    /// Tells what has become of the windows of `target` since it was last looked at.
    #[cold]
    pub(super) fn watch_windows(&mut self, now: Time, target: u32, cause: Cause) {
        let Some(watch) = &mut self.watch else { return };
        let Windows(targets) = &mut self.windows;
        targets.resize_with(self.targets.len(), Seen::default);
        let seen = &mut targets[target as usize];
        let machine = &self.targets[target as usize].machine;
        let mut look = |way, calendar: &Calendar, held: &mut Vec<Held>| {
            compare(now, (target, way), calendar.reservations(), held, cause, watch);
        };
        look(Way::In, machine.incoming(), &mut seen.incoming);
        look(Way::Out, machine.outgoing(), &mut seen.outgoing);
    }

    /// The run ends, and with it all windows.
    pub(super) fn close_windows(&mut self, end: Time) {
        let Some(watch) = &mut self.watch else { return };
        let Windows(targets) = std::mem::take(&mut self.windows);
        for (target, seen) in (0..).zip(targets) {
            for (way, held) in [(Way::In, seen.incoming), (Way::Out, seen.outgoing)] {
                for window in held {
                    watch.tell(window.closed(end, target, way, Fate::Open));
                }
            }
        }
    }
}

/// Brings `held` up to `reservations`. Both are in order of time, and a reservation never moves in
/// that order, so that one pass finds what is gone and another one what is new.
fn compare(
    now: Time,
    (target, way): (u32, Way),
    reservations: &[Reservation],
    held: &mut Vec<Held>,
    cause: Cause,
    watch: &mut Watch,
) {
    let live = || reservations.iter().filter(|r| r.state != State::Cancelled);
    let mut close = |gone: Held| watch.tell(gone.closed(now, target, way, gone.fate(cause)));
    let mut kept = 0;
    for reservation in live() {
        if let Some(gone) = held[kept..].iter().position(|held| held.is(reservation)) {
            held.drain(kept..kept + gone).for_each(&mut close);
            kept += 1;
        }
    }
    held.drain(kept..).for_each(close);

    for (i, reservation) in live().enumerate() {
        let Reservation { request, round, window, bid_at, .. } = *reservation;
        if !held.get(i).is_some_and(|held| held.is(reservation)) {
            held.insert(i, Held { request, round, bid_at, bid: window, accepted: None });
            watch.tell(Observation::WindowBid { at: now, target, way, request, window });
        }
        let held = &mut held[i];
        if reservation.state == State::Accepted && held.accepted.is_none() {
            held.accepted = Some((now, window));
            watch.tell(Observation::WindowAccepted { at: now, target, way, request, window });
        }
    }
}
