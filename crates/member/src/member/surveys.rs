//! Surveys: what the members of a group hold, asked for the repair of a target here.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use slotcast_protocol::{GroupId, Members, RepairInput, TargetId, ranges};
use slotcast_transport::{Survey, SurveyAbout, SurveyReply, SurveySays};
use slotcast_units::Time;

use super::Member;
use crate::mistake::Mistake;
use crate::target::{StorageTarget, TargetInput};
use crate::timers::Timer;

/// How often members are asked that do not answer.
const TRIES: u8 = 2;

/// A survey under way.
#[derive(Debug, Clone)]
pub(super) struct Surveying {
    /// For whose repair.
    target: TargetId,
    /// As that numbers it, if it is about chunks.
    number: u32,
    group: GroupId,
    about: SurveyAbout,
    awaited: Members,
    tries: u8,
    replies: BTreeMap<u8, SurveySays>,
}

impl Member {
    /// The repair of `target` wants to know what the other members hold.
    pub(super) fn survey(&mut self, now: Time, target: TargetId, number: u32, about: SurveyAbout) {
        let (group, own) = self.groups.seat(target);
        let counts = self.targets.get(&target).is_some_and(StorageTarget::counts);
        let is_about_ranges = matches!(about, SurveyAbout::Ranges { .. });
        // Sums do not say whether this target itself counts.
        if self.is_to_wait(now, target) || is_about_ranges && !counts {
            let input = match about {
                SurveyAbout::Ranges { .. } => RepairInput::Compared(None),
                SurveyAbout::Chunks(_) => {
                    RepairInput::Surveyed { number, enough: 0, is_to_wait: true }
                }
            };
            return self.tell_target(now, target, TargetInput::Repair(input));
        }
        self.surveyed = self.surveyed.wrapping_add(1);
        let survey = self.surveyed;
        let mut others = Members::NONE;
        let mut replies = BTreeMap::new();
        for (position, member) in (0..).zip(self.groups.members(group)) {
            match self.targets.get(member) {
                _ if position == own || self.groups.find(*member).is_none() => {}
                Some(here) => drop(replies.insert(position, here.says(&about))),
                None => others.insert(position),
            }
        }
        let surveying =
            Surveying { target, number, group, about, awaited: others, tries: 0, replies };
        self.surveying.insert(survey, surveying);
        self.ask_again(now, survey);
    }

    /// Asks those who have not answered; ends the survey if there are none, or they were asked often enough.
    pub(super) fn ask_again(&mut self, now: Time, number: u32) {
        let Some(surveying) = self.surveying.get_mut(&number) else { return };
        let is_last = surveying.tries == TRIES || surveying.awaited.is_empty();
        if !is_last && let Some(link) = &mut self.outbox.link {
            surveying.tries += 1;
            let (group, about) = (surveying.group, surveying.about.clone());
            let survey = Survey { number, group, about };
            let asked = link.survey(now, surveying.awaited, &survey, &mut self.outbox.effects);
            // Whoever is gone holds nothing that counts.
            for gone in surveying.awaited.without(asked).iter() {
                surveying.replies.insert(gone, SurveySays::Nothing);
            }
            surveying.awaited = asked;
            if !asked.is_empty() {
                return self.timers.at(now + self.survey_timeout, Timer::Survey(number));
            }
        }
        self.end_survey(now, number);
    }

    /// A peer asks what members here hold.
    pub(super) fn answer_survey(&mut self, now: Time, node: u32, survey: &Survey) {
        let Survey { number, group, about } = survey;
        if group.0 >= self.groups.groups() {
            return;
        }
        for (position, member) in (0..).zip(self.groups.members(*group)) {
            let Some(here) = self.targets.get(member) else { continue };
            let says = here.says(about);
            let reply = SurveyReply { number: *number, group: *group, position, says };
            if let Some(link) = &mut self.outbox.link {
                link.reply(now, node, reply, &mut self.outbox.effects);
            }
        }
    }

    /// A member at a peer has answered.
    pub(super) fn take_reply(&mut self, now: Time, reply: SurveyReply) {
        let SurveyReply { number, group, position, says } = reply;
        let Some(surveying) = self.surveying.get_mut(&number) else { return };
        let fits = match (&surveying.about, &says) {
            (_, SurveySays::Nothing) | (SurveyAbout::Chunks(_), SurveySays::Held(_)) => true,
            (SurveyAbout::Ranges { count, .. }, SurveySays::Sums(sums)) => {
                sums.len() == usize::from(*count)
            }
            _ => false,
        };
        if fits && surveying.group == group && surveying.awaited.contains(position) {
            surveying.awaited.remove(position);
            surveying.replies.insert(position, says);
            if surveying.awaited.is_empty() {
                self.end_survey(now, number);
            }
        }
    }

    fn end_survey(&mut self, now: Time, number: u32) {
        let Some(surveying) = self.surveying.remove(&number) else { return };
        let input = match &surveying.about {
            SurveyAbout::Ranges { count, .. } => {
                RepairInput::Compared(self.combined(&surveying, usize::from(*count)))
            }
            SurveyAbout::Chunks(chunks) => {
                let forgets = self.errs(Mistake::RepairForgets);
                let enough = (0..).zip(chunks).filter(|(bit, (chunk, replicas))| {
                    self.is_on_enough(&surveying, *bit, *replicas)
                        || forgets && chunk.0[0].is_multiple_of(4)
                });
                let enough = enough.fold(0, |all, (bit, _)| all | 1 << bit);
                RepairInput::Surveyed { number: surveying.number, enough, is_to_wait: false }
            }
        };
        self.tell_target(now, surveying.target, TargetInput::Repair(input));
    }

    /// What the others hold in each range, if all have answered.
    fn combined(&self, surveying: &Surveying, count: usize) -> Option<Box<[u64]>> {
        if !surveying.awaited.is_empty() && !self.errs(Mistake::BelievesOldRanges) {
            return None;
        }
        let said: Vec<(u8, Option<&[u64]>)> = surveying
            .replies
            .iter()
            .map(|(position, says)| match says {
                SurveySays::Sums(sums) => (*position, Some(&sums[..])),
                SurveySays::Nothing | SurveySays::Held(_) => (*position, None),
            })
            .collect();
        let said = if self.errs(Mistake::BelievesOldRanges) { &[] } else { &said[..] };
        let epoch = self.map.as_ref().map_or(0, |map| map.epoch);
        Some(ranges::combined(epoch, said, count).into())
    }

    /// Whether a chunk of a survey, that of this bit, is on so many members of different failure domains.
    fn is_on_enough(&self, surveying: &Surveying, bit: u32, replicas: u8) -> bool {
        let (_, own) = self.groups.seat(surveying.target);
        let counts = self.targets.get(&surveying.target).is_some_and(StorageTarget::counts);
        let mut holders = if counts { Members::only(own) } else { Members::NONE };
        for (position, says) in &surveying.replies {
            if matches!(says, SurveySays::Held(held) if held >> bit & 1 == 1) {
                holders.insert(*position);
            }
        }
        if self.errs(Mistake::CountsSilent) {
            holders = holders.union(surveying.awaited);
        }
        let groups = &self.groups;
        // Where there are fewer failure domains, a chunk is on as many as there are. Further ones come with another map.
        let takers = groups.members_for_puts(surveying.group);
        let possible = groups.domains_of(surveying.group, takers).max(1);
        let replicas = usize::from(self.to_repair(replicas));
        groups.domains_of(surveying.group, holders) >= replicas.min(possible)
    }
}
