//! What all optimisers have in common.

use crate::cma_es::CmaEs;
use crate::gaussian::GaussianProcess;
use crate::latin::LatinHypercube;
use crate::networks::{Networks, Setup};
use crate::random_search::RandomSearch;

/// Seeks the largest value of a function on the unit cube.
pub trait Optimiser {
    /// The points that are to be evaluated next, at least one. Each is told before the next call.
    #[must_use]
    fn ask(&mut self) -> Vec<Vec<f64>>;

    /// The value at `point`, larger being better. Points are told in the order in which they were asked for.
    /// A value that is no number counts as the smallest.
    fn tell(&mut self, point: &[f64], value: f64);
}

/// How the best settings are sought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Several neural networks, each of which climbs from the others' best points.
    Networks,
    /// Points at random.
    Random,
    /// Points at random, of which each slice of each dimension has one.
    LatinHypercube,
    /// Adaptation of the covariance matrix of a normal distribution.
    CmaEs,
    /// A model of the function, and the point with the largest expected improvement.
    GaussianProcess,
}

impl Method {
    /// Every method.
    pub const ALL: [Method; 5] = [
        Method::Networks,
        Method::Random,
        Method::LatinHypercube,
        Method::CmaEs,
        Method::GaussianProcess,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Method::Networks => "networks",
            Method::Random => "random",
            Method::LatinHypercube => "latin-hypercube",
            Method::CmaEs => "cma-es",
            Method::GaussianProcess => "gaussian-process",
        }
    }

    /// Begins a search in `dimensions` dimensions of which `budget` evaluations are expected; more may be
    /// asked for. Equal arguments and values give equal points.
    ///
    /// # Panics
    /// If there are no dimensions.
    pub fn start(self, dimensions: usize, budget: usize, seed: u64) -> Box<dyn Optimiser> {
        assert!(dimensions > 0, "nothing can vary");
        match self {
            Method::Networks => {
                Box::new(Networks::new(&Setup::of_budget(budget), dimensions, seed))
            }
            Method::Random => Box::new(RandomSearch::new(dimensions, seed)),
            Method::LatinHypercube => Box::new(LatinHypercube::new(dimensions, budget, seed)),
            Method::CmaEs => Box::new(CmaEs::new(dimensions, seed)),
            Method::GaussianProcess => Box::new(GaussianProcess::new(dimensions, seed)),
        }
    }
}

/// `value`, or the smallest there is if it is no number.
pub(crate) fn ordered(value: f64) -> f64 {
    if value.is_nan() { f64::NEG_INFINITY } else { value }
}
