//! The answer of `slotcast plan` for people: sentences first, then the table, then what to do next.

use slotcast_lab::Estimate;
use slotcast_plan::{Check, ClusterPlan, Effort, Holds, LimitedBy, Limits, PlanReport, Resource};

use crate::format::{align_right, estimate, figure, table};
use crate::reproduce_text::wrapped;

mod beyond;
pub(crate) mod side_by_side;
pub(crate) mod units;

use units::{bytes_rate, gigabytes, limit_ms, ms, percent};

/// The answer in sentences: the verdict, then what bears it out.
pub(crate) fn sentences(plan: &ClusterPlan, report: &PlanReport) -> Vec<String> {
    let mut lines = answer(plan, report);
    lines.extend([headroom(plan, report), limit(report)]);
    lines.extend(down(plan, report));
    lines.extend(beyond::rebuild(plan, report));
    lines.push(beyond::room(plan, report));
    lines.push(beyond::budget(plan, report));
    lines.extend(change(report));
    lines
}

/// Everything that is printed about `report`, of the cluster that was called `place`.
pub(crate) fn told(plan: &ClusterPlan, report: &PlanReport, place: &str, effort: Effort) -> String {
    let mut text = report.name.clone();
    if let Some(title) = &report.title {
        text.push_str(&format!(": {title}"));
    }
    text.push_str("\n\n");
    let lines = sentences(plan, report);
    text.extend(lines.iter().map(|line| wrapped(line)));
    text.push_str(&format!("\n{}\n\nWhat this leaves out:\n", checks(report)));
    for line in &report.left_out {
        text.push_str(&wrapped(&format!("- {line}")));
    }
    text.push_str(&format!(
        "\n{} runs, {} events in {} s; seeds from {}\ntrace hash {}\n\n{}",
        report.runs,
        report.events,
        figure(report.wall_time_s),
        report.seed,
        report.trace_hash,
        next(plan, report, place, effort),
    ));
    text
}

/// `1.04 GB/s (1240 objects/s)`.
fn load(plan: &ClusterPlan, objects_per_s: u64) -> String {
    let bytes = objects_per_s as f64 * plan.mean_size();
    format!("{} ({objects_per_s} objects/s)", bytes_rate(bytes))
}

/// `0.47 GB/s written and 1.10 GB/s read (1800 objects/s)`.
fn load_apart(check: &Check) -> String {
    let parts = [(check.write_bytes_per_s, "written"), (check.read_bytes_per_s, "read")];
    let parts = parts.into_iter().filter(|(bytes, _)| *bytes > 0.0);
    let parts: Vec<_> =
        parts.map(|(bytes, what)| format!("{} {what}", bytes_rate(bytes))).collect();
    format!("{} ({} objects/s)", parts.join(" and "), check.objects_per_s)
}

/// Whether it holds; if it does with all nodes up, what it does not hold with.
pub(crate) fn verdict(plan: &ClusterPlan, report: &PlanReport) -> String {
    let faults = faults(report).filter(|check| plan.target.conditions.has(check.condition));
    let with = |holds: Holds| {
        let faults = faults.clone().filter(|check| check.holds == holds);
        faults.map(|check| check.condition.words()).collect::<Vec<_>>().join(" or ")
    };
    match (report.at_target.holds, report.holds) {
        (Holds::Yes, Holds::Yes) => "Yes, it holds.".into(),
        (Holds::Yes, Holds::TooCloseToCall) => {
            format!("It holds, but with {} it is too close to call.", with(Holds::TooCloseToCall))
        }
        (Holds::Yes, Holds::No) => match with(Holds::No).as_str() {
            "" => match with(Holds::TooCloseToCall).as_str() {
                "" => "No: it is fast enough, but has no room for what it must store.".into(),
                open => format!(
                    "No: it has no room for what it must store, and with {open} it is too close to call."
                ),
            },
            faults => format!("No: it holds with all nodes up, and not with {faults}."),
        },
        (Holds::TooCloseToCall, Holds::No) if report.room.holds == Holds::No => {
            "No: it has no room for what it must store, and its speed is too close to call.".into()
        }
        (Holds::TooCloseToCall, _) => "Too close to call.".into(),
        (Holds::No, _) => "No, it does not hold.".into(),
    }
}

