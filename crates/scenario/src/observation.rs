//! What happened in a run, as values: requests, reserved windows, messages, payload and disks.

use core::fmt;

use slotcast_protocol::{Failure, RequestId, Window};
use slotcast_units::{Size, Span, Time};

use crate::observe::Place;
use crate::report::Operation;

/// One thing that happened, told as soon as its times are certain.
///
/// A message and the service of a disk are told when they begin, with the time at which they will
/// end, since nothing changes that any more; payload is told when it has arrived. So times may lie
/// after those of the next observation, and after the end of the run. Whatever has begun is told to
/// end: a run that stops tells of the requests, windows and payload that are still under way.
#[derive(Debug, Clone, PartialEq)]
pub enum Observation {
    /// An initiator starts a request.
    RequestStarted {
        /// When.
        at: Time,
        /// Which.
        request: RequestId,
        /// Put or get.
        operation: Operation,
        /// When it was asked for: in an open loop it may have waited.
        asked: Time,
    },
    /// A request ended, or the run did.
    RequestEnded {
        /// When.
        at: Time,
        /// Which.
        request: RequestId,
        /// Put or get.
        operation: Operation,
        /// When it was asked for.
        asked: Time,
        /// When it was started.
        started: Time,
        /// How it ended.
        outcome: Outcome,
    },
    /// A control message to one receiver; a multicast is told once for each.
    Message {
        /// The request that it belongs to.
        request: RequestId,
        /// Its name, as in [`crate::TraceLine::kind`].
        kind: &'static str,
        /// The sender.
        from: Place,
        /// The receiver.
        to: Place,
        /// When it is sent.
        sent: Time,
        /// When it is there; `None` if it is lost.
        received: Option<Time>,
    },
    /// A target reserves a window tentatively.
    WindowBid {
        /// When.
        at: Time,
        /// The target.
        target: u32,
        /// For a chunk that comes, or one that goes.
        way: Way,
        /// For which request.
        request: RequestId,
        /// The window.
        window: Window,
    },
    /// The initiator's acceptance has reached the target.
    WindowAccepted {
        /// When.
        at: Time,
        /// The target.
        target: u32,
        /// For a chunk that comes, or one that goes.
        way: Way,
        /// For which request.
        request: RequestId,
        /// The part of the window that was accepted.
        window: Window,
    },
    /// A window is reserved no longer.
    WindowClosed(ClosedWindow),
    /// Payload has left a port and arrived at its first receiver. Told once for a multicast.
    Sent {
        /// For which request.
        request: RequestId,
        /// The sender.
        from: Place,
        /// The receivers.
        to: Vec<Place>,
        /// How it passed the sender's port.
        course: Course,
    },
    /// Payload has arrived at a port.
    Received {
        /// For which request.
        request: RequestId,
        /// The sender.
        from: Place,
        /// The receiver.
        to: Place,
        /// How it passed the receiver's port.
        course: Course,
    },
    /// A target's disk is given something to do.
    Disk {
        /// For which request.
        request: RequestId,
        /// The target.
        target: u32,
        /// Which of its disks, from 0.
        disk: u16,
        /// A put writes, a get reads.
        operation: Operation,
        /// When the disk was asked: now.
        queued: Time,
        /// When its service begins.
        begin: Time,
        /// When its service ends.
        end: Time,
    },
    /// A target stops, and forgets its reservations.
    TargetDown {
        /// When.
        at: Time,
        /// The target.
        target: u32,
    },
    /// A target is back.
    TargetUp {
        /// When.
        at: Time,
        /// The target.
        target: u32,
    },
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Well.
    Done,
    /// It was given up.
    Failed(Failure),
    /// It was under way when the run ended.
    Unfinished,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Done => f.write_str("done"),
            Outcome::Failed(reason) => write!(f, "given up: {reason:?}"),
            Outcome::Unfinished => f.write_str("unfinished"),
        }
    }
}

/// Which of a target's two calendars a window is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// For chunks that come: puts.
    In,
    /// For chunks that go: gets.
    Out,
}

