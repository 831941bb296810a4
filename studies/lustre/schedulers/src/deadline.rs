//! Requests whose time has come go first, whatever the order of the rest.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;

use slotcast_units::{Rate, Share, Size, Span, Time};

use crate::request::{Request, RequestId};
use crate::scheduler::Scheduler;

/// How deadlines are set (seed 003, "Dynamic and mandatory deadline").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadlines {
    /// What the server is trusted to sustain; published runs take half of the disk's rate.
    pub rate: Rate,
    /// By how much the time for all pending work is stretched; published runs take 150 %.
    pub stretch: Share,
    /// What a dynamic deadline adds to the one before it, if it would come earlier.
    pub step: Span,
}

/// The two-level deadline in front of any order.
///
/// * A normal request gets a dynamic deadline: now, plus `stretch` times what the pending bytes, queued
///   and in service, take at `rate`; never before the one that was given last.
/// * An urgent request has a mandatory deadline: its arrival plus the time that its client asks for.
///
/// A request whose deadline has passed is taken first, mandatory ones before dynamic ones; otherwise the
/// inner order decides. So an urgent request starts within its time and one service, if the urgent ones
/// alone do not overload the server, and a normal one is not starved by its neighbours.
///
/// Beyond the inner scheduler every operation is O(log n).
#[derive(Debug)]
pub struct DeadlineFirst {
    rule: Deadlines,
    inner: Box<dyn Scheduler>,
    dynamic: BTreeMap<(Time, RequestId), Request>,
    mandatory: BTreeMap<(Time, RequestId), Request>,
    given: BTreeMap<RequestId, Time>,
    last_dynamic: Time,
    pending: Size,
}

impl DeadlineFirst {
    /// Before `inner`.
    pub fn new(rule: Deadlines, inner: Box<dyn Scheduler>) -> DeadlineFirst {
        DeadlineFirst {
            rule,
            inner,
            dynamic: BTreeMap::new(),
            mandatory: BTreeMap::new(),
            given: BTreeMap::new(),
            last_dynamic: Time::ZERO,
            pending: Size::ZERO,
        }
    }

    /// The deadline that a queued request was given.
    pub fn deadline(&self, request: RequestId) -> Option<Time> {
        self.given.get(&request).copied()
    }

    fn dynamic_deadline(&mut self, now: Time) -> Time {
        let work = self.rule.rate.time_for(self.pending).as_ns();
        let stretched = u128::from(work) * u128::from(self.rule.stretch.as_ppm()) / 1_000_000;
        let allowed = Span::from_ns(u64::try_from(stretched).unwrap_or(u64::MAX));
        let least = self.last_dynamic.saturating_add(self.rule.step);
        self.last_dynamic = now.saturating_add(allowed).max(least);
        self.last_dynamic
    }

    fn forget(&mut self, request: &Request) {
        let Some(deadline) = self.given.remove(&request.id) else { return };
        let list = if request.within.is_some() { &mut self.mandatory } else { &mut self.dynamic };
        list.remove(&(deadline, request.id));
    }

    /// The first request whose deadline has passed.
    fn overdue(&self, now: Time) -> Option<Request> {
        let lists = [&self.mandatory, &self.dynamic];
        let mut first = lists.into_iter().filter_map(BTreeMap::first_key_value);
        first.find(|((deadline, _), _)| *deadline <= now).map(|(_, request)| *request)
    }
}

impl Scheduler for DeadlineFirst {
    fn add(&mut self, now: Time, request: Request) {
        self.pending += request.length;
        let (deadline, list) = match request.within {
            Some(within) => (request.arrived.saturating_add(within), &mut self.mandatory),
            None => (self.dynamic_deadline(now), &mut self.dynamic),
        };
        list.insert((deadline, request.id), request);
        self.given.insert(request.id, deadline);
        self.inner.add(now, request);
    }

