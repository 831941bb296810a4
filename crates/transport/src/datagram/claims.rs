//! Claims, which versions of datagrams before [`TELLS_CLAIMS`] do not have.

use slotcast_protocol::{Claim, Message, PutRequest, Wanted};

use super::{Body, Survey, SurveyAbout, TELLS_CLAIMS};

impl Body<'_> {
    /// What of it is said in datagrams of `version`. Before [`TELLS_CLAIMS`] no claim is: what is put is
    /// [`Claim::Bare`] then, which is kept and never garbage, and whoever is asked answers for the number alone.
    #[must_use]
    pub fn in_version(self, version: u8) -> Self {
        match self {
            body if version >= TELLS_CLAIMS => body,
            Body::Control(to, Message::PutRequest(asked)) => {
                let asked = PutRequest { claim: Claim::Bare, ..asked };
                Body::Control(to, Message::PutRequest(asked))
            }
            Body::Survey(Survey { number, group, about: SurveyAbout::Chunks(mut chunks) }) => {
                chunks.iter_mut().for_each(|(_, wanted)| *wanted = Wanted::bare(wanted.replicas));
                Body::Survey(Survey { number, group, about: SurveyAbout::Chunks(chunks) })
            }
            body => body,
        }
    }

    /// Whether it can be said in datagrams of `version`.
    pub(super) fn is_of(&self, version: u8) -> bool {
        let is_bare = match self {
            Body::Control(_, Message::PutRequest(asked)) => asked.claim == Claim::Bare,
            Body::Survey(Survey { about: SurveyAbout::Chunks(chunks), .. }) => {
                chunks.iter().all(|(_, wanted)| wanted.claim == Claim::Bare)
            }
            _ => true,
        };
        is_bare || version >= TELLS_CLAIMS
    }
}
