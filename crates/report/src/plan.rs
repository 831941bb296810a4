//! The page of `slotcast plan`: the verdict first, then load, latency, faults, room and price, with the limits in
//! every picture.

mod charts;
mod tables;

use slotcast_plan::{ClusterPlan, Holds, PlanReport};

use crate::number;
use crate::page::{Block, Note, Page, Section, Tone};

/// An answer, as it is told.
#[derive(Debug, Clone)]
pub struct Told {
    /// What distinguishes it from the others of a sweep; empty without one.
    pub label: String,
    /// What was planned.
    pub plan: ClusterPlan,
    /// What was found.
    pub report: PlanReport,
    /// The same in sentences, the verdict first.
    pub sentences: Vec<String>,
}

/// The page of one cluster, or of all points of a sweep.
///
/// # Panics
/// Without an answer.
pub fn page(told: &[Told]) -> Page {
    let first = told.first().expect("at least one answer");
    let report = &first.report;
    let runs: usize = told.iter().map(|told| told.report.runs).sum();
    let hashes: Vec<&str> = told.iter().map(|told| told.report.trace_hash.as_str()).collect();
    let (answer, sections) = match told {
        [only] => (only.sentences.first().cloned().unwrap_or_default(), of_one(only)),
        several => (of_several(several), sections_of_several(several)),
    };
    Page {
        title: report.title.clone().unwrap_or_else(|| report.name.clone()),
        question: question(&first.plan),
        answer,
        facts: [
            ("cluster", report.name.clone()),
            ("seeds from", report.seed.to_string()),
            ("runs", number::count(runs)),
            ("trace hash", hashes.join(" ")),
        ]
        .map(|(name, value)| (name.to_string(), value))
        .into(),
        sections,
        data: Vec::new(),
    }
}

/// What is asked, in GB/s and ms.
fn question(plan: &ClusterPlan) -> String {
    let [writes, reads] = plan.bytes_per_s(plan.target.objects_per_s as f64);
    let kinds = [(writes, plan.target.puts, "written"), (reads, plan.target.gets, "read")];
    let parts: Vec<String> = kinds
        .into_iter()
        .filter_map(|(bytes, limits, what)| {
            let p99 = number::tick(charts::ms(limits?.p99));
            Some(format!("{} GB/s {what} with a p99 of {p99} ms", number::figure(bytes / 1e9)))
        })
        .collect();
    format!("Does it hold {}?", parts.join(" and "))
}

fn of_one(told: &Told) -> Vec<Section> {
    let rest = told.sentences.iter().skip(1);
    let notes = rest.map(|text| Note { text: text.clone(), tone: Tone::Plain }).collect();
    let verdict = vec![Block::Notes(notes), Block::Table(tables::checks(told))];
    let chart = Block::Chart;
    let mut load = vec![chart(charts::latency(told))];
    load.push(chart(charts::used(told)));
    let mut sections = vec![
        Section::new("verdict", "Verdict", verdict),
        Section::new("load", "How much it holds", load),
    ];
    if told.report.node_down.is_some() {
        sections.push(Section::new(
            "faults",
            "With something wrong",
            vec![chart(charts::faults(told))],
        ));
    }
    let mut room = vec![Block::Table(tables::room(told))];
    room.extend(charts::room(told).map(chart));
    sections.push(Section::new("room", "Room", room));
    sections.push(Section::new(
        "price",
        "Price and power",
        vec![Block::Table(tables::budget(told))],
    ));
    let left_out = told.report.left_out.iter();
    let left_out = left_out.map(|text| Note { text: text.clone(), tone: Tone::Plain }).collect();
    let setup = vec![Block::Table(tables::stated(told)), Block::Notes(left_out)];
    sections.push(Section::new("setup", "What was asked, and what is left out", setup));
    sections
}

/// How many points hold, and the cheapest of them.
fn of_several(told: &[Told]) -> String {
    let holding = told.iter().filter(|told| told.report.holds == Holds::Yes);
    let cheapest =
        holding.clone().min_by(|a, b| a.report.budget.cost.total_cmp(&b.report.budget.cost));
    let Some(cheapest) = cheapest else { return format!("None of {} clusters holds.", told.len()) };
    format!(
        "{} of {} clusters hold; the cheapest of them has {}, at {}.",
        holding.count(),
        told.len(),
        cheapest.label,
        number::figure(cheapest.report.budget.cost)
    )
}

fn sections_of_several(told: &[Told]) -> Vec<Section> {
    vec![
        Section::new("verdict", "Verdict", vec![Block::Table(tables::points(told))]),
        Section::new(
            "load",
            "How much each holds",
            vec![Block::Chart(charts::largest(told)), Block::Chart(charts::p99_of_each(told))],
        ),
    ]
}
