//! A small dense neural network: its value, and the gradient of its error by its weights.

use slotcast_random::Stream;

/// What a layer makes of the sums that come into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Activation {
    Relu,
    Tanh,
    Identity,
}

impl Activation {
    fn of(self, sum: f64) -> f64 {
        match self {
            Activation::Relu => sum.max(0.0),
            Activation::Tanh => libm::tanh(sum),
            Activation::Identity => sum,
        }
    }

    /// The derivative, where the activation is `value`.
    fn slope(self, value: f64) -> f64 {
        match self {
            Activation::Relu if value > 0.0 => 1.0,
            Activation::Relu => 0.0,
            Activation::Tanh => 1.0 - value * value,
            Activation::Identity => 1.0,
        }
    }
}

/// The weights from one layer to the next.
#[derive(Debug, Clone)]
pub(super) struct Weights {
    /// Nodes of the layer before, with one more that is always 1.
    inputs: usize,
    outputs: usize,
    activation: Activation,
    /// From each input to all outputs, one input after another.
    pub(super) values: Vec<f64>,
    /// Sum over the samples of a batch of the derivative of half the squared error.
    pub(super) gradient: Vec<f64>,
}

/// Layers, from the input to one output.
#[derive(Debug, Clone)]
pub(super) struct Network {
    layers: Vec<Weights>,
    /// What the input and each layer put out, each but the last with a 1 at its end.
    activations: Vec<Vec<f64>>,
    /// Derivative of the error by the sums that come into each layer.
    deltas: Vec<Vec<f64>>,
}

impl Network {
    /// With three hidden layers of `hidden` nodes, the first of which is rectified. Weights are drawn as Glorot
    /// and Bengio (2010) have it, but within the square root of 6 over the *number* of nodes, as the original
    /// has it, and not over the root of that.
    pub(super) fn new(inputs: usize, hidden: usize, stream: &mut Stream) -> Network {
        let sizes = [inputs, hidden, hidden, hidden, 1];
        let kinds = [Activation::Relu, Activation::Tanh, Activation::Tanh, Activation::Identity];
        let mut layers = Vec::new();
        for (pair, activation) in sizes.windows(2).zip(kinds) {
            let (inputs, outputs) = (pair[0] + 1, pair[1]);
            // The output has no node for the 1.
            let nodes = inputs + if activation == Activation::Identity { 1 } else { outputs + 1 };
            let reach = f64::sqrt(6.0) / nodes as f64;
            let values = (0..inputs * outputs).map(|_| reach * (2.0 * stream.unit() - 1.0));
            let values: Vec<f64> = values.collect();
            let gradient = vec![0.0; values.len()];
            layers.push(Weights { inputs, outputs, activation, values, gradient });
        }
        let last = sizes.len() - 1;
        let nodes = |(at, size): (usize, &usize)| vec![1.0; size + usize::from(at < last)];
        Network {
            layers,
            activations: sizes.iter().enumerate().map(nodes).collect(),
            deltas: sizes[1..].iter().map(|size| vec![0.0; *size]).collect(),
        }
    }

    /// Sets each weight to zero with probability `share`.
    pub(super) fn sparsify(&mut self, share: f64, stream: &mut Stream) {
        for weight in self.layers.iter_mut().flat_map(|layer| &mut layer.values) {
            if stream.chance(share) {
                *weight = 0.0;
            }
        }
    }

    /// The value at `x`.
    pub(super) fn value(&mut self, x: &[f64]) -> f64 {
        self.activations[0][..x.len()].copy_from_slice(x);
        for (at, layer) in self.layers.iter().enumerate() {
            let (before, after) = self.activations.split_at_mut(at + 1);
            let (inputs, outputs) = (&before[at], &mut after[0][..layer.outputs]);
            outputs.fill(0.0);
            for (input, weights) in inputs.iter().zip(layer.values.chunks_exact(layer.outputs)) {
                for (sum, weight) in outputs.iter_mut().zip(weights) {
                    *sum += input * weight;
                }
            }
            outputs.iter_mut().for_each(|sum| *sum = layer.activation.of(*sum));
        }
        self.activations[self.layers.len()][0]
    }

