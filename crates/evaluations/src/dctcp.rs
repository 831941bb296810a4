//! The evaluation of UCH-DCTCP: how fast two flows find their shares, held against what was published, and
//! what Replicast gains over hash placement on a transport of today.

mod comparison;
mod convergence;

use slotcast_lab::{Evaluation, Model, Part};

/// The evaluation, for the catalogue.
pub(crate) const EVALUATION: Evaluation = Evaluation {
    name: "dctcp",
    title: "DCTCP: convergence (SIGMETRICS 2011, Figure 12), and as a peer of Replicast",
    by_default: false,
    parts: &[
        Part {
            title: "A second flow joins: time until both have their share",
            file: "experiments/dctcp-convergence.toml",
            text: include_str!("../../../experiments/dctcp-convergence.toml"),
            model: Model::Cluster(convergence::evaluate),
        },
        Part {
            title: "Beside UCH-CCP and Replicast, steady state",
            file: "experiments/dctcp.toml",
            text: include_str!("../../../experiments/dctcp.toml"),
            model: Model::Cluster(comparison::evaluate),
        },
        Part {
            title: "UCH-DCTCP's own threshold and buffer, steady state",
            file: "experiments/dctcp-tuning.toml",
            text: include_str!("../../../experiments/dctcp-tuning.toml"),
            model: Model::Cluster(comparison::evaluate_tuning),
        },
    ],
    claims: |findings| {
        let mut claims = convergence::claims(findings);
        claims.extend(comparison::claims(findings));
        claims
    },
};
