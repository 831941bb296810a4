//! What is known of one peer: which incarnation of it is believed, and whether it is there.
//!
//! ```text
//!            heard                      not heard for `unresponsive`
//!  (down) ------------> up, responds ---------------------------------> up, does not respond
//!     ^                      ^                                               |         |
//!     |                      +--------------------- heard ------------------+         |
//!     +------------------------------- not heard for `silence` -----------------------+
//! ```
//!
//! Nodes send something to each of their peers in every *beat*, so silence means that the peer, or the way
//! from it, is not there. Requests soon stop to wait for a peer that does not respond. That a peer is down is
//! concluded later, since more follows from it: its replicas may have to be made anew.

use alloc::vec::Vec;

use slotcast_units::{Span, Time};

use crate::datagram::Header;
use crate::offset::{ClockOffset, Stamps};
use crate::replay::Replay;

/// When silence means something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SilenceRules {
    /// A peer that was not heard for so long does not respond: some beats.
    pub unresponsive: Span,
    /// A peer that was not heard for so long is down.
    pub silence: Span,
}

/// What to make of a datagram of a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is new, and of the incarnation that is believed.
    Believed,
    /// The same, and the first one of the first incarnation that is believed.
    First,
    /// The same, and the first one of another incarnation than before: the peer has forgotten its promises, and
    /// may have lost what it held.
    Restarted,
    /// It was heard before.
    Replayed,
    /// It is of an incarnation that has not yet shown that it hears this node now.
    Unproven,
}

/// What has changed for a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeerChange {
    /// It is heard again.
    Up,
    /// It is not there.
    Down,
    /// It responds again.
    Responds,
    /// It has not been heard for a moment.
    Unresponsive,
}

/// What was heard of one peer.
#[derive(Debug, Clone)]
pub struct PeerState {
    /// Its present incarnation; none before it was heard.
    incarnation: Option<u64>,
    /// Since when that is believed.
    adopted: Time,
    replay: Replay,
    offset: ClockOffset,
    /// The last stamp that came, and when.
    last: Option<(Time, Time)>,
    looked: Time,
    is_up: bool,
    responds: bool,
}

impl Default for PeerState {
    fn default() -> PeerState {
        PeerState::new()
    }
}

impl PeerState {
    /// Of a peer that was never heard.
    pub fn new() -> PeerState {
        PeerState {
            incarnation: None,
            adopted: Time::ZERO,
            replay: Replay::new(),
            offset: ClockOffset::new(),
            last: None,
            looked: Time::ZERO,
            is_up: false,
            responds: false,
        }
    }

