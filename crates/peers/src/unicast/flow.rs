//! One transfer at a rate that changes while it lasts.

use slotcast_engine::TimerId;
use slotcast_units::{Rate, Size, Span, Time};

/// Which way payload goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    /// From the initiator to the target.
    Put,
    /// From the target to the initiator.
    Get,
}

/// A transfer between one initiator and one target.
///
/// Payload leaves in frames, each at the rate that holds when it starts. A flow knows the times of
/// all its frames while its rate stays, so that the host needs an event for the last one only.
///
/// The next frame may start when the one before has left, and when its bits have come together at the rates
/// that held meanwhile (a token bucket of one frame). So a lower rate delays the next frame at once, and a
/// higher one counts from the next frame on, as in SURGE's flows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Flow {
    pub(super) operation: u32,
    pub(super) initiator: u32,
    pub(super) target: u32,
    pub(super) direction: Direction,
    /// Tells this flow from another that uses the same slot later.
    pub(super) serial: u16,
    pub(super) size: Size,
    frame: Size,
    frames: u64,
    /// Frames that have left by `left`.
    sent: u64,
    /// When the frame that was sent last has left, if one was.
    left: Time,
    /// The bits of the next frame have come together, if the rate stays.
    paced: Time,
    /// The next frame may start: not before `left` and `paced`.
    boundary: Time,
    rate: Rate,
    pub(super) state: FlowState,
    /// The event for the next frame that needs one.
    pub(super) timer: Option<TimerId>,
    /// UCH-AIMD: bits sent since the rate last grew, and when it was last cut.
    pub(super) unpunished_bits: u64,
    pub(super) last_cut: Time,
}

/// How far a flow is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FlowState {
    /// Asked for; a rate may be known but not the leave to start.
    Requested,
    /// Frames leave.
    Sending,
    /// The last frame has started.
    LastFrame,
}

impl Flow {
    pub(super) fn new(
        operation: u32,
        (initiator, target): (u32, u32),
        direction: Direction,
        serial: u16,
        size: Size,
        frame: Size,
    ) -> Flow {
        Flow {
            operation,
            initiator,
            target,
            direction,
            serial,
            size,
            frame,
            frames: size.as_bytes().div_ceil(frame.as_bytes()),
            sent: 0,
            left: Time::ZERO,
            paced: Time::ZERO,
            boundary: Time::ZERO,
            rate: Rate::from_bps(0),
            state: FlowState::Requested,
            timer: None,
            unpunished_bits: 0,
            last_cut: Time::ZERO,
        }
    }

    pub(super) fn rate(&self) -> Rate {
        self.rate
    }

    /// Size of the last frame, 1 to a full one.
    pub(super) fn last_frame(&self) -> Size {
        self.size - self.frame * (self.frames - 1)
    }

    /// Size of the frame that starts at the boundary.
    pub(super) fn next_frame(&self) -> Size {
        if self.sent + 1 == self.frames { self.last_frame() } else { self.frame }
    }

    /// Whether the frame that starts at the boundary is the last.
    pub(super) fn next_is_last(&self) -> bool {
        self.sent + 1 == self.frames
    }

    fn frame_time(&self) -> Span {
        self.rate.time_for(self.frame)
    }

    /// The first frame may leave at `start`, with the rate that is set.
    pub(super) fn start(&mut self, start: Time) {
        self.boundary = start;
        self.state = FlowState::Sending;
    }

    /// When the last frame starts, if the rate stays.
    pub(super) fn last_frame_start(&self) -> Time {
        self.boundary + self.frame_time() * (self.frames - 1 - self.sent)
    }

    /// Changes the rate. A flow that has not started only takes note.
    pub(super) fn set_rate(&mut self, now: Time, rate: Rate) {
        if self.state == FlowState::Sending && now > self.boundary {
            let started = (now - self.boundary).as_ns().div_ceil(self.frame_time().as_ns());
            let started = started.min(self.frames - 1 - self.sent);
            self.frame_left(self.boundary + self.frame_time() * started);
            self.sent += started;
        }
        if self.paced > now && rate != self.rate {
            let to_come = self.rate.bits_in(self.paced - now);
            self.paced = now + rate.time_for_bits(to_come);
            self.boundary = self.left.max(self.paced);
        }
        self.rate = rate;
    }

    /// The last of the frames that were sent so far has left at `end`.
    fn frame_left(&mut self, end: Time) {
        (self.left, self.paced, self.boundary) = (end, end, end);
    }

    /// Frame by frame: the frame at the boundary leaves at `now` and ends at the new boundary.
    pub(super) fn send_frame(&mut self, now: Time) -> Size {
        let size = self.next_frame();
        self.sent += 1;
        self.frame_left(now + self.rate.time_for(size));
        size
    }

