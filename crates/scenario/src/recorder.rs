//! Collects what a run finds, and turns it into a [`RunReport`].

use slotcast_engine::{
    FifoStation, Gauge, Little, PooledLatencies, Queueing, Resource, SortedLatencies,
};
use slotcast_units::{Size, Span, Time};

use crate::report::{Completion, Counts, DiskWait, Latencies, Operation, RunReport};
use crate::scenario::Scenario;

/// One target's port, and its first disk.
#[derive(Debug)]
pub struct Device {
    /// Its first disk.
    pub disk: FifoStation,
    /// Payload that has arrived at the port in the measured time.
    pub received: Size,
    /// Payload that has left it in the measured time.
    pub sent: Size,
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
pub struct Recorder {
    /// One for each target.
    pub devices: Vec<Device>,
    /// The other disks of targets that have several, target by target.
    further_disks: Vec<FifoStation>,
    initiators: Vec<Occupancy>,
    /// Requests that ended well.
    pub completions: Vec<Completion>,
    /// What was counted.
    pub counts: Counts,
    /// Requests that ended, well or not.
    ended: Gauge,
    /// Time in ns that requests took that did not end well.
    given_up: u128,
    measured_from: Time,
}

impl Recorder {
    /// With a disk for each target.
    pub fn new(initiators: u32, targets: u32) -> Recorder {
        Recorder {
            devices: (0..targets).map(|_| Device::new()).collect(),
            further_disks: Vec::new(),
            initiators: vec![Occupancy::default(); initiators as usize],
            completions: Vec::new(),
            counts: Counts::default(),
            ended: Gauge::new(),
            given_up: 0,
            measured_from: Time::ZERO,
        }
    }

    /// The same with `disks` disks behind every port, not one.
    pub fn with_disks(mut self, disks: u32) -> Recorder {
        let further = self.devices.len() * (disks as usize - 1);
        self.further_disks = (0..further).map(|_| FifoStation::new()).collect();
        self
    }

    /// The disk that `target` counts as `number`.
    pub fn disk(&mut self, target: u32, number: u16) -> &mut FifoStation {
        let target = target as usize;
        match usize::from(number).checked_sub(1) {
            None => &mut self.devices[target].disk,
            Some(further) => {
                let each = self.further_disks.len() / self.devices.len();
                &mut self.further_disks[target * each + further]
            }
        }
    }

    /// Number of disks behind every port.
    pub fn disks_of_each(&self) -> u16 {
        let further = self.further_disks.len() / self.devices.len();
        u16::try_from(further + 1).expect("at most a thousand")
    }

    fn disks(&self) -> impl Iterator<Item = &FifoStation> + Clone {
        self.devices.iter().map(|device| &device.disk).chain(&self.further_disks)
    }

    /// A request ended well.
    pub fn complete(&mut self, started: Time, finished: Time, operation: Operation) {
        match operation {
            Operation::Put => self.counts.puts += 1,
            Operation::Get => self.counts.gets += 1,
        }
        self.completions.push(Completion { started, finished, operation });
        self.ended.add(finished, 1);
    }

    /// A request that was asked for at `started` did not end well.
    pub fn give_up(&mut self, started: Time, now: Time) {
        self.given_up += u128::from((now - started).as_ns());
        self.ended.add(now, 1);
    }

    /// `size` arrived at the port of `target`, having begun to arrive at `began`.
    pub fn received(&mut self, target: u32, began: Time, now: Time, size: Size) {
        let device = &mut self.devices[target as usize];
        device.received += size;
        self.counts.transfer_conflicts += u64::from(device.receiving.ends(began, now));
    }

