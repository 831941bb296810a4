//! All requests in one order over the whole disk.

use alloc::collections::BTreeMap;

use slotcast_units::{Size, Time};

use crate::request::{ObjectId, Request, RequestId};
use crate::scheduler::Scheduler;

type Key = (ObjectId, u64, Size, RequestId);

fn key(request: &Request) -> Key {
    (request.object, request.offset, request.length, request.id)
}

/// Always the request with the lowest object and offset (seed 003, "greedy algorithm").
///
/// What is queued comes out in the best order, but high objects starve while low ones keep asking.
/// Every operation is O(log n).
#[derive(Debug, Default)]
pub struct Greedy {
    sorted: BTreeMap<Key, Request>,
}

impl Scheduler for Greedy {
    fn add(&mut self, _now: Time, request: Request) {
        self.sorted.insert(key(&request), request);
    }

    fn take(&mut self, _now: Time) -> Option<Request> {
        self.sorted.pop_first().map(|(_, request)| request)
    }

    fn remove(&mut self, request: &Request) -> bool {
        self.sorted.remove(&key(request)).is_some()
    }

    fn len(&self) -> usize {
        self.sorted.len()
    }
}

/// The same order, taken up where the last request was and begun again at its end, so that every
/// object gets its turn (the "greedy round robin" of seed 003's simulator document).
///
/// Every operation is O(log n).
#[derive(Debug, Default)]
pub struct GreedyRoundRobin {
    sorted: BTreeMap<Key, Request>,
    /// What was served last.
    reached: Option<Key>,
}

impl Scheduler for GreedyRoundRobin {
    fn add(&mut self, _now: Time, request: Request) {
        self.sorted.insert(key(&request), request);
    }

    fn take(&mut self, _now: Time) -> Option<Request> {
        let ahead = self.reached.and_then(|reached| self.sorted.range(reached..).next());
        let next = *ahead.or_else(|| self.sorted.first_key_value())?.0;
        self.reached = Some(next);
        self.sorted.remove(&next)
    }

    fn remove(&mut self, request: &Request) -> bool {
        self.sorted.remove(&key(request)).is_some()
    }

    fn len(&self) -> usize {
        self.sorted.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{order, write};
    use alloc::vec;

    #[test]
    fn greedy_goes_back_and_greedy_round_robin_goes_on() {
        let (mut greedy, mut cycling) = (Greedy::default(), GreedyRoundRobin::default());
        let both: [&mut dyn Scheduler; 2] = [&mut greedy, &mut cycling];
        let expected = [vec![3, 2], vec![2, 3]];
        for (scheduler, expected) in both.into_iter().zip(expected) {
            scheduler.add(Time::ZERO, write(1, 5, 0));
            scheduler.add(Time::ZERO, write(2, 6, 0));
            assert_eq!(scheduler.take(Time::ZERO).unwrap().id.0, 1);
            scheduler.add(Time::ZERO, write(3, 4, 0));
            assert_eq!(order(scheduler), expected);
        }
    }
}
