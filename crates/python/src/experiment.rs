//! `slotcast.simulate`, and the experiment behind it.

use std::path::Path;
use std::time::Instant;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use slotcast_lab::sweep::run_of;
use slotcast_lab::{
    Completions, Cost, Experiment as Read, InputError, Onlooker, Runner, SimReport,
};

use crate::error::settings_error;
use crate::findings::Findings;
use crate::interrupt::{Stop, interruptible};
use crate::program::program;
use crate::{VERSION, json};

/// An experiment that was read and checked: every point of it can run.
#[pyclass(frozen, module = "slotcast._slotcast")]
#[derive(Debug)]
pub(crate) struct Experiment {
    pub(crate) read: Read,
    /// What errors call it.
    pub(crate) place: String,
}

/// The progress of a study, which a stop cancels.
struct Cancelling<'a>(&'a Stop);

impl Onlooker for Cancelling<'_> {
    fn progress(&self, _units: u64) {
        self.0.check();
    }
}

#[pymethods]
impl Experiment {
    /// Reads the file at `place`, or the `text` that errors call `place`. Overrides are `key=value`, axes
    /// `key=a,b,c`.
    #[new]
    fn new(
        py: Python<'_>,
        place: &str,
        text: Option<&str>,
        overrides: Vec<String>,
        axes: Vec<String>,
    ) -> PyResult<Experiment> {
        let read = match text {
            Some(text) => Read::from_toml_with_axes(place, text, &overrides, &axes),
            None => Read::from_file_with_axes(Path::new(place), &overrides, &axes),
        };
        let read = read.map_err(|error| settings_error(py, &error))?;
        Ok(Experiment { read, place: place.into() })
    }

    /// The number of points.
    fn __len__(&self) -> usize {
        self.read.points.len()
    }

    /// Refuses more memory or time than may be taken unasked.
    fn check_cost(&self, py: Python<'_>, threads: Option<usize>, at_once: bool) -> PyResult<()> {
        let check = || -> Result<(), Box<InputError>> {
            let threads = Runner::new(threads)?.threads();
            Cost::of_experiment(&self.read, threads).check(at_once)
        };
        check().map_err(|error| settings_error(py, &error))
    }

    /// Runs every point with every seed; the report as JSON, and what is behind it.
    fn simulate(
        &self,
        py: Python<'_>,
        threads: Option<usize>,
        samples: bool,
    ) -> PyResult<(String, Findings)> {
        let completions = if samples { Completions::Keep } else { Completions::Drop };
        interruptible(py, |stop| {
            let start = Instant::now();
            let study = Runner::new(threads)?.study(&self.read, completions, &Cancelling(stop))?;
            let report = SimReport::of_study(VERSION, &study, start.elapsed());
            Ok((json(&report), Findings::new(&study.experiment, study.runs)))
        })
    }

    /// Does the run of one point with one seed on one thread; the line that a sweep keeps of it.
    fn run<'py>(&self, py: Python<'py>, point: usize, seed: u64) -> PyResult<Bound<'py, PyBytes>> {
        let program = program(py)?;
        let line =
            interruptible(py, |stop| run_of(&self.read, program, point, seed, &|_| stop.check()))?;
        Ok(PyBytes::new(py, &line))
    }
}
