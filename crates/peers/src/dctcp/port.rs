//! The ends of the network: the link of a sender, and the switch's port towards a receiver.

use std::collections::VecDeque;

use slotcast_units::{Rate, Size, Span, Time};

/// The link of one node towards the switch. It sends one frame after another, the streams that have
/// something to send taking turns, as fair queueing in a host does.
#[derive(Debug, Default)]
pub(super) struct Link {
    /// When the frame that leaves is gone.
    pub(super) free_at: Time,
    /// Streams that may send, in the order of their turns.
    pub(super) turns: VecDeque<u32>,
    /// Whether an event at `free_at` is pending.
    pub(super) waking: bool,
}

/// What is the same for all ports.
#[derive(Debug, Clone, Copy)]
pub(super) struct PortRules {
    pub(super) rate: Rate,
    /// Bytes that a port can hold.
    pub(super) buffer: u64,
    /// A frame that finds more bytes than this is marked.
    pub(super) mark_threshold: u64,
}

/// What happens to a frame at a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Its last bit arrives then.
    Passed { arrives: Time, marked: bool },
    /// There was no room for it.
    Dropped,
}

/// The switch's port towards one node: a queue, first in, first out, that marks and drops.
///
/// When a frame comes, the time at which it will have left is known, so the queue needs no events.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Port {
    busy_until: Time,
    /// Twice the integral of the queue's length over time, in bytes and ns.
    twice_bytes_ns: u128,
    longest: u64,
}

impl Port {
    /// The bytes that are in the queue `now`, the rest of the frame that leaves included.
    pub(super) fn queue(&self, now: Time, rules: &PortRules) -> u64 {
        rules.rate.bits_in(self.busy_until.saturating_since(now)) / 8
    }

    /// The first bit of a frame of `len` bytes, which takes `time` to pass, comes `now`. An idle port
    /// passes it on at once, without waiting for its last bit.
    pub(super) fn pass(&mut self, now: Time, len: u32, time: Span, rules: &PortRules) -> Verdict {
        let queue = self.queue(now, rules);
        let len = u64::from(len);
        if queue + len > rules.buffer {
            return Verdict::Dropped;
        }
        let start = self.busy_until.max(now);
        self.busy_until = start + time;
        // In the mean a byte of the frame is there for the wait and half of the frame's own time.
        let twice_stay = 2 * (start - now).as_ns() + time.as_ns();
        self.twice_bytes_ns += u128::from(len) * u128::from(twice_stay);
        self.longest = self.longest.max(queue + len);
        Verdict::Passed { arrives: self.busy_until, marked: queue > rules.mark_threshold }
    }

    /// What was measured is forgotten, and what is in the queue does not count any more.
    pub(super) fn reset(&mut self) {
        self.twice_bytes_ns = 0;
        self.longest = 0;
    }

    /// The mean length of the queue in bytes over `measured`.
    pub(super) fn mean(&self, measured: Span) -> f64 {
        self.twice_bytes_ns as f64 / 2.0 / measured.as_ns().max(1) as f64
    }

    /// The longest that the queue was.
    pub(super) fn longest(&self) -> Size {
        Size::from_bytes(self.longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One byte takes a nanosecond.
    fn rules() -> PortRules {
        PortRules { rate: Rate::from_bps(8_000_000_000), buffer: 3000, mark_threshold: 1500 }
    }

    fn pass(port: &mut Port, at: u64) -> Verdict {
        port.pass(Time::from_ns(at), 1000, Span::from_ns(1000), &rules())
    }

    fn passed(at: u64, marked: bool) -> Verdict {
        Verdict::Passed { arrives: Time::from_ns(at), marked }
    }

    #[test]
    fn frames_wait_are_marked_and_are_dropped() {
        let mut port = Port::default();
        assert_eq!(pass(&mut port, 0), passed(1000, false));
        assert_eq!(pass(&mut port, 0), passed(2000, false));
        assert_eq!(pass(&mut port, 500), passed(3000, false), "1500 bytes are not more than 1500");
        assert_eq!(pass(&mut port, 500), Verdict::Dropped, "2500 and 1000 do not fit into 3000");
        assert_eq!(pass(&mut port, 1400), passed(4000, true), "1600 bytes are in the queue");
        assert_eq!(pass(&mut port, 9000), passed(10_000, false));
        assert_eq!(port.longest(), Size::from_bytes(2600));
    }

    #[test]
    fn the_mean_length_is_the_integral_over_time() {
        let mut port = Port::default();
        pass(&mut port, 0);
        pass(&mut port, 0);
        // 2000 bytes that shrink to nothing within 2000 ns.
        assert_eq!(port.mean(Span::from_ns(4000)), 500.0);
        port.reset();
        assert_eq!(port.mean(Span::from_ns(4000)), 0.0);
    }
}
