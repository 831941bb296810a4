//! Lost, repeated, late and damaged messages, and targets that go away.

use slotcast_engine::{Stream, Streams};
use slotcast_units::{Rate, Share, Size, Span};

use crate::scenario::{Faults as Spec, Scenario};

/// Draws faults. Draws nothing, and costs nothing, for a kind that the scenario does not have.
#[derive(Debug)]
pub struct Faults {
    spec: Spec,
    random: Stream,
    any_message_fault: bool,
}

/// When copies of a message arrive, as delays beyond the usual one.
#[derive(Debug, Clone, Copy)]
pub struct Copies([Option<Span>; 2]);

impl Copies {
    /// Whether the message is lost.
    pub fn is_empty(self) -> bool {
        self.0 == [None, None]
    }

    /// The delay of each copy.
    pub fn delays(self) -> impl Iterator<Item = Span> {
        self.0.into_iter().flatten()
    }
}

impl Faults {
    /// The faults of `scenario`.
    pub fn new(scenario: &Scenario, streams: &Streams) -> Faults {
        let spec = scenario.faults.clone();
        let any_message_fault = spec.message_loss.as_ppm() > 0
            || spec.message_duplication.as_ppm() > 0
            || spec.message_delay > Span::ZERO;
        Faults { spec, random: streams.stream("faults", 0), any_message_fault }
    }

    /// The copies of one message that arrive: usually one, without delay.
    #[inline]
    pub fn copies(&mut self) -> Copies {
        if self.any_message_fault { self.draw_copies() } else { Copies([Some(Span::ZERO), None]) }
    }

    fn draw_copies(&mut self) -> Copies {
        let lost = self.random.chance(self.spec.message_loss.as_f64());
        let twice = self.random.chance(self.spec.message_duplication.as_f64());
        let first = (!lost).then(|| self.delay());
        let second = twice.then(|| self.delay());
        Copies([first, second])
    }

    fn delay(&mut self) -> Span {
        match self.spec.message_delay.as_ns() {
            0 => Span::ZERO,
            longest => Span::from_ns(self.random.below(longest + 1)),
        }
    }

    /// Whether a transfer arrives damaged.
    pub fn damages_transfer(&mut self) -> bool {
        let share = self.spec.transfer_corruption;
        share.as_ppm() > 0 && self.random.chance(share.as_f64())
    }

    /// Where in a transfer of `size` the damage is.
    pub fn damaged_byte(&mut self, size: Size) -> u64 {
        self.random.below(size.as_bytes())
    }

    /// Targets that go down: neighbours, or spread over the cluster so that they do not share a group.
    pub fn goes_down(&self, target: u32, targets: u32) -> bool {
        match self.spec.neighbours_down {
            true => target < self.spec.targets_down,
            false => spread(target, self.spec.targets_down, targets),
        }
    }

    /// Part of a disk's time that goes into bringing back what targets that are down have held.
    pub fn rebuild_share(&self) -> Share {
        self.spec.rebuild_share
    }

    /// The rate of the slowest disk.
    pub fn slowest_disk(&self, rate: Rate) -> Rate {
        if self.spec.slow_disks > 0 { rate.share(self.spec.slow_factor) } else { rate }
    }

    /// The rate of the disk of `target`.
    pub fn disk_rate(&self, target: u32, targets: u32, rate: Rate) -> Rate {
        if spread(target, self.spec.slow_disks, targets) {
            rate.share(self.spec.slow_factor)
        } else {
            rate
        }
    }
}

/// Picks `n` of `targets`, evenly spaced.
fn spread(target: u32, n: u32, targets: u32) -> bool {
    let bucket = |t: u32| u64::from(t) * u64::from(n) / u64::from(targets);
    n > 0 && (target == 0 || bucket(target) != bucket(target - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_those_of_one_failure_domain() {
        let mut scenario = Scenario::default();
        scenario.faults.targets_down = 3;
        scenario.faults.neighbours_down = true;
        let faults = Faults::new(&scenario, &Streams::new(1));
        let down: Vec<u32> = (0..90).filter(|&target| faults.goes_down(target, 90)).collect();
        assert_eq!(down, [0, 1, 2]);
    }

    #[test]
    fn as_many_targets_as_asked_for_are_picked_evenly() {
        for (n, targets) in [(0, 90), (1, 90), (9, 90), (7, 90), (90, 90)] {
            let picked: Vec<u32> = (0..targets).filter(|&t| spread(t, n, targets)).collect();
            assert_eq!(picked.len(), n as usize, "{n} of {targets}: {picked:?}");
        }
    }
}
