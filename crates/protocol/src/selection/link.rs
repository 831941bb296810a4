//! The initiator's own link: which times are taken by transfers that it has accepted.

use alloc::vec::Vec;

use slotcast_units::{Span, Time};

use crate::window::Window;

/// Times at which one direction of a link is taken, in order, without overlap.
///
/// With several requests under way, a transfer may use the time before another that was accepted
/// earlier: a request with a late window does not hold back those that come after it.
#[derive(Debug, Clone, Default)]
pub struct LinkSchedule {
    taken: Vec<Window>,
}

impl LinkSchedule {
    /// A link with nothing on it.
    pub const IDLE: LinkSchedule = LinkSchedule { taken: Vec::new() };

    /// Forgets what has passed.
    pub fn forget_before(&mut self, now: Time) {
        self.taken.retain(|window| window.end > now);
    }

    /// The first time from `start` on at which the link is free for `length`. O(n).
    pub fn free_from(&self, start: Time, length: Span) -> Time {
        let mut start = start;
        let ahead = self.taken.partition_point(|window| window.end <= start);
        for window in &self.taken[ahead..] {
            if window.start.saturating_since(start) >= length && window.start >= start {
                break;
            }
            start = start.max(window.end);
        }
        start
    }

    /// Takes `window`.
    pub fn take(&mut self, window: Window) {
        // A few bytes on a fast link take no time at all: such a window comes before one that begins with it.
        let before = |other: &Window| (other.start, other.end) < (window.start, window.end);
        let at = self.taken.partition_point(before);
        self.taken.insert(at, window);
        debug_assert!(
            self.taken.windows(2).all(|pair| pair[0].end <= pair[1].start),
            "a link sends one transfer at a time: {:?}",
            self.taken
        );
    }

    /// Frees `window`, which was taken.
    pub fn release(&mut self, window: Window) {
        self.taken.retain(|taken| *taken != window);
    }

    /// What is taken and not over at `time`, in order.
    pub(crate) fn taken_after(&self, time: Time) -> &[Window] {
        let over = self.taken.partition_point(|window| window.end <= time);
        &self.taken[over..]
    }

    /// Where the link becomes free for at least `length`, after `time`, in order. O(m) for all.
    pub(super) fn holes(&self, time: Time, length: Span) -> impl Iterator<Item = Time> + '_ {
        let next = |i: usize| self.taken.get(i + 1).map_or(Time::NEVER, |next| next.start);
        self.taken
            .iter()
            .enumerate()
            .filter(move |(_, window)| window.end > time)
            .filter(move |(i, window)| next(*i).saturating_since(window.end) >= length)
            .map(|(_, window)| window.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(start: u64, end: u64) -> Window {
        Window { start: Time::from_ns(start), end: Time::from_ns(end) }
    }

    #[test]
    fn a_hole_before_a_later_transfer_is_used() {
        let mut link = LinkSchedule::default();
        link.take(window(100, 200));
        link.take(window(10, 20));
        let free =
            |start, length| link.free_from(Time::from_ns(start), Span::from_ns(length)).as_ns();
        assert_eq!(free(0, 10), 0);
        assert_eq!(free(0, 11), 20);
        assert_eq!(free(15, 80), 20);
        assert_eq!(free(15, 81), 200);
        assert_eq!(free(300, 1), 300);
        link.release(window(100, 200));
        assert_eq!(link.free_from(Time::from_ns(15), Span::from_ns(81)).as_ns(), 20);
        link.forget_before(Time::from_ns(20));
        assert_eq!(link.free_from(Time::ZERO, Span::from_ns(50)).as_ns(), 0);
    }
}
