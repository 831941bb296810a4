//! What a drill found, as text.

use super::dip::rate;
use super::round::Round;
use crate::chart::BLOCKS;
use crate::format::{align_right, figure, table};

/// Columns of a chart.
const COLUMNS: u64 = 68;

/// Rows of a chart; each holds eight steps of height.
const ROWS: usize = 6;

fn seconds(ms: u64) -> String {
    format!("{:.2} s", ms as f64 / 1e3)
}

fn or_dash(text: Option<String>) -> String {
    text.unwrap_or_else(|| "-".into())
}

/// One line for each round.
pub(super) fn rounds(rounds: &[Round]) -> String {
    let mut all = table(&[
        "round", "objects", "fault", "at", "goes on", "verified", "before", "dip", "less", "back",
    ]);
    for round in rounds {
        let dip = round.dip;
        all.add_row([
            round.round.to_string(),
            round.objects[1].to_string(),
            round.fault.clone(),
            seconds(round.fault_ms),
            or_dash(dip.going_on_ms.map(seconds)),
            seconds(round.verified_ms),
            format!("{:.0}/s", dip.before_per_s),
            or_dash(dip.dip_per_s.map(|rate| format!("{rate:.0}/s"))),
            or_dash(dip.dip_percent.map(|percent| format!("{percent:.0} %"))),
            or_dash(dip.back_ms.map(seconds)),
        ]);
    }
    align_right(&mut all, 0);
    if let Some(column) = all.column_mut(2) {
        column.set_cell_alignment(comfy_table::CellAlignment::Left);
    }
    format!("{all}\n")
}

/// Objects a second over the time of a round, with the fault and the last object below, in 80 columns.
pub(super) fn chart(round: &Round) -> String {
    let end =
        round.samples.last().map_or(0, |sample| sample.at_ms).max(round.fault_ms).max(COLUMNS);
    let edge = |column: u64| end * column / COLUMNS;
    let rates: Vec<f64> = (0..COLUMNS)
        .map(|column| rate(&round.samples, edge(column), edge(column + 1)).max(0.0))
        .collect();
    let top = rates.iter().copied().fold(0.0, f64::max);
    let label = figure(top);
    let margin = label.chars().count().max(1);
    let mut text = "objects/s at the destination\n".to_owned();
    for row in (0..ROWS).rev() {
        let scale = match row {
            row if row == ROWS - 1 => &label[..],
            0 => "0",
            _ => "",
        };
        let block = |rate: &f64| {
            let eighths = if top > 0.0 { (rate / top * (ROWS * 8) as f64).round() } else { 0.0 };
            BLOCKS[(eighths as usize).saturating_sub(row * 8).min(8)]
        };
        let line: String = rates.iter().map(block).collect();
        text += format!("{scale:>margin$} │{line}").trim_end();
        text.push('\n');
    }
    let column = |ms: u64| usize::try_from((ms * COLUMNS / end).min(COLUMNS - 1)).unwrap_or(0);
    let mut marks = [' '; COLUMNS as usize];
    marks[column(round.complete_ms)] = '●';
    marks[column(round.fault_ms)] = '▲';
    let marks: String = marks.iter().collect();
    text += &format!("{:margin$}  {}\n", "", marks.trim_end());
    let from = format!("0 s; ▲ {}; ● the last object", round.fault);
    let to = seconds(end);
    let width = (COLUMNS as usize).saturating_sub(to.chars().count());
    text += &format!("{:margin$}  {from:<width$}{to}\n", "");
    text
}

/// The last words: how many rounds, and what they say together.
pub(super) fn summary(rounds: &[Round]) -> String {
    let objects: u64 = rounds.iter().map(|round| round.objects[1]).sum();
    let wrong: usize = rounds.iter().map(|round| round.wrong.len()).sum();
    let count = crate::format::counted(rounds.len(), "round");
    let verdict = match wrong {
        0 => "none lost, none wrong".into(),
        wrong => format!("{wrong} lost or wrong"),
    };
    let met = rounds.iter().filter(|round| round.dip.going_on_ms.is_some()).count();
    let median = |mut values: Vec<u64>| {
        values.sort_unstable();
        or_dash(values.get(values.len() / 2).map(|value| seconds(*value)))
    };
    let going_on = median(rounds.iter().filter_map(|round| round.dip.going_on_ms).collect());
    let back = median(rounds.iter().filter_map(|round| round.dip.back_ms).collect());
    let met = match met {
        0 => String::new(),
        met => format!(
            "; in {met} the fault met a job that copied, which went on after {going_on} and was back after {back} (medians)"
        ),
    };
    format!("{count}, {objects} objects copied and compared: {verdict}{met}\n")
}

#[cfg(test)]
mod tests {
    use super::super::dip::{self, Dip};
    use super::super::watch::Sample;
    use super::*;

    fn round(gains: &[u64], fault_ms: u64) -> Round {
        let mut objects = 0;
        let sample = |(n, gain): (usize, &u64)| {
            objects += gain;
            Sample { at_ms: n as u64 * 100, objects, bytes: 0 }
        };
        let samples: Vec<Sample> = gains.iter().enumerate().map(sample).collect();
        Round {
            round: 3,
            fault: "node 4 lost".into(),
            fault_ms,
            verified_ms: 9000,
            complete_ms: dip::complete_ms(&samples),
            dip: dip::of(&samples, fault_ms),
            samples,
            ..Round::default()
        }
    }

    #[test]
    fn a_chart_shows_where_the_fault_was_in_80_columns() {
        let text = chart(&round(&[vec![10; 30], vec![0; 20], vec![10; 18]].concat(), 3000));
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 1 + ROWS + 2, "{text}");
        let mark = lines[ROWS + 1].chars().position(|letter| letter == '▲').expect("a mark");
        let at = |offset: usize| lines[ROWS].chars().nth(mark + offset);
        assert_eq!((at(5), at(30)), (None.or(Some(' ')), Some('█')), "{text}");
        assert!(lines[ROWS + 2].contains("▲ node 4 lost"), "{text}");
        // Nothing was seen.
        assert_eq!(chart(&round(&[], 0)).lines().count(), 1 + ROWS + 2);
    }

    #[test]
    fn what_was_not_measured_is_a_dash() {
        let of = Round { dip: Dip::default(), ..round(&[1, 2], 9000) };
        let text = rounds(std::slice::from_ref(&of));
        assert!(text.contains("9.00 s") && text.contains(" - "), "{text}");
        assert_eq!(
            summary(&[of]),
            "1 round, 0 objects copied and compared: none lost, none wrong\n"
        );
        let wrong = Round { wrong: vec!["a".into(), "b".into()], ..Round::default() };
        assert!(summary(&[wrong]).contains("2 lost or wrong"));
    }
}
