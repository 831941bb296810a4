//! What is simulated: one plain value that says everything about a run except its seed.

pub use slotcast_protocol::{ProxyChoice, selection::Ties};
use slotcast_units::{Rate, Share, Size, Span};

use crate::mix::Mix;

/// One simulated cluster, its protocol and its load. With a seed it determines a run completely.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Scenario {
    /// Who takes part.
    pub cluster: Cluster,
    /// Links and core.
    pub network: Network,
    /// The disks of a target.
    pub disk: Disk,
    /// Which protocol moves chunks.
    pub protocol: Protocol,
    /// Parameters of the Replicast protocols.
    pub replicast: Replicast,
    /// Parameters of the unicast peers.
    pub unicast: Unicast,
    /// Parameters of UCH-DCTCP's connections and of the switch that they share.
    pub dctcp: Dctcp,
    /// Behaviour of the original simulator that is kept only to repeat its figures.
    pub quirks: Quirks,
    /// What the initiators do.
    pub workload: Workload,
    /// What goes wrong.
    pub faults: Faults,
    /// How long, and in what detail.
    pub run: Run,
}

/// Initiators, targets and how replicas spread over them.
#[derive(Debug, Clone, PartialEq)]
pub struct Cluster {
    /// Number of initiators.
    pub initiators: u32,
    /// Number of targets, each with a link of its own and [`Disk::per_target`] disks.
    pub targets: u32,
    /// Replicas of each chunk.
    pub replicas: u32,
    /// Targets that fail together (one machine): replicas go to different failure domains.
    pub targets_per_domain: u32,
    /// Targets in a negotiating group (seed 002, II.A).
    pub group_size: u32,
}

impl Default for Cluster {
    fn default() -> Self {
        Cluster { initiators: 90, targets: 90, replicas: 3, targets_per_domain: 1, group_size: 9 }
    }
}

/// A non-blocking core between full-duplex edge ports (seed 002, IV.A).
#[derive(Debug, Clone, PartialEq)]
pub struct Network {
    /// Line rate of every edge port, each way.
    pub link_rate: Rate,
    /// Part of the line rate lost to headers.
    pub overhead: Share,
    /// One-way time through the core.
    pub trip: Span,
    /// Payload of one frame.
    pub frame: Size,
}

impl Default for Network {
    fn default() -> Self {
        Network {
            link_rate: Rate::from_bps(10_000_000_000),
            overhead: Share::from_percent(1),
            trip: Span::from_us(1),
            frame: Size::from_bytes(9000),
        }
    }
}

impl Network {
    /// The rate that is left for payload and control together.
    pub fn usable_rate(&self) -> Rate {
        self.link_rate.share(self.overhead.rest())
    }
}

/// Disks that serve one request after another.
#[derive(Debug, Clone, PartialEq)]
pub struct Disk {
    /// Sustained rate of reads and writes.
    pub rate: Rate,
    /// Time that each request takes beyond that of its bytes: seek and rotation.
    pub access_time: Span,
    /// Backlog of a disk from which its target asks initiators to wait.
    pub queue_limit: Size,
    /// Disks behind the link of one target (Replicast only). A chunk lies on one of them.
    pub per_target: u32,
}

impl Default for Disk {
    fn default() -> Self {
        Disk {
            rate: Rate::from_bytes_per_s(400 << 20),
            access_time: Span::ZERO,
            queue_limit: Size::from_kib(256),
            per_target: 1,
        }
    }
}

impl Disk {
    /// Time of one request of `size` on a healthy disk.
    pub fn service(&self, size: Size) -> Span {
        self.rate.time_for(size) + self.access_time
    }
}

/// Which protocol moves chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ProtocolKind {
    /// Replicast-M: one multicast transfer in a window common to all replicas.
    #[default]
    ReplicastM,
    /// Replicast-H: unicast transfers in consecutive windows.
    ReplicastH,
    /// UCH-CCP: unicast at rates that the target grants.
    UchCcp,
    /// UCH-AIMD: unicast, additive increase and multiplicative decrease.
    UchAimd,
    /// UCH-DCTCP: unicast over TCP connections with DCTCP.
    UchDctcp,
    /// Replicast with a proxy: one member of each group grants windows for all, and one multicast
    /// transfer follows.
    ReplicastProxy,
}

