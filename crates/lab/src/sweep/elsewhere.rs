//! Runs of a sweep that other processes do, on this machine or another.
//!
//! One process has the [`Sweep`] and its folder. It hands out [`Sweep::missing_runs`], any process that has read
//! the same experiment does one with [`run_of`], and what that returns goes to [`Sweep::keep`]. Runs may come
//! back in any order, or twice: what the sweep finds is the same.

use std::borrow::Cow;

use super::record::Record;
use super::{Program, Results, Sweep, key_of};
use crate::experiment::Experiment;
use crate::input_error::InputError;
use crate::runner::{Completions, Progress, execute, impossible};

impl Sweep<'static> {
    /// Of `experiment`, which it keeps, as [`Sweep::new`].
    pub fn of(experiment: Experiment, results: Results, program: &Program) -> Sweep<'static> {
        Sweep::over(Cow::Owned(experiment), results, program)
    }
}

impl Sweep<'_> {
    /// The experiment.
    pub fn experiment(&self) -> &Experiment {
        &self.experiment
    }

    /// The runs that are missing, each once: the number of a point, and a seed.
    pub fn missing_runs(&self) -> Vec<(usize, u64)> {
        self.missing().iter().map(|job| (job.at[0], job.seed)).collect()
    }

    /// Keeps a run that [`run_of`] has done. One that is there already is left alone.
    ///
    /// # Errors
    /// If it is no run of this sweep, be it because another build has done it, or if it cannot be kept.
    pub fn keep(&mut self, line: &[u8]) -> Result<(), Box<InputError>> {
        let known =
            Record::read(line).filter(|(key, _)| self.keys.iter().flatten().any(|own| own == key));
        let Some((key, record)) = known else {
            let help = "every process must have the same build of slotcast";
            return Err(InputError::plain("a run came back that is none of this sweep")
                .with_help(Some(help.into())));
        };
        if self.results.has(&key) {
            return Ok(());
        }
        self.results.append(key, record).map_err(|error| {
            let total = self.runs();
            self.results.not_kept(&error, total - self.missing_runs().len(), total)
        })
    }
}

/// Does the run of the point `index` of `experiment` with `seed`, and returns the line that a [`Sweep`] of the
/// same experiment keeps of it.
///
/// # Errors
/// If there is no such point, or it cannot be run.
pub fn run_of(
    experiment: &Experiment,
    program: &Program,
    index: usize,
    seed: u64,
    progress: Progress<'_>,
) -> Result<Vec<u8>, Box<InputError>> {
    let point = experiment
        .points
        .get(index)
        .ok_or_else(|| InputError::plain(format!("there is no point {index}")))?;
    let run = execute(&point.scenario, seed, Completions::Drop, progress)
        .map_err(|error| impossible(&error, point))?;
    Ok(Record::new(key_of(program, point, seed), &point.label(), &run).line())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "[run]\nlength = \"3ms\"\nwarmup = \"1ms\"\n[seeds]\ncount = 2\n\
                        [[sweep]]\nworkload.window = [1, 2]\n";

    #[test]
    fn runs_of_other_processes_are_those_of_one() {
        let folder =
            std::env::temp_dir().join(format!("slotcast-elsewhere-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let experiment = Experiment::from_toml("a.toml", TEXT, &[]).unwrap();
        let program = Program::of_this_process().unwrap();
        let mut sweep = Sweep::of(experiment.clone(), Results::open(&folder).unwrap(), &program);
        let missing = sweep.missing_runs();
        assert_eq!(missing, [(0, 1), (0, 2), (1, 1), (1, 2)]);
        assert!(sweep.finished().is_none());
        for (point, seed) in missing.into_iter().rev() {
            let line = run_of(&experiment, &program, point, seed, &|_| ()).unwrap();
            sweep.keep(&line).unwrap();
            sweep.keep(&line).unwrap();
        }
        let runs = sweep.finished().expect("all are there");
        assert_eq!(sweep.results().len(), 4, "none is kept twice");
        for (point, runs) in experiment.points.iter().zip(runs) {
            for run in runs {
                let alone = slotcast_sim::run(&point.scenario, run.report.seed).unwrap();
                assert_eq!(run.report.trace_hash, alone.trace_hash);
            }
        }
        let line = run_of(&experiment, &program, 0, 9, &|_| ());
        let error = sweep.keep(&line.unwrap()).unwrap_err();
        assert!(error.to_string().contains("none of this sweep"), "{error}");
        assert!(run_of(&experiment, &program, 2, 1, &|_| ()).is_err());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
