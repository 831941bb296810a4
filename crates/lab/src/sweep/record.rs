//! A finished run as one line of JSON.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use slotcast_sim::{
    DiskWait, Latencies, Little, PooledLatencies, PortQueues, RunReport, SortedLatencies,
};
use slotcast_units::{Size, Span};

use super::RunKey;
use crate::metrics::{counts_named, named_counts};
use crate::runner::Execution;
use crate::warmup::Batches;

/// A finished run as it is kept. The keys of a line are those of `docs/simulate/sweeps.md`.
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
    /// In ascending order, each as the difference to the one before it.
    put_latencies_ns: Vec<u64>,
    get_latencies_ns: Vec<u64>,
    batches: Batches,
    disk_utilization: f64,
    disk_queue_length: f64,
    disk_wait_us: f64,
    disk_wait_at_random_us: Option<f64>,
    link_utilization: f64,
    requests: LittleRecord,
    chunks_at_disks: LittleRecord,
    port_queue_bytes: Option<(f64, u64)>,
    counts: BTreeMap<String, u64>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct LittleRecord {
    elapsed_ns: u64,
    members: u64,
    sojourns_ns: u128,
    integral_ns: u128,
    edges_ns: i128,
}

// Everything is taken apart, so that what a report learns to say cannot be forgotten here.

impl From<Little> for LittleRecord {
    fn from(little: Little) -> LittleRecord {
        let Little { elapsed, members, sojourns, integral, edges } = little;
        LittleRecord {
            elapsed_ns: elapsed.as_ns(),
            members,
            sojourns_ns: sojourns,
            integral_ns: integral,
            edges_ns: edges,
        }
    }
}

impl From<LittleRecord> for Little {
    fn from(record: LittleRecord) -> Little {
        let LittleRecord { elapsed_ns, members, sojourns_ns, integral_ns, edges_ns } = record;
        Little {
            elapsed: Span::from_ns(elapsed_ns),
            members,
            sojourns: sojourns_ns,
            integral: integral_ns,
            edges: edges_ns,
        }
    }
}

fn differences(latencies: &SortedLatencies) -> Vec<u64> {
    let mut before = 0;
    let step = |span: Span| span.as_ns() - std::mem::replace(&mut before, span.as_ns());
    latencies.iter().map(step).collect()
}

fn latencies(differences: &[u64]) -> SortedLatencies {
    let sums = differences.iter().scan(0u64, |sum, step| {
        *sum = sum.saturating_add(*step);
        Some(Span::from_ns(*sum))
    });
    SortedLatencies::of(sums)
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
            // They follow from the latencies.
            latency: _,
            put_latency: _,
            get_latency: _,
            latencies,
            disk_utilization,
            disk_queue_length,
            disk_wait: DiskWait { measured, at_random },
            link_utilization,
            requests,
            chunks_at_disks,
            port_queues,
            counts,
            // Not kept: a sweep has many runs, and each of them many requests.
            completions: _,
        } = &run.report;
        let counts = named_counts(counts).map(|(name, count)| (name.to_owned(), count));
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
            put_latencies_ns: differences(&latencies.puts),
            get_latencies_ns: differences(&latencies.gets),
            batches: run.batches.clone(),
            disk_utilization: *disk_utilization,
            disk_queue_length: *disk_queue_length,
            disk_wait_us: *measured,
            disk_wait_at_random_us: *at_random,
            link_utilization: *link_utilization,
            requests: (*requests).into(),
            chunks_at_disks: (*chunks_at_disks).into(),
            port_queue_bytes: port_queues.as_ref().map(|q| (q.mean, q.longest.as_bytes())),
            counts: counts.into(),
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

    /// The run again, without its completions and samples.
    pub(super) fn execution(&self) -> Execution {
        let latencies = Latencies {
            puts: latencies(&self.put_latencies_ns),
            gets: latencies(&self.get_latencies_ns),
        };
        let queues = self.port_queue_bytes.map(|(mean, longest)| PortQueues {
            mean,
            longest: Size::from_bytes(longest),
            samples: Vec::new(),
        });
        let report = RunReport {
            seed: self.seed,
            length: Span::from_ns(self.length_ns),
            warmup: Span::from_ns(self.warmup_ns),
            events: self.events,
            trace_hash: self.trace_hash,
            chunks_per_s: self.chunks_per_s,
            latency: PooledLatencies::of(latencies.both()).summary(),
            put_latency: PooledLatencies::of([&latencies.puts]).summary(),
            get_latency: PooledLatencies::of([&latencies.gets]).summary(),
            latencies,
            disk_utilization: self.disk_utilization,
            disk_queue_length: self.disk_queue_length,
            disk_wait: DiskWait {
                measured: self.disk_wait_us,
                at_random: self.disk_wait_at_random_us,
            },
            link_utilization: self.link_utilization,
            requests: self.requests.into(),
            chunks_at_disks: self.chunks_at_disks.into(),
            port_queues: queues,
            counts: counts_named(|name| self.counts.get(name).copied().unwrap_or(0)),
            completions: Vec::new(),
        };
        let wall = Duration::from_nanos(self.wall_ns);
        Execution { report, wall, batches: self.batches.clone() }
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
        let batches = Batches::of(&report.completions);
        report.completions.clear();
        let run = Execution { report, wall: Duration::from_nanos(1_234_567_891), batches };
        let program = Program::of_this_process().unwrap();
        let key = RunKey::of(&program, &configuration, 3);
        let line = Record::new(key, "a=1", &run).line();
        let (read, record) = Record::read(&line).unwrap();
        assert_eq!(read, key);
        assert_eq!(record.execution().report, run.report);
        assert_eq!(record.execution().wall, run.wall);
        assert_eq!(record.execution().batches, run.batches);
        for cut in [1, line.len() / 2, line.len() - 2] {
            assert!(Record::read(&line[..cut]).is_none(), "a torn line of {cut} bytes");
        }
    }
}
