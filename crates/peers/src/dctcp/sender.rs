//! The sending end of a stream: what may leave, what is on its way, and what must be sent again.
//!
//! Every frame is acknowledged by itself, as with selective acknowledgements (RFC 2018). A frame is
//! taken for lost when one that left three frames later has been acknowledged: the network keeps the
//! order, so nothing but a loss makes such a gap (the rule of RFC 5681 counted in the order of
//! transmission, as RACK does, RFC 8985; so a lost retransmission is found as well). What no later
//! frame gives away is found by the retransmission timeout (RFC 6298).

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use slotcast_units::{Span, Time};

use super::congestion::{Acknowledged, Congestion, CongestionRules};

/// Acknowledgements of later frames after which a frame is taken for lost (RFC 5681, 3.2).
const LATER_FRAMES: u64 = 3;

/// The longest retransmission timeout (RFC 6298, 2.5).
const LONGEST_TIMEOUT: Span = Span::from_secs(60);

/// What is the same for all senders.
#[derive(Debug, Clone, Copy)]
pub(super) struct SenderRules {
    pub(super) congestion: CongestionRules,
    pub(super) min_rto: Span,
    pub(super) idle_restart: bool,
    /// The round trip that a connection has measured when it was set up.
    pub(super) base_round_trip: Span,
    /// Bytes that a receiver takes before it has told how many.
    pub(super) receive_buffer: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    OnItsWay,
    Acknowledged,
    Lost,
}

/// A frame that was sent and is not yet acknowledged together with all before it.
#[derive(Debug, Clone, Copy)]
struct Segment {
    start: u64,
    len: u32,
    fate: Fate,
    /// The number of its latest transmission.
    transmission: u64,
}

impl Segment {
    fn end(&self) -> u64 {
        self.start + u64::from(self.len)
    }
}

/// A frame that leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Departure {
    pub(super) start: u64,
    pub(super) len: u32,
    pub(super) transmission: u64,
    pub(super) again: bool,
}

/// An acknowledgement as it arrives.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ack {
    /// The frame that it is for.
    pub(super) start: u64,
    pub(super) transmission: u64,
    pub(super) sent: Time,
    pub(super) marked: bool,
    /// How far into the stream the receiver has room.
    pub(super) edge: u64,
}

/// The sending end of a stream.
#[derive(Debug)]
pub(super) struct Sender {
    /// Everything before it is acknowledged.
    acknowledged: u64,
    /// The first byte that was never sent.
    next: u64,
    /// What the application has written ends here.
    end: u64,
    /// The receiver has room up to here.
    edge: u64,
    segments: VecDeque<Segment>,
    /// Bytes on their way.
    in_flight: u64,
    /// Segments to be sent again, and segments acknowledged above a gap.
    lost: u32,
    above_a_gap: u32,
    transmissions: u64,
    latest_acknowledged: u64,
    /// A loss is being repaired until everything before this is acknowledged.
    repaired_at: u64,
    /// Whether that loss was found without a timeout: the window stays meanwhile.
    recovering: bool,
    /// The congestion window has held the sender back since the frames before this left.
    limited_until: u64,
    congestion: Congestion,
    smoothed: Span,
    variation: Span,
    doublings: u32,
    last_sent: Time,
    /// When the oldest frame counts as lost; never, if there is none.
    deadline: Time,
    /// Whether an event for a deadline is pending.
    pub(super) timer_set: bool,
    /// Whether the stream waits for its turn on the sender's link.
    pub(super) queued: bool,
}

impl Sender {
    pub(super) fn new(rules: &SenderRules) -> Sender {
        Sender {
            acknowledged: 0,
            next: 0,
            end: 0,
            edge: rules.receive_buffer,
            segments: VecDeque::new(),
            in_flight: 0,
            lost: 0,
            above_a_gap: 0,
            transmissions: 0,
            latest_acknowledged: 0,
            repaired_at: 0,
            recovering: false,
            limited_until: 0,
            congestion: Congestion::new(&rules.congestion),
            smoothed: rules.base_round_trip,
            variation: rules.base_round_trip / 2,
            doublings: 0,
            last_sent: Time::ZERO,
            deadline: Time::NEVER,
            timer_set: false,
            queued: false,
        }
    }

