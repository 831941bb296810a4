//! Round robin in batches, as Lustre ships it.

use alloc::collections::{BTreeMap, VecDeque};

use slotcast_units::{Size, Time};

use crate::request::{ByOffset, Direction, Request, RequestId};
use crate::scheduler::Scheduler;

/// What takes turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchedBy {
    /// Clients, each batch in order of arrival: `crrn`.
    Client,
    /// Objects, each batch by offset: `orr`.
    Object,
    /// The server's storage targets, each batch by offset: `trr`.
    Target,
}

/// Which requests take part; the rest is served in order of arrival, one after each that takes part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handles {
    /// All.
    All,
    /// Reads, as `orr` and `trr` do where nothing else is configured.
    Reads,
    /// Writes.
    Writes,
}

impl Handles {
    fn handles(self, direction: Direction) -> bool {
        match self {
            Handles::All => true,
            Handles::Reads => direction == Direction::Read,
            Handles::Writes => direction == Direction::Write,
        }
    }
}

/// One party's place in the rounds.
#[derive(Debug, Clone, Copy, Default)]
struct Party {
    round: u64,
    turn: u64,
    /// Requests that it may still add to its batch.
    left: u32,
    queued: u32,
}

/// Round, turn within the round, and place within the batch.
type Place = (u64, u64, ByOffset);

/// CRR-N, ORR and TRR of Lustre: parties are served in rounds, each with a batch of up to `quantum`
/// requests. Who comes while a round is under way joins it; whose batch is full goes into the next
/// one, and so does who had nothing queued with quantum left, so that batches stay whole.
///
/// Lustre's defaults are a quantum of 8 for clients and 256 for objects and targets.
///
/// Every operation is O(log n) in requests and parties. Parties without requests are forgotten in time.
#[derive(Debug)]
pub struct BatchedRoundRobin {
    by: BatchedBy,
    quantum: u32,
    handles: Handles,
    parties: BTreeMap<u64, Party>,
    places: BTreeMap<Place, Request>,
    placed: BTreeMap<RequestId, Place>,
    /// The round that is served, and the turn that was given last.
    round: u64,
    turn: u64,
    rest: VecDeque<Request>,
    rest_is_next: bool,
}

impl BatchedRoundRobin {
    /// Batches of up to `quantum` requests; zero counts as one.
    pub fn new(by: BatchedBy, quantum: u32, handles: Handles) -> BatchedRoundRobin {
        BatchedRoundRobin {
            by,
            quantum: quantum.max(1),
            handles,
            parties: BTreeMap::new(),
            places: BTreeMap::new(),
            placed: BTreeMap::new(),
            round: 0,
            turn: 0,
            rest: VecDeque::new(),
            rest_is_next: false,
        }
    }

    fn party(&self, request: &Request) -> u64 {
        match self.by {
            BatchedBy::Client => u64::from(request.client.0),
            BatchedBy::Object => request.object.0,
            BatchedBy::Target => u64::from(request.target.0),
        }
    }

    fn within_batch(&self, request: &Request) -> ByOffset {
        match self.by {
            BatchedBy::Client => (request.arrived.as_ns(), Size::ZERO, request.id),
            BatchedBy::Object | BatchedBy::Target => request.by_offset(),
        }
    }

    fn forget(&mut self, request: &Request) {
        let name = self.party(request);
        self.placed.remove(&request.id);
        self.parties.get_mut(&name).expect("a party with a queued request").queued -= 1;
    }

    fn take_batched(&mut self) -> Option<Request> {
        let ((round, _, _), request) = self.places.pop_first()?;
        self.round = self.round.max(round);
        self.forget(&request);
        Some(request)
    }
}

impl Scheduler for BatchedRoundRobin {
    fn add(&mut self, _now: Time, request: Request) {
        if !self.handles.handles(request.direction) {
            self.rest.push_back(request);
            return;
        }
        // Who is idle and of a round that is over would begin anew anyway.
        if self.parties.len() > 2 * self.places.len() + 64 {
            let round = self.round;
            self.parties.retain(|_, party| party.queued > 0 || party.round >= round);
        }
        let within = self.within_batch(&request);
        let (served, quantum) = (self.round, self.quantum);
        let name = self.party(&request);
        let party = self.parties.entry(name).or_default();
        let was_idle = party.queued == 0 && party.left > 0;
        if party.left == 0 || party.round < served || was_idle {
            party.round = (party.round + u64::from(was_idle)).max(served);
            if party.turn < self.turn || party.turn == 0 {
                self.turn += 1;
                party.turn = self.turn;
            }
            party.left = quantum;
        }
        let place = (party.round, party.turn, within);
        party.queued += 1;
        party.left -= 1;
        if party.left == 0 {
            party.round += 1;
        }
        self.places.insert(place, request);
        self.placed.insert(request.id, place);
    }

