//! `slotcast.sweep`: the runs that are kept in a folder, and those that are missing there.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;
use slotcast_lab::sweep::{Results, Sweep as Runs, SweepEnd, SweepFindings, SweepReport, check};
use slotcast_lab::{Execution, Runner};

use crate::error::settings_error;
use crate::experiment::Experiment;
use crate::findings::Findings;
use crate::interrupt::interruptible;
use crate::program::program;
use crate::{VERSION, json};

/// A sweep and its folder, which belongs to this process until it is closed.
#[pyclass(frozen, module = "slotcast._slotcast")]
#[derive(Debug)]
pub(crate) struct Sweep {
    runs: Mutex<Option<Runs<'static>>>,
}

impl Sweep {
    fn with<T>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Runs<'static>) -> PyResult<T>,
    ) -> PyResult<T> {
        // Another thread may hold it for as long as a sweep takes.
        let Some(mut runs) = py.detach(|| self.runs.lock().ok().and_then(|mut runs| runs.take()))
        else {
            return Err(PyRuntimeError::new_err("the sweep is closed, or another thread is at it"));
        };
        let done = work(&mut runs);
        if let Ok(mut place) = self.runs.lock() {
            *place = Some(runs);
        }
        done
    }
}

/// The report over all runs, and what is behind it.
fn found(runs: &Runs<'_>, executions: Vec<Vec<Execution>>) -> (String, Findings) {
    let experiment = runs.experiment();
    let findings = SweepFindings::of(experiment, &executions);
    let wall = executions.iter().flatten().map(|run| run.wall).sum();
    let report = SweepReport::new(VERSION, experiment, &executions, &findings, wall);
    (json(&report), Findings::new(experiment, executions))
}

#[pymethods]
impl Sweep {
    /// Of `experiment`, with the runs that `folder` holds of it and of this build.
    #[new]
    fn new(py: Python<'_>, experiment: &Experiment, folder: PathBuf) -> PyResult<Sweep> {
        let program = program(py)?;
        check(&experiment.read, &experiment.place)
            .and_then(|()| Results::open(&folder))
            .map(|results| Runs::of(experiment.read.clone(), results, program))
            .map(|runs| Sweep { runs: Mutex::new(Some(runs)) })
            .map_err(|error| settings_error(py, &error))
    }

    /// Runs that the sweep has, and those that were there when it was opened.
    fn counts(&self, py: Python<'_>) -> PyResult<(usize, usize)> {
        self.with(py, |runs| Ok((runs.runs(), runs.reused())))
    }

    /// Where the runs are kept.
    fn folder(&self, py: Python<'_>) -> PyResult<PathBuf> {
        self.with(py, |runs| Ok(Path::to_path_buf(runs.results().folder())))
    }

    /// The runs that are missing: the number of a point, and a seed.
    fn missing(&self, py: Python<'_>) -> PyResult<Vec<(usize, u64)>> {
        self.with(py, |runs| Ok(runs.missing_runs()))
    }

    /// Keeps a run that another process has done.
    fn keep(&self, py: Python<'_>, line: &[u8]) -> PyResult<()> {
        self.with(py, |runs| runs.keep(line).map_err(|error| settings_error(py, &error)))
    }

    /// Does the runs that are missing on the threads of this process, and keeps each when it ends.
    fn run(&self, py: Python<'_>, threads: Option<usize>) -> PyResult<()> {
        self.with(py, |runs| {
            let end = interruptible(py, |stop| {
                runs.run(&Runner::new(threads)?, stop.flag(), &mut |_| ())
            })?;
            match end {
                SweepEnd::Finished(_) => Ok(()),
                SweepEnd::Stopped { .. } => Err(PyKeyboardInterrupt::new_err(())),
            }
        })
    }

    /// The report as JSON, and what is behind it, once all runs are there.
    fn found(&self, py: Python<'_>) -> PyResult<(String, Findings)> {
        self.with(py, |runs| match runs.finished() {
            Some(executions) => Ok(found(runs, executions)),
            None => Err(PyRuntimeError::new_err("runs are missing")),
        })
    }

    /// Leaves the folder to others.
    fn close(&self, py: Python<'_>) {
        py.detach(|| drop(self.runs.lock().ok().and_then(|mut runs| runs.take())));
    }
}
