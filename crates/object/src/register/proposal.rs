//! One attempt to change a register.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use crate::register::ballot::Ballot;
use crate::register::fence::{Fenced, Stamp};
use crate::register::mistake::Mistake;
use crate::register::row::{Ask, Held, Question, Reply, Tag};
use crate::register::voters::{Voter, Voters};

/// One attempt to change a register, with a ballot of its own: first a majority promises to accept nothing older,
/// and says what it holds; then a majority holds what follows from that.
///
/// ```text
///  Preparing --majority holds--> Prepared --propose--> Accepting --majority accepted--> chosen
///      |                                                   |
///      +-----------too many have promised a later ballot---+--> lost; whether it takes effect is open
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Proposal<V> {
    voters: Voters,
    stamp: Stamp,
    ballot: Ballot,
    tag: Tag,
    phase: Phase<V>,
    /// All voters are to promise, and not a majority only.
    asks_all: bool,
    held: BTreeMap<Voter, Held<V>>,
    accepted: BTreeSet<Voter>,
    refused: BTreeMap<Voter, Ballot>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Phase<V> {
    Preparing,
    Prepared,
    Accepting(V),
    Over,
}

/// What an answer brings about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress<V> {
    /// Nothing yet.
    Waits,
    /// A majority has promised. Propose what the register is to say.
    Prepared(Prepared<V>),
    /// A majority holds what was proposed.
    Chosen,
    /// Later ballots are in the way. What was proposed may still take effect.
    Lost,
    /// A voter does not believe it any more: it goes on with a map of this epoch or later. What was proposed
    /// may still take effect.
    Outdated(u64),
    /// What it names may have been collected: its chunks are to be touched in this round of collection or later. What was
    /// proposed may still take effect.
    Untouched(u64),
}

/// What a register says.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prepared<V> {
    /// What was accepted last; none if nothing was.
    pub value: Option<V>,
    /// Whether a majority holds that: only then is it sure to be what everybody sees from now on.
    pub is_chosen: bool,
    /// What began before this epoch may have been forgotten.
    pub floor: u64,
}

impl<V: Clone> Proposal<V> {
    /// An attempt with `ballot`, which nobody else has. `tag` and the next one are those of its questions.
    pub fn new(voters: Voters, ballot: Ballot, tag: Tag) -> Proposal<V> {
        let stamp = Stamp { voters: voters.epoch(), began: ballot.epoch, upload: None };
        Proposal {
            voters,
            stamp,
            ballot,
            tag,
            phase: Phase::Preparing,
            asks_all: false,
            held: BTreeMap::new(),
            accepted: BTreeSet::new(),
            refused: BTreeMap::new(),
        }
    }

    /// The latest ballot that it has met: its own, or one that is in its way.
    pub fn highest(&self) -> Ballot {
        let met = self.refused.values().chain(self.held.values().map(|held| &held.ballot));
        met.copied().fold(self.ballot, Ballot::max)
    }

    /// Whether some have refused it, so that those who are silent may be needed: as long as they are, it may not end.
    pub(crate) fn is_contested(&self) -> bool {
        matches!(self.phase, Phase::Preparing | Phase::Accepting(_)) && !self.refused.is_empty()
    }

    fn tag(&self) -> Tag {
        match self.phase {
            Phase::Preparing | Phase::Prepared => self.tag,
            Phase::Accepting(_) | Phase::Over => Tag(self.tag.0 + 1),
        }
    }

    /// What is to be asked, also again, of all who have not answered. Nothing while it waits for what to propose.
    pub fn questions(&self) -> Vec<Question<V>> {
        let (ask, has_answered): (_, &dyn Fn(&Voter) -> bool) = match &self.phase {
            Phase::Preparing => (Ask::Prepare(self.ballot), &|v| self.held.contains_key(v)),
            Phase::Accepting(value) => {
                (Ask::Accept(self.ballot, value.clone()), &|v| self.accepted.contains(v))
            }
            Phase::Prepared | Phase::Over => return Vec::new(),
        };
        let (tag, stamp) = (self.tag(), self.stamp);
        let all = self.voters.all().into_iter();
        let silent = all.filter(|v| !has_answered(v) && !self.refused.contains_key(v));
        silent.map(|to| Question { to, tag, stamp, ask: ask.clone() }).collect()
    }

    /// The same, that began in another epoch than its ballot says: so it does with a mistake.
    pub(crate) fn stamped(mut self, began: u64) -> Proposal<V> {
        self.stamp.began = began;
        self
    }

