//! What a run of a Lustre scenario found.

use slotcast_engine::Latency;
use slotcast_schedulers::Direction;
use slotcast_units::{Span, Time};

/// Everything that a run found.
#[derive(Debug, Clone, PartialEq)]
pub struct LustreReport {
    /// The seed.
    pub seed: u64,
    /// Events executed.
    pub events: u64,
    /// Fingerprint of all of them in their order.
    pub trace_hash: u64,
    /// When the last thing happened.
    pub ended: Time,
    /// In the order of the scenario.
    pub jobs: Vec<JobReport>,
    /// All disks of all OSTs together.
    pub disks: DiskUse,
    /// Most requests that waited at one OST.
    pub queue_peak: usize,
    /// Opens: first asked for, last answered; none if nothing was opened.
    pub opens: Option<(Time, Time)>,
    /// RPCs that were answered too late, if clients have timeouts.
    pub timeouts: TimeoutReport,
    /// By class, then by interval, if samples were wanted.
    pub samples: Vec<Vec<Sample>>,
    /// Most requests that waited at one OST in each interval.
    pub queue_samples: Vec<usize>,
}

/// What the clients of one job saw.
#[derive(Debug, Clone, PartialEq)]
pub struct JobReport {
    /// Its name.
    pub name: String,
    /// Their writes, if there were any.
    pub write: Option<PhaseReport>,
    /// Their reads, if there were any.
    pub read: Option<PhaseReport>,
}

/// Reads or writes of one job.
#[derive(Debug, Clone, PartialEq)]
pub struct PhaseReport {
    /// Bytes that were confirmed.
    pub bytes: u64,
    /// When the first client began, its open included.
    pub started: Time,
    /// When the last RPC was answered.
    pub ended: Time,
    /// From sending an RPC to its answer.
    pub response: Latency,
    /// Jain's index of the clients' bandwidths: one if all are equal, 1 / clients if one has all.
    pub fairness: f64,
}

impl PhaseReport {
    /// Bytes from the first start to the last answer, as IOR counts; in MiB/s.
    pub fn mib_per_s(&self) -> f64 {
        let seconds = self.seconds();
        if seconds > 0.0 { self.bytes as f64 / seconds / f64::from(1 << 20) } else { 0.0 }
    }

    /// From the first start to the last answer, in seconds.
    pub fn seconds(&self) -> f64 {
        (self.ended - self.started).as_secs_f64()
    }
}

/// Sizes of disk requests are counted in classes of powers of two, from 64 KiB to 4 MiB and beyond.
pub const SIZE_CLASSES: usize = 8;

/// How disks were used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DiskUse {
    /// For reads.
    pub read: DirectionUse,
    /// For writes.
    pub write: DirectionUse,
}

/// How disks were used in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DirectionUse {
    /// Requests after merging.
    pub requests: u64,
    /// Requests that did not start where the one before ended.
    pub seeks: u64,
    /// Bytes.
    pub bytes: u64,
    /// Time at work.
    pub busy: Span,
    /// Requests of up to 64 KiB, 128 KiB, ..., 4 MiB, and larger ones.
    pub sizes: [u64; SIZE_CLASSES],
}

impl DiskUse {
    pub(crate) fn add(&mut self, direction: Direction, length: u64, is_seek: bool, span: Span) {
        let used = match direction {
            Direction::Read => &mut self.read,
            Direction::Write => &mut self.write,
        };
        used.requests += 1;
        used.seeks += u64::from(is_seek);
        used.bytes += length;
        used.busy += span;
        let doublings = length.div_ceil(64 << 10).next_power_of_two().trailing_zeros() as usize;
        used.sizes[doublings.min(SIZE_CLASSES - 1)] += 1;
    }

    pub(crate) fn take_in(&mut self, other: &DiskUse) {
        for (all, one) in [(&mut self.read, &other.read), (&mut self.write, &other.write)] {
            all.requests += one.requests;
            all.seeks += one.seeks;
            all.bytes += one.bytes;
            all.busy += one.busy;
            all.sizes.iter_mut().zip(one.sizes).for_each(|(sum, n)| *sum += n);
        }
    }
}

/// RPCs and their deadlines.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TimeoutReport {
    /// RPCs that were answered.
    pub rpcs: u64,
    /// Of these, answered after their client had given up.
    pub late: u64,
    /// The same for all but the first RPC of every client.
    pub later_rpcs: u64,
    /// Of these, answered after their client had given up.
    pub late_later: u64,
    /// Mean of response time over timeout, of these RPCs as far as they were answered in time.
    pub mean_used: f64,
    /// RPCs that got so many early replies: none, one, two, ...
    pub by_early_replies: Vec<u64>,
}

impl TimeoutReport {
    /// Early replies that were sent.
    pub fn early_replies(&self) -> u64 {
        (0..).zip(&self.by_early_replies).map(|(replies, rpcs)| replies * rpcs).sum()
    }
}

/// What was done for a class in one interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sample {
    /// Bytes that went to or came from disk.
    pub bytes: u64,
    /// RPCs that were answered.
    pub rpcs: u64,
    /// Their response times, together.
    pub response: Span,
    /// The longest of them.
    pub longest: Span,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_classed_by_powers_of_two() {
        let mut used = DiskUse::default();
        for kib in [4, 64, 65, 1024, 2048, 3072, 4096, 9000] {
            used.add(Direction::Write, kib << 10, false, Span::ZERO);
        }
        assert_eq!(used.write.sizes, [2, 1, 0, 0, 1, 1, 2, 1]);
    }
}
