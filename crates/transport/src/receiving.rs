//! One chunk that comes in pieces.

use alloc::vec::Vec;

use slotcast_protocol::{PartValue, Parts};
use slotcast_units::{Span, Time};

use crate::datagram::{Data, Report};
use crate::pieces::Pieces;

/// So many times a receiver says by itself what is missing, each time after twice the wait; then it gives
/// the chunk up.
const MAX_REMINDERS: u8 = 6;

/// A chunk of which some pieces are here.
#[derive(Debug, Clone)]
pub struct Receiving {
    bytes: Vec<u8>,
    values: Vec<PartValue>,
    have: Pieces,
    piece_len: u16,
    pass: u8,
    slack: Span,
    reminders: u8,
    due: Time,
}

impl Receiving {
    /// None of the pieces of the chunk of which `data` is one. Allocates as much as the chunk is long.
    pub fn new(data: &Data<'_>) -> Receiving {
        Receiving {
            bytes: alloc::vec![0; data.length as usize],
            values: alloc::vec![PartValue::default(); data.count() as usize],
            have: Pieces::none(data.count()),
            piece_len: data.piece_len,
            pass: 0,
            slack: data.slack,
            reminders: 0,
            due: Time::NEVER,
        }
    }

    /// Takes a piece at `now`; true if the sender awaits a report. One that does not fit the chunk is not
    /// taken.
    #[must_use]
    pub fn piece(&mut self, now: Time, data: &Data<'_>) -> bool {
        let fits = data.piece_len == self.piece_len
            && data.length as usize == self.bytes.len()
            && u32::from(data.piece) < self.have.count();
        if !fits {
            return false;
        }
        if self.have.insert(u32::from(data.piece)) {
            let at = usize::from(data.piece) * usize::from(self.piece_len);
            if let Some(place) = self.bytes.get_mut(at..at + data.bytes.len()) {
                place.copy_from_slice(data.bytes);
                self.values[usize::from(data.piece)] = data.value;
            }
            self.reminders = 0;
        }
        self.pass = self.pass.max(data.pass);
        self.due = now + self.slack * (1u64 << self.reminders);
        data.is_last || self.is_whole()
    }

    /// Whether all pieces are here.
    pub fn is_whole(&self) -> bool {
        self.have.is_full()
    }

    /// What is missing, for the sender.
    pub fn report(&self, transfer: u32) -> Report {
        Report { transfer, pass: self.pass, missing: self.have.others() }
    }

    /// When [`Receiving::wake`] has something to do.
    pub fn due(&self) -> Time {
        self.due
    }

    /// No piece came for a while: true if a report should remind the sender, false if the chunk is given up.
    #[must_use]
    pub fn wake(&mut self, now: Time) -> bool {
        self.reminders += 1;
        self.due = now + self.slack * (1u64 << self.reminders);
        self.reminders <= MAX_REMINDERS
    }

    /// The chunk, and the values of its pieces.
    ///
    /// # Panics
    /// If a piece is missing.
    pub fn into_chunk(self) -> (Vec<u8>, Parts) {
        assert!(self.have.is_full(), "{} pieces are missing", self.have.others().len());
        (self.bytes, Parts::new(u32::from(self.piece_len), self.values))
    }

    /// How many pieces the chunk has.
    pub fn count(&self) -> u32 {
        self.have.count()
    }

    /// How long the chunk is.
    pub fn length(&self) -> usize {
        self.bytes.len()
    }
}
