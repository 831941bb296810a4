//! The numbers behind pictures and tables, for other programs: CSV and Parquet with the same columns.

mod parquet;

use std::io::{self, Write};

use crate::chart::{Axis, Bars, Chart, Heat, Line, Lines, Plot, Timeline};

/// A table of data in long form: one row for each value, and columns that say what it belongs to.
#[derive(Debug, Clone, PartialEq)]
pub struct Data {
    /// Names its files.
    pub name: String,
    /// Its columns, all of the same length.
    pub columns: Vec<Column>,
}

/// One column of data.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Its name, with the unit: `latency_us`.
    pub name: String,
    /// Its values.
    pub values: Values,
}

/// The values of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Numbers; what is not a number is written as missing.
    Numbers(Vec<f64>),
    /// Texts.
    Texts(Vec<String>),
}

impl Values {
    fn len(&self) -> usize {
        match self {
            Values::Numbers(values) => values.len(),
            Values::Texts(values) => values.len(),
        }
    }
}

impl Data {
    /// An empty table with these columns.
    pub fn new(name: impl Into<String>, columns: Vec<Column>) -> Data {
        Data { name: name.into(), columns }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.columns.first().map_or(0, |column| column.values.len())
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes a line of names and one line for each row. Numbers are written so that reading them
    /// gives the same bits; a missing one is an empty field.
    ///
    /// # Errors
    /// The first error of `out`.
    pub fn write_csv(&self, out: impl Write) -> io::Result<()> {
        let mut writer = csv::Writer::from_writer(out);
        writer.write_record(self.columns.iter().map(|column| &column.name))?;
        for row in 0..self.len() {
            for column in &self.columns {
                match &column.values {
                    Values::Texts(values) => writer.write_field(&values[row])?,
                    Values::Numbers(values) if values[row].is_finite() => {
                        writer.write_field(values[row].to_string())?;
                    }
                    Values::Numbers(_) => writer.write_field("")?,
                }
            }
            writer.write_record(None::<&[u8]>)?;
        }
        writer.flush()
    }

    /// Writes the same as Parquet: numbers as `DOUBLE`, texts as `STRING`.
    ///
    /// # Errors
    /// The first error of `out`.
    pub fn write_parquet(&self, out: impl Write + Send) -> io::Result<()> {
        parquet::write(self, out)
    }
}

/// A column of numbers.
pub fn numbers(name: impl Into<String>, values: Vec<f64>) -> Column {
    Column { name: name.into(), values: Values::Numbers(values) }
}

/// A column of texts.
pub fn texts(name: impl Into<String>, values: Vec<String>) -> Column {
    Column { name: name.into(), values: Values::Texts(values) }
}

/// What a picture shows, in full: nothing is thinned out here.
impl From<&Chart> for Data {
    fn from(chart: &Chart) -> Data {
        let columns = match &chart.plot {
            Plot::Bars(bars) => of_bars(bars, &chart.x, &chart.y),
            Plot::Lines(lines) => of_lines(lines, &chart.x, &chart.y),
            Plot::Heat(heat) => of_heat(heat, &chart.x, &chart.y),
            Plot::Timeline(timeline) => of_timeline(timeline, &chart.x, &chart.y),
        };
        Data::new(chart.name.clone(), columns)
    }
}

fn of_bars(bars: &Bars, x: &Axis, y: &Axis) -> Vec<Column> {
    let (mut series, mut group, mut value, mut ci95) = (vec![], vec![], vec![], vec![]);
    for bar in &bars.series {
        for (name, mean) in bars.groups.iter().zip(&bar.bars) {
            series.push(bar.name.clone());
            group.push(name.clone());
            value.push(mean.value);
            ci95.push(mean.ci95.unwrap_or(f64::NAN));
        }
    }
    vec![
        texts("series", series),
        texts(x.column(), group),
        numbers(y.column(), value),
        numbers(format!("ci95_{}", y.column()), ci95),
    ]
}

fn of_lines(lines: &Lines, x: &Axis, y: &Axis) -> Vec<Column> {
    let all = || lines.lines.iter();
    let flat = |of: fn(&Line) -> &Vec<f64>| all().flat_map(of).copied().collect::<Vec<f64>>();
    let series = all().flat_map(|line| line.x.iter().map(|_| line.name.clone())).collect();
    let mut columns = vec![
        texts("series", series),
        numbers(x.column(), flat(|line| &line.x)),
        numbers(y.column(), flat(|line| &line.y)),
    ];
    if all().any(|line| !line.ci95.is_empty()) {
        let intervals = |line: &Line| {
            let mut ci95 = line.ci95.clone();
            ci95.resize(line.x.len(), f64::NAN);
            ci95
        };
        columns.push(numbers(format!("ci95_{}", y.column()), all().flat_map(intervals).collect()));
    }
    columns
}

fn of_heat(heat: &Heat, x: &Axis, y: &Axis) -> Vec<Column> {
    let cells = || {
        let rows = heat.rows.iter().zip(&heat.values);
        rows.flat_map(|(row, values)| {
            heat.columns.iter().zip(values).map(move |(column, value)| (column, row, *value))
        })
    };
    let value = Axis::new(&heat.label, &heat.unit).column();
    vec![
        texts(x.column(), cells().map(|(column, _, _)| column.clone()).collect()),
        texts(y.column(), cells().map(|(_, row, _)| row.clone()).collect()),
        numbers(value, cells().map(|(_, _, value)| value).collect()),
    ]
}

fn of_timeline(timeline: &Timeline, x: &Axis, y: &Axis) -> Vec<Column> {
    let spans = &timeline.spans;
    vec![
        texts(y.column(), spans.iter().map(|span| timeline.rows[span.row].clone()).collect()),
        texts("state", spans.iter().map(|s| timeline.states[s.state].name.clone()).collect()),
        numbers(format!("start_{}", x.column()), spans.iter().map(|span| span.start).collect()),
        numbers(format!("end_{}", x.column()), spans.iter().map(|span| span.end).collect()),
        texts("label", spans.iter().map(|span| span.label.clone()).collect()),
    ]
}
