//! The ladder queue gives out exactly what the binary heap gives out, for any pushes and pops.

use proptest::prelude::*;
use slotcast_engine::{EventQueue, HeapQueue, LadderQueue, Scheduled};
use slotcast_units::Time;

/// One step of a user of a queue. Times are relative to the last popped event.
#[derive(Debug, Clone)]
enum Step {
    /// Push events at these distances.
    Push(Vec<u64>),
    /// Push many events at one time.
    Ties { distance: u64, count: usize },
    /// Push an event at the end of the clock.
    Never,
    /// Pop up to so many events, and after each push one event at each of these distances.
    Churn { pops: usize, distances: Vec<u64> },
    /// Pop only what is not later than this distance, then move the clock there.
    Until(u64),
    /// Pop everything.
    Drain,
}

/// Distances as models have them: ties, clusters, and every scale up to years.
fn distance() -> impl Strategy<Value = u64> {
    prop_oneof![
        2 => Just(0),
        1 => 0..4u64,
        3 => 0..1_000u64,
        3 => 0..1_000_000u64,
        1 => Just(10_000u64),
        1 => (0..60u32).prop_map(|bits| 1 << bits),
        1 => 1_000_000_000_000..1_000_000_000_100u64,
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => prop::collection::vec(distance(), 1..100).prop_map(Step::Push),
        2 => (distance(), 1..300usize).prop_map(|(distance, count)| Step::Ties { distance, count }),
        1 => Just(Step::Never),
        6 => (1..300usize, prop::collection::vec(distance(), 0..3))
            .prop_map(|(pops, distances)| Step::Churn { pops, distances }),
        2 => distance().prop_map(Step::Until),
        1 => Just(Step::Drain),
    ]
}

/// Both queues, driven together. Each event carries its sequence number.
#[derive(Default)]
struct Pair {
    heap: HeapQueue<u64>,
    ladder: LadderQueue<u64>,
    pushed: u64,
    now: u64,
}

impl Pair {
    fn push(&mut self, distance: u64) {
        let time = Time::from_ns(self.now.saturating_add(distance));
        self.heap.push(Scheduled::new(time, self.pushed, self.pushed));
        self.ladder.push(Scheduled::new(time, self.pushed, self.pushed));
        self.pushed += 1;
    }

    fn pop(&mut self, limit: Time) -> bool {
        let expected = self.heap.pop_until(limit).map(|s| (s.time, s.sequence(), s.event));
        let got = self.ladder.pop_until(limit).map(|s| (s.time, s.sequence(), s.event));
        assert_eq!(got, expected);
        assert_eq!(self.ladder.len(), self.heap.len());
        self.now = expected.map_or(self.now, |(time, ..)| time.as_ns());
        expected.is_some()
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Push(distances) => distances.iter().for_each(|d| self.push(*d)),
            Step::Ties { distance, count } => (0..*count).for_each(|_| self.push(*distance)),
            Step::Never => self.push(u64::MAX),
            Step::Churn { pops, distances } => {
                for _ in 0..*pops {
                    if !self.pop(Time::NEVER) {
                        break;
                    }
                    distances.iter().for_each(|d| self.push(*d));
                }
            }
            Step::Until(distance) => {
                let limit = self.now.saturating_add(*distance);
                while self.pop(Time::from_ns(limit)) {}
                self.now = limit;
            }
            Step::Drain => while self.pop(Time::NEVER) {},
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]
    #[test]
    fn the_ladder_pops_what_the_heap_pops(steps in prop::collection::vec(step(), 1..40)) {
        let mut pair = Pair::default();
        for step in &steps {
            pair.take(step);
        }
        pair.take(&Step::Drain);
        prop_assert!(pair.ladder.is_empty());
    }
}
