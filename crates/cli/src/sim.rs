//! `slotcast sim`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;
use slotcast_lab::setting::CLUSTER;
use slotcast_lab::{
    Closing, Completions, Cost, Experiment, InputError, Metrics, Onlooker, Point, PointReport,
    Runner, SimReport, Study, UNITS_PER_RUN, mismatches,
};
use slotcast_report::sim::{MAX_SEEN, Results, Seen};
use slotcast_trace::{SeriesSpec, TraceSpan, collect_series, write_events, write_perfetto};

use crate::failure::{Failure, Outcome};
use crate::format::{align_right, counted, estimate, figure, percentage, quantile, table};
use crate::output::{Destination, print};
use crate::outputs::{Kind, Outputs};
use crate::progress::Bar;
use crate::{VERSION, list, statistics};

/// Run one experiment: every point of its sweep with every seed
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  slotcast sim experiments/first.toml
  slotcast sim experiments/first.toml --set disk.rate=1000MiB/s --set workload.chunk_size=1MiB
  slotcast sim experiments/first.toml --seeds 20 --json result.json
  slotcast sim experiments/first.toml --report report
  slotcast sim experiments/first.toml --precision 1%
  slotcast sim experiments/first.toml --set statistics.warmup=found
  slotcast sim experiments/first.toml --seeds 1 --trace trace.json --trace-span 6ms..8ms
  slotcast sim experiments/first.toml --seeds 1 --events -
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

    /// Run more seeds until throughput, mean and p99 latency are known to within this part of them: the
    /// same as --set statistics.precision=P
    #[arg(long, value_name = "P")]
    precision: Option<String>,

    /// With a precision, the most seeds: the same as --set statistics.max_seeds=N
    #[arg(long, value_name = "N")]
    max_seeds: Option<u32>,

    /// With a precision, the most time: the same as --set statistics.max_time=T
    #[arg(long, value_name = "T")]
    max_time: Option<String>,

    /// The first seed: the same as --set seeds.first=S
    #[arg(long, value_name = "S")]
    seed: Option<u64>,

    /// Run it however much memory and time it is estimated to take
    #[arg(long)]
    force: bool,

    /// Number of threads; one per core if not given. The results do not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,

    /// Write the results as JSON, to stdout for `-` (docs/simulate/json.md)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Write a page, pictures and data into this folder (docs/simulate/reports.md)
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,

    /// Write what happens in the first seed's run for the Perfetto viewer, to stdout for `-`
    /// (docs/simulate/traces.md)
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,

    /// Write only this part of the run to the trace, as in 6ms..8ms
    #[arg(long, value_name = "FROM..TO", requires = "trace")]
    trace_span: Option<TraceSpan>,

    /// Write every event of the first seed's run as a line, to stdout for `-`
    /// (docs/simulate/traces.md)
    #[arg(long, value_name = "FILE")]
    events: Option<PathBuf>,

    /// Run everything twice, in different threads, and compare the trace hashes
    #[arg(long)]
    check_determinism: bool,

    /// List every key that can be set, and stop
    #[arg(long)]
    list: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    if arguments.list {
        print(&format!("{}\n", list::keys(&CLUSTER, None)))?;
        return Ok(ExitCode::SUCCESS);
    }
    let experiment = read(arguments)?;
    if !arguments.force {
        let threads = Runner::new(arguments.threads.map(usize::from))?.threads();
        Cost::of_experiment(&experiment, threads).check(true)?;
    }
    let mut outputs = Outputs::beside(&arguments.file);
    let folder = outputs.report("--report", arguments.report.as_deref())?;
    let json = outputs.file("--json", arguments.json.as_deref(), Kind::Json)?;
    let trace = outputs.file("--trace", arguments.trace.as_deref(), Kind::Trace)?;
    let events = outputs.file("--events", arguments.events.as_deref(), Kind::Events)?;

    let bar = Bar::new(0);
    let advance = |units| bar.advance(units);
    let (scenario, seed) = (&experiment.points[0].scenario, experiment.seeds.first);
    if let Some(trace) = &trace {
        let span = arguments.trace_span.unwrap_or(TraceSpan::WHOLE);
        bar.expect(UNITS_PER_RUN);
        trace.write(|out| write_perfetto(scenario, seed, span, out, &advance))?;
    }
    if let Some(events) = &events {
        bar.expect(UNITS_PER_RUN);
        events.write(|out| write_events(scenario, seed, out, &advance))?;
    }
    let start = Instant::now();
    let (study, same) = execute(arguments, &experiment, &bar)?;
    let seen = if folder.is_some() { look(&study, &bar)? } else { Vec::new() };
    bar.finish();
    let report = SimReport::of_study(VERSION, &study, start.elapsed());
    if !same {
        return Ok(ExitCode::from(1));
    }

    let quiet = [&json, &trace, &events].into_iter().flatten().any(Destination::is_stdout);
    if !quiet {
        print(&told(&experiment, &report))?;
        if arguments.check_determinism {
            let runs = counted(study.runs.iter().map(Vec::len).sum(), "run");
            print(&format!("deterministic: {runs}, each done twice, same trace hashes\n"))?;
        }
    }
    if let Some(json) = &json {
        json.write_json(&report)?;
    }
    if let Some(folder) = &folder {
        let notes = statistics::notes(&report);
        let page = slotcast_report::sim::page(&Results {
            experiment: &study.experiment,
            report: &report,
            seen: &seen,
            notes: notes.lines().collect(),
        });
        let place = slotcast_report::write(&page, folder)?;
        if !quiet {
            print(&format!("report: {}\n", place.display()))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn read(arguments: &Arguments) -> Result<Experiment, Failure> {
    let mut overrides = arguments.set.clone();
    overrides.extend(arguments.seeds.map(|count| format!("seeds.count={count}")));
    overrides.extend(arguments.seed.map(|first| format!("seeds.first={first}")));
    let precision = arguments.precision.as_ref();
    overrides.extend(precision.map(|share| format!("statistics.precision={share}")));
    overrides.extend(arguments.max_seeds.map(|most| format!("statistics.max_seeds={most}")));
    let max_time = arguments.max_time.as_ref();
    overrides.extend(max_time.map(|time| format!("statistics.max_time={time}")));
    let file = arguments.file.as_ref().expect("clap requires a file without --list");
    let experiment = Experiment::from_file(file, &overrides)?;
    let outputs = [
        ("--json", &arguments.json),
        ("--trace", &arguments.trace),
        ("--events", &arguments.events),
    ];
    let to_stdout = |path: &Option<PathBuf>| path.as_deref() == Some(Path::new("-"));
    let mut to_stdout = outputs.into_iter().filter(|(_, path)| to_stdout(path));
    if let (Some((first, _)), Some((second, _))) = (to_stdout.next(), to_stdout.next()) {
        let message = format!("{first} and {second} cannot both go to standard output");
        return Err(InputError::plain(message).into());
    }
    let mut of_one_run = outputs[1..].iter().filter(|(_, path)| path.is_some());
    if experiment.points.len() != 1
        && let Some((option, _)) = of_one_run.next()
    {
        let message = format!(
            "{option} needs an experiment of one point; this one has {}",
            experiment.points.len()
        );
        let swept: Vec<_> = experiment.points[0].swept.iter().map(|(key, _)| *key).collect();
        let help = format!("choose a point with --set for each of {}", swept.join(", "));
        return Err(InputError::plain(message).with_help(Some(help)).into());
    }
    Ok(experiment)
}

impl Onlooker for Bar {
    fn expect(&self, runs: u64) {
        Bar::expect(self, runs * UNITS_PER_RUN);
    }

    fn progress(&self, units: u64) {
        self.advance(units);
    }

    fn closing(&self, Closing { figure, wanted }: Closing) {
        let reached = figure.relative.map_or("?".into(), |part| format!("{:.1}", part * 100.0));
        self.tell(format!(
            "{} {} ± {reached} % → {} %",
            figure.name,
            crate::format::figure(figure.estimate.value),
            wanted * 100.0
        ));
    }
}

/// Runs everything, twice if asked to; false if the second time differs.
fn execute(
    arguments: &Arguments,
    experiment: &Experiment,
    bar: &Bar,
) -> Result<(Study, bool), Failure> {
    let runner = Runner::new(arguments.threads.map(usize::from))?;
    let study = runner.study(experiment, Completions::Drop, bar)?;
    if !arguments.check_determinism {
        return Ok((study, true));
    }
    // Other threads, while the first ones still live: nothing left in a thread can be found again.
    let other = Runner::new(arguments.threads.map(usize::from))?;
    bar.expect(study.runs.iter().map(Vec::len).sum::<usize>() as u64 * UNITS_PER_RUN);
    let again = other.again(&study, &|units| bar.advance(units))?;
    let different = mismatches(&study.experiment.points, &study.runs, &again);
    for mismatch in &different {
        eprintln!(
            "Error: not deterministic: seed {} gave trace hash {:016x}, then {:016x} {}",
            mismatch.seed, mismatch.first, mismatch.second, mismatch.point
        );
    }
    Ok((study, different.is_empty()))
}

/// Runs the first seed of each point once more and looks on, if so few can be told apart in a picture.
fn look(study: &Study, bar: &Bar) -> Result<Vec<Seen>, Failure> {
    let Experiment { points, seeds, .. } = &study.experiment;
    if points.len() > MAX_SEEN {
        return Ok(Vec::new());
    }
    bar.expect(points.len() as u64 * UNITS_PER_RUN);
    let look = |point: &Point| {
        let spec = SeriesSpec::new(&point.scenario);
        collect_series(&point.scenario, seeds.first, &spec, &|units| bar.advance(units))
            .map(|(run, series)| Seen { run, series })
    };
    Ok(points.iter().map(look).collect::<Result<_, _>>()?)
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
    text.push_str("\n\n");
    text.push_str(&statistics::notes(report));
    text.push_str(&format!(
        "\n{}, {} events in {:.3} s, {} events/s; seeds {} to {}; trace hash {}\n",
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
    let mut table = table(&["metric", "value ± 95 % interval", "unit"]);
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
        for (part, value) in latency.parts() {
            // More runs find a longer longest one: it has no interval to know.
            let runs = if part == "max" { 1 } else { point.runs.len() };
            row(&format!("{name}, {part}"), quantile(value, runs), "us");
        }
    }
    row("disk utilization", percentage(metrics.disk_utilization), "");
    row("disk queue length", estimate(metrics.disk_queue_length), "chunks");
    row("disk wait", estimate(metrics.disk_wait_us), "us");
    row("link utilization", percentage(metrics.link_utilization), "");
    for (name, count) in point.counts.iter().filter(|(_, count)| **count > 0) {
        row(&name.replace('_', " "), count.to_string(), "in all runs");
    }
    align_right(&mut table, 1);
    table.to_string()
}

/// The points of a sweep, one line each.
pub(crate) fn sweep_table(experiment: &Experiment, report: &SimReport) -> String {
    let swept: Vec<_> = experiment.points[0].swept.iter().map(|(key, _)| *key).collect();
    let columns = ["chunks/s", "latency us", "p99 us", "disk", "queue", "link", "failures"];
    let header: Vec<_> = swept.iter().copied().chain(columns).collect();
    let mut table = table(&header);
    for point in report.all_points() {
        let metrics = &point.metrics;
        let mut cells: Vec<_> = swept.iter().map(|key| point.sweep[key].clone()).collect();
        cells.extend([
            estimate(metrics.chunks_per_s),
            estimate(metrics.latency_us.mean),
            quantile(metrics.latency_us.p99, point.runs.len()),
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
