//! Bayesian optimisation: a Gaussian process models the function, and the next point is where the expected
//! improvement on the best value is largest (Jones, Schonlau and Welch, 1998). A search that has come to rest
//! begins anew, without what it was told: what it has found keeps a model from looking far away.

mod cholesky;
mod improvement;
mod model;

use slotcast_random::{Stream, Streams};

use crate::latin::latin_hypercube;
use crate::method::{Optimiser, ordered};
use crate::normal::{normal, uniform};
use improvement::log_expected_improvement;
use model::{Model, Parameters, fit};

/// Most points that a model is made of: the better half, and the latest of the others.
const MAX_POINTS: usize = 120;

/// Points at which the improvement is looked at: anywhere, and near the best one at each of some distances.
const ANYWHERE: usize = 150;
const NEAR: usize = 40;
const DISTANCES: [f64; 3] = [0.1, 0.02, 0.004];

/// Steps in which the most promising point is made better.
const STEPS: usize = 60;

/// Steps to likely parameters: of the first model, and of one whose points have become a tenth more.
const FIRST_FIT: usize = 60;
const FIT: usize = 15;

/// Values, besides five for each dimension, among which one must be better than the best by this part of what that
/// is above the first ones.
const PATIENCE: usize = 20;
const BETTER: f64 = 1e-3;

/// A search, until it comes to rest.
pub(crate) struct GaussianProcess {
    dimensions: usize,
    stream: Stream,
    told: Vec<(Vec<f64>, f64)>,
    parameters: Parameters,
    /// Number of points of the latest fit.
    fitted: usize,
    /// The best value, and how many were told before it.
    best: (f64, usize),
}

impl GaussianProcess {
    pub(crate) fn new(dimensions: usize, seed: u64) -> GaussianProcess {
        GaussianProcess {
            dimensions,
            stream: Streams::new(seed).stream("gaussian process", 0),
            told: Vec::new(),
            parameters: Parameters::usual(dimensions),
            fitted: 0,
            best: (f64::NEG_INFINITY, 0),
        }
    }

    /// Number of points at the beginning.
    fn first(&self) -> usize {
        2 * self.dimensions + 2
    }

    fn has_come_to_rest(&self) -> bool {
        self.told.len() > self.best.1 + PATIENCE + 5 * self.dimensions
    }

    /// Begins anew, with what chance gives next.
    fn forget(&mut self) {
        self.told.clear();
        self.parameters = Parameters::usual(self.dimensions);
        (self.fitted, self.best) = (0, (f64::NEG_INFINITY, 0));
    }

    /// The points of the model, by their indices.
    fn chosen(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.told.len()).collect();
        if order.len() <= MAX_POINTS {
            return order;
        }
        order.sort_by(|a, b| self.told[*b].1.total_cmp(&self.told[*a].1));
        let mut rest = order.split_off(MAX_POINTS / 2);
        rest.sort_unstable_by(|a, b| b.cmp(a));
        order.extend(&rest[..MAX_POINTS - MAX_POINTS / 2]);
        order.sort_unstable();
        order
    }

    /// The point with the largest expected improvement, as far as it is found.
    fn most_promising(&mut self) -> Option<Vec<f64>> {
        let chosen = self.chosen();
        let points: Vec<&[f64]> = chosen.iter().map(|at| &self.told[*at].0[..]).collect();
        // A value that is far below all others, or none at all, must not flatten the rest.
        let values: Vec<f64> = chosen.iter().map(|at| self.told[*at].1).collect();
        let values = bounded(&values);
        if self.fitted == 0 || self.told.len() * 10 >= self.fitted * 11 {
            let steps = if self.fitted == 0 { FIRST_FIT } else { FIT };
            self.parameters = fit(&points, &values, &self.parameters, steps);
            self.fitted = self.told.len();
        }
        let model = Model::of(&points, &values, &self.parameters)?;
        // With noise, the best value is luck: what the model makes of it is not.
        let means = points.iter().map(|point| model.at(point).0);
        let (at, best) = means.enumerate().max_by(|a, b| a.1.total_cmp(&b.1))?;
        let best_point = points[at].to_vec();
        let promise = |point: &[f64]| {
            let (mean, deviation) = model.at(point);
            log_expected_improvement(mean, deviation, best)
        };

        let mut candidates: Vec<Vec<f64>> =
            (0..ANYWHERE).map(|_| uniform(&mut self.stream, self.dimensions)).collect();
        for distance in DISTANCES {
            candidates.extend((0..NEAR).map(|_| beside(&best_point, distance, &mut self.stream)));
        }
        let promises = candidates.into_iter().map(|point| (promise(&point), point));
        let mut found = promises.max_by(|a, b| a.0.total_cmp(&b.0))?;
        let mut distance = DISTANCES[0];
        for _ in 0..STEPS {
            let point = beside(&found.1, distance, &mut self.stream);
            let promise = promise(&point);
            match promise > found.0 {
                true => found = (promise, point),
                false => distance *= 0.9,
            }
        }
        Some(found.1)
    }
}

