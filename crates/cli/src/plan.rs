//! `slotcast plan`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use slotcast_lab::{InputError, Runner};
use slotcast_plan::{ClusterPlan, Doing, Effort, PlanReport, PlanSweep, READY, TEMPLATE};

use crate::failure::Outcome;
use crate::format::text_table;
use crate::output::{Destination, print};
use crate::outputs::{Kind, Outputs};
use crate::progress::Bar;
use crate::{VERSION, plan_text};

/// Say whether a cluster holds: headroom, limit, one node down, the smallest change
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  slotcast plan small                          a cluster that comes with the program
  slotcast plan --template > my.toml           a file to state your own in
  slotcast plan my.toml
  slotcast plan my.toml --quick                shorter runs, wider intervals
  slotcast plan small --set nodes.count=8      the same with other settings
  slotcast plan small --axis nodes.count=6..9  an answer for each
  slotcast explain --of plan                   every key of a cluster file
  slotcast plan my.toml --json answer.json
  slotcast plan --list

Exit status 0 whatever the answer is.")]
pub(crate) struct Arguments {
    /// A cluster file (TOML), or the name of a cluster that comes with the program
    #[arg(value_name = "CLUSTER", required_unless_present_any = ["list", "template"])]
    cluster: Option<String>,

    /// Set a key, whatever the file says or sweeps; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,

    /// Sweep a key over values (a,b,c) or a range (6..12, 10Gbps..40Gbps*2), whatever the file says of it:
    /// an answer for each; several are crossed
    #[arg(long = "axis", value_name = "KEY=VALUES")]
    axes: Vec<String>,

    /// Shorter and fewer runs, and a coarser search
    #[arg(long)]
    quick: bool,

    /// The first seed of the runs
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,

    /// Run it however much memory and time it is estimated to take
    #[arg(long)]
    force: bool,

    /// Number of threads; one per core if not given. The answer does not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,

    /// Write the answer as JSON, to stdout for `-` (docs/simulate/json.md)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Write the experiment file of this cluster at its target, to stdout for `-`, and stop
    #[arg(long, value_name = "FILE")]
    experiment: Option<PathBuf>,

    /// Print a commented cluster file, and stop
    #[arg(long)]
    template: bool,

    /// List the clusters that come with the program, and stop
    #[arg(long)]
    list: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    if arguments.list {
        print(&listed()?)?;
        return Ok(ExitCode::SUCCESS);
    }
    if arguments.template {
        print(TEMPLATE)?;
        return Ok(ExitCode::SUCCESS);
    }
    let place = arguments.cluster.as_deref().expect("clap requires one without --list");
    let points = ClusterPlan::points(place, &arguments.set, &arguments.axes)?;
    if let Some(path) = &arguments.experiment {
        let [point] = &points[..] else {
            let message = format!("--experiment needs one point; here are {}", points.len());
            let swept: Vec<_> = points[0].swept.iter().map(|(key, _)| *key).collect();
            let help = format!("choose a point with --set for each of {}", swept.join(", "));
            return Err(InputError::plain(message).with_help(Some(help)).into());
        };
        let text = point.scenario.experiment();
        let place = Outputs::beside([place]).file("--experiment", Some(path), Kind::Text(&text))?;
        place.expect("a path was given").write_text(&text)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut outputs = Outputs::beside([place]);
    let json = outputs.file("--json", arguments.json.as_deref(), Kind::Json)?;

    if !arguments.force {
        let threads = Runner::new(arguments.threads.map(usize::from))?.threads();
        points.iter().try_for_each(|point| point.scenario.cost(threads).check(false))?;
    }
    let runner = Runner::new(arguments.threads.map(usize::from))?;
    let effort = if arguments.quick { Effort::Quick } else { Effort::Full };
    let bar = Bar::steps();
    let tell = |doing: Doing<'_>| match doing {
        Doing::Begins(what, units) => bar.begin(what.to_string(), units),
        Doing::Done(units) => bar.advance(units),
    };
    let quiet = json.as_ref().is_some_and(Destination::is_stdout);
    let mut reports = Vec::new();
    for point in &points {
        let plan = &point.scenario;
        let answer = slotcast_plan::answer(plan, &runner, effort, arguments.seed, &tell)?;
        let swept = point.swept.iter();
        let report = PlanReport {
            sweep: swept.map(|(key, value)| (*key, value.to_string())).collect(),
            ..PlanReport::new(VERSION, plan, &answer, arguments.seed)
        };
        if !quiet {
            let heading = match point.swept.is_empty() {
                true => String::new(),
                false => format!("== {} ==\n", point.label()),
            };
            let told = plan_text::told(plan, &report, place, effort);
            bar.suspend(|| print(&format!("{heading}{told}")))?;
        }
        reports.push(report);
    }
    bar.finish();
    if let Some(json) = &json {
        match <[PlanReport; 1]>::try_from(reports) {
            Ok([report]) => json.write_json(&report)?,
            Err(reports) => json.write_json(&PlanSweep::new(VERSION, reports))?,
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn listed() -> Result<String, Box<InputError>> {
    let mut table = text_table(&["name", "what it is", "file"]);
    for ready in READY {
        let plan = ready.plan()?;
        let file = format!("experiments/plans/{}.toml", ready.name);
        table.add_row([plan.name, plan.title.unwrap_or_default(), file]);
    }
    Ok(format!("{table}\n"))
}
