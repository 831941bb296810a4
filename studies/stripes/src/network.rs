use slotcast_units::{Size, Span, Time};

use super::scenario::{Bottleneck, Network as Settings, REFERENCE};

/// Links of nodes, whose bytes are shared evenly among the messages on them: max-min fair, as a fluid.
///
/// A message ends when its last byte has left the slowest link of its way. Whoever uses it asks
/// [`next_end`](Links::next_end) after every change, and takes what has ended at that time.
#[derive(Debug)]
pub(super) struct Links<T> {
    /// Bytes per second that a node sends, and takes in, at most; and those of one message.
    send: f64,
    receive: f64,
    stream: f64,
    /// In the order in which they began.
    flows: Vec<Flow<T>>,
    nodes: Vec<Node>,
    /// To when the flows' bytes are up to date.
    reached: Time,
    measured_from: Time,
}

#[derive(Debug)]
struct Flow<T> {
    what: T,
    from: u32,
    to: u32,
    /// Bytes.
    left: f64,
    /// Bytes per second; negative while it is being worked out.
    rate: f64,
}

/// One node while rates are worked out: what is left of its two directions, and for how many flows.
#[derive(Debug, Clone, Copy, Default)]
struct Node {
    send: f64,
    receive: f64,
    sending: u32,
    receiving: u32,
    /// Bytes that it has taken in.
    taken: f64,
}

impl<T> Links<T> {
    pub(super) fn new(settings: &Settings, nodes: u32) -> Links<T> {
        let bytes = REFERENCE.as_bytes() as f64;
        let one = bytes / (settings.transfer - settings.message).as_secs_f64();
        let pair = 2.0 * bytes / (settings.transfer_pair - settings.message).as_secs_f64();
        let (send, receive, stream) = match settings.bottleneck {
            Bottleneck::Receiver => (pair, one, f64::INFINITY),
            Bottleneck::Stream => (pair, pair, one),
        };
        let nodes = vec![Node::default(); nodes as usize];
        Links {
            send,
            receive,
            stream,
            flows: Vec::new(),
            nodes,
            reached: Time::ZERO,
            measured_from: Time::ZERO,
        }
    }

    /// A message of `size` begins `now`.
    pub(super) fn begin(&mut self, now: Time, from: u32, to: u32, size: Size, what: T) {
        self.advance(now);
        let left = size.as_bytes() as f64;
        self.flows.push(Flow { what, from, to, left, rate: 0.0 });
        self.share();
    }

    /// When the next message ends, if nothing begins before.
    pub(super) fn next_end(&self) -> Option<Time> {
        let seconds = self.flows.iter().map(|flow| flow.left / flow.rate).reduce(f64::min)?;
        // Up to the next nanosecond, so that it has ended by then.
        Some(self.reached + Span::from_ns((seconds * 1e9) as u64 + 1))
    }

    /// Takes out the messages that have ended by `now`, the first that began first.
    pub(super) fn ended(&mut self, now: Time, ended: &mut Vec<T>) {
        self.advance(now);
        let mut index = 0;
        while index < self.flows.len() {
            // What moves in a nanosecond: times are rounded to it.
            if self.flows[index].left <= self.flows[index].rate * 1e-9 {
                ended.push(self.flows.remove(index).what);
            } else {
                index += 1;
            }
        }
        self.share();
    }

    /// Forgets what was taken in before `now`.
    pub(super) fn start_measuring(&mut self, now: Time) {
        self.advance(now);
        self.measured_from = now;
        self.nodes.iter_mut().for_each(|node| node.taken = 0.0);
    }

    /// The part of what it can take in that the busiest node took in since measuring began.
    pub(super) fn busiest_ingress(&mut self, now: Time) -> f64 {
        self.advance(now);
        let most = self.receive * (now - self.measured_from).as_secs_f64();
        self.nodes.iter().map(|node| node.taken / most).fold(0.0, f64::max)
    }

    fn advance(&mut self, now: Time) {
        let seconds = (now - self.reached).as_secs_f64();
        for flow in &mut self.flows {
            let moved = (flow.rate * seconds).min(flow.left);
            flow.left -= moved;
            self.nodes[flow.to as usize].taken += moved;
        }
        self.reached = now;
    }

