//! What one run found.

use slotcast_engine::{Latency, Little, SortedLatencies};
use slotcast_units::{Size, Span, Time};

/// The latencies of the requests that ended in the measured time, by kind.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Latencies {
    /// Of puts.
    pub puts: SortedLatencies,
    /// Of gets.
    pub gets: SortedLatencies,
}

impl Latencies {
    /// Puts and gets.
    pub fn both(&self) -> [&SortedLatencies; 2] {
        [&self.puts, &self.gets]
    }
}

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
    /// Windows that were offered a second time while they were only bid (`replicast.double_booking`).
    pub double_bookings: u64,
    /// Rejections of one of the two that were offered a window.
    pub late_rejects: u64,
    /// Frames that the switch marked (UCH-DCTCP).
    pub frames_marked: u64,
    /// Frames that a full port of the switch dropped (UCH-DCTCP).
    pub frames_dropped: u64,
    /// Frames that were sent again (UCH-DCTCP).
    pub retransmissions: u64,
    /// Retransmission timeouts (UCH-DCTCP).
    pub timeouts: u64,
}

/// The wait of chunks for a disk, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct DiskWait {
    /// Mean over the chunks that came to a disk.
    pub measured: f64,
    /// The same if as many chunks came to each disk at random (Pollaczek and Khinchine). None if a disk
    /// was offered more than it can do, or nothing came.
    pub at_random: Option<f64>,
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
    /// How long chunks waited for a disk, and would have waited in theory.
    pub disk_wait: DiskWait,
    /// Little's law over the requests under way: those that ended well are its members.
    pub requests: Little,
    /// Little's law over the chunks at the disks: those that came are its members.
    pub chunks_at_disks: Little,
    /// What happened.
    pub counts: Counts,
    /// The latencies behind `latency`, one by one.
    pub latencies: Latencies,
    /// The queues in the switch; none where frames do not queue there one by one.
    pub port_queues: Option<PortQueues>,
    /// Every request that finished, in order, warm-up included.
    pub completions: Vec<Completion>,
}
