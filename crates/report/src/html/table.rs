//! The numbers of a chart as a table, for whoever cannot see the chart or wants to be exact.

use crate::chart::{Bars, Chart, Heat, Line, Lines, Plot, Timeline};
use crate::number;
use crate::page::{Cell, Table, numbers, words};

/// A picture with more points is summed up line by line.
const MAX_ROWS: usize = 40;

/// What `chart` shows, in full if it is small.
pub(super) fn of(chart: &Chart) -> Table {
    let mut table = match &chart.plot {
        Plot::Bars(bars) => of_bars(bars, chart),
        Plot::Lines(lines) if points(lines) <= MAX_ROWS => of_lines(lines, chart),
        Plot::Lines(lines) => summary(lines, chart),
        Plot::Heat(heat) => of_heat(heat, chart),
        Plot::Timeline(timeline) => of_timeline(timeline, chart),
    };
    table.caption.clone_from(&chart.title);
    table
}

fn points(lines: &Lines) -> usize {
    lines.lines.iter().map(|line| line.x.len()).sum()
}

fn of_bars(bars: &Bars, chart: &Chart) -> Table {
    let mut columns = vec![words(&chart.x.text())];
    columns.extend(bars.series.iter().map(|series| numbers(&series.name)));
    let rows = bars.groups.iter().enumerate().map(|(at, group)| {
        let values = bars.series.iter().map(|series| Cell::from(number::mean(series.bars[at])));
        std::iter::once(Cell::from(group.as_str())).chain(values).collect()
    });
    Table { columns, rows: rows.collect(), notes: vec![chart.y.text()], ..Table::default() }
}

fn of_lines(lines: &Lines, chart: &Chart) -> Table {
    let row = |line: &Line, at: usize| {
        let mean = crate::chart::Mean { value: line.y[at], ci95: line.ci95.get(at).copied() };
        let x = number::tick(line.x[at]);
        vec![Cell::from(line.name.as_str()), x.into(), number::mean(mean).into()]
    };
    let rows = lines.lines.iter().flat_map(|line| (0..line.x.len()).map(move |at| row(line, at)));
    Table {
        columns: vec![words("line"), numbers(&chart.x.text()), numbers(&chart.y.text())],
        rows: rows.collect(),
        ..Table::default()
    }
}

/// A distribution function has its values on the horizontal axis: that one is summed up.
fn summary(lines: &Lines, chart: &Chart) -> Table {
    let is_distribution = chart.y.unit == "%" && lines.lines.iter().all(|line| line.x.is_sorted());
    let is_distribution = is_distribution && chart.x.unit == "us";
    let axis = if is_distribution { &chart.x } else { &chart.y };
    let rows = lines.lines.iter().map(|line| {
        let values = if is_distribution { &line.x } else { &line.y };
        let mut values: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
        values.sort_unstable_by(f64::total_cmp);
        let rank = |per_mille: usize| {
            let at = (values.len() * per_mille).div_ceil(1000).max(1) - 1;
            Cell::from(number::figure(values.get(at).copied().unwrap_or(f64::NAN)))
        };
        let count = number::count(values.len());
        let mut cells = vec![Cell::from(line.name.as_str()), count.into()];
        cells.extend([1, 500, 900, 990, 999, 1000].map(rank));
        cells
    });
    let titles = ["values", "smallest", "median", "p90", "p99", "p99.9", "largest"];
    let mut columns = vec![words("line")];
    columns.extend(titles.map(numbers));
    let notes = vec![format!("{}; every value is in the CSV and Parquet files", axis.text())];
    Table { columns, rows: rows.collect(), notes, ..Table::default() }
}

fn of_heat(heat: &Heat, chart: &Chart) -> Table {
    let mut columns = vec![words(&format!("{} \\ {}", chart.y.text(), chart.x.text()))];
    columns.extend(heat.columns.iter().map(|name| numbers(name)));
    let rows = heat.rows.iter().zip(&heat.values).map(|(name, values)| {
        let values = values.iter().map(|&value| Cell::from(number::figure(value)));
        std::iter::once(Cell::from(name.as_str())).chain(values).collect()
    });
    Table { columns, rows: rows.collect(), ..Table::default() }
}

fn of_timeline(timeline: &Timeline, chart: &Chart) -> Table {
    let rows = timeline.states.iter().enumerate().map(|(index, state)| {
        let spans = || timeline.spans.iter().filter(|span| span.state == index);
        let time: f64 = spans().map(|span| span.end - span.start).sum();
        let count = number::count(spans().count());
        vec![Cell::from(state.name.as_str()), count.into(), number::figure(time).into()]
    });
    let time = format!("together, {}", chart.x.text());
    Table {
        columns: vec![words("state"), numbers("spans"), numbers(&time)],
        rows: rows.collect(),
        notes: vec!["every span is in the CSV and Parquet files".into()],
        ..Table::default()
    }
}
