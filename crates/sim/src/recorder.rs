//! Collects what a run finds, and turns it into a [`RunReport`].

use slotcast_engine::{FifoStation, Resource};
use slotcast_units::{Size, Span, Time};

use crate::report::{Completion, Counts, Latency, Operation, RunReport};
use crate::scenario::Scenario;

/// One target's disk and port.
#[derive(Debug)]
pub(crate) struct Device {
    pub(crate) disk: FifoStation,
    /// Payload that has arrived at the port in the measured time.
    pub(crate) received: Size,
    /// End of the last arrival at the port: a later transfer must not have started before.
    pub(crate) receiving_until: Time,
}

impl Device {
    pub(crate) fn new() -> Device {
        Device { disk: FifoStation::new(), received: Size::ZERO, receiving_until: Time::ZERO }
    }
}

/// What a run has found so far.
#[derive(Debug)]
pub(crate) struct Recorder {
    pub(crate) devices: Vec<Device>,
    pub(crate) completions: Vec<Completion>,
    pub(crate) counts: Counts,
    measured_from: Time,
}

impl Recorder {
    pub(crate) fn new(targets: u32) -> Recorder {
        Recorder {
            devices: (0..targets).map(|_| Device::new()).collect(),
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
        if began < device.receiving_until {
            self.counts.transfer_conflicts += 1;
        }
        device.receiving_until = now;
    }

    /// The warm-up ends: what was measured until now is forgotten.
    pub(crate) fn start_measuring(&mut self, now: Time) {
        self.measured_from = now;
        for device in &mut self.devices {
            device.disk.reset(now);
            device.received = Size::ZERO;
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
        let capacity = scenario.network.usable_rate().bits_in(measured) as f64;
        let received: f64 = self.devices.iter().map(|d| d.received.as_bits() as f64).sum();
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
            link_utilization: received / (capacity * targets),
            counts: self.counts,
            completions: self.completions,
        }
    }
}

/// When a run of `scenario` stops being measured.
pub(crate) fn measured_until(scenario: &Scenario) -> Time {
    let length = scenario.run.length;
    let end = if scenario.quirks.early_statistics { length - length / 100 } else { length };
    Time::ZERO + end.max(Span::from_ns(1))
}
