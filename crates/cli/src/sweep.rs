//! `slotcast sweep`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use slotcast_lab::sweep::{
    Knee, KneeOf, Program, Results, Sweep, SweepEnd, SweepFindings, SweepProgress, SweepReport,
    Verdict, check,
};
use slotcast_lab::{Cost, Execution, Experiment, InputError, Runner};

use slotcast_units::Span;

use crate::failure::{Failure, Outcome};
use crate::format::{counted, figure};
use crate::interrupt::{INTERRUPTED, stop_at_ctrl_c};
use crate::output::{Destination, print};
use crate::outputs::{Kind, Outputs};
use crate::progress::Bar;
use crate::sim::sweep_table;
use crate::{VERSION, chart};

/// Run every point of a sweep, keep what is finished, and go on where it was stopped
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  slotcast sweep experiments/open-loop.toml
  slotcast sweep experiments/first.toml --axis workload.window=1..64*2
  slotcast sweep experiments/first.toml --axis workload.window=1..8 --axis disk.rate=400MiB/s,1GB/s
  slotcast sweep experiments/first.toml --axis workload.chunk_size=4KiB..4MiB*4 --json sweep.json
  slotcast sweep experiments/open-loop.toml --report page --p99 5ms

Finished runs are kept in a folder (--out). The same command goes on where it was stopped.")]
pub(crate) struct Arguments {
    /// The experiment file (TOML)
    file: PathBuf,

    /// Sweep a key over values (a,b,c) or a range (1..8, 1..64*2, 0%..50%+10%), whatever the file says
    /// of it; several are crossed
    #[arg(long = "axis", value_name = "KEY=VALUES")]
    axes: Vec<String>,

    /// Set a key, whatever the file says or sweeps; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,

    /// Number of seeds: the same as --set seeds.count=N. More seeds go on with those that are there
    #[arg(long, value_name = "N")]
    seeds: Option<u32>,

    /// The first seed: the same as --set seeds.first=S
    #[arg(long, value_name = "S")]
    seed: Option<u64>,

    /// Run it however much memory and time it is estimated to take
    #[arg(long)]
    force: bool,

    /// Number of threads; one per core if not given. The results do not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,

    /// The folder in which finished runs are kept; beside the experiment, NAME.sweep, if not given
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Write a page, pictures and data into this folder (docs/simulate/reports.md)
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,

    /// The p99 that must be kept: what the page says and draws is held against it
    #[arg(long, value_name = "LATENCY", requires = "report")]
    p99: Option<Span>,

    /// Write the results as JSON, to stdout for `-` (docs/simulate/json.md)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let experiment = read(arguments)?;
    if !arguments.force {
        let threads = Runner::new(arguments.threads.map(usize::from))?.threads();
        // However long it takes, it can be stopped and goes on.
        Cost::of_experiment(&experiment, threads).check(false)?;
    }
    let folder = arguments.out.clone().unwrap_or_else(|| arguments.file.with_extension("sweep"));
    let mut outputs = Outputs::beside([&arguments.file]);
    outputs.keep("where finished runs are kept", &Results::file(&folder));
    let page = outputs.report("--report", arguments.report.as_deref())?;
    let json = outputs.file("--json", arguments.json.as_deref(), Kind::Json)?;
    let program = Program::of_this_process().map_err(|error| {
        Failure::Input(InputError::plain(format!("cannot read myself: {error}")))
    })?;
    let mut sweep = Sweep::new(&experiment, Results::open(&folder)?, &program);
    for note in notes(&sweep) {
        eprintln!("note: {note}");
    }

    let runner = Runner::new(arguments.threads.map(usize::from))?;
    let stop = stop_at_ctrl_c()?;
    let points = experiment.points.len();
    let bar = Bar::counting(SweepProgress::units_of(sweep.runs() - sweep.reused()));
    let end = sweep.run(&runner, &stop, &mut |progress| {
        bar.tell(format!("{} of {points} points", progress.points));
        bar.advance(progress.units);
    });
    bar.finish();
    let runs = match end? {
        SweepEnd::Finished(runs) => runs,
        SweepEnd::Stopped { runs } => {
            eprintln!(
                "Stopped: {runs} of {} are kept in `{}`. The same command goes on from there.",
                counted(sweep.runs(), "run"),
                folder.display()
            );
            return Ok(ExitCode::from(INTERRUPTED));
        }
    };