/// The choice of a protocol.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Protocol {
    /// Which one.
    pub kind: ProtocolKind,
}

/// How a target delays windows while its disk is behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Backpressure {
    /// As soon as the disk has room for one more chunk, accepted ones that are to come counted.
    #[default]
    KeepRoom,
    /// So that the chunk arrives when the disk has room for it (the original's rule after the paper).
    ArriveIntoRoom,
    /// Not before a full queue has drained (the original's rule at the time of the paper).
    DrainFirst,
}

/// How Replicast-H puts a sequence of windows together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SequenceChoice {
    /// As in the paper's runs.
    #[default]
    Paper,
    /// As in the original after the paper: the next replicas are asked for one window ahead.
    Revised,
}

/// By how much an idle target stretches its bids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IdleExtension {
    /// By two transfers.
    #[default]
    TwoTransfers,
    /// By two trips.
    TwoTrips,
}

/// Parameters of Replicast.
#[derive(Debug, Clone, PartialEq)]
pub struct Replicast {
    /// Size that the simulation charges for a control message.
    pub control_size: Size,
    /// Part of the usable rate kept for control messages.
    pub control_share: Share,
    /// Width of a bid's window over the time of the transfer; zero takes the protocol's own default
    /// (140 % for Replicast-M, 110 % for Replicast-H).
    pub bid_multiplier: Share,
    /// Idle time that a target leaves between windows, beyond one trip.
    pub bid_gap: Span,
    /// How a backlog on the disk delays windows.
    pub backpressure: Backpressure,
    /// By how much an idle target stretches its bids.
    pub idle_extension: IdleExtension,
    /// Which of several bids an initiator takes where transfers would begin together.
    pub ties: Ties,
    /// How Replicast-H puts a sequence of windows together.
    pub sequence: SequenceChoice,
    /// Whether initiators ask again when the best bid makes them wait too long.
    pub choosy: bool,
    /// The wait that a choosy initiator is ready for at first; zero takes three control round trips.
    pub choosy_start: Span,
    /// Replicast-H: whether targets offer the window of an undecided bid to a second initiator, and
    /// reject late whoever accepts it second.
    pub double_booking: bool,
    /// How long an initiator waits for missing answers; zero takes 32 control round trips, and twice
    /// the longest delay of a message.
    pub answer_timeout: Span,
    /// How long after the window's end an acknowledgement may take; zero takes 16 chunk times on disk
    /// and link, twice the time of a full disk queue, and the time for missing answers.
    pub ack_timeout: Span,
    /// Rounds of asking before a put or get is given up.
    pub max_rounds: u32,
    /// Replicast with a proxy: control messages' worth of time that each request takes of it.
    pub proxy_messages: u32,
    /// Replicast with a proxy: how it chooses members.
    pub proxy_choice: ProxyChoice,
}

impl Default for Replicast {
    fn default() -> Self {
        Replicast {
            control_size: Size::from_bytes(300),
            control_share: Share::from_percent(10),
            bid_multiplier: Share::ZERO,
            bid_gap: Span::ZERO,
            backpressure: Backpressure::default(),
            idle_extension: IdleExtension::default(),
            ties: Ties::default(),
            sequence: SequenceChoice::default(),
            choosy: false,
            choosy_start: Span::ZERO,
            double_booking: false,
            answer_timeout: Span::ZERO,
            ack_timeout: Span::ZERO,
            max_rounds: 32,
            proxy_messages: 4,
            proxy_choice: ProxyChoice::default(),
        }
    }
}

/// How a unicast initiator picks its targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TargetChoice {
    /// Distinct targets at random, none of them used for this initiator's previous chunk.
    #[default]
    Random,
    /// Consistent hashing: the next distinct failure domains clockwise on a ring with virtual nodes.
    Ring,
}

