//! "Parallel optimization via multiple neural networks" (storagetarget.com, 2017): networks that differ are
//! trained on one pool of samples, and each climbs from the best points of all.
//!
//! Constants and order are those of the original program. Each network has a window of the latest samples
//! that it added. Windows rotate, so that each network is trained on those of the others. A point leaves the
//! unit cube nowhere: what a normal draw puts outside is put on the border.

mod dense;
mod training;

use std::collections::VecDeque;

use slotcast_random::{Stream, Streams};

use crate::method::{Optimiser, ordered};
use crate::normal::{normal, uniform};
use dense::Network;
use training::{Rule, Training};

/// Nodes of each hidden layer for one of the input.
const HIDDEN: usize = 5;

/// Steps that a network climbs from a point, at most, and after how many it may give up.
const STEPS: usize = 10;
const MIN_STEPS: usize = 3;

/// How far a step goes in each dimension.
const STEP: f64 = 0.001;

/// How far apart the points are between which a network's slope is taken, to each side; and how steep it must
/// be.
const REACH: f64 = 1e-4;
const STEEP: f64 = 2e-4;

/// Normal draws around a best point, and their deviation.
const DRAWS: usize = 10;
const SIGMA: f64 = 0.01;

/// Windows are as long as a number of whole batches.
const BATCH: usize = 10;

/// The sizes that the original can be given.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Setup {
    /// Number of networks.
    pub networks: usize,
    /// Evaluations at random before the first step; then, after as many again, each network is trained on every
    /// window once more.
    pub pretraining: usize,
    /// Part of the weights that begin as zero.
    pub sparsity: f64,
}

impl Setup {
    /// What was published, with `networks` networks.
    pub fn published(networks: usize) -> Setup {
        Setup { networks, pretraining: 300, sparsity: 0.1 }
    }

    /// For a budget: the published 300 evaluations at random or a quarter of the budget, and ten networks or as
    /// many as have windows of ten samples.
    pub fn of_budget(budget: usize) -> Setup {
        let pretraining = (budget / 4).clamp(BATCH, 300);
        let networks = (pretraining / BATCH).clamp(1, 10);
        Setup { networks, pretraining, sparsity: 0.1 }
    }

    /// Samples in each window.
    pub fn window(&self) -> usize {
        (self.pretraining / self.networks / BATCH * BATCH).max(BATCH)
    }
}

/// A network with the best point of its own.
struct Runner {
    network: Network,
    training: Training,
    stream: Stream,
    best: Vec<f64>,
    value: f64,
}

/// A point with its value.
type Sample = (Vec<f64>, f64);

/// What the next point is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The points at random, of which so many have been told.
    Pretraining(usize),
    /// The step with this number from the best point of `other`.
    Climb { runner: usize, other: usize, step: usize },
    /// The draw with this number around the best point of `other`.
    Draw { runner: usize, other: usize, draw: usize },
}

/// The method of the seed.
pub struct Networks {
    setup: Setup,
    dimensions: usize,
    runners: Vec<Runner>,
    windows: Vec<VecDeque<Sample>>,
    /// The network with number i has the window with number i and this.
    rotation: usize,
    phase: Phase,
    /// Where the climb is.
    at: Vec<f64>,
    told: usize,
    /// How often each network has been trained on every window.
    rounds: usize,
    pool: Stream,
}

impl Networks {
    /// In `dimensions` dimensions.
    ///
    /// # Panics
    /// If there are no networks or no dimensions.
    pub fn new(setup: &Setup, dimensions: usize, seed: u64) -> Networks {
        assert!(setup.networks > 0 && dimensions > 0, "nothing to begin with");
        let streams = Streams::new(seed);
        let runner = |number: usize| {
            let mut stream = streams.stream("network", number as u64);
            let mut network = Network::new(dimensions, HIDDEN * dimensions, &mut stream);
            network.sparsify(setup.sparsity, &mut stream);
            let training = Training::new(Rule::of(number), &network);
            let best = vec![0.5; dimensions];
            Runner { network, training, stream, best, value: f64::NEG_INFINITY }
        };
        Networks {
            setup: *setup,
            dimensions,
            runners: (1..=setup.networks).map(runner).collect(),
            windows: vec![VecDeque::new(); setup.networks],
            rotation: 0,
            phase: Phase::Pretraining(0),
            at: Vec::new(),
            told: 0,
            rounds: 0,
            pool: streams.stream("pretraining", 0),
        }
    }