    /// The same, which goes on only when all voters have promised: then whatever any of them holds is known, and nothing
    /// older is accepted anywhere.
    pub(crate) fn of_all(mut self) -> Proposal<V> {
        self.asks_all = true;
        self
    }

    /// The same, of something whose chunks were begun to be stored in this round of collection.
    pub(crate) fn of_upload(mut self, upload: Option<u64>) -> Proposal<V> {
        self.stamp.upload = upload;
        self
    }

    /// What is proposed, once it is [`Progress::Prepared`]: what follows from what the register says.
    ///
    /// # Panics
    /// If it is not prepared, or was proposed before.
    pub fn propose(&mut self, value: V) {
        assert!(matches!(self.phase, Phase::Prepared), "a proposal is prepared, and made once");
        self.phase = Phase::Accepting(value);
    }

    /// `voter` answered the question with this tag.
    pub fn handle(&mut self, voter: Voter, tag: Tag, reply: Reply<V>) -> Progress<V> {
        self.handle_with(voter, tag, reply, None)
    }

    /// The same with a planted mistake.
    pub(crate) fn handle_with(
        &mut self,
        voter: Voter,
        tag: Tag,
        reply: Reply<V>,
        mistake: Option<Mistake>,
    ) -> Progress<V> {
        if tag != self.tag() && mistake != Some(Mistake::MixesAttempts) {
            return Progress::Waits;
        }
        match (reply, &self.phase) {
            (Reply::Holds(held), Phase::Preparing) => {
                self.held.insert(voter, held);
                let all = !self.asks_all || self.held.len() == self.voters.all().len();
                if all && self.is_quorum(|v| self.held.contains_key(&v), mistake) {
                    self.phase = Phase::Prepared;
                    return self.prepared(mistake);
                }
            }
            (Reply::Accepted, Phase::Accepting(_)) => {
                self.accepted.insert(voter);
                if self.is_quorum(|v| self.accepted.contains(&v), mistake) {
                    self.phase = Phase::Over;
                    return Progress::Chosen;
                }
            }
            (Reply::Refused(promised), Phase::Preparing | Phase::Accepting(_)) => {
                self.refused.insert(voter, promised);
                if !self.is_quorum(|v| !self.refused.contains_key(&v), mistake) {
                    self.phase = Phase::Over;
                    return Progress::Lost;
                }
            }
            // One that is behind is asked again when it has learned of our epoch.
            (
                Reply::Fenced(Fenced::Later(epoch) | Fenced::TooOld(epoch)),
                Phase::Preparing | Phase::Accepting(_),
            ) => {
                self.phase = Phase::Over;
                return Progress::Outdated(epoch);
            }
            (Reply::Fenced(Fenced::Outdated(round)), Phase::Preparing | Phase::Accepting(_)) => {
                self.phase = Phase::Over;
                return Progress::Untouched(round);
            }
            _ => {}
        }
        Progress::Waits
    }

    fn is_quorum(&self, has: impl Fn(Voter) -> bool, mistake: Option<Mistake>) -> bool {
        match mistake {
            Some(Mistake::CountsTheNewSetAlone) => self.voters.settled(0).is_quorum(has),
            _ => self.voters.is_quorum(has),
        }
    }

    fn prepared(&self, mistake: Option<Mistake>) -> Progress<V> {
        let latest = match mistake {
            Some(Mistake::TakesWhatItHearsFirst) => self.held.values().next(),
            _ => self.held.values().max_by_key(|held| held.ballot),
        };
        let Some(latest) = latest else { return Progress::Waits };
        let holds = |v: Voter| self.held.get(&v).is_some_and(|held| held.ballot == latest.ballot);
        Progress::Prepared(Prepared {
            value: latest.value.clone(),
            is_chosen: self.is_quorum(holds, mistake),
            floor: self.held.values().map(|held| held.floor).max().unwrap_or(0),
        })
    }
}

#[cfg(test)]
impl<V> Proposal<V> {
    /// What it has heard of `voter`.
    pub(crate) fn of(&self, voter: Voter) -> impl core::hash::Hash + use<'_, V>
    where
        V: core::hash::Hash,
    {
        (self.held.get(&voter), self.accepted.contains(&voter), self.refused.get(&voter))
    }

    /// The same with other voters in the place of these.
    pub(crate) fn rename(&mut self, to: &dyn Fn(Voter) -> Voter) {
        use core::mem::take;
        self.held = take(&mut self.held).into_iter().map(|(v, held)| (to(v), held)).collect();
        self.accepted = take(&mut self.accepted).into_iter().map(to).collect();
        self.refused = take(&mut self.refused).into_iter().map(|(v, by)| (to(v), by)).collect();
    }
}
