//! A Gaussian process: what is known of a function from some of its values.
//!
//! After C. E. Rasmussen and C. K. I. Williams, "Gaussian Processes for Machine Learning" (2006): a Matérn kernel
//! of smoothness 5/2 with a length for each dimension, and noise. Lengths and noise are those of the largest
//! likelihood, with a prior that keeps lengths near half of the cube.

use super::cholesky::{Cholesky, dot};

/// Lengths and noise, as logarithms; noise is a part of the variance of the function.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Parameters {
    pub(super) lengths: Vec<f64>,
    pub(super) noise: f64,
}

/// Ranges of what is sought.
const LENGTH: [f64; 2] = [0.03, 10.0];
const NOISE: [f64; 2] = [1e-6, 1.0];

/// Where lengths lie if nothing is known, and how far from there they may be, as a factor.
const USUAL_LENGTH: f64 = 0.5;

/// Rprop: sizes of the first, the shortest and the longest step.
const FIRST_STEP: f64 = 0.2;
const STEPS: [f64; 2] = [1e-3, 1.0];

impl Parameters {
    pub(super) fn usual(dimensions: usize) -> Parameters {
        Parameters { lengths: vec![libm::log(USUAL_LENGTH); dimensions], noise: libm::log(1e-4) }
    }

    fn get_mut(&mut self, index: usize) -> &mut f64 {
        if index < self.lengths.len() { &mut self.lengths[index] } else { &mut self.noise }
    }
}

/// Some values of a function, and what follows from them.
#[derive(Debug)]
pub(super) struct Model {
    /// Points over the lengths.
    points: Vec<Vec<f64>>,
    inverse_lengths: Vec<f64>,
    factors: Cholesky,
    /// The inverse of the covariance times the values.
    solved: Vec<f64>,
    /// Variance of the function, of which the kernel is a part from 0 to 1.
    variance: f64,
    /// What the values were, and are taken as 0 and 1.
    mean: f64,
    deviation: f64,
}

/// The kernel at a squared distance, over lengths, and its derivative by the logarithm of a length, of which the
/// squared distance in that dimension is a factor.
fn matern(squared: f64) -> (f64, f64) {
    let root = (5.0 * squared).sqrt();
    let decay = libm::exp(-root);
    ((1.0 + root + 5.0 / 3.0 * squared) * decay, 5.0 / 3.0 * (1.0 + root) * decay)
}

fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

fn over_lengths(point: &[f64], inverse_lengths: &[f64]) -> Vec<f64> {
    point.iter().zip(inverse_lengths).map(|(x, inverse)| x * inverse).collect()
}

/// `values` less their mean, over their deviation; and both.
fn standardised(values: &[f64]) -> (Vec<f64>, f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    let deviation = (squares / n).sqrt();
    let deviation = if deviation > 0.0 { deviation } else { 1.0 };
    (values.iter().map(|value| (value - mean) / deviation).collect(), mean, deviation)
}

impl Model {
    /// Of `points` with `values`, which must be finite; none if rounding errors make that impossible.
    pub(super) fn of(points: &[&[f64]], values: &[f64], parameters: &Parameters) -> Option<Model> {
        let inverse_lengths: Vec<f64> =
            parameters.lengths.iter().map(|length| libm::exp(-length)).collect();
        let points: Vec<_> = points.iter().map(|x| over_lengths(x, &inverse_lengths)).collect();
        let (values, mean, deviation) = standardised(values);
        let noise = libm::exp(parameters.noise);
        let factors = Cholesky::of(points.len(), |i, j| match i == j {
            true => 1.0 + noise,
            false => matern(squared_distance(&points[i], &points[j])).0,
        })?;
        let solved = factors.solve(&values);
        let variance = (dot(&values, &solved) / points.len() as f64).max(1e-12);
        Some(Model { points, inverse_lengths, factors, solved, variance, mean, deviation })
    }

    /// Mean and deviation of what the function is at `point`, without noise.
    pub(super) fn at(&self, point: &[f64]) -> (f64, f64) {
        let point = over_lengths(point, &self.inverse_lengths);
        let near: Vec<f64> =
            self.points.iter().map(|x| matern(squared_distance(x, &point)).0).collect();
        let mean = dot(&near, &self.solved);
        let known = self.factors.forward(&near);
        let variance = (self.variance * (1.0 - dot(&known, &known))).max(0.0);
        (self.mean + self.deviation * mean, self.deviation * variance.sqrt())
    }
}

