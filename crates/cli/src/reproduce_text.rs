//! What `slotcast reproduce` says to people: one screen, and with `--verbose` the tables behind it. Nothing is
//! wider than 80 columns.

use slotcast_lab::{Claim, Estimate, Findings, Mode, Outcome, Part, Repeated, Repetition, Row};

use crate::format::{align_right, estimate, figure, keep_whole_after_first, narrow_table, table};

/// Claims and figures that failed which are named; the rest are counted.
const NAMED: usize = 8;

/// Every row of a part, those as published and those in steady state apart.
pub(crate) fn rows_tables(part: &Part, findings: &Findings) -> String {
    let mut text = format!("\n{}", wrapped(&format!("{} ({})", part.title, part.file)));
    for (mode, how) in [(Mode::AsPublished, "as published"), (Mode::SteadyState, "in steady state")]
    {
        let rows: Vec<_> = findings.rows.iter().filter(|row| row.mode == mode).collect();
        if !rows.is_empty() {
            text.push_str(&rows_table(how, &rows));
        }
    }
    let mut notes: Vec<_> = findings.rows.iter().filter_map(|row| row.note).collect();
    notes.sort_unstable();
    notes.dedup();
    for note in notes {
        text.push_str(&wrapped(&format!("note: {note}")));
    }
    text
}

fn rows_table(how: &str, rows: &[&Row]) -> String {
    let mut table = narrow_table(&[how, "published", "measured ± 95 %", "off", "unit"]);
    let (mut derived, mut from) = (false, Vec::new());
    let mut place = "";
    for row in rows {
        let (own, name) = row.id.rsplit_once('/').unwrap_or(("", &row.id));
        if own != place {
            place = own;
            // Wrapped between its parts.
            table.add_row([own.replace('/', " / ")]);
        }
        let mark = if row.derived_from.is_some() { "*" } else { "" };
        derived |= row.derived_from.is_some();
        from.extend(row.derived_from);
        table.add_row([
            format!("  {name}{mark}"),
            row.published.map_or("-".into(), figure),
            estimate(Estimate { value: row.measured, ci95: row.ci95 }),
            row.deviation_pct.map_or("-".into(), |percent| format!("{percent:+.1} %")),
            row.unit.into(),
        ]);
    }
    align_right(&mut table, 1);
    keep_whole_after_first(&mut table);
    from.sort_unstable();
    from.dedup();
    let note = match derived {
        true => wrapped(&format!("* derived from {}", from.join("; from "))),
        false => String::new(),
    };
    format!("{table}\n{note}")
}

/// Every claim with its verdict.
pub(crate) fn claims_table(claims: &[Claim]) -> String {
    let mut table = narrow_table(&["verdict", "claim", "measured"]);
    for claim in claims {
        table.add_row([verdict(claim), &claim.text, &claim.measured]);
    }
    let mut text = format!("\n{table}\n");
    if claims.iter().any(|claim| !claim.holds && !claim.certain) {
        text.push_str(&wrapped(
            "note: open: published so close, or said so loosely, that a right model may differ",
        ));
    }
    text
}

fn verdict(claim: &Claim) -> &'static str {
    match (claim.holds, claim.certain) {
        (true, _) => "holds",
        (false, true) => "no",
        (false, false) => "no (open)",
    }
}

/// What was repeated, how near, and what failed.
pub(crate) fn screen(outcomes: &[Outcome]) -> String {
    let header = ["", "figures", "≤ 5 %", "≤ 10 %", "farthest", "said", "repeated", "in part"];
    let mut table = table(&header);
    let count = |count: usize| count.to_string();
    for repeated in outcomes.iter().map(Repeated::of) {
        let farthest = repeated.farthest.map(|row| format!("{:+.1} %", row.deviation_pct));
        table.add_row([
            repeated.name.into(),
            count(repeated.independent),
            count(repeated.within_5_pct),
            count(repeated.within_10_pct),
            farthest.unwrap_or("-".into()),
            count(repeated.statements),
            count(repeated.repeated),
            count(repeated.in_part),
        ]);
    }
    align_right(&mut table, 1);
    let mut text = format!("\n{table}\n");
    text.push_str(&wrapped(
        "Figures are published ones that were measured as published, each on its own, and how many are \
         that near. Said are statements of the sources, and how many were repeated. --verbose prints \
         every figure and claim, --claims and --report make pages of them.",
    ));
    text.push_str(&own(outcomes));
    text.push_str(&far(outcomes));
    text.push_str(&failed(outcomes));
    text
}

