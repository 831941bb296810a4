//! The answer of `slotcast plan` for people: sentences first, then the table, then what to do next.

use slotcast_lab::Estimate;
use slotcast_plan::{Check, ClusterPlan, Effort, Holds, LimitedBy, PlanReport, Resource};

use crate::format::{align_right, estimate, figure, quantile, table};

/// Everything that is printed about `report`, of the cluster that was called `place`.
pub(crate) fn told(plan: &ClusterPlan, report: &PlanReport, place: &str, effort: Effort) -> String {
    let mut text = report.name.clone();
    if let Some(title) = &report.title {
        text.push_str(&format!(": {title}"));
    }
    text.push_str("\n\n");
    for sentence in [answer(plan, report), headroom(plan, report), limit(report), down(report)] {
        text.push_str(&format!("{sentence}\n"));
    }
    if let Some(change) = change(report) {
        text.push_str(&format!("{change}\n"));
    }
    text.push_str(&format!("\n{}\n\nWhat this leaves out:\n", checks(report)));
    for line in &report.left_out {
        text.push_str(&format!("  - {line}\n"));
    }
    text.push_str(&format!(
        "\n{} runs, {} events in {} s; seeds from {}; trace hash {}\n\n{}",
        report.runs,
        report.events,
        figure(report.wall_time_s),
        report.seed,
        report.trace_hash,
        next(plan, report, place, effort),
    ));
    text
}

/// `1240 objects/s (1.04 GB/s)`.
fn load(plan: &ClusterPlan, objects_per_s: u64) -> String {
    let bytes = objects_per_s as f64 * plan.mean_size();
    let (value, unit) = match bytes {
        bytes if bytes >= 1e12 => (bytes / 1e12, "TB/s"),
        bytes if bytes >= 1e9 => (bytes / 1e9, "GB/s"),
        bytes => (bytes / 1e6, "MB/s"),
    };
    let decimals = if value < 10.0 { 2 } else { 0 };
    format!("{objects_per_s} objects/s ({value:.decimals$} {unit})")
}

/// A latency in microseconds with its interval, in the unit that people would use.
fn latency(us: Estimate) -> String {
    let (per, unit) = match us.value {
        value if value >= 1e6 => (1e6, "s"),
        value if value >= 1e3 => (1e3, "ms"),
        _ => (1.0, "us"),
    };
    let scaled = Estimate { value: us.value / per, ci95: us.ci95.map(|ci95| ci95 / per) };
    // A check has several runs.
    format!("{} {unit}", quantile(scaled, 2))
}

fn percent(part: f64) -> String {
    format!("{:.0} %", part * 100.0)
}

fn answer(plan: &ClusterPlan, report: &PlanReport) -> String {
    let check = &report.at_target;
    let load = load(plan, check.objects_per_s);
    let p99 = latency(check.latency_us.p99);
    let asked = plan.target.p99;
    let verdict = match (check.holds, report.holds) {
        (Holds::Yes, Holds::Yes) => "Yes, it holds.",
        (Holds::Yes, Holds::TooCloseToCall) => {
            "It holds, but with a node down it is too close to call."
        }
        (Holds::Yes, Holds::No) => "No: it holds with all nodes up, and not with one down.",
        (Holds::TooCloseToCall, _) => "Too close to call.",
        (Holds::No, _) => "No, it does not hold.",
    };
    if check.latency_us.p99.value.is_nan() {
        return format!("{verdict} At {load} hardly anything is done within the runs.");
    }
    let short = check.done_per_s.value < check.objects_per_s as f64 * 0.97;
    let done = match short {
        true => format!(
            " Only {} objects/s are done, and the rest piles up.",
            estimate(check.done_per_s)
        ),
        false => String::new(),
    };
    format!(
        "{verdict} At {load} 99 of 100 requests are done within {p99}; {asked} is asked for.{done}"
    )
}

fn headroom(plan: &ClusterPlan, report: &PlanReport) -> String {
    let limit = &report.limit;
    let Some(holds_at) = limit.holds_at else {
        return format!(
            "No load is held: even when hardly anything waits, the p99 is {}.",
            latency(report.idle.latency_us.p99)
        );
    };
    let than = match limit.headroom {
        more if more >= 0.0 => format!("{} more than the target", percent(more)),
        less => format!("{} less than the target", percent(-less)),
    };
    format!(
        "Headroom: it holds up to {}, {than}, and not surely at {}.",
        load(plan, holds_at),
        limit.fails_at
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
            latency(report.idle.latency_us.p99)
        ),
        LimitedBy::Protocol => format!(
            "The limit: the protocol. Its windows do not fill what there is; {busiest} are used most, {used}."
        ),
    }
}

fn down(report: &PlanReport) -> String {
    let Some(check) = &report.node_down else {
        return "With its one node down nothing is left.".into();
    };
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
        false => format!("the p99 is {}", latency(check.latency_us.p99)),
    };
    format!("With one node down {holds}: {p99}{done}.")
}

fn change(report: &PlanReport) -> Option<String> {
    let change = report.change.as_ref()?;
    let tried = change.tried;
    if change.change.is_empty() {
        let cut = match change.cut_short {
            true => "; there may be one beyond",
            false => " among those that are allowed",
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

fn checks(report: &PlanReport) -> String {
    let header = [
        "",
        "objects/s",
        "holds",
        "p99",
        "mean",
        "read p99",
        "write p99",
        "disks",
        "node links",
        "client links",
        "control",
    ];
    let mut table = table(&header);
    let mut rows: Vec<(&str, &Check)> = vec![("idle", &report.idle), ("target", &report.at_target)];
    if report.limit.holds_at.is_some() && report.limit.at != report.at_target {
        rows.push(("largest that holds", &report.limit.at));
    }
    rows.extend(report.node_down.as_ref().map(|check| ("target, a node down", check)));
    if let Some(change) = &report.change {
        rows.extend(change.at_target.as_ref().map(|check| ("target, changed", check)));
        rows.extend(change.node_down.as_ref().map(|check| ("changed, a node down", check)));
    }
    for (what, check) in rows {
        let or_dash = |us: Option<Estimate>| us.map_or("-".into(), latency);
        table.add_row([
            what.to_string(),
            check.objects_per_s.to_string(),
            check.holds.to_string(),
            latency(check.latency_us.p99),
            latency(check.latency_us.mean),
            or_dash(check.read_p99_us),
            or_dash(check.write_p99_us),
            percent(check.used.disks),
            percent(check.used.node_links),
            percent(check.used.client_links),
            percent(check.used.control),
        ]);
    }
    align_right(&mut table, 1);
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
    let width = lines.iter().map(|(command, _)| command.len()).max().unwrap_or(0);
    let lines: Vec<String> =
        lines.iter().map(|(command, why)| format!("  {command:<width$}   {why}\n")).collect();
    format!("Next:\n{}", lines.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_have_the_unit_that_people_use() {
        let of = |value, ci95| latency(Estimate { value, ci95: Some(ci95) });
        assert_eq!(of(950.0, 5.0), "950.0 ± 5.0 us");
        assert_eq!(of(95_300.0, 2100.0), "95.30 ± 2.10 ms");
        assert_eq!(of(2_500_000.0, 10_000.0), "2.500 ± 0.010 s");
    }

    #[test]
    fn loads_are_told_in_objects_and_bytes() {
        let plan =
            slotcast_plan::ready("medium").expect("a ready cluster").plan().expect("it is right");
        assert_eq!(load(&plan, 75_000), "75000 objects/s (9.83 GB/s)");
        assert_eq!(load(&plan, 100), "100 objects/s (13 MB/s)");
    }
}
