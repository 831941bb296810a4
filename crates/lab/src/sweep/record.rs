//! A finished run as one line of JSON.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use slotcast_sim::{Counts, Latency, RunReport};
use slotcast_units::Span;

use super::RunKey;
use crate::runner::Execution;

/// A finished run as it is kept. The keys of a line are those of `docs/sweeps.md`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Record {
    key: String,
    /// For people who read the file.
    point: String,
    seed: u64,
    wall_ns: u64,
    length_ns: u64,
    warmup_ns: u64,
    events: u64,
    trace_hash: u64,
    chunks_per_s: f64,
    latency_us: LatencyRecord,
    put_latency_us: LatencyRecord,
    get_latency_us: LatencyRecord,
    disk_utilization: f64,
    disk_queue_length: f64,
    link_utilization: f64,
    counts: CountsRecord,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct LatencyRecord {
    count: u64,
    mean: f64,
    p50: f64,
    p90: f64,
    p99: f64,
    p999: f64,
    max: f64,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct CountsRecord {
    puts: u64,
    gets: u64,
    failures: u64,
    abandoned: u64,
    extra_rounds: u64,
    messages_lost: u64,
    transfer_conflicts: u64,
}

// Everything is taken apart, so that what a report learns to say cannot be forgotten here.

impl From<Latency> for LatencyRecord {
    fn from(latency: Latency) -> LatencyRecord {
        let Latency { count, mean, p50, p90, p99, p999, max } = latency;
        LatencyRecord { count, mean, p50, p90, p99, p999, max }
    }
}

impl From<LatencyRecord> for Latency {
    fn from(record: LatencyRecord) -> Latency {
        let LatencyRecord { count, mean, p50, p90, p99, p999, max } = record;
        Latency { count, mean, p50, p90, p99, p999, max }
    }
}

impl From<Counts> for CountsRecord {
    fn from(counts: Counts) -> CountsRecord {
        let Counts {
            puts,
            gets,
            failures,
            abandoned,
            extra_rounds,
            messages_lost,
            transfer_conflicts,
        } = counts;
        CountsRecord {
            puts,
            gets,
            failures,
            abandoned,
            extra_rounds,
            messages_lost,
            transfer_conflicts,
        }
    }
}

impl From<CountsRecord> for Counts {
    fn from(record: CountsRecord) -> Counts {
        let CountsRecord {
            puts,
            gets,
            failures,
            abandoned,
            extra_rounds,
            messages_lost,
            transfer_conflicts,
        } = record;
        Counts { puts, gets, failures, abandoned, extra_rounds, messages_lost, transfer_conflicts }
    }
}

impl Record {
    /// Of the run with `key`, at the point that `label` names.
    pub(super) fn new(key: RunKey, label: &str, run: &Execution) -> Record {
        let RunReport {
            seed,
            length,
            warmup,
            events,
            trace_hash,
            chunks_per_s,
            latency,
            put_latency,
            get_latency,
            disk_utilization,
            disk_queue_length,
            link_utilization,
            counts,
            // Not kept: a sweep has many runs, and each of them many requests.
            completions: _,
        } = &run.report;
        Record {
            key: key.to_string(),
            point: label.into(),
            seed: *seed,
            wall_ns: u64::try_from(run.wall.as_nanos()).unwrap_or(u64::MAX),
            length_ns: length.as_ns(),
            warmup_ns: warmup.as_ns(),
            events: *events,
            trace_hash: *trace_hash,
            chunks_per_s: *chunks_per_s,
            latency_us: (*latency).into(),
            put_latency_us: (*put_latency).into(),
            get_latency_us: (*get_latency).into(),
            disk_utilization: *disk_utilization,
            disk_queue_length: *disk_queue_length,
            link_utilization: *link_utilization,
            counts: (*counts).into(),
        }
    }

    /// Reads a line; none if it is damaged.
    pub(super) fn read(line: &[u8]) -> Option<(RunKey, Record)> {
        let record: Record = serde_json::from_slice(line).ok()?;
        Some((record.key.parse().ok()?, record))
    }

    /// The line, with its end.
    pub(super) fn line(&self) -> Vec<u8> {
        let mut line = serde_json::to_vec(self).expect("texts and numbers are JSON");
        line.push(b'\n');
        line
    }

    /// The run again, without its completions.
    pub(super) fn execution(&self) -> Execution {
        let report = RunReport {
            seed: self.seed,
            length: Span::from_ns(self.length_ns),
            warmup: Span::from_ns(self.warmup_ns),
            events: self.events,
            trace_hash: self.trace_hash,
            chunks_per_s: self.chunks_per_s,
            latency: self.latency_us.into(),
            put_latency: self.put_latency_us.into(),
            get_latency: self.get_latency_us.into(),
            disk_utilization: self.disk_utilization,
            disk_queue_length: self.disk_queue_length,
            link_utilization: self.link_utilization,
            counts: self.counts.into(),
            completions: Vec::new(),
        };
        Execution { report, wall: Duration::from_nanos(self.wall_ns) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::configuration::Configuration;
    use crate::sweep::Program;

    #[test]
    fn a_run_comes_back_to_the_last_bit() {
        let mut configuration = Configuration::default();
        configuration.scenario.run.length = Span::from_ms(5);
        configuration.scenario.run.warmup = Span::from_ms(1);
        let mut report = slotcast_sim::run(&configuration.scenario, 3).unwrap();
        report.completions.clear();
        let run = Execution { report, wall: Duration::from_nanos(1_234_567_891) };
        let program = Program::of_this_process().unwrap();
        let key = RunKey::of(&program, &configuration, 3);
        let line = Record::new(key, "a=1", &run).line();
        let (read, record) = Record::read(&line).unwrap();
        assert_eq!(read, key);
        assert_eq!(record.execution().report, run.report);
        assert_eq!(record.execution().wall, run.wall);
        for cut in [1, line.len() / 2, line.len() - 2] {
            assert!(Record::read(&line[..cut]).is_none(), "a torn line of {cut} bytes");
        }
    }
}
