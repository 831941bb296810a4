//! Surveys: what members of a group at other nodes hold.

use alloc::vec::Vec;

use slotcast_protocol::Members;
use slotcast_transport::{Availability, Body, Survey, SurveyReply};
use slotcast_units::Time;

use super::{Link, LinkEvent};
use crate::effect::Effect;

impl Link {
    /// Asks `to`, which are members at other nodes, and gives those whose nodes are not down.
    pub(crate) fn survey(
        &mut self,
        now: Time,
        to: Members,
        survey: &Survey,
        effects: &mut Vec<Effect>,
    ) -> Members {
        let (_, away) = self.seats.split(self.node, survey.group, to);
        let mut asked = Members::NONE;
        for (node, members) in away {
            if self.suspicions.told(now, node, false) != Availability::Down {
                asked = asked.union(members);
                self.send_to(now, node, Body::Survey(survey.clone()), effects);
            }
        }
        asked
    }

    /// Answers a survey of `node`.
    pub(crate) fn reply(
        &mut self,
        now: Time,
        node: u32,
        reply: SurveyReply,
        effects: &mut Vec<Effect>,
    ) {
        self.send_to(now, node, Body::SurveyReply(reply), effects);
    }

    /// A peer speaks for its own members alone.
    pub(super) fn heard_reply(
        &mut self,
        node: u32,
        reply: &SurveyReply,
        events: &mut Vec<LinkEvent>,
    ) {
        if self.seats.members_on(node, reply.group).contains(reply.position) {
            events.push(LinkEvent::SurveyReply(reply.clone()));
        } else {
            self.counters.malformed += 1;
        }
    }
}