    fn window_of(&self, runner: usize) -> usize {
        (runner + self.rotation) % self.windows.len()
    }

    fn add(&mut self, runner: usize, point: &[f64], value: f64) {
        let (size, window) = (self.setup.window(), self.window_of(runner));
        let window = &mut self.windows[window];
        if window.len() == size {
            window.pop_front();
        }
        // A network cannot learn what is not finite.
        window.push_back((point.to_vec(), value.max(f64::MIN)));
    }

    /// Trains each network on its window.
    fn train(&mut self) {
        for index in 0..self.runners.len() {
            let window = &self.windows[(index + self.rotation) % self.windows.len()];
            let Runner { network, training, .. } = &mut self.runners[index];
            training.pass(network, window.iter().map(|(x, y)| (&x[..], *y)));
        }
    }

    /// Trains each network on every other window, one after another.
    fn train_all(&mut self) {
        for _ in 1..self.runners.len() {
            self.rotation = (self.rotation + 1) % self.windows.len();
            self.train();
        }
    }

    /// Begins with the best point of `other`, for the network `runner`.
    fn climb(&mut self, runner: usize, other: usize) {
        self.at.clone_from(&self.runners[other].best);
        self.phase = Phase::Climb { runner, other, step: 0 };
    }

    /// What comes after all draws of `runner` around the best point of `other`.
    fn next(&mut self, runner: usize, other: usize) {
        let count = self.runners.len();
        if other + 1 < count {
            return self.climb(runner, other + 1);
        }
        let rounds = self.told / self.setup.pretraining;
        if rounds != self.rounds {
            self.rounds = rounds;
            self.train_all();
        }
        if runner + 1 < count {
            return self.climb(runner + 1, 0);
        }
        self.train();
        self.climb(0, 0);
    }

    /// The next point of a climb, by the signs of the slopes that the network `runner` sees; none if it sees none,
    /// or if they lead out of the cube.
    fn uphill(&mut self, runner: usize) -> Option<Vec<f64>> {
        let network = &mut self.runners[runner].network;
        let mut next = self.at.clone();
        let mut is_flat = true;
        for (dimension, next) in next.iter_mut().enumerate() {
            let here = self.at[dimension];
            let mut value = |x: f64| {
                self.at[dimension] = x;
                network.value(&self.at)
            };
            let slope = (value(here + REACH) - value(here - REACH)) / (2.0 * REACH);
            self.at[dimension] = here;
            if slope.abs() > STEEP {
                *next += if slope > 0.0 { STEP } else { -STEP };
                is_flat = false;
            }
        }
        let is_inside = next.iter().all(|x| (0.0..=1.0).contains(x));
        (!is_flat && is_inside).then_some(next)
    }

    /// A normal draw around the best point of `other`, nearer where the border is near.
    fn draw(&mut self, runner: usize, other: usize) -> Vec<f64> {
        let best = self.runners[other].best.clone();
        let stream = &mut self.runners[runner].stream;
        let near = |x: &f64| SIGMA.min(x.min(1.0 - x) / 2.0);
        best.iter().map(|x| (x + near(x) * normal(stream)).clamp(0.0, 1.0)).collect()
    }

    /// Takes in a value of pretraining; points are in the order of the networks.
    fn tell_pretraining(&mut self, index: usize, point: &[f64], value: f64) {
        let runner = index / self.setup.window();
        self.add(runner, point, value);
        self.improve(runner, point, value);
        self.phase = Phase::Pretraining(index + 1);
        if index + 1 == self.setup.window() * self.runners.len() {
            self.train();
            self.train_all();
            self.rounds = self.told / self.setup.pretraining;
            self.climb(0, 0);
        }
    }

    /// Keeps the best point of a network; whether it is a new one.
    fn improve(&mut self, runner: usize, point: &[f64], value: f64) -> bool {
        let runner = &mut self.runners[runner];
        let is_better = value > runner.value;
        if is_better {
            runner.best.copy_from_slice(point);
            runner.value = value;
        }
        is_better
    }
}

impl Optimiser for Networks {
    fn ask(&mut self) -> Vec<Vec<f64>> {
        loop {
            match self.phase {
                Phase::Pretraining(_) => {
                    let count = self.setup.window() * self.runners.len();
                    return (0..count).map(|_| uniform(&mut self.pool, self.dimensions)).collect();
                }
                Phase::Climb { runner, other, step } => match self.uphill(runner) {
                    Some(next) if step < STEPS => {
                        self.at.clone_from(&next);
                        return vec![next];
                    }
                    _ => self.phase = Phase::Draw { runner, other, draw: 0 },
                },
                Phase::Draw { runner, other, draw } if draw < DRAWS => {
                    return vec![self.draw(runner, other)];
                }
                Phase::Draw { runner, other, .. } => self.next(runner, other),
            }
        }
    }

