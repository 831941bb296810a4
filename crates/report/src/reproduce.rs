//! The page of `slotcast reproduce`: what was published beside what was measured.

mod pictures;
mod rows;

use slotcast_lab::{Claim, Outcome, Repetition};

use crate::data::{self, Data};
use crate::number;
use crate::page::{Block, Cell, Page, Section, Table, Tone, words};

/// A published figure is met if it is within this part of it, in percent.
const MET: f64 = 5.0;

/// The page over `outcomes`, one section for each evaluation.
pub fn page(outcomes: &[Outcome]) -> Page {
    let claims = || outcomes.iter().flat_map(|outcome| &outcome.claims);
    let runs: usize = outcomes.iter().map(|outcome| outcome.runs).sum();
    let events: u64 = outcomes.iter().map(|outcome| outcome.events).sum();
    let mut facts = vec![
        ("runs".into(), number::count(runs)),
        ("simulated events".into(), number::count(usize::try_from(events).unwrap_or(usize::MAX))),
    ];
    for outcome in outcomes {
        let name = format!("trace hash of {}", outcome.name);
        facts.push((name, format!("{:016x}", outcome.trace_hash)));
    }
    let rows = outcomes.iter().flat_map(|outcome| &outcome.findings.rows);
    let answers: Vec<String> = rows::published_answer(rows)
        .into_iter()
        .chain([claims_answer(&claims().collect::<Vec<_>>())])
        .collect();
    Page {
        title: "Published evaluations, repeated".into(),
        question: "Does the simulator find what was published?".into(),
        answer: sentence(&answers),
        facts,
        sections: outcomes.iter().map(section).collect(),
        data: vec![rows::data(outcomes), claims_data(outcomes)],
    }
}

fn section(outcome: &Outcome) -> Section {
    let rows = &outcome.findings.rows;
    let mut blocks: Vec<Block> =
        rows::deviations(outcome.name, rows).into_iter().map(Block::Chart).collect();
    let pictures = pictures::of(outcome);
    if !pictures.is_empty() {
        blocks.push(Block::Heading("Pictures".into()));
        blocks.extend(pictures.into_iter().map(Block::Chart));
    }
    blocks.push(Block::Heading("Published and measured".into()));
    blocks.extend(rows::tables(rows).into_iter().map(Block::Table));
    blocks.push(Block::Heading("What the source says".into()));
    blocks.push(Block::Table(statements_table(outcome)));
    if !outcome.not_run.is_empty() {
        blocks.push(Block::Table(not_run_table(outcome)));
    }
    blocks.push(Block::Heading("What was judged".into()));
    blocks.push(Block::Table(claims_table(&outcome.claims)));
    let answers: Vec<String> = [rows::published_answer(rows.iter()), rows::gain_answer(rows)]
        .into_iter()
        .flatten()
        .chain([claims_answer(&outcome.claims.iter().collect::<Vec<_>>())])
        .collect();
    Section {
        id: outcome.name.into(),
        title: outcome.title.into(),
        question: String::new(),
        answer: sentence(&answers),
        blocks,
    }
}

/// Clauses as one sentence.
fn sentence(clauses: &[String]) -> String {
    let text = clauses.join("; ");
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => format!("{}{}.", first.to_uppercase(), letters.as_str()),
        None => String::new(),
    }
}

fn claims_answer(claims: &[&Claim]) -> String {
    let count = |wanted: fn(&Claim) -> bool| claims.iter().filter(|claim| wanted(claim)).count();
    let (all, hold) = (count(|_| true), count(|claim| claim.holds));
    let (certain, broken) =
        (count(|claim| claim.certain), count(|claim| claim.certain && !claim.holds));
    let must = match broken {
        0 => format!("among them all {certain} that a right model must show"),
        1 => format!("and 1 of the {certain} that a right model must show does not"),
        _ => format!("and {broken} of the {certain} that a right model must show do not"),
    };
    format!("{hold} of {all} claims hold, {must}")
}

