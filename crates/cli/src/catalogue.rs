//! What the binary brings together: the models with their settings, and the evaluations that can be
//! repeated by name, the cluster's and those of the studies.

use slotcast_lab::nearest::{did_you_mean, nearest};
use slotcast_lab::setting::{CLUSTER, Settings};
use slotcast_lab::{Evaluation, InputError};

/// The settings of every model. A new one is a line here.
pub(crate) fn models() -> [&'static dyn Settings; 5] {
    [
        &CLUSTER,
        slotcast_plan::SETTINGS,
        slotcast_lustre::SETTINGS,
        slotcast_stripes::SETTINGS,
        slotcast_networks::SETTINGS,
    ]
}

/// The settings of the model called `name`.
pub(crate) fn model(name: &str) -> Result<&'static dyn Settings, Box<InputError>> {
    let names = models().map(Settings::model);
    models().into_iter().find(|settings| settings.model() == name).ok_or_else(|| {
        let help = did_you_mean(nearest(name, names))
            .unwrap_or_else(|| format!("expected one of {}", names.join(", ")));
        InputError::plain(format!("there is no model `{name}`")).with_help(Some(help))
    })
}

/// The evaluations of studies. A new one is a line here.
static STUDIES: [Evaluation; 3] =
    [slotcast_stripes::EVALUATION, slotcast_lustre::EVALUATION, slotcast_networks::EVALUATION];

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
            assert!(evaluation.prepare(&[]).is_ok(), "{}", evaluation.name);
        }
        assert!(matches!(find("replicsat"), Err(Some("replicast"))));
    }
}
