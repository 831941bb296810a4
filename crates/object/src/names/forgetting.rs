//! Forgets the names of a group that were deleted: otherwise each name that there ever was would keep a row.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;

use slotcast_protocol::{GroupId, GroupMap, TargetId};
use slotcast_units::Time;

use super::machine::{Machine, Next, about};
use super::moving::no_register;
use super::{Names, NamesEffect, NamesMistake};
use crate::key::Key;
use crate::message::{About, Asker, KeysAsk, MAX_PAGE, Says, VoterQuestion};
use crate::register::ballot::Ballot;
use crate::register::fence::{Fenced, Stamp};
use crate::register::forget::{Forget, ForgetStep};
use crate::register::record::Record;
use crate::register::row::{Question, Reply, Tag};
use crate::register::voters::{Voter, Voters};

/// As many registers are asked about at a time.
const PAGE: usize = 64;

/// As many deleted names are forgotten in one go. Those that are found wait in memory until they may be.
const MAX_NAMES: usize = 1 << 17;

/// In the tag of a question which says for which page of registers it is asked: all above this.
const PAGES: u32 = 8;

/// And in the rest: which names were deleted, or of which register, and whether it is to be forgotten.
const LOOK: u32 = 0xff;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Which names were deleted is asked, a page at a time.
    Looking,
    /// All voters are asked for each of them.
    Reading,
    /// Until what was found may be forgotten.
    Resting,
    /// All voters are asked to forget.
    Forgetting,
    /// All voters are asked again for what they did not say the same of before the rest.
    ReadingAgain,
}

/// All names of a group that were deleted, as the rows of one voter say.
///
/// It looks which they are, and whether all voters hold the same tombstone ([`Forget`]). Then it rests: as long as a client may
/// ask again for what it asked before the name was deleted, and until the map has come to an epoch in which no voter had heard
/// anything then. Then all voters forget them. A register of which nothing was ever accepted keeps the promises that were
/// made to whoever asked: that these are no use any more a voter sees when it is asked once its floor is above them, and
/// the floor is raised with what is forgotten.
///
/// Where not all voters say the same, somebody else may be about to forget the name, or to agree on it. If they still do not
/// after the rest, and nothing has come to be, some have missed what was decided: it is agreed on anew, and the name is
/// forgotten another time.
#[derive(Debug)]
pub(super) struct Forgetting {
    group: GroupId,
    voters: Voters,
    /// Whose rows are looked at.
    of: Voter,
    /// The epoch of the map in which it asks.
    began: u64,
    /// That in which it has looked.
    looked: u64,
    phase: Phase,
    /// Where the next page of rows begins, unless all have been looked at.
    next: Option<Vec<u8>>,
    /// How many pages of registers there were, and of rows.
    pages: u32,
    /// Names of the page of rows that are to be asked about.
    keys: VecDeque<Key>,
    /// What is being asked about; none of what that has come to an end of.
    page: Vec<Option<(Key, Forget)>>,
    /// Deleted names, with the ballots in which all voters hold that.
    found: BTreeMap<Key, Ballot>,
    /// The first epoch in which they may be forgotten.
    since: u64,
    /// Voters did not say the same of them; and the latest ballot in which one of those that were heard held something.
    uneven: BTreeMap<Key, Ballot>,
    /// Some have missed what was decided of them, or have promised more than they have accepted: it is agreed on them anew,
    /// so that they can be forgotten another time.
    disputed: BTreeSet<Key>,
    /// A mistake: one voter is enough.
    believes_one: bool,
}

/// What comes next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ForgettingStep {
    Waits,
    Asks,
    /// It rests.
    Rests,
    /// All voters are to agree on these registers.
    Agrees(Vec<Key>),
    Ends,
}

impl Forgetting {
    fn new(group: GroupId, voters: Voters, of: Voter, began: u64) -> Forgetting {
        Forgetting {
            group,
            voters,
            of,
            began,
            looked: began,
            phase: Phase::Looking,
            next: Some(Vec::new()),
            pages: 0,
            keys: VecDeque::new(),
            page: Vec::new(),
            found: BTreeMap::new(),
            since: 0,
            uneven: BTreeMap::new(),
            disputed: BTreeSet::new(),
            believes_one: false,
        }
    }

    fn tag(&self, of: u32) -> Tag {
        Tag(self.pages << PAGES | of)
    }

    pub(super) fn questions(&self, id: u64) -> Vec<VoterQuestion> {
        match (self.phase, &self.next) {
            (Phase::Looking, Some(from)) => {
                let stamp = Stamp { voters: self.voters.epoch(), began: self.began, upload: None };
                let asker = Asker { id, tag: self.tag(LOOK) };
                let about = About::Deleted(KeysAsk { from: from.clone(), limit: MAX_PAGE });
                [VoterQuestion { to: self.of, asker, stamp, about }].into()
            }
            (Phase::Reading | Phase::Forgetting | Phase::ReadingAgain, _) => {
                let open = (0..).zip(&self.page).filter_map(|(n, of)| Some((n, of.as_ref()?)));
                let of_one = |(n, (key, forget)): (u32, &(Key, Forget))| {
                    let tagged = |question: Question<_>| {
                        let tag = self.tag(n << 1 | question.tag.0);
                        Question { tag, ..question }
                    };
                    about(id, key, forget.questions().into_iter().map(tagged).collect())
                };
                open.flat_map(of_one).collect()
            }
            (Phase::Looking | Phase::Resting, _) => Vec::new(),
        }
    }

