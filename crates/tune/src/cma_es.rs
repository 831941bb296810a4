//! CMA-ES: a normal distribution whose mean, size and covariance follow the better half of its draws.
//!
//! After N. Hansen, "The CMA Evolution Strategy: A Tutorial" (2016), with its default parameters. A draw outside
//! the cube is put on its border. When a search has come to rest it begins anew elsewhere, with twice as many
//! draws (Auger and Hansen, 2005).

use slotcast_random::{Stream, Streams};

use crate::eigen::symmetric_eigen;
use crate::method::{Optimiser, ordered};
use crate::normal::{normal, uniform};

/// The deviation with which a search begins.
const SIGMA: f64 = 0.3;

/// A search has come to rest when no axis is longer.
const SHORT: f64 = 1e-7;

/// Generations, besides `30 n / lambda`, in which the best draw must become better.
const PATIENCE: usize = 10;

/// What follows from the number of dimensions and of draws.
#[derive(Debug)]
struct Rates {
    draws: usize,
    weights: Vec<f64>,
    /// Variance effective selection mass.
    mass: f64,
    c_sigma: f64,
    d_sigma: f64,
    c_c: f64,
    c_1: f64,
    c_mu: f64,
    /// Expected length of a standard normal vector.
    chi: f64,
}

impl Rates {
    fn new(dimensions: usize, draws: usize) -> Rates {
        let n = dimensions as f64;
        let half = draws / 2;
        let raw =
            |rank: usize| libm::log((draws as f64 + 1.0) / 2.0) - libm::log(rank as f64 + 1.0);
        let raw: Vec<f64> = (0..half).map(raw).collect();
        let sum: f64 = raw.iter().sum();
        let weights: Vec<f64> = raw.iter().map(|weight| weight / sum).collect();
        let mass = 1.0 / weights.iter().map(|weight| weight * weight).sum::<f64>();
        let c_sigma = (mass + 2.0) / (n + mass + 5.0);
        let c_1 = 2.0 / ((n + 1.3) * (n + 1.3) + mass);
        let c_mu = 2.0 * (mass - 2.0 + 1.0 / mass) / ((n + 2.0) * (n + 2.0) + mass);
        Rates {
            draws,
            mass,
            c_sigma,
            d_sigma: 1.0 + 2.0 * (f64::sqrt((mass - 1.0) / (n + 1.0)) - 1.0).max(0.0) + c_sigma,
            c_c: (4.0 + mass / n) / (n + 4.0 + 2.0 * mass / n),
            c_1,
            c_mu: c_mu.min(1.0 - c_1),
            chi: f64::sqrt(n) * (1.0 - 1.0 / (4.0 * n) + 1.0 / (21.0 * n * n)),
            weights,
        }
    }
}

/// A search, until it comes to rest.
pub(crate) struct CmaEs {
    dimensions: usize,
    stream: Stream,
    rates: Rates,
    mean: Vec<f64>,
    sigma: f64,
    covariance: Vec<Vec<f64>>,
    /// The axes of the distribution as columns, and how long each is.
    axes: Vec<Vec<f64>>,
    lengths: Vec<f64>,
    path_sigma: Vec<f64>,
    path_c: Vec<f64>,
    generation: usize,
    told: Vec<(Vec<f64>, f64)>,
    /// Best value of this search, and the generation that found it.
    best: (f64, usize),
}

impl CmaEs {
    pub(crate) fn new(dimensions: usize, seed: u64) -> CmaEs {
        let draws = 4 + f64::floor(3.0 * libm::log(dimensions as f64)) as usize;
        let stream = Streams::new(seed).stream("cma-es", 0);
        CmaEs::begin(dimensions, draws, vec![0.5; dimensions], stream)
    }

    fn begin(dimensions: usize, draws: usize, mean: Vec<f64>, stream: Stream) -> CmaEs {
        let mut unit = vec![vec![0.0; dimensions]; dimensions];
        unit.iter_mut().enumerate().for_each(|(i, row)| row[i] = 1.0);
        CmaEs {
            dimensions,
            stream,
            rates: Rates::new(dimensions, draws),
            mean,
            sigma: SIGMA,
            axes: unit.clone(),
            covariance: unit,
            lengths: vec![1.0; dimensions],
            path_sigma: vec![0.0; dimensions],
            path_c: vec![0.0; dimensions],
            generation: 0,
            told: Vec::new(),
            best: (f64::NEG_INFINITY, 0),
        }
    }

    fn draw(&mut self) -> Vec<f64> {
        let steps: Vec<f64> =
            self.lengths.iter().map(|length| length * normal(&mut self.stream)).collect();
        let point = self.mean.iter().zip(&self.axes).map(|(mean, row)| {
            let step: f64 = row.iter().zip(&steps).map(|(axis, step)| axis * step).sum();
            (mean + self.sigma * step).clamp(0.0, 1.0)
        });
        point.collect()
    }

    /// `vector` times the inverse square root of the covariance.
    fn whitened(&self, vector: &[f64]) -> Vec<f64> {
        let n = self.dimensions;
        let along = |k: usize| {
            let sum: f64 = (0..n).map(|i| self.axes[i][k] * vector[i]).sum();
            sum / self.lengths[k]
        };
        let along: Vec<f64> = (0..n).map(along).collect();
        let back = self.axes.iter();
        back.map(|row| row.iter().zip(&along).map(|(axis, x)| axis * x).sum()).collect()
    }

