//! Published figures beside the measured ones, as tables, as pictures of the deviation, and in a clause.

use slotcast_lab::{Mode, Outcome, Row};

use super::MET;
use crate::chart::{Axis, BarSeries, Bars, Chart, Mean, Plot};
use crate::data::{self, Data};
use crate::number;
use crate::page::{Cell, Table, Tone, numbers, words};

/// Metrics whose deviations are shown as a picture, and what a reader calls them.
const SHOWN: [(&str, &str); 2] = [("mean_latency", "mean latency"), ("chunks_per_s", "throughput")];

/// Half the width of the interval of a deviation, in percent of the published figure.
fn deviation(row: &Row) -> Option<Mean> {
    let ci95 = row.ci95.zip(row.published).map(|(ci95, published)| ci95 / published * 100.0);
    row.deviation_pct.map(|value| Mean { value, ci95 })
}

/// How many published figures are met, and how far off the worst one is. None without any. Steady
/// state is another question and does not count.
pub(super) fn published_answer<'a>(rows: impl Iterator<Item = &'a Row>) -> Option<String> {
    // What is derived from others is near if they are.
    let rows = rows.filter(|row| row.mode == Mode::AsPublished && row.derived_from.is_none());
    let off: Vec<(&Row, Mean)> = rows.filter_map(|row| Some((row, deviation(row)?))).collect();
    let (worst, by) = off.iter().max_by(|a, b| a.1.value.abs().total_cmp(&b.1.value.abs()))?;
    let met = off.iter().filter(|(_, by)| by.value.abs() <= MET).count();
    let interval = by.ci95.map_or(String::new(), |ci95| format!(" ± {ci95:.1}"));
    let by = number::signed_percent(by.value);
    Some(format!(
        "{met} of {} published figures are met within {MET} %, and the one that is furthest off, {}, by \
         {}{interval} %",
        off.len(),
        described(&worst.id),
        by.trim_end_matches(" %"),
    ))
}

/// Between which bounds rows called `gain` lie, for each thing that gains. None without any.
pub(super) fn gain_answer(rows: &[Row]) -> Option<String> {
    let clauses = [Mode::AsPublished, Mode::SteadyState].map(|mode| {
        let gains = || rows.iter().filter(|row| row.mode == mode && row.id.ends_with("/gain"));
        let least = gains().min_by(|a, b| a.measured.total_cmp(&b.measured))?;
        let most = gains().max_by(|a, b| a.measured.total_cmp(&b.measured))?;
        let gain = |row: &Row| {
            number::mean_with_unit(Mean { value: row.measured, ci95: row.ci95 }, row.unit)
        };
        let mode = match mode {
            Mode::AsPublished => "from a standing start",
            Mode::SteadyState => "in steady state",
        };
        Some(format!("{mode} between {} and {}", gain(least), gain(most)))
    });
    let clauses: Vec<String> = clauses.into_iter().flatten().collect();
    (!clauses.is_empty()).then(|| format!("the mean latency gains {}", clauses.join(", ")))
}

/// `table2/128KiB/replicast-m/mean_latency` as `table 2, 128KiB, replicast-m, mean latency`.
fn described(id: &str) -> String {
    let parts: Vec<String> = id.split('/').map(readable).collect();
    match parts.split_first() {
        Some((first, rest)) => [&[heading(first).to_lowercase()], rest].concat().join(", "),
        None => String::new(),
    }
}

/// `chunks/s` for `chunks_per_s`, `mean latency` for `mean_latency`.
fn readable(text: &str) -> String {
    text.replace("_per_s", "/s").replace('_', " ")
}

/// `Table 2` for `table2`, `Scaling` for `scaling`.
fn heading(part: &str) -> String {
    let digits = part.find(|c: char| c.is_ascii_digit()).unwrap_or(part.len());
    let (word, number) = part.split_at(digits);
    let mut letters = word.chars();
    let word = letters
        .next()
        .map_or(String::new(), |first| format!("{}{}", first.to_uppercase(), letters.as_str()));
    if number.is_empty() { word } else { format!("{word} {number}") }
}

