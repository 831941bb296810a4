//! Links of known rates between the machines of one node.

use alloc::vec;
use alloc::vec::Vec;

use slotcast_protocol::TargetId;
use slotcast_schedule::TokenBucket;
use slotcast_units::{Rate, Size, Span, Time};

/// The links of a cluster in one process: one for the initiator and one for each target, each way. Chunks are
/// paced at the granted rate, and no link carries more than its own.
#[derive(Debug, Clone)]
pub struct Links {
    granted: Rate,
    trip: Span,
    initiator: Link,
    targets: Vec<Link>,
}

#[derive(Debug, Clone, Copy)]
struct Link {
    out: TokenBucket,
    into: TokenBucket,
}

impl Links {
    /// Links of `rate` each way, for chunks that are sent at the rate `granted`.
    pub fn new(rate: Rate, granted: Rate, trip: Span, targets: usize) -> Links {
        let link = Link {
            out: TokenBucket::new(rate, Span::ZERO),
            into: TokenBucket::new(rate, Span::ZERO),
        };
        Links { granted, trip, initiator: link, targets: vec![link; targets] }
    }

    /// A chunk leaves the initiator at `start`; when it has come to each of `to`. Multicast: it leaves once.
    pub(crate) fn put(
        &mut self,
        start: Time,
        size: Size,
        to: impl Iterator<Item = TargetId>,
    ) -> Vec<(TargetId, Time)> {
        let sent = self.initiator.out.take(start, size).max(start + self.granted.time_for(size));
        let arrive = |target: TargetId| {
            let link = &mut self.targets[target.0 as usize];
            (target, sent.max(link.into.take(start, size)) + self.trip)
        };
        to.map(arrive).collect()
    }

    /// A chunk leaves `from` at `start`; when it has come to the initiator.
    pub(crate) fn get(&mut self, start: Time, size: Size, from: TargetId) -> Time {
        let link = &mut self.targets[from.0 as usize];
        let sent = link.out.take(start, size).max(start + self.granted.time_for(size));
        sent.max(self.initiator.into.take(start, size)) + self.trip
    }

    /// How long a chunk that left at `start` and came at `now` was under way.
    pub(crate) fn took(&self, start: Time, now: Time) -> Span {
        now.saturating_since(start).saturating_sub(self.trip)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mb(per_s: u64) -> Rate {
        Rate::from_bytes_per_s(per_s * 1_000_000)
    }

    const CHUNK: Size = Size::from_bytes(1_000_000);
    const START: Time = Time::from_ns(1_000_000_000);

    #[test]
    fn a_chunk_takes_as_long_as_was_granted_and_the_link_allows() {
        let trip = Span::from_us(10);
        let mut links = Links::new(mb(100), mb(90), trip, 4);
        let targets = [TargetId(1), TargetId(3)];
        let arrived = links.put(START, CHUNK, targets.into_iter());
        let paced = START + mb(90).time_for(CHUNK) + trip;
        assert_eq!(arrived, targets.map(|target| (target, paced)));
        // Another one at the same time finds the link of the initiator taken; a get goes the other way.
        let other = links.put(START, CHUNK, [TargetId(2)].into_iter());
        assert_eq!(other, [(TargetId(2), START + Span::from_ms(20) + trip)]);
        assert_eq!(links.get(START, CHUNK, TargetId(2)), paced);
        // The link of a target is taken by what others sent it.
        let third = links.get(START + Span::from_ms(5), CHUNK, TargetId(2));
        assert_eq!(third, START + Span::from_ms(20) + trip);
    }
}
