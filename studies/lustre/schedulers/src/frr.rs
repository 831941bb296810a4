//! Object-based round robin.

use alloc::collections::{BTreeMap, VecDeque};

use slotcast_units::{Size, Time};

use crate::request::{ByOffset, Direction, ObjectId, Request};
use crate::scheduler::Scheduler;

/// How much of one object is served in a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantum {
    /// A number of requests; the published runs take 8.
    Requests(u32),
    /// A number of bytes; the request that reaches it is the last one.
    Bytes(Size),
}

impl Quantum {
    fn cost(self, request: &Request) -> u64 {
        match self {
            Quantum::Requests(_) => 1,
            Quantum::Bytes(_) => request.length.as_bytes(),
        }
    }

    fn budget(self) -> u64 {
        match self {
            Quantum::Requests(requests) => u64::from(requests.max(1)),
            Quantum::Bytes(size) => size.as_bytes().max(1),
        }
    }
}

/// Requests of one object and direction.
type Queue = BTreeMap<ByOffset, Request>;
type Key = (ObjectId, Direction);

/// FRR, also called OBRR: each object has a queue for reads and one for writes, ordered by offset.
/// Queues with requests stand in line; the first of them is served until it is empty or its quantum is
/// spent, and then stands at the end of the line again if it is not empty. A request that comes for
/// the queue in service joins it (seed 003, "FRR algorithm"; quantum 8 from the ISC 2009 paper).
///
/// Because the block allocator keeps what belongs to one object together, this turns thousands of
/// streams into runs of the disk. Nothing bounds how long a request waits while requests with lower
/// offsets keep coming to its object: see [`DeadlineFirst`](crate::DeadlineFirst).
///
/// Every operation is O(log n).
#[derive(Debug)]
pub struct ObjectRoundRobin {
    quantum: Quantum,
    queues: BTreeMap<Key, Queue>,
    line: VecDeque<Key>,
    /// The queue in service, and what is left of its quantum.
    working: Option<(Key, u64)>,
    queued: usize,
}

impl ObjectRoundRobin {
    /// With `quantum` for every object; a quantum of zero counts as one.
    pub fn new(quantum: Quantum) -> ObjectRoundRobin {
        ObjectRoundRobin {
            quantum,
            queues: BTreeMap::new(),
            line: VecDeque::new(),
            working: None,
            queued: 0,
        }
    }

    /// The queue that is served now.
    fn work(&mut self) -> Option<(Key, u64)> {
        if self.working.is_none() {
            self.working = self.line.pop_front().map(|key| (key, self.quantum.budget()));
        }
        self.working
    }
}

fn key(request: &Request) -> Key {
    (request.object, request.direction)
}

impl Scheduler for ObjectRoundRobin {
    fn add(&mut self, _now: Time, request: Request) {
        let key = key(&request);
        let queue = self.queues.entry(key).or_default();
        let is_working = self.working.is_some_and(|(working, _)| working == key);
        if queue.is_empty() && !is_working {
            self.line.push_back(key);
        }
        queue.insert(request.by_offset(), request);
        self.queued += 1;
    }

    fn take(&mut self, _now: Time) -> Option<Request> {
        let (key, left) = self.work()?;
        let queue = self.queues.get_mut(&key).expect("a queue in the line has requests");
        let (_, request) = queue.pop_first().expect("a queue in the line has requests");
        let left = left.saturating_sub(self.quantum.cost(&request));
        self.working = Some((key, left));
        if queue.is_empty() {
            self.queues.remove(&key);
            self.working = None;
        } else if left == 0 {
            self.line.push_back(key);
            self.working = None;
        }
        self.queued -= 1;
        Some(request)
    }

    fn remove(&mut self, request: &Request) -> bool {
        let key = key(request);
        let Some(queue) = self.queues.get_mut(&key) else { return false };
        if queue.remove(&request.by_offset()).is_none() {
            return false;
        }
        if queue.is_empty() {
            self.queues.remove(&key);
            match self.working {
                Some((working, _)) if working == key => self.working = None,
                _ => self.line.retain(|queue| *queue != key),
            }
        }
        self.queued -= 1;
        true
    }

    fn len(&self) -> usize {
        self.queued
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::RequestId;
    use crate::scheduler::Scheduler;
    use crate::testing::{order, write};
    use alloc::vec;

    #[test]
    fn objects_take_turns_of_a_quantum_in_offset_order() {
        let mut frr = ObjectRoundRobin::new(Quantum::Requests(2));
        for request in [write(1, 7, 30), write(2, 9, 5), write(3, 7, 10), write(4, 7, 20)] {
            frr.add(Time::ZERO, request);
        }
        assert_eq!(order(&mut frr), vec![3, 4, 2, 1]);
    }

    #[test]
    fn what_comes_for_the_object_in_service_joins_it() {
        let mut frr = ObjectRoundRobin::new(Quantum::Requests(8));
        frr.add(Time::ZERO, write(1, 7, 0));
        frr.add(Time::ZERO, write(2, 7, 2));
        frr.add(Time::ZERO, write(3, 9, 0));
        assert_eq!(frr.take(Time::ZERO).unwrap().id, RequestId(1));
        frr.add(Time::ZERO, write(4, 7, 1));
        assert_eq!(order(&mut frr), vec![4, 2, 3]);
    }

    #[test]
    fn reads_and_writes_of_an_object_stand_in_line_apart() {
        let mut frr = ObjectRoundRobin::new(Quantum::Requests(8));
        frr.add(Time::ZERO, write(1, 7, 5));
        frr.add(Time::ZERO, Request { direction: Direction::Read, ..write(2, 7, 0) });
        frr.add(Time::ZERO, write(3, 7, 4));
        assert_eq!(order(&mut frr), vec![3, 1, 2]);
    }

    #[test]
    fn a_quantum_of_bytes_ends_with_the_request_that_reaches_it() {
        let mut frr = ObjectRoundRobin::new(Quantum::Bytes(Size::from_kib(5)));
        for id in 1..=4 {
            frr.add(Time::ZERO, write(id, 7, id));
        }
        frr.add(Time::ZERO, write(5, 8, 0));
        // Two requests of 4 KiB reach 5 KiB.
        assert_eq!(order(&mut frr), vec![1, 2, 5, 3, 4]);
    }
}