    fn take(&mut self, _now: Time) -> Option<Request> {
        let rest_first = self.rest_is_next || self.places.is_empty();
        let from_rest = if rest_first { self.rest.pop_front() } else { None };
        self.rest_is_next = from_rest.is_none();
        from_rest.or_else(|| self.take_batched())
    }

    fn remove(&mut self, request: &Request) -> bool {
        if let Some(place) = self.placed.get(&request.id).copied() {
            self.places.remove(&place);
            self.forget(request);
            return true;
        }
        let place = self.rest.iter().position(|queued| queued.id == request.id);
        place.and_then(|place| self.rest.remove(place)).is_some()
    }

    fn len(&self) -> usize {
        self.places.len() + self.rest.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{order, write};
    use alloc::vec;

    #[test]
    fn clients_take_turns_of_a_batch_in_order_of_arrival() {
        let mut crr = BatchedRoundRobin::new(BatchedBy::Client, 2, Handles::All);
        for (id, client) in [(1, 1), (2, 1), (3, 1), (4, 2), (5, 2), (6, 3)] {
            crr.add(Time::ZERO, write(id, client, 100 - id));
        }
        assert_eq!(order(&mut crr), vec![1, 2, 4, 5, 6, 3]);
    }

    #[test]
    fn objects_take_turns_of_a_batch_by_offset() {
        let mut orr = BatchedRoundRobin::new(BatchedBy::Object, 2, Handles::All);
        for (id, object, block) in [(1, 1, 9), (2, 1, 8), (3, 1, 0), (4, 2, 5)] {
            orr.add(Time::ZERO, write(id, object, block));
        }
        // The third of object 1 is in the second batch, whatever its offset.
        assert_eq!(order(&mut orr), vec![2, 1, 4, 3]);
    }

    #[test]
    fn who_comes_late_joins_the_round() {
        let mut crr = BatchedRoundRobin::new(BatchedBy::Client, 2, Handles::All);
        for id in 1..=4 {
            crr.add(Time::ZERO, write(id, 1, 0));
        }
        assert_eq!(crr.take(Time::ZERO).unwrap().id.0, 1);
        crr.add(Time::ZERO, write(5, 2, 0));
        assert_eq!(order(&mut crr), vec![2, 5, 3, 4]);
    }

    #[test]
    fn who_was_idle_with_quantum_left_waits_for_the_next_round() {
        let mut crr = BatchedRoundRobin::new(BatchedBy::Client, 4, Handles::All);
        crr.add(Time::ZERO, write(1, 1, 0));
        crr.add(Time::ZERO, write(2, 2, 0));
        crr.add(Time::ZERO, write(3, 2, 0));
        assert_eq!(crr.take(Time::ZERO).unwrap().id.0, 1);
        crr.add(Time::ZERO, write(4, 1, 0));
        assert_eq!(order(&mut crr), vec![2, 3, 4]);
    }

    #[test]
    fn idle_clients_are_forgotten() {
        let mut crr = BatchedRoundRobin::new(BatchedBy::Client, 1, Handles::All);
        for client in 0..10_000 {
            crr.add(Time::ZERO, write(2 * client, client, 0));
            crr.add(Time::ZERO, write(2 * client + 1, 10_000, 0));
            assert_eq!(order(&mut crr).len(), 2);
        }
        assert!(crr.parties.len() < 100, "{}", crr.parties.len());
    }

    #[test]
    fn what_takes_no_part_is_served_in_turn() {
        let mut orr = BatchedRoundRobin::new(BatchedBy::Object, 8, Handles::Reads);
        for id in 1..=2 {
            orr.add(Time::ZERO, write(id, 1, 9 - id));
        }
        for id in 11..=13 {
            let request = Request { direction: Direction::Read, ..write(id, 1, 20 - id) };
            orr.add(Time::ZERO, request);
        }
        assert_eq!(order(&mut orr), vec![13, 1, 12, 2, 11]);
    }
}
