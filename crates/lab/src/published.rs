//! Published figures, as they were printed: how a table is read, and the tail at scale.

use std::str::FromStr;
use std::sync::LazyLock;

/// The chance that one of many servers is slow: "Transforming non-existing datasets", section "Clustered
/// CDF".
#[derive(Debug, Clone, PartialEq)]
pub struct Slow {
    /// How many servers a request needs.
    pub servers: u32,
    /// Probability that one server answers within some time.
    pub within: f64,
    /// Probability that at least one does not, in percent.
    pub beyond_pct: f64,
}

/// The tail at scale, line by line.
pub fn tail_at_scale() -> &'static [Slow] {
    static LINES: LazyLock<Vec<Slow>> = LazyLock::new(|| {
        records(include_str!("../../../experiments/published/tail_at_scale.csv"))
            .map(|record| Slow {
                servers: record.number(0),
                within: record.number(1),
                beyond_pct: record.number(2),
            })
            .collect()
    });
    &LINES
}

/// A line of a table without quotes or commas in its fields.
#[derive(Debug)]
pub struct Record(Vec<&'static str>);

/// The lines of a published table, without its heading.
pub fn records(text: &'static str) -> impl Iterator<Item = Record> {
    text.lines().skip(1).map(|line| Record(line.split(',').collect()))
}

impl Record {
    /// What stands in `column`, counted from 0.
    ///
    /// # Panics
    /// If the line is shorter.
    pub fn text(&self, column: usize) -> &'static str {
        self.0[column]
    }

    /// The number in `column`, counted from 0.
    ///
    /// # Panics
    /// If there is none.
    pub fn number<T: FromStr>(&self, column: usize) -> T {
        let text = self.text(column);
        // The tables are part of the program; a test reads them all.
        text.parse().unwrap_or_else(|_| panic!("`{text}` in a published table is not a number"))
    }
}
