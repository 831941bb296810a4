//! Collects what a run finds, and turns it into a [`RunReport`].

use slotcast_engine::{FifoStation, Resource};
use slotcast_units::{Size, Span, Time};

use crate::report::{Completion, Counts, Latency, Operation, RunReport};
use crate::scenario::Scenario;

/// One target's disk and port.
#[derive(Debug)]
pub(crate) struct Device {
    pub(crate) disk: FifoStation,
    /// Payload that has arrived at the port, and left it, in the measured time.
    pub(crate) received: Size,
    pub(crate) sent: Size,
    receiving: Occupancy,
}

impl Device {
    fn new() -> Device {
        Device {
            disk: FifoStation::new(),
            received: Size::ZERO,
            sent: Size::ZERO,
            receiving: Occupancy::default(),
        }
    }
}

/// Until when a port receives what it receives: the next transfer must not begin before.
#[derive(Debug, Clone, Copy, Default)]
struct Occupancy {
    until: Time,
}

impl Occupancy {
    /// A transfer that began at `began` ends `now`; says whether it met another.
    fn ends(&mut self, began: Time, now: Time) -> bool {
        let met_another = began < self.until;
        self.until = now;
        met_another
    }
}

/// What a run has found so far.
#[derive(Debug)]
pub(crate) struct Recorder {
    pub(crate) devices: Vec<Device>,
    initiators: Vec<Occupancy>,
    pub(crate) completions: Vec<Completion>,
    pub(crate) counts: Counts,
    measured_from: Time,
}

impl Recorder {
    pub(crate) fn new(initiators: u32, targets: u32) -> Recorder {
        Recorder {
            devices: (0..targets).map(|_| Device::new()).collect(),
            initiators: vec![Occupancy::default(); initiators as usize],
            completions: Vec::new(),
            counts: Counts::default(),
            measured_from: Time::ZERO,
        }
    }

    pub(crate) fn complete(&mut self, started: Time, finished: Time, operation: Operation) {
        match operation {
            Operation::Put => self.counts.puts += 1,
            Operation::Get => self.counts.gets += 1,
        }
        self.completions.push(Completion { started, finished, operation });
    }

    /// `size` arrived at the port of `target`, having begun to arrive at `began`.
    pub(crate) fn received(&mut self, target: u32, began: Time, now: Time, size: Size) {
        let device = &mut self.devices[target as usize];
        device.received += size;
        self.counts.transfer_conflicts += u64::from(device.receiving.ends(began, now));
    }

    /// The same at the port of `initiator`, sent by `target`.
    pub(crate) fn delivered(
        &mut self,
        (target, initiator): (u32, u32),
        began: Time,
        now: Time,
        size: Size,
    ) {
        self.devices[target as usize].sent += size;
        let receiving = &mut self.initiators[initiator as usize];
        self.counts.transfer_conflicts += u64::from(receiving.ends(began, now));
    }

    /// The warm-up ends: what was measured until now is forgotten.
    pub(crate) fn start_measuring(&mut self, now: Time) {
        self.measured_from = now;
        for device in &mut self.devices {
            device.disk.reset(now);
            device.received = Size::ZERO;
            device.sent = Size::ZERO;
        }
    }

    /// The report of a run that was measured until `now`.
    pub(crate) fn report(self, scenario: &Scenario, seed: u64, now: Time) -> RunReport {
        let measured = now - self.measured_from;
        let seconds = measured.as_secs_f64();
        let finished = |c: &&Completion| c.finished > self.measured_from && c.finished <= now;
        let in_time = || self.completions.iter().filter(finished);
        let of = |operation| in_time().filter(move |c| c.operation == operation);

        let usage: Vec<_> = self.devices.iter().map(|d| d.disk.usage(now)).collect();
        let targets = usage.len() as f64;
        let disk_utilization = if scenario.quirks.early_statistics {
            let service = scenario.disk.rate.time_for(scenario.workload.chunk_size).as_secs_f64();
            let percent =
                |offered: u64| (offered as f64 * service / seconds * 100.0).trunc().min(100.0);
            usage.iter().map(|u| percent(u.offered) / 100.0).sum::<f64>() / targets
        } else {
            usage.iter().map(|u| u.utilization).sum::<f64>() / targets
        };
        let capacity = scenario.network.usable_rate().as_bps() as f64 * seconds;
        let bits = |of: fn(&Device) -> Size| -> f64 {
            self.devices.iter().map(|device| of(device).as_bits() as f64).sum()
        };
        let busier_way = bits(|device| device.received).max(bits(|device| device.sent));
        // The original divides by the whole run what it counted in the first 99 hundredths of it.
        let counted_over = match scenario.quirks.early_statistics {
            true => (scenario.run.length - scenario.run.warmup).as_secs_f64(),
            false => seconds,
        };
        RunReport {
            seed,
            length: scenario.run.length,
            warmup: scenario.run.warmup,
            events: 0,
            trace_hash: 0,
            chunks_per_s: in_time().count() as f64 / counted_over,
            latency: Latency::of(in_time().map(Completion::latency)),
            put_latency: Latency::of(of(Operation::Put).map(Completion::latency)),
            get_latency: Latency::of(of(Operation::Get).map(Completion::latency)),
            disk_utilization,
            disk_queue_length: usage.iter().map(|u| u.mean_in_system).sum::<f64>() / targets,
            link_utilization: busier_way / (capacity * targets),
            counts: self.counts,
            completions: self.completions,
        }
    }
}

/// When a run of `scenario` ends, and stops being measured: at its length, or a hundredth before it
/// with the original's [early statistics](crate::Quirks::early_statistics).
pub fn measured_until(scenario: &Scenario) -> Time {
    let length = scenario.run.length;
    let end = if scenario.quirks.early_statistics { length - length / 100 } else { length };
    Time::ZERO + end.max(Span::from_ns(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transfers_that_meet_are_counted() {
        let mut recorder = Recorder::new(2, 2);
        let at = Time::from_ns;
        let size = Size::from_kib(1);
        recorder.received(0, at(0), at(10), size);
        recorder.received(0, at(10), at(20), size);
        recorder.received(1, at(15), at(25), size);
        recorder.delivered((0, 1), at(5), at(15), size);
        assert_eq!(recorder.counts.transfer_conflicts, 0);
        recorder.received(0, at(19), at(29), size);
        recorder.delivered((1, 1), at(14), at(24), size);
        assert_eq!(recorder.counts.transfer_conflicts, 2);
    }
}
