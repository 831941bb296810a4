//! What the slides on the network request scheduler and their authors' papers say, in their words.

use slotcast_lab::{NotRun, Statement};

const SLIDE: &str =
    "1000 clients, one OST, raw 500 MB/s, 2 ms of seek, 1 MiB stripes, file per process";
const AT: &str = "32 000 clients, one OST, 4 RPCs of 1 MiB each, 16 sets 5 s apart";
const PAPER: &str = "32 000 clients within 120 s, one OST; MAX, LCF and LOAD; factors 1.0 to 2.0";

pub(super) const STATEMENTS: &[Statement] = &[
    Statement {
        words: "FCFS 246.36 MB/s 240.36 MB/s, FRR 373.49 MB/s 381.49 MB/s",
        place: "slides, FCFS vs. FRR: read and write",
        scope: SLIDE,
        claims: &["one-ost/bandwidth"],
    },
    Statement {
        words: "Avg Disk seeks per second: 240, 70",
        place: "slides, FCFS vs. FRR",
        scope: SLIDE,
        claims: &["one-ost/seeks-fcfs", "one-ost/seeks-frr"],
    },
    Statement {
        words: "144 OSTs: FCFS 30638 MB/s 34743 MB/s, FRR 46304 MB/s 46279 MB/s",
        place: "slides, FCFS vs. FRR",
        scope: "144 OSTs; the clients are not said, 8000 are taken from the paper",
        claims: &["144-osts/slides/*"],
    },
    Statement {
        words: "It shows significant performance improvement by simulation: 30%+",
        place: "slides, FCFS vs. FRR",
        scope: "one OST and 144, reading and writing",
        claims: &["one-ost/gain", "144-osts/gain"],
    },
    Statement {
        words: "FCFS 34.8 and 34.4 GB/s, OBRR 49.2 and 48.6 GB/s",
        place: "ISC 2009 paper",
        scope: "144 OSTs, 8000 clients, raw 450 MB/s; its seek of 10 ms is taken as 2 ms",
        claims: &["144-osts/isc09", "isc09/seeks"],
    },
    Statement {
        words: "OBRR: 1M 485, 2M 312, 4M 217",
        place: "ISC 2009 paper, table of request sizes",
        scope: "one OST of the same run, writing",
        claims: &["request-sizes/*"],
    },
    Statement {
        words: "bandwidth and seeks for transfers of 64K to 1M",
        place: "ISC 2009 paper, Figure 5, read off",
        scope: "the same run by transfer size",
        claims: &["transfer-sizes/bandwidth", "transfer-sizes/seeks"],
    },
    Statement {
        words: "Jaguar (GB/s): READ (1M) 33.7, WRITE(1M) 30.3, READ(64K) 2.3, WRITE(64K) 7",
        place: "slides, Comparison and analysis (Jaguar)",
        scope: "144 OSTs, transfers of 64 KiB to 1 MiB; the machine, which has a cache",
        claims: &["jaguar/1MiB", "jaguar/64KiB", "jaguar/machine"],
    },
    Statement {
        words: "Simulator (GB/s): 33.1, 30, 3.8, 3.9",
        place: "slides, Comparison and analysis (Jaguar), and the authors' data behind it",
        scope: "the same, simulated without a cache",
        claims: &["jaguar/simulator"],
    },
    Statement {
        words: "aggregate performance drop: […] Increased time in opening/creating the separated files in FPP \
                mode",
        place: "slides, Scalability, and the authors' data behind it",
        scope: "144 OSTs, 32 to 8192 clients, 16 GB altogether",
        claims: &[
            "scalability/peak",
            "scalability/opens",
            "scalability/points",
            "scalability/points-near",
        ],
    },
    Statement {
        words: "Time-out rate: Fixed: 86% MAX: 40% LCF: 9% AET: 9%",
        place: "slides, AT",
        scope: AT,
        claims: &["timeouts/order", "timeouts/rates", "timeouts/rate/*"],
    },
    Statement {
        words: "timeout rate and mean R_rto by \u{3bb}",
        place: "RPC timeout paper, Table 1",
        scope: PAPER,
        claims: &["timeouts/factor/*"],
    },
    Statement {
        words: "extra messages: ERP 155388, 55427, 55445; ERPCK 154799, 25485, 24452",
        place: "RPC timeout paper, Table 2",
        scope: "the same with early replies: MAX, LCF and LOAD",
        claims: &["early-replies/nobody", "early-replies/erp", "early-replies/erpck*"],
    },
    Statement {
        words: "time slice of client class A: 7 sec, time slice of client class B: 3 sec […] can work well for \
                bandwidth control at coarser granularity level",
        place: "slides, Performance virtualization",
        scope: "1000 clients in two classes, epochs of 10 s and 1 s",
        claims: &["time-slices"],
    },
    Statement {
        words: "but it's not very stable for small time epoch",
        place: "slides, Performance virtualization",
        scope: "epochs of 1 s; the measure is not said, the share of each epoch is taken",
        claims: &["time-slices/unsteady"],
    },
    Statement {
        words: "For normal I/O requests, the deadlines are set dynamically […] T(deadline) = T(arrival) + S",
        place: "slides, Dynamic and mandatory deadline, and the paper's figure",
        scope: "1000 clients, and 50 with urgent requests; S of 5 s",
        claims: &["deadlines/*"],
    },
];

pub(super) const NOT_RUN: &[NotRun] = &[
    NotRun {
        place: "slides, I/O analysis",
        words: "SF mode: 112 * 8 * 7 = ~6100; FPP mode: 4 * 8 * 7 = ~200; Read beats write in both",
        reason: "arithmetic (6272 and 224), and traces of a cluster that are lost",
    },
    NotRun {
        place: "slides, Dynamic and mandatory deadline",
        words: "I/O requests in High level queue may starve the ones in lower level queue",
        reason: "no setup or figure is given; the `tenants` part shows priorities beside deadlines",
    },
    NotRun {
        place: "slides, greedy and simple round robin",
        words: "the pictures",
        reason: "lost; the policies run in the `tenants` part, with nothing to hold them against",
    },
    NotRun {
        place: "slides, Performance virtualization",
        words: "Aggregate Bandwidth of Client Classes: the charts",
        reason: "lost; drawn here",
    },
    NotRun {
        place: "ISC 2009 paper, table of request sizes",
        words: "FCFS: 2M 1 (0 %), 4M 0 (0 %)",
        reason: "one request of 1759 and none are no figures that could be near or far",
    },
    NotRun {
        place: "authors' early simulations",
        words: "FCFS against round robin with a seek of 10 ms, 196 to 118 seeks",
        reason: "an older version of their program with other rules and pre-opened files",
    },
    NotRun {
        place: "ISC 2009 paper",
        words: "sgpdd-survey of a DDN S2A9550",
        reason: "a machine; it was what the authors' disk was made after",
    },
    NotRun {
        place: "RPC timeout paper",
        words: "POLL: 4 327 202 messages",
        reason: "clients that poll are not modelled",
    },
    NotRun {
        place: "RPC timeout paper",
        words: "FIX with 25, 50 and 125 s: 87, 76 and 0 %",
        reason: "fixed timeouts are run on the setup of the slides only",
    },
];
