//! What becomes of a datagram: it arrives, late, twice, damaged, or never.

use std::collections::BTreeSet;

use slotcast_engine::Stream;
use slotcast_protocol::GroupId;
use slotcast_units::{Span, Time};

use super::report::Injected;

/// How badly a network behaves.
#[derive(Debug, Clone, Copy)]
pub(super) struct Weather {
    /// Of what is sent, this part is lost.
    pub(super) loss: f64,
    /// This part arrives twice.
    pub(super) duplication: f64,
    /// This part arrives damaged.
    pub(super) damage: f64,
    /// What is sent takes the trip and, on average, this much more; so it is overtaken.
    pub(super) jitter: Span,
    /// This part is held up for much longer, `hold_up` on average.
    pub(super) held_up: f64,
    pub(super) hold_up: Span,
}

impl Weather {
    pub(super) const FAIR: Weather = Weather {
        loss: 0.0,
        duplication: 0.0,
        damage: 0.0,
        jitter: Span::from_ns(200),
        held_up: 0.0,
        hold_up: Span::ZERO,
    };
}

/// The network between nodes.
#[derive(Debug)]
pub(super) struct Network {
    pub(super) weather: Weather,
    trip: Span,
    /// The first of two does not reach the second.
    cut: BTreeSet<(u32, u32)>,
    /// Nodes that do not hear the multicast of a group.
    deaf: BTreeSet<(u32, GroupId)>,
    chance: Stream,
}

impl Network {
    pub(super) fn new(trip: Span, chance: Stream) -> Network {
        let (cut, deaf) = (BTreeSet::new(), BTreeSet::new());
        Network { weather: Weather::FAIR, trip, cut, deaf, chance }
    }

    /// Some of `nodes` do not reach the others any more, and perhaps are not reached by them.
    pub(super) fn part(&mut self, nodes: u32) {
        self.cut.clear();
        let side: Vec<bool> = (0..nodes).map(|_| self.chance.chance(0.3)).collect();
        let both_ways = self.chance.chance(0.6);
        for (from, from_side) in (0..).zip(&side) {
            for (to, to_side) in (0..).zip(&side) {
                if from_side != to_side && (both_ways || *from_side) {
                    self.cut.insert((from, to));
                }
            }
        }
    }

    /// All reach each other again.
    pub(super) fn join(&mut self) {
        self.cut.clear();
    }

    /// A node does not hear the multicast of a group any more, or does again.
    pub(super) fn set_deaf(&mut self, node: u32, group: GroupId, is_deaf: bool) {
        match is_deaf {
            true => self.deaf.insert((node, group)),
            false => self.deaf.remove(&(node, group)),
        };
    }

    /// Everybody hears every multicast.
    pub(super) fn hear(&mut self) {
        self.deaf.clear();
    }

    /// How long what `from` sends to `to` is on its way, for each time that it arrives; `via` is the group of a
    /// multicast.
    pub(super) fn send(
        &mut self,
        from: u32,
        to: u32,
        via: Option<GroupId>,
        injected: &mut Injected,
    ) -> [Option<Span>; 2] {
        if via.is_some_and(|group| self.deaf.contains(&(to, group))) {
            injected.unheard += 1;
            return [None, None];
        }
        if self.cut.contains(&(from, to)) {
            injected.partitioned += 1;
            return [None, None];
        }
        if self.chance.chance(self.weather.loss) {
            injected.lost += 1;
            return [None, None];
        }
        let first = self.delay(injected);
        let again = self.chance.chance(self.weather.duplication);
        injected.duplicated += u64::from(again);
        [Some(first), again.then(|| self.delay(injected))]
    }

    fn delay(&mut self, injected: &mut Injected) -> Span {
        let mut delay = self.trip + self.chance.exponential(self.weather.jitter);
        if self.chance.chance(self.weather.held_up) {
            injected.held_up += 1;
            delay += self.chance.exponential(self.weather.hold_up);
        }
        delay
    }

    /// The bit that changes in a datagram of so many bytes, if one does.
    pub(super) fn damages(&mut self, bytes: usize, injected: &mut Injected) -> Option<usize> {
        if !self.chance.chance(self.weather.damage) {
            return None;
        }
        injected.damaged += 1;
        usize::try_from(self.chance.below(bytes as u64 * 8)).ok()
    }

    /// Whether a datagram that arrives may be damaged at all: else its bytes need not be made.
    pub(super) fn is_fair(&self) -> bool {
        self.weather.damage == 0.0
    }
}

/// When things leave that leave one after another.
pub(super) fn departures(start: Time, apart: Span) -> impl Iterator<Item = Time> {
    (0u64..).map(move |n| start + apart * n)
}