/// Logarithm of how likely `values` at `points` are, but for a constant, with its gradient; none if rounding
/// errors make it impossible.
fn likelihood(
    points: &[&[f64]],
    values: &[f64],
    parameters: &Parameters,
) -> Option<(f64, Vec<f64>)> {
    let (n, d) = (points.len(), parameters.lengths.len());
    let inverse_lengths: Vec<f64> =
        parameters.lengths.iter().map(|length| libm::exp(-length)).collect();
    let points: Vec<_> = points.iter().map(|x| over_lengths(x, &inverse_lengths)).collect();
    let noise = libm::exp(parameters.noise);
    // The kernel's derivatives are needed again: keep both.
    let kernel: Vec<Vec<(f64, f64)>> = (0..n)
        .map(|i| (0..i).map(|j| matern(squared_distance(&points[i], &points[j]))).collect())
        .collect();
    let factors = Cholesky::of(n, |i, j| if i == j { 1.0 + noise } else { kernel[i][j].0 })?;
    let solved = factors.solve(values);
    let fit = dot(values, &solved).max(1e-300);
    let inverse = factors.inverse();
    let scale = n as f64 / fit;

    let mut gradient = vec![0.0; d + 1];
    for i in 0..n {
        for j in 0..i {
            // Both (i, j) and (j, i).
            let weight = (scale * solved[i] * solved[j] - inverse[i][j]) * kernel[i][j].1;
            for (sum, (a, b)) in gradient.iter_mut().zip(points[i].iter().zip(&points[j])) {
                *sum += weight * (a - b) * (a - b);
            }
        }
        gradient[d] += 0.5 * noise * (scale * solved[i] * solved[i] - inverse[i][i]);
    }
    let mut value = -0.5 * n as f64 * libm::log(fit / n as f64) - factors.half_log_determinant();
    for (sum, length) in gradient.iter_mut().zip(&parameters.lengths) {
        let far = length - libm::log(USUAL_LENGTH);
        value -= 0.5 * far * far;
        *sum -= far;
    }
    Some((value, gradient))
}

/// Goes from `start` to more likely parameters, in `steps` steps of Rprop.
pub(super) fn fit(
    points: &[&[f64]],
    values: &[f64],
    start: &Parameters,
    steps: usize,
) -> Parameters {
    let (values, ..) = standardised(values);
    let d = start.lengths.len();
    let mut here = start.clone();
    let mut best: Option<(f64, Parameters)> = None;
    let mut sizes = vec![FIRST_STEP; d + 1];
    let mut before = vec![0.0; d + 1];
    for _ in 0..steps {
        let Some((value, gradient)) = likelihood(points, &values, &here) else { break };
        if best.as_ref().is_none_or(|(most, _)| value > *most) {
            best = Some((value, here.clone()));
        }
        for index in 0..=d {
            let (slope, range) = (gradient[index], if index < d { LENGTH } else { NOISE });
            sizes[index] *= match slope * before[index] {
                same if same > 0.0 => 1.2,
                same if same < 0.0 => 0.5,
                _ => 1.0,
            };
            sizes[index] = sizes[index].clamp(STEPS[0], STEPS[1]);
            let step = if slope > 0.0 { sizes[index] } else { -sizes[index] };
            let parameter = here.get_mut(index);
            *parameter = (*parameter + step).clamp(libm::log(range[0]), libm::log(range[1]));
            before[index] = slope;
        }
    }
    best.map_or_else(|| start.clone(), |(_, parameters)| parameters)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latin::latin_hypercube;
    use slotcast_random::Streams;

    fn samples(n: usize) -> (Vec<Vec<f64>>, Vec<f64>) {
        let points = latin_hypercube(&mut Streams::new(1).stream("test", 0), 2, n);
        let values = points.iter().map(|x| libm::sin(9.0 * x[0]) + 0.3 * x[1]).collect();
        (points, values)
    }

    fn slices(points: &[Vec<f64>]) -> Vec<&[f64]> {
        points.iter().map(Vec::as_slice).collect()
    }

    #[test]
    fn the_gradient_of_the_likelihood_is_that_of_finite_differences() {
        let (points, values) = samples(25);
        let (points, (values, ..)) = (slices(&points), standardised(&values));
        let parameters = Parameters { lengths: vec![-1.2, 0.3], noise: -3.0 };
        let (_, gradient) = likelihood(&points, &values, &parameters).expect("a likelihood");
        for index in 0..3 {
            let at = |step: f64| {
                let mut moved = parameters.clone();
                *moved.get_mut(index) += step;
                likelihood(&points, &values, &moved).expect("a likelihood").0
            };
            let expected = (at(1e-5) - at(-1e-5)) / 2e-5;
            assert!((gradient[index] - expected).abs() < 1e-5, "{index}: {gradient:?} {expected}");
            assert!(expected.abs() > 0.1, "{index}: too flat to tell");
        }
    }

    #[test]
    fn a_model_knows_what_it_was_told_and_little_beyond() {
        let (points, values) = samples(40);
        let points = slices(&points);
        let parameters = fit(&points, &values, &Parameters::usual(2), 60);
        assert!(
            parameters.lengths[0] < parameters.lengths[1],
            "the first matters more: {parameters:?}"
        );
        let model = Model::of(&points, &values, &parameters).expect("a model");
        for (point, value) in points.iter().zip(&values) {
            let (mean, deviation) = model.at(point);
            assert!((mean - value).abs() < 0.02 && deviation < 0.05, "{mean} {deviation} {value}");
        }
        let (mean, deviation) = model.at(&[0.33, 0.5]);
        let value = libm::sin(9.0 * 0.33) + 0.15;
        assert!((mean - value).abs() < 4.0 * deviation.max(0.01), "{mean} {deviation} {value}");
        assert!(model.at(&[3.0, 3.0]).1 > 10.0 * deviation, "far away nothing is known");
    }
}
