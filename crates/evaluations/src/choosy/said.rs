//! What the "Choosy Initiator" text says, in its words.

use slotcast_lab::{NotRun, Statement};

pub(super) const STATEMENTS: &[Statement] = &[
    Statement {
        words: "For differently sized chunks and disk/backend throughputs, the average improvement ranges \
                from 8% to 20%",
        place: "Conclusions, Figures 5 and 6",
        scope: "128 KiB and 1 MiB, 400 and 1000 MB/s; start and length of the runs are not said",
        claims: &["gain/128KiB/*", "gain/1MiB/*", "readings/*"],
    },
    Statement {
        words: "RR based protocol where storage initiators are \u{201c}choosy\u{201d} and at least sometimes \
                renegotiate their reservations outperforms its prior version",
        place: "Conclusions",
        scope: "the cells of Figures 5 and 6",
        claims: &["gain/everywhere"],
    },
    Statement {
        words: "occasional end-to-end spikes up to 7ms latency and beyond",
        place: "Figure 3",
        scope: "1 MiB, 1000 MB/s, without renegotiation",
        claims: &["spikes/there"],
    },
    Statement {
        words: "Notice that there are no 7ms spikes anymore. They are simply gone.",
        place: "Figure 4",
        scope: "1 MiB, 1000 MB/s, with renegotiation: 200 puts of one run, picked at random",
        claims: &["spikes/fewer", "spikes/gone"],
    },
    Statement {
        words: "Network: 941.482\u{b5}s",
        place: "Simulation",
        scope: "1 MiB on a free link of 8.9 Gb/s: follows from the constants of the model",
        claims: &["alone/network"],
    },
    Statement {
        words: "Given 3 copies, the request could (ideally) be fully executed in slightly more than 4 \
                milliseconds, including control handshakes and acknowledgements.",
        place: "Simulation",
        scope: "1 MiB, 1000 MB/s, without competition",
        claims: &["alone/latency"],
    },
];

pub(super) const NOT_RUN: &[NotRun] = &[
    NotRun {
        place: "Figure 2",
        words: "initiator A tentatively reserves target X for a window starting 1.1ms later (from now) […] \
                2.3ms is too much of a delay",
        reason: "an example of the order of messages, no run",
    },
    NotRun {
        place: "Figures 5 and 6",
        words: "the bars themselves",
        reason: "the pictures are lost; what the text says of them is judged",
    },
    NotRun {
        place: "Unicast delivery with renegotiation",
        words: "a new configuration variable that currently defaults to 3 times RTT on the control plane",
        reason: "a setting, not a result; the code that is meant has 6 us, and both are run",
    },
    NotRun {
        place: "Unicast delivery with renegotiation",
        words: "After the first few transactions […] each initiator independently computes an objective \
                average delay",
        reason: "no measure is given; here patience stays as long as the longest wait of the start",
    },
];
