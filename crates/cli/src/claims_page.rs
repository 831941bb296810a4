//! The page of `slotcast reproduce --claims`: what the sources say, in their words, and how much of it was repeated.

use slotcast_lab::{Claim, Judged, Outcome, Repeated, Repetition};

/// How the page begins, so that it can be told from other files.
pub(crate) const TITLE: &str = "# What the sources say, and what was repeated\n";

/// Lines of text are at most so wide.
const WIDTH: usize = 118;

/// The page over `outcomes` as Markdown.
pub(crate) fn page(outcomes: &[Outcome]) -> String {
    let mut page = TITLE.to_string();
    page.push_str(&paragraph(
        "",
        "`slotcast reproduce --all --claims docs/simulate/claims.md` makes this page. A statement is a quotation with the \
         scope for which its source says it. It is *repeated* if everything holds that judges it, *repeated in part* if \
         some of it does, and *not repeated* if nothing does. What a source does not say is of this project, and is \
         listed apart; so is what was published and is not repeated, with the reason.",
    ));
    page.push_str(
        "\n| evaluation | statements | repeated | in part | not | our own, that hold | not run | \
         independent figures | within 5 % | within 10 % |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for outcome in outcomes {
        let found = Repeated::of(outcome);
        let own = outcome.judged();
        let own: Vec<_> = own.iter().filter(|said| said.verdict == Repetition::NotSaid).collect();
        let holds = own.iter().filter(|said| said.fails.is_empty()).count();
        page.push_str(&format!(
            "| [{name}](#{name}) | {} | {} | {} | {} | {holds} of {} | {} | {} | {} | {} |\n",
            found.statements,
            found.repeated,
            found.in_part,
            found.statements - found.repeated - found.in_part,
            own.len(),
            found.not_run,
            found.independent,
            found.within_5_pct,
            found.within_10_pct,
            name = outcome.name,
        ));
    }
    outcomes.iter().for_each(|outcome| page.push_str(&section(outcome)));
    page
}

fn section(outcome: &Outcome) -> String {
    let judged = outcome.judged();
    let mut text = format!("\n## {}\n\n{}.\n", outcome.name, outcome.title);
    let said: Vec<_> = judged.iter().filter(|said| said.verdict != Repetition::NotSaid).collect();
    if !said.is_empty() {
        text.push_str("\n### Said by the source\n");
    }
    for (number, said) in (1..).zip(said) {
        text.push_str(&statement(number, said, &outcome.claims));
    }
    let own: Vec<_> = judged.iter().filter(|said| said.verdict == Repetition::NotSaid).collect();
    if !own.is_empty() {
        text.push_str("\n### Not said by the source\n\n");
        let ids = own.iter().flat_map(|said| said.holds.iter().chain(&said.fails));
        ids.for_each(|id| text.push_str(&item(id, &outcome.claims)));
    }
    if !outcome.not_run.is_empty() {
        text.push_str(
            "\n### Published and not repeated\n\n| where | what | why not |\n|---|---|---|\n",
        );
        for left in outcome.not_run {
            let cell = |text: &str| text.replace('|', "\\|");
            let [place, words, reason] = [left.place, left.words, left.reason].map(cell);
            text.push_str(&format!("| {place} | {words} | {reason} |\n"));
        }
    }
    text
}

fn statement(number: usize, said: &Judged, claims: &[Claim]) -> String {
    let verdict = said.verdict.words();
    let mut text = paragraph(
        "",
        &format!(
            "{number}\\. **{verdict}**: “{}” ({}). Scope: {}.",
            said.words, said.place, said.scope
        ),
    );
    text.push('\n');
    said.holds.iter().chain(&said.fails).for_each(|id| text.push_str(&item(id, claims)));
    text
}

/// A claim that judges, with what decided.
fn item(id: &str, claims: &[Claim]) -> String {
    let Some(claim) = claims.iter().find(|claim| claim.id == id) else { return String::new() };
    let verdict = if claim.holds { "holds" } else { "does not hold" };
    paragraph("* ", &format!("{verdict}: {}. Measured: {}.", claim.text, claim.measured))
        .trim_start_matches('\n')
        .into()
}

/// `text` as lines, after an empty one; the first begins with `bullet`, the others are moved in as far.
fn paragraph(bullet: &str, text: &str) -> String {
    let mut lines = vec![bullet.to_string()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().expect("there is one");
        if last.chars().count() + word.chars().count() < WIDTH {
            if !last.is_empty() && !last.ends_with(' ') {
                last.push(' ');
            }
            last.push_str(word);
        } else {
            lines.push(format!("{}{word}", " ".repeat(bullet.len())));
        }
    }
    format!("\n{}\n", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotcast_lab::{Findings, NotRun, Statement};

    fn outcome(holds: [bool; 3]) -> Outcome {
        const SAID: &[Statement] =
            &[Statement { words: "it is so", place: "Table 1", scope: "all", claims: &["a", "b"] }];
        const LEFT: &[NotRun] =
            &[NotRun { place: "Figure 9", words: "a | b", reason: "the picture is lost" }];
        let claim = |(id, holds): (&str, bool)| Claim {
            id: id.into(),
            text: format!("text of {id}"),
            holds,
            certain: false,
            measured: "7 us".into(),
        };
        Outcome {
            name: "test",
            title: "A test",
            findings: Findings::default(),
            claims: ["a", "b", "own"].into_iter().zip(holds).map(claim).collect(),
            statements: SAID,
            not_run: LEFT,
            runs: 1,
            events: 1,
            trace_hash: 0,
        }
    }

    #[test]
    fn a_page_has_words_scope_verdicts_and_what_is_left_out() {
        let page = page(&[outcome([true, false, true])]);
        assert!(page.starts_with(TITLE), "{page}");
        for part in [
            "| [test](#test) | 1 | 0 | 1 | 0 | 1 of 1 | 1 |",
            "1\\. **repeated in part**: “it is so” (Table 1). Scope: all.",
            "* holds: text of a. Measured: 7 us.",
            "* does not hold: text of b. Measured: 7 us.",
            "### Not said by the source\n\n* holds: text of own.",
            "| Figure 9 | a \\| b | the picture is lost |",
        ] {
            assert!(page.contains(part), "{part} in\n{page}");
        }
        let all = super::page(&[outcome([true, true, false])]);
        assert!(
            all.contains("**repeated**") && all.contains("| 1 | 1 | 0 | 0 | 0 of 1 |"),
            "{all}"
        );
        let none = super::page(&[outcome([false, false, false])]);
        assert!(none.contains("**not repeated**"), "{none}");
    }

    #[test]
    fn the_page_in_the_docs_has_every_statement_and_all_that_is_not_run() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/simulate/claims.md");
        let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let docs = one_line(&std::fs::read_to_string(path).expect("docs/simulate/claims.md"));
        for evaluation in slotcast_catalogue::evaluations() {
            for said in evaluation.statements {
                let words = format!("“{}” ({}). Scope: {}. *", said.words, said.place, said.scope);
                assert!(docs.contains(&one_line(&words)), "{}: {words}", evaluation.name);
            }
            for left in evaluation.not_run {
                let row = format!("| {} | {} | {} |", left.place, left.words, left.reason);
                assert!(docs.contains(&one_line(&row)), "{}: {row}", evaluation.name);
            }
        }
    }

    #[test]
    fn lines_are_wrapped_and_moved_in() {
        let text = paragraph("* ", &"word ".repeat(60));
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert!(text.lines().skip(2).all(|line| line.starts_with("  word")), "{text}");
    }
}
