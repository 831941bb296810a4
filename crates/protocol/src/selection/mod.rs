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
pub use sequence::{AskNext, Sequence, SequenceRule, earliest_sequence};

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
}

/// Brings candidates into order of time. Bids that start together are ordered by the chunk's name,
/// so that no position in the group is preferred.
pub fn sort_candidates(candidates: &mut [Candidate], chunk: &ChunkId) {
    let tie = chunk.mix(1);
    candidates.sort_unstable_by_key(|c| {
        (c.window.start, crate::ids::finish(tie ^ u64::from(c.position)), c.position)
    });
}

/// Whether a candidate of this `domain` may join `chosen`, among members with the domains in `taken`.
fn domain_is_free(domain: u32, chosen: &[Candidate], taken: &[u32]) -> bool {
    !taken.contains(&domain) && chosen.iter().all(|c| c.domain != domain)
}

/// The chosen members, in the order in which they will receive.
pub type Chosen = Vec<Candidate>;

/// A candidate with a domain of its own, for tests.
#[cfg(test)]
fn candidate(position: u8, start: u64, end: u64) -> Candidate {
    use slotcast_units::Time;
    let window = Window { start: Time::from_ns(start), end: Time::from_ns(end) };
    Candidate { position, domain: u32::from(position), window }
}
