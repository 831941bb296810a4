//! The evaluation of "Lustre NRS Simulation" (seed 003) and of its authors' papers: schedulers, timeouts
//! and time slices on the simulated Lustre, beside the published figures; and what nobody published, the
//! schedulers against each other on mixed tenants.

mod bars;
mod claims;
mod experiment;
mod nrs;
mod policy;
mod published;
mod replicast_order;
mod rows;
mod runs;
mod said;
mod scale;
mod sizes;
mod slices;
mod table;
mod tenants;
mod timeouts;

pub use experiment::{LustreExperiment, LustrePoint, SETTINGS};

use slotcast_lab::{Evaluation, Model, Part};

/// A part whose file is a Lustre experiment.
macro_rules! part {
    ($title:literal, $file:literal, $evaluate:expr) => {
        Part {
            title: $title,
            file: concat!("experiments/lustre/", $file, ".toml"),
            text: include_str!(concat!("../../../../experiments/lustre/", $file, ".toml")),
            model: Model::Other(SETTINGS, |part, overrides| {
                runs::prepare(part, overrides, $evaluate)
            }),
        }
    };
}

/// The evaluation, for the catalogue.
pub const EVALUATION: Evaluation = Evaluation {
    name: "lustre",
    title: "Lustre NRS Simulation (Qian, Wang), and its authors' papers on schedulers and timeouts",
    by_default: false,
    parts: &[
        part!("One OST: FCFS and FRR", "one-ost", nrs::one_ost),
        part!("144 OSTs as on the slides", "nrs-144", nrs::slides),
        part!("144 OSTs as in the ISC 2009 paper, and merged requests", "isc09", nrs::paper),
        part!("One OST of 144 by transfer size", "transfer-sizes", sizes::transfer_sizes),
        part!("Timeouts: fixed and adaptive", "timeouts", timeouts::slides),
        part!("Jaguar: transfer sizes and a storage cache", "jaguar", scale::jaguar),
        part!("Scalability: 32 to 8192 clients", "scalability", scale::scalability),
        part!("Timeouts by factor", "timeouts-lambda", timeouts::by_factor),
        part!("Early replies", "early-replies", timeouts::early_replies),
        part!("Time slices", "time-slices", slices::time_slices),
        part!("Two-level deadline", "deadlines", slices::deadlines),
        part!("Three tenants under every policy", "tenants", tenants::tenants),
        Part {
            title: "Object order under Replicast",
            file: "experiments/replicast-order.toml",
            text: include_str!("../../../../experiments/replicast-order.toml"),
            model: Model::Cluster(replicast_order::order),
        },
    ],
    claims: claims::claims,
    statements: said::STATEMENTS,
    not_run: said::NOT_RUN,
};
