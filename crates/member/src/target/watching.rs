//! Notices what becomes of the windows of a target, while somebody watches.
//!
//! It compares the reservation of a request before and after each input; the negotiator knows nothing of it, and nothing
//! depends on it. Who does not watch pays for one comparison with none.

use alloc::collections::VecDeque;

use slotcast_protocol::{
    RequestId, Reservation, State, TargetId, TargetInput as NegotiatorInput, Window,
};
use slotcast_units::{Size, Time};

use super::StorageTarget;

/// What has become of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindowState {
    /// It was bid, or offered: nobody else can have it until that is decided.
    Tentative,
    /// It was accepted: the chunk is to come, or to leave.
    Accepted,
    /// The chunk has come, or has left.
    Used,
    /// It was cancelled, or nothing came of it.
    GivenUp,
}

/// Something has become of a window. What expires is not told: the window and the state say when that is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowEvent {
    /// When.
    pub at: Time,
    /// Of which target.
    pub target: TargetId,
    /// Whether the chunk leaves, for a get; it comes, for a put, otherwise.
    pub is_outgoing: bool,
    /// For which request.
    pub request: RequestId,
    /// Its round of asking.
    pub round: u8,
    /// The promised time.
    pub window: Window,
    /// What is to come or to leave in it.
    pub payload: Size,
    /// What has become of it.
    pub state: WindowState,
}

/// The latest events of a target.
#[derive(Debug)]
pub(super) struct WindowLog {
    events: VecDeque<WindowEvent>,
    capacity: usize,
    left_out: u64,
}

impl WindowLog {
    fn note(&mut self, event: WindowEvent) {
        if self.events.len() >= self.capacity {
            self.events.pop_front();
            self.left_out += 1;
        }
        self.events.push_back(event);
    }
}

/// What a request has here: a window for its chunk to come in, and one for it to leave in.
type Promised = [Option<Reservation>; 2];

/// The request that an input is about, if it is about one, and whether by it a chunk has come or left.
fn request_of(input: &NegotiatorInput<'_>) -> Option<(RequestId, bool)> {
    match *input {
        NegotiatorInput::Message(message) => Some((message.request(), false)),
        NegotiatorInput::Received { request, intact, .. } => Some((request, intact)),
        NegotiatorInput::Read { request, .. } => Some((request, false)),
        NegotiatorInput::Sent { request } => Some((request, true)),
        NegotiatorInput::Written { .. }
        | NegotiatorInput::DiskRate { .. }
        | NegotiatorInput::ReadRate(_)
        | NegotiatorInput::LinkRate(_) => None,
    }
}

/// What has become of a window by an input that `uses` it or not: at most its end, and a new one.
fn changes(
    before: Option<Reservation>,
    after: Option<Reservation>,
    uses: bool,
) -> impl Iterator<Item = (Reservation, WindowState)> {
    let is_same = |a: &Reservation, b: &Reservation| {
        (a.round, a.state, a.window) == (b.round, b.state, b.window)
    };
    // An accepted window may be a part of the one that was bid.
    let is_accepted = |before: &Reservation, after: &Reservation| {
        before.state == State::Tentative
            && after.state == State::Accepted
            && before.round == after.round
    };
    let ended = before.filter(|before| {
        after.is_none_or(|after| !is_same(before, &after) && !is_accepted(before, &after))
    });
    let begun = after.filter(|after| before.is_none_or(|before| !is_same(&before, after)));
    let ended = ended.map(|of| {
        let is_used = uses && of.state == State::Accepted;
        (of, if is_used { WindowState::Used } else { WindowState::GivenUp })
    });
    let begun = begun.map(|of| match of.state {
        State::Accepted => (of, WindowState::Accepted),
        State::Tentative | State::Cancelled => (of, WindowState::Tentative),
    });
    ended.into_iter().chain(begun)
}

impl StorageTarget {
    /// Keeps the latest `capacity` events of its windows from now on; with 0 none.
    pub(crate) fn watch_windows(&mut self, capacity: usize) {
        self.windows = (capacity > 0).then(|| {
            let mut log = self.windows.take().unwrap_or(WindowLog {
                events: VecDeque::new(),
                capacity,
                left_out: 0,
            });
            log.capacity = capacity;
            log
        });
    }