    /// Works out all rates: again and again the direction of a node that has the least for each of its
    /// flows gives it to them.
    ///
    /// Complexity: O(flows^2), for a few hundred of them.
    fn share(&mut self) {
        for node in &mut self.nodes {
            let (send, receive, taken) = (self.send, self.receive, node.taken);
            *node = Node { send, receive, sending: 0, receiving: 0, taken };
        }
        for flow in &mut self.flows {
            flow.rate = -1.0;
            self.nodes[flow.from as usize].sending += 1;
            self.nodes[flow.to as usize].receiving += 1;
        }
        let mut open = self.flows.len();
        while open > 0 {
            let fair = |flow: &Flow<T>, nodes: &[Node]| {
                let (from, to) = (nodes[flow.from as usize], nodes[flow.to as usize]);
                let send = from.send / f64::from(from.sending);
                send.min(to.receive / f64::from(to.receiving)).min(self.stream)
            };
            let waiting = self.flows.iter().filter(|flow| flow.rate < 0.0);
            let least = waiting.map(|flow| fair(flow, &self.nodes)).fold(f64::INFINITY, f64::min);
            // All that get the least are settled in one go. What they take away from others leaves these
            // more each than the least, so that none is settled too low; rounding is allowed for.
            for flow in &mut self.flows {
                if flow.rate < 0.0 && fair(flow, &self.nodes) <= least * (1.0 + 1e-12) {
                    flow.rate = least;
                    open -= 1;
                    let from = &mut self.nodes[flow.from as usize];
                    from.send -= least;
                    from.sending -= 1;
                    let to = &mut self.nodes[flow.to as usize];
                    to.receive -= least;
                    to.receiving -= 1;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scenario;

    /// Links of the cluster Suno, and what each message from `from` to `to` takes, in ms, if all begin at
    /// once; without the part that does not depend on the size.
    fn times(bottleneck: Bottleneck, messages: &[(u32, u32)]) -> Vec<f64> {
        let settings = Settings { bottleneck, ..Scenario::default().network };
        let mut links = Links::new(&settings, 10);
        for (index, (from, to)) in messages.iter().enumerate() {
            links.begin(Time::ZERO, *from, *to, REFERENCE, index);
        }
        let mut times = vec![0.0; messages.len()];
        let mut ended = Vec::new();
        while let Some(next) = links.next_end() {
            links.ended(next, &mut ended);
            for index in ended.drain(..) {
                times[index] = (next - Time::ZERO).as_secs_f64() * 1e3;
            }
        }
        times
    }

    fn assert_near(found: &[f64], expected: &[f64]) {
        let near = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-4);
        assert!(near && found.len() == expected.len(), "{found:?} and {expected:?}");
    }

    /// Times of one message, and of two at once from one sender, without their fixed part.
    const ONE: f64 = 10.633 - 0.080;
    const PAIR: f64 = 18.172 - 0.080;

    #[test]
    fn the_published_times_are_met() {
        for bottleneck in [Bottleneck::Receiver, Bottleneck::Stream] {
            assert_near(&times(bottleneck, &[(0, 1)]), &[ONE]);
            assert_near(&times(bottleneck, &[(0, 1), (0, 2)]), &[PAIR, PAIR]);
            assert_near(&times(bottleneck, &[(0, 1), (2, 3)]), &[ONE, ONE]);
        }
    }

    #[test]
    fn what_a_receiver_takes_in_depends_on_the_bottleneck() {
        let two_senders = [(0, 2), (1, 2)];
        assert_near(&times(Bottleneck::Receiver, &two_senders), &[2.0 * ONE, 2.0 * ONE]);
        assert_near(&times(Bottleneck::Stream, &two_senders), &[PAIR, PAIR]);
    }

    #[test]
    fn what_one_message_cannot_use_is_left_to_others() {
        // Three senders share receiver 9; the link of sender 0 has much left for its message to 8.
        let found = times(Bottleneck::Receiver, &[(0, 9), (1, 9), (2, 9), (0, 8)]);
        assert_near(&found[..3], &[3.0 * ONE; 3]);
        // A pair takes PAIR, of which a third of ONE's rate goes to 9.
        let rate = 2.0 / PAIR - 1.0 / (3.0 * ONE);
        assert_near(&found[3..], &[1.0 / rate.min(1.0 / ONE)]);
    }

    #[test]
    fn the_bytes_taken_in_are_counted() {
        let mut links = Links::new(&Scenario::default().network, 3);
        links.begin(Time::ZERO, 0, 1, REFERENCE, ());
        let end = links.next_end().expect("a message is under way");
        links.ended(end, &mut Vec::new());
        assert!((links.busiest_ingress(end) - 1.0).abs() < 1e-6);
        links.start_measuring(end);
        assert_eq!(links.busiest_ingress(end + Span::from_ms(1)), 0.0);
    }
}