/// The checks of what can go wrong.
pub(crate) fn faults(report: &PlanReport) -> impl Iterator<Item = &Check> + Clone {
    let all = [&report.node_down, &report.two_nodes_down, &report.rack_down, &report.rebuilding];
    all.into_iter().flatten()
}

/// Whether it holds, what is asked for, and what was found of writes and of reads: a line each.
fn answer(plan: &ClusterPlan, report: &PlanReport) -> Vec<String> {
    let check = &report.at_target;
    let mut lines = vec![format!("{} Asked for: {}.", verdict(plan, report), load_apart(check))];
    if check.latency_us.p99.value.is_nan() {
        lines.push("Hardly anything is done within the runs.".into());
        return lines;
    }
    let target = &plan.target;
    lines.extend(kind("writes", target.puts, [check.write_p99_us, check.write_p999_us]));
    lines.extend(kind("reads", target.gets, [check.read_p99_us, check.read_p999_us]));
    if check.done_per_s.value < check.objects_per_s as f64 * 0.97 {
        let done = estimate(check.done_per_s);
        lines.push(format!("Only {done} objects/s are done, and the rest piles up."));
    }
    lines
}

/// How long requests of one kind take, and how long they may.
fn kind(what: &str, limits: Option<Limits>, [p99, p999]: [Option<Estimate>; 2]) -> Option<String> {
    let (limits, p99) = (limits?, p99?);
    let asked = limit_ms(limits.p99);
    let mut line = format!("99 of 100 {what} are done within {} ms; {asked} is asked for", ms(p99));
    if let (Some(limit), Some(p999)) = (limits.p999, p999) {
        let (p999, asked) = (ms(p999), limit_ms(limit));
        line.push_str(&format!(", and 999 of 1000 within {p999} ms; {asked} is asked for"));
    }
    Some(line + ".")
}

fn headroom(plan: &ClusterPlan, report: &PlanReport) -> String {
    let limit = &report.limit;
    let Some(holds_at) = limit.holds_at else {
        return format!(
            "No load is held: even when hardly anything waits, the p99 is {}.",
            p99s(&report.idle)
        );
    };
    let than = match limit.headroom {
        more if more >= 0.0 => format!("{} more than the target", percent(more)),
        less => format!("{} less than the target", percent(-less)),
    };
    format!(
        "Headroom: it holds up to {}, {than}, and not surely at {}.",
        load(plan, holds_at),
        load(plan, limit.fails_at)
    )
}

fn name(resource: Resource) -> &'static str {
    match resource {
        Resource::Disks => "the disks",
        Resource::NodeLinks => "the nodes' links",
        Resource::ClientLinks => "the clients' links",
        Resource::Control => "the control messages",
    }
}

fn limit(report: &PlanReport) -> String {
    let (busiest, used) = report.limit.at.used.busiest();
    let (busiest, used) = (name(busiest), percent(used));
    match report.limit.by {
        LimitedBy::Full { resource } => {
            format!("The limit: {}, {used} used at that load.", name(resource))
        }
        LimitedBy::Waiting { resource } => format!(
            "The limit: waiting for {}. It reaches the p99 before they are full, at {used}.",
            name(resource)
        ),
        LimitedBy::Latency => format!(
            "The limit: the way of a single request. When hardly anything waits the p99 is {} already.",
            p99s(&report.idle)
        ),
        LimitedBy::Protocol => format!(
            "The limit: the protocol. Its windows do not fill what there is; {busiest} are used most, {used}."
        ),
    }
}

/// What becomes of it while something is wrong: a line each.
fn down(plan: &ClusterPlan, report: &PlanReport) -> Vec<String> {
    if report.node_down.is_none() {
        return vec!["With its one node down nothing is left.".into()];
    }
    let told = |check: &Check| {
        let holds = match check.holds {
            Holds::Yes => "it still holds",
            Holds::TooCloseToCall => "it is too close to call",
            Holds::No => "it does not hold",
        };
        let done = match check.done_per_s.value < check.objects_per_s as f64 * 0.97 {
            true => format!(", {} objects/s are done", estimate(check.done_per_s)),
            false => String::new(),
        };
        let p99 = match check.latency_us.p99.value.is_nan() {
            true => "hardly anything is done".to_string(),
            false => format!("the p99 is {}", p99s(check)),
        };
        let asked = match plan.target.conditions.has(check.condition) {
            true => "",
            false => " (not asked for)",
        };
        format!("With {} {holds}{asked}: {p99}{done}.", check.condition.words())
    };
    faults(report).map(told).collect()
}

