//! The settings of an experiment about searches.

use slotcast_lab::setting::{Only, Schema, Setting, choice, count, share};
use slotcast_lab::{Seeds, setting};
use slotcast_tune::Method;
use slotcast_units::Share;

use crate::{Scenario, check};

/// What a file sets.
#[derive(Debug, Clone, Default)]
pub(super) struct Setup {
    pub(super) scenario: Scenario,
    pub(super) seeds: Seeds,
}

/// The settings of a search.
pub(super) static SEARCHES: Schema<Setup> = Schema {
    model: "networks",
    sections: &[
        ("search", "how the maximum is sought, and for how long"),
        ("networks", "the networks, where they are the method"),
        ("seeds", "replications: every point runs once with each seed"),
    ],
    settings: KEYS,
    blocks: None,
    check: |setup| check(&setup.scenario),
};

const SOURCE: &str = "the published program";
const OURS: &str = "our choice";
const BY_NETWORKS: &[Only] = &[("search.method", &["networks"])];

static KEYS: &[Setting<Setup>] = &[
    setting!(
        "search.method",
        scenario.search.method,
        choice::<Method>(),
        SOURCE,
        "By what the maximum is sought."
    ),
    setting!(
        "search.calls",
        scenario.search.calls,
        count(100, 100_000),
        SOURCE,
        "Evaluations of the function."
    ),
    setting!(
        "networks.count",
        scenario.networks.count,
        count(1, 1000),
        SOURCE,
        "Number of networks.",
        BY_NETWORKS
    ),
    setting!(
        "networks.pretraining",
        scenario.networks.pretraining,
        count(10, 10_000),
        SOURCE,
        "Calls at random before the first step; after as many again all networks see all windows again.",
        BY_NETWORKS
    ),
    setting!(
        "networks.sparsity",
        scenario.networks.sparsity,
        share(Share::ZERO, Share::ONE),
        SOURCE,
        "Part of the weights that begin as zero.",
        BY_NETWORKS
    ),
    setting!("seeds.first", seeds.first, count(0, u64::MAX), OURS, "The first seed."),
    setting!("seeds.count", seeds.count, count(1, 100_000), OURS, "Number of seeds."),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_is_sound() {
        assert_eq!(SEARCHES.problems(), Vec::<String>::new());
    }

    fn problem(text: &str) -> String {
        let read = SEARCHES.read("x.toml", text, &[], &[]);
        read.and_then(|draft| draft.points()).expect_err("it is wrong").to_string()
    }

    #[test]
    fn what_cannot_be_searched_is_said() {
        let found = problem("[networks]\ncount = 31\n");
        assert!(found.contains("expected at most 30 networks"), "{found}");
        let found = problem("[search]\nmethod = \"random\"\n[networks]\ncount = 3\n");
        assert!(
            found.contains("`networks.count` has no effect without `search.method`"),
            "{found}"
        );
        assert!(problem("[search]\nmethod = \"cma\"\n").contains("`cma` is not one of"));
    }
}