/// A window from its bid to its end. Edges of windows are times at the sender of the payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClosedWindow {
    /// When the reservation ended.
    pub at: Time,
    /// The target.
    pub target: u32,
    /// For a chunk that comes, or one that goes.
    pub way: Way,
    /// For which request.
    pub request: RequestId,
    /// When it was bid.
    pub bid_at: Time,
    /// What was bid.
    pub bid: Window,
    /// When the acceptance came, and for which part of the bid.
    pub accepted: Option<(Time, Window)>,
    /// How it ended.
    pub fate: Fate,
}

/// How a reservation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Payload came, or went; when it left its sender, as the edges of the window.
    Used {
        /// The first bit.
        begin: Time,
        /// The last bit.
        end: Time,
    },
    /// It was bid, and the initiator cancelled it or asked again, or another one that was bid the same
    /// window accepted first.
    Cancelled,
    /// It was bid, and neither accepted nor cancelled in time.
    Expired,
    /// It was accepted, and no payload came: the transfer is overdue, or the initiator has asked
    /// again, or the target could not send.
    Idle,
    /// The target went down.
    Forgotten,
    /// It was reserved when the run ended.
    Open,
}

/// Payload on its way through a port: pieces in order of time, each at a rate of its own.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Course(Vec<Piece>);

/// Payload that passed a port at one rate, without a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// The first bit.
    pub begin: Time,
    /// The last bit.
    pub end: Time,
    /// How much.
    pub size: Size,
}

impl Piece {
    fn span(&self) -> u128 {
        u128::from((self.end - self.begin).as_ns())
    }

    /// Whether `next` goes on at the end of this one, at exactly the same rate.
    fn goes_on_with(&self, next: &Piece) -> bool {
        let (a, b) = (u128::from(self.size.as_bytes()), u128::from(next.size.as_bytes()));
        self.end == next.begin && a * next.span() == b * self.span()
    }
}

impl Course {
    /// Appends what passes from `begin` to `end`. Nothing of nothing is left out.
    pub fn push(&mut self, begin: Time, end: Time, size: Size) {
        if size == Size::ZERO {
            return;
        }
        let next = Piece { begin, end, size };
        match self.0.last_mut() {
            Some(last) if last.goes_on_with(&next) => {
                last.end = next.end;
                last.size += next.size;
            }
            _ => self.0.push(next),
        }
    }

    /// The same, later: at the other end of the wire.
    pub fn later(&self, span: Span) -> Course {
        let later = |p: &Piece| Piece { begin: p.begin + span, end: p.end + span, ..*p };
        Course(self.0.iter().map(later).collect())
    }

    /// Whether nothing is on its way.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The pieces in order of time; at least one in an observation.
    pub fn pieces(&self) -> &[Piece] {
        &self.0
    }

    /// When the first bit passes; the start of the clock if nothing does.
    pub fn begin(&self) -> Time {
        self.0.first().map_or(Time::ZERO, |piece| piece.begin)
    }

    /// When the last bit passes; the start of the clock if nothing does.
    pub fn end(&self) -> Time {
        self.0.last().map_or(Time::ZERO, |piece| piece.end)
    }

    /// How much passes.
    pub fn size(&self) -> Size {
        self.0.iter().fold(Size::ZERO, |sum, piece| sum + piece.size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(begin: u64, end: u64, bytes: u64) -> Piece {
        Piece {
            begin: Time::from_ns(begin),
            end: Time::from_ns(end),
            size: Size::from_bytes(bytes),
        }
    }

    #[test]
    fn frames_at_one_rate_are_one_piece() {
        let mut course = Course::default();
        let frames =
            [(10, 20, 100), (20, 30, 100), (30, 31, 10), (31, 31, 0), (40, 50, 100), (50, 70, 100)];
        for (begin, end, bytes) in frames {
            course.push(Time::from_ns(begin), Time::from_ns(end), Size::from_bytes(bytes));
        }
        assert_eq!(course.pieces(), [piece(10, 31, 210), piece(40, 50, 100), piece(50, 70, 100)]);
        assert_eq!((course.begin(), course.end()), (Time::from_ns(10), Time::from_ns(70)));
        assert_eq!(course.size(), Size::from_bytes(410));
        assert_eq!(course.later(Span::from_ns(5)).pieces()[0], piece(15, 36, 210));
    }
}
