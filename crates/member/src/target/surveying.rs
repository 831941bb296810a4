//! What a target says when others ask what it holds.

use slotcast_protocol::{ChunkId, Intake, Message, Wanted};
use slotcast_transport::{SurveyAbout, SurveySays};

use super::StorageTarget;
use crate::mistake::Mistake;

impl StorageTarget {
    /// Whether what it holds counts as a replica: it answers, its disk writes, and it does not drain.
    pub(crate) fn counts(&self) -> bool {
        self.is_available() && self.intake() != Intake::Closed
    }

    /// What it says in a survey.
    pub(crate) fn says(&self, about: &SurveyAbout) -> SurveySays {
        if !self.counts() {
            return SurveySays::Nothing;
        }
        match about {
            SurveyAbout::Ranges { bits, first, count } => {
                let ranges = *first..*first + u32::from(*count);
                // A wiped disk is another one, and what it holds is never what the one before held.
                let sum = |range| self.store.range_sum(*bits, range).sum ^ self.identity;
                SurveySays::Sums(ranges.map(sum).collect())
            }
            SurveyAbout::Chunks(chunks) => {
                let counts_all = self.mistake == Some(Mistake::ReleasedCounts);
                let is_held = |(chunk, wanted): &(ChunkId, Wanted)| {
                    self.store.wanted(chunk).is_some_and(|held| held.covers(*wanted))
                        && (counts_all || !self.releasing.has(chunk))
                };
                let held = chunks.iter().enumerate().filter(|(_, chunk)| is_held(chunk));
                SurveySays::Held(held.fold(0, |all, (bit, _)| all | 1 << bit))
            }
        }
    }

    /// Whether a chunk is asked for that may lie in a segment that could not be read when the store was opened: that
    /// it is not held cannot be said.
    pub(super) fn cannot_tell(&self, message: &Message) -> bool {
        let chunk = match message {
            Message::GetRequest(asked) => &asked.chunk,
            Message::FindRequest(asked) => &asked.chunk,
            _ => return false,
        };
        !self.store.knows_all() && self.store.length(chunk).is_none()
    }
}
