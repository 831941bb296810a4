//! Tables of a plan.

use slotcast_lab::Estimate;
use slotcast_plan::{Check, Holds};

use super::Told;
use crate::chart::Mean;
use crate::number;
use crate::page::{Cell, Table, Tone, numbers, words};

fn holds(holds: Holds) -> Cell {
    let tone = match holds {
        Holds::Yes => Tone::Good,
        Holds::TooCloseToCall => Tone::Open,
        Holds::No => Tone::Bad,
    };
    Cell { text: holds.to_string(), tone }
}

fn in_ms(us: Option<Estimate>) -> Cell {
    let mean = |us: Estimate| Mean { value: us.value / 1e3, ci95: us.ci95.map(|ci95| ci95 / 1e3) };
    us.map_or("–".into(), |us| number::mean(mean(us)).into())
}

fn percent(part: f64) -> Cell {
    format!("{:.0} %", part * 100.0).into()
}

fn row(what: &str, check: &Check) -> Vec<Cell> {
    vec![
        what.into(),
        holds(check.holds),
        number::figure(check.write_bytes_per_s / 1e9).into(),
        number::figure(check.read_bytes_per_s / 1e9).into(),
        in_ms(check.write_p99_us),
        in_ms(check.read_p99_us),
        percent(check.used.disks),
        percent(check.used.node_links.max(check.used.client_links)),
    ]
}

/// Every check.
pub(super) fn checks(told: &Told) -> Table {
    let report = &told.report;
    let mut rows = vec![row("idle", &report.idle), row("target", &report.at_target)];
    if report.limit.holds_at.is_some() {
        rows.push(row("largest load that holds", &report.limit.at));
    }
    let faults = [&report.node_down, &report.two_nodes_down, &report.rack_down, &report.rebuilding];
    for check in faults.into_iter().flatten() {
        rows.push(row(&format!("target, {}", check.condition.words()), check));
    }
    if let Some(change) = &report.change {
        rows.extend(change.at_target.iter().map(|check| row("target, changed", check)));
        for check in &change.faults {
            rows.push(row(&format!("changed, {}", check.condition.words()), check));
        }
    }
    Table {
        caption: "What was simulated".into(),
        columns: vec![
            words("cluster"),
            words("holds"),
            numbers("written (GB/s)"),
            numbers("read (GB/s)"),
            numbers("write p99 (ms)"),
            numbers("read p99 (ms)"),
            numbers("disks"),
            numbers("links"),
        ],
        rows,
        ..Table::default()
    }
}

/// What it can store.
pub(super) fn room(told: &Told) -> Table {
    let room = &told.report.room;
    let rebuild = &told.report.rebuild;
    let terabytes = |bytes: f64| Cell::from(format!("{} TB", number::figure(bytes / 1e12)));
    let mut rows: Vec<Vec<Cell>> = vec![
        vec!["all disks".into(), terabytes(room.raw)],
        vec!["objects, with all copies".into(), terabytes(room.filled)],
        vec!["kept free for the rebuild of a node".into(), terabytes(room.reserve)],
        vec!["usable".into(), terabytes(room.usable)],
    ];
    rows.extend(room.stored.map(|stored| vec!["stored now".into(), terabytes(stored)]));
    rows.extend(
        room.full_in_months.map(|months| {
            vec!["full after".into(), format!("{:.0} months", months.floor()).into()]
        }),
    );
    if told.report.rebuilding.is_some() {
        let hours = format!("{} hours", number::figure(rebuild.seconds / 3600.0));
        rows.push(vec!["rebuild of a node".into(), hours.into()]);
    }
    Table {
        caption: "What it can store".into(),
        columns: vec![words("what"), numbers("how much")],
        rows,
        ..Table::default()
    }
}

/// What it costs and draws.
pub(super) fn budget(told: &Told) -> Table {
    let budget = &told.report.budget;
    let figure = |value: f64| Cell::from(number::figure(value));
    let or_dash = |value: Option<f64>| value.map_or("–".into(), figure);
    let watts_idle = figure(budget.watts_idle);
    let guessed = &told.plan.guesses;
    let notes = match guessed.is_empty() {
        true => Vec::new(),
        false => {
            vec![format!("Rough guesses, where the file states none: {}.", guessed.join(", "))]
        }
    };
    Table {
        caption: "What it costs and draws".into(),
        columns: vec![
            words(""),
            numbers("all"),
            numbers("per usable TB"),
            numbers("per GB/s that is held"),
        ],
        rows: vec![
            vec![
                "price".into(),
                figure(budget.cost),
                figure(budget.cost_per_tb),
                or_dash(budget.cost_per_gb_per_s),
            ],
            vec![
                "power at the target (W)".into(),
                figure(budget.watts_at_target),
                figure(budget.watts_per_tb),
                or_dash(budget.watts_per_gb_per_s),
            ],
            vec!["power idle (W)".into(), watts_idle, "".into(), "".into()],
        ],
        notes,
        ..Table::default()
    }
}

/// What was stated, or taken where nothing was.
pub(super) fn stated(told: &Told) -> Table {
    let rows = told.report.cluster.iter();
    Table {
        caption: "The cluster".into(),
        columns: vec![words("key"), words("value")],
        rows: rows.map(|(key, value)| vec![Cell::from(*key), value.as_str().into()]).collect(),
        folded: true,
        ..Table::default()
    }
}

/// One row for each point of a sweep.
pub(super) fn points(told: &[Told]) -> Table {
    let row = |told: &Told| {
        let report = &told.report;
        let largest = &report.limit.at;
        let largest = match report.limit.holds_at {
            Some(_) => (largest.write_bytes_per_s + largest.read_bytes_per_s) / 1e9,
            None => 0.0,
        };
        vec![
            told.label.as_str().into(),
            holds(report.holds),
            number::figure(largest).into(),
            in_ms(report.at_target.write_p99_us),
            in_ms(report.at_target.read_p99_us),
            number::figure(report.budget.cost).into(),
            number::figure(report.budget.watts_at_target).into(),
        ]
    };
    Table {
        caption: "Every cluster".into(),
        columns: vec![
            words("cluster"),
            words("holds"),
            numbers("largest load (GB/s)"),
            numbers("write p99 (ms)"),
            numbers("read p99 (ms)"),
            numbers("price"),
            numbers("power (W)"),
        ],
        rows: told.iter().map(row).collect(),
        ..Table::default()
    }
}
