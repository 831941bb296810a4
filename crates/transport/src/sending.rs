//! One chunk that leaves in pieces.
//!
//! ```text
//!            all pieces sent             everybody has all
//!  sending -----------------> awaiting --------------------> over
//!     ^                          |  |
//!     +--------------------------+  +-- nobody says anything: the last piece again, then given up
//!       somebody lacks some: those again
//! ```

use alloc::vec::Vec;

use slotcast_units::{Rate, Size, Span, Time};

use crate::datagram::Report;
use crate::pieces::Pieces;

/// How a chunk is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// When the first piece may leave.
    pub start: Time,
    /// How fast the pieces may leave.
    pub rate: Rate,
    /// How long reports are awaited before the last piece is repeated; doubled each time.
    pub slack: Span,
    /// When the chunk is given up.
    pub give_up: Time,
}

/// What a sender is to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Send the pieces that were listed, and ask again; the last of them ends its pass or not.
    Send {
        /// Which pass.
        pass: u8,
        /// Whether the last one listed is the last of its pass.
        ends_pass: bool,
    },
    /// Nothing until this time, or a report.
    Wait(Time),
    /// It is over; true if everybody has the chunk.
    Over(bool),
}

#[derive(Debug, Clone)]
struct Receiver {
    node: u32,
    has_all: bool,
    /// Has said in this pass what it lacks.
    has_reported: bool,
}

/// A chunk on its way to one or more nodes.
#[derive(Debug, Clone)]
pub struct Sending {
    pace: Pace,
    piece_time: Span,
    count: u32,
    receivers: Vec<Receiver>,
    to_send: Pieces,
    /// Missing somewhere after this pass.
    lacking: Pieces,
    pass: u8,
    at: u32,
    due: Time,
    /// All of this pass is sent; reports are awaited.
    awaiting: bool,
    polls: u8,
}

/// How often the rate is halved.
const MAX_HALVINGS: u8 = 4;

/// How far a sender that is late may catch up at full speed.
const CATCH_UP: Span = Span::from_us(500);

impl Sending {
    /// A chunk of `count` pieces of `piece_len` bytes to `nodes`.
    ///
    /// # Panics
    /// If there are no pieces or no nodes.
    pub fn new(pace: Pace, count: u32, piece_len: u16, nodes: &[u32]) -> Sending {
        assert!(count > 0 && !nodes.is_empty(), "something to send, and somebody to send it to");
        let receiver = |node: &u32| Receiver { node: *node, has_all: false, has_reported: false };
        Sending {
            pace,
            piece_time: pace.rate.time_for(Size::from_bytes(u64::from(piece_len))),
            count,
            receivers: nodes.iter().map(receiver).collect(),
            to_send: Pieces::all(count),
            lacking: Pieces::none(count),
            pass: 0,
            at: 0,
            due: pace.start,
            awaiting: false,
            polls: 0,
        }
    }

    /// What to do at `now`. With [`Next::Send`], `pieces` lists what is due, in ascending order, `most` at
    /// most.
    #[must_use]
    pub fn next(&mut self, now: Time, most: usize, pieces: &mut Vec<u32>) -> Next {
        pieces.clear();
        if self.is_over() {
            return Next::Over(true);
        }
        if now >= self.pace.give_up {
            return Next::Over(false);
        }
        if now < self.due {
            return Next::Wait(self.due.min(self.pace.give_up));
        }
        if self.awaiting {
            if self.lacking.is_empty() {
                // Nobody has said anything: the end of the pass, or the reports, are lost.
                pieces.push(self.count - 1);
                self.await_reports(now);
                return Next::Send { pass: self.pass, ends_pass: true };
            }
            self.repeat(now);
        }
        let mut from = self.at;
        while pieces.len() < most
            && let Some(piece) = self.to_send.next(from)
        {
            pieces.push(piece);
            from = piece + 1;
        }
        self.at = from;
        let sent = self.piece_time() * pieces.len() as u64;
        let earliest = now.saturating_sub(CATCH_UP);
        self.due = self.due.max(earliest) + sent;
        let ends_pass = self.to_send.next(self.at).is_none();
        if ends_pass {
            self.polls = 0;
            self.await_reports(now.max(self.due));
        }
        Next::Send { pass: self.pass, ends_pass }
    }

    /// How it is sent.
    pub fn pace(&self) -> &Pace {
        &self.pace
    }

    /// How long a piece of this pass takes at the rate of the pass: what is repeated leaves at half the rate
    /// each time, since loss suggests congestion.
    pub fn piece_time(&self) -> Span {
        self.piece_time * (1u64 << self.pass.min(MAX_HALVINGS))
    }

    /// The last piece that was listed has left at `now`, if that is later than was planned: reports are awaited
    /// from then on.
    pub fn left(&mut self, now: Time) {
        if self.awaiting && !self.is_settled() {
            self.due = self.due.max(now + self.pace.slack);
        }
    }

    /// Whether everybody has said what it lacks, or that it has all.
    fn is_settled(&self) -> bool {
        self.receivers.iter().all(|receiver| receiver.has_all || receiver.has_reported)
    }

    /// Whether everybody has the chunk.
    pub fn is_over(&self) -> bool {
        self.receivers.iter().all(|receiver| receiver.has_all)
    }

    /// `node` says what it lacks.
    pub fn reported(&mut self, now: Time, node: u32, report: &Report) {
        let Some(receiver) = self.receivers.iter_mut().find(|r| r.node == node) else { return };
        if report.missing.count() != self.count {
            return;
        }
        if report.missing.is_empty() {
            receiver.has_all = true;
        } else if self.awaiting && report.pass == self.pass {
            receiver.has_reported = true;
            self.lacking.add(&report.missing);
        } else {
            // It speaks of a pass that is over, or has not ended.
            return;
        }
        if self.awaiting && self.is_settled() {
            self.due = now;
        }
    }

    /// The nodes that have not said that they have all.
    pub fn waiting_for(&self) -> impl Iterator<Item = u32> {
        self.receivers.iter().filter(|receiver| !receiver.has_all).map(|receiver| receiver.node)
    }

    fn await_reports(&mut self, now: Time) {
        self.awaiting = true;
        self.due = now + self.pace.slack * (1u64 << self.polls.min(10));
        self.polls = self.polls.saturating_add(1);
    }

    fn repeat(&mut self, now: Time) {
        self.to_send = core::mem::replace(&mut self.lacking, Pieces::none(self.count));
        self.pass = self.pass.saturating_add(1);
        self.at = 0;
        self.due = now;
        self.awaiting = false;
        self.receivers.iter_mut().for_each(|receiver| receiver.has_reported = false);
    }
}