    fn take(&mut self, now: Time) -> Option<Request> {
        let request = match self.overdue(now) {
            Some(request) => {
                let was_queued = self.inner.remove(&request);
                debug_assert!(was_queued, "every request with a deadline is in the inner queue");
                request
            }
            None => self.inner.take(now)?,
        };
        self.forget(&request);
        Some(request)
    }

    fn remove(&mut self, request: &Request) -> bool {
        let was_queued = self.inner.remove(request);
        if was_queued {
            self.forget(request);
            self.pending = self.pending.saturating_sub(request.length);
        }
        was_queued
    }

    fn finished(&mut self, now: Time, request: &Request) {
        self.pending = self.pending.saturating_sub(request.length);
        self.inner.finished(now, request);
    }

    fn wake_at(&self, now: Time) -> Option<Time> {
        let wake = self.inner.wake_at(now)?;
        let lists = [&self.mandatory, &self.dynamic];
        let deadlines = lists.into_iter().filter_map(|list| list.keys().next().map(|key| key.0));
        Some(deadlines.fold(wake, Time::min))
    }

    fn len(&self) -> usize {
        self.inner.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frr::{ObjectRoundRobin, Quantum};
    use crate::testing::write;

    fn scheduler() -> DeadlineFirst {
        let rule = Deadlines {
            rate: Rate::from_bytes_per_s(4096 * 1000),
            stretch: Share::from_percent(150),
            step: Span::ZERO,
        };
        DeadlineFirst::new(rule, Box::new(ObjectRoundRobin::new(Quantum::Requests(8))))
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    #[test]
    fn a_dynamic_deadline_grows_with_the_pending_work() {
        let mut scheduler = scheduler();
        scheduler.add(at(0), write(1, 1, 0));
        scheduler.add(at(0), write(2, 1, 1));
        // One request takes 1 ms at the trusted rate, half as much again is allowed; the work before
        // it counts, its own as well.
        assert_eq!(scheduler.deadline(RequestId(1)), Some(Time::ZERO + Span::from_us(1500)));
        assert_eq!(scheduler.deadline(RequestId(2)), Some(at(3)));
        let first = scheduler.take(at(0)).unwrap();
        scheduler.add(at(0), write(3, 1, 2));
        assert_eq!(scheduler.deadline(RequestId(3)), Some(Time::ZERO + Span::from_us(4500)));
        scheduler.finished(at(1), &first);
        scheduler.add(at(1), write(4, 1, 3));
        // 1 ms + 1.5 × 3 ms.
        assert_eq!(scheduler.deadline(RequestId(4)), Some(Time::ZERO + Span::from_us(5500)));
    }

    #[test]
    fn a_deadline_never_comes_before_an_earlier_one() {
        let mut scheduler = scheduler();
        for id in 1..=3 {
            scheduler.add(at(0), write(id, 1, id));
        }
        while let Some(request) = scheduler.take(at(0)) {
            scheduler.finished(at(0), &request);
        }
        scheduler.add(at(0), write(4, 1, 0));
        assert_eq!(scheduler.deadline(RequestId(4)), Some(Time::ZERO + Span::from_us(4500)));
    }

    #[test]
    fn the_overdue_are_taken_first_and_the_urgent_before_them() {
        let mut scheduler = scheduler();
        scheduler.add(at(0), write(1, 1, 5));
        scheduler.add(at(0), Request { within: Some(Span::from_ms(10)), ..write(2, 2, 0) });
        scheduler.add(at(0), write(3, 1, 0));
        // Nothing is overdue: object order.
        assert_eq!(scheduler.take(at(0)).unwrap().id, RequestId(3));
        assert_eq!(scheduler.take(at(10)).unwrap().id, RequestId(2));
        assert_eq!(scheduler.take(at(10)).unwrap().id, RequestId(1));
        assert_eq!(scheduler.take(at(10)), None);
        assert_eq!(scheduler.deadline(RequestId(1)), None);
    }
}
