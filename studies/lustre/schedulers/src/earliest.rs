//! By deadline alone.

use alloc::collections::BTreeMap;

use slotcast_units::{Span, Time};

use crate::request::{Request, RequestId};
use crate::scheduler::Scheduler;

/// Always the request with the earliest deadline: its arrival plus the time that its client asks for,
/// or plus a common one.
///
/// Every operation is O(log n).
#[derive(Debug)]
pub struct EarliestDeadline {
    otherwise: Span,
    sorted: BTreeMap<(Time, RequestId), Request>,
}

impl EarliestDeadline {
    /// Requests that name no time are allowed `otherwise`.
    pub fn new(otherwise: Span) -> EarliestDeadline {
        EarliestDeadline { otherwise, sorted: BTreeMap::new() }
    }

    fn key(&self, request: &Request) -> (Time, RequestId) {
        let within = request.within.unwrap_or(self.otherwise);
        (request.arrived.saturating_add(within), request.id)
    }
}

impl Scheduler for EarliestDeadline {
    fn add(&mut self, _now: Time, request: Request) {
        self.sorted.insert(self.key(&request), request);
    }

    fn take(&mut self, _now: Time) -> Option<Request> {
        self.sorted.pop_first().map(|(_, request)| request)
    }

    fn remove(&mut self, request: &Request) -> bool {
        self.sorted.remove(&self.key(request)).is_some()
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
    fn the_earliest_deadline_is_first() {
        let mut scheduler = EarliestDeadline::new(Span::from_ms(2));
        scheduler.add(Time::ZERO, write(1, 1, 0));
        scheduler.add(Time::ZERO, Request { within: Some(Span::from_ms(1)), ..write(2, 1, 0) });
        scheduler.add(Time::ZERO, Request { within: Some(Span::from_ms(3)), ..write(3, 1, 0) });
        assert_eq!(order(&mut scheduler), vec![2, 1, 3]);
    }
}
