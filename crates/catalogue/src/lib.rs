//! What the binary and the Python package bring together: the models with their settings, and the evaluations
//! that can be repeated by name, the cluster's and those of the studies.

use slotcast_lab::nearest::{did_you_mean, nearest};
use slotcast_lab::setting::{CLUSTER, Settings};
use slotcast_lab::{Evaluation, InputError, Prepared};

/// The settings of every model. A new one is a line here.
pub fn models() -> [&'static dyn Settings; 5] {
    [
        &CLUSTER,
        slotcast_plan::SETTINGS,
        slotcast_lustre::SETTINGS,
        slotcast_stripes::SETTINGS,
        slotcast_networks::SETTINGS,
    ]
}

/// The settings of the model called `name`.
///
/// # Errors
/// If there is none, with the name that is most like it.
pub fn model(name: &str) -> Result<&'static dyn Settings, Box<InputError>> {
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
pub fn evaluations() -> impl Iterator<Item = &'static Evaluation> {
    slotcast_evaluations::EVALUATIONS.iter().chain(&STUDIES)
}

/// The evaluation called `name`.
///
/// # Errors
/// If there is none: the name that is most like it.
pub fn find(name: &str) -> Result<&'static Evaluation, Option<&'static str>> {
    evaluations()
        .find(|evaluation| evaluation.name == name)
        .ok_or_else(|| nearest(name, evaluations().map(|evaluation| evaluation.name)))
}

/// The evaluations called `names`, read and checked; without names those that are repeated by default, or all
/// of them. Each of `overrides` is a `key=value` for the models that have the key.
///
/// # Errors
/// If there is no such evaluation, or no model takes an override.
pub fn prepare(
    names: &[String],
    all: bool,
    overrides: &[String],
) -> Result<Vec<Prepared>, Box<InputError>> {
    let wanted: Vec<&'static Evaluation> = if names.is_empty() {
        evaluations().filter(|known| all || known.by_default).collect()
    } else {
        names.iter().map(|name| named(name)).collect::<Result<_, _>>()?
    };
    wanted.into_iter().map(|evaluation| evaluation.prepare(overrides)).collect()
}

fn named(name: &str) -> Result<&'static Evaluation, Box<InputError>> {
    find(name).map_err(|near| {
        let help = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`slotcast reproduce --list` shows the evaluations".into(),
        };
        InputError::plain(format!("there is no evaluation `{name}`")).with_help(Some(help))
    })
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
        let error = prepare(&["replicsat".into()], false, &[]).unwrap_err();
        assert_eq!(error.remedy(), Some("did you mean `replicast`?"));
    }
}
