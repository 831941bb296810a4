//! What is written down while a run goes on.

use slotcast_engine::{PooledLatencies, SortedLatencies};
use slotcast_schedulers::{Direction, Request};
use slotcast_units::{Span, Time};

use super::client::Client;
use super::deadlines::Punctuality;
use super::report::{JobReport, PhaseReport, Sample};
use super::scenario::LustreScenario;

/// Intervals that are kept for each class.
const MAX_SAMPLES: usize = 1 << 20;

/// Reads or writes of one job.
#[derive(Debug, Clone, Default)]
struct Phase {
    began: Option<Time>,
    ended: Time,
    bytes: u64,
    /// In ns, 4 bytes each where they fit: a run may have millions.
    responses: Vec<u64>,
    /// Bandwidth of each client that is done, in bytes per second.
    bandwidths: Vec<f64>,
}

#[derive(Debug)]
pub(crate) struct Measured {
    /// By job; writes, then reads.
    phases: Vec<[Phase; 2]>,
    opens: Option<(Time, Time)>,
    pub(super) punctuality: Punctuality,
    interval: Span,
    samples: Vec<Vec<Sample>>,
    queues: Vec<usize>,
}

fn index(direction: Direction) -> usize {
    match direction {
        Direction::Write => 0,
        Direction::Read => 1,
    }
}

impl Measured {
    pub(super) fn new(scenario: &LustreScenario) -> Measured {
        Measured {
            phases: vec![Default::default(); scenario.jobs.len()],
            opens: None,
            punctuality: Punctuality::default(),
            interval: scenario.sample.interval,
            samples: Vec::new(),
            queues: Vec::new(),
        }
    }

    pub(super) fn opens(&mut self, now: Time) {
        let first = self.opens.map_or(now, |(first, _)| first);
        self.opens = Some((first, now));
    }

    pub(super) fn opened(&mut self, now: Time) {
        if let Some((_, last)) = &mut self.opens {
            *last = now;
        }
    }

    pub(super) fn began(&mut self, now: Time, job: u32, direction: Direction) {
        let phase = &mut self.phases[job as usize][index(direction)];
        phase.began = Some(phase.began.map_or(now, |began| began.min(now)));
    }

    pub(super) fn answered(&mut self, now: Time, job: u32, request: &Request, response: Span) {
        let phase = &mut self.phases[job as usize][index(request.direction)];
        phase.ended = now;
        phase.bytes += request.length.as_bytes();
        phase.responses.push(response.as_ns());
        if let Some(sample) = self.sample(now, request) {
            sample.rpcs += 1;
            sample.response += response;
            sample.longest = sample.longest.max(response);
        }
    }

    /// The data of a request is on disk, or has come from it.
    pub(super) fn executed(&mut self, now: Time, request: &Request) {
        if let Some(sample) = self.sample(now, request) {
            sample.bytes += request.length.as_bytes();
        }
    }

    pub(super) fn queued(&mut self, now: Time, length: usize) {
        let Some(at) = self.interval_of(now) else { return };
        if self.queues.len() <= at {
            self.queues.resize(at + 1, 0);
        }
        self.queues[at] = self.queues[at].max(length);
    }

    /// The interval in which `now` lies, if it is one of those that are kept.
    fn interval_of(&self, now: Time) -> Option<usize> {
        let number = now.as_ns().checked_div(self.interval.as_ns())?;
        usize::try_from(number).ok().filter(|number| *number < MAX_SAMPLES)
    }

    fn sample(&mut self, now: Time, request: &Request) -> Option<&mut Sample> {
        let at = self.interval_of(now)?;
        let class = usize::from(request.class.0);
        if self.samples.len() <= class {
            self.samples.resize(class + 1, Vec::new());
        }
        let samples = &mut self.samples[class];
        if samples.len() <= at {
            samples.resize(at + 1, Sample::default());
        }
        Some(&mut samples[at])
    }

    pub(super) fn client_done(&mut self, client: &Client) {
        let phase = &mut self.phases[client.job as usize][index(client.direction)];
        let seconds = client.last.saturating_since(client.began).as_secs_f64();
        if seconds > 0.0 {
            phase.bandwidths.push(client.confirmed as f64 / seconds);
        }
    }

    pub(super) fn finish(self, scenario: &LustreScenario) -> Reported {
        let jobs = self.phases.into_iter().zip(&scenario.jobs).map(|([write, read], job)| {
            JobReport { name: job.name.clone(), write: write.report(), read: read.report() }
        });
        Reported {
            jobs: jobs.collect(),
            opens: self.opens,
            timeouts: self.punctuality.report(),
            samples: self.samples,
            queue_samples: self.queues,
        }
    }
}

/// The parts of a report that were written down here.
pub(super) struct Reported {
    pub(super) jobs: Vec<JobReport>,
    pub(super) opens: Option<(Time, Time)>,
    pub(super) timeouts: super::report::TimeoutReport,
    pub(super) samples: Vec<Vec<Sample>>,
    pub(super) queue_samples: Vec<usize>,
}

impl Phase {
    fn report(self) -> Option<PhaseReport> {
        let started = self.began?;
        let sorted = SortedLatencies::of(self.responses.iter().map(|ns| Span::from_ns(*ns)));
        Some(PhaseReport {
            bytes: self.bytes,
            started,
            ended: self.ended.max(started),
            response: PooledLatencies::of([&sorted]).summary(),
            fairness: jain(&self.bandwidths),
        })
    }
}

/// Jain's fairness index: the square of the sum over n times the sum of squares.
fn jain(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    if squares > 0.0 { sum * sum / (shares.len() as f64 * squares) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fairness_is_one_for_equals_and_less_for_the_rest() {
        assert!((jain(&[3.0, 3.0, 3.0]) - 1.0).abs() < 1e-12);
        assert!((jain(&[1.0, 0.0, 0.0, 0.0]) - 0.25).abs() < 1e-12);
    }
}
