//! What a sweep found, on the grid of its axes: plain vectors, for charts.

use serde::Serialize;

use super::knee::{self, Knee};
use crate::estimate::Estimate;
use crate::experiment::Experiment;
use crate::metrics::Metrics;
use crate::runner::Execution;
use crate::setting::{SweptAxis, Value};

/// The metrics of a sweep on the grid of its axes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SweepFindings {
    /// The axes, in the order of the sweep; the last one varies fastest in every grid.
    pub axes: Vec<AxisFindings>,
    /// One value of each metric per point.
    pub metrics: Vec<MetricGrid>,
    /// Where more of a numeric axis stops paying.
    pub knees: Vec<Knee>,
}

/// One axis of a sweep.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AxisFindings {
    /// The settings that advance along it together.
    pub keys: Vec<&'static str>,
    /// The values at each step, as text.
    pub labels: Vec<String>,
    /// The first setting that can be counted, at each step, in its smallest unit (bytes, bits per second,
    /// nanoseconds, parts per million); nothing if there is none.
    pub numbers: Option<Vec<f64>>,
}

/// One metric over the grid.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricGrid {
    /// Name, as in the JSON of a point: `chunks_per_s`, `latency_us.p99`.
    pub name: &'static str,
    /// Unit: `1/s`, `us`, or nothing for a part of a whole.
    pub unit: &'static str,
    /// One estimate per point, in the order of the sweep.
    pub values: Vec<Estimate>,
}

/// The points along one axis, all other axes held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// `protocol.kind=uch-ccp`: what is held; empty if there is one axis.
    pub label: String,
    /// The points, by their number in the sweep.
    pub points: Vec<usize>,
}

impl AxisFindings {
    fn of(axis: &SweptAxis) -> AxisFindings {
        let label =
            |row: &Vec<Value>| row.iter().map(Value::to_string).collect::<Vec<_>>().join(" ");
        let numbers = (0..axis.keys.len()).find_map(|setting| {
            let number = |row: &Vec<Value>| row[setting].number().map(|number| number as f64);
            axis.rows.iter().map(number).collect::<Option<Vec<f64>>>()
        });
        AxisFindings {
            keys: axis.keys.clone(),
            labels: axis.rows.iter().map(label).collect(),
            numbers,
        }
    }

    /// `disk.rate run.length`: what varies along it.
    pub fn name(&self) -> String {
        self.keys.join(" ")
    }
}

impl SweepFindings {
    /// Over the `runs` of `experiment`, one list per point.
    pub fn of(experiment: &Experiment, runs: &[Vec<Execution>]) -> SweepFindings {
        let axes: Vec<AxisFindings> = experiment.axes.iter().map(AxisFindings::of).collect();
        let metrics: Vec<Metrics> = runs
            .iter()
            .map(|runs| Metrics::of(&runs.iter().map(|run| &run.report).collect::<Vec<_>>()))
            .collect();
        let grid = |name, unit, of: fn(&Metrics) -> Estimate| MetricGrid {
            name,
            unit,
            values: metrics.iter().map(of).collect(),
        };
        let mut findings = SweepFindings {
            axes,
            metrics: vec![
                grid("chunks_per_s", "1/s", |m| m.chunks_per_s),
                grid("latency_us.mean", "us", |m| m.latency_us.mean),
                grid("latency_us.p99", "us", |m| m.latency_us.p99),
                grid("disk_utilization", "", |m| m.disk_utilization),
                grid("link_utilization", "", |m| m.link_utilization),
            ],
            knees: Vec::new(),
        };
        findings.knees = knee::find(&findings, runs);
        findings
    }

    /// Number of steps of every axis.
    pub fn shape(&self) -> Vec<usize> {
        self.axes.iter().map(|axis| axis.labels.len()).collect()
    }

    /// The lines along axis number `along`: one for each choice of steps on the others.
    ///
    /// # Panics
    /// If there is no such axis.
    pub fn lines(&self, along: usize) -> Vec<Line> {
        let shape = self.shape();
        let stride = |axis: usize| shape[axis + 1..].iter().product::<usize>();
        let total: usize = shape.iter().product();
        let step_of = |point: usize, axis: usize| point / stride(axis) % shape[axis];
        let starts = (0..total).filter(|&point| step_of(point, along) == 0);
        starts
            .map(|start| {
                let held = (0..shape.len()).filter(|&axis| axis != along);
                let label = |axis: usize| {
                    let AxisFindings { keys, labels, .. } = &self.axes[axis];
                    format!("{}={}", keys.join(","), labels[step_of(start, axis)])
                };
                Line {
                    label: held.map(label).collect::<Vec<_>>().join(" "),
                    points: (0..shape[along]).map(|step| start + step * stride(along)).collect(),
                }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_run_through_every_point_once() {
        let text = "[run]\nlength = \"1ms\"\nwarmup = \"0\"\n[[sweep]]\n\
                    protocol.kind = [\"replicast-m\", \"uch-ccp\"]\n\
                    [[sweep]]\nworkload.window = [1, 2, 3]\n[[sweep]]\ndisk.rate = [\"1GB/s\", \"2GB/s\"]\n";
        let experiment = Experiment::from_toml("lines.toml", text, &[]).unwrap();
        let findings = SweepFindings {
            axes: experiment.axes.iter().map(AxisFindings::of).collect(),
            metrics: Vec::new(),
            knees: Vec::new(),
        };
        assert_eq!(findings.shape(), [2, 3, 2]);
        assert_eq!(findings.axes[0].numbers, None);
        assert_eq!(findings.axes[2].numbers, Some(vec![8e9, 16e9]));
        for along in 0..3 {
            let lines = findings.lines(along);
            let mut points: Vec<usize> =
                lines.iter().flat_map(|line| line.points.clone()).collect();
            points.sort_unstable();
            assert_eq!(points, (0..12).collect::<Vec<_>>());
            for line in lines {
                let of = |point: &usize| experiment.points[*point].swept[along].1;
                let along: Vec<_> = line.points.iter().map(of).collect();
                assert!(along.windows(2).all(|pair| pair[0] != pair[1]), "{along:?}");
                let held = experiment.points[line.points[0]].swept.iter();
                assert!(
                    held.filter(|(k, v)| line.label.contains(&format!("{k}={v}"))).count() >= 2
                );
            }
        }
    }
}