    /// Judges a sealed datagram that came from the peer's address at `now` to a node that began at `began`.
    ///
    /// An incarnation of the peer is believed once it echoes a stamp of this node's own incarnation: whoever can
    /// do that is there now, and what an earlier incarnation has said, recorded by somebody, cannot. An
    /// incarnation that is believed gives way only to one that echoes a stamp of after that.
    pub fn judge(&mut self, now: Time, began: Time, header: &Header) -> Verdict {
        let mut verdict = Verdict::Believed;
        if self.incarnation != Some(header.incarnation) {
            let echoed = header.echo.map(|(stamp, _)| stamp);
            if !echoed.is_some_and(|echo| echo >= began && echo > self.adopted && echo <= now) {
                return Verdict::Unproven;
            }
            verdict = match self.incarnation.replace(header.incarnation) {
                Some(_) => Verdict::Restarted,
                None => Verdict::First,
            };
            self.adopted = now;
            self.replay = Replay::new();
            self.offset = ClockOffset::new();
            self.last = None;
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

    /// Appends what has changed since this was last asked; to be asked in every beat. A node that has not asked
    /// for long stood still itself: it has heard nobody meanwhile, and judges nobody before it has listened for a
    /// beat. A peer that is heard and not believed is as one that is silent.
    pub fn look(
        &mut self,
        (now, is_believed): (Time, bool),
        rules: &SilenceRules,
        changes: &mut Vec<PeerChange>,
    ) {
        let stood_still = now.saturating_since(self.looked) > rules.unresponsive;
        self.looked = now;
        if stood_still {
            return;
        }
        let last = self.last.filter(|_| is_believed);
        let heard_within =
            |span| last.is_some_and(|(_, received)| now.saturating_since(received) < span);
        let (is_up, responds) = (heard_within(rules.silence), heard_within(rules.unresponsive));
        if is_up != self.is_up {
            changes.push(if is_up { PeerChange::Up } else { PeerChange::Down });
        }
        if responds != self.responds {
            changes.push(if responds { PeerChange::Responds } else { PeerChange::Unresponsive });
        }
        (self.is_up, self.responds) = (is_up, responds);
    }

    /// Whether it is there, as [`PeerState::look`] has found last.
    pub fn is_up(&self) -> bool {
        self.is_up
    }

    /// The incarnation of it that is believed; none before it was heard.
    pub fn incarnation(&self) -> Option<u64> {
        self.incarnation
    }

    /// The last stamp that came from it, and when.
    pub fn last_heard(&self) -> Option<(Time, Time)> {
        self.last
    }

    /// What to echo to it at `now`.
    pub fn echo(&self, now: Time) -> Option<(Time, Span)> {
        self.last.map(|(stamp, received)| (stamp, now.saturating_since(received)))
    }

    /// How far its clock is from that of this node.
    pub fn offset(&self) -> &ClockOffset {
        &self.offset
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RULES: SilenceRules =
        SilenceRules { unresponsive: Span::from_ms(450), silence: Span::from_ms(2500) };

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    fn header(incarnation: u64, sequence: u64, echo: Option<u64>) -> Header {
        let echo = echo.map(|ms| (at(ms), Span::ZERO));
        Header {
            version: 2,
            epoch: 1,
            sender: 2,
            incarnation,
            sequence,
            sent_at: at(5 + sequence),
            echo,
        }
    }

    #[test]
    fn an_incarnation_is_believed_when_it_echoes_this_one_and_until_a_later_one_does() {
        let mut state = PeerState::new();
        let mut judge = |now, header| state.judge(at(now), at(1000), &header);
        assert_eq!(judge(1100, header(7, 1, None)), Verdict::Unproven);
        let earlier = header(7, 2, Some(900));
        assert_eq!(
            judge(1100, earlier),
            Verdict::Unproven,
            "of an earlier incarnation of this node"
        );
        assert_eq!(judge(1100, header(7, 3, Some(1101))), Verdict::Unproven, "of the future");
        assert_eq!(judge(1100, header(7, 4, Some(1050))), Verdict::First);
        assert_eq!(judge(1110, header(7, 4, Some(1050))), Verdict::Replayed);
        assert_eq!(judge(1110, header(7, 5, None)), Verdict::Believed);
        let as_old = header(8, 1, Some(1090));
        assert_eq!(judge(1200, as_old), Verdict::Unproven, "as old as what is believed");
        assert_eq!(judge(1200, header(8, 2, Some(1150))), Verdict::Restarted);
        let late = header(7, 6, Some(1150));
        assert_eq!(judge(1300, late), Verdict::Unproven, "the incarnation before, late");
    }

    /// What changes while somebody looks every 100 ms, from `from` on until `to`.
    fn changes(state: &mut PeerState, from: u64, to: u64) -> Vec<(u64, PeerChange)> {
        let mut all = Vec::new();
        for ms in (from..to).step_by(100) {
            let mut changes = Vec::new();
            state.look((at(ms), true), &RULES, &mut changes);
            all.extend(changes.into_iter().map(|change| (ms, change)));
        }
        all
    }

    #[test]
    fn a_peer_that_falls_silent_does_not_respond_and_then_is_down() {
        let mut state = PeerState::new();
        assert_eq!(changes(&mut state, 100, 1000), []);
        assert_eq!(state.judge(at(1000), at(1), &header(7, 1, Some(500))), Verdict::First);
        assert_eq!(
            changes(&mut state, 1000, 5000),
            [
                (1000, PeerChange::Up),
                (1000, PeerChange::Responds),
                (1500, PeerChange::Unresponsive),
                (3500, PeerChange::Down),
            ]
        );
        state.judge(at(5000), at(1), &header(7, 2, None));
        let again = [(5000, PeerChange::Up), (5000, PeerChange::Responds)];
        assert_eq!(changes(&mut state, 5000, 5400), again);
    }

    #[test]
    fn who_stood_still_listens_before_it_judges() {
        let mut state = PeerState::new();
        changes(&mut state, 100, 1000);
        state.judge(at(1000), at(1), &header(7, 1, Some(500)));
        changes(&mut state, 1000, 1300);
        // For ten seconds nothing runs here; then what came meanwhile is heard.
        let mut found = Vec::new();
        state.look((at(11_000), true), &RULES, &mut found);
        assert_eq!(found, []);
        state.judge(at(11_050), at(1), &header(7, 2, None));
        assert_eq!(changes(&mut state, 11_100, 11_500), []);
    }

    proptest! {
        /// Whatever comes and whenever: changes alternate, who responds is up, and who is heard in every beat of
        /// a node that does not stand still is never missed.
        #[test]
        fn changes_alternate(heard in proptest::collection::vec(any::<bool>(), 1..200)) {
            let mut state = PeerState::new();
            let (mut is_up, mut responds, mut silent_beats) = (false, false, 0);
            for (n, heard) in (1..).zip(heard) {
                let now = n * 100;
                if heard {
                    state.judge(at(now), at(1), &header(7, n, Some(now.min(50))));
                }
                silent_beats = if heard { 0 } else { silent_beats + 1 };
                for (_, change) in changes(&mut state, now, now + 100) {
                    let (flag, to) = match change {
                        PeerChange::Up => (&mut is_up, true),
                        PeerChange::Down => (&mut is_up, false),
                        PeerChange::Responds => (&mut responds, true),
                        PeerChange::Unresponsive => (&mut responds, false),
                    };
                    prop_assert_ne!(*flag, to);
                    *flag = to;
                }
                prop_assert!(is_up || !responds);
                prop_assert_eq!(responds, responds && silent_beats < 5);
                prop_assert_eq!(is_up, state.is_up());
            }
        }
    }
}
