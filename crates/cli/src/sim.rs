//! `slotcast sim`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;
use slotcast_lab::{
    Completions, Estimate, Execution, Experiment, InputError, Metrics, PointReport, Progress,
    Runner, SimReport, UNITS_PER_RUN, mismatches, write_trace,
};

use crate::failure::{Failure, Outcome};
use crate::format::{align_right, counted, estimate, figure, percentage, table};
use crate::output::{Destination, print};
use crate::progress::Bar;
use crate::{VERSION, list};

/// Run one experiment: every point of its sweep with every seed
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  slotcast sim experiments/first.toml
  slotcast sim experiments/first.toml --set disk.rate=1000MiB/s --set workload.chunk_size=1MiB
  slotcast sim experiments/first.toml --seeds 20 --json result.json
  slotcast sim experiments/first.toml --seeds 1 --trace trace.txt
  slotcast sim experiments/first.toml --check-determinism
  slotcast sim --list")]
pub(crate) struct Arguments {
    /// The experiment file (TOML)
    #[arg(required_unless_present = "list")]
    file: Option<PathBuf>,

    /// Set a key, whatever the file says or sweeps; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,

    /// Number of seeds: the same as --set seeds.count=N
    #[arg(long, value_name = "N")]
    seeds: Option<u32>,

    /// The first seed: the same as --set seeds.first=S
    #[arg(long, value_name = "S")]
    seed: Option<u64>,

    /// Number of threads; one per core if not given. The results do not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,

    /// Write the results as JSON, to stdout for `-` (docs/json.md)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Write every event of the first seed's run, to stdout for `-` (docs/experiments.md)
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,

    /// Run everything twice, in different threads, and compare the trace hashes
    #[arg(long)]
    check_determinism: bool,

    /// List every key that can be set, and stop
    #[arg(long)]
    list: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    if arguments.list {
        print(&format!("{}\n", list::keys(None)))?;
        return Ok(ExitCode::SUCCESS);
    }
    let experiment = read(arguments)?;
    let mut json = Destination::open_if_given(arguments.json.as_deref())?;
    let mut trace = Destination::open_if_given(arguments.trace.as_deref())?;

    let bar = Bar::new(units(arguments, &experiment));
    let advance = |units| bar.advance(units);
    if let Some(trace) = &mut trace {
        let scenario = &experiment.points[0].scenario;
        trace.write(|out| write_trace(scenario, experiment.seeds.first, out, &advance))?;
    }
    let start = Instant::now();
    let (runs, same) = execute(arguments, &experiment, &advance)?;
    bar.finish();
    let report = SimReport::new(VERSION, &experiment, &runs, start.elapsed());
    if !same {
        return Ok(ExitCode::from(1));
    }

