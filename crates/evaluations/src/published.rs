//! The tables of the Replicast paper, as they were printed.

use std::sync::LazyLock;

use slotcast_lab::published::records;

/// One cell of Table 2 or 3: 90 initiators, 90 targets.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// 2 or 3.
    pub table: u32,
    /// Disk rate in MB/s as the paper says it; the original simulator's MB is a MiB.
    pub disk_mbps: u64,
    /// Chunk size in KiB.
    pub chunk_kib: u64,
    /// Protocol, as a word of `protocol.kind`.
    pub protocol: &'static str,
    /// Chunks per second.
    pub chunks_per_s: f64,
    /// Disk utilisation in percent.
    pub disk_utilization_pct: f64,
    /// Mean put latency in microseconds.
    pub mean_latency_us: f64,
}

/// One line of Table 5: how likely a put arrives while the prior reservation is tentative.
#[derive(Debug, Clone, PartialEq)]
pub struct Tentative {
    /// Chunk size in KiB.
    pub chunk_kib: u64,
    /// Time between puts in a negotiating group, in microseconds, as the paper rounds it.
    pub interarrival_us: f64,
    /// Probability in percent.
    pub probability_pct: f64,
}

/// Tables 2 and 3, cell by cell.
pub fn tables_2_and_3() -> &'static [Cell] {
    static CELLS: LazyLock<Vec<Cell>> = LazyLock::new(|| {
        records(include_str!("../../../experiments/published/replicast_tables_2_3.csv"))
            .map(|record| Cell {
                table: record.number(0),
                disk_mbps: record.number(3),
                chunk_kib: record.number(4),
                protocol: record.text(5),
                chunks_per_s: record.number(6),
                disk_utilization_pct: record.number(7),
                mean_latency_us: record.number(8),
            })
            .collect()
    });
    &CELLS
}

/// Table 5, line by line.
pub fn table_5() -> &'static [Tentative] {
    static LINES: LazyLock<Vec<Tentative>> = LazyLock::new(|| {
        records(include_str!("../../../experiments/published/replicast_table5.csv"))
            .map(|record| Tentative {
                chunk_kib: record.number(0),
                interarrival_us: record.number(1),
                probability_pct: record.number(3),
            })
            .collect()
    });
    &LINES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_cells_are_there() {
        assert_eq!(tables_2_and_3().len(), 18);
        let cell = &tables_2_and_3()[4];
        assert_eq!((cell.table, cell.disk_mbps, cell.chunk_kib), (2, 400, 128));
        assert_eq!((cell.protocol, cell.chunks_per_s), ("replicast-m", 80_700.0));
        assert_eq!((cell.disk_utilization_pct, cell.mean_latency_us), (90.6, 1039.8));
        assert_eq!(table_5().len(), 3);
        assert_eq!(table_5()[1].probability_pct, 13.0);
    }
}
