//! `slotcast.plan` and `slotcast.reproduce`: what is asked of the lab as a whole.

use std::collections::BTreeMap;
use std::time::Instant;

use pyo3::prelude::*;
use slotcast_lab::setting::{CLUSTER, Settings};
use slotcast_lab::{InputError, ReproduceReport, Runner};
use slotcast_plan::{ClusterPlan, Effort, PlanReport, PlanSweep, answer};

use crate::interrupt::interruptible;
use crate::{VERSION, json};

/// The answer for the cluster at `place`, a file or the name of one that comes with the program, or in `text`;
/// as JSON.
#[pyfunction]
#[pyo3(signature = (place, text, overrides, axes, *, quick, seed, threads, force))]
#[expect(clippy::too_many_arguments, reason = "these are the options of the command")]
pub(crate) fn plan(
    py: Python<'_>,
    place: &str,
    text: Option<&str>,
    overrides: Vec<String>,
    axes: Vec<String>,
    quick: bool,
    seed: u64,
    threads: Option<usize>,
    force: bool,
) -> PyResult<String> {
    let effort = if quick { Effort::Quick } else { Effort::Full };
    interruptible(py, |stop| {
        let points = match text {
            Some(text) => ClusterPlan::points_of_toml(place, text, &overrides, &axes),
            None => ClusterPlan::points(place, &overrides, &axes),
        }?;
        let runner = Runner::new(threads)?;
        if !force {
            let costs = points.iter().map(|point| point.scenario.cost(runner.threads()));
            costs.into_iter().try_for_each(|cost| cost.check(false))?;
        }
        let ask = |point: &slotcast_lab::Point<ClusterPlan>| -> Result<_, Box<InputError>> {
            let plan = &point.scenario;
            let answer = answer(plan, &runner, effort, seed, &|_| stop.check())?;
            let swept = point.swept.iter();
            let sweep = swept.map(|(key, value)| (*key, value.to_string())).collect();
            Ok(PlanReport { sweep, ..PlanReport::new(VERSION, plan, &answer, seed) })
        };
        let reports = points.iter().map(ask).collect::<Result<Vec<_>, _>>()?;
        Ok(match <[PlanReport; 1]>::try_from(reports) {
            Ok([report]) => json(&report),
            Err(reports) => json(&PlanSweep::new(VERSION, reports)),
        })
    })
}

/// The evaluations called `names`, repeated; without names those that are by default, or all. As JSON.
#[pyfunction]
#[pyo3(signature = (names, *, all, overrides, threads, force))]
pub(crate) fn reproduce(
    py: Python<'_>,
    names: Vec<String>,
    all: bool,
    overrides: Vec<String>,
    threads: Option<usize>,
    force: bool,
) -> PyResult<String> {
    interruptible(py, |stop| {
        let prepared = slotcast_catalogue::prepare(&names, all, &overrides)?;
        let runner = Runner::new(threads)?;
        if !force {
            prepared.iter().try_for_each(|evaluation| evaluation.check_cost(runner.threads()))?;
        }
        let start = Instant::now();
        let outcomes = prepared
            .iter()
            .map(|evaluation| evaluation.run(&runner, &|_| stop.check(), &mut |_, _| ()))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(json(&ReproduceReport::new(VERSION, outcomes, start.elapsed())))
    })
}

/// The default of every setting of an experiment, in the words of a report's `configuration`.
#[pyfunction]
pub(crate) fn defaults() -> BTreeMap<&'static str, String> {
    let settings = CLUSTER.described();
    let known = settings.iter().filter_map(|s| Some((s.key, s.default.as_ref()?.to_string())));
    known.collect()
}