    let findings = SweepFindings::of(&experiment, &runs);
    let report = SweepReport::new(VERSION, &experiment, &runs, &findings, time_of(&runs));
    if !json.as_ref().is_some_and(Destination::is_stdout) {
        print(&told(&experiment, &report, &findings, &sweep))?;
    }
    if let Some(page) = &page {
        let sentences: Vec<String> = report.knees.chunks(2).map(sentence).collect();
        let found = slotcast_report::sim::Results {
            experiment: &experiment,
            report: &report.sim,
            seen: &[],
            notes: Vec::new(),
        };
        let shown = slotcast_report::sim::sweep_page(&found, arguments.p99, &sentences);
        let place = slotcast_report::write(&shown, page)?;
        if !json.as_ref().is_some_and(Destination::is_stdout) {
            print(&format!("report: {}\n", place.display()))?;
        }
    }
    if let Some(json) = &json {
        json.write_json(&report)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn read(arguments: &Arguments) -> Result<Experiment, Failure> {
    let mut overrides = arguments.set.clone();
    overrides.extend(arguments.seeds.map(|count| format!("seeds.count={count}")));
    overrides.extend(arguments.seed.map(|first| format!("seeds.first={first}")));
    let experiment = Experiment::from_file_with_axes(&arguments.file, &overrides, &arguments.axes)?;
    check(&experiment, &arguments.file.display().to_string())?;
    Ok(experiment)
}

/// What a user may want to know of the results that were found.
fn notes(sweep: &Sweep<'_>) -> Vec<String> {
    let results = sweep.results();
    let folder = results.folder().display();
    let mut notes = Vec::new();
    if results.torn() > 0 {
        notes.push(format!("a line of `{folder}` was torn, and is cut; its run is done again"));
    }
    if results.damaged() > 0 {
        notes.push(format!("{} in `{folder}` cannot be read", counted(results.damaged(), "line")));
    }
    if sweep.foreign() > 0 {
        notes.push(format!(
            "{} in `{folder}` of other settings, seeds or builds of this program: kept, not used",
            counted(sweep.foreign(), "run"),
        ));
    }
    notes
}

/// The time that all runs took, each on its thread.
fn time_of(runs: &[Vec<Execution>]) -> Duration {
    runs.iter().flatten().map(|run| run.wall).sum()
}

fn told(
    experiment: &Experiment,
    report: &SweepReport,
    findings: &SweepFindings,
    sweep: &Sweep<'_>,
) -> String {
    let sim = &report.sim;
    let mut text = sim.name.clone();
    if let Some(title) = &sim.title {
        text.push_str(&format!(": {title}"));
    }
    text.push_str(&format!("\n{}\n", sweep_table(experiment, sim)));
    for name in ["chunks_per_s", "latency_us.p99"] {
        let grid = findings.metrics.iter().find(|grid| grid.name == name).expect("always measured");
        if let Some(chart) = chart::of(findings, grid) {
            text.push_str(&format!("\n{chart}"));
        }
    }
    text.push('\n');
    for pair in report.knees.chunks(2) {
        text.push_str(&format!("{}\n", sentence(pair)));
    }
    let kept = match sweep.reused() {
        0 => String::new(),
        reused => format!(", {reused} of them kept from before"),
    };
    text.push_str(&format!(
        "\n{}{kept}; {} events in {} s of all threads together; trace hash {}\nkept in `{}`\n",
        counted(sweep.runs(), "run"),
        sim.events,
        figure(sim.wall_time_s),
        sim.trace_hash,
        sweep.results().folder().display(),
    ));
    text
}

/// The knees of one line in words.
fn sentence(knees: &[Knee]) -> String {
    let first = &knees[0];
    let held = match first.line.as_str() {
        "" => String::new(),
        held => format!(" ({held})"),
    };
    let place = format!("{}{held}", first.axis);
    if knees.iter().all(|knee| knee.verdict == Verdict::NoGrowth) {
        return format!("{place}: throughput does not grow; a knee, if there is one, lies below.");
    }
    if knees.iter().all(|knee| knee.verdict == Verdict::NotInRange) {
        return format!("{place}: no knee in this range.");
    }
    let parts: Vec<_> = knees.iter().map(part).collect();
    format!("{place}: {}.", parts.join("; "))
}

fn part(knee: &Knee) -> String {
    let doubt = if knee.certain { "" } else { " (the intervals leave it open)" };
    match (knee.of, &knee.verdict) {
        (KneeOf::Throughput, Verdict::At(label)) => {
            format!("throughput stops growing at {label}{doubt}")
        }
        (KneeOf::Latency, Verdict::At(label)) => format!("latency takes off beyond {label}{doubt}"),
        (KneeOf::Throughput, Verdict::AtOrBelow(label)) => {
            format!("throughput hardly grows from {label} on{doubt}")
        }
        (KneeOf::Latency, Verdict::AtOrBelow(label)) => {
            format!("latency takes off from {label} on{doubt}")
        }
        (KneeOf::Throughput, _) => "throughput has no knee in this range".into(),
        (KneeOf::Latency, _) => "latency has no knee in this range".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn knee(of: KneeOf, verdict: Verdict, certain: bool) -> Knee {
        Knee { axis: "workload.window".into(), line: String::new(), of, verdict, certain }
    }

    #[test]
    fn knees_are_told_in_one_sentence() {
        let pair =
            |a, b| sentence(&[knee(KneeOf::Throughput, a, true), knee(KneeOf::Latency, b, false)]);
        assert_eq!(
            pair(Verdict::At("8".into()), Verdict::At("4".into())),
            "workload.window: throughput stops growing at 8; latency takes off beyond 4 (the intervals \
             leave it open)."
        );
        assert!(pair(Verdict::NotInRange, Verdict::NotInRange).ends_with("no knee in this range."));
        assert!(pair(Verdict::NoGrowth, Verdict::NoGrowth).contains("does not grow"));
    }
}
