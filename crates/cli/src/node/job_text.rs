//! Jobs as people read them.

use std::fmt::Write;

use slotcast_job::{Existing, JobText, Kind, Place, Selection};
use slotcast_node::jobs::{CountsAnswer, JobAnswer, JobLogAnswer};
use slotcast_units::Size;

use crate::format::{align_right, table, utc};

fn place(place: &Place, rest: &str) -> String {
    format!("slot://{}/{}{rest}", place.bucket, place.prefix)
}

/// Which objects are meant.
fn source(text: &JobText) -> String {
    match &text.select {
        Selection::All => place(&text.from, ""),
        Selection::Glob(pattern) | Selection::Template(pattern) => place(&text.from, pattern),
        Selection::List(_) => place(&text.from, "") + " of a list",
    }
}

/// How far it is, of what it does at present.
pub(super) fn progress(job: &JobAnswer) -> String {
    let CountsAnswer { objects, outputs, kept, failed, .. } = counts(job);
    let done = outputs + kept;
    let failed = if failed > 0 { format!(", {failed} failed") } else { String::new() };
    format!("{done} of {objects} counted{failed}")
}

/// What was counted in the stage that it is in.
pub(super) fn counts(job: &JobAnswer) -> CountsAnswer {
    if job.stage == "check" && job.units_checked > 0 { job.check } else { job.work }
}

/// All jobs, a line each.
pub(super) fn listed(jobs: &[JobAnswer]) -> String {
    if jobs.is_empty() {
        return "no jobs: `slotcast job start` starts one\n".into();
    }
    let mut all = table(&["job", "kind", "status", "units", "objects", "failed", "from", "to"]);
    for job in jobs {
        let done = if job.stage == "check" { job.units_checked } else { job.units_worked };
        let open = if job.is_planned { "" } else { "+" };
        all.add_row([
            job.job.clone(),
            job.kind.clone(),
            job.status.clone(),
            format!("{done}/{}{open}", job.units),
            job.work.objects.to_string(),
            job.work.failed.max(job.check.failed).to_string(),
            source(&job.text),
            job.text.to.as_ref().map_or_else(String::new, |to| place(to, "")),
        ]);
    }
    align_right(&mut all, 3);
    for column in all.column_iter_mut().skip(6) {
        column.set_cell_alignment(comfy_table::CellAlignment::Left);
    }
    format!("{all}\n")
}

fn row(text: &mut String, name: &str, value: &str) {
    // Writing to a string does not fail.
    let _ = writeln!(text, "{name:<10} {value}");
}

fn counted(counts: &CountsAnswer, kind: &Kind) -> String {
    let CountsAnswer { objects, bytes, outputs, output_bytes, kept, failed } = *counts;
    let (bytes, output_bytes) = (Size::from_bytes(bytes), Size::from_bytes(output_bytes));
    let what = match kind {
        Kind::Copy | Kind::Transform(_) => format!("{outputs} outputs ({output_bytes})"),
        Kind::Delete => format!("{outputs} deleted"),
        Kind::Verify => format!("{outputs} read"),
    };
    format!("{objects} objects ({bytes}) at the source; {what}, {kept} kept, {failed} failed")
}

/// A job in full.
pub(super) fn told(job: &JobAnswer) -> String {
    let JobAnswer { text, work, check, .. } = job;
    let mut out = String::new();
    row(&mut out, "job", &job.job);
    row(&mut out, "kind", &job.kind);
    if let Kind::Transform(transform) = &text.kind {
        row(&mut out, "command", &transform.command);
    }
    let reason = job.reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
    row(&mut out, "status", &format!("{}{reason}", job.status));
    row(&mut out, "from", &source(text));
    if let Some(to) = &text.to {
        row(&mut out, "to", &place(to, ""));
    }
    if text.existing == Existing::Keep {
        row(&mut out, "existing", "kept");
    }
    row(&mut out, "started", &format!("{} by {}", utc(text.started), text.by));
    let planned = if job.is_planned { "" } else { ", and more to come" };
    let units = format!(
        "{} worked, {} compared, of {}{planned}",
        job.units_worked, job.units_checked, job.units
    );
    row(&mut out, "units", &units);
    if !job.nodes.is_empty() {
        let nodes: Vec<String> = job.nodes.iter().map(u32::to_string).collect();
        row(&mut out, "nodes", &nodes.join(", "));
    }
    row(&mut out, "worked", &counted(work, &text.kind));
    if job.units_checked > 0 || job.status == "verified" {
        row(&mut out, "compared", &counted(check, &text.kind));
    }
    if work.failed > 0 || check.failed > 0 {
        let _ = writeln!(out, "\n`slotcast job log {}` says what has failed, and why", job.job);
    }
    out
}

/// What has failed.
pub(super) fn log(log: &JobLogAnswer) -> String {
    if log.failures.is_empty() && log.more == 0 {
        return "nothing has failed\n".into();
    }
    let mut out = String::new();
    for of in &log.failures {
        let tries = if of.attempts == 1 { "attempt" } else { "attempts" };
        let _ = writeln!(
            out,
            "{}  ({} {tries}, {}, last on node {}): {}",
            of.name, of.attempts, of.stage, of.node, of.reason
        );
    }
    if log.more > 0 {
        let _ = writeln!(out, "and {} more, of which only the number is kept", log.more);
    }
    out
}