    let taken = |destination: &Option<Destination>| {
        destination.as_ref().is_some_and(Destination::is_stdout)
    };
    if !taken(&json) && !taken(&trace) {
        print(&told(&experiment, &report))?;
        if arguments.check_determinism {
            let runs = counted(runs.iter().map(Vec::len).sum(), "run");
            print(&format!("deterministic: {runs}, each done twice, same trace hashes\n"))?;
        }
    }
    if let Some(json) = &mut json {
        json.write_json(&report)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn read(arguments: &Arguments) -> Result<Experiment, Failure> {
    let mut overrides = arguments.set.clone();
    overrides.extend(arguments.seeds.map(|count| format!("seeds.count={count}")));
    overrides.extend(arguments.seed.map(|first| format!("seeds.first={first}")));
    let file = arguments.file.as_ref().expect("clap requires a file without --list");
    let experiment = Experiment::from_file(file, &overrides)?;
    let is_stdout = |path: &Option<PathBuf>| path.as_deref() == Some(Path::new("-"));
    if is_stdout(&arguments.json) && is_stdout(&arguments.trace) {
        let message = "--json and --trace cannot both go to standard output";
        return Err(InputError::plain(message).into());
    }
    if arguments.trace.is_some() && experiment.points.len() != 1 {
        let message = format!(
            "--trace needs an experiment of one point; this one has {}",
            experiment.points.len()
        );
        let swept: Vec<_> = experiment.points[0].swept.iter().map(|(s, _)| s.key).collect();
        let help = format!("choose a point with --set for each of {}", swept.join(", "));
        return Err(InputError::plain(message).with_help(Some(help)).into());
    }
    Ok(experiment)
}

/// Units of progress that everything together will report.
fn units(arguments: &Arguments, experiment: &Experiment) -> u64 {
    let once = experiment.points.len() as u64 * u64::from(experiment.seeds.count);
    let times = if arguments.check_determinism { 2 } else { 1 };
    (once * times + u64::from(arguments.trace.is_some())) * UNITS_PER_RUN
}

/// Runs everything, twice if asked to; false if the second time differs.
fn execute(
    arguments: &Arguments,
    experiment: &Experiment,
    progress: Progress<'_>,
) -> Result<(Vec<Vec<Execution>>, bool), Failure> {
    let Experiment { points, seeds, .. } = experiment;
    let runner = Runner::new(arguments.threads.map(usize::from))?;
    let runs = runner.run(points, *seeds, Completions::Drop, progress)?;
    if !arguments.check_determinism {
        return Ok((runs, true));
    }
    // Other threads, while the first ones still live: nothing left in a thread can be found again.
    let other = Runner::new(arguments.threads.map(usize::from))?;
    let again = other.run(points, *seeds, Completions::Drop, progress)?;
    let different = mismatches(points, &runs, &again);
    for mismatch in &different {
        eprintln!(
            "Error: not deterministic: seed {} gave trace hash {:016x}, then {:016x} {}",
            mismatch.seed, mismatch.first, mismatch.second, mismatch.point
        );
    }
    Ok((runs, different.is_empty()))
}

fn told(experiment: &Experiment, report: &SimReport) -> String {
    let mut text = report.name.clone();
    if let Some(title) = &report.title {
        text.push_str(&format!(": {title}"));
    }
    text.push('\n');
    match &report.point {
        Some(point) => text.push_str(&metrics_table(&point.metrics, point)),
        None => text.push_str(&sweep_table(experiment, report)),
    }
    text.push_str(&format!(
        "\n\n{}, {} events in {:.3} s, {} events/s; seeds {} to {}; trace hash {}\n",
        counted(report.all_points().map(|point| point.runs.len()).sum(), "run"),
        report.events,
        report.wall_time_s,
        figure(report.events_per_s),
        report.seed,
        report.seeds.last().unwrap_or(&report.seed),
        report.trace_hash
    ));
    text
}

fn metrics_table(metrics: &Metrics, point: &PointReport) -> String {
    let mut table = table(&["metric", "mean ± 95 % interval", "unit"]);
    let mut row = |name: &str, value: String, unit: &str| {
        table.add_row([name, &value, unit]);
    };
    row("chunks_per_s", estimate(metrics.chunks_per_s), "1/s");
    let operations = [
        ("latency", Some(metrics.latency_us)),
        ("put latency", metrics.put_latency_us.filter(|_| metrics.get_latency_us.is_some())),
        ("get latency", metrics.get_latency_us),
    ];
    for (name, latency) in operations {
        let Some(latency) = latency else { continue };
        let parts: [(&str, Estimate); 6] = [
            ("mean", latency.mean),
            ("p50", latency.p50),
            ("p90", latency.p90),
            ("p99", latency.p99),
            ("p99.9", latency.p999),
            ("max", latency.max),
        ];
        for (part, value) in parts {
            row(&format!("{name}, {part}"), estimate(value), "us");
        }
    }
    row("disk utilization", percentage(metrics.disk_utilization), "");
    row("disk queue length", estimate(metrics.disk_queue_length), "chunks");
    row("link utilization", percentage(metrics.link_utilization), "");
    for (name, count) in point.counts.iter().filter(|(_, count)| **count > 0) {
        row(&name.replace('_', " "), count.to_string(), "in all runs");
    }
    align_right(&mut table, 1);
    table.to_string()
}

/// The points of a sweep, one line each.
pub(crate) fn sweep_table(experiment: &Experiment, report: &SimReport) -> String {
    let swept: Vec<_> = experiment.points[0].swept.iter().map(|(s, _)| s.key).collect();
    let columns = ["chunks/s", "latency us", "p99 us", "disk", "queue", "link", "failures"];
    let header: Vec<_> = swept.iter().copied().chain(columns).collect();
    let mut table = table(&header);
    for point in report.all_points() {
        let metrics = &point.metrics;
        let mut cells: Vec<_> = swept.iter().map(|key| point.sweep[key].clone()).collect();
        cells.extend([
            estimate(metrics.chunks_per_s),
            estimate(metrics.latency_us.mean),
            estimate(metrics.latency_us.p99),
            percentage(metrics.disk_utilization),
            estimate(metrics.disk_queue_length),
            percentage(metrics.link_utilization),
            point.counts["failures"].to_string(),
        ]);
        table.add_row(cells);
    }
    align_right(&mut table, swept.len());
    table.to_string()
}
