//! Whether accepted windows overlap: kept apart from the calendars, so that a calendar that forgets
//! what it promised is found out.

use slotcast_protocol::{Message, RequestId, Reservation, State, Target, Window};
use slotcast_units::{Span, Time};

/// The windows for incoming chunks that one target has accepted and is still bound to.
#[derive(Debug, Default)]
pub(super) struct Accepted {
    windows: Vec<(RequestId, u8, Window)>,
}

impl Accepted {
    /// All promises are off: the target has restarted.
    pub(super) fn clear(&mut self) {
        self.windows.clear();
    }

    /// Its chunk is here: the rest of the window is free.
    pub(super) fn received(&mut self, request: RequestId) {
        self.windows.retain(|(of, ..)| *of != request);
    }

    /// The target has handled `message`. Says what overlaps, if anything does.
    pub(super) fn handled(
        &mut self,
        now: Time,
        message: &Message,
        target: &Target,
        grace: Span,
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
                let new = accepted(target.incoming().reservations())
                    .find(|reservation| reservation.request == accept.request)?;
                self.received(new.request);
                let overlap = self.windows.iter().find(|(_, _, old)| old.overlaps(&new.window));
                let found = overlap.map(|(request, _, old)| {
                    let (new, window) = (new.request, new.window);
                    format!("{new} was promised {window}, but {request} has {old}")
                });
                self.windows.push((new.request, new.round, new.window));
                found.or_else(|| overlap_in(target.incoming().reservations()))
            }
            Message::GetAccept(_) => overlap_in(target.outgoing().reservations()),
            _ => None,
        }
    }
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