/// What the source says in its words, and how much of it was repeated.
fn statements_table(outcome: &Outcome) -> Table {
    let judged = outcome.judged();
    let said = judged.iter().filter(|said| said.verdict != Repetition::NotSaid);
    let rows = said.map(|said| {
        let tone = match said.verdict {
            Repetition::Repeated => Tone::Good,
            Repetition::NotRepeated => Tone::Bad,
            Repetition::InPart | Repetition::NotSaid => Tone::Open,
        };
        let verdict = Cell { text: said.verdict.words().into(), tone };
        let words = format!("“{}” ({})", said.words, said.place);
        let fails = said.fails.join(", ");
        vec![verdict, words.as_str().into(), said.scope.into(), fails.as_str().into()]
    });
    Table {
        caption: "Statements of the source".into(),
        columns: vec![words("verdict"), words("words"), words("scope"), words("but not")],
        rows: rows.collect(),
        notes: Vec::new(),
        folded: false,
    }
}

/// What was published and is not repeated.
fn not_run_table(outcome: &Outcome) -> Table {
    let rows = outcome.not_run.iter();
    let rows = rows.map(|left| vec![left.place.into(), left.words.into(), left.reason.into()]);
    Table {
        caption: "Published and not repeated".into(),
        columns: vec![words("where"), words("what"), words("why not")],
        rows: rows.collect(),
        notes: Vec::new(),
        folded: true,
    }
}

fn claims_table(claims: &[Claim]) -> Table {
    let rows = claims.iter().map(|claim| {
        let (verdict, tone) = match (claim.holds, claim.certain) {
            (true, _) => ("holds", Tone::Good),
            (false, true) => ("does not hold", Tone::Bad),
            (false, false) => ("does not hold (either way)", Tone::Open),
        };
        let verdict = Cell { text: verdict.into(), tone };
        vec![verdict, claim.text.as_str().into(), claim.measured.as_str().into()]
    });
    let either =
        "Either way: published so close, or said so loosely, that a right model may differ.";
    Table {
        caption: "Claims, each judged on the means over the seeds".into(),
        columns: vec![words("verdict"), words("claim"), words("measured")],
        rows: rows.collect(),
        notes: vec![either.into()],
        folded: false,
    }
}

fn claims_data(outcomes: &[Outcome]) -> Data {
    let claims = || outcomes.iter().flat_map(|o| o.claims.iter().map(move |claim| (o.name, claim)));
    let text = |of: fn(&Claim) -> String| claims().map(|(_, claim)| of(claim)).collect();
    Data::new(
        "claims",
        vec![
            data::texts("evaluation", claims().map(|(name, _)| name.into()).collect()),
            data::texts("id", text(|claim| claim.id.clone())),
            data::texts("claim", text(|claim| claim.text.clone())),
            data::texts("holds", text(|claim| claim.holds.to_string())),
            data::texts("certain", text(|claim| claim.certain.to_string())),
            data::texts("measured", text(|claim| claim.measured.clone())),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(holds: bool, certain: bool) -> Claim {
        Claim { id: String::new(), text: String::new(), holds, certain, measured: String::new() }
    }

    #[test]
    fn broken_claims_are_not_passed_over() {
        let claims = [claim(true, true), claim(false, false)];
        let text = claims_answer(&claims.iter().collect::<Vec<_>>());
        assert_eq!(text, "1 of 2 claims hold, among them all 1 that a right model must show");
        let claims = [claim(true, true), claim(false, true)];
        let text = claims_answer(&claims.iter().collect::<Vec<_>>());
        assert_eq!(
            text,
            "1 of 2 claims hold, and 1 of the 2 that a right model must show does not"
        );
    }

    #[test]
    fn clauses_make_one_sentence() {
        assert_eq!(sentence(&["one".into(), "two".into()]), "One; two.");
        assert_eq!(sentence(&[]), "");
    }
}
