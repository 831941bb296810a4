//! What the Replicast paper says, in its words.

use slotcast_lab::{NotRun, Statement};

const BOTH: &str = "90 initiators, 90 targets, 400 and 1000 MB/s";
const FEW: &str = "30 initiators, 90 targets, 128 KiB and 1 MiB, 400 and 1000 MB/s";

pub(super) const STATEMENTS: &[Statement] = &[
    Statement {
        words: "TABLE 2. 90 INITIATORS, 90 TARGETS, 400MB/S DRIVES",
        place: "Table 2: throughput and latency, best to worst",
        scope: "16 KiB, 128 KiB and 1 MiB, 400 MB/s",
        claims: &["order/table2/*"],
    },
    Statement {
        words: "TABLE 3. 90 INITIATORS, 90 TARGETS, 1000MB/S DRIVES",
        place: "Table 3: throughput and latency, best to worst",
        scope: "16 KiB, 128 KiB and 1 MiB, 1000 MB/s",
        claims: &["order/table3/*"],
    },
    Statement {
        words: "Even for smaller size chunks, Replicast-M achieves better latency and throughput than the \
                other two protocols.",
        place: "IV.F, below Table 2",
        scope: "16 KiB; the text takes both disk rates to be in Table 2",
        claims: &["small-chunks/400MBps", "small-chunks/1000MBps"],
    },
    Statement {
        words: "Replicast-H and Replicast-M show similar performance with the slower drives",
        place: "IV.F, on Figure 9",
        scope: "Figure 9: 128 KiB, 400 MB/s",
        claims: &["similar/128KiB"],
    },
    Statement {
        words: "only Replicast-M scales almost linearly with the faster drives: 2.18 increase in the \
                throughout (relative to the 2.5x increase in disk speed)",
        place: "IV.F, on Figure 9",
        scope: "128 KiB, 400 to 1000 MB/s",
        claims: &["scaling/128KiB/order", "scaling/128KiB/replicast-m/chunks_per_s"],
    },
    Statement {
        words: "Replicast-M scales even better for 1MB chunks: 2.4 increase.",
        place: "IV.F",
        scope: "1 MiB, 400 to 1000 MB/s; the tables give 2.46",
        claims: &["scaling/larger-is-better", "scaling/1MiB/replicast-m/chunks_per_s"],
    },
    Statement {
        words: "The unicast protocols, meanwhile, show less improvement",
        place: "IV.F",
        scope: "128 KiB and 1 MiB, 400 to 1000 MB/s: UCH-CCP and Replicast-H, by both tables",
        claims: &[
            "scaling/1MiB/order",
            "scaling/128KiB/uch-ccp/*",
            "scaling/128KiB/replicast-h/*",
            "scaling/1MiB/uch-ccp/*",
            "scaling/1MiB/replicast-h/*",
        ],
    },
    Statement {
        words: "Replicast-M scales extremely well for medium and large chunks, while Replicast-H \
                outperforms its unicast counterpart for medium and large chunks.",
        place: "IV.F, on Table 3",
        scope: "128 KiB and 1 MiB, 1000 MB/s",
        claims: &[
            "h-over-uch/*",
            "scaling/128KiB/replicast-m/mean_latency",
            "scaling/1MiB/replicast-m/mean_latency",
        ],
    },
    Statement {
        words: "Figure 10 illustrates the comparative performance of the protocols for 16KB chunks […] \
                where the benefit of Replicast is far lower than for 128KB and 1MB chunks",
        place: "IV.H",
        scope: BOTH,
        claims: &["benefit/*"],
    },
    Statement {
        words: "given 176,000 chunk/sec average throughput for the 90 targets assembled in 10 groups […] the \
                cluster-wide chunk arrival time would range between 25us and 75us",
        place: "IV.H",
        scope: "128 KiB, 1000 MB/s: the time between puts of one group",
        claims: &["arrivals/128KiB"],
    },
    Statement {
        words: "the next 7 microseconds (the time required to send the bid and receive a response)",
        place: "IV.H",
        scope: "a control message each way: follows from the constants of the model",
        claims: &["round-trip"],
    },
    Statement {
        words: "Overall, even for smaller chunks, we see that Replicast-M has consistently lower latency than \
                UCH-CCP.",
        place: "Appendix A, Figure 11",
        scope: "16 KiB, 90 initiators; the drives are not said, 400 MB/s are taken",
        claims: &["figure11/consistently-lower"],
    },
    Statement {
        words: "Replicast-M scales almost linearly with drive throughput – for medium and large chunk sizes.",
        place: "Appendix A, Figures 12 and 13",
        scope: FEW,
        claims: &["figure12/scaling", "figure13/scaling"],
    },
    Statement {
        words: "30 initiators are able to keep 90 targets busy enough, achieving higher utilization and hence \
                better throughput",
        place: "Appendix A, Figures 12 and 13",
        scope: FEW,
        claims: &[
            "figure12/400MBps/*",
            "figure12/1000MBps/*",
            "figure13/400MBps/*",
            "figure13/1000MBps/*",
        ],
    },
];

pub(super) const NOT_RUN: &[NotRun] = &[
    NotRun {
        place: "Table 1",
        words: "Where/when congestion control is done: per frame or per chunk, in switch, stack or target",
        reason: "a classification, no measurement",
    },
    NotRun {
        place: "Table 4",
        words: "23351.91 chunk/s, 396.12 MB/s, write latency 2.4505 us",
        reason: "machines, of which too little is said; and it contradicts itself: MB/s over chunk/s is \
                 16 963 B, and 2.45 us is shorter than a control round trip",
    },
    NotRun {
        place: "IV.G",
        words: "consistently better, often 2 to 7 times better, than the performance of Ceph and OpenStack \
                Swift",
        reason: "machines and settings are not said",
    },
    NotRun {
        place: "Figure 2",
        words: "the second bid is shifted 120us into the future",
        reason: "an example of the order of messages; its window is that of no chunk size of the paper (128 \
                 KiB: 117.7 us on the wire, 130.6 or 166.2 us reserved)",
    },
    NotRun {
        place: "Figure 6",
        words: "it receives an initial rate of 4.45 Gbps while initiator A's rate is cut to the same",
        reason: "a slip: half of the 9.9 Gb/s that A has is 4.95; 4.45 is half of Replicast's 8.9",
    },
    NotRun {
        place: "Figures 8, 12 and 13",
        words: "the bars and points themselves",
        reason: "the pictures are lost; they are drawn here, and judged by what the text says of them",
    },
    NotRun {
        place: "IV.F, on Figure 8",
        words: "Neither protocol creates any notable steady-state patterns",
        reason: "no measure of a pattern is given, and the picture is lost",
    },
    NotRun {
        place: "IV.E",
        words: "120 rendezvous groups can enumerate every 2 or 3member subset (9*8*7/3*2 + 9*8/2 = 120)",
        reason: "arithmetic: 84 + 36 is right, as printed it would be 372",
    },
    NotRun {
        place: "IV.E",
        words: "Growing beyond 12,000 targets would quickly exceed the table capacity",
        reason: "arithmetic on switches; 12 000 is the number of rules for 900 targets",
    },
    NotRun {
        place: "IV.F",
        words: "If the network caused zero delays, the expected latency with 1000 MB/s disks would be 0.4",
        reason: "arithmetic: 400 over 1000",
    },
];
