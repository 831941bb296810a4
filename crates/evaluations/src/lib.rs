//! The published evaluations of clusters: what each runs, its rows beside the published figures, its claims.
//!
//! [`EVALUATIONS`] names them; [`slotcast_lab::Prepared::run`] repeats one. Those of other systems are in the
//! crates of their studies.

mod choosy;
mod dctcp;
mod double_booking;
mod next_steps;
mod proxy;
pub mod published;
mod replicast;

use slotcast_lab::Evaluation;

/// Every evaluation of clusters. A new one is a line here, a module like `replicast`, and its experiment files.
pub static EVALUATIONS: &[Evaluation] = &[
    replicast::EVALUATION,
    choosy::EVALUATION,
    dctcp::EVALUATION,
    double_booking::EVALUATION,
    next_steps::EVALUATION,
    proxy::EVALUATION,
];