    /// Gives what has become of its windows since this was last asked; counts what is left out because it was too much.
    pub(crate) fn take_windows(&mut self, events: &mut alloc::vec::Vec<WindowEvent>) -> u64 {
        let Some(log) = &mut self.windows else { return 0 };
        events.extend(log.events.drain(..));
        core::mem::take(&mut log.left_out)
    }

    fn promised(&self, request: RequestId) -> Promised {
        [self.negotiator.incoming(), self.negotiator.outgoing()].map(|calendar| {
            let of_request =
                |slot: &&Reservation| slot.request == request && slot.state != State::Cancelled;
            calendar.reservations().iter().find(of_request).copied()
        })
    }

    /// What an input is about has this before; none if nobody watches.
    pub(super) fn before_windows(
        &self,
        input: &NegotiatorInput<'_>,
    ) -> Option<(RequestId, bool, Promised)> {
        self.windows.as_ref()?;
        let (request, uses) = request_of(input)?;
        Some((request, uses, self.promised(request)))
    }

    /// Notes what has changed since.
    pub(super) fn after_windows(
        &mut self,
        now: Time,
        (request, uses, before): (RequestId, bool, Promised),
    ) {
        let (target, after) = (self.id, self.promised(request));
        let Some(log) = &mut self.windows else { return };
        for (is_outgoing, (before, after)) in
            [false, true].into_iter().zip(before.into_iter().zip(after))
        {
            for (of, state) in changes(before, after, uses) {
                log.note(WindowEvent {
                    at: now,
                    target,
                    is_outgoing,
                    request,
                    round: of.round,
                    window: of.window,
                    payload: of.payload,
                    state,
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use slotcast_protocol::InitiatorId;
    use slotcast_units::Span;

    use super::*;

    fn reservation(state: State, start: u64, round: u8) -> Reservation {
        Reservation {
            request: RequestId { initiator: InitiatorId(1), serial: 7 },
            round,
            state,
            window: Window::new(Time::from_ns(start), Span::from_us(100)),
            payload: Size::from_kib(64),
            wanted: None,
            bid_at: Time::ZERO,
        }
    }

    fn states(
        before: Option<Reservation>,
        after: Option<Reservation>,
        uses: bool,
    ) -> Vec<WindowState> {
        changes(before, after, uses).map(|(_, state)| state).collect()
    }

    #[test]
    fn a_window_is_bid_accepted_and_used() {
        let (bid, accepted) =
            (reservation(State::Tentative, 10, 0), reservation(State::Accepted, 10, 0));
        assert_eq!(states(None, Some(bid), false), [WindowState::Tentative]);
        assert_eq!(states(Some(bid), Some(bid), false), []);
        // The accepted part may begin later than what was bid.
        let part = reservation(State::Accepted, 20, 0);
        assert_eq!(states(Some(bid), Some(part), false), [WindowState::Accepted]);
        assert_eq!(states(Some(accepted), None, true), [WindowState::Used]);
        assert_eq!(states(None, None, true), []);
    }

    #[test]
    fn what_is_cancelled_or_asked_for_anew_is_given_up() {
        let (bid, accepted) =
            (reservation(State::Tentative, 10, 0), reservation(State::Accepted, 10, 0));
        assert_eq!(states(Some(bid), None, false), [WindowState::GivenUp]);
        // A chunk that came damaged, or a read that failed.
        assert_eq!(states(Some(accepted), None, false), [WindowState::GivenUp]);
        let again = reservation(State::Tentative, 500, 1);
        let both = [WindowState::GivenUp, WindowState::Tentative];
        assert_eq!(states(Some(bid), Some(again), false), both);
        let later = reservation(State::Accepted, 900, 0);
        let moved = [WindowState::GivenUp, WindowState::Accepted];
        assert_eq!(states(Some(accepted), Some(later), false), moved);
    }

    #[test]
    fn a_log_keeps_the_latest_and_counts_the_others() {
        let mut log = WindowLog { events: VecDeque::new(), capacity: 2, left_out: 0 };
        let of = reservation(State::Tentative, 10, 0);
        for at in 1..=5 {
            log.note(WindowEvent {
                at: Time::from_ns(at),
                target: TargetId(0),
                is_outgoing: false,
                request: of.request,
                round: 0,
                window: of.window,
                payload: of.payload,
                state: WindowState::Tentative,
            });
        }
        let kept: Vec<u64> = log.events.iter().map(|event| event.at.as_ns()).collect();
        assert_eq!((kept, log.left_out), (alloc::vec![4, 5], 3));
    }
}