    /// Bytes that were acknowledged, from the start of the stream without a gap.
    pub(super) fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    pub(super) fn deadline(&self) -> Time {
        self.deadline
    }

    #[cfg(test)]
    pub(super) fn congestion(&self) -> &Congestion {
        &self.congestion
    }

    /// The counters against the segments that they count.
    #[cfg(test)]
    pub(super) fn assert_consistent(&self) {
        let with = |fate| self.segments.iter().filter(move |segment| segment.fate == fate);
        let bytes: u64 = with(Fate::OnItsWay).map(|segment| u64::from(segment.len)).sum();
        assert_eq!(self.in_flight, bytes);
        assert_eq!(self.lost as usize, with(Fate::Lost).count());
        assert_eq!(self.above_a_gap as usize, with(Fate::Acknowledged).count());
        let ends = self.segments.iter().try_fold(self.acknowledged, |end, segment| {
            (segment.start == end).then(|| segment.end())
        });
        assert_eq!(ends, Some(self.next), "segments follow each other");
        assert!(
            self.next <= self.edge.min(self.end),
            "never more than written, nor than there is room"
        );
        assert!(self.segments.is_empty() || self.deadline < Time::NEVER);
    }

    /// The application writes `bytes` more; says where they end.
    pub(super) fn write(&mut self, now: Time, bytes: u64, rules: &SenderRules) -> u64 {
        let silent = self.segments.is_empty() && self.next == self.end;
        if silent && rules.idle_restart && now.saturating_since(self.last_sent) > self.rto(rules) {
            self.congestion.restart(&rules.congestion);
        }
        self.end += bytes;
        self.end
    }

    /// The size of the frame that may leave now, if one may.
    pub(super) fn allowed(&mut self, rules: &SenderRules) -> Option<u32> {
        let len = if self.lost > 0 {
            u64::from(self.segments[self.first_lost()].len)
        } else {
            let unsent = (self.end - self.next).min(rules.congestion.frame);
            if unsent == 0 || self.next + unsent > self.edge {
                return None;
            }
            unsent
        };
        if self.in_flight > 0 && self.in_flight + len > self.congestion.window() {
            self.limited_until = self.next;
            return None;
        }
        Some(u32::try_from(len).expect("a frame is at most 1 MiB"))
    }

    fn first_lost(&self) -> usize {
        let lost = self.segments.iter().position(|segment| segment.fate == Fate::Lost);
        lost.expect("lost segments are counted")
    }

    /// The frame of `len` bytes that [`allowed`](Sender::allowed) has just named leaves.
    pub(super) fn send(&mut self, now: Time, len: u32, rules: &SenderRules) -> Departure {
        self.transmissions += 1;
        let transmission = self.transmissions;
        let again = self.lost > 0;
        let start = if again {
            let index = self.first_lost();
            let segment = &mut self.segments[index];
            segment.fate = Fate::OnItsWay;
            segment.transmission = transmission;
            self.lost -= 1;
            segment.start
        } else {
            let start = self.next;
            self.segments.push_back(Segment { start, len, fate: Fate::OnItsWay, transmission });
            self.next += u64::from(len);
            start
        };
        self.in_flight += u64::from(len);
        self.last_sent = now;
        if self.deadline == Time::NEVER {
            self.deadline = now.saturating_add(self.rto(rules));
        }
        Departure { start, len, transmission, again }
    }

    /// The receiver has told how far it has room.
    pub(super) fn opened(&mut self, edge: u64) {
        self.edge = self.edge.max(edge);
    }