    pub(super) fn answered(&mut self, from: Voter, tag: Tag, says: Says) -> ForgettingStep {
        if tag.0 >> PAGES != self.pages {
            return ForgettingStep::Waits;
        }
        match (self.phase, says) {
            (Phase::Looking, Says::Keys(found)) => {
                (self.next, self.keys) = (found.next, found.keys.into());
                self.next_page()
            }
            // It is asked again when it has learned of our epoch.
            (Phase::Looking, Says::Fenced(Fenced::Behind)) => ForgettingStep::Waits,
            (Phase::Looking, Says::Fenced(_)) => ForgettingStep::Ends,
            (Phase::Reading | Phase::Forgetting | Phase::ReadingAgain, Says::Register(reply)) => {
                self.register_answered(from, tag, &reply)
            }
            _ => ForgettingStep::Waits,
        }
    }

    fn register_answered(
        &mut self,
        from: Voter,
        tag: Tag,
        reply: &Reply<crate::NameRecord>,
    ) -> ForgettingStep {
        let place = usize::try_from((tag.0 & LOOK) >> 1).unwrap_or(usize::MAX);
        let Some(of) = self.page.get_mut(place) else { return ForgettingStep::Waits };
        let Some((key, forget)) = of else { return ForgettingStep::Waits };
        match forget.handle(from, Tag(tag.0 & 1), reply, Record::is_tombstone) {
            ForgetStep::Waits if self.believes_one && self.phase == Phase::Reading => {
                if let Reply::Holds(held) = reply {
                    self.found.insert(key.clone(), held.ballot);
                }
            }
            ForgetStep::Waits => return ForgettingStep::Waits,
            // It is found another time.
            ForgetStep::From(_) if self.phase == Phase::ReadingAgain => {}
            ForgetStep::From(epoch) => {
                self.since = self.since.max(epoch);
                self.found.extend(forget.ballot().map(|ballot| (key.clone(), ballot)));
            }
            ForgetStep::Stays => match reply {
                Reply::Holds(held) => {
                    let latest = forget.latest().max(held.value.as_ref().map(|_| held.ballot));
                    match (self.phase, latest) {
                        (Phase::ReadingAgain, Some(ballot)) => {
                            if self.uneven.get(key) == Some(&ballot) {
                                self.disputed.insert(key.clone());
                            }
                        }
                        (_, Some(ballot)) => drop(self.uneven.insert(key.clone(), ballot)),
                        (_, None) => {}
                    }
                    if held.value.is_none() && self.phase == Phase::Reading {
                        self.since = self.since.max(held.epoch.max(self.began) + 1);
                        self.found.extend(no_register().map(|key| (key, Ballot::ZERO)));
                    }
                }
                // What was promised since belongs to somebody who goes on with it, another one that forgets perhaps: two that
                // agreed on what the other one had just agreed on would go on like that.
                Reply::Refused(promised)
                    if promised.epoch < self.looked && Some(&*key) != no_register().as_ref() =>
                {
                    self.disputed.insert(key.clone());
                }
                _ => {}
            },
            ForgetStep::Done => {}
        }
        if self.phase == Phase::ReadingAgain {
            self.uneven.remove(key);
        }
        *of = None;
        self.page_ended()
    }

    /// Goes on if all of a page is done.
    fn page_ended(&mut self) -> ForgettingStep {
        if self.page.iter().any(Option::is_some) {
            return ForgettingStep::Waits;
        }
        self.page.clear();
        if !self.disputed.is_empty() {
            return ForgettingStep::Agrees(self.disputed.iter().cloned().collect());
        }
        self.next_page()
    }

    fn next_page(&mut self) -> ForgettingStep {
        self.pages += 1;
        match self.phase {
            Phase::Looking | Phase::Reading if !self.keys.is_empty() => {
                let first = self.keys.drain(..self.keys.len().min(PAGE));
                let machine = |key| Some((key, Forget::new(self.voters.clone(), self.began)));
                self.page = first.map(machine).collect();
                self.phase = Phase::Reading;
                ForgettingStep::Asks
            }
            Phase::Looking | Phase::Reading
                if self.next.is_some() && self.found.len() + self.uneven.len() < MAX_NAMES =>
            {
                self.phase = Phase::Looking;
                ForgettingStep::Asks
            }
            Phase::Looking | Phase::Reading
                if !self.found.is_empty() || !self.uneven.is_empty() =>
            {
                self.phase = Phase::Resting;
                ForgettingStep::Rests
            }
            Phase::Forgetting if !self.found.is_empty() => {
                let first = core::iter::from_fn(|| self.found.pop_first()).take(PAGE);
                let machine = |(key, ballot)| {
                    let forget = Forget::again(self.voters.clone(), self.began, ballot);
                    Some((key, forget))
                };
                self.page = first.map(machine).collect();
                ForgettingStep::Asks
            }
            Phase::Forgetting | Phase::ReadingAgain if !self.uneven.is_empty() => {
                let machine =
                    |key: &Key| Some((key.clone(), Forget::new(self.voters.clone(), self.began)));
                self.page = self.uneven.keys().take(PAGE).map(machine).collect();
                self.phase = Phase::ReadingAgain;
                ForgettingStep::Asks
            }
            _ => ForgettingStep::Ends,
        }
    }

