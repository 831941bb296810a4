//! What one run found.

use slotcast_units::{Size, Span, Time};

/// The kind of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// A chunk was stored.
    Put,
    /// A chunk was fetched.
    Get,
}

/// A request that ended well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// When it was asked for: in an open loop the arrival, not the first message.
    pub started: Time,
    /// When the last acknowledgement, or the whole chunk, was there.
    pub finished: Time,
    /// Put or get.
    pub operation: Operation,
}

impl Completion {
    /// How long it took.
    pub fn latency(&self) -> Span {
        self.finished - self.started
    }
}

/// Distribution of latencies in microseconds. Quantiles are exact (nearest rank).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Latency {
    /// Number of requests.
    pub count: u64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
    /// Longest.
    pub max: f64,
}

impl Latency {
    /// Summarises latencies; all zero when there are none. Costs a sort.
    pub fn of(latencies: impl Iterator<Item = Span>) -> Latency {
        let mut ns: Vec<u64> = latencies.map(Span::as_ns).collect();
        if ns.is_empty() {
            return Latency::default();
        }
        ns.sort_unstable();
        let sum: u128 = ns.iter().map(|&v| u128::from(v)).sum();
        let rank = |per_mille: usize| {
            let index = (ns.len() * per_mille).div_ceil(1000).max(1) - 1;
            ns[index] as f64 / 1e3
        };
        Latency {
            count: ns.len() as u64,
            mean: sum as f64 / ns.len() as f64 / 1e3,
            p50: rank(500),
            p90: rank(900),
            p99: rank(990),
            p999: rank(999),
            max: rank(1000),
        }
    }
}

/// Events of the protocol that a reader of a report asks about. Counted over the whole run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Puts acknowledged by enough targets.
    pub puts: u64,
    /// Gets delivered.
    pub gets: u64,
    /// Requests given up.
    pub failures: u64,
    /// Puts that found no common window and were given up for a new chunk (a quirk).
    pub abandoned: u64,
    /// Rounds of asking beyond the first that a request needed.
    pub extra_rounds: u64,
    /// Control messages that were lost, by fault.
    pub messages_lost: u64,
    /// Transfers that found the receiver's port or window taken.
    pub transfer_conflicts: u64,
    /// Frames that the switch marked (UCH-DCTCP).
    pub frames_marked: u64,
    /// Frames that a full port of the switch dropped (UCH-DCTCP).
    pub frames_dropped: u64,
    /// Frames that were sent again (UCH-DCTCP).
    pub retransmissions: u64,
    /// Retransmission timeouts (UCH-DCTCP).
    pub timeouts: u64,
}

/// The queues in the switch, at its ports towards the targets.
#[derive(Debug, Clone, PartialEq)]
pub struct PortQueues {
    /// Bytes in a queue: mean over measured time and over the targets.
    pub mean: f64,
    /// The most that was in one of them in measured time.
    pub longest: Size,
    /// How things stood, at every `dctcp.sample_every`, warm-up included.
    pub samples: Vec<PortSample>,
}

/// How far the initiators are, and what waits for the targets, at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortSample {
    /// When.
    pub at: Time,
    /// What each initiator has sent since the start and knows to have arrived.
    pub acknowledged: Vec<Size>,
    /// Bytes in the queue of the port towards each target, as a frame that leaves then will find it.
    pub queues: Vec<Size>,
}

/// Everything that one run measured.
#[derive(Debug, Clone, PartialEq)]
pub struct RunReport {
    /// The seed.
    pub seed: u64,
    /// Simulated time, warm-up included.
    pub length: Span,
    /// Time at the start that the metrics leave out.
    pub warmup: Span,
    /// Events executed.
    pub events: u64,
    /// Hash over all executed events: equal runs have equal hashes.
    pub trace_hash: u64,
    /// Requests completed per second of measured time.
    pub chunks_per_s: f64,
    /// Latency of all requests that finished in the measured time.
    pub latency: Latency,
    /// Latency of puts alone.
    pub put_latency: Latency,
    /// Latency of gets alone.
    pub get_latency: Latency,
    /// Mean over targets of the part of time in which the disk was busy, from 0 to 1.
    pub disk_utilization: f64,
    /// Mean number of chunks at a target's disk, the one in service included.
    pub disk_queue_length: f64,
    /// Mean over targets of the payload that passed the port over what the usable link rate could
    /// carry, in the busier of the two ways, from 0 to 1.
    pub link_utilization: f64,
    /// What happened.
    pub counts: Counts,
    /// The queues in the switch; none where frames do not queue there one by one.
    pub port_queues: Option<PortQueues>,
    /// Every request that finished, in order, warm-up included.
    pub completions: Vec<Completion>,
}
