//! The settings of the simulated cluster: one line of doc, the unit with its range, and where the default
//! comes from.

use slotcast_sim::{
    Backpressure, Fidelity, Grant, IdleExtension, Load, ProtocolKind, ProxyChoice, SequenceChoice,
    TargetChoice, Ties,
};
use slotcast_units::{Share, Size, Span};

use super::conditions::*;
use super::kind::{Kind, choice, count, rate, share, size, span};
use super::ranges::*;
use super::schema::{Schema, Setting};
use super::sections::SECTIONS;
use super::sources::*;
use crate::configuration::{Configuration, WarmupRule};

/// The settings of the simulated cluster.
pub static CLUSTER: Schema<Configuration> = Schema {
    model: "cluster",
    sections: SECTIONS,
    settings: ALL,
    blocks: None,
    check: |configuration| slotcast_sim::check(&configuration.scenario),
};

macro_rules! cluster {
    (seeds . $name:ident, $($rest:tt)*) => { cluster!(@ seeds.$name, seeds, $name, $($rest)*) };
    (statistics . $name:ident, $($rest:tt)*) => {
        cluster!(@ statistics.$name, statistics, $name, $($rest)*)
    };
    ($section:ident . $name:ident, $($rest:tt)*) => {
        cluster!(@ scenario.$section.$name, $section, $name, $($rest)*)
    };
    (@ $($path:ident).+, $section:ident, $name:ident, $($rest:tt)*) => {
        crate::setting!(concat!(stringify!($section), ".", stringify!($name)), $($path).+, $($rest)*)
    };
}

