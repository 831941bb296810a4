//! Surveys: what the members of a group hold, asked for the repair of a target here.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use slotcast_protocol::{
    Answers, ChunkId, GroupId, Members, RepairInput, TargetId, Wanted, keepers, ranges,
};
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
    purpose: Purpose,
    group: GroupId,
    about: SurveyAbout,
    awaited: Members,
    tries: u8,
    replies: BTreeMap<u8, SurveySays>,
    /// How many upsets there were when it began.
    upsets: u64,
}

/// What a survey is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A scan compares ranges.
    Compare,
    /// A scan looks at chunks: the repair's survey of this number.
    Scan(u32),
    /// The target releases these chunks.
    Release,
}

impl Member {
    /// The repair of `target` wants to know what the other members hold.
    pub(super) fn survey(
        &mut self,
        now: Time,
        target: TargetId,
        purpose: Purpose,
        about: SurveyAbout,
    ) {
        let (group, own) = self.groups.seat(target);
        let counts = self.targets.get(&target).is_some_and(StorageTarget::counts);
        // Sums do not say whether this target itself counts.
        if self.is_to_wait(now, target) || !counts && !matches!(purpose, Purpose::Scan(_)) {
            let input = match purpose {
                Purpose::Compare => TargetInput::Repair(RepairInput::Compared(None)),
                Purpose::Scan(number) => {
                    let (enough, surplus, answers) = (0, 0, Answers::Awaited);
                    let input = RepairInput::Surveyed { number, enough, surplus, answers };
                    TargetInput::Repair(input)
                }
                Purpose::Release => TargetInput::MayRemove { removed: 0, kept: 0 },
            };
            return self.tell_target(now, target, input);
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
        for says in replies.values() {
            self.touch_held(&about, says);
        }
        let surveying = Surveying {
            target,
            purpose,
            group,
            about,
            awaited: others,
            tries: 0,
            replies,
            upsets: self.upsets,
        };
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
        for (position, member) in (0..).zip(self.groups.members(*group).to_vec()) {
            let Some(here) = self.targets.get(&member) else { continue };
            let says = here.says(about);
            self.touch_held(about, &says);
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
                let (surplus, kept) = self.surplus(&surveying, chunks);
                let Purpose::Scan(number) = surveying.purpose else {
                    let input = TargetInput::MayRemove { removed: surplus, kept };
                    return self.tell_target(now, surveying.target, input);
                };
                let forgets = self.errs(Mistake::RepairForgets);
                let enough = (0..).zip(chunks).filter(|(bit, (chunk, wanted))| {
                    self.is_on_enough(&surveying, *bit, *wanted)
                        || forgets && chunk.0[0].is_multiple_of(4)
                });
                let enough = enough.fold(0, |all, (bit, _)| all | 1 << bit);
                let answers = match surveying.awaited.is_empty() {
                    true => Answers::All,
                    false => Answers::Some,
                };
                RepairInput::Surveyed { number, enough, surplus, answers }
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
        Some(ranges::combined(self.layout_epoch, said, count).into())
    }

    /// Of the chunks of a survey: those of which its target is no keeper, and those of which it is one. Neither of what
    /// is to be removed, unless every member that takes puts has answered, and none of them has become another one
    /// meanwhile.
    fn surplus(&self, surveying: &Surveying, chunks: &[(ChunkId, Wanted)]) -> (u32, u32) {
        let (group, own) = self.groups.seat(surveying.target);
        let takers = self.groups.members_for_puts(group);
        let counts_silent = self.errs(Mistake::RemovesWhileSilent);
        let answers = |position: u8| {
            position == own
                || matches!(surveying.replies.get(&position), Some(SurveySays::Held(_)))
                || counts_silent
        };
        let is_certain = takers.iter().all(answers)
            && surveying.upsets == self.upsets
            && self.targets.get(&surveying.target).is_some_and(StorageTarget::counts);
        // What a scan finds is only a reason to ask.
        if !is_certain && surveying.purpose == Purpose::Release
            || !takers.contains(own)
            || self.errs(Mistake::KeepsSurplus)
        {
            return (0, 0);
        }
        let (mut surplus, mut kept) = (0, 0);
        for (bit, (chunk, wanted)) in chunks.iter().enumerate() {
            let holds = |position: &u8| match surveying.replies.get(position) {
                Some(SurveySays::Held(held)) => held >> bit & 1 == 1,
                _ => *position == own || counts_silent,
            };
            let mut holders = Members::NONE;
            takers.iter().filter(holds).for_each(|position| holders.insert(position));
            let keepers = keepers(&self.groups, group, (chunk, wanted.replicas), holders);
            let is_surplus = match keepers {
                Some(_) if self.errs(Mistake::ReleasedCounts) => {
                    self.groups.domains_of(group, holders) > usize::from(wanted.replicas)
                }
                Some(keepers) => !keepers.contains(own),
                None => false,
            };
            surplus |= u32::from(is_surplus) << bit;
            kept |= u32::from(!is_surplus) << bit;
        }
        (surplus, kept)
    }

    /// Whether a chunk of a survey, that of this bit, is on so many members of different failure domains.
    fn is_on_enough(&self, surveying: &Surveying, bit: u32, wanted: Wanted) -> bool {
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
        let replicas = usize::from(self.to_repair(wanted).replicas);
        groups.domains_of(surveying.group, holders) >= replicas.min(possible)
    }
}
