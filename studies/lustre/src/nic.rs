//! A node's link to the switch.

use slotcast_units::{Span, Time};

/// A full-duplex link. It sends messages one after another. What it receives waits in the switch, which
/// interleaves senders: data is delivered in the order in which it comes, as a fluid.
///
/// With `n` nodes sending to one, each at the rate of a link, the backlog grows by `n - 1` seconds of
/// transfer each second. A message is there when all that came before its last byte has been delivered.
/// Because all links have the same rate, this is exact in integers, and costs O(1) a message however
/// many interleave.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Nic {
    send_free: Time,
    /// Time to deliver what is in the switch.
    backlog: Span,
    /// Nodes that are sending to this one.
    flows: u32,
    updated: Time,
}

impl Nic {
    /// Sends something that takes `span`: when its first and last byte leave.
    pub(crate) fn send(&mut self, now: Time, span: Span) -> (Time, Time) {
        let start = self.send_free.max(now);
        self.send_free = start + span;
        (start, self.send_free)
    }

    /// The first byte of a long message comes to the switch.
    pub(crate) fn flow_starts(&mut self, now: Time) {
        self.advance(now);
        self.flows += 1;
    }

    /// The last byte of a long message comes to the switch: when it is delivered.
    pub(crate) fn flow_ends(&mut self, now: Time) -> Time {
        self.advance(now);
        self.flows -= 1;
        now + self.backlog
    }

    /// A short message, which takes `span`, comes to the switch: when it is delivered.
    pub(crate) fn receive(&mut self, now: Time, span: Span) -> Time {
        self.advance(now);
        self.backlog += span;
        now + self.backlog
    }

    fn advance(&mut self, now: Time) {
        let elapsed = now - self.updated;
        self.updated = now;
        self.backlog = match self.flows {
            0 => self.backlog.saturating_sub(elapsed),
            flows => self.backlog + elapsed * u64::from(flows - 1),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    #[test]
    fn a_lone_message_passes_at_the_rate_of_the_link() {
        let mut nic = Nic::default();
        nic.flow_starts(at(10));
        assert_eq!(nic.flow_ends(at(1010)), at(1010));
    }

    #[test]
    fn two_messages_at_once_share_the_link() {
        let mut nic = Nic::default();
        nic.flow_starts(at(0));
        nic.flow_starts(at(0));
        // Each alone would take 1000 us; both are there after 2000, the first to end as late.
        assert_eq!(nic.flow_ends(at(1000)), at(2000));
        assert_eq!(nic.flow_ends(at(1000)), at(2000));
        // What comes later waits for the rest of them.
        assert_eq!(nic.receive(at(1500), Span::from_us(1)), at(2001));
        assert_eq!(nic.receive(at(3000), Span::from_us(1)), at(3001));
    }

    #[test]
    fn messages_leave_one_after_another() {
        let mut nic = Nic::default();
        assert_eq!(nic.send(at(5), Span::from_us(10)), (at(5), at(15)));
        assert_eq!(nic.send(at(6), Span::from_us(10)), (at(15), at(25)));
    }
}
