//! The published latencies.

use std::sync::LazyLock;

use slotcast_lab::published::records;

/// A time of the parity evaluation on the cluster Suno ("Overcoming write penalties of conflicting client
/// operations in distributed storage systems", 2012, "Evaluation: Suno cluster").
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ParityTime {
    /// What takes it.
    pub(super) operation: &'static str,
    /// In milliseconds.
    pub(super) mean_ms: f64,
    /// What is printed behind the plus-minus sign.
    pub(super) plusminus_ms: f64,
}

/// The times of the parity evaluation, line by line.
pub(super) fn parity_suno() -> &'static [ParityTime] {
    static LINES: LazyLock<Vec<ParityTime>> = LazyLock::new(|| {
        records(include_str!("../../../../experiments/published/parity_suno_latency.csv"))
            .map(|record| ParityTime {
                operation: record.text(0),
                mean_ms: record.number(2),
                plusminus_ms: record.number(3),
            })
            .collect()
    });
    &LINES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_lines_are_there() {
        assert_eq!((parity_suno().len(), parity_suno()[9].mean_ms), (10, 27.197));
    }
}
