//! How the weights of a network follow the gradient.
//!
//! The rules are those of the original, which has the three optimisers of its networks at the weights of the
//! output only. Those of the other layers go down the gradient, with a momentum of the gradient before.

use super::dense::Network;

const ALPHA: f64 = 0.01;
const MOMENTUM: f64 = 0.6;
const EPSILON: f64 = 1e-5;

/// RMSprop: how much of the mean square stays.
const GAMMA: f64 = 0.9;

/// Rprop: the factors of a step whose gradient keeps its sign, and of one whose does not.
const FASTER: f64 = 1.2;
const SLOWER: f64 = 0.5;

const ADAM_ALPHA: f64 = 0.001;
const ADAM_BETA: [f64; 2] = [0.9, 0.999];
const ADAM_EPSILON: f64 = 1e-8;

/// Samples after which weights change.
const BATCH: usize = 10;

/// The optimiser of the weights of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    RmsProp,
    Rprop,
    Adam,
}

impl Rule {
    /// Of the network with this number, from 1 on.
    pub(super) fn of(number: usize) -> Rule {
        match number % 3 {
            1 => Rule::RmsProp,
            2 => Rule::Rprop,
            _ => Rule::Adam,
        }
    }
}

/// What training keeps of the past.
#[derive(Debug, Clone)]
pub(super) struct Training {
    rule: Rule,
    /// The gradients before, layer by layer.
    before: Vec<Vec<f64>>,
    /// Of the output's weights: mean squares of gradients (RMSprop, Adam), or the size of steps (Rprop).
    second: Vec<f64>,
    /// Of the output's weights: mean gradients (Adam).
    first: Vec<f64>,
    /// Powers of the two betas (Adam).
    powers: [f64; 2],
}

impl Training {
    pub(super) fn new(rule: Rule, network: &Network) -> Training {
        let before: Vec<Vec<f64>> = network.sizes().map(|size| vec![0.0; size]).collect();
        let none = before.last().cloned().unwrap_or_default();
        Training { rule, before, second: none.clone(), first: none, powers: [1.0; 2] }
    }

    /// Trains `network` on each of `samples` once, in their order.
    pub(super) fn pass<'a>(
        &mut self,
        network: &mut Network,
        samples: impl Iterator<Item = (&'a [f64], f64)>,
    ) {
        let mut count = 0;
        for (x, y) in samples {
            network.learn(x, y);
            count += 1;
            if count == BATCH {
                self.step(network, count);
                count = 0;
            }
        }
        if count > 0 {
            self.step(network, count);
        }
    }

    /// Changes the weights by the mean gradient of `count` samples, and clears it.
    fn step(&mut self, network: &mut Network, count: usize) {
        for (power, beta) in self.powers.iter_mut().zip(ADAM_BETA) {
            *power *= beta;
        }
        let layers = network.layers_mut();
        let output = layers.len() - 1;
        for (at, layer) in layers.iter_mut().enumerate() {
            let before = &mut self.before[at];
            layer.gradient.iter_mut().for_each(|gradient| *gradient /= count as f64);
            for (index, weight) in layer.values.iter_mut().enumerate() {
                let (gradient, previous) = (layer.gradient[index], before[index]);
                *weight -= if at < output {
                    ALPHA * gradient + MOMENTUM * previous
                } else {
                    let (second, first) = (&mut self.second[index], &mut self.first[index]);
                    match self.rule {
                        Rule::RmsProp => rms_prop(gradient, previous, second),
                        Rule::Rprop => rprop(gradient, previous, second),
                        Rule::Adam => adam(gradient, second, first, self.powers),
                    }
                };
            }
            before.copy_from_slice(&layer.gradient);
            layer.gradient.fill(0.0);
        }
    }
}

/// How far a weight goes down by RMSprop; with momentum, as the original has it.
fn rms_prop(gradient: f64, previous: f64, square: &mut f64) -> f64 {
    let mut alpha = ALPHA;
    if *square == 0.0 {
        *square = gradient * gradient;
    } else {
        *square = GAMMA * *square + (1.0 - GAMMA) * gradient * gradient;
        alpha /= f64::sqrt(*square + EPSILON);
    }
    alpha * gradient + MOMENTUM * previous
}