/// A picture of how far the measured figures are from the published ones, for each metric that has
/// one figure for each of several protocols.
pub(super) fn deviations(evaluation: &str, rows: &[Row]) -> Vec<Chart> {
    let charts = SHOWN.iter().filter_map(|(metric, name)| {
        let mut bars = Bars::default();
        let found = rows.iter().filter(|row| row.mode == Mode::AsPublished).filter_map(|row| {
            let parts: Vec<&str> = row.id.split('/').collect();
            let [table, chunk, protocol, last] = parts[..] else { return None };
            let is_cell = last == *metric && table.starts_with("table");
            is_cell.then_some((format!("{}, {chunk}", heading(table)), protocol, deviation(row)?))
        });
        let found: Vec<_> = found.collect();
        for (group, protocol, _) in &found {
            if !bars.groups.contains(group) {
                bars.groups.push(group.clone());
            }
            if !bars.series.iter().any(|series| series.name == *protocol) {
                let (name, colour) = (protocol.to_string(), bars.series.len());
                bars.series.push(BarSeries { name, bars: Vec::new(), colour, light: false });
            }
        }
        for series in &mut bars.series {
            series.bars = bars
                .groups
                .iter()
                .map(|group| {
                    let cell = found.iter().find(|(g, p, _)| g == group && *p == series.name);
                    cell.map_or(f64::NAN.into(), |(_, _, deviation)| *deviation)
                })
                .collect();
        }
        (bars.groups.len() > 1).then(|| {
            Chart::new(
                format!("{evaluation}-deviation-{}", metric.replace('_', "-")),
                format!("Measured against published: {name}"),
                Axis::new("published table and chunk size", ""),
                Axis::new("deviation", "%"),
                Plot::Bars(bars),
            )
            .with_caption(
                "Mean over the seeds against the one published figure, in percent of that, with the 95 % \
                 interval of the mean. Zero is exact agreement.",
            )
        })
    });
    charts.collect()
}

/// One table for each first part of the ids and each mode; the first two are open.
pub(super) fn tables(rows: &[Row]) -> Vec<Table> {
    let mut groups: Vec<((Mode, &str), Vec<&Row>)> = Vec::new();
    for row in rows {
        let key = (row.mode, row.id.split('/').next().unwrap_or_default());
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, group)) => group.push(row),
            None => groups.push((key, vec![row])),
        }
    }
    let tables = groups.iter().enumerate().map(|(index, ((mode, first), rows))| {
        let mode = match mode {
            Mode::AsPublished => "as published",
            Mode::SteadyState => "steady state",
        };
        let mut notes: Vec<String> = rows.iter().filter_map(|row| row.note).map(note).collect();
        let derived = |row: &&Row| {
            let name = row.id.rsplit('/').next().unwrap_or_default().replace('_', " ");
            row.derived_from.map(|from| format!("{name}: derived from {from}"))
        };
        notes.extend(rows.iter().filter_map(derived));
        notes.sort_unstable();
        notes.dedup();
        Table {
            caption: format!("{}, {mode}", heading(first)),
            columns: vec![
                words("figure"),
                numbers("published"),
                numbers("measured ± 95 %"),
                words("unit"),
                numbers("deviation"),
                numbers("smallest to largest seed"),
            ],
            rows: rows.iter().map(|row| cells(row)).collect(),
            notes,
            folded: index > 1,
        }
    });
    tables.collect()
}

fn note(text: &'static str) -> String {
    format!("Note: {text}.")
}

fn cells(row: &Row) -> Vec<Cell> {
    let place = row.id.split_once('/').map_or(row.id.as_str(), |(_, rest)| rest);
    let measured = number::mean(Mean { value: row.measured, ci95: row.ci95 });
    let tone = match row.deviation_pct {
        Some(percent) if percent.abs() <= MET => Tone::Good,
        Some(_) => Tone::Open,
        None => Tone::Plain,
    };
    let deviation = row.deviation_pct.map_or("–".into(), number::signed_percent);
    let spread = row.spread.map_or("–".into(), |spread| {
        format!("{} to {}", number::figure(spread.min), number::figure(spread.max))
    });
    vec![
        readable(&place.replace('/', " · ")).into(),
        row.published.map_or("–".into(), number::figure).into(),
        measured.into(),
        crate::chart::unit_text(row.unit).into(),
        Cell { text: deviation, tone },
        spread.into(),
    ]
}

