//! What is behind a report: every request of every run, and a run over time.

use pyo3::exceptions::{PyIndexError, PyKeyError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use slotcast_lab::{Execution, Experiment};
use slotcast_sim::{Latencies, Operation, Scenario, SortedLatencies};
use slotcast_trace::{MeanAndMax, SeriesSpec, collect_series};
use slotcast_units::Time;

use crate::column::{Column, Numbers};
use crate::interrupt::interruptible;

/// What the numbers of the column `operation` stand for.
const OPERATIONS: &[&str] = &["put", "get"];

/// The scenarios and runs behind a report, point by point.
#[pyclass(frozen, module = "slotcast._slotcast")]
#[derive(Debug)]
pub(crate) struct Findings {
    points: Vec<(Scenario, Vec<Execution>)>,
}

impl Findings {
    /// Over the `runs` of each point of `experiment`.
    pub(crate) fn new(experiment: &Experiment, runs: Vec<Vec<Execution>>) -> Findings {
        let scenarios = experiment.points.iter().map(|point| point.scenario.clone());
        Findings { points: scenarios.zip(runs).collect() }
    }

    fn point(&self, index: usize) -> PyResult<&(Scenario, Vec<Execution>)> {
        let missing = || PyIndexError::new_err(format!("there is no point {index}"));
        self.points.get(index).ok_or_else(missing)
    }
}

#[pymethods]
impl Findings {
    /// A row for every request that counts in the metrics of a point, run by run, as columns: the seed of its
    /// run, its operation and latency; and when it was asked for and ended, where that was kept.
    fn samples<'py>(&self, py: Python<'py>, point: usize) -> PyResult<Bound<'py, PyDict>> {
        let (_, runs) = self.point(point)?;
        let columns = PyDict::new(py);
        let add = |name: &str, numbers| columns.set_item(name, Column::new(numbers));
        let is_kept = runs.iter().any(|run| !run.report.completions.is_empty());
        let mut samples = Samples::default();
        for run in runs {
            match is_kept {
                true => samples.add_completions(run),
                false => samples.add_latencies(run.report.seed, &run.report.latencies),
            }
        }
        add("seed", Numbers::UInt64(samples.seed))?;
        if is_kept {
            add("started_ns", Numbers::Int64(samples.started))?;
            add("finished_ns", Numbers::Int64(samples.finished))?;
        }
        add("latency_ns", Numbers::Int64(samples.latency))?;
        columns.set_item("operation", Column::of_categories(samples.operation, OPERATIONS))?;
        Ok(columns)
    }

    /// Runs a point with `seed` once more, and returns utilisation and queues over time as columns.
    fn series<'py>(
        &self,
        py: Python<'py>,
        point: usize,
        seed: u64,
        bins: usize,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (scenario, runs) = self.point(point)?;
        if !runs.iter().any(|run| run.report.seed == seed) {
            return Err(PyKeyError::new_err(format!("there is no run with seed {seed}")));
        }
        let spec = SeriesSpec { bins, ..SeriesSpec::new(scenario) };
        let (_, series) =
            interruptible(py, |stop| collect_series(scenario, seed, &spec, &|_| stop.check()))?;
        let columns = PyDict::new(py);
        let add = |name: &str, numbers: Vec<f64>| {
            columns.set_item(name, Column::new(Numbers::Float64(numbers)))
        };
        add("time_ms", series.time_ms)?;
        for (name, MeanAndMax { mean, max }) in [
            ("disk_utilization", series.disk_utilization),
            ("disk_queue_length", series.disk_queue_length),
            ("link_in_utilization", series.link_in_utilization),
            ("link_out_utilization", series.link_out_utilization),
        ] {
            add(&format!("{name}_mean"), mean)?;
            add(&format!("{name}_max"), max)?;
        }
        Ok(columns)
    }
}

/// Columns of requests that grow.
#[derive(Debug, Default)]
struct Samples {
    seed: Vec<u64>,
    started: Vec<i64>,
    finished: Vec<i64>,
    latency: Vec<i64>,
    operation: Vec<i8>,
}

impl Samples {
    /// The requests that a run saw end after its warm-up, in that order.
    fn add_completions(&mut self, run: &Execution) {
        let report = &run.report;
        let warm = Time::ZERO + report.warmup;
        for completion in report.completions.iter().filter(|one| one.finished >= warm) {
            self.seed.push(report.seed);
            self.started.push(completion.started.as_ns().cast_signed());
            self.finished.push(completion.finished.as_ns().cast_signed());
            self.latency.push(completion.latency().as_ns().cast_signed());
            self.operation.push(i8::from(completion.operation == Operation::Get));
        }
    }

    /// The latencies that were kept of a run: puts, then gets, each in ascending order.
    fn add_latencies(&mut self, seed: u64, latencies: &Latencies) {
        let mut add = |latencies: &SortedLatencies, operation| {
            for latency in latencies.iter() {
                self.seed.push(seed);
                self.latency.push(latency.as_ns().cast_signed());
                self.operation.push(operation);
            }
        };
        add(&latencies.puts, 0);
        add(&latencies.gets, 1);
    }
}
