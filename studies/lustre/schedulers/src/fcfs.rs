//! First come, first served.

use alloc::collections::VecDeque;

use slotcast_units::Time;

use crate::request::Request;
use crate::scheduler::Scheduler;

/// Requests in order of arrival, as Lustre's `fifo`: fair as the network is, and all reordering is
/// left to the disk's elevator, which sees no more requests than there are service threads.
///
/// Add and take O(1); remove O(n).
#[derive(Debug, Default)]
pub struct Fcfs {
    queue: VecDeque<Request>,
}

impl Scheduler for Fcfs {
    fn add(&mut self, _now: Time, request: Request) {
        self.queue.push_back(request);
    }

    fn take(&mut self, _now: Time) -> Option<Request> {
        self.queue.pop_front()
    }

    fn remove(&mut self, request: &Request) -> bool {
        let place = self.queue.iter().position(|queued| queued.id == request.id);
        place.and_then(|place| self.queue.remove(place)).is_some()
    }

    fn len(&self) -> usize {
        self.queue.len()
    }
}
