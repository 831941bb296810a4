//! What an experiment will take of memory and time, roughly: to refuse a slip before it runs.
//!
//! The figures are within a factor of two or three of what was measured on runs of 1000 to 100 000 nodes:
//! enough to tell minutes from days.

use std::fmt;
use std::time::Duration;

use slotcast_sim::{Fidelity, Load, ProtocolKind, Scenario, demand};
use slotcast_units::Share;

use crate::experiment::Experiment;
use crate::input_error::InputError;

/// Memory of an initiator or a target.
const REPLICAST_NODE: f64 = 5000.0;
const UNICAST_NODE: f64 = 1000.0;
/// Memory of a request that is under way.
const UNDER_WAY: f64 = 300.0;
/// Memory of one that waits for a place in its initiator's window.
const WAITING: f64 = 64.0;
/// Memory of one that has ended, for as long as its run lasts, and until its point is summed up.
const ENDED: f64 = 28.0;
const LATENCY: f64 = 4.0;
/// Unicast chunks of at most so many frames are followed frame by frame at either fidelity.
const FOLLOWED: f64 = 16.0;
/// Memory of a replica that may be asked for.
const REPLICA: f64 = 48.0;
/// An event.
const EVENT: Duration = Duration::from_nanos(1000);

/// A run that takes longer is refused.
const LONGEST_RUN: Duration = Duration::from_secs(3600);
/// So are runs that take longer all together.
const LONGEST: Duration = Duration::from_secs(24 * 3600);
/// Part of the memory that there is, which runs side by side may take.
const PART_OF_MEMORY: f64 = 0.75;
/// The memory that is taken to be there where the system does not say.
const MEMORY: f64 = 8.0 * GIB;
const GIB: f64 = (1u64 << 30) as f64;

/// What one run takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunCost {
    /// Bytes while it runs.
    pub memory: f64,
    /// Bytes of its latencies, which stay until its point is summed up.
    pub latencies: f64,
    /// Events.
    pub events: f64,
}

impl RunCost {
    /// Of a run of `scenario`, which need not be one that can be run.
    pub fn of(scenario: &Scenario) -> RunCost {
        let Scenario { cluster, network, protocol, workload, run, faults, .. } = scenario;
        let is_unicast = !matches!(
            protocol.kind,
            ProtocolKind::ReplicastM | ProtocolKind::ReplicastH | ProtocolKind::ReplicastProxy
        );
        let seconds = run.length.as_secs_f64();
        let replicas = f64::from(cluster.replicas);
        let capacity = demand(scenario).capacity();
        let asked = match workload.load {
            Load::Open => workload.arrivals_per_s as f64,
            Load::Closed => f64::INFINITY,
        };
        let (ended, waiting) =
            (capacity.min(asked) * seconds, (asked.min(1e18) - capacity).max(0.0) * seconds);
        let is_open = workload.load == Load::Open;
        let under_way = f64::from(cluster.initiators) * f64::from(workload.window);
        let under_way = if is_open { under_way.min(ended + waiting) } else { under_way };
        let is_kept = workload.get_share > Share::ZERO || *faults != Default::default();
        let preloaded = match workload.get_share > Share::ZERO {
            true => f64::from(workload.preloaded_chunks),
            false => 0.0,
        };
        let kept = if is_kept { ended + preloaded } else { 0.0 };

        let messages = match is_unicast {
            true => 8.0 * replicas,
            false => 3.0 * f64::from(cluster.group_size) + 4.0 * replicas + 4.0,
        };
        let frames =
            (workload.chunk_size.as_bytes() as f64 / network.frame.as_bytes().max(1) as f64).ceil();
        let by_frame = run.fidelity == Fidelity::Frame || is_unicast && frames <= FOLLOWED;
        let frames = if by_frame { 2.0 * frames * replicas } else { 0.0 };
        let node = if is_unicast { UNICAST_NODE } else { REPLICAST_NODE };
        let nodes = f64::from(cluster.initiators) + f64::from(cluster.targets);
        RunCost {
            memory: nodes * node
                + under_way * UNDER_WAY
                + if is_open { waiting * WAITING } else { 0.0 }
                + ended * ENDED
                + kept * replicas * REPLICA,
            latencies: ended * LATENCY,
            events: nodes + (ended + under_way) * (messages + frames),
        }
    }

    /// How long it takes on one thread.
    fn time(&self) -> Duration {
        Duration::try_from_secs_f64(self.events * EVENT.as_secs_f64()).unwrap_or(Duration::MAX)
    }
}

/// What all runs of an experiment take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// Bytes, with as many runs side by side as there are threads.
    pub memory: f64,
    /// The longest run.
    pub longest: Duration,
    /// All of them, on all threads.
    pub time: Duration,
    /// How many.
    pub runs: u64,
}

