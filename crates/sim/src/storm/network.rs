//! What becomes of what is sent: it arrives, late, twice, damaged, or never.

use slotcast_engine::Stream;
use slotcast_units::Span;

use super::report::Injected;

/// How badly a network behaves.
#[derive(Debug, Clone, Copy)]
pub(super) struct Weather {
    /// Of what is sent, this part is lost.
    pub(super) loss: f64,
    /// This part arrives twice.
    pub(super) duplication: f64,
    /// This part of the chunks arrives damaged.
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

/// The network between hosts: every target is a host, with the initiator of its repair, and every
/// initiator of users is one.
#[derive(Debug)]
pub(super) struct Network {
    pub(super) weather: Weather,
    trip: Span,
    /// Which hosts are on the other side of a partition; all on the same if there is none.
    pub(super) cut_off: Vec<bool>,
    chance: Stream,
}

impl Network {
    pub(super) fn new(hosts: usize, trip: Span, chance: Stream) -> Network {
        Network { weather: Weather::FAIR, trip, cut_off: vec![false; hosts], chance }
    }

    /// How long what `from` sends to `to` is on its way, for each time that it arrives.
    pub(super) fn send(
        &mut self,
        from: usize,
        to: usize,
        injected: &mut Injected,
    ) -> [Option<Span>; 2] {
        if from == to {
            return [Some(self.trip), None];
        }
        if self.cut_off[from] != self.cut_off[to] {
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

    /// Whether a chunk is damaged on its way.
    pub(super) fn damages(&mut self, from: usize, to: usize, injected: &mut Injected) -> bool {
        let damages = from != to && self.chance.chance(self.weather.damage);
        injected.damaged += u64::from(damages);
        damages
    }
}
