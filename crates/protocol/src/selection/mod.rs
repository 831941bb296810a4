//! How an initiator chooses among bids.
//!
//! Pure functions over the bids of one round, so that each choice can be tested, compared and
//! replaced on its own.

mod common_window;
mod link;
mod sequence;

use alloc::vec::Vec;

pub use common_window::{CommonWindow, earliest_common_window};
pub use link::LinkSchedule;
pub use sequence::{AskNext, Idle, Sequence, SequenceRule, earliest_sequence};

use slotcast_units::Span;

use crate::ids::ChunkId;
use crate::window::Window;

/// A window bid by one member of the group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    /// The member's position in the group.
    pub position: u8,
    /// Its failure domain: no two chosen members share one.
    pub domain: u32,
    /// The window.
    pub window: Window,
    /// For how long its disk has work, as the bid says.
    pub backlog: Span,
    /// Its [`lot`].
    pub lot: u64,
}

/// Which of several bids is taken where transfers would begin together, so that time does not decide. They
/// begin together if all are held up by the same: the initiator, who cannot send earlier, its link, or the
/// last member of a common window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ties {
    /// The one that starts first; bids that start together are drawn by the chunk's name. The paper's figures
    /// are repeated with it.
    #[default]
    ByName,
    /// The one whose disk is the least busy; equally busy ones are drawn by the chunk's name. An
    /// addition to the Replicast paper.
    ByBacklog,
}

/// What the chunk's name draws for a member: the lowest lot comes first, so that no position in the group is
/// preferred.
pub fn lot(chunk: &ChunkId, position: u8) -> u64 {
    crate::ids::finish(chunk.mix(1) ^ u64::from(position))
}

/// Brings candidates into order of time; those that start together by lot.
pub fn sort_candidates(candidates: &mut [Candidate]) {
    candidates.sort_unstable_by_key(|c| (c.window.start, c.lot, c.position));
}

/// What comes first of what begins together, if the least busy is preferred.
fn by_backlog(candidate: &Candidate) -> (Span, u64, u8) {
    (candidate.backlog, candidate.lot, candidate.position)
}

/// Whether a candidate of this `domain` may join `chosen`, among members with the domains in `taken`.
fn domain_is_free(domain: u32, chosen: &[Candidate], taken: &[u32]) -> bool {
    !taken.contains(&domain) && chosen.iter().all(|c| c.domain != domain)
}

/// The chosen members, in the order in which they will receive.
pub type Chosen = Vec<Candidate>;

/// A candidate with a domain of its own and an idle disk, for tests.
#[cfg(test)]
fn candidate(position: u8, start: u64, end: u64) -> Candidate {
    use slotcast_units::Time;
    let window = Window { start: Time::from_ns(start), end: Time::from_ns(end) };
    let lot = lot(&ChunkId([3; 32]), position);
    Candidate { position, domain: u32::from(position), window, backlog: Span::ZERO, lot }
}