    fn tell(&mut self, point: &[f64], value: f64) {
        let value = ordered(value);
        self.told += 1;
        match self.phase {
            Phase::Pretraining(index) => self.tell_pretraining(index, point, value),
            Phase::Climb { runner, other, step } => {
                self.add(runner, point, value);
                let goes_on = self.improve(other, point, value) || step < MIN_STEPS;
                self.phase = match goes_on {
                    true => Phase::Climb { runner, other, step: step + 1 },
                    false => Phase::Draw { runner, other, draw: 0 },
                };
            }
            Phase::Draw { runner, other, draw } => {
                self.add(runner, point, value);
                self.improve(other, point, value);
                self.phase = Phase::Draw { runner, other, draw: draw + 1 };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Networks that were pretrained on a plane see which way is up. With a wrong sign anywhere between the
    /// samples and the step they would not.
    #[test]
    fn networks_climb_where_the_function_rises() {
        let setup = Setup { networks: 6, pretraining: 6000, sparsity: 0.1 };
        let mut networks = Networks::new(&setup, 2, 1);
        for point in networks.ask() {
            networks.tell(&point, 0.5 + 0.3 * point[0] - 0.3 * point[1]);
        }
        for runner in 0..setup.networks {
            networks.at = vec![0.5, 0.5];
            let next = networks.uphill(runner).expect("a slope");
            assert_eq!(next, [0.5 + STEP, 0.5 - STEP], "network {runner}");
        }
    }

    #[test]
    fn a_step_out_of_the_cube_ends_the_climb() {
        let setup = Setup { networks: 1, pretraining: 300, sparsity: 0.0 };
        let mut networks = Networks::new(&setup, 1, 1);
        for point in networks.ask() {
            networks.tell(&point, point[0]);
        }
        networks.at = vec![1.0 - STEP / 2.0];
        assert_eq!(networks.uphill(0), None);
        networks.phase = Phase::Climb { runner: 0, other: 0, step: 0 };
        assert!(networks.ask()[0][0] <= 1.0);
        assert_eq!(networks.phase, Phase::Draw { runner: 0, other: 0, draw: 0 });
    }

    /// A climb of ten steps that are all better, then ten draws; of four that are not, then ten draws.
    #[test]
    fn a_climb_ends_after_ten_steps_or_the_fourth_that_is_not_better() {
        for (is_better, steps) in [(true, STEPS), (false, MIN_STEPS + 1)] {
            let setup = Setup { networks: 1, pretraining: 300, sparsity: 0.0 };
            let mut networks = Networks::new(&setup, 1, 1);
            for point in networks.ask() {
                networks.tell(&point, point[0]);
            }
            (networks.runners[0].best, networks.runners[0].value) = (vec![0.5], 0.0);
            networks.climb(0, 0);
            let (mut climbed, mut drawn) = (0, 0);
            for told in 0..steps + DRAWS {
                let point = networks.ask().remove(0);
                match networks.phase {
                    Phase::Climb { .. } => climbed += 1,
                    _ => drawn += 1,
                }
                networks.tell(&point, if is_better { 1.0 + told as f64 } else { -1.0 });
            }
            assert_eq!((climbed, drawn), (steps, DRAWS));
        }
    }

    #[test]
    fn a_window_has_the_latest_samples_and_every_network_sees_every_window() {
        let setup = Setup { networks: 3, pretraining: 30, sparsity: 0.0 };
        let mut networks = Networks::new(&setup, 1, 1);
        for index in 0..15 {
            networks.add(1, &[0.0], f64::from(index));
        }
        let values = |window: &VecDeque<Sample>| window.iter().map(|(_, y)| *y).collect::<Vec<_>>();
        assert_eq!(values(&networks.windows[1]), (5..15).map(f64::from).collect::<Vec<_>>());
        let mut seen = Vec::new();
        for _ in 0..3 {
            seen.push(networks.window_of(0));
            networks.rotation += 1;
        }
        seen.sort_unstable();
        assert_eq!(seen, [0, 1, 2]);
    }
}
