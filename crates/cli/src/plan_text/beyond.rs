//! What an architect asks beside speed: what a rebuild takes, when the cluster is full, what it costs and draws.

use slotcast_plan::{ClusterPlan, PlanReport};

use super::units::{bytes_rate, digits, hours, percent, terabytes};

/// How long it takes to bring back what a lost node held; nothing if nobody is left to do it.
pub(super) fn rebuild(plan: &ClusterPlan, report: &PlanReport) -> Option<String> {
    report.rebuilding.as_ref()?;
    let rebuild = &report.rebuild;
    let of = match plan.data.stored {
        Some(_) => "",
        None => ", if the cluster is full",
    };
    Some(format!(
        "Rebuilding a node: the {} that it held{of} take {} with {} of the disks of the other {} nodes of its \
         group ({}, {} of their links).",
        terabytes(rebuild.bytes),
        hours(rebuild.seconds),
        percent(rebuild.disks),
        rebuild.nodes,
        bytes_rate(rebuild.bytes_per_s),
        percent(rebuild.links),
    ))
}

/// What it can store, and when it is full.
pub(super) fn room(plan: &ClusterPlan, report: &PlanReport) -> String {
    let room = &report.room;
    let reserve = match room.reserve > 0.0 {
        true => format!(", with {} kept free for the rebuild of a node", terabytes(room.reserve)),
        false => String::new(),
    };
    let mut text = format!(
        "Room: {} of objects in {} of disks, {} copies each, filled to {}{reserve}.",
        terabytes(room.usable),
        terabytes(room.raw),
        plan.hardware.replicas,
        plan.data.fill,
    );
    let Some(stored) = room.stored else { return text };
    let full = match room.full_in_months {
        Some(0.0) if stored > room.usable => "they have no room".to_string(),
        Some(months) => format!(
            "with {} more a month it is full after {:.0} months",
            terabytes(plan.data.growth.as_bytes() as f64),
            months.floor()
        ),
        None => "they do not grow".to_string(),
    };
    text.push_str(&format!(" {} are stored; {full}", terabytes(stored)));
    match plan.target.months {
        Some(months) => text.push_str(&format!(", and {months} are asked for.")),
        None => text.push('.'),
    }
    text
}

/// What it costs and draws.
pub(super) fn budget(plan: &ClusterPlan, report: &PlanReport) -> String {
    let budget = &report.budget;
    let guessed = |what: &str| match plan.guesses.contains(&what) {
        true => " (some of it guessed)",
        false => "",
    };
    let each = |of: Option<f64>, unit: &str| match of {
        Some(of) => format!(" and {}{unit} per GB/s held", digits(of)),
        None => String::new(),
    };
    format!(
        "Price{}: {:.0}, that is {} per usable TB{}. Power{}: {} kW idle and {} kW at the target, that is {} W \
         per usable TB{}.",
        guessed("prices"),
        budget.cost,
        digits(budget.cost_per_tb),
        each(budget.cost_per_gb_per_s, ""),
        guessed("watts"),
        digits(budget.watts_idle / 1e3),
        digits(budget.watts_at_target / 1e3),
        digits(budget.watts_per_tb),
        each(budget.watts_per_gb_per_s, " W"),
    )
}
