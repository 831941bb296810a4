//! The published evaluations that can be repeated by name.

use crate::choosy;
use crate::dctcp;
use crate::double_booking;
use crate::evaluation::Evaluation;
use crate::lustre;
use crate::nearest::nearest;
use crate::next_steps;
use crate::proxy;
use crate::replicast;
use crate::stripes;

/// Every evaluation. A new one is a line here, a module like `replicast`, and its experiment files.
pub static CATALOGUE: &[Evaluation] = &[
    replicast::EVALUATION,
    choosy::EVALUATION,
    dctcp::EVALUATION,
    double_booking::EVALUATION,
    next_steps::EVALUATION,
    proxy::EVALUATION,
    stripes::EVALUATION,
    lustre::EVALUATION,
];

/// The evaluation called `name`, or else the name that is most like it.
pub fn evaluation(name: &str) -> Result<&'static Evaluation, Option<&'static str>> {
    CATALOGUE
        .iter()
        .find(|evaluation| evaluation.name == name)
        .ok_or_else(|| nearest(name, CATALOGUE.iter().map(|evaluation| evaluation.name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_experiment_of_every_evaluation_can_run() {
        for evaluation in CATALOGUE {
            assert!(evaluation.prepare(None).is_ok(), "{}", evaluation.name);
        }
        assert!(matches!(evaluation("replicsat"), Err(Some("replicast"))));
    }
}
