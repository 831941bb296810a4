//! What a node knows of one peer.

use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use slotcast_transport::{ClockOffset, Header, Replay, Stamps};
use slotcast_units::{Span, Time};

use super::{SILENCE, UNRESPONSIVE};

/// Another node of the map.
pub(crate) struct Peer {
    pub(super) number: u32,
    pub(super) address: SocketAddr,
    state: Mutex<PeerState>,
}

/// What was heard of it.
pub(super) struct PeerState {
    /// Its present life; none before it was heard.
    incarnation: Option<u64>,
    /// Since when that is believed.
    adopted: Time,
    replay: Replay,
    offset: ClockOffset,
    /// The last stamp that came, and when.
    last: Option<(Time, Time)>,
    /// Whether the reactor believes that it is there.
    pub(super) is_up: bool,
    /// Whether the reactor believes that it responds.
    pub(super) responds: bool,
}

/// What to make of a datagram of a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is new, and of the peer's present incarnation.
    Believed,
    /// The same, and the first one of an incarnation; whether another one was believed before.
    BelievedAnew(bool),
    /// It was heard before.
    Replayed,
    /// It is of a life that has not yet shown that it hears this node now.
    Unproven,
}

/// A peer, for people.
#[derive(Debug, Clone)]
pub(crate) struct PeerStatus {
    pub(crate) node: u32,
    pub(crate) address: SocketAddr,
    pub(crate) is_up: bool,
    /// By how much its clock is ahead, and how wrong that may be.
    pub(crate) clock: Option<(i64, Span)>,
    /// Groups of it that this node reaches by multicast.
    pub(crate) multicast_groups: u32,
}

impl Peer {
    pub(super) fn new(number: u32, address: SocketAddr) -> Peer {
        let state = PeerState {
            incarnation: None,
            adopted: Time::ZERO,
            replay: Replay::new(),
            offset: ClockOffset::new(),
            last: None,
            is_up: false,
            responds: false,
        };
        Peer { number, address, state: Mutex::new(state) }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, PeerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PeerState {
    /// Judges a sealed datagram that came from the peer's address at `now` to a node that began at `began`.
    ///
    /// A life of the peer is believed once it echoes a stamp of this node's own life: whoever can do that is
    /// there now, and what an earlier life has said, recorded by somebody, cannot. A life that is believed
    /// gives way only to one that echoes a stamp of after that.
    pub(super) fn judge(&mut self, now: Time, began: Time, header: &Header) -> Verdict {
        let mut verdict = Verdict::Believed;
        if self.incarnation != Some(header.incarnation) {
            let echoed = header.echo.map(|(stamp, _)| stamp);
            if !echoed.is_some_and(|echo| echo >= began && echo > self.adopted && echo <= now) {
                return Verdict::Unproven;
            }
            let before = self.incarnation.replace(header.incarnation);
            self.adopted = now;
            self.replay = Replay::new();
            self.offset = ClockOffset::new();
            self.last = None;
            verdict = Verdict::BelievedAnew(before.is_some());
        }
        if !self.replay.is_new(header.sequence) {
            return Verdict::Replayed;
        }
        if let Some((sent, held)) = header.echo.filter(|(sent, _)| *sent >= began) {
            let answered = header.sent_at;
            self.offset.exchanged(&Stamps { sent, held, answered, received: now });
        }
        if self.last.is_none_or(|(stamp, _)| header.sent_at > stamp) {
            self.last = Some((header.sent_at, now));
        }
        verdict
    }

    /// What to echo to it at `now`.
    pub(super) fn echo(&self, now: Time) -> Option<(Time, Span)> {
        self.last.map(|(stamp, received)| (stamp, now.saturating_since(received)))
    }

    /// Whether it is there, and whether it responds: it was heard lately, and a moment ago.
    pub(super) fn is_heard(&self, now: Time) -> (bool, bool) {
        let heard_within =
            |span| self.last.is_some_and(|(_, received)| now.saturating_since(received) < span);
        (heard_within(SILENCE), heard_within(UNRESPONSIVE))
    }

    pub(super) fn offset(&self) -> &ClockOffset {
        &self.offset
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    fn header(incarnation: u64, sequence: u64, echo: Option<u64>) -> Header {
        let echo = echo.map(|ms| (at(ms), Span::ZERO));
        Header { epoch: 1, sender: 2, incarnation, sequence, sent_at: at(5), echo }
    }

    #[test]
    fn a_life_is_believed_when_it_echoes_this_one_and_until_a_later_one_does() {
        let peer = Peer::new(2, "127.0.0.1:1".parse().expect("an address"));
        let mut state = peer.state();
        let began = at(1000);
        let mut judge = |now, header| state.judge(at(now), began, &header);
        assert_eq!(judge(1100, header(7, 1, None)), Verdict::Unproven);
        assert_eq!(
            judge(1100, header(7, 2, Some(900))),
            Verdict::Unproven,
            "of an earlier life of this node"
        );
        assert_eq!(judge(1100, header(7, 3, Some(1101))), Verdict::Unproven, "of the future");
        assert_eq!(judge(1100, header(7, 4, Some(1050))), Verdict::BelievedAnew(false));
        assert_eq!(judge(1110, header(7, 4, Some(1050))), Verdict::Replayed);
        assert_eq!(judge(1110, header(7, 5, None)), Verdict::Believed);
        assert_eq!(
            judge(1200, header(8, 1, Some(1090))),
            Verdict::Unproven,
            "as old as what is believed"
        );
        assert_eq!(judge(1200, header(8, 2, Some(1150))), Verdict::BelievedAnew(true));
        assert_eq!(
            judge(1300, header(7, 6, Some(1150))),
            Verdict::Unproven,
            "the life before, late"
        );
    }
}
