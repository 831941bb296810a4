//! What a transfer and a control message cost, and how wide a window must be for it.

use slotcast_units::{Rate, Share, Size, Span};

/// How the payload travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// Replicast-M: one multicast transfer to all chosen targets in one common window.
    Multicast,
    /// Replicast-H: one unicast transfer for each chosen target, in consecutive windows.
    Unicast,
}

/// Times that initiators and targets must agree on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// How long one control message occupies a link.
    pub control: Span,
    /// One way through the core.
    pub trip: Span,
    /// The rate reserved for payload.
    pub data_rate: Rate,
    /// Payload of one frame.
    pub frame: Size,
}

impl Timing {
    /// The network of the Replicast paper's runs: 10 Gb/s less 1 %, of which 90 % is for payload in
    /// frames of 9000 bytes; control messages of 300 bytes; one microsecond through the core.
    pub fn published() -> Timing {
        Timing {
            control: Span::from_ns(2424),
            trip: Span::from_us(1),
            data_rate: Rate::from_bps(8_910_000_000),
            frame: Size::from_bytes(9000),
        }
    }

    /// Time of a chunk of `size` on the link.
    pub fn transfer(&self, size: Size) -> Span {
        self.data_rate.time_for(size)
    }

    /// Time of one full frame on the link.
    pub fn frame_time(&self) -> Span {
        self.data_rate.time_for(self.frame)
    }

    /// From sending a control message to having it at the other side.
    pub fn one_way(&self) -> Span {
        self.control + self.trip
    }

    /// From sending a request to having its answer, with an answer that costs no time.
    pub fn round_trip(&self) -> Span {
        self.one_way() * 2
    }

    /// How long after receiving a request a target can expect payload at the earliest: the bid
    /// travels to the initiator, and its acceptance leaves before the payload does.
    pub fn lead(&self) -> Span {
        self.control * 2 + self.trip
    }
}

/// By how much an idle target stretches its bid, so that it meets more of the others' windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IdleExtension {
    /// By two transfers.
    #[default]
    TwoTransfers,
    /// By two transfers for one half of the requests, picked by the chunk's name.
    TwoTransfersByCoin,
    /// By two trips.
    TwoTrips,
}

/// How wide bids are, and how much of a bid an initiator must take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowRule {
    /// Width of a bid over the time of the transfer, 140 % for multicast and 110 % for unicast in
    /// the Replicast paper's runs.
    pub multiplier: Share,
    /// How the payload travels: a multicast transfer needs windows that can be cut to a common one.
    pub delivery: Delivery,
}

/// What a [`WindowRule`] gives for one size of chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowSize {
    /// Time of the chunk on the link.
    pub transfer: Span,
    /// Width of a bid.
    pub bid: Span,
    /// Width that an initiator accepts.
    pub accepted: Span,
}

impl WindowRule {
    /// The published rule for `delivery`.
    pub fn published(delivery: Delivery) -> WindowRule {
        let percent = match delivery {
            Delivery::Multicast => 140,
            Delivery::Unicast => 110,
        };
        WindowRule { multiplier: Share::from_percent(percent), delivery }
    }

    /// Widths for a chunk of `size`.
    ///
    /// A bid is the multiple of transfer and trip, but at least the transfer and two frames. What
    /// is accepted is the transfer and one frame; a multicast transfer keeps a third of what is
    /// left of a wide bid, a unicast one keeps all of its bid but a trip.
    pub fn size_for(&self, timing: &Timing, size: Size) -> WindowSize {
        let transfer = timing.transfer(size);
        let frame = timing.frame_time();
        let floor = transfer + frame;
        let scaled = u128::from((transfer + timing.trip).as_ns())
            * u128::from(self.multiplier.as_ppm())
            / 1_000_000;
        let mut bid = Span::from_ns(u64::try_from(scaled).unwrap_or(u64::MAX / 4));
        if bid < floor {
            bid = floor + frame;
        }
        let accepted = match self.delivery {
            Delivery::Unicast => bid - timing.trip,
            Delivery::Multicast => match (bid - floor) / frame {
                spare_frames @ 5.. => transfer + frame * (spare_frames / 3),
                _ => floor,
            },
        };
        WindowSize { transfer, bid, accepted: accepted.max(transfer) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_times_are_the_published_ones() {
        let timing = Timing::published();
        assert_eq!(timing.round_trip(), Span::from_ns(6848));
        assert_eq!(timing.lead(), Span::from_ns(5848));
        assert_eq!(timing.frame_time(), Span::from_ns(8080));
    }

    /// The window widths of SURGE d92018f, in ns.
    #[test]
    fn windows_are_as_wide_as_the_published_ones() {
        let timing = Timing::published();
        for (delivery, kib, bid, accepted) in [
            (Delivery::Multicast, 16, 30_870, 22_790),
            (Delivery::Multicast, 128, 166_159, 125_765),
            (Delivery::Multicast, 1024, 1_319_474, 1_062_682),
            (Delivery::Unicast, 16, 30_870, 29_870),
            (Delivery::Unicast, 128, 130_553, 129_553),
            (Delivery::Unicast, 1024, 1_036_730, 1_035_730),
        ] {
            let size = WindowRule::published(delivery).size_for(&timing, Size::from_kib(kib));
            assert_eq!(size.bid, Span::from_ns(bid), "{delivery:?} {kib} KiB");
            assert_eq!(size.accepted, Span::from_ns(accepted), "{delivery:?} {kib} KiB");
        }
    }
}
