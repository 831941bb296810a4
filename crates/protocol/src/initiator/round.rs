//! One round of asking a group: who was asked, who has not answered, and how long the group wants to be
//! left alone.

use slotcast_units::Span;

use crate::group::Members;

/// The current round of a put or get.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Round {
    /// Rounds asked so far.
    pub(super) count: u8,
    /// Members asked in this round; they may hold reservations for it until it ends.
    pub(super) asked: Members,
    /// Of these, the ones that have not answered.
    silent: Members,
    /// Of these, the ones that have answered and are available.
    pub(super) available: Members,
    /// Of these, the ones of which nothing was heard, whatever the host has answered for them.
    unheard: Members,
    /// Of these, the ones that have no room.
    pub(super) full: Members,
    /// Shortest wait that a member without room for a reservation asked for.
    pub(super) retry_after: Option<Span>,
}

impl Round {
    /// Starts the next round; gives its number.
    pub(super) fn begin(&mut self, asked: Members) -> u8 {
        let number = self.count;
        *self = Round {
            count: number + 1,
            asked,
            silent: asked,
            available: Members::NONE,
            unheard: asked,
            full: Members::NONE,
            retry_after: None,
        };
        number
    }

    /// The number of the current round.
    pub(super) fn number(&self) -> u8 {
        self.count.wrapping_sub(1)
    }

    /// Takes note of an answer; false if it belongs to another round, or is a repeated one.
    pub(super) fn answered(&mut self, round: u8, position: u8) -> bool {
        let is_new = self.number() == round && self.silent.remove(position);
        if is_new {
            self.available.insert(position);
        }
        is_new
    }

    /// Takes note that a member has said something itself, in time or late; false if it has before.
    pub(super) fn heard(&mut self, round: u8, position: u8) -> bool {
        self.number() == round && self.unheard.remove(position)
    }

    /// `members` are not available: they are not waited for, whether they have answered or not.
    pub(super) fn unavailable(&mut self, members: Members) {
        self.silent = self.silent.without(members);
        self.available = self.available.without(members);
    }

    /// A member has no room for the chunk.
    pub(super) fn has_no_room(&mut self, position: u8) {
        self.full.insert(position);
        self.available.remove(position);
    }

    /// A member has no room for a reservation.
    pub(super) fn not_now(&mut self, retry_after: Span) {
        self.retry_after = Some(self.retry_after.map_or(retry_after, |r| r.min(retry_after)));
    }

    /// Whether all answers are in.
    pub(super) fn is_complete(&self) -> bool {
        self.silent.is_empty()
    }

    /// Whoever is silent will not be waited for.
    pub(super) fn give_up_on_silent(&mut self) {
        self.silent = Members::NONE;
    }

    /// Ends the round; gives those who may hold reservations.
    pub(super) fn end(&mut self) -> Members {
        core::mem::take(&mut self.asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_count_once_and_in_their_round() {
        let mut round = Round::default();
        assert_eq!(round.begin(Members::first(2)), 0);
        assert!(!round.answered(1, 0), "another round");
        assert!(round.answered(0, 0));
        assert!(!round.answered(0, 0), "a repeated answer");
        assert!(!round.answered(0, 5), "nobody asked it");
        assert!(!round.is_complete());
        assert!(round.answered(0, 1));
        assert!(round.is_complete());
        assert_eq!(round.begin(Members::NONE), 1);
    }

    #[test]
    fn the_shortest_wait_is_kept() {
        let mut round = Round::default();
        round.not_now(Span::from_us(5));
        round.not_now(Span::from_us(3));
        round.not_now(Span::from_us(9));
        assert_eq!(round.retry_after, Some(Span::from_us(3)));
    }
}
