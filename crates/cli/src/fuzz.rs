//! `slotcast fuzz`.

mod month;

use std::collections::BTreeMap;
use std::num::NonZero;
use std::panic::catch_unwind;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use clap::Args;
use serde::Serialize;
use slotcast_sim::fault_simulation::{FaultReport, simulate_faults};

use crate::VERSION;
use crate::failure::Outcome;
use crate::format::counted;
use crate::output::{Destination, print};
use crate::outputs::{Kind, Outputs};
use crate::progress::Bar;

/// Simulate faults on whole nodes as they run in production, and check that they keep their word
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  slotcast fuzz --seeds 2000
  slotcast fuzz --seeds 1 --from 1234          one of them again
  slotcast fuzz --seeds 100000 --threads 8 --json faults.json
  slotcast fuzz --days 30                      one cluster for a month

A seed is a small cluster with simulated disks, clocks and network, and all that goes wrong there
(docs/understand/faults.md). Equal seeds are equal runs, on every machine. With --days
one cluster lives with the times of production, about half a minute of a core for each day: nothing that its nodes
keep may grow.

Exit status:
  0  every simulation ended well
  1  something did not hold; each failing seed is printed with the command that repeats it")]
pub(crate) struct Arguments {
    /// Number of simulations
    #[arg(long, value_name = "N", default_value = "200")]
    seeds: NonZero<u64>,

    /// The first seed
    #[arg(long, value_name = "SEED", default_value = "0")]
    from: u64,

    /// Simulations side by side; as many as there are cores unless said
    #[arg(long, value_name = "N")]
    threads: Option<NonZero<usize>>,

    /// Instead of short simulations, one cluster for so many days, with the times of production
    #[arg(long, value_name = "N", conflicts_with_all = ["seeds", "threads"])]
    days: Option<NonZero<u32>>,

    /// Write the result as JSON, to stdout for `-` (docs/understand/faults.md)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// What did not hold in one simulation.
#[derive(Debug, Serialize)]
struct Failing {
    seed: u64,
    violations: Vec<String>,
    repeat: String,
}

/// The sum of all simulations.
#[derive(Debug, Default, Serialize)]
struct Summary {
    version: &'static str,
    from: u64,
    seeds: u64,
    /// Of the seeds in their order: equal code gives an equal one.
    trace_hash: String,
    events: u64,
    acknowledged: u64,
    fetched: u64,
    given_up: u64,
    healed: u64,
    compacted_segments: u64,
    drained: u64,
    handed_over: u64,
    taken_away: u64,
    joined: u64,
    checked_acceptances: u64,
    injected: BTreeMap<&'static str, u64>,
    failing: Vec<Failing>,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let json = Outputs::default().file("--json", arguments.json.as_deref(), Kind::Json)?;
    if let Some(days) = arguments.days {
        return month::run(arguments.from, days.get(), json.as_ref());
    }
    let reports = run_all(arguments);
    let summary = summary(arguments, reports);
    if !json.as_ref().is_some_and(Destination::is_stdout) {
        print(&told(&summary))?;
    }
    if let Some(json) = &json {
        json.write_json(&summary)?;
    }
    Ok(if summary.failing.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The reports in the order of their seeds.
fn run_all(arguments: &Arguments) -> Vec<FaultReport> {
    let seeds = arguments.seeds.get();
    let bar = Bar::counting(seeds);
    let next = AtomicU64::new(0);
    let reports = Mutex::new(Vec::new());
    let cores = thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN);
    let failing = AtomicU64::new(0);
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= seeds {
                return;
            }
            let report = one(arguments.from.wrapping_add(number));
            let has_failed = u64::from(!report.violations.is_empty());
            let failing = failing.fetch_add(has_failed, Ordering::Relaxed) + has_failed;
            bar.tell(format!("{failing} failing"));
            bar.advance(1);
            reports
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner)
                .push((number, report));
        }
    };
    thread::scope(|scope| {
        for _ in 0..arguments.threads.unwrap_or(cores).get() {
            scope.spawn(work);
        }
    });
    bar.finish();
    let mut reports = reports.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    reports.sort_by_key(|(number, _)| *number);
    reports.into_iter().map(|(_, report)| report).collect()
}

/// A simulation in which an assertion fails is one that has failed; the others go on.
fn one(seed: u64) -> FaultReport {
    catch_unwind(|| simulate_faults(seed)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
        let violations = vec![format!("an assertion failed: {text}")];
        FaultReport { seed, violations, ..FaultReport::default() }
    })
}

fn summary(arguments: &Arguments, reports: Vec<FaultReport>) -> Summary {
    let mut all = Summary {
        version: VERSION,
        from: arguments.from,
        seeds: reports.len() as u64,
        ..Summary::default()
    };
    let mut hash = 0u64;
    for report in reports {
        hash = hash.rotate_left(7) ^ report.trace_hash;
        all.events += report.events;
        all.acknowledged += report.acknowledged;
        all.fetched += report.fetched;
        all.given_up += report.given_up;
        all.healed += report.healed;
        all.compacted_segments += report.compacted;
        all.drained += report.drained;
        all.handed_over += report.handed_over;
        all.taken_away += report.taken_away;
        all.joined += report.joined;
        all.checked_acceptances += report.acceptances;
        for (kind, count) in report.injected.all() {
            *all.injected.entry(kind).or_default() += count;
        }
        if !report.violations.is_empty() {
            let repeat = format!("slotcast fuzz --seeds 1 --from {}", report.seed);
            all.failing.push(Failing { seed: report.seed, violations: report.violations, repeat });
        }
    }
    all.trace_hash = format!("{hash:016x}");
    all
}

fn told(summary: &Summary) -> String {
    let mut text = String::new();
    for failing in &summary.failing {
        text.push_str(&format!("seed {} fails:\n", failing.seed));
        for violation in &failing.violations {
            text.push_str(&format!("  {violation}\n"));
        }
        text.push_str(&format!("  repeat it: {}\n", failing.repeat));
    }
    let kinds: Vec<_> = summary
        .injected
        .iter()
        .map(|(kind, count)| format!("{} {count}", kind.replace('_', " ")))
        .collect();
    let Summary { acknowledged, fetched, healed, compacted_segments, events, trace_hash, .. } =
        summary;
    let Summary { drained, handed_over, taken_away, joined, .. } = summary;
    text.push_str(&format!(
        "{}, {} failing; faults: {}; {acknowledged} chunks acknowledged, {fetched} fetched, {healed} \
         healed, {compacted_segments} segments compacted; {drained} nodes drained, {handed_over} have \
         handed over, {taken_away} taken away, {joined} joined; {events} events, trace {trace_hash}\n",
        counted(usize::try_from(summary.seeds).unwrap_or(usize::MAX), "simulation"),
        summary.failing.len(),
        kinds.join(", "),
    ));
    text
}