    /// Moves the distribution to the better half of a generation.
    fn adapt(&mut self) {
        let mut told = core::mem::take(&mut self.told);
        told.sort_by(|a, b| b.1.total_cmp(&a.1));
        let n = self.dimensions;
        let Rates { ref weights, mass, c_sigma, d_sigma, c_c, c_1, c_mu, chi, .. } = self.rates;
        let steps: Vec<Vec<f64>> = told[..weights.len()]
            .iter()
            .map(|(x, _)| x.iter().zip(&self.mean).map(|(x, m)| (x - m) / self.sigma).collect())
            .collect();
        let weighted =
            |i: usize| weights.iter().zip(&steps).map(|(weight, step)| weight * step[i]).sum();
        let shift: Vec<f64> = (0..n).map(weighted).collect();

        let white = self.whitened(&shift);
        let gain = f64::sqrt(c_sigma * (2.0 - c_sigma) * mass);
        for (path, white) in self.path_sigma.iter_mut().zip(&white) {
            *path = (1.0 - c_sigma) * *path + gain * white;
        }
        let length = f64::sqrt(self.path_sigma.iter().map(|x| x * x).sum());
        let age = self.generation as f64 + 1.0;
        let settled = f64::sqrt(1.0 - libm::pow(1.0 - c_sigma, 2.0 * age));
        let is_short = length / settled < (1.4 + 2.0 / (n as f64 + 1.0)) * chi;
        let gain = if is_short { f64::sqrt(c_c * (2.0 - c_c) * mass) } else { 0.0 };
        for (path, shift) in self.path_c.iter_mut().zip(&shift) {
            *path = (1.0 - c_c) * *path + gain * shift;
        }
        let lost = if is_short { 0.0 } else { c_1 * c_c * (2.0 - c_c) };
        for i in 0..n {
            for j in 0..=i {
                let rank_mu: f64 = weights
                    .iter()
                    .zip(&steps)
                    .map(|(weight, step)| weight * step[i] * step[j])
                    .sum();
                let value = (1.0 - c_1 - c_mu + lost) * self.covariance[i][j]
                    + c_1 * self.path_c[i] * self.path_c[j]
                    + c_mu * rank_mu;
                self.covariance[i][j] = value;
                self.covariance[j][i] = value;
            }
        }
        self.mean.iter_mut().zip(&shift).for_each(|(mean, shift)| *mean += self.sigma * shift);
        self.sigma *= libm::exp((c_sigma / d_sigma) * (length / chi - 1.0));
        self.sigma = self.sigma.min(1.0);
        let (values, axes) = symmetric_eigen(self.covariance.clone());
        self.lengths = values.iter().map(|value| f64::sqrt(value.max(1e-30))).collect();
        self.axes = axes;
        self.generation += 1;
        if told[0].1 > self.best.0 {
            self.best = (told[0].1, self.generation);
        }
    }

    fn has_come_to_rest(&self) -> bool {
        let longest = self.lengths.iter().copied().fold(0.0, f64::max);
        let patience = PATIENCE + 30 * self.dimensions / self.rates.draws;
        self.sigma * longest < SHORT || self.generation - self.best.1 > patience
    }
}

impl Optimiser for CmaEs {
    fn ask(&mut self) -> Vec<Vec<f64>> {
        if self.has_come_to_rest() {
            let mean = uniform(&mut self.stream, self.dimensions);
            let (draws, stream) = (self.rates.draws * 2, self.stream.clone());
            *self = CmaEs::begin(self.dimensions, draws, mean, stream);
        }
        (0..self.rates.draws).map(|_| self.draw()).collect()
    }

    fn tell(&mut self, point: &[f64], value: f64) {
        self.told.push((point.to_vec(), ordered(value)));
        if self.told.len() == self.rates.draws {
            self.adapt();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_parameters_are_those_of_the_tutorial() {
        let rates = Rates::new(6, 9);
        assert_eq!((CmaEs::new(6, 1).rates.draws, rates.weights.len()), (9, 4));
        assert!((rates.weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!(rates.weights.windows(2).all(|pair| pair[0] > pair[1] && pair[1] > 0.0));
        assert!((rates.mass - 2.84).abs() < 0.1, "{}", rates.mass);
    }

    /// The axes of an ellipsoid whose lengths differ by a thousand are found.
    #[test]
    fn the_covariance_follows_the_function() {
        let function = |x: &[f64]| {
            let (u, v) = (x[0] + x[1] - 1.0, x[0] - x[1]);
            -(u * u + 1e6 * v * v)
        };
        let mut search = CmaEs::new(2, 5);
        for _ in 0..40 {
            for point in search.ask() {
                search.tell(&point, function(&point));
            }
        }
        let covariance = &search.covariance;
        let correlation = covariance[0][1] / f64::sqrt(covariance[0][0] * covariance[1][1]);
        assert!(correlation > 0.99, "{correlation}");
    }
}
