//! The evaluation of the Replicast paper: Tables 2, 3 and 5, Figures 8 to 13, and what it concludes.

mod claims;
mod figures;
mod rows;
mod said;

use slotcast_lab::setting::Choice;
use slotcast_lab::{Evaluation, Measured, Model, Part};
use slotcast_sim::Scenario;

use crate::published::{self, Cell};

/// The evaluation, for the catalogue.
pub(crate) const EVALUATION: Evaluation = Evaluation {
    name: "replicast",
    title: "Replicast paper, section IV: Tables 2, 3 and 5, Figures 8 to 13",
    by_default: true,
    parts: &[
        Part {
            title: "Tables 2, 3 and 5, Figures 9 to 11: as published, warm-up included",
            file: "experiments/replicast.toml",
            text: include_str!("../../../experiments/replicast.toml"),
            model: Model::Cluster(rows::as_published),
        },
        Part {
            title: "Tables 2 and 3: steady state, warm-up removed",
            file: "experiments/replicast-steady.toml",
            text: include_str!("../../../experiments/replicast-steady.toml"),
            model: Model::Cluster(rows::steady_state),
        },
        Part {
            title: "Figures 8, 12 and 13: 30 initiators, as published",
            file: "experiments/replicast-30.toml",
            text: include_str!("../../../experiments/replicast-30.toml"),
            model: Model::Cluster(rows::thirty_initiators),
        },
    ],
    claims: claims::claims,
    statements: said::STATEMENTS,
    not_run: said::NOT_RUN,
};

/// The protocols in the order of the paper's tables.
const PROTOCOLS: [&str; 3] = ["uch-ccp", "replicast-m", "replicast-h"];

/// The disk rates that the paper compares, in its MB/s.
const DISKS: [u64; 2] = [400, 1000];

/// Which cell of the paper's tables a scenario is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CellKey {
    disk_mbps: u64,
    chunk_kib: u64,
    protocol: &'static str,
}

impl CellKey {
    fn of(scenario: &Scenario) -> CellKey {
        CellKey {
            // The original simulator's MB is 1024 * 1024 bytes, and so is the experiment's.
            disk_mbps: scenario.disk.rate.as_bps() / (8 << 20),
            chunk_kib: scenario.workload.chunk_size.as_bytes() >> 10,
            protocol: scenario.protocol.kind.word(),
        }
    }

    fn published(&self) -> Option<&'static Cell> {
        published::tables_2_and_3().iter().find(|cell| {
            (cell.disk_mbps, cell.chunk_kib, cell.protocol)
                == (self.disk_mbps, self.chunk_kib, self.protocol)
        })
    }

    /// The same for the runs of `point`: the tables are about 90 initiators.
    fn published_for(&self, point: &Measured) -> Option<&'static Cell> {
        self.published().filter(|_| point.scenario.cluster.initiators == 90)
    }
}

/// `16KiB`, `128KiB` or `1MiB`.
fn chunk_name(kib: u64) -> String {
    if kib >= 1024 { format!("{}MiB", kib / 1024) } else { format!("{kib}KiB") }
}

/// `table2/128KiB/replicast-m/<metric>`.
fn table_id(cell: &Cell, metric: &str) -> String {
    format!("table{}/{}/{}/{metric}", cell.table, chunk_name(cell.chunk_kib), cell.protocol)
}

/// The runs of one chunk size, protocol by protocol, slow disks first.
fn bars(chunk_kib: u64, measured: &[Measured]) -> impl Iterator<Item = (CellKey, &Measured)> {
    let keys = PROTOCOLS.into_iter().flat_map(move |protocol| {
        DISKS.into_iter().map(move |disk_mbps| CellKey { disk_mbps, chunk_kib, protocol })
    });
    keys.filter_map(|key| {
        let point = measured.iter().find(|point| CellKey::of(&point.scenario) == key);
        point.map(|point| (key, point))
    })
}