/// How far a weight goes down by Rprop.
fn rprop(gradient: f64, previous: f64, size: &mut f64) -> f64 {
    if *size == 0.0 {
        *size = (ALPHA * gradient).abs();
        return ALPHA * gradient;
    }
    let is_same = (gradient > 0.0 && previous > 0.0) || (gradient < 0.0 && previous < 0.0);
    *size *= if is_same { FASTER } else { SLOWER };
    if gradient > 0.0 { *size } else { -*size }
}

/// How far a weight goes down by Adam, whose first step only begins the means.
fn adam(gradient: f64, square: &mut f64, mean: &mut f64, powers: [f64; 2]) -> f64 {
    if *square == 0.0 {
        (*square, *mean) = (gradient * gradient, gradient);
        return 0.0;
    }
    let [first, second] = ADAM_BETA;
    *mean = first * *mean + (1.0 - first) * gradient;
    *square = second * *square + (1.0 - second) * gradient * gradient;
    let alpha = ADAM_ALPHA * f64::sqrt(1.0 - powers[1]) / (1.0 - powers[0]);
    alpha * *mean / (f64::sqrt(*square) + ADAM_EPSILON)
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotcast_random::Streams;

    #[test]
    fn the_three_take_turns() {
        let rules = (1..=6).map(Rule::of).collect::<Vec<_>>();
        assert_eq!(rules[..3], [Rule::RmsProp, Rule::Rprop, Rule::Adam]);
        assert_eq!(rules[..3], rules[3..]);
    }

    /// A rule that went up instead of down would not learn.
    #[test]
    fn every_rule_learns() {
        for rule in [Rule::RmsProp, Rule::Rprop, Rule::Adam] {
            let mut stream = Streams::new(1).stream("test", 0);
            let mut network = Network::new(2, 10, &mut stream);
            let mut training = Training::new(rule, &network);
            let samples: Vec<([f64; 2], f64)> = (0..100)
                .map(|_| [stream.unit(), stream.unit()])
                .map(|x| (x, 0.3 + 0.5 * x[0] - 0.4 * x[1]))
                .collect();
            let error = |network: &mut Network| {
                let square =
                    |(x, y): &([f64; 2], f64)| (network.value(x) - y) * (network.value(x) - y);
                samples.iter().map(square).sum::<f64>() / 100.0
            };
            let before = error(&mut network);
            for _ in 0..300 {
                training.pass(&mut network, samples.iter().map(|(x, y)| (&x[..], *y)));
            }
            let after = error(&mut network);
            assert!(after < before / 20.0, "{rule:?}: {before} to {after}");
        }
    }

    #[test]
    fn steps_are_those_of_the_rules() {
        let mut size = 0.0;
        assert_eq!(rprop(-2.0, 0.0, &mut size), -0.02);
        assert!((rprop(-1.0, -2.0, &mut size) - -0.024).abs() < 1e-15, "the same sign: faster");
        assert!((rprop(1.0, -1.0, &mut size) - 0.012).abs() < 1e-15, "another sign: slower");
        let mut square = 0.0;
        assert_eq!(rms_prop(2.0, 0.0, &mut square), 0.02);
        let found = rms_prop(1.0, 2.0, &mut square);
        assert!((square - 3.7).abs() < 1e-12);
        assert!((found - (0.01 / f64::sqrt(3.7 + 1e-5) + 1.2)).abs() < 1e-12);
        let (mut square, mut mean) = (0.0, 0.0);
        assert_eq!(adam(2.0, &mut square, &mut mean, [0.9, 0.999]), 0.0);
        let found = adam(1.0, &mut square, &mut mean, [0.81, 0.998_001]);
        assert!((mean - 1.9).abs() < 1e-12 && (square - 3.997).abs() < 1e-12);
        let alpha = 0.001 * f64::sqrt(0.001_999) / 0.19;
        assert!((found - alpha * 1.9 / f64::sqrt(3.997)).abs() < 1e-9);
    }
}
