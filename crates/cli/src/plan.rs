//! `slotcast plan`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use slotcast_lab::{InputError, Point, Runner};
use slotcast_plan::{
    ClusterPlan, Doing, Effort, PlanComparison, PlanReport, PlanSweep, READY, TEMPLATE,
};
use slotcast_report::plan::Told;

use crate::failure::{Failure, Outcome};
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
  slotcast plan mine.toml other.toml           two clusters side by side, what matters first
  slotcast plan my.toml --report page          a page with pictures
  slotcast plan my.toml --json answer.json
  slotcast plan --list

Exit status 0 whatever the answer is.")]
pub(crate) struct Arguments {
    /// A cluster file (TOML), or the name of a cluster that comes with the program; two are compared
    #[arg(value_name = "CLUSTER", required_unless_present_any = ["list", "template"], num_args = 1..=2)]
    clusters: Vec<String>,

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

    /// Write a page, pictures and data into this folder (docs/simulate/reports.md)
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,

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
    match &arguments.clusters[..] {
        [a, b] => side_by_side(arguments, a, b),
        [place] => one(arguments, place),
        _ => unreachable!("clap requires one or two"),
    }
}

/// Answers for one cluster, at every point of its sweep.
fn one(arguments: &Arguments, place: &str) -> Outcome {
    let points = ClusterPlan::points(place, &arguments.set, &arguments.axes)?;
    if let Some(path) = &arguments.experiment {
        return experiment(place, path, &points);
    }
    let mut outputs = Outputs::beside([place]);
    let folder = outputs.report("--report", arguments.report.as_deref())?;
    let json = outputs.file("--json", arguments.json.as_deref(), Kind::Json)?;
    let quiet = json.as_ref().is_some_and(Destination::is_stdout);

    let mut asker = Asker::new(arguments, points.iter())?;
    let mut reports = Vec::new();
    for point in &points {
        let plan = &point.scenario;
        let swept = point.swept.iter();
        let report = PlanReport {
            sweep: swept.map(|(key, value)| (*key, value.to_string())).collect(),
            ..asker.ask(plan)?
        };
        if !quiet {
            let heading = match point.swept.is_empty() {
                true => String::new(),
                false => format!("== {} ==\n", point.label()),
            };
            let told = plan_text::told(plan, &report, place, asker.effort);
            asker.bar.suspend(|| print(&format!("{heading}{told}")))?;
        }
        reports.push(report);
    }
    asker.bar.finish();
    if let Some(folder) = &folder {
        let of = |(point, report): (&Point<ClusterPlan>, &PlanReport)| Told {
            label: point.label(),
            plan: point.scenario.clone(),
            report: report.clone(),
            sentences: plan_text::sentences(&point.scenario, report),
        };
        let told: Vec<Told> = points.iter().zip(&reports).map(of).collect();
        let page = slotcast_report::write(&slotcast_report::plan::page(&told), folder)?;
        if !quiet {
            print(&format!("report: {}\n", page.display()))?;
        }
    }
    if let Some(json) = &json {
        match <[PlanReport; 1]>::try_from(reports) {
            Ok([report]) => json.write_json(&report)?,
            Err(reports) => json.write_json(&PlanSweep::new(VERSION, reports))?,
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the experiment file of the only point.
fn experiment(place: &str, path: &Path, points: &[Point<ClusterPlan>]) -> Outcome {
    let [point] = points else {
        let message = format!("--experiment needs one point; here are {}", points.len());
        let swept: Vec<_> = points[0].swept.iter().map(|(key, _)| *key).collect();
        let help = format!("choose a point with --set for each of {}", swept.join(", "));
        return Err(InputError::plain(message).with_help(Some(help)).into());
    };
    let text = point.scenario.experiment();
    let place = Outputs::beside([place]).file("--experiment", Some(path), Kind::Text(&text))?;
    place.expect("a path was given").write_text(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Answers for two clusters, and holds one against the other.
fn side_by_side(arguments: &Arguments, a: &str, b: &str) -> Outcome {
    for (option, is_given) in [
        ("--experiment", arguments.experiment.is_some()),
        ("--report", arguments.report.is_some()),
        ("--axis", !arguments.axes.is_empty()),
    ] {
        if is_given {
            let message = format!("{option} is for one cluster; here are two");
            let help = "give one cluster, or take the option out";
            return Err(InputError::plain(message).with_help(Some(help.into())).into());
        }
    }
    let only = |place: &String| {
        let points = ClusterPlan::points(place, &arguments.set, &[])?;
        match <[Point<ClusterPlan>; 1]>::try_from(points) {
            Ok([point]) => Ok(point),
            Err(points) => {
                let message =
                    format!("`{place}` sweeps {} points; two clusters have one each", points.len());
                let help = "choose a point with --set for each key that is swept";
                Err(InputError::plain(message).with_help(Some(help.into())))
            }
        }
    };
    let points = [only(&a.to_string())?, only(&b.to_string())?];
    let mut outputs = Outputs::beside([a, b]);
    let json = outputs.file("--json", arguments.json.as_deref(), Kind::Json)?;
    let mut asker = Asker::new(arguments, points.iter())?;
    let [a, b] = &points;
    let (a, b) = (asker.ask(&a.scenario)?, asker.ask(&b.scenario)?);
    asker.bar.finish();
    let compared = PlanComparison::new(VERSION, a, b);
    if !json.as_ref().is_some_and(Destination::is_stdout) {
        print(&plan_text::side_by_side::told(&compared))?;
    }
    if let Some(json) = &json {
        json.write_json(&compared)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Asks about clusters, one after another, as the arguments say how.
struct Asker {
    runner: Runner,
    effort: Effort,
    seed: u64,
    bar: Bar,
}

impl Asker {
    /// Refuses what would take too much before anything runs.
    fn new<'a>(
        arguments: &Arguments,
        points: impl Iterator<Item = &'a Point<ClusterPlan>>,
    ) -> Result<Asker, Failure> {
        let runner = Runner::new(arguments.threads.map(usize::from))?;
        if !arguments.force {
            let threads = runner.threads();
            for point in points {
                point.scenario.cost(threads).check(false)?;
            }
        }
        let effort = if arguments.quick { Effort::Quick } else { Effort::Full };
        Ok(Asker { runner, effort, seed: arguments.seed, bar: Bar::steps() })
    }

    fn ask(&mut self, plan: &ClusterPlan) -> Result<PlanReport, Failure> {
        let tell = |doing: Doing<'_>| match doing {
            Doing::Begins(what, units) => self.bar.begin(what.to_string(), units),
            Doing::Done(units) => self.bar.advance(units),
        };
        let answer = slotcast_plan::answer(plan, &self.runner, self.effort, self.seed, &tell)?;
        Ok(PlanReport::new(VERSION, plan, &answer, self.seed))
    }
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
