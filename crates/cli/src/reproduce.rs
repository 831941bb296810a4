//! `slotcast reproduce`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;
use slotcast_lab::{Outcome as Found, Prepared, ReproduceReport, Runner};

use crate::VERSION;
use crate::claims_page;
use crate::failure::{Failure, Outcome};
use crate::format::{counted, figure, text_table};
use crate::output::{Destination, print};
use crate::outputs::{Kind, Outputs};
use crate::progress::Bar;
use crate::reproduce_text::{claims_table, rows_tables, screen, statements_tables, wrapped};

/// Repeat published evaluations and print them beside the published figures
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  slotcast reproduce                           what was published, in seconds
  slotcast reproduce --all                     every evaluation, in minutes
  slotcast reproduce replicast --seeds 3       one of them, quicker and less exact
  slotcast reproduce --verbose                 every figure and every claim
  slotcast reproduce --report report           also as a page with pictures
  slotcast reproduce --json figures.json       also as data, with the pictures
  slotcast reproduce --claims claims.md        what the sources say, and the verdicts
  slotcast reproduce stripes --set disk.read=8ms   what would differ with another disk
  slotcast reproduce --list

Exit status 1 if a claim that must hold does not.")]
pub(crate) struct Arguments {
    /// Evaluations to repeat; those that were published as a whole if none is named
    #[arg(value_name = "NAME", conflicts_with = "all")]
    names: Vec<String>,

    /// Repeat every evaluation, also those that take minutes
    #[arg(long)]
    all: bool,

    /// Write the results as JSON, to stdout for `-` (docs/simulate/json.md)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Write a page, pictures and data into this folder (docs/simulate/reports.md)
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,

    /// Write what the sources say, with a verdict for each statement, as a Markdown page
    #[arg(long, value_name = "FILE")]
    claims: Option<PathBuf>,

    /// Print every figure and every claim, as they come
    #[arg(long, short)]
    verbose: bool,

    /// List the evaluations, and stop
    #[arg(long)]
    list: bool,

    /// Set a key in every experiment of a model that has it, unless it is swept there; may be given
    /// several times
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,

    /// Number of seeds: the same as --set seeds.count=N
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    seeds: Option<u32>,

    /// Run it however much memory and time it is estimated to take
    #[arg(long)]
    force: bool,

    /// Number of threads; one per core if not given. The results do not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    if arguments.list {
        print(&listed())?;
        return Ok(ExitCode::SUCCESS);
    }
    let prepared = prepare(arguments)?;
    if !arguments.force {
        let threads = Runner::new(arguments.threads.map(usize::from))?.threads();
        prepared.iter().try_for_each(|evaluation| evaluation.check_cost(threads))?;
    }
    let mut outputs = Outputs::default();
    let folder = outputs.report("--report", arguments.report.as_deref())?;
    let json = outputs.file("--json", arguments.json.as_deref(), Kind::Json)?;
    let claims =
        outputs.file("--claims", arguments.claims.as_deref(), Kind::Page(claims_page::TITLE))?;
    let quiet = claims.as_ref().is_some_and(Destination::is_stdout)
        || json.as_ref().is_some_and(Destination::is_stdout);

    let start = Instant::now();
    let runner = Runner::new(arguments.threads.map(usize::from))?;
    let bar = Bar::new(prepared.iter().map(Prepared::units).sum());
    let say = |text: &str| if quiet { Ok(()) } else { bar.suspend(|| print(text)) };
    let detail = |text: &str| if arguments.verbose { say(text) } else { Ok(()) };
    let mut outcomes = Vec::new();
    for evaluation in &prepared {
        say(&wrapped(evaluation.evaluation().title))?;
        let mut printed = Ok(());
        let outcome =
            evaluation.run(&runner, &|units| bar.advance(units), &mut |part, found| {
                if printed.is_ok() {
                    printed = detail(&rows_tables(part, found));
                }
            })?;
        printed?;
        detail(&claims_table(&outcome.claims))?;
        detail(&statements_tables(&outcome))?;
        outcomes.push(outcome);
    }
    bar.finish();

    let broken: Vec<_> =
        outcomes.iter().flat_map(Found::broken_claims).map(|claim| claim.id.clone()).collect();
    let screen = screen(&outcomes);
    let claims = claims.map(|file| (file, claims_page::page(&outcomes)));
    let page = folder.is_some().then(|| slotcast_report::reproduce::page(&outcomes));
    let report = ReproduceReport::new(VERSION, outcomes, start.elapsed());
    say(&screen)?;
    say(&format!(
        "\n{}, {} events in {:.1} s, {} events/s; trace hash {}\n",
        counted(report.runs, "run"),
        report.events,
        report.wall_time_s,
        figure(report.events_per_s),
        report.trace_hash
    ))?;
    if let Some(json) = &json {
        json.write_json(&report)?;
    }
    if let Some((file, page)) = claims {
        file.write_text(&page)?;
    }
    if let Some((folder, page)) = folder.zip(page) {
        let place = slotcast_report::write(&page, &folder)?;
        say(&format!("report: {}\n", place.display()))?;
    }
    if broken.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!(
        "Error: {} that must hold: {}",
        counted(broken.len(), "broken claim"),
        broken.join(", ")
    );
    Ok(ExitCode::from(1))
}

fn prepare(arguments: &Arguments) -> Result<Vec<Prepared>, Failure> {
    let mut overrides = arguments.set.clone();
    overrides.extend(arguments.seeds.map(|count| format!("seeds.count={count}")));
    Ok(slotcast_catalogue::prepare(&arguments.names, arguments.all, &overrides)?)
}

fn listed() -> String {
    let mut table = text_table(&["name", "by default", "what it repeats", "experiments"]);
    for evaluation in slotcast_catalogue::evaluations() {
        let files: Vec<_> = evaluation.parts.iter().map(|part| part.file).collect();
        let by_default = if evaluation.by_default { "yes" } else { "no" };
        table.add_row([evaluation.name, by_default, evaluation.title, &files.join("\n")]);
    }
    format!("{table}\n")
}
