//! What the source says, in its words.

use slotcast_lab::{NotRun, Statement};

pub(super) const STATEMENTS: &[Statement] = &[
    Statement {
        words: "The worst result is for the {k = 1} configuration consisting of a single network",
        place: "The Benchmark: the chart",
        scope: "Hartmann-6, 1 to 30 networks, 300 to 2300 calls",
        claims: &["one-is-worst/*"],
    },
    Statement {
        words: "Imagine a system with 3 local maximums and 30 properly randomized neural networks – what would be \
                the chances of all 30 getting stuck",
        place: "The Logic",
        scope: "any system with local maxima, many networks against one",
        claims: &["many-escape"],
    },
];

pub(super) const NOT_RUN: &[NotRun] = &[
    NotRun {
        place: "The Benchmark: the chart",
        words: "the distance from the global maximum […] from 300 to 2300 calls, number of neural networks: its \
                heights",
        reason: "the picture is lost and no number is printed: the surface is measured, with nothing to hold it \
                 against",
    },
    NotRun {
        place: "The Benchmark",
        words: "all NN runners execute their respective goroutines",
        reason: "networks are trained one after another, so that equal seeds give equal points; each still sees \
                 every evaluation",
    },
    NotRun {
        place: "The Benchmark: Natural Evolution Strategies",
        words: "fork the most “successful” or “promising” network, train it separately for a while, then merge \
                back with its parent",
        reason: "an outlook, without a result",
    },
];