fn change(report: &PlanReport) -> Option<String> {
    let change = report.change.as_ref()?;
    let tried = change.tried;
    if change.change.is_empty() {
        let cut = match change.cut_short {
            true => "; there may be one beyond",
            false => " among those that are allowed and that bays and racks have room for",
        };
        return Some(format!("No change was found that makes it hold, in {tried} variants{cut}."));
    }
    let cut = if change.cut_short { "; a cheaper one may exist" } else { "" };
    Some(format!(
        "The smallest change that makes it hold: {}. Cost {} at the prices of the file ({tried} variants \
         simulated{cut}).",
        change.change.join(", "),
        change.cost.unwrap_or_default(),
    ))
}

/// `41.0 ± 8.0 ms of writes and 44.0 ± 1.4 ms of reads`.
fn p99s(check: &Check) -> String {
    let parts = [(check.write_p99_us, "writes"), (check.read_p99_us, "reads")];
    let parts = parts.into_iter().filter_map(|(p99, what)| Some((p99?, what)));
    let parts: Vec<_> = parts.map(|(p99, what)| format!("{} ms of {what}", ms(p99))).collect();
    parts.join(" and ")
}

/// Every check as a row.
fn checks(report: &PlanReport) -> String {
    let header =
        ["GB/s and ms", "written", "read", "holds", "write p99", "read p99", "disks", "links"];
    let mut table = table(&header);
    let mut rows: Vec<(String, &Check)> =
        vec![("idle".into(), &report.idle), ("target".into(), &report.at_target)];
    if report.limit.holds_at.is_some() && report.limit.at != report.at_target {
        rows.push(("largest".into(), &report.limit.at));
    }
    rows.extend(faults(report).map(|check| (check.condition.words().to_string(), check)));
    if let Some(change) = &report.change {
        rows.extend(change.at_target.as_ref().map(|check| ("changed".to_string(), check)));
        let with = |check: &Check| format!("+ {}", check.condition.words());
        rows.extend(change.faults.iter().map(|check| (with(check), check)));
    }
    for (what, check) in rows {
        let p99 = |us: Option<Estimate>| us.map_or("-".into(), ms);
        let holds = match check.holds {
            Holds::TooCloseToCall => "close".to_string(),
            known => known.to_string(),
        };
        table.add_row([
            what,
            gigabytes(check.write_bytes_per_s),
            gigabytes(check.read_bytes_per_s),
            holds,
            p99(check.write_p99_us),
            p99(check.read_p99_us),
            percent(check.used.disks),
            percent(check.used.node_links.max(check.used.client_links)),
        ]);
    }
    align_right(&mut table, 1);
    for (number, column) in table.column_iter_mut().enumerate() {
        column.set_padding((u16::from(number > 0), 0));
    }
    table.to_string()
}

/// What to type next.
fn next(plan: &ClusterPlan, report: &PlanReport, place: &str, effort: Effort) -> String {
    let mut lines = Vec::new();
    if effort == Effort::Quick {
        lines.push((format!("slotcast plan {place}"), "the same with narrower intervals"));
    }
    if plan.name == place {
        let template = "slotcast plan --template > my.toml".to_string();
        lines.push((template, "state your own cluster, then slotcast plan my.toml"));
    }
    let top = report.limit.fails_at.max(2);
    let step = (top / 10).max(1);
    let file = format!("{}-load.toml", report.name.replace(|c: char| !c.is_alphanumeric(), "-"));
    lines.push((
        format!("slotcast plan {place} --experiment {file}"),
        "as an experiment, to vary any setting",
    ));
    lines.push((
        format!("slotcast sweep {file} --axis workload.arrivals_per_s={step}..{top}+{step}"),
        "latency over load",
    ));
    let lines: Vec<String> =
        lines.iter().map(|(command, why)| format!("  {command}\n      {why}\n")).collect();
    format!("Next:\n{}", lines.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_told_in_bytes_and_objects() {
        let plan =
            slotcast_plan::ready("medium").expect("a ready cluster").plan().expect("it is right");
        assert_eq!(load(&plan, 75_000), "9.83 GB/s (75000 objects/s)");
        assert_eq!(load(&plan, 100), "13.1 MB/s (100 objects/s)");
    }
}
