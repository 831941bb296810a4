//! `slotcast compare`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use slotcast_lab::{
    Comparison, Estimate, Judgement, MetricComparison, PointComparison, SettingDifference, Verdict,
};

use crate::VERSION;
use crate::failure::Outcome;
use crate::format::{align_right, counted, estimate, figure, percentage, table};
use crate::output::{Destination, print};
use crate::outputs::{Kind, Outputs};

/// Hold one result against another: per metric the difference, its interval, and a verdict
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  slotcast sim experiments/first.toml --seeds 20 --json a.json
  slotcast sim experiments/first.toml --seeds 20 --set protocol.kind=uch-ccp --json b.json
  slotcast compare a.json b.json
  slotcast compare a.json b.json --json difference.json

With the same seeds on both sides the differences are taken seed by seed, and much of the chance
cancels. Points of sweeps are matched by their swept values (docs/simulate/statistics.md).")]
pub(crate) struct Arguments {
    /// What B is held against: a file that `slotcast sim --json` wrote
    #[arg(value_name = "A.json")]
    a: PathBuf,

    /// What is held against it
    #[arg(value_name = "B.json")]
    b: PathBuf,

    /// Write the comparison as JSON, to stdout for `-` (docs/simulate/json.md)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let comparison = Comparison::of_files(VERSION, &arguments.a, &arguments.b)?;
    let mut outputs = Outputs::beside([&arguments.a, &arguments.b]);
    let json = outputs.file("--json", arguments.json.as_deref(), Kind::Json)?;
    if !json.as_ref().is_some_and(Destination::is_stdout) {
        print(&told(&comparison))?;
    }
    if let Some(json) = &json {
        json.write_json(&comparison)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn told(comparison: &Comparison) -> String {
    let Comparison { a, b, .. } = comparison;
    let mut text = format!("A  {}: {}\nB  {}: {}\n", a.file, a.name, b.file, b.name);
    if a.version != b.version {
        text.push_str(&format!("note: written by slotcast {} and {}\n", a.version, b.version));
    }
    text.push_str(&settings_table(&comparison.settings));
    for point in &comparison.points {
        text.push_str(&point_table(point));
    }
    text.push_str(&notes(comparison));
    text
}

fn settings_table(settings: &[SettingDifference]) -> String {
    if settings.is_empty() {
        return "\nThe settings are the same on both sides.\n".into();
    }
    let mut table = table(&["setting", "A", "B"]);
    let said = |value: &Option<String>| value.clone().unwrap_or("-".into());
    for setting in settings {
        table.add_row([setting.key.clone(), said(&setting.a), said(&setting.b)]);
    }
    format!("\n{table}\n")
}

fn point_table(point: &PointComparison) -> String {
    let mut table = table(&["metric", "B is", "A", "B", "B - A ± 95 %", "relative", "unit"]);
    for metric in &point.metrics {
        let is_share = metric.metric.unit == "share";
        let value = |of: Estimate| match is_share {
            true => percentage(Estimate { ci95: None, ..of }),
            false => figure(of.value),
        };
        let difference = match (is_share, metric.difference) {
            (false, difference) => estimate(difference),
            (true, Estimate { value, ci95 }) => {
                estimate(Estimate { value: value * 100.0, ci95: ci95.map(|half| half * 100.0) })
            }
        };
        table.add_row([
            metric.metric.name.to_string(),
            verdict(metric),
            value(metric.a),
            value(metric.b),
            difference,
            relative(metric.relative),
            if is_share { "% points".into() } else { metric.metric.unit.to_string() },
        ]);
    }
    align_right(&mut table, 2);
    let sweep: Vec<_> = point.sweep.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let [a, b] = point.runs;
    let how = match point.paired {
        true => format!("paired over {}", counted(a, "seed")),
        false => format!("not paired: {} in A and {} in B", counted(a, "run"), counted(b, "run")),
    };
    let separator = if sweep.is_empty() { "" } else { "; " };
    let mut text = format!("\n{}{separator}{how}\n{table}\n", sweep.join(" "));
    let [a, b] = point.failures;
    if a != b {
        text.push_str(&format!("note: requests that failed have no latency: {a} in A, {b} in B\n"));
    }
    text
}

/// `+1.4 ± 0.3 %`.
fn relative(of: Estimate) -> String {
    if !of.value.is_finite() {
        return "-".into();
    }
    let half = of.ci95.map_or(String::new(), |half| format!(" ± {:.1}", half * 100.0));
    format!("{:+.1}{half} %", of.value * 100.0)
}

fn verdict(metric: &MetricComparison) -> String {
    let direction = match metric.verdict {
        Verdict::Lower => "lower",
        Verdict::Higher => "higher",
        Verdict::NotShown => "no difference shown",
    };
    match metric.judgement {
        Some(Judgement::Better) => format!("{direction}: better"),
        Some(Judgement::Worse) => format!("{direction}: worse"),
        None => direction.into(),
    }
}

fn notes(comparison: &Comparison) -> String {
    let mut notes = Vec::new();
    let metrics = || comparison.points.iter().flat_map(|point| &point.metrics);
    if metrics().any(|metric| metric.p.is_none()) {
        notes.push("with a single run there is no interval, and no verdict; run more seeds".into());
    }
    if comparison.points.iter().any(|point| !point.paired) {
        notes.push(
            "where seeds differ, chance does not cancel (Welch's interval); run both with the same \
             `--seed` and `--seeds` for a sharper answer"
                .into(),
        );
    }
    if comparison.tests > 1 {
        notes.push(format!(
            "an interval speaks for its own figure; the verdicts hold together at 95 %, over {} \
             (Holm)",
            counted(comparison.tests, "difference")
        ));
    }
    match comparison.shown_alone_only() {
        0 => {}
        count => notes.push(format!(
            "{} out zero, but not clearly enough among so many: more seeds may show more",
            if count == 1 {
                "1 interval leaves".into()
            } else {
                format!("{count} intervals leave")
            }
        )),
    }
    for (side, only) in [("A", &comparison.only_in_a), ("B", &comparison.only_in_b)] {
        if !only.is_empty() {
            let count = counted(only.len(), "point");
            notes.push(format!("only in {side}: {count}: {}", only.join("; ")));
        }
    }
    let lines: Vec<_> = notes.iter().map(|note: &String| format!("note: {note}\n")).collect();
    if lines.is_empty() { String::new() } else { format!("\n{}", lines.concat()) }
}
