//! A client with its requests.

use alloc::vec::Vec;

use crate::register::mistake::Mistake;
use crate::{
    Condition, Operation, Outcome, Proposer, Question, Read, ReadStep, Reply, Request, RequestKey,
    Step, Tag, Update, VersionId, Versioning, Voter, Voters,
};

use super::Named;
use super::history::{Act, Told, Wanted};

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Doing {
    Update(Update<char>),
    Read(Read<Named>),
    /// It is not known whether it took effect, and the client goes away.
    Unknown,
}

/// A client: one request at a time.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Client {
    script: Vec<Act>,
    doing: Option<Doing>,
    voters: Voters,
    epoch: u64,
    /// Attempts beyond the first.
    pub(super) attempts: u8,
    /// The versions that it knows, by the operations that made them.
    made: Vec<(u8, VersionId)>,
    /// Requests that it has begun.
    pub(super) begun: u8,
}

/// What an answer brings about.
pub(super) enum Heard {
    Waits,
    Asks,
    Told(Told),
}

impl Client {
    pub(super) fn new(script: &[Act], voters: &Voters) -> Client {
        let mut script = script.to_vec();
        script.reverse();
        Client {
            script,
            doing: None,
            voters: voters.clone(),
            epoch: voters.epoch(),
            attempts: 0,
            made: Vec::new(),
            begun: 0,
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.script.is_empty() && self.doing.is_none()
    }

    pub(super) fn waits(&self) -> bool {
        matches!(self.doing, Some(Doing::Update(_) | Doing::Read(_)))
    }

    pub(super) fn is_unknown(&self) -> bool {
        self.doing == Some(Doing::Unknown)
    }

    /// The epoch of the map that it knows.
    pub(super) fn epoch(&self) -> u64 {
        self.epoch
    }

    pub(super) fn learn(&mut self, voters: Voters, epoch: u64) {
        (self.voters, self.epoch) = (voters, epoch);
    }

    /// What it has heard of `voter`.
    pub(super) fn of(&self, voter: Voter) -> u64 {
        match &self.doing {
            Some(Doing::Update(update)) => super::symmetry::hash(&update.of(voter)),
            Some(Doing::Read(read)) => super::symmetry::hash(&read.of(voter)),
            Some(Doing::Unknown) | None => 0,
        }
    }

    /// The same with other voters in the place of these.
    pub(super) fn rename(&mut self, to: &dyn Fn(Voter) -> Voter) {
        match &mut self.doing {
            Some(Doing::Update(update)) => {
                if let Some(proposal) = update.proposal() {
                    proposal.rename(to);
                }
            }
            Some(Doing::Read(read)) => read.rename(to),
            Some(Doing::Unknown) | None => {}
        }
    }

    /// What it does next.
    pub(super) fn next(&self) -> Option<Act> {
        self.script.last().copied().filter(|_| self.doing.is_none())
    }

    pub(super) fn begin(&mut self, number: u8, mistake: Option<Mistake>) {
        let Some(act) = self.script.last() else { return };
        self.begun += 1;
        let proposer = Proposer(u64::from(number) * 10 + u64::from(self.begun));
        let (operation, condition, of, letter) = match *act {
            Act::Put(of, letter, wanted) => {
                let condition = match wanted {
                    Wanted::Always => Condition::Always,
                    Wanted::Absent => Condition::Absent,
                    Wanted::Made(by) => {
                        let made = self.made.iter().find(|(made, _)| *made == by);
                        // One that was not made is none that ever was.
                        let none = VersionId { change: 0, salt: 0 };
                        Condition::Is(made.map_or(none, |(_, version)| *version))
                    }
                };
                (Operation::Put(letter), condition, of, letter)
            }
            Act::Delete(of) => (Operation::Delete(0), Condition::Always, of, ' '),
            Act::Read => {
                let read = Read::new(self.voters.clone(), self.epoch, proposer);
                self.doing = Some(Doing::Read(read));
                return;
            }
        };
        // Half of the key is the content: see `Mistake::NamesVersionsByContent`.
        let key = RequestKey(u128::from(of) << 64 | u128::from(u32::from(letter)));
        let (versioning, permit) = (Versioning::Off, crate::Permit::default());
        let request = Request { key, operation, condition, versioning, permit };
        let voters = self.voters.clone();
        let update = Update::new_with(request, voters, self.epoch, proposer, mistake);
        self.doing = Some(Doing::Update(update));
    }

    pub(super) fn retry(&mut self, voters: Voters, epoch: u64, mistake: Option<Mistake>) {
        self.attempts += 1;
        let is_new = epoch != self.epoch;
        self.learn(voters, epoch);
        match &mut self.doing {
            Some(Doing::Update(update)) if is_new => {
                update.renew_with(self.voters.clone(), epoch, mistake);
            }
            Some(Doing::Read(read)) if is_new => drop(read.renew(self.voters.clone(), epoch)),
            Some(Doing::Update(update)) => {
                update.retry_with(mistake);
            }
            Some(Doing::Read(read)) => drop(read.retry_with(mistake)),
            Some(Doing::Unknown) | None => {}
        }
    }

    pub(super) fn questions(&self) -> Vec<Question<Named>> {
        match &self.doing {
            Some(Doing::Update(update)) => update.questions(),
            Some(Doing::Read(read)) => read.questions(),
            Some(Doing::Unknown) | None => Vec::new(),
        }
    }

    pub(super) fn hear(
        &mut self,
        voter: Voter,
        tag: Tag,
        reply: Reply<Named>,
        mistake: Option<Mistake>,
    ) -> Heard {
        let told = match &mut self.doing {
            None | Some(Doing::Unknown) => return Heard::Waits,
            Some(Doing::Update(update)) => match update.handle_with(voter, tag, reply, mistake) {
                Step::Asks => return Heard::Asks,
                Step::Done(outcome) => self.told(outcome),
                // Nothing else is looked at here.
                Step::Waits
                | Step::Checks
                | Step::Lost
                | Step::NeedsMap(_)
                | Step::Untouched(_) => {
                    return Heard::Waits;
                }
                Step::Unknown => {
                    self.doing = Some(Doing::Unknown);
                    return Heard::Waits;
                }
            },
            Some(Doing::Read(read)) => match read.handle_with(voter, tag, reply, mistake) {
                ReadStep::Asks => return Heard::Asks,
                ReadStep::Done(record) => {
                    let head = record.as_ref().and_then(Named::head);
                    Told::Holds(head.and_then(|version| version.object))
                }
                ReadStep::Waits | ReadStep::Lost | ReadStep::NeedsMap(_) => return Heard::Waits,
            },
        };
        (self.doing, self.attempts) = (None, 0);
        self.script.pop();
        Heard::Told(told)
    }

    fn told(&mut self, outcome: Outcome) -> Told {
        let letter = |id: VersionId| u32::try_from(id.salt).ok().and_then(char::from_u32);
        match outcome {
            Outcome::Stored(id) => {
                if let Some(Act::Put(of, ..)) = self.script.last() {
                    self.made.push((*of, id));
                }
                Told::Done
            }
            Outcome::Deleted(_) => Told::Done,
            Outcome::NothingToDelete | Outcome::TooManyVersions | Outcome::Locked => Told::Nothing,
            Outcome::ConditionFailed(latest) => Told::Failed(latest.and_then(letter)),
        }
    }
}
