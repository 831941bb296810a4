//! `slotcast fuzz --days`.

use std::collections::BTreeMap;
use std::process::ExitCode;

use serde::Serialize;
use slotcast_sim::fault_simulation::{Day, Month, simulate_month};

use crate::VERSION;
use crate::failure::Outcome;
use crate::output::{Destination, print};
use crate::progress::Bar;

/// What programs are told of a month.
#[derive(Debug, Serialize)]
struct Summary {
    version: &'static str,
    seed: u64,
    days: Vec<Row>,
    injected: BTreeMap<&'static str, u64>,
    events: u64,
    /// Equal code gives an equal one.
    trace_hash: String,
    violations: Vec<String>,
}

/// One day, with sums since the beginning and what is kept at its end.
#[derive(Debug, Serialize)]
struct Row {
    day: u32,
    events: u64,
    faults: u64,
    answered: u64,
    state_bytes: u64,
    replicas: u64,
    segments: u64,
    rows: u64,
}

pub(super) fn run(seed: u64, days: u32, json: Option<&Destination>) -> Outcome {
    let bar = Bar::counting(u64::from(days));
    let month = simulate_month(seed, days, |day| {
        bar.tell(format!("{} faults", day.faults));
        bar.advance(1);
    });
    bar.finish();
    if !json.is_some_and(Destination::is_stdout) {
        print(&told(seed, &month))?;
    }
    let ended_well = month.report.violations.is_empty();
    if let Some(json) = json {
        json.write_json(&summary(seed, month))?;
    }
    Ok(if ended_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn summary(seed: u64, month: Month) -> Summary {
    let row = |day: Day| Row {
        day: day.number,
        events: day.events,
        faults: day.faults,
        answered: day.answered,
        state_bytes: day.state,
        replicas: day.replicas,
        segments: day.segments,
        rows: day.rows,
    };
    Summary {
        version: VERSION,
        seed,
        days: month.days.into_iter().map(row).collect(),
        injected: month.report.injected.all().into(),
        events: month.report.events,
        trace_hash: format!("{:016x}", month.report.trace_hash),
        violations: month.report.violations,
    }
}

fn told(seed: u64, month: &Month) -> String {
    let mut text =
        String::from(" day       events  faults  answered   state, KB  replicas  segments  rows\n");
    for day in &month.days {
        text.push_str(&format!(
            "{:4} {:12} {:7} {:9} {:11} {:9} {:9} {:5}\n",
            day.number,
            day.events,
            day.faults,
            day.answered,
            day.state / 1000,
            day.replicas,
            day.segments,
            day.rows,
        ));
    }
    for violation in &month.report.violations {
        text.push_str(&format!("does not hold: {violation}\n"));
    }
    let kinds = month.report.injected.all();
    let kinds: Vec<_> = kinds
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(kind, count)| format!("{} {count}", kind.replace('_', " ")))
        .collect();
    text.push_str(&format!(
        "seed {seed}: {} days; {}; trace {:016x}\n",
        month.days.len(),
        kinds.join(", "),
        month.report.trace_hash,
    ));
    text
}
