//! Slices of time.

use alloc::boxed::Box;
use alloc::vec::Vec;

use slotcast_units::{Span, Time};

use crate::request::Request;
use crate::scheduler::Scheduler;

/// Each class has its slice of every epoch, and its own order inside (seed 003, "Performance
/// virtualization"). Classes beyond the last slice belong to it.
///
/// Work-conserving: while the class whose slice it is has nothing to do, the next one is served. The
/// clock of the slices stands still while nothing at all is queued.
///
/// Beyond the inner schedulers O(number of classes).
#[derive(Debug)]
pub struct TimeSlices {
    slices: Vec<(Span, Box<dyn Scheduler>)>,
    current: usize,
    /// When the current slice ends; none while the clock stands still.
    ends: Option<Time>,
    /// What was left of the current slice when the clock was stopped.
    left: Span,
}

impl TimeSlices {
    /// In the order of the classes.
    ///
    /// # Panics
    /// Without a slice, or with one of length zero.
    pub fn new(slices: Vec<(Span, Box<dyn Scheduler>)>) -> TimeSlices {
        assert!(!slices.is_empty(), "an epoch needs at least one slice");
        assert!(slices.iter().all(|(span, _)| *span > Span::ZERO), "a slice takes time");
        let left = slices[0].0;
        TimeSlices { slices, current: 0, ends: None, left }
    }

    fn class(&mut self, request: &Request) -> &mut dyn Scheduler {
        let last = self.slices.len() - 1;
        &mut *self.slices[usize::from(request.class.0).min(last)].1
    }

    fn epoch(&self) -> Span {
        self.slices.iter().fold(Span::ZERO, |sum, (span, _)| sum + *span)
    }

    /// Brings the clock to `now`.
    fn advance(&mut self, now: Time) {
        let Some(mut ends) = self.ends else { return };
        if now >= ends {
            // Whole epochs that nobody looked at change nothing.
            let behind = now.saturating_since(ends).as_ns();
            let epoch = self.epoch().as_ns();
            ends = ends.saturating_add(Span::from_ns(behind - behind % epoch));
        }
        while now >= ends {
            self.current = (self.current + 1) % self.slices.len();
            ends = ends.saturating_add(self.slices[self.current].0);
        }
        self.ends = Some(ends);
    }

    fn stop_if_empty(&mut self, now: Time) {
        if let Some(ends) = self.ends.filter(|_| self.is_empty()) {
            self.left = ends.saturating_since(now);
            self.ends = None;
        }
    }
}

impl Scheduler for TimeSlices {
    fn add(&mut self, now: Time, request: Request) {
        if self.ends.is_none() {
            self.ends = Some(now.saturating_add(self.left));
        }
        self.advance(now);
        self.class(&request).add(now, request);
    }

    fn take(&mut self, now: Time) -> Option<Request> {
        self.advance(now);
        let classes = self.slices.len();
        let first = self.current;
        let mut turns = (0..classes).map(|turn| (first + turn) % classes);
        let taken = turns.find_map(|class| self.slices[class].1.take(now));
        self.stop_if_empty(now);
        taken
    }

    fn remove(&mut self, request: &Request) -> bool {
        self.class(request).remove(request)
    }

    fn finished(&mut self, now: Time, request: &Request) {
        self.class(request).finished(now, request);
    }

    fn wake_at(&self, now: Time) -> Option<Time> {
        self.slices.iter().filter_map(|(_, class)| class.wake_at(now)).min()
    }

    fn len(&self) -> usize {
        self.slices.iter().map(|(_, class)| class.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fcfs::Fcfs;
    use crate::request::{ClassId, RequestId};
    use crate::testing::write;
    use alloc::vec;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    fn seven_to_three() -> TimeSlices {
        let fcfs = || Box::new(Fcfs::default()) as Box<dyn Scheduler>;
        TimeSlices::new(vec![(Span::from_ms(7), fcfs()), (Span::from_ms(3), fcfs())])
    }

    fn of_class(id: u64, class: u16) -> Request {
        Request { class: ClassId(class), ..write(id, 1, 0) }
    }

    #[test]
    fn a_class_is_served_in_its_slice() {
        let mut slices = seven_to_three();
        for id in 1..=4 {
            slices.add(at(0), of_class(id, 0));
            slices.add(at(0), of_class(10 + id, 1));
        }
        let expected = [(0, 1), (6, 2), (7, 11), (9, 12), (10, 3), (17, 13), (38, 14), (39, 4)];
        for (ms, id) in expected {
            assert_eq!(slices.take(at(ms)).unwrap().id, RequestId(id), "at {ms} ms");
        }
    }

    #[test]
    fn an_idle_class_leaves_its_slice_to_the_others() {
        let mut slices = seven_to_three();
        slices.add(at(0), of_class(1, 1));
        slices.add(at(0), of_class(2, 1));
        assert_eq!(slices.take(at(0)).unwrap().id, RequestId(1));
        slices.add(at(1), of_class(3, 0));
        assert_eq!(slices.take(at(1)).unwrap().id, RequestId(3));
        assert_eq!(slices.take(at(1)).unwrap().id, RequestId(2));
    }

    #[test]
    fn the_clock_stands_still_while_nothing_is_queued() {
        let mut slices = seven_to_three();
        slices.add(at(0), of_class(1, 0));
        assert!(slices.take(at(5)).is_some());
        // 2 ms of the first slice are left, and begin when something comes.
        slices.add(at(100), of_class(2, 0));
        slices.add(at(100), of_class(12, 1));
        slices.add(at(100), of_class(3, 0));
        assert_eq!(slices.take(at(101)).unwrap().id, RequestId(2));
        assert_eq!(slices.take(at(102)).unwrap().id, RequestId(12));
    }
}
