//! The evaluations that can be repeated by name: the cluster's, and those of the studies.

use slotcast_lab::Evaluation;
use slotcast_lab::nearest::nearest;

/// The evaluations of studies. A new one is a line here.
static STUDIES: [Evaluation; 2] = [slotcast_stripes::EVALUATION, slotcast_lustre::EVALUATION];

/// Every evaluation, in the order in which they are listed and run.
pub(crate) fn evaluations() -> impl Iterator<Item = &'static Evaluation> {
    slotcast_evaluations::EVALUATIONS.iter().chain(&STUDIES)
}

/// The evaluation called `name`, or else the name that is most like it.
pub(crate) fn find(name: &str) -> Result<&'static Evaluation, Option<&'static str>> {
    evaluations()
        .find(|evaluation| evaluation.name == name)
        .ok_or_else(|| nearest(name, evaluations().map(|evaluation| evaluation.name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_experiment_of_every_evaluation_can_run() {
        for evaluation in evaluations() {
            assert!(evaluation.prepare(None).is_ok(), "{}", evaluation.name);
        }
        assert!(matches!(find("replicsat"), Err(Some("replicast"))));
    }
}