/// What this project adds to the sources, and what was published and is not run.
fn own(outcomes: &[Outcome]) -> String {
    let judged: Vec<_> = outcomes.iter().flat_map(Outcome::judged).collect();
    let own: Vec<_> = judged.iter().filter(|said| said.verdict == Repetition::NotSaid).collect();
    let hold = own.iter().filter(|said| said.fails.is_empty()).count();
    let derived: usize = outcomes.iter().map(|outcome| Repeated::of(outcome).derived).sum();
    let not_run: usize = outcomes.iter().map(|outcome| outcome.not_run.len()).sum();
    wrapped(&format!(
        "Beside these: {derived} figures that follow from others; {} claims that no source makes, of which \
         {hold} hold; {not_run} published things that are not run.",
        own.len()
    ))
}

/// The statements of a source with their verdicts, and what is not run.
pub(crate) fn statements_tables(outcome: &Outcome) -> String {
    let mut table = narrow_table(&["verdict", "the source says", "but not"]);
    for said in outcome.judged().iter().filter(|said| said.verdict != Repetition::NotSaid) {
        let words = format!("“{}” ({})", said.words, said.place);
        let fails = match said.verdict {
            Repetition::InPart => said.fails.join(", "),
            _ => String::new(),
        };
        table.add_row([said.verdict.words(), &words, &fails]);
    }
    let mut left = narrow_table(&["not run", "what", "why not"]);
    for thing in outcome.not_run {
        left.add_row([thing.place, thing.words, thing.reason]);
    }
    format!("\n{table}\n\n{left}\n")
}

/// The figures that are more than 10 % off.
fn far(outcomes: &[Outcome]) -> String {
    let rows = outcomes.iter().flat_map(|outcome| &outcome.findings.rows);
    let own = rows.filter(|row| row.derived_from.is_none() && row.mode == Mode::AsPublished);
    let mut far: Vec<_> = own
        .filter_map(|row| Some((row.deviation_pct?, &row.id)))
        .filter(|(off, _)| off.abs() > 10.0)
        .collect();
    far.sort_by(|a, b| b.0.abs().total_cmp(&a.0.abs()));
    let lines = far.iter().map(|(off, id)| format!("{off:+.1} % {id}"));
    listed("More than 10 % off", &lines.collect::<Vec<_>>())
}

/// The claims that do not hold, those that must first.
fn failed(outcomes: &[Outcome]) -> String {
    let mut failed: Vec<_> = outcomes
        .iter()
        .flat_map(|outcome| outcome.claims.iter().map(move |claim| (outcome.name, claim)))
        .filter(|(_, claim)| !claim.holds)
        .collect();
    failed.sort_by_key(|(_, claim)| !claim.certain);
    let lines: Vec<_> = failed
        .iter()
        .map(|(name, claim)| {
            let must = if claim.certain { "MUST HOLD: " } else { "" };
            format!("{must}{name}: {}", claim.text)
        })
        .collect();
    listed("Claims that do not hold", &lines)
}

fn listed(what: &str, lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{what}: {}\n", lines.len());
    lines.iter().take(NAMED).for_each(|line| text.push_str(&cut(&format!("  {line}"))));
    if lines.len() > NAMED {
        text.push_str(&format!("  and {} more\n", lines.len() - NAMED));
    }
    text
}

/// `line` on one line of 80 columns.
fn cut(line: &str) -> String {
    if line.chars().count() <= 80 {
        return format!("{line}\n");
    }
    format!("{}…\n", line.chars().take(79).collect::<String>())
}

/// `text` in lines of at most 80 columns.
pub(crate) fn wrapped(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().expect("there is one");
        let room = 80usize.saturating_sub(last.chars().count());
        if last.is_empty() {
            last.push_str(word);
        } else if word.chars().count() < room {
            last.push(' ');
            last.push_str(word);
        } else {
            lines.push(word.into());
        }
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_before_the_80th_column() {
        let text = wrapped(&"three words each ".repeat(20));
        assert!(text.lines().all(|line| line.len() <= 80) && text.lines().count() == 5, "{text}");
        assert_eq!(cut(&"x".repeat(100)).chars().count(), 81);
        assert_eq!(cut("short"), "short\n");
    }
}