impl Cost {
    /// Of `seeds` runs of each of the `scenarios`.
    pub fn of<'a>(
        scenarios: impl IntoIterator<Item = &'a Scenario>,
        seeds: u32,
        threads: usize,
    ) -> Cost {
        let side_by_side = f64::from(seeds).min(threads as f64);
        let none = Cost { memory: 0.0, longest: Duration::ZERO, time: Duration::ZERO, runs: 0 };
        let mut total = 0.0;
        let mut all = scenarios.into_iter().map(RunCost::of).fold(none, |all, run| {
            let memory = run.memory * side_by_side + run.latencies * f64::from(seeds);
            total += run.events * f64::from(seeds);
            Cost {
                memory: all.memory.max(memory),
                longest: all.longest.max(run.time()),
                runs: all.runs + u64::from(seeds),
                ..all
            }
        });
        let seconds = total * EVENT.as_secs_f64() / threads as f64;
        all.time = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX).max(all.longest);
        all
    }

    /// Of an experiment.
    pub fn of_experiment(experiment: &Experiment, threads: usize) -> Cost {
        let scenarios = experiment.points.iter().map(|point| &point.scenario);
        Cost::of(scenarios, experiment.seeds.count, threads)
    }

    /// An error if that is more memory than there is, or a run takes more than an hour, or, where they
    /// are all `at_once`, all of them more than a day.
    ///
    /// # Errors
    /// With the estimate, and what would make it smaller.
    pub fn check(&self, at_once: bool) -> Result<(), Box<InputError>> {
        self.within(memory_there().unwrap_or(MEMORY) * PART_OF_MEMORY, at_once)
    }

    fn within(&self, memory: f64, at_once: bool) -> Result<(), Box<InputError>> {
        let too_much = if self.memory > memory {
            format!("more than the {} that may be taken of this machine's memory", bytes(memory))
        } else if self.longest > LONGEST_RUN {
            format!("and a single run more than {}", Time(LONGEST_RUN))
        } else if at_once && self.time > LONGEST {
            format!("more than {}", Time(LONGEST))
        } else {
            return Ok(());
        };
        let runs = if self.runs == 1 { "1 run".into() } else { format!("{} runs", self.runs) };
        let message = format!(
            "{runs} would take about {} of memory and {}: {too_much}",
            bytes(self.memory),
            Time(self.time)
        );
        let help = "fewer nodes, requests or seeds, a shorter `run.length`, or fewer `--threads` for less \
                    memory; `--force` runs it all the same";
        Err(InputError::plain(message).with_help(Some(help.into())))
    }
}

/// `12 GiB`.
fn bytes(bytes: f64) -> String {
    match bytes / GIB {
        gib if gib >= 10.0 => format!("{gib:.0} GiB"),
        gib if gib >= 1.0 => format!("{gib:.1} GiB"),
        gib => format!("{:.0} MiB", (gib * 1024.0).ceil()),
    }
}

struct Time(Duration);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_secs_f64() {
            time if time < 120.0 => write!(f, "{time:.0} s"),
            time if time < 7200.0 => write!(f, "{:.0} min", time / 60.0),
            time if time < 48.0 * 3600.0 => write!(f, "{:.0} h", time / 3600.0),
            time => write!(f, "{:.0} days", time / 86_400.0),
        }
    }
}

/// Memory that programs can take without swapping, where the system says it.
fn memory_there() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotcast_sim::{Cluster, Run, Workload};
    use slotcast_units::Span;

    fn nodes(initiators: u32, targets: u32) -> Scenario {
        Scenario {
            cluster: Cluster { initiators, targets, ..Cluster::default() },
            ..Scenario::default()
        }
    }

    #[test]
    fn a_run_takes_about_as_many_events_as_are_estimated() {
        for kind in [ProtocolKind::ReplicastM, ProtocolKind::ReplicastH, ProtocolKind::UchCcp] {
            for fidelity in [Fidelity::Flow, Fidelity::Frame] {
                let mut scenario = nodes(36, 18);
                scenario.protocol.kind = kind;
                scenario.run =
                    Run { length: Span::from_ms(10), warmup: Span::from_ms(2), fidelity };
                let estimated = RunCost::of(&scenario).events;
                let report = slotcast_sim::run(&scenario, 1).expect("it can be run");
                let off = estimated / report.events as f64;
                assert!((0.3..4.0).contains(&off), "{kind:?} {fidelity:?}: {off}");
            }
        }
    }

    #[test]
    fn what_is_delivered_is_cheap_and_a_million_nodes_are_not() {
        let cheap = Cost::of([&Scenario::default()], 10, 2);
        assert!(cheap.memory < 0.1 * GIB && cheap.time < Duration::from_secs(60), "{cheap:?}");
        cheap.within(GIB, true).expect("it may run");
        let dear = Cost::of([&nodes(1_000_000, 1_000_000)], 10, 2);
        let error = dear.within(16.0 * GIB, true).unwrap_err().to_string();
        assert!(error.contains("10 runs would take about") && error.contains("GiB"), "{error}");
        let error = dear.within(1e6 * GIB, true).unwrap_err().to_string();
        assert!(error.contains("a single run more than 60 min"), "{error}");
    }

    #[test]
    fn what_waits_in_an_overload_counts() {
        let open = |arrivals_per_s| Scenario {
            workload: Workload { load: Load::Open, arrivals_per_s, ..Workload::default() },
            ..Scenario::default()
        };
        let (fair, over) = (RunCost::of(&open(10_000)), RunCost::of(&open(1_000_000_000)));
        assert!(over.memory > 100.0 * fair.memory, "{fair:?} {over:?}");
    }

    #[test]
    fn times_are_told_in_units_of_their_size() {
        let said = |seconds| Time(Duration::from_secs(seconds)).to_string();
        assert_eq!([said(90), said(600), said(86_400)], ["90 s", "10 min", "24 h"]);
        assert_eq!(said(9 * 86_400), "9 days");
    }
}
