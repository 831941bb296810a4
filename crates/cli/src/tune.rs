//! `slotcast tune`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use slotcast_lab::sweep::{Program, Results};
use slotcast_lab::tune::{Search, SearchEnd, TuneReport, Tuning, TuningOptions};
use slotcast_lab::{Cost, InputError, Runner, UNITS_PER_RUN};

use crate::VERSION;
use crate::failure::{Failure, Outcome};
use crate::interrupt::{INTERRUPTED, stop_at_ctrl_c};
use crate::output::{Destination, print};
use crate::outputs::{Kind, Outputs};
use crate::progress::Bar;
use crate::tune_text::told;

/// Find the settings of an experiment that make a metric best, within limits
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  slotcast tune experiments/tune/busy.toml
  slotcast tune experiments/tune/busy.toml --evaluations 20 --method random
  slotcast tune experiments/tune/busy.toml --set disk.rate=1GB/s --json tuned.json

The file is an experiment with [tune] and a [[knob]] for each setting that may vary
(docs/simulate/tuning.md). Finished runs are kept in a folder (--out). The same command goes on
where it was stopped.")]
pub(crate) struct Arguments {
    /// The experiment file (TOML), with `[tune]` and `[[knob]]`s
    file: PathBuf,

    /// Number of different settings that are evaluated, whatever the file says
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=100_000))]
    evaluations: Option<u32>,

    /// How settings are chosen: gaussian-process, cma-es, networks, latin-hypercube or random
    #[arg(long, value_name = "METHOD")]
    method: Option<String>,

    /// Set a key, whatever the file says; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,

    /// Number of seeds of each evaluation: the same as --set seeds.count=N
    #[arg(long, value_name = "N")]
    seeds: Option<u32>,

    /// The first seed, also of the search itself: the same as --set seeds.first=S
    #[arg(long, value_name = "S")]
    seed: Option<u64>,

    /// Run it however much memory and time it is estimated to take
    #[arg(long)]
    force: bool,

    /// Number of threads; one per core if not given. The results do not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,

    /// The folder in which finished runs are kept; beside the experiment, NAME.tune, if not given
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Write the results as JSON, to stdout for `-` (docs/simulate/json.md)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let overrides = overrides(arguments);
    let options = TuningOptions {
        overrides: overrides.clone(),
        evaluations: arguments.evaluations,
        method: arguments.method.clone(),
    };
    let tuning = Tuning::from_file(&arguments.file, &options)?;
    let runner = Runner::new(arguments.threads.map(usize::from))?;
    if !arguments.force {
        // However long it takes, it can be stopped and goes on.
        Cost::of_experiment(&tuning.experiment, runner.threads()).check(false)?;
    }
    let folder = arguments.out.clone().unwrap_or_else(|| arguments.file.with_extension("tune"));
    let mut outputs = Outputs::beside([&arguments.file]);
    outputs.keep("where finished runs are kept", &Results::file(&folder));
    let json = outputs.file("--json", arguments.json.as_deref(), Kind::Json)?;
    let program = Program::of_this_process().map_err(|error| {
        Failure::Input(InputError::plain(format!("cannot read myself: {error}")))
    })?;
    let mut search = Search::new(&tuning, Results::open(&folder)?, program);

    let stop = stop_at_ctrl_c()?;
    let bar = Bar::counting(Search::max_runs(&tuning) as u64 * UNITS_PER_RUN);
    let end = search.run(&runner, &stop, &mut |progress| {
        let gain = match progress.gain {
            Some(gain) => format!(", {gain:.3} times as good as the file's own"),
            None => String::new(),
        };
        let all = tuning.evaluations;
        bar.tell(format!("{} of {all} settings{gain}", progress.evaluations));
        bar.advance(progress.units);
    });
    bar.finish();
    let found = match end? {
        SearchEnd::Finished(found) => found,
        SearchEnd::Stopped { evaluations, best } => {
            eprintln!(
                "Stopped: {evaluations} of {} settings are evaluated, and their runs kept in `{}`. The \
                 same command goes on from there.",
                tuning.evaluations,
                folder.display()
            );
            if let Some(best) = best {
                eprintln!("So far the best, not measured again: {}", best.join(" "));
            }
            return Ok(ExitCode::from(INTERRUPTED));
        }
    };

    let path = arguments.file.display().to_string();
    let report = TuneReport::new(VERSION, &tuning, &found, &path, &overrides);
    if !json.as_ref().is_some_and(Destination::is_stdout) {
        print(&told(&tuning, &report, search.reused(), &folder))?;
    }
    if let Some(json) = &json {
        json.write_json(&report)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn overrides(arguments: &Arguments) -> Vec<String> {
    let mut overrides = arguments.set.clone();
    overrides.extend(arguments.seeds.map(|count| format!("seeds.count={count}")));
    overrides.extend(arguments.seed.map(|first| format!("seeds.first={first}")));
    overrides
}