static ALL: &[Setting<Configuration>] = &[
    cluster!(cluster.initiators, count(1, 1_000_000), PAPER, "Number of initiators."),
    cluster!(
        cluster.targets,
        count(1, 1_000_000),
        PAPER,
        "Number of targets, each with a link of its own and disk.per_target disks."
    ),
    cluster!(cluster.replicas, count(1, 8), PAPER, "Replicas of each chunk."),
    cluster!(
        cluster.targets_per_domain,
        count(1, 1_000),
        OURS,
        "Targets that fail together (one machine); replicas go to different failure domains."
    ),
    cluster!(
        cluster.group_size,
        count(1, 64),
        SURGE,
        "Targets in a negotiating group, which answer a put request together.",
        REPLICAST
    ),
    cluster!(network.link_rate, rate(), PAPER, "Line rate of every edge port, each way."),
    cluster!(
        network.overhead,
        share(Share::ZERO, MOST),
        SURGE,
        "Part of the line rate that headers take."
    ),
    cluster!(network.trip, span(NO_TIME, SECOND), SURGE, "One-way time through the core."),
    cluster!(
        network.frame,
        size(Size::from_bytes(64), Size::from_mib(1)),
        PAPER,
        "Payload of one frame."
    ),
    cluster!(
        disk.rate,
        rate(),
        "Replicast paper, Table 2",
        "Sustained rate of a disk, reading or writing."
    ),
    cluster!(
        disk.access_time,
        span(NO_TIME, SECOND),
        OURS,
        "Time that each request takes beyond that of its bytes: seek and rotation."
    ),
    cluster!(
        disk.queue_limit,
        size(Size::ZERO, Size::from_mib(1 << 20)),
        SURGE,
        "Backlog on a disk from which its target asks initiators to wait."
    ),
    cluster!(
        disk.per_target,
        count(1, 1_000),
        PAPER,
        "Disks behind the link of one target (Replicast only); a chunk lies on one of them."
    ),
    cluster!(protocol.kind, choice::<ProtocolKind>(), OURS, "Which protocol moves chunks."),
    cluster!(
        replicast.control_size,
        size(Size::from_bytes(1), Size::from_kib(64)),
        "Replicast paper IV.H",
        "Size that the simulation charges for a control message.",
        CHARGED
    ),
    cluster!(
        replicast.control_share,
        share(Share::from_ppm(1), MOST),
        SURGE,
        "Part of the usable link rate that is kept for control messages.",
        REPLICAST
    ),
    cluster!(
        replicast.bid_multiplier,
        share(Share::ZERO, Share::from_percent(1000)),
        SURGE,
        "Width of a bid's window over the transfer's time; 0 is 140% for Replicast-M, 110% for \
         Replicast-H.",
        BIDS
    ),
    cluster!(
        replicast.bid_gap,
        span(NO_TIME, SECOND),
        SURGE,
        "Idle time that a target leaves between windows, beyond one trip.",
        REPLICAST
    ),
    cluster!(
        replicast.backpressure,
        choice::<Backpressure>(),
        OURS,
        "How a backlog on the disk delays the windows that a target offers.",
        REPLICAST
    ),
    cluster!(
        replicast.idle_extension,
        choice::<IdleExtension>(),
        SURGE,
        "By how much an idle target stretches its bids.",
        BIDS
    ),
    cluster!(
        replicast.ties,
        choice::<Ties>(),
        OURS,
        "Which of several bids an initiator takes where transfers would begin together.",
        BIDS
    ),
    cluster!(
        replicast.sequence,
        choice::<SequenceChoice>(),
        SURGE,
        "How Replicast-H puts a sequence of windows together.",
        SEQUENCES
    ),
    cluster!(
        replicast.choosy,
        Kind::Switch,
        CHOOSY,
        "Whether initiators ask again when the best bid makes them wait too long.",
        BIDS
    ),
    cluster!(
        replicast.choosy_start,
        span(NO_TIME, HOUR),
        CHOOSY,
        "The wait that a choosy initiator is ready for at first; 0 is three control round trips. In SURGE it is 6us by mistake.",
        CHOOSY_BIDS
    ),
    cluster!(
        replicast.double_booking,
        Kind::Switch,
        "SURGE, model m9",
        "Replicast-H: whether targets offer the window of an undecided bid to a second initiator, and reject the later acceptance.",
        SEQUENCES
    ),
    cluster!(
        replicast.answer_timeout,
        span(NO_TIME, HOUR),
        OURS,
        "How long an initiator waits for missing answers; 0 is 32 control round trips and twice faults.message_delay.",
        REPLICAST
    ),
    cluster!(
        replicast.ack_timeout,
        span(NO_TIME, HOUR),
        OURS,
        "How long after a window an acknowledgement may take; 0 is 16 chunk times on disk and link, and twice a full disk queue.",
        REPLICAST
    ),
    cluster!(
        replicast.max_rounds,
        count(1, 255),
        OURS,
        "Rounds of asking before a put or get is given up.",
        REPLICAST
    ),
    cluster!(
        replicast.proxy_messages,
        count(0, 1000),
        "SURGE, model ma",
        "Replicast with a proxy: control messages' worth of time that each request takes of it; 0 is \
         no limit.",
        PROXY
    ),
    cluster!(
        replicast.proxy_choice,
        choice::<ProxyChoice>(),
        "SURGE, model ma",
        "Replicast with a proxy: how it chooses members.",
        PROXY
    ),
    cluster!(
        unicast.control_size,
        size(Size::from_bytes(1), Size::from_kib(64)),
        "Replicast paper IV.H",
        "Size that the simulation charges for a control message.",
        UNICAST
    ),
    cluster!(
        unicast.target_choice,
        choice::<TargetChoice>(),
        SURGE,
        "How an initiator picks its targets.",
        UNICAST
    ),
    cluster!(
        unicast.virtual_nodes,
        count(1, 65_536),
        OURS,
        "Points on the ring per target, where targets are picked by consistent hashing.",
        RING
    ),
    cluster!(
        unicast.grant,
        choice::<Grant>(),
        SURGE,
        "How a UCH-CCP target shares its link among flows.",
        CCP
    ),
    cluster!(
        unicast.aimd_step,
        rate(),
        SURGE,
        "UCH-AIMD: starting rate, lowest rate and additive step.",
        AIMD
    ),
    cluster!(
        dctcp.mark_threshold,
        size(Size::ZERO, Size::from_mib(1 << 10)),
        SIGCOMM,
        "A frame that finds more than this in its port's queue is marked; 0 is 97.5 kB at 10 Gb/s, in \
         proportion to the rate, and at least a seventh of a round trip at full rate.",
        DCTCP
    ),
    cluster!(
        dctcp.buffer,
        size(Size::from_bytes(64), Size::from_mib(1 << 10)),
        SIGCOMM,
        "What the queue of a switch's port holds; frames beyond it are dropped.",
        DCTCP
    ),
    cluster!(
        dctcp.gain,
        share(Share::from_ppm(1), Share::ONE),
        RFC8257,
        "Weight of the newest window of data in the estimate of the marked part (g).",
        DCTCP
    ),
    cluster!(
        dctcp.initial_alpha,
        ANY_PART,
        RFC8257,
        "The estimate of the marked part before anything was measured.",
        DCTCP
    ),
    cluster!(
        dctcp.initial_window,
        count(1, 10_000),
        "RFC 6928",
        "The first window of a connection, in full frames.",
        DCTCP
    ),
    cluster!(
        dctcp.min_rto,
        span(Span::from_us(1), HOUR),
        SIGCOMM,
        "Shortest retransmission timeout.",
        DCTCP
    ),
    cluster!(
        dctcp.idle_restart,
        Kind::Switch,
        "RFC 5681",
        "A connection goes back to its first window after a silence of a retransmission timeout.",
        DCTCP
    ),
    cluster!(
        dctcp.receive_buffer,
        size(Size::from_bytes(64), Size::from_mib(1 << 10)),
        "Linux, tcp_rmem",
        "What a receiver holds for a connection whose data it does not read while its disk is full.",
        DCTCP
    ),
    cluster!(
        dctcp.initiator_link,
        share(Share::ONE, Share::from_percent(1000)),
        OURS,
        "Rate of an initiator's own link over that of the switch's ports; only a faster one lets a single \
         sender fill a port's queue.",
        DCTCP
    ),
    cluster!(
        dctcp.sample_every,
        span(NO_TIME, HOUR),
        OURS,
        "How often the switch's queues and what was acknowledged are sampled for an evaluation; 0 is never.",
        DCTCP
    ),
    cluster!(
        quirks.queued_windows,
        Kind::Switch,
        SURGE,
        "Replicast-M targets offer windows at the end of a queue, or cancelled ones again, instead of \
         the first hole.",
        MULTICAST
    ),
    cluster!(
        quirks.consecutive_triples,
        Kind::Switch,
        SURGE,
        "Replicast-M tries only three bids that follow each other in time, and the last such triple \
         never.",
        MULTICAST
    ),
    cluster!(
        quirks.abandon_without_window,
        Kind::Switch,
        SURGE,
        "Replicast-M gives a chunk up for a new one when there is no common window, its time not \
         counted.",
        MULTICAST
    ),
    cluster!(
        quirks.keep_idle_window,
        Kind::Switch,
        SURGE,
        "Replicast-H keeps the whole window of a bid that was preferred for its idle target.",
        PAPER_SEQUENCES
    ),
    cluster!(
        quirks.coin_toss_extension,
        Kind::Switch,
        SURGE,
        "Replicast-H lets an idle target stretch its window only at the toss of a coin.",
        LONG_EXTENSIONS
    ),
    cluster!(
        quirks.free_last_frame,
        Kind::Switch,
        SURGE,
        "UCH does not charge the last frame of a replica to the sender's link.",
        RATES
    ),
    cluster!(
        quirks.avoid_previous_group,
        Kind::Switch,
        SURGE,
        "A Replicast initiator never uses the negotiating group of its previous chunk.",
        REPLICAST
    ),
    cluster!(
        quirks.overlapping_windows,
        Kind::Switch,
        CHOOSY,
        "A choosy initiator that asked again takes windows that overlap its own transfers.",
        CHOOSY_SEQUENCES
    ),
    cluster!(
        quirks.early_statistics,
        Kind::Switch,
        SURGE,
        "Chunks of the last hundredth of the run are not counted in chunks_per_s, and disk time is \
         credited when a write is scheduled, in whole percent."
    ),
    cluster!(
        workload.load,
        choice::<Load>(),
        PAPER,
        "Closed loop (as fast as the cluster takes it) or open loop (at a given rate)."
    ),
    cluster!(
        workload.window,
        count(1, 65_536),
        SURGE,
        "Requests (with workload.mix, chunks) in flight per initiator."
    ),
    cluster!(
        workload.arrivals_per_s,
        count(1, 1_000_000_000),
        OURS,
        "Open loop: mean arrivals per second over all initiators together.",
        OPEN
    ),
    cluster!(
        workload.chunk_size,
        size(Size::from_bytes(1), Size::from_mib(64)),
        PAPER,
        "Size of every chunk; of the largest ones, with workload.mix."
    ),
    cluster!(
        workload.mix,
        Kind::Mix,
        OURS,
        "Sizes of the objects that are put and got, cut into chunks (Replicast only); none: every \
         object is one chunk."
    ),
    cluster!(
        workload.get_share,
        ANY_PART,
        OURS,
        "Part of the requests that are gets of chunks stored before."
    ),
    cluster!(
        workload.start_spread,
        span(NO_TIME, HOUR),
        OURS,
        "Closed loop: initiators start at random times within this span; 0 starts all at once.",
        CLOSED
    ),
    cluster!(
        workload.start_interval,
        span(NO_TIME, HOUR),
        OURS,
        "Closed loop: each initiator starts this much later than the one before it.",
        CLOSED
    ),
    cluster!(
        workload.preloaded_chunks,
        count(0, 100_000_000),
        OURS,
        "Chunks (or objects of workload.mix) that are on the targets when the run starts, for gets to find.",
        GETS
    ),
    cluster!(faults.message_loss, ANY_PART, OURS, "Part of the control messages that are lost."),
    cluster!(
        faults.message_duplication,
        ANY_PART,
        OURS,
        "Part of the control messages that arrive twice."
    ),
    cluster!(
        faults.message_delay,
        span(NO_TIME, SECOND),
        OURS,
        "Longest extra delay of a control message, uniform from zero: reorders messages."
    ),
    cluster!(
        faults.transfer_corruption,
        ANY_PART,
        OURS,
        "Part of the transfers that arrive damaged."
    ),
    cluster!(
        faults.targets_down,
        count(0, 1_000_000),
        OURS,
        "Number of targets that stop answering at `faults.down_at`."
    ),
    cluster!(
        faults.neighbours_down,
        Kind::Switch,
        OURS,
        "Whether those are neighbours, as those of one failure domain, not spread over the cluster.",
        OUTAGE
    ),
    cluster!(
        faults.rebuild_share,
        ANY_PART,
        OURS,
        "Part of their disks' time that the rest of their groups spend on bringing back what they held.",
        OUTAGE
    ),
    cluster!(faults.down_at, span(NO_TIME, HOUR), OURS, "When they stop.", OUTAGE),
    cluster!(
        faults.up_at,
        span(NO_TIME, HOUR),
        OURS,
        "When they are back, with their data but without reservations; 0 is never.",
        OUTAGE
    ),
    cluster!(
        faults.slow_disks,
        count(0, 1_000_000),
        OURS,
        "Number of targets whose disks run at `faults.slow_factor` of its rate."
    ),
    cluster!(
        faults.slow_factor,
        ANY_PART,
        OURS,
        "Rate of a slow disk over the rate of a healthy one.",
        SLOW_DISKS
    ),
    cluster!(run.length, span(Span::from_us(1), HOUR), OURS, "Simulated time, warm-up included."),
    cluster!(
        run.warmup,
        span(NO_TIME, HOUR),
        OURS,
        "Simulated time at the start that is left out of the statistics."
    ),
    cluster!(run.fidelity, choice::<Fidelity>(), OURS, "Detail of the network model."),
    cluster!(
        seeds.first,
        count(0, u64::MAX),
        OURS,
        "The first seed; the others follow it one by one."
    ),
    cluster!(
        seeds.count,
        count(1, 100_000),
        OURS,
        "Number of seeds, and so of runs of every point; intervals need at least two."
    ),
    cluster!(
        statistics.warmup,
        choice::<WarmupRule>(),
        OURS,
        "Where the warm-up comes from: run.warmup, or pilot runs."
    ),
    cluster!(
        statistics.precision,
        share(Share::ZERO, Share::from_percent(50)),
        OURS,
        "More seeds run until chunks_per_s, mean and p99 latency have intervals within this part of \
         them, on each side; 0 takes seeds.count as it is."
    ),
    cluster!(
        statistics.max_seeds,
        count(10, 100_000),
        OURS,
        "With a precision: no point runs with more seeds.",
        PRECISION
    ),
    cluster!(
        statistics.max_time,
        span(Span::from_ms(1), Span::from_secs(7 * 86_400)),
        OURS,
        "With a precision: no further run starts after so much time on the clock; the first seeds.count \
         run in any case.",
        PRECISION
    ),
];
