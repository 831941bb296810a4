//! How fast chunks come in: sender by sender, and what that says of the target's own link.

use alloc::collections::BTreeMap;

use slotcast_protocol::{InitiatorId, LinkMeter};
use slotcast_units::{Rate, Size, Span, Time};

/// What a sender has shown is forgotten when nothing came from it for so long.
const LASTS: Span = Span::from_secs(10);

/// Senders that are remembered; beyond, the one is forgotten that was heard longest ago.
const REMEMBERED: usize = 256;

/// The rate of a target's link.
///
/// A chunk takes long if the link of its sender is slow, or the target's own: each of both is a rate of the pair. The
/// target's own link is at least as fast as the fastest of its senders has shown of late, and a slow sender says nothing
/// of what others can expect.
#[derive(Debug)]
pub(super) struct IncomingRate {
    granted: Rate,
    senders: BTreeMap<InitiatorId, (LinkMeter, Time)>,
    rate: Rate,
    has_measured: bool,
}

impl IncomingRate {
    /// Senders pace at `granted`.
    pub(super) fn new(granted: Rate) -> IncomingRate {
        IncomingRate { granted, senders: BTreeMap::new(), rate: granted, has_measured: false }
    }

    /// A chunk of `size` came from `sender` in `took`, from its first byte to its last. O(senders).
    pub(super) fn came(&mut self, now: Time, sender: InitiatorId, (size, took): (Size, Span)) {
        self.senders.retain(|_, (_, heard)| now.saturating_since(*heard) < LASTS);
        if self.senders.len() >= REMEMBERED && !self.senders.contains_key(&sender) {
            let oldest = self.senders.iter().min_by_key(|(_, (_, heard))| *heard);
            let oldest = oldest.map(|(sender, _)| *sender);
            oldest.map(|oldest| self.senders.remove(&oldest));
        }
        // Of a sender that was not heard of late nothing better is known than what is known of the link.
        let first = || (LinkMeter::starting(self.granted, self.rate), now);
        let (meter, heard) = self.senders.entry(sender).or_insert_with(first);
        meter.came(size, took);
        *heard = now;
        self.has_measured = true;
        let rates = self.senders.values().map(|(meter, _)| meter.rate());
        self.rate = rates.max().unwrap_or(self.rate);
    }

    /// At most the granted one.
    pub(super) fn rate(&self) -> Rate {
        self.rate
    }

    /// The rate, if a chunk came.
    pub(super) fn measured(&self) -> Option<Rate> {
        self.has_measured.then_some(self.rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRANTED: Rate = Rate::from_bps(1_000_000_000);
    const CHUNK: Size = Size::from_bytes(1_250_000);
    const FAST: Span = Span::from_ms(10);
    const SLOW: Span = Span::from_ms(100);

    /// Chunks come from these, one from each in turn, so often.
    fn come(rate: &mut IncomingRate, from: u64, senders: &[(u32, Span)], times: u64) {
        for n in 0..times {
            for (sender, took) in senders {
                let now = Time::ZERO + Span::from_ms(from + n * 100);
                rate.came(now, InitiatorId(*sender), (CHUNK, *took));
            }
        }
    }

    #[test]
    fn a_slow_sender_says_nothing_of_the_link() {
        let mut rate = IncomingRate::new(GRANTED);
        assert_eq!(rate.measured(), None);
        come(&mut rate, 0, &[(0, FAST), (1, SLOW), (2, SLOW)], 50);
        assert!(rate.rate().as_bps() > 990_000_000, "{}", rate.rate());
        // The fast one is silent; after ten seconds nothing shows any more that the link is fast.
        come(&mut rate, 5_000, &[(1, SLOW), (2, SLOW)], 120);
        assert!(rate.rate().as_bps() < 120_000_000, "{}", rate.rate());
        come(&mut rate, 17_000, &[(0, FAST), (1, SLOW)], 50);
        assert!(rate.rate().as_bps() > 900_000_000, "{}", rate.rate());
    }

    #[test]
    fn a_slow_link_is_slow_for_all_senders_also_for_new_ones() {
        let mut rate = IncomingRate::new(GRANTED);
        let senders = [0, 1, 2].map(|sender| (sender, SLOW));
        come(&mut rate, 0, &senders, 50);
        assert!(rate.rate().as_bps() < 105_000_000, "{}", rate.rate());
        come(&mut rate, 5_000, &[(7, SLOW)], 1);
        assert!(rate.rate().as_bps() < 105_000_000, "{}", rate.rate());
    }

    #[test]
    fn few_senders_are_remembered() {
        let mut rate = IncomingRate::new(GRANTED);
        for sender in 0..1000 {
            rate.came(Time::ZERO, InitiatorId(sender), (CHUNK, FAST));
        }
        assert_eq!(rate.senders.len(), REMEMBERED);
    }
}
