//! Records of the recent past.

use alloc::collections::VecDeque;

use slotcast_units::{Span, Time};

/// A window of time that slides by sub-windows, each with a record (seed 003, "STW"): what is older
/// than `parts` sub-windows is forgotten, and sub-windows in which nothing happened have no record.
///
/// A step costs O(1), or as much as is forgotten by it.
#[derive(Debug, Clone)]
pub struct SlidingWindow<R> {
    part: Span,
    parts: u64,
    /// Records with the number of their sub-window, oldest first.
    records: VecDeque<(u64, R)>,
}

impl<R: Default> SlidingWindow<R> {
    /// `parts` sub-windows of length `part`; the published runs take 5 of 10 s.
    ///
    /// # Panics
    /// If either is zero.
    pub fn new(part: Span, parts: u32) -> SlidingWindow<R> {
        assert!(part > Span::ZERO && parts > 0, "a window needs sub-windows of some length");
        SlidingWindow { part, parts: u64::from(parts), records: VecDeque::new() }
    }

    fn number(&self, now: Time) -> u64 {
        now.as_ns() / self.part.as_ns()
    }

    /// The record of the sub-window in which `now` lies; a new one if it has none. `now` never goes
    /// backwards.
    pub fn record(&mut self, now: Time) -> &mut R {
        let number = self.number(now);
        while self.records.front().is_some_and(|(old, _)| old + self.parts <= number) {
            self.records.pop_front();
        }
        if self.records.back().is_none_or(|(last, _)| *last < number) {
            self.records.push_back((number, R::default()));
        }
        &mut self.records.back_mut().expect("there is one now").1
    }

    /// The records that are in the window at `now`, oldest first.
    pub fn records(&self, now: Time) -> impl Iterator<Item = &R> {
        let number = self.number(now);
        let live = move |(of, _): &&(u64, R)| of + self.parts > number;
        self.records.iter().filter(live).map(|(_, record)| record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn what_is_old_is_forgotten() {
        let at = |s: u64| Time::ZERO + Span::from_secs(s);
        let mut window = SlidingWindow::<u32>::new(Span::from_secs(10), 3);
        *window.record(at(5)) += 1;
        *window.record(at(9)) += 1;
        *window.record(at(21)) += 5;
        let live = |window: &SlidingWindow<u32>, now| -> Vec<u32> {
            window.records(now).copied().collect()
        };
        assert_eq!(live(&window, at(29)), [2, 5]);
        assert_eq!(live(&window, at(30)), [5]);
        assert_eq!(live(&window, at(50)), []);
        *window.record(at(50)) += 7;
        assert_eq!(window.records.len(), 1, "forgotten records take no room");
    }
}
