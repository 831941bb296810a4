//! What becomes of the windows that targets reserve.
//!
//! The calendars of ring 1 are read after each step of a target and compared with what was seen
//! before: what they hold is what was decided. They forget windows that have passed when they next
//! look for one, so that is when an onlooker hears of it.

use slotcast_protocol::{Calendar, Message, RequestId, Reservation, State, Window};
use slotcast_scenario::watch::Watch;
use slotcast_scenario::{ClosedWindow, Fate, Observation, Way};
use slotcast_units::Time;

use super::ReplicastModel;

/// Why a target was called: what may have happened to its windows.
#[derive(Debug, Clone, Copy)]
pub(super) enum Cause {
    /// This request asks for a window; meanwhile the calendar forgets what has passed.
    Asked(RequestId),
    /// A round of asking ends, for instance by an acceptance.
    Decided,
    /// Payload of this request came, or went; when it left its sender.
    Payload { request: RequestId, begin: Time, end: Time },
    /// The target went down.
    Restart,
    /// Anything else.
    Other,
}

impl Cause {
    pub(super) fn of(message: &Message) -> Cause {
        match message {
            Message::PutRequest(_) | Message::GetRequest(_) => Cause::Asked(message.request()),
            _ => Cause::Decided,
        }
    }
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
            Cause::Asked(request) if request == self.request => Fate::Cancelled,
            // By its own initiator, or by another one that was bid the same window.
            Cause::Decided => Fate::Cancelled,
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
            let all = calendar.reservations().iter().chain(calendar.second_bookings());
            let live = all.filter(|r| r.state != State::Cancelled).copied().collect::<Vec<_>>();
            compare(now, (target, way), &live, held, cause, watch);
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

/// Brings `held` up to what is `live`. Both are nearly in the same order, so looking for one after the
/// place of the one before finds most at once.
fn compare(
    now: Time,
    (target, way): (u32, Way),
    live: &[Reservation],
    held: &mut Vec<Held>,
    cause: Cause,
    watch: &mut Watch,
) {
    let mut place = 0;
    held.retain(|held| match find(live, place, |live| held.is(live)) {
        Some(found) => {
            place = found + 1;
            true
        }
        None => {
            watch.tell(held.closed(now, target, way, held.fate(cause)));
            false
        }
    });
    let mut place = 0;
    for reservation in live {
        let Reservation { request, round, window, bid_at, .. } = *reservation;
        let found = find(held, place, |held| held.is(reservation)).unwrap_or_else(|| {
            held.push(Held { request, round, bid_at, bid: window, accepted: None });
            watch.tell(Observation::WindowBid { at: now, target, way, request, window });
            held.len() - 1
        });
        place = found + 1;
        let held = &mut held[found];
        if reservation.state == State::Accepted && held.accepted.is_none() {
            held.accepted = Some((now, window));
            watch.tell(Observation::WindowAccepted { at: now, target, way, request, window });
        }
    }
}

/// The index of the first of `items` that `is` it, looked for from `place` on and then from the start.
fn find<T>(items: &[T], place: usize, is: impl Fn(&T) -> bool) -> Option<usize> {
    let place = place.min(items.len());
    let later = items[place..].iter().position(&is).map(|found| place + found);
    later.or_else(|| items[..place].iter().position(is))
}
