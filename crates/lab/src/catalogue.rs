//! The evaluations of the cluster.

use crate::choosy;
use crate::dctcp;
use crate::double_booking;
use crate::evaluation::Evaluation;
use crate::next_steps;
use crate::proxy;
use crate::replicast;

/// Every evaluation of the cluster. A new one is a line here, a module like `replicast`, and its experiment
/// files. Those of other models are in the crates of their studies.
pub static EVALUATIONS: &[Evaluation] = &[
    replicast::EVALUATION,
    choosy::EVALUATION,
    dctcp::EVALUATION,
    double_booking::EVALUATION,
    next_steps::EVALUATION,
    proxy::EVALUATION,
];
