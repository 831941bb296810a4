//! How much of a published evaluation was repeated, and how near: the few numbers that stand for the
//! long tables.

use serde::Serialize;

use crate::evaluation::{Mode, Outcome, Row};
use crate::statement::Repetition;

/// A published figure that was measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Nearest {
    /// Which one.
    pub id: String,
    /// Measured against published, in percent of published.
    pub deviation_pct: f64,
}

/// How an evaluation came out. A figure that follows from others is counted apart: if they are near, so
/// is it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Repeated {
    /// Name of the evaluation.
    pub name: &'static str,
    /// Published figures that were measured as they were published, each on its own.
    pub independent: usize,
    /// How many of those are within 5 % of what was published.
    pub within_5_pct: usize,
    /// How many are within 10 %.
    pub within_10_pct: usize,
    /// The one that is farthest off; none if there are none.
    pub farthest: Option<Nearest>,
    /// Figures that are made from others, published and measured alike.
    pub derived: usize,
    /// Published figures that were measured once more, in steady state.
    pub in_steady_state: usize,
    /// Figures for which nothing was published.
    pub unpublished: usize,
    /// Claims.
    pub claims: usize,
    /// How many of them hold.
    pub claims_that_hold: usize,
    /// Statements of the source.
    pub statements: usize,
    /// How many of them were repeated in full.
    pub repeated: usize,
    /// How many were repeated in part.
    pub in_part: usize,
    /// What was published and is not repeated.
    pub not_run: usize,
}

impl Repeated {
    /// Of an evaluation that ran.
    pub fn of(outcome: &Outcome) -> Repeated {
        let judged = outcome.judged();
        let verdict = |verdict| judged.iter().filter(|said| said.verdict == verdict).count();
        let rows = &outcome.findings.rows;
        let published = || rows.iter().filter(|row| row.deviation_pct.is_some());
        let own: Vec<(&Row, f64)> = published()
            .filter(|row| row.derived_from.is_none() && row.mode == Mode::AsPublished)
            .filter_map(|row| Some((row, row.deviation_pct?)))
            .collect();
        let within = |pct: f64| own.iter().filter(|(_, off)| off.abs() <= pct).count();
        let farthest = own.iter().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
        let is_derived = |row: &&Row| row.derived_from.is_some();
        Repeated {
            name: outcome.name,
            independent: own.len(),
            within_5_pct: within(5.0),
            within_10_pct: within(10.0),
            farthest: farthest
                .map(|(row, off)| Nearest { id: row.id.clone(), deviation_pct: *off }),
            derived: published().filter(is_derived).count(),
            in_steady_state: published()
                .filter(|row| row.mode == Mode::SteadyState && !is_derived(row))
                .count(),
            unpublished: rows.len() - published().count(),
            claims: outcome.claims.len(),
            claims_that_hold: outcome.claims.iter().filter(|claim| claim.holds).count(),
            statements: outcome.statements.len(),
            repeated: verdict(Repetition::Repeated),
            in_part: verdict(Repetition::InPart),
            not_run: outcome.not_run.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluation::{Claim, Findings};

    #[test]
    fn what_follows_from_others_and_what_was_measured_twice_is_counted_apart() {
        let row = |id: &str, published, measured, mode| {
            Row::new(id.into(), published, &[measured], "us", mode)
        };
        let (paper, steady) = (Mode::AsPublished, Mode::SteadyState);
        let rows = vec![
            row("a", Some(100.0), 104.0, paper),
            row("b", Some(100.0), 91.0, paper),
            row("c", Some(100.0), 130.0, paper).derived_from("a and b"),
            row("a", Some(100.0), 150.0, steady),
            row("d", None, 1.0, paper),
        ];
        let claim = |holds| Claim {
            id: "x".into(),
            text: String::new(),
            holds,
            certain: true,
            measured: String::new(),
        };
        let outcome = Outcome {
            name: "test",
            title: "Test",
            findings: Findings { rows, ..Findings::default() },
            claims: vec![claim(true), claim(false)],
            statements: &[],
            not_run: &[],
            runs: 1,
            events: 1,
            trace_hash: 0,
        };
        let found = Repeated::of(&outcome);
        assert_eq!((found.independent, found.within_5_pct, found.within_10_pct), (2, 1, 2));
        let farthest = found.farthest.expect("there are some");
        assert_eq!((farthest.id.as_str(), farthest.deviation_pct.round()), ("b", -9.0));
        assert_eq!((found.derived, found.in_steady_state, found.unpublished), (1, 1, 1));
        assert_eq!((found.claims, found.claims_that_hold), (2, 1));
    }
}