    /// Adds the gradient of half the squared error at `x`, where `y` is right.
    pub(super) fn learn(&mut self, x: &[f64], y: f64) {
        let last = self.layers.len() - 1;
        self.deltas[last][0] = self.value(x) - y;
        for at in (1..=last).rev() {
            let layer = &self.layers[at];
            let (before, after) = self.deltas.split_at_mut(at);
            let (deltas, next) = (&mut before[at - 1], &after[0]);
            let slope = self.layers[at - 1].activation;
            let rows = layer.values.chunks_exact(layer.outputs);
            let nodes = deltas.iter_mut().zip(&self.activations[at]).zip(rows);
            for ((delta, value), weights) in nodes {
                *delta = dot(weights, next) * slope.slope(*value);
            }
        }
        let layers = self.layers.iter_mut().zip(&self.activations).zip(&self.deltas);
        for ((layer, inputs), deltas) in layers {
            let rows = layer.gradient.chunks_exact_mut(layer.outputs);
            for (input, gradient) in inputs.iter().zip(rows) {
                for (sum, delta) in gradient.iter_mut().zip(deltas) {
                    *sum += input * delta;
                }
            }
        }
    }

    /// The weights, layer by layer.
    pub(super) fn layers_mut(&mut self) -> &mut [Weights] {
        &mut self.layers
    }

    /// Number of the weights of each layer.
    pub(super) fn sizes(&self) -> impl Iterator<Item = usize> {
        self.layers.iter().map(|layer| layer.inputs * layer.outputs)
    }
}

/// The sum of products, in four parts, which a processor can add up side by side.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (a, b) = (a.chunks_exact(4), b.chunks_exact(4));
    let rest: f64 = a.remainder().iter().zip(b.remainder()).map(|(a, b)| a * b).sum();
    let mut sums = [0.0; 4];
    for (a, b) in a.zip(b) {
        for part in 0..4 {
            sums[part] += a[part] * b[part];
        }
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotcast_random::Streams;

    fn network() -> Network {
        Network::new(3, 7, &mut Streams::new(3).stream("test", 0))
    }

    /// Half the squared error over some samples.
    fn error(network: &mut Network, samples: &[([f64; 3], f64)]) -> f64 {
        let errors = samples.iter().map(|(x, y)| network.value(x) - y);
        errors.map(|error| error * error / 2.0).sum()
    }

    #[test]
    fn the_gradient_is_that_of_finite_differences() {
        let samples = [([0.1, 0.9, 0.4], 0.7), ([0.8, 0.2, 0.5], -0.3), ([0.5, 0.5, 1.0], 1.5)];
        let mut network = network();
        for (x, y) in &samples {
            network.learn(x, *y);
        }
        let step = 1e-5;
        let mut steep = 0;
        for layer in 0..4 {
            for at in 0..network.layers[layer].values.len() {
                let weight = network.layers[layer].values[at];
                let mut error_at = |weight| {
                    network.layers[layer].values[at] = weight;
                    error(&mut network, &samples)
                };
                let difference = error_at(weight + step) - error_at(weight - step);
                error_at(weight);
                let (found, expected) =
                    (network.layers[layer].gradient[at], difference / (2.0 * step));
                assert!(
                    (found - expected).abs() < 1e-8,
                    "layer {layer}, weight {at}: {found} {expected}"
                );
                steep += usize::from(expected.abs() > 1e-4);
            }
        }
        assert!(steep > 100, "only {steep} weights matter: nothing would be noticed");
    }

    #[test]
    fn a_node_of_the_first_layer_is_never_negative() {
        let mut network = network();
        network.value(&[0.3, 0.7, 0.1]);
        let hidden = &network.activations[1];
        assert!(hidden.iter().all(|value| *value >= 0.0), "{hidden:?}");
        assert!(hidden.contains(&0.0) && network.activations[2].iter().any(|value| *value < 0.0));
    }

    #[test]
    fn as_many_weights_are_zero_as_was_asked_for() {
        let mut network = Network::new(6, 30, &mut Streams::new(3).stream("test", 0));
        let zeros = |network: &Network| {
            let weights = || network.layers.iter().flat_map(|layer| &layer.values);
            (weights().filter(|weight| **weight == 0.0).count(), weights().count())
        };
        assert_eq!(zeros(&network), (0, 7 * 30 + 31 * 30 + 31 * 30 + 31));
        network.sparsify(0.1, &mut Streams::new(3).stream("test", 1));
        let (zeros, all) = zeros(&network);
        assert!((zeros as f64 / all as f64 - 0.1).abs() < 0.02, "{zeros} of {all}");
    }
}
