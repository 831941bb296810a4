//! Whether 95 % intervals are what they say where theory knows the truth: on M/M/1 the whole way from the
//! warm-up over replications to the interval is gone 200 times, and the truth must lie in 90 to 99 % of the
//! intervals. `coverage_cluster.rs` asks the same of simulated clusters.
//!
//! The time in an M/M/1 system is exponential with rate µ − λ, so its mean is 1 / (µ − λ), and its p99
//! ln(100) times that.

use std::convert::Infallible;

use slotcast_engine::{Agenda, Event, FifoStation, Model, Simulation, Stream, Streams};
use slotcast_lab::{Batches, Estimate, Pilots, Settling, quantile};
use slotcast_sim::{Completion, Operation, PooledLatencies, SortedLatencies};
use slotcast_units::{Span, Time};

const REPETITIONS: u64 = 200;
const PILOTS: u64 = 5;
const RUNS: u64 = 10;
const MEAN_SERVICE: Span = Span::from_us(7);
const MEAN_GAP: Span = Span::from_us(10);
/// 1 / (µ − λ) in microseconds.
const MEAN_US: f64 = 1.0 / (1.0 / 7.0 - 1.0 / 10.0);
/// Some 8000 customers.
const LENGTH: Span = Span::from_ms(80);

#[derive(Debug, Clone, Copy)]
struct Arrival;

impl Event for Arrival {
    fn trace_word(&self) -> u64 {
        0
    }
}

/// A queue that starts empty.
struct Queue {
    gaps: Stream,
    services: Stream,
    station: FifoStation,
    completions: Vec<Completion>,
}

impl Model for Queue {
    type Event = Arrival;

    fn handle(&mut self, now: Time, _: Arrival, agenda: &mut Agenda<Arrival>) {
        let finished = self.station.serve(now, self.services.exponential(MEAN_SERVICE));
        self.completions.push(Completion { started: now, finished, operation: Operation::Put });
        agenda.after(self.gaps.exponential(MEAN_GAP), Arrival);
    }
}

/// The customers that leave in `length`, in order.
fn run(seed: u64, length: Span) -> Vec<Completion> {
    let streams = Streams::new(seed);
    let queue = Queue {
        gaps: streams.stream("gaps", 0),
        services: streams.stream("services", 0),
        station: FifoStation::new(),
        completions: Vec::new(),
    };
    let mut simulation = Simulation::new(queue);
    simulation.agenda().at(Time::ZERO, Arrival);
    let end = Time::ZERO + length;
    simulation.run_until(end);
    let mut completions = simulation.into_model().completions;
    completions.retain(|c| c.finished <= end);
    completions
}

/// Mean and p99 in microseconds over replications, as the lab takes them.
fn estimates(repetition: u64) -> (Estimate, Estimate) {
    let first = repetition * (PILOTS + RUNS);
    let pilots = Pilots::settle(&[LENGTH], |open| {
        let runs =
            |length| (first..first + PILOTS).map(move |seed| Batches::of(&run(seed, length)));
        Ok::<_, Infallible>(open.iter().map(|(_, length)| runs(*length).collect()).collect())
    });
    let Settling::By(warmup) = pilots.expect("it cannot fail")[0].settling else {
        panic!("a queue that keeps up settles");
    };
    let measured: Vec<_> = (first + PILOTS..first + PILOTS + RUNS)
        .map(|seed| {
            let all = run(seed, warmup + LENGTH);
            let kept = all.iter().filter(|c| c.finished > Time::ZERO + warmup);
            SortedLatencies::of(kept.map(Completion::latency))
        })
        .collect();
    let each: Vec<_> = measured.iter().map(|run| PooledLatencies::of([run]).summary()).collect();
    let (pool, runs) = (
        PooledLatencies::of(&measured),
        measured.iter().map(|run| PooledLatencies::of([run])).collect::<Vec<_>>(),
    );
    let mean = Estimate::of(&each.iter().map(|latency| latency.mean).collect::<Vec<_>>());
    let p99 = quantile(&pool, &runs, (pool.count() * 99).div_ceil(100), 0.99);
    (mean, p99)
}

/// How many of the intervals hold `truth`, and their mean half width over it.
fn coverage(estimates: &[Estimate], truth: f64) -> (usize, f64) {
    let half = |estimate: &Estimate| estimate.ci95.expect("more than one run");
    let holds = |e: &&Estimate| (e.value - truth).abs() <= half(e);
    let width = estimates.iter().map(half).sum::<f64>() / estimates.len() as f64;
    (estimates.iter().filter(holds).count(), width / truth)
}

#[test]
fn ninety_five_percent_intervals_hold_the_truth_about_as_often() {
    let (means, p99s): (Vec<_>, Vec<_>) = (0..REPETITIONS).map(estimates).unzip();
    for (what, estimates, truth) in [("mean", means, MEAN_US), ("p99", p99s, MEAN_US * 100f64.ln())]
    {
        let (held, width) = coverage(&estimates, truth);
        println!(
            "{what}: {held} of {REPETITIONS} intervals hold {truth:.1}, ± {:.1} %",
            width * 100.0
        );
        assert!((180..=198).contains(&held), "{what}: {held} of {REPETITIONS} hold {truth}");
        assert!(width < 0.15, "{what}: intervals of ± {width} prove nothing");
    }
}