/// Every row of every evaluation.
pub(super) fn data(outcomes: &[Outcome]) -> Data {
    let rows =
        || outcomes.iter().flat_map(|o| o.findings.rows.iter().map(move |row| (o.name, row)));
    let number =
        |of: fn(&Row) -> Option<f64>| rows().map(|(_, row)| of(row).unwrap_or(f64::NAN)).collect();
    let mode = |row: &Row| match row.mode {
        Mode::AsPublished => "as-published".into(),
        Mode::SteadyState => "steady-state".into(),
    };
    Data::new(
        "rows",
        vec![
            data::texts("evaluation", rows().map(|(name, _)| name.into()).collect()),
            data::texts("id", rows().map(|(_, row)| row.id.clone()).collect()),
            data::texts("mode", rows().map(|(_, row)| mode(row)).collect()),
            data::texts("unit", rows().map(|(_, row)| row.unit.into()).collect()),
            data::numbers("published", number(|row| row.published)),
            data::numbers("measured", number(|row| Some(row.measured))),
            data::numbers("ci95", number(|row| row.ci95)),
            data::numbers("deviation_percent", number(|row| row.deviation_pct)),
            data::numbers("smallest", number(|row| row.spread.map(|spread| spread.min))),
            data::numbers("largest", number(|row| row.spread.map(|spread| spread.max))),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &str, published: Option<f64>, samples: &[f64]) -> Row {
        Row::new(id.into(), published, samples, "us", Mode::AsPublished)
    }

    #[test]
    fn the_answer_counts_and_names_the_worst() {
        let rows = [
            row("table2/16KiB/replicast-m/mean_latency", Some(100.0), &[101.0, 103.0]),
            row("table2/1MiB/replicast-m/mean_latency", Some(100.0), &[88.0, 92.0]),
            row("scaling/1MiB/replicast-m/chunks_per_s", Some(100.0), &[150.0])
                .derived_from("both"),
        ];
        let text = published_answer(rows.iter()).unwrap();
        assert!(text.starts_with("1 of 2 published figures are met within 5 %"), "{text}");
        assert!(
            text.contains("table 2, 1MiB, replicast-m, mean latency, by −10.0 ± 25.4 %"),
            "{text}"
        );
        assert_eq!(published_answer([].iter()), None);
    }

    #[test]
    fn gains_are_told_with_their_intervals() {
        let rows = [row("choosy/a/gain", None, &[9.0, 11.0]), row("choosy/b/gain", None, &[3.0])];
        let text = gain_answer(&rows).unwrap();
        let expected =
            "the mean latency gains from a standing start between 3.000 µs and 10 ± 13 µs";
        assert_eq!((text.as_str(), gain_answer(&[])), (expected, None));
    }

    #[test]
    fn cells_become_groups_and_protocols_become_series() {
        let cell = |table: &str, protocol: &str| {
            row(&format!("{table}/16KiB/{protocol}/mean_latency"), Some(10.0), &[11.0, 11.0])
        };
        let rows =
            [cell("table2", "a"), cell("table2", "b"), cell("table3", "a"), cell("table3", "b")];
        let charts = deviations("e", &rows);
        assert_eq!(charts.len(), 1);
        let Plot::Bars(bars) = &charts[0].plot else { panic!("bars") };
        assert_eq!(bars.groups, ["Table 2, 16KiB", "Table 3, 16KiB"]);
        assert_eq!(bars.series.len(), 2);
        assert!((bars.series[1].bars[0].value - 10.0).abs() < 1e-9);
    }

    #[test]
    fn tables_are_split_by_what_was_published() {
        let rows = [row("table2/a", Some(1.0), &[1.0]), row("figure9/a", None, &[1.0])];
        let captions: Vec<_> = tables(&rows).into_iter().map(|table| table.caption).collect();
        assert_eq!(captions, ["Table 2, as published", "Figure 9, as published"]);
    }
}