    /// Some voters were not heard for too long. What was found until then may be forgotten all the same; with the rest it goes
    /// on in the next round.
    fn gave_up(&mut self) -> ForgettingStep {
        let has_found = !self.found.is_empty() || !self.uneven.is_empty();
        if !matches!(self.phase, Phase::Looking | Phase::Reading) || !has_found {
            return ForgettingStep::Ends;
        }
        self.next = None;
        self.keys.clear();
        self.page.clear();
        self.next_page()
    }

    /// It has rested. Returns what comes next, if the map has come to the epoch in which that may be.
    fn go_on(&mut self, now: u64) -> ForgettingStep {
        if now < self.since {
            return ForgettingStep::Waits;
        }
        (self.began, self.phase) = (now, Phase::Forgetting);
        self.next_page()
    }

    /// It was agreed on a register, or could not be.
    pub(super) fn was_agreed(&mut self, key: &Key) -> ForgettingStep {
        match self.disputed.remove(key) && self.disputed.is_empty() {
            true => self.next_page(),
            false => ForgettingStep::Waits,
        }
    }

    /// Whether it waits for others to agree, and not for voters.
    fn agrees(&self) -> bool {
        !self.disputed.is_empty() && self.page.is_empty()
    }
}

impl Names {
    /// Forgets names of a group that were deleted, as the rows of `target` say, which votes in it. Nothing is done while two
    /// sets vote, or if it is being done already.
    pub fn forget_deleted(
        &mut self,
        now: Time,
        (group, target): (GroupId, TargetId),
        groups: &GroupMap,
        effects: &mut Vec<NamesEffect>,
    ) {
        let Some(voters) = self.rosters.of(group).filter(|voters| !voters.is_joint()) else {
            return;
        };
        let Some(of) = voters.old().iter().find(|voter| voter.target == target) else { return };
        let is_it = |machine: &Machine| matches!(machine, Machine::Forget(forgetting) if forgetting.group == group);
        let is_kept = self.mistake == Some(NamesMistake::KeepsDeleted);
        if is_kept || self.tasks.values().any(|task| is_it(&task.machine)) {
            return;
        }
        let mut forgetting = Forgetting::new(group, voters.clone(), *of, self.rosters.epoch);
        forgetting.believes_one = self.mistake == Some(NamesMistake::ForgetsWhatOneHolds);
        let id = self.add(now, (0, None), Machine::Forget(alloc::boxed::Box::new(forgetting)));
        self.go_on(now, id, Next::Asks, groups, effects);
    }

    /// A task that forgets is due: it has rested, or voters do not answer. Then the rest is given up until the next round: all
    /// are needed.
    pub(super) fn wake_forgetting(
        &mut self,
        now: Time,
        id: u64,
        groups: &GroupMap,
        effects: &mut Vec<NamesEffect>,
    ) {
        let (times, epoch) = (self.times, self.rosters.epoch);
        let Some(task) = self.tasks.get_mut(&id) else { return };
        let is_silent = now >= task.heard + times.silence;
        let Machine::Forget(forgetting) = &mut task.machine else { return };
        let voters = self.rosters.of(forgetting.group);
        if voters != Some(&forgetting.voters) {
            self.end(now, id, groups, effects);
            return;
        }
        let next = match forgetting.phase {
            _ if forgetting.agrees() => return,
            Phase::Resting => {
                task.heard = now;
                match forgetting.go_on(epoch) {
                    // The map has not come so far.
                    ForgettingStep::Waits => return self.wake_at(now + times.stores, id),
                    step => step.into(),
                }
            }
            _ if is_silent => forgetting.gave_up().into(),
            _ => Next::Asks,
        };
        self.go_on(now, id, next, groups, effects);
    }
}

impl From<ForgettingStep> for Next {
    fn from(step: ForgettingStep) -> Next {
        match step {
            ForgettingStep::Waits => Next::Waits,
            ForgettingStep::Asks => Next::Asks,
            ForgettingStep::Rests => Next::Rests,
            ForgettingStep::Agrees(keys) => Next::Agrees(keys),
            ForgettingStep::Ends => Next::Ends,
        }
    }
}

#[cfg(test)]
mod tests;