    /// A frame was acknowledged.
    pub(super) fn acknowledge(&mut self, now: Time, ack: Ack, rules: &SenderRules) {
        self.opened(ack.edge);
        self.measure(now - ack.sent);
        self.latest_acknowledged = self.latest_acknowledged.max(ack.transmission);
        let index = self.segments.partition_point(|segment| segment.start < ack.start);
        let Some(segment) = self.segments.get_mut(index).filter(|s| s.start == ack.start) else {
            return; // A second copy of what was acknowledged before.
        };
        let bytes = u64::from(segment.len);
        match std::mem::replace(&mut segment.fate, Fate::Acknowledged) {
            Fate::Acknowledged => return,
            Fate::OnItsWay => self.in_flight -= bytes,
            Fate::Lost => self.lost -= 1,
        }
        let end = segment.end();
        self.above_a_gap += 1;
        self.drop_acknowledged();
        if self.above_a_gap > 0 {
            self.find_losses(rules);
        }
        let next = self.next;
        // A window that does not hold the sender back is not known to be too small (RFC 7661).
        let may_grow = end <= self.limited_until && !self.recovering;
        let acknowledged = Acknowledged { end, bytes, marked: ack.marked, next, may_grow };
        self.congestion.acknowledged(acknowledged, &rules.congestion);
        self.doublings = 0;
        self.deadline = match self.segments.is_empty() {
            true => Time::NEVER,
            false => now.saturating_add(self.rto(rules)),
        };
    }

    /// Forgets the segments at the front that are acknowledged.
    fn drop_acknowledged(&mut self) {
        while let Some(front) = self.segments.front()
            && front.fate == Fate::Acknowledged
        {
            self.acknowledged = front.end();
            self.above_a_gap -= 1;
            self.segments.pop_front();
        }
        if self.acknowledged >= self.repaired_at {
            self.recovering = false;
        }
    }

    /// Takes for lost what left three or more frames before one that is acknowledged.
    fn find_losses(&mut self, rules: &SenderRules) {
        let lost_before = self.lost;
        for segment in &mut self.segments {
            let overtaken = segment.transmission + LATER_FRAMES <= self.latest_acknowledged;
            if segment.fate == Fate::OnItsWay && overtaken {
                segment.fate = Fate::Lost;
                self.in_flight -= u64::from(segment.len);
                self.lost += 1;
            }
        }
        if self.lost > lost_before && self.acknowledged >= self.repaired_at {
            self.congestion.lost(&rules.congestion);
            self.repaired_at = self.next;
            self.recovering = true;
        }
    }

    /// A deadline has come: everything on its way is taken for lost, and the window starts again.
    pub(super) fn time_out(&mut self, now: Time, rules: &SenderRules) {
        self.congestion.timed_out(self.in_flight, &rules.congestion);
        for segment in &mut self.segments {
            if segment.fate == Fate::OnItsWay {
                segment.fate = Fate::Lost;
                self.lost += 1;
            }
        }
        self.in_flight = 0;
        self.repaired_at = self.next;
        self.recovering = false;
        self.doublings += 1;
        self.deadline = now.saturating_add(self.rto(rules));
    }

    /// A round trip took `sample` (RFC 6298, 2; the acknowledgement says which transmission it is for).
    fn measure(&mut self, sample: Span) {
        let (smoothed, sample) = (self.smoothed.as_ns(), sample.as_ns());
        let variation = self.variation.as_ns();
        self.variation = Span::from_ns(variation - variation / 4 + smoothed.abs_diff(sample) / 4);
        self.smoothed = Span::from_ns(smoothed - smoothed / 8 + sample / 8);
    }

    fn rto(&self, rules: &SenderRules) -> Span {
        let rto = (self.smoothed + self.variation * 4).max(rules.min_rto);
        (rto * (1 << self.doublings.min(16))).min(LONGEST_TIMEOUT.max(rto))
    }
}
