//! What `slotcast tune` says to people. Nothing but a command is wider than 80 columns.

use std::path::Path;

use slotcast_lab::tune::{Measurement, TuneReport, Tuning};
use slotcast_lab::{Estimate, Metrics};

use crate::format::{align_right, counted, estimate, narrow_table, quantile};
use crate::reproduce_text::wrapped;

/// Figures that are always shown, besides the goal's and those of limits.
const SHOWN: [&str; 3] = ["chunks_per_s", "latency_us.mean", "latency_us.p99"];

/// Everything about a finished search.
pub(crate) fn told(tuning: &Tuning, report: &TuneReport, reused: usize, folder: &Path) -> String {
    let limits = match report.constraints.is_empty() {
        true => String::new(),
        false => format!(" with {}", report.constraints.join(" and ")),
    };
    let mut text = wrapped(&format!("{}: {}{limits}", report.name, report.goal));
    text.push_str(&format!("\n{}\n\n", table(tuning, report)));
    text.push_str(&wrapped(&verdict(report)));
    text.push_str(&wrapped(&format!(
        "Both were measured with {} that the search has not seen.",
        counted(report.best.seeds.len(), "seed")
    )));
    text.push_str(&format!("\nTo run it:\n  {}\n\n", report.command));
    let impossible = report.trials.iter().filter(|trial| trial.impossible.is_some()).count();
    let impossible = match impossible {
        0 => String::new(),
        1 => ", 1 of which cannot be run".into(),
        count => format!(", {count} of which cannot be run"),
    };
    let kept = match reused {
        0 => String::new(),
        reused => format!(", {reused} of them kept from before"),
    };
    text.push_str(&wrapped(&format!(
        "{} by {}{impossible}, of {} each; {}{kept}; trace hash {}",
        counted(report.trials.len(), "different setting"),
        report.method,
        counted(report.seeds.len(), "seed"),
        counted(report.runs, "run"),
        report.trace_hash,
    )));
    text.push_str(&format!("kept in `{}`\n", folder.display()));
    text
}

fn verdict(report: &TuneReport) -> String {
    if report.own_is_best {
        let limits = match report.own.keeps_limits {
            true => "",
            false => ", which break a limit, as all others do",
        };
        return format!("Nothing was found that is better than the file's own settings{limits}.");
    }
    let metric = report.goal.split(' ').next_back().unwrap_or_default();
    let gain = match report.comparison.gain_pct {
        Some(Estimate { value, ci95: Some(ci95) }) => {
            format!("{metric} changes by {value:+.1} ± {ci95:.1} %, seed by seed")
        }
        Some(Estimate { value, .. }) => format!("{metric} changes by {value:+.1} %"),
        None => format!("{metric} has no value with every seed"),
    };
    let doubt = match report.comparison.certain {
        true => String::new(),
        false => ": that may be chance".into(),
    };
    let limits = match (report.own.keeps_limits, report.best.keeps_limits) {
        (_, false) => ". With these seeds the best settings break a limit: they are near it",
        (false, true) => ". The file's own settings break a limit, the best ones do not",
        (true, true) => "",
    };
    format!("Against the file's own settings {gain}{doubt}{limits}.")
}

fn table(tuning: &Tuning, report: &TuneReport) -> String {
    let mut table = narrow_table(&["", "file's own", "best found"]);
    for knob in &tuning.knobs {
        let of = |measured: &Measurement| measured.settings[knob.key()].clone();
        table.add_row([knob.key().to_string(), of(&report.own), of(&report.best)]);
    }
    let mut names: Vec<&str> = vec![&tuning.goal.metric.name];
    names.extend(tuning.constraints.iter().map(|limit| limit.metric.name.as_ref()));
    names.extend(SHOWN);
    let mut shown: Vec<&str> = Vec::new();
    for name in names {
        if !shown.contains(&name) {
            shown.push(name);
        }
    }
    for name in shown {
        let of = |measured: &Measurement| figure(&measured.metrics, name, measured.seeds.len());
        table.add_row([name.to_string(), of(&report.own), of(&report.best)]);
    }
    align_right(&mut table, 1);
    table.to_string()
}

/// A figure with its interval.
fn figure(metrics: &Metrics, name: &str, runs: usize) -> String {
    match metrics.named(name) {
        Some(figure) if name.contains(".p") => quantile(figure, runs),
        Some(figure) => estimate(figure),
        None => "-".into(),
    }
}
