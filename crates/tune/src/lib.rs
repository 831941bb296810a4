//! Optimisers for what is costly to evaluate: few evaluations, each of them perhaps noisy.
//!
//! An [`Optimiser`] proposes points of the unit cube and is told the values there, of which it seeks the
//! largest. A [`Space`] translates such points into settings. Who evaluates them, and how many at a time,
//! is left to the caller.
//!
//! ```text
//!      Optimiser --- ask --> points in [0, 1]^d --- Space --> settings --> the caller evaluates
//!          ^                                                                     |
//!          +------------------------------ tell -------------------------------+
//! ```
//!
//! * [`Method::Networks`] is the method of the seed: several small neural networks, trained side by side,
//!   each of which climbs from the others' best points.
//! * [`Method::Random`] and [`Method::LatinHypercube`] do not learn. Whoever does must do better.
//! * [`Method::CmaEs`] adapts the covariance of a normal distribution (Hansen).
//! * [`Method::GaussianProcess`] models the function and evaluates where it expects most to gain.
//!
//! ```
//! use slotcast_tune::{Method, functions};
//!
//! let mut optimiser = Method::CmaEs.start(2, 200, 7);
//! let mut best = f64::NEG_INFINITY;
//! for _ in 0..200 / 6 {
//!     for point in optimiser.ask() {
//!         let value = functions::branin(&point);
//!         best = best.max(value);
//!         optimiser.tell(&point, value);
//!     }
//! }
//! assert!(best > functions::BRANIN_MAX - 0.05);
//! ```
//!
//! Nothing here knows a clock or a thread. Equal seeds give equal points, on every machine: logarithms and
//! the like come from a portable library.

mod cma_es;
mod eigen;
pub mod functions;
mod gaussian;
mod latin;
mod method;
mod networks;
mod normal;
mod random_search;
mod space;

pub use method::{Method, Optimiser};
pub use networks::{Networks, Setup};
pub use space::{Coordinate, Dimension, Space};