/// How a UCH-CCP target shares its link among flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Grant {
    /// Every flow gets an equal share at once, as in the paper's runs.
    #[default]
    Interleaved,
    /// One flow after another at the full rate.
    Serial,
}

/// Parameters of the unicast peers.
#[derive(Debug, Clone, PartialEq)]
pub struct Unicast {
    /// Size that the simulation charges for a control message.
    pub control_size: Size,
    /// How targets are picked.
    pub target_choice: TargetChoice,
    /// Points on the ring per target, for [`TargetChoice::Ring`].
    pub virtual_nodes: u32,
    /// How a UCH-CCP target shares its link.
    pub grant: Grant,
    /// UCH-AIMD: starting rate, lowest rate and additive step.
    pub aimd_step: Rate,
}

impl Default for Unicast {
    fn default() -> Self {
        Unicast {
            control_size: Size::from_bytes(100),
            target_choice: TargetChoice::default(),
            virtual_nodes: 128,
            grant: Grant::default(),
            aimd_step: Rate::from_bps(1_000_000_000),
        }
    }
}

/// Parameters of UCH-DCTCP's connections (RFC 8257) and of the switch that they share.
#[derive(Debug, Clone, PartialEq)]
pub struct Dctcp {
    /// A frame that finds more than this in the queue of its port is marked; zero takes 97.5 kB at
    /// 10 Gb/s, in proportion to the rate, and at least a seventh of what the link carries in a round
    /// trip (SIGCOMM 2010).
    pub mark_threshold: Size,
    /// What the queue of a port holds; frames beyond it are dropped.
    pub buffer: Size,
    /// Weight of the newest window of data in the estimate of the marked part (g).
    pub gain: Share,
    /// That estimate before anything was measured.
    pub initial_alpha: Share,
    /// The first window of a connection, in full frames.
    pub initial_window: u32,
    /// Shortest retransmission timeout.
    pub min_rto: Span,
    /// Whether a connection goes back to its first window after a silence of a retransmission timeout.
    pub idle_restart: bool,
    /// What a receiver holds for a connection whose data it does not read.
    pub receive_buffer: Size,
    /// Rate of an initiator's own link over the rate of the switch's ports. Only a faster one lets a
    /// single sender fill a port's queue, as the analyses of DCTCP assume.
    pub initiator_link: Share,
    /// How often the ports are sampled for the report; zero for never.
    pub sample_every: Span,
}

impl Default for Dctcp {
    fn default() -> Self {
        Dctcp {
            mark_threshold: Size::ZERO,
            buffer: Size::from_bytes(700_000),
            gain: Share::from_ppm(62_500),
            initial_alpha: Share::ONE,
            initial_window: 10,
            min_rto: Span::from_ms(10),
            idle_restart: true,
            receive_buffer: Size::from_mib(6),
            initiator_link: Share::ONE,
            sample_every: Span::ZERO,
        }
    }
}

/// Behaviour of the original simulator (build d92018f) that changes results and that a cluster would
/// not want: each is off unless the paper's figures are repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Quirks {
    /// Replicast-M: targets offer windows at the end of a queue, or cancelled ones again, instead of
    /// in the first hole.
    pub queued_windows: bool,
    /// Replicast-M: only three bids that follow each other in time are tried, and the last such triple never.
    pub consecutive_triples: bool,
    /// Replicast-M: without a common window the chunk is given up for a new one, its time not counted.
    pub abandon_without_window: bool,
    /// Replicast-H: a bid preferred for its idle target keeps its whole window reserved.
    pub keep_idle_window: bool,
    /// Replicast-H: an idle target stretches its window only at the toss of a coin.
    pub coin_toss_extension: bool,
    /// UCH: the last frame of a replica is not charged to the sender's link.
    pub free_last_frame: bool,
    /// Replicast: an initiator never uses the negotiating group of its previous chunk.
    pub avoid_previous_group: bool,
    /// Replicast-H: a choosy initiator that asked again takes windows that overlap its own transfers. Of the
    /// runs of the "Choosy Initiator" text, not of the paper's.
    pub overlapping_windows: bool,
    /// Chunks finished in the last hundredth of the run are not counted in `chunks_per_s`, and disk
    /// time is credited when a write is scheduled, in whole percent per target.
    pub early_statistics: bool,
}