    /// The same at the port of `initiator`, sent by `target`.
    pub fn delivered(
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
    pub fn start_measuring(&mut self, now: Time) {
        self.measured_from = now;
        self.ended.reset(now);
        self.given_up = 0;
        for device in &mut self.devices {
            device.disk.reset(now);
            device.received = Size::ZERO;
            device.sent = Size::ZERO;
        }
        self.further_disks.iter_mut().for_each(|disk| disk.reset(now));
    }

    /// The report of a run that was measured until `now`. `asked` is what the load knows of its requests
    /// in that time.
    pub fn report(self, scenario: &Scenario, seed: u64, now: Time, asked: Asked) -> RunReport {
        let measured = now - self.measured_from;
        let seconds = measured.as_secs_f64();
        let finished = |c: &&Completion| c.finished > self.measured_from && c.finished <= now;
        let in_time = || self.completions.iter().filter(finished);
        let of = |operation| {
            SortedLatencies::of(
                in_time().filter(move |c| c.operation == operation).map(Completion::latency),
            )
        };
        let latencies = Latencies { puts: of(Operation::Put), gets: of(Operation::Get) };

        let usage: Vec<_> = self.disks().map(|disk| disk.usage(now)).collect();
        let disks = usage.len() as f64;
        let disk_utilization = if scenario.quirks.early_statistics {
            let service = scenario.disk.service(scenario.workload.chunk_size).as_secs_f64();
            let percent =
                |offered: u64| (offered as f64 * service / seconds * 100.0).trunc().min(100.0);
            usage.iter().map(|u| percent(u.offered) / 100.0).sum::<f64>() / disks
        } else {
            usage.iter().map(|u| u.utilization).sum::<f64>() / disks
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
            latency: PooledLatencies::of(latencies.both()).summary(),
            put_latency: PooledLatencies::of([&latencies.puts]).summary(),
            get_latency: PooledLatencies::of([&latencies.gets]).summary(),
            disk_utilization,
            disk_queue_length: usage.iter().map(|u| u.mean_in_system).sum::<f64>() / disks,
            link_utilization: busier_way / (capacity * self.devices.len() as f64),
            disk_wait: disk_wait(self.disks().map(|disk| disk.queueing(now))),
            requests: self.requests(now, asked),
            chunks_at_disks: self
                .disks()
                .map(|disk| disk.little(now))
                .reduce(Little::beside)
                .unwrap_or_default(),
            counts: self.counts,
            latencies,
            port_queues: None,
            completions: self.completions,
        }
    }

    /// Little's law over the requests. Their number is how many were asked for less how many ended, their
    /// sojourns come from the completions, and the edges from the requests that the model has in its
    /// hands: a request that is lost, or told with a wrong time, does not add up.
    fn requests(&self, now: Time, asked: Asked) -> Little {
        let done = || self.completions.iter().filter(|c| c.finished > self.measured_from);
        let signed = |ns: u128| i128::try_from(ns).expect("fewer than 2^127 ns");
        Little {
            elapsed: now - self.measured_from,
            members: done().count() as u64,
            sojourns: done().map(|c| u128::from(c.latency().as_ns())).sum(),
            integral: u128::try_from(asked.integral - self.ended.integral(now)).unwrap_or(0),
            edges: signed(self.given_up) - signed(asked.age_at_start) + signed(asked.age_at_end),
        }
    }
}

/// What the load knows of the requests that were asked for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Asked {
    /// Integral over the measured time of how many there had been, in ns.
    pub integral: i128,
    /// How long those under way at its start had been under way, in ns together.
    pub age_at_start: u128,
    /// The same at its end.
    pub age_at_end: u128,
}

/// The mean over all chunks that came to a disk.
fn disk_wait(disks: impl Iterator<Item = Queueing> + Clone) -> DiskWait {
    let jobs: u64 = disks.clone().map(|disk| disk.jobs).sum();
    if jobs == 0 {
        return DiskWait::default();
    }
    let per_chunk_us = |sum: f64| sum / jobs as f64 / 1e3;
    let measured: f64 = disks.clone().map(|disk| disk.wait as f64).sum();
    let at_random =
        disks.map(|d| Some(d.pollaczek_khinchine()? * d.jobs as f64)).sum::<Option<f64>>();
    DiskWait { measured: per_chunk_us(measured), at_random: at_random.map(per_chunk_us) }
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

    /// Requests that come at 10, 20 and 45 ns; the last one is there at the end.
    const ASKED: Asked = Asked { integral: 90 + 80 + 55, age_at_start: 0, age_at_end: 55 };

    fn told(finished: &[(u64, u64)]) -> i128 {
        let mut recorder = Recorder::new(1, 1);
        for (from, to) in finished {
            recorder.complete(Time::from_ns(*from), Time::from_ns(*to), Operation::Put);
        }
        recorder.requests(Time::from_ns(100), ASKED).unaccounted()
    }

    #[test]
    fn a_request_that_is_lost_or_told_wrong_does_not_add_up() {
        assert_eq!(told(&[(10, 40), (20, 60)]), 0);
        assert_eq!(told(&[(10, 40)]), 80, "lost");
        assert_eq!(told(&[(10, 40), (20, 60), (20, 60)]), -80, "told twice");
        assert_eq!(told(&[(10, 40), (25, 60)]), 5, "asked for earlier than told");
    }

    #[test]
    fn requests_of_the_warm_up_count_from_its_end() {
        let mut recorder = Recorder::new(1, 1);
        recorder.complete(Time::from_ns(0), Time::from_ns(15), Operation::Put);
        recorder.start_measuring(Time::from_ns(20));
        recorder.complete(Time::from_ns(10), Time::from_ns(40), Operation::Put);
        recorder.give_up(Time::from_ns(30), Time::from_ns(60));
        // Two had come by 20 ns, of which one had ended, and a third came at 30 ns.
        let asked = Asked { integral: 2 * 80 + 70, age_at_start: 10, age_at_end: 0 };
        let requests = recorder.requests(Time::from_ns(100), asked);
        assert_eq!((requests.members, requests.sojourns, requests.unaccounted()), (1, 30, 0));
    }

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