/// A normal draw around `point`, within the cube.
fn beside(point: &[f64], distance: f64, stream: &mut Stream) -> Vec<f64> {
    point.iter().map(|x| (x + distance * normal(stream)).clamp(0.0, 1.0)).collect()
}

/// `values`, of which none is lower than the median by more than three times what the best is higher.
fn bounded(values: &[f64]) -> Vec<f64> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let Some(best) = sorted.last() else { return vec![0.0; values.len()] };
    let middle = sorted[sorted.len() / 2];
    let floor = if *best > middle { middle - 3.0 * (best - middle) } else { sorted[0] };
    values.iter().map(|value| value.max(floor)).collect()
}

impl Optimiser for GaussianProcess {
    fn ask(&mut self) -> Vec<Vec<f64>> {
        if self.has_come_to_rest() {
            self.forget();
        }
        if self.told.is_empty() {
            let count = self.first();
            return latin_hypercube(&mut self.stream, self.dimensions, count);
        }
        let found = self.most_promising();
        vec![found.unwrap_or_else(|| uniform(&mut self.stream, self.dimensions))]
    }

    fn tell(&mut self, point: &[f64], value: f64) {
        let value = ordered(value);
        let first = self.told.iter().take(self.first()).map(|(_, value)| *value);
        let lowest = first.filter(|value| value.is_finite()).fold(self.best.0, f64::min);
        let enough = self.best.0 + BETTER * (self.best.0 - lowest).max(0.0);
        // Where nothing was found yet, the difference is no number.
        if self.told.len() < self.first() || value > enough || enough.is_nan() {
            self.best = (value.max(self.best.0), self.told.len());
        }
        self.told.push((point.to_vec(), value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_far_below_does_not_count_for_more() {
        let values = [1.0, 2.0, 3.0, -1e9, f64::NEG_INFINITY];
        assert_eq!(bounded(&values), [1.0, 2.0, 3.0, -1.0, -1.0]);
        assert_eq!(bounded(&[f64::NEG_INFINITY]), [0.0]);
        assert_eq!(bounded(&[1.0, 1.0, 1.0, 0.5]), [1.0, 1.0, 1.0, 0.5], "nothing is flattened");
    }

    /// Hartmann-6 has a second maximum that holds every second search for good, unless it begins anew.
    #[test]
    fn a_search_that_rests_begins_anew() {
        let mut search = GaussianProcess::new(2, 1);
        let mut begun = Vec::new();
        for evaluations in 0..400 {
            if search.has_come_to_rest() {
                begun.push(evaluations);
            }
            for point in search.ask() {
                search.tell(&point, -(point[0] - 0.3).abs());
            }
        }
        assert!(begun.len() > 2, "{begun:?}");
        assert!(begun[0] > 30, "not before its patience is at its end: {begun:?}");
    }

    #[test]
    fn a_model_has_the_best_points_and_the_latest() {
        let mut search = GaussianProcess::new(1, 1);
        for index in 0..1000 {
            search.tell(&[0.0], -f64::from(index));
        }
        let chosen = search.chosen();
        assert_eq!(chosen.len(), MAX_POINTS);
        assert_eq!((chosen[0], chosen[MAX_POINTS / 2 - 1]), (0, MAX_POINTS / 2 - 1));
        assert_eq!((chosen[MAX_POINTS / 2], chosen[MAX_POINTS - 1]), (1000 - MAX_POINTS / 2, 999));
    }
}