impl Quirks {
    /// All of them: what the paper's figures were made with.
    pub const AS_PUBLISHED: Quirks = Quirks {
        queued_windows: true,
        consecutive_triples: true,
        abandon_without_window: true,
        keep_idle_window: true,
        coin_toss_extension: true,
        free_last_frame: true,
        avoid_previous_group: true,
        overlapping_windows: false,
        early_statistics: true,
    };
}

/// How requests arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Load {
    /// Each initiator starts the next request when one of its window ends.
    #[default]
    Closed,
    /// Requests arrive as a Poisson process, and wait at the initiator while its window is full.
    Open,
}

/// What the initiators do.
#[derive(Debug, Clone, PartialEq)]
pub struct Workload {
    /// Closed or open loop.
    pub load: Load,
    /// Requests in flight per initiator; with a mix of objects, chunks.
    pub window: u32,
    /// Open loop: mean arrivals per second over all initiators together.
    pub arrivals_per_s: u64,
    /// Size of every chunk; of the largest ones, with a [`mix`](Workload::mix).
    pub chunk_size: Size,
    /// Sizes of the objects that are put and got (Replicast only). An object is cut into chunks of
    /// `chunk_size`, and its request ends with the last of them. Empty: every object is one chunk.
    pub mix: Mix,
    /// Part of the requests that are gets of chunks stored before.
    pub get_share: Share,
    /// Closed loop: initiators start at times spread at random over this span, not all at once.
    pub start_spread: Span,
    /// Closed loop: each initiator starts this much later than the one before it.
    pub start_interval: Span,
    /// Chunks, or objects of the mix, that are on the targets when the run starts, for gets to find.
    pub preloaded_chunks: u32,
}

impl Default for Workload {
    fn default() -> Self {
        Workload {
            load: Load::default(),
            window: 1,
            arrivals_per_s: 10_000,
            chunk_size: Size::from_kib(128),
            mix: Mix::default(),
            get_share: Share::ZERO,
            start_spread: Span::ZERO,
            start_interval: Span::ZERO,
            preloaded_chunks: 1000,
        }
    }
}

/// What goes wrong during a run. The default is nothing.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Faults {
    /// Part of the control messages that are lost.
    pub message_loss: Share,
    /// Part of the control messages that arrive twice.
    pub message_duplication: Share,
    /// Longest extra delay of a control message, uniform from zero: reorders messages.
    pub message_delay: Span,
    /// Part of the transfers that arrive damaged.
    pub transfer_corruption: Share,
    /// Number of targets that stop answering at `down_at`.
    pub targets_down: u32,
    /// Whether those are neighbours, as the targets of one failure domain are, instead of spread over the
    /// cluster.
    pub neighbours_down: bool,
    /// Part of their disks' time that the targets of a group spend on bringing back what its members that are
    /// down have held, from `down_at` on: every disk reads or writes a chunk at even distances.
    pub rebuild_share: Share,
    /// When they stop.
    pub down_at: Span,
    /// When they are back, empty of reservations but with their data; zero for never.
    pub up_at: Span,
    /// Number of targets whose disks run at `slow_factor` of its rate.
    pub slow_disks: u32,
    /// Rate of a slow disk over the rate of a healthy one.
    pub slow_factor: Share,
}

/// Detail of the network model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fidelity {
    /// A transfer is one event; shared rates are recomputed when flows come and go.
    #[default]
    Flow,
    /// Every frame is an event, as in the paper.
    Frame,
}

/// How long, and in what detail.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Simulated time, warm-up included.
    pub length: Span,
    /// Simulated time at the start that is left out of the statistics.
    pub warmup: Span,
    /// Detail of the network model.
    pub fidelity: Fidelity,
}

impl Default for Run {
    fn default() -> Self {
        Run { length: Span::from_ms(100), warmup: Span::from_ms(20), fidelity: Fidelity::default() }
    }
}
