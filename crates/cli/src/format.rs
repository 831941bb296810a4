//! Numbers and tables for people.

use std::io::{self, IsTerminal};

use comfy_table::{
    CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle,
};
use slotcast_lab::Estimate;

/// Width of tables with running text where there is no terminal to ask.
const PIPE_WIDTH: u16 = 130;

/// A line under the header and nothing else, so that cut, awk and grep are at home.
const HEADER_LINE: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// A table of figures with `header`; nothing wraps, and it reads the same in a pipe.
pub(crate) fn table<S: AsRef<str>>(header: &[S]) -> Table {
    let mut table = Table::new();
    table.load_style(HEADER_LINE);
    table.set_header(header.iter().map(AsRef::as_ref).collect::<Vec<&str>>());
    table
}

/// The same for a table with running text, which wraps.
pub(crate) fn text_table(header: &[&str]) -> Table {
    let mut table = table(header);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    if !io::stdout().is_terminal() {
        table.set_width(PIPE_WIDTH);
    }
    table
}

/// A table with running text that wraps at 80 columns, wherever it goes.
pub(crate) fn narrow_table(header: &[&str]) -> Table {
    let mut table = table(header);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(80);
    table
}

/// Keeps the first `count` columns of a text table as wide as their content.
pub(crate) fn keep_whole(table: &mut Table, count: usize) {
    for column in table.column_iter_mut().take(count) {
        column.set_constraint(ColumnConstraint::ContentWidth);
    }
}

/// Keeps every column of a text table but the first as wide as its content.
pub(crate) fn keep_whole_after_first(table: &mut Table) {
    for column in table.column_iter_mut().skip(1) {
        column.set_constraint(ColumnConstraint::ContentWidth);
    }
}

/// Aligns the columns from `first` on to the right, for figures.
pub(crate) fn align_right(table: &mut Table, first: usize) {
    for column in table.column_iter_mut().skip(first) {
        column.set_cell_alignment(CellAlignment::Right);
    }
}

/// `value` with about four significant digits; a dash if there is none.
pub(crate) fn figure(value: f64) -> String {
    if value.is_nan() { "-".into() } else { format!("{value:.*}", decimals(value)) }
}

/// How many decimals four significant digits take.
fn decimals(value: f64) -> usize {
    match value.abs() {
        size if size >= 1000.0 => 0,
        size if size >= 100.0 => 1,
        size if size >= 10.0 => 2,
        _ => 3,
    }
}

/// `1039 ± 12`: both with the decimals of the larger one.
pub(crate) fn estimate(Estimate { value, ci95 }: Estimate) -> String {
    match ci95 {
        Some(ci95) if !value.is_nan() => {
            let decimals = decimals(value.abs().max(ci95));
            format!("{value:.decimals$} ± {ci95:.decimals$}")
        }
        _ => figure(value),
    }
}

/// The same for a quantile over `runs` runs, which has no interval where too few requests took longer.
pub(crate) fn quantile(of: Estimate, runs: usize) -> String {
    match of.ci95 {
        None if runs > 1 && !of.value.is_nan() => format!("{} ± ?", figure(of.value)),
        _ => estimate(of),
    }
}

/// The same in percent, for parts of a whole.
pub(crate) fn percentage(part: Estimate) -> String {
    let of = |part: f64| format!("{:.1}", part * 100.0);
    match part.ci95 {
        Some(ci95) => format!("{} ± {} %", of(part.value), of(ci95)),
        None => format!("{} %", of(part.value)),
    }
}

/// `1 run`, `5 runs`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// A moment in milliseconds since 1970 as `2026-07-01T12:00:00Z`.
pub(crate) fn utc(ms: u64) -> String {
    let (days, second) = (ms / 86_400_000, ms / 1000 % 86_400);
    // Eras of 400 years of 146,097 days that begin with a March: a leap day is the last of its year.
    let from_era = days + 719_468;
    let (era, day) = (from_era / 146_097, from_era % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) = match month {
        0..10 => (year, month + 3),
        _ => (year + 1, month - 9),
    };
    let year = year + era * 400;
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::utc;

    #[test]
    fn moments_are_those_of_the_calendar() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_709_164_800, "2024-02-29T00:00:00Z"),
            (1_767_225_599, "2025-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(utc(seconds * 1000 + 999), text);
        }
    }
}