    /// The last frame starts at `now`; says when it has left.
    pub(super) fn send_last(&mut self, now: Time) -> Time {
        self.state = FlowState::LastFrame;
        self.sent = self.frames;
        self.frame_left(now + self.rate.time_for(self.last_frame()));
        self.left
    }

    /// When the next frame may start.
    pub(super) fn boundary(&self) -> Time {
        self.boundary
    }

    /// When the next frame may start, and the frames that have left by then.
    pub(super) fn progress(&self) -> (Time, u64) {
        (self.boundary, self.sent)
    }

    /// The size of so many full frames.
    pub(super) fn size_of(&self, frames: u64) -> Size {
        self.frame * frames
    }

    /// What has not started to leave by `now`.
    pub(super) fn unsent(&self, now: Time) -> Size {
        let started = match self.state {
            FlowState::Requested => 0,
            FlowState::LastFrame => self.frames,
            FlowState::Sending if now < self.boundary => self.sent,
            FlowState::Sending => {
                self.sent + 1 + (now - self.boundary) / self.frame_time().max(Span::from_ns(1))
            }
        };
        self.size.saturating_sub(self.frame * started)
    }

    /// What the receiver still misses at `now`: whole frames count when their end has arrived.
    pub(super) fn missing(&self, now: Time, trip: Span) -> Size {
        let seen = now.saturating_sub(trip);
        let arrived = match self.state {
            FlowState::Requested => 0,
            FlowState::Sending | FlowState::LastFrame if seen >= self.boundary => {
                let more = (seen - self.boundary) / self.frame_time().max(Span::from_ns(1));
                (self.sent + more).min(self.frames - 1)
            }
            // Frames before the boundary, of which some are on their way.
            _ => {
                let behind = self.left.saturating_since(seen).as_ns();
                let behind = behind.div_ceil(self.frame_time().as_ns().max(1));
                self.sent.saturating_sub(behind)
            }
        };
        self.size.saturating_sub(self.frame * arrived)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(kib: u64) -> Flow {
        let size = Size::from_kib(kib);
        let mut flow = Flow::new(0, (0, 0), Direction::Put, 0, size, Size::from_bytes(9000));
        flow.set_rate(Time::ZERO, Rate::from_bps(9_900_000_000));
        flow
    }

    #[test]
    fn a_flow_at_one_rate_takes_the_time_of_its_frames() {
        let mut flow = flow(128);
        flow.start(Time::from_ns(1000));
        assert_eq!(flow.last_frame(), Size::from_bytes(5072));
        assert_eq!(flow.last_frame_start(), Time::from_ns(1000 + 14 * 7272));
        let end = flow.send_last(flow.last_frame_start());
        assert_eq!(end, Time::from_ns(1000 + 14 * 7272 + 4098));
    }

    /// 45 440 of the second frame's 72 000 bits are still to come when the rate is halved.
    #[test]
    fn a_lower_rate_delays_the_next_frame() {
        let mut flow = flow(128);
        flow.start(Time::ZERO);
        flow.set_rate(Time::from_ns(10_000), Rate::from_bps(4_950_000_000));
        let next = 10_000 + 2 * (2 * 7272 - 10_000);
        assert_eq!(flow.boundary(), Time::from_ns(next - 1), "bits are rounded down");
        assert_eq!(flow.last_frame_start(), Time::from_ns(next - 1 + 12 * 14_545));
        assert_eq!(flow.unsent(Time::from_ns(next - 2)), Size::from_kib(128) - flow.size_of(2));
        assert_eq!(flow.missing(Time::from_ns(2 * 7272), Span::ZERO), flow.size - flow.size_of(2));
    }

    #[test]
    fn a_higher_rate_holds_from_the_next_frame_on() {
        let mut flow = flow(128);
        flow.set_rate(Time::ZERO, Rate::from_bps(4_950_000_000));
        flow.start(Time::ZERO);
        flow.set_rate(Time::from_ns(10_000), Rate::from_bps(9_900_000_000));
        assert_eq!(flow.last_frame_start(), Time::from_ns(14_545 + 13 * 7272));
        // Cut and restored while the same frame leaves: the bits of the next are there with its end.
        flow.set_rate(Time::from_ns(15_000), Rate::from_bps(4_950_000_000));
        flow.set_rate(Time::from_ns(15_000), Rate::from_bps(9_900_000_000));
        assert_eq!(flow.boundary(), Time::from_ns(14_545 + 7272));
    }

    #[test]
    fn the_receiver_sees_whole_frames_a_trip_later() {
        let mut flow = flow(16);
        let trip = Span::from_us(1);
        assert_eq!(flow.missing(Time::from_ns(500), trip), Size::from_kib(16));
        flow.start(Time::from_ns(2000));
        assert_eq!(flow.missing(Time::from_ns(2000 + 7272 + 999), trip), Size::from_kib(16));
        assert_eq!(
            flow.missing(Time::from_ns(2000 + 7272 + 1000), trip),
            Size::from_bytes(16384 - 9000)
        );
    }
}
