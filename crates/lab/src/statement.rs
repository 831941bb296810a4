//! What a source says in its own words, and how much of it was repeated.
//!
//! A [`Statement`] is a quotation and the scope for which the source says it. It is judged by claims: all hold, and
//! it is repeated; some, and it is repeated in part; none, and it is not. A claim that no statement names is one of
//! this project and not of the source.

use serde::Serialize;

use crate::evaluation::{Claim, Outcome};

/// A statement of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Statement {
    /// The source's words, short.
    pub words: &'static str,
    /// Where they are: a table, a section, a slide.
    pub place: &'static str,
    /// What the source says it of, at its full width.
    pub scope: &'static str,
    /// Ids of the claims that judge it; one that ends in `*` stands for all that begin so.
    pub claims: &'static [&'static str],
}

/// Something that was published and is not repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct NotRun {
    /// Where it was published.
    pub place: &'static str,
    /// What is said there.
    pub words: &'static str,
    /// Why it is not repeated.
    pub reason: &'static str,
}

/// How much of a statement was repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Repetition {
    /// Every claim that judges it holds.
    Repeated,
    /// Some hold: see where.
    InPart,
    /// None holds.
    NotRepeated,
    /// The source does not say it: a claim of this project.
    NotSaid,
}

impl Repetition {
    /// The verdict in words.
    pub fn words(self) -> &'static str {
        match self {
            Repetition::Repeated => "repeated",
            Repetition::InPart => "repeated in part",
            Repetition::NotRepeated => "not repeated",
            Repetition::NotSaid => "not said by the source",
        }
    }
}

/// A statement, or a claim of this project, with its verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Judged {
    /// The evaluation.
    pub evaluation: &'static str,
    /// The source's words; empty if it does not say it.
    pub words: &'static str,
    /// Where they are.
    pub place: &'static str,
    /// What the source says it of.
    pub scope: &'static str,
    /// The verdict.
    pub verdict: Repetition,
    /// Ids of the claims that hold.
    pub holds: Vec<String>,
    /// Ids of the claims that do not.
    pub fails: Vec<String>,
}

impl Statement {
    /// Whether the claim called `id` judges this statement.
    pub fn names(&self, id: &str) -> bool {
        self.claims.iter().any(|pattern| match pattern.strip_suffix('*') {
            Some(start) => id.starts_with(start),
            None => *pattern == id,
        })
    }

    fn judged(&self, evaluation: &'static str, claims: &[Claim]) -> Judged {
        let own = || claims.iter().filter(|claim| self.names(&claim.id));
        let ids = |holds: bool| {
            own().filter(|claim| claim.holds == holds).map(|claim| claim.id.clone()).collect()
        };
        let (holds, fails): (Vec<String>, Vec<String>) = (ids(true), ids(false));
        let verdict = match (holds.is_empty(), fails.is_empty()) {
            (false, true) => Repetition::Repeated,
            (false, false) => Repetition::InPart,
            (true, _) => Repetition::NotRepeated,
        };
        let Statement { words, place, scope, .. } = *self;
        Judged { evaluation, words, place, scope, verdict, holds, fails }
    }
}

/// What the evaluation's source says, each with its verdict, and then what this project adds to it.
pub(crate) fn judge(outcome: &Outcome) -> Vec<Judged> {
    let said = outcome.statements.iter().map(|said| said.judged(outcome.name, &outcome.claims));
    let is_own = |claim: &&Claim| !outcome.statements.iter().any(|said| said.names(&claim.id));
    let own = outcome.claims.iter().filter(is_own).map(|claim| {
        let (holds, fails) = match claim.holds {
            true => (vec![claim.id.clone()], Vec::new()),
            false => (Vec::new(), vec![claim.id.clone()]),
        };
        Judged {
            evaluation: outcome.name,
            words: "",
            place: "",
            scope: "",
            verdict: Repetition::NotSaid,
            holds,
            fails,
        }
    });
    said.chain(own).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluation::Findings;

    fn claim(id: &str, holds: bool) -> Claim {
        let (text, measured) = (String::new(), String::new());
        Claim { id: id.into(), text, holds, certain: false, measured }
    }

    fn verdicts(claims: Vec<Claim>) -> Vec<(Repetition, usize, usize)> {
        const SAID: &[Statement] = &[
            Statement { words: "all", place: "1", scope: "", claims: &["all/*"] },
            Statement { words: "one", place: "2", scope: "", claims: &["one", "all/a"] },
        ];
        let outcome = Outcome {
            name: "test",
            title: "Test",
            findings: Findings::default(),
            claims,
            statements: SAID,
            not_run: &[],
            runs: 0,
            events: 0,
            trace_hash: 0,
        };
        let judged = outcome.judged().into_iter();
        judged.map(|said| (said.verdict, said.holds.len(), said.fails.len())).collect()
    }

    #[test]
    fn a_statement_is_repeated_as_far_as_its_claims_hold() {
        use Repetition::{InPart, NotRepeated, NotSaid, Repeated};
        let found = verdicts(vec![
            claim("all/a", true),
            claim("all/b", false),
            claim("one", true),
            claim("ours", true),
            claim("one/more", false),
        ]);
        let ours = [(NotSaid, 1, 0), (NotSaid, 0, 1)];
        assert_eq!(found[..2], [(InPart, 1, 1), (Repeated, 2, 0)]);
        assert_eq!(found[2..], ours);
        assert_eq!(verdicts(vec![claim("all/a", false)])[0], (NotRepeated, 0, 1));
        assert_eq!(verdicts(Vec::new())[1], (NotRepeated, 0, 0), "nothing was measured");
    }
}
