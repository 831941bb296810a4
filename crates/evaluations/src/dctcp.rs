//! The evaluation of UCH-DCTCP: how fast two flows find their shares, held against what was published, and
//! what Replicast gains over hash placement on a transport of today.

mod comparison;
mod convergence;

use slotcast_lab::{Evaluation, Model, NotRun, Part, Statement};

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
    statements: &[Statement {
        words: "The research estimates DCTCP convergence times on a 10GE network ranging anywhere from 229*d \
                to 770*d, where d is the propagation delay.",
        place: "Choosy Initiator, on Figure 12 of the DCTCP paper",
        scope: "10 Gb/s; threshold, delay and the premises of the analysis are not said",
        claims: &["convergence/as-analysed", "convergence/as-deployed", "convergence/everywhere"],
    }],
    not_run: &[
        NotRun {
            place: "Choosy Initiator, Figure 1",
            words: "DCTCP convergence: the picture",
            reason: "read off nowhere; a picture of the same kind is drawn",
        },
        NotRun {
            place: "Choosy Initiator",
            words: "a considerable time corresponding to several fully transferred 128K payloads",
            reason: "arithmetic: 229 d are two transfers of 106 us at d of 1 us",
        },
    ],
};
