//! The receiving end of a stream: what has arrived, what was read, and how much room is left.

use std::collections::VecDeque;

/// A chunk inside a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Message {
    /// Where it ends.
    pub(super) end: u64,
    /// The request that it belongs to.
    pub(super) request: u32,
}

/// What reading from a stream gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// The rest of a chunk.
    Whole(Message),
    /// No chunk is complete; what there was of the next one is read.
    Partial,
}

/// The receiving end of a stream.
#[derive(Debug, Default)]
pub(super) struct Receiver {
    /// Everything before it has arrived.
    arrived: u64,
    /// Everything before it was read by the application.
    read: u64,
    /// What arrived above a gap: ranges that do not touch, in order.
    above: Vec<(u64, u64)>,
    /// Chunks that are not wholly read.
    messages: VecDeque<Message>,
    /// The edge of the room that the sender knows of.
    told: u64,
    /// Bytes that will arrive damaged when they first arrive.
    damaged: Vec<u64>,
    /// Whether the stream waits for its target to read again.
    pub(super) waiting: bool,
}

impl Receiver {
    /// A chunk will come.
    pub(super) fn expect(&mut self, message: Message) {
        self.messages.push_back(message);
    }

    /// The first frame with this byte in it will arrive damaged.
    pub(super) fn damage(&mut self, byte: u64) {
        self.damaged.push(byte);
    }

    /// Whether the frame from `start` to `end` arrives damaged, and must be thrown away.
    pub(super) fn is_damaged(&mut self, start: u64, end: u64) -> bool {
        let before = self.damaged.len();
        self.damaged.retain(|byte| !(start..end).contains(byte));
        self.damaged.len() < before
    }

    #[cfg(test)]
    pub(super) fn arrived(&self) -> u64 {
        self.arrived
    }

    /// A frame arrives; says whether there is more to read now.
    pub(super) fn arrive(&mut self, start: u64, end: u64) -> bool {
        if start > self.arrived {
            self.keep(start, end);
            return false;
        }
        let more = end > self.arrived;
        self.arrived = self.arrived.max(end);
        while let Some(&(start, end)) = self.above.first()
            && start <= self.arrived
        {
            self.arrived = self.arrived.max(end);
            self.above.remove(0);
        }
        more
    }

    /// Keeps a range that lies above a gap.
    fn keep(&mut self, mut start: u64, mut end: u64) {
        let first = self.above.partition_point(|range| range.1 < start);
        let last = self.above.partition_point(|range| range.0 <= end);
        for range in self.above.drain(first..last) {
            start = start.min(range.0);
            end = end.max(range.1);
        }
        self.above.insert(first, (start, end));
    }

    /// Whether something is there that was not read.
    pub(super) fn is_readable(&self) -> bool {
        self.read < self.arrived
    }

    /// Reads up to the end of the next chunk, or all there is of it.
    pub(super) fn read(&mut self) -> Reading {
        match self.messages.front() {
            Some(&message) if message.end <= self.arrived => {
                self.read = message.end;
                self.messages.pop_front();
                Reading::Whole(message)
            }
            _ => {
                self.read = self.arrived;
                Reading::Partial
            }
        }
    }

    /// How far into the stream a buffer of `buffer` bytes has room. The sender gets to know.
    pub(super) fn tell_edge(&mut self, buffer: u64) -> u64 {
        self.told = self.read + buffer;
        self.told
    }

    /// Whether the sender may be waiting for room of one `frame`, and does not know that there is some.
    pub(super) fn keeps_sender_waiting(&self, buffer: u64, frame: u64) -> bool {
        self.told < self.arrived + frame && self.told < self.read + buffer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn chunks_are_read_one_by_one_and_make_room() {
        let mut receiver = Receiver::default();
        let messages =
            [(100, 7), (150, 8), (400, 9)].map(|(end, request)| Message { end, request });
        for message in messages {
            receiver.expect(message);
        }
        assert_eq!(receiver.tell_edge(1000), 1000);
        assert!(receiver.arrive(0, 90));
        assert_eq!(receiver.read(), Reading::Partial);
        assert!(receiver.arrive(90, 200));
        assert_eq!(receiver.read(), Reading::Whole(messages[0]));
        assert!(receiver.is_readable());
        assert_eq!(receiver.read(), Reading::Whole(messages[1]));
        assert_eq!(receiver.read(), Reading::Partial);
        assert!(!receiver.is_readable());
        assert!(!receiver.keeps_sender_waiting(1000, 800), "it knows of room for 800 bytes");
        assert!(receiver.keeps_sender_waiting(1000, 801));
        assert_eq!(receiver.tell_edge(1000), 1200);
        assert!(!receiver.keeps_sender_waiting(1000, 801));
    }

    #[test]
    fn a_damaged_frame_is_damaged_once() {
        let mut receiver = Receiver::default();
        receiver.damage(150);
        assert!(!receiver.is_damaged(0, 100));
        assert!(receiver.is_damaged(100, 200));
        assert!(!receiver.is_damaged(100, 200));
    }

    proptest! {
        /// Frames in any order, some of them twice: each byte counts once, and all of them in the end.
        #[test]
        fn the_order_of_arrival_does_not_matter(
            order in Just((0..40u64).collect::<Vec<_>>()).prop_shuffle(),
            twice in prop::collection::vec(0..40u64, 0..20),
        ) {
            let mut receiver = Receiver::default();
            let mut seen = [false; 40];
            for frame in order.iter().chain(&twice).copied() {
                let before = receiver.arrived();
                let more = receiver.arrive(frame * 10, frame * 10 + 10);
                seen[usize::try_from(frame).unwrap()] = true;
                let whole = seen.iter().take_while(|seen| **seen).count() as u64 * 10;
                prop_assert_eq!(receiver.arrived(), whole);
                prop_assert_eq!(more, whole > before);
            }
            prop_assert_eq!(receiver.arrived(), 400);
            prop_assert!(receiver.above.is_empty());
        }
    }
}
