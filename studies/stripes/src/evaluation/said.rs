//! What the slides on write penalties say, in their words.

use slotcast_lab::{NotRun, Statement};

pub(super) const STATEMENTS: &[Statement] = &[
    Statement {
        words: "34,242 ± 3,216: theoretical stripe lock mode latency",
        place: "Evaluation: Suno cluster",
        scope: "one client, 1 MB units: a sum of the costs printed above it (derived, not measured)",
        claims: &["suno/stripe-lock/1-clients/theoretical_latency"],
    },
    Statement {
        words: "27,264 ± 1,768: theoretical coordinated mode latency",
        place: "Evaluation: Suno cluster",
        scope: "one client, 1 MB units: a sum of the costs printed above it (derived, not measured)",
        claims: &["suno/coordinated/1-clients/theoretical_latency"],
    },
    Statement {
        words: "32,897 ± 0,197: measured stripe lock mode latency",
        place: "Evaluation: Suno cluster",
        scope: "one client, 1 MB units",
        claims: &["suno/stripe-lock/1-clients/latency"],
    },
    Statement {
        words: "27,197 ± 0,762: measured coordinated mode latency",
        place: "Evaluation: Suno cluster",
        scope: "one client, 1 MB units",
        claims: &["suno/coordinated/1-clients/latency"],
    },
    Statement {
        words: "Cache-miss causes disk I/O: Disk I/O adds several ms latency",
        place: "Conclusion: cache issue",
        scope: "coordinated mode",
        claims: &["cache/miss"],
    },
    Statement {
        words: "Hide Cache-miss: […] Prefetch existing data object while receiving client write operation",
        place: "Conclusion: cache issue",
        scope: "coordinated mode",
        claims: &["cache/prefetch"],
    },
    Statement {
        words: "Guaranteed stripe consistency",
        place: "Conclusion: advantages",
        scope: "every run, also with data servers that fail",
        claims: &["consistent"],
    },
];

pub(super) const NOT_RUN: &[NotRun] = &[
    NotRun {
        place: "Evaluation: Suno cluster",
        words: "10,633 ± 0,021 1 MB message transfer […] 0,080 ± 0,000 small message transfer: six costs",
        reason: "they are what the simulation is given",
    },
    NotRun {
        place: "Evaluation: Suno cluster",
        words: "± 3,216, ± 0,197, ± 1,768, ± 0,762",
        reason: "what they are is not said; the costs are simulated without spread",
    },
    NotRun {
        place: "Evaluation: Suno cluster",
        words: "Throughput in Ops/sec, 1 MB unit size",
        reason: "the chart is lost; throughput over clients is simulated, with nothing to hold it against",
    },
    NotRun {
        place: "Evaluation: Griffon cluster",
        words: "Throughput in Ops/sec, 1 MB unit size",
        reason: "the chart is lost, and no costs of that cluster are printed",
    },
    NotRun {
        place: "Conclusion: disadvantage",
        words: "Generally: High load on data server cluster",
        reason: "no figure is given",
    },
];
