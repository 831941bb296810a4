//! How a request is carried out, whatever it is about.

use alloc::boxed::Box;
use alloc::vec::Vec;

use slotcast_protocol::{GroupId, GroupMap};

use super::forgetting::Forgetting;
use super::guard::{Guard, NamesMistake};
use super::listing::{Listing, ListingStep};
use super::moving::{Moving, MovingStep};
use super::roots::RootsRead;
use super::{ListRequest, NameAnswer, NameFailure, NameRequest, voters_of};
use crate::key::Key;
use crate::message::{About, Asker, NameRecord, Says, VoterQuestion};
use crate::object::Entry;
use crate::register::ballot::Proposer;
use crate::register::read::{Read, ReadStep};
use crate::register::row::{Question, Reply, Tag};
use crate::register::sync::{Sync, SyncStep};
use crate::register::update::{Step, Update};
use crate::register::voters::Voter;
use crate::roster::Rosters;

/// What comes next.
#[derive(Debug)]
pub(super) enum Next {
    Waits,
    Asks,
    Lost,
    NeedsMap(u64),
    /// What it names is to be touched in this round of collection.
    Untouched(u64),
    /// Its guard is to be read, in this register.
    Checks(Key),
    /// These registers are to be read for it.
    Reads(Vec<Key>),
    /// The same, so that nothing takes effect any more that was promised before.
    Fences(Vec<Key>),
    /// All voters are to agree on these registers for it.
    Agrees(Vec<Key>),
    /// These are to be brought to new voters for it.
    Brings(Vec<Key>),
    /// It rests for a while.
    Rests,
    /// It is over, and nobody waits for that.
    Ends,
    /// All of this group have been, of which two sets vote since this epoch.
    Moved(GroupId, u64),
    Done(NameAnswer),
}

/// How it is carried out.
#[derive(Debug)]
pub(super) enum Machine {
    /// It has not begun.
    Waiting(NameRequest, bool),
    Update {
        key: Key,
        update: Box<Update<Entry>>,
        is_held: bool,
        /// It was proposed, or is to be when it is not held any more.
        is_proposed: bool,
        /// What it relies on.
        guard: Option<Guard>,
    },
    Read {
        key: Key,
        read: Box<Read<NameRecord>>,
    },
    List(Listing),
    Roots(Box<RootsRead>),
    /// Of a register, for [`Machine::Move`]. Its answer is that it says something.
    Sync {
        key: Key,
        sync: Box<Sync<NameRecord>>,
    },
    Move(Box<Moving>),
    /// Nobody waits for it.
    Forget(Box<Forgetting>),
}

impl Machine {
    pub(super) fn key(&self) -> Option<&Key> {
        match self {
            Machine::Waiting(
                NameRequest::Update(key, ..)
                | NameRequest::Read(key)
                | NameRequest::Fence(key)
                | NameRequest::Agree(key),
                _,
            )
            | Machine::Update { key, .. }
            | Machine::Read { key, .. }
            | Machine::Sync { key, .. } => Some(key),
            Machine::Waiting(NameRequest::List(_) | NameRequest::Roots(_), _)
            | Machine::List(_)
            | Machine::Roots(_)
            | Machine::Move(_)
            | Machine::Forget(_) => None,
        }
    }

    /// Whether its chunk is on its way.
    pub(super) fn is_held(&self) -> bool {
        matches!(self, Machine::Waiting(_, true) | Machine::Update { is_held: true, .. })
    }

    pub(super) fn is_update(&self) -> bool {
        matches!(self, Machine::Waiting(NameRequest::Update(..), _) | Machine::Update { .. })
    }

    /// Whether its guard is being read. No other attempt begins meanwhile.
    pub(super) fn is_checking(&self) -> bool {
        matches!(self, Machine::Update { update, .. } if update.is_checking())
    }

    /// A mistake: further attempts do not read it.
    pub(super) fn check_no_more(&mut self) {
        if let Machine::Update { update, .. } = self {
            update.check_no_more();
        }
    }

    /// What to say if it is given up now.
    pub(super) fn failure(&self) -> NameFailure {
        match self {
            Machine::Update { is_proposed: true, .. } => NameFailure::Unknown,
            _ => NameFailure::Unavailable,
        }
    }

    pub(super) fn begin(
        &mut self,
        rosters: &Rosters,
        groups: &GroupMap,
        (proposer, upload, mistake): (Proposer, Option<u64>, Option<NamesMistake>),
    ) -> Next {
        let Machine::Waiting(request, is_held) = self else { return Next::Waits };
        let (is_held, began) = (*is_held, rosters.epoch);
        let voters = |key: &Key| voters_of(rosters, groups, key.slot).cloned();
        let machine = match request {
            NameRequest::Update(key, request, guard) => voters(key).map(|voters| {
                let checks = guard.is_some() && mistake != Some(NamesMistake::ReadBeforePromises);
                let update = Update::new(request.clone(), voters, began, proposer);
                let update = Box::new(update.of_upload(upload).checking(checks));
                let (key, guard) = (key.clone(), guard.clone());
                Machine::Update { key, update, is_held, is_proposed: false, guard }
            }),
            NameRequest::Read(key) => voters(key).map(|voters| {
                let read = Box::new(Read::new(voters, began, proposer));
                Machine::Read { key: key.clone(), read }
            }),
            NameRequest::Fence(key) => voters(key).map(|voters| {
                let read = Box::new(Read::fencing(voters, began, proposer));
                Machine::Read { key: key.clone(), read }
            }),
            NameRequest::Agree(key) => voters(key).map(|voters| {
                let read = Box::new(Read::insisting(voters, began, proposer));
                Machine::Read { key: key.clone(), read }
            }),
            NameRequest::List(request) => {
                let ignores = mistake == Some(NamesMistake::ListedWithoutPromises);
                let request = ListRequest { fences: request.fences && !ignores, ..request.clone() };
                Listing::new(request, rosters, groups).map(Machine::List)
            }
            NameRequest::Roots(request) => {
                Some(Machine::Roots(Box::new(RootsRead::new(request.clone()))))
            }
        };
        match machine {
            Some(machine) => {
                *self = machine;
                match self {
                    Machine::Update { guard: Some(guard), .. }
                        if mistake == Some(NamesMistake::ReadBeforePromises) =>
                    {
                        Next::Checks(guard.key.clone())
                    }
                    _ => Next::Asks,
                }
            }
            // Nobody votes there yet.
            None => Next::NeedsMap(rosters.epoch + 1),
        }
    }

    /// Whether the map says by now that others vote than those whom it asks. These may be silent for good.
    pub(super) fn is_outdated(&self, rosters: &Rosters, groups: &GroupMap) -> bool {
        let (key, voters) = match self {
            Machine::Update { key, update, .. } => (key, update.voters()),
            Machine::Read { key, read } => (key, read.voters()),
            Machine::List(listing) => return listing.epoch() < rosters.epoch,
            // The voters do not change before all is done, or it looks itself whether they have.
            Machine::Waiting(..)
            | Machine::Roots(_)
            | Machine::Sync { .. }
            | Machine::Move(_)
            | Machine::Forget(_) => return false,
        };
        voters_of(rosters, groups, key.slot).is_some_and(|now| now.epoch() > voters.epoch())
    }

    pub(super) fn renew(
        &mut self,
        rosters: &Rosters,
        groups: &GroupMap,
        by: (Proposer, Option<u64>, Option<NamesMistake>),
    ) -> Next {
        let voters = |key: &Key| voters_of(rosters, groups, key.slot).cloned();
        let none = Next::NeedsMap(rosters.epoch + 1);
        match self {
            Machine::Waiting(..) => self.begin(rosters, groups, by),
            Machine::Update { key, update, .. } => {
                voters(key).map_or(none, |voters| update.renew(voters, rosters.epoch).into())
            }
            Machine::Read { key, read } => {
                voters(key).map_or(none, |voters| read.renew(voters, rosters.epoch).into())
            }
            Machine::List(listing) => listing.renew(rosters, groups).into(),
            // It is begun anew by what it is for, with other ballots.
            Machine::Sync { .. } => Next::Done(NameAnswer::Failed(NameFailure::Unavailable)),
            Machine::Move(_) | Machine::Roots(_) | Machine::Forget(_) => Next::Waits,
        }
    }

    /// What was held may take effect.
    pub(super) fn release(&mut self) -> Next {
        match self {
            Machine::Waiting(_, is_held) => *is_held = false,
            Machine::Update { is_held, is_proposed, update, .. } => {
                *is_held = false;
                if *is_proposed && !update.is_checking() {
                    return Next::Asks;
                }
            }
            Machine::Read { .. }
            | Machine::List(_)
            | Machine::Roots(_)
            | Machine::Sync { .. }
            | Machine::Move(_)
            | Machine::Forget(_) => {}
        }
        Next::Waits
    }

    pub(super) fn retry(&mut self) -> Next {
        match self {
            Machine::Waiting(..) => Next::Waits,
            Machine::Update { update, .. } => update.retry().into(),
            Machine::Read { read, .. } => read.retry().into(),
            Machine::Sync { sync, .. } => sync.retry().into(),
            Machine::List(_) | Machine::Roots(_) | Machine::Move(_) | Machine::Forget(_) => {
                Next::Asks
            }
        }
    }

    /// Some have not answered for a while. If the others do not agree, these may be needed: then it is tried anew what those
    /// can decide alone.
    pub(super) fn ask_again(&mut self) -> Next {
        match self {
            Machine::Waiting(..) => return Next::Waits,
            Machine::List(listing) => listing.ask_all(),
            Machine::Update { update, .. } if update.is_contested() => return Next::Lost,
            Machine::Read { read, .. } if read.is_contested() => return Next::Lost,
            Machine::Sync { sync, .. } if sync.is_contested() => return Next::Lost,
            Machine::Move(moving) => return of_moving(moving.again(), moving),
            Machine::Update { .. }
            | Machine::Read { .. }
            | Machine::Roots(_)
            | Machine::Sync { .. }
            | Machine::Forget(_) => {}
        }
        Next::Asks
    }

    pub(super) fn questions(&self, id: u64) -> Vec<VoterQuestion> {
        match self {
            Machine::Waiting(..) => Vec::new(),
            // What was decided is not proposed yet.
            Machine::Update { is_held: true, is_proposed: true, .. } => Vec::new(),
            Machine::Update { key, update, .. } => about(id, key, update.questions()),
            Machine::Read { key, read } => about(id, key, read.questions()),
            Machine::List(listing) => listing.questions(id),
            Machine::Roots(roots) => roots.questions(id),
            Machine::Sync { key, sync } => about(id, key, sync.questions()),
            Machine::Move(moving) => moving.questions(id),
            Machine::Forget(forgetting) => forgetting.questions(id),
        }
    }

    pub(super) fn answered(&mut self, from: Voter, tag: Tag, says: Says) -> Next {
        match self {
            Machine::Waiting(..) => Next::Waits,
            Machine::Update { update, is_proposed, guard, .. } => {
                let Some(reply) = of_register(says) else { return Next::Waits };
                match (update.handle(from, tag, reply), guard) {
                    (Step::Checks, Some(guard)) => Next::Checks(guard.key.clone()),
                    (step, _) => {
                        // What is to be asked next is to hold what was decided.
                        *is_proposed |= step == Step::Asks;
                        step.into()
                    }
                }
            }
            Machine::Read { read, .. } => match of_register(says) {
                Some(reply) => read.handle(from, tag, reply).into(),
                None => Next::Waits,
            },
            Machine::List(listing) => listing.answered(from, tag, says).into(),
            Machine::Roots(roots) => roots.answered(from, says),
            Machine::Sync { sync, .. } => match of_register(says) {
                Some(reply) => sync.handle(from, tag, reply).into(),
                None => Next::Waits,
            },
            Machine::Move(moving) => of_moving(moving.answered(from, tag, says), moving),
            Machine::Forget(forgetting) => forgetting.answered(from, tag, says).into(),
        }
    }

    /// What was done about a register for it has ended so.
    pub(super) fn part_ended(&mut self, key: &Key, answer: NameAnswer) -> Next {
        match (self, answer) {
            (
                Machine::Update { update, guard: Some(guard), is_proposed, .. },
                NameAnswer::Says(record),
            ) => match guard.holds(record.as_ref()) {
                // Of a mistake: it has not begun.
                true if !update.is_checking() => Next::Asks,
                true => {
                    let step = update.checked();
                    *is_proposed |= step == Step::Asks;
                    step.into()
                }
                false if *is_proposed => Next::Done(NameAnswer::Failed(NameFailure::Unknown)),
                false => Next::Done(NameAnswer::Failed(NameFailure::Overtaken)),
            },
            (Machine::Update { is_proposed: true, .. }, _) => {
                Next::Done(NameAnswer::Failed(NameFailure::Unknown))
            }
            (Machine::List(listing), NameAnswer::Says(record)) => {
                listing.was_read(key, record.as_ref()).into()
            }
            (Machine::Roots(roots), NameAnswer::Says(record)) => {
                roots.was_read(key, record.as_ref())
            }
            (Machine::Move(moving), answer) => {
                let is_done = matches!(answer, NameAnswer::Says(_));
                of_moving(moving.was_brought(key, is_done), moving)
            }
            (Machine::Forget(forgetting), _) => forgetting.was_agreed(key).into(),
            _ => Next::Done(NameAnswer::Failed(NameFailure::Unavailable)),
        }
    }
}

/// What a voter says of a register; none if it speaks of something else.
fn of_register(says: Says) -> Option<Reply<NameRecord>> {
    match says {
        Says::Register(reply) => Some(reply),
        Says::Page(_) | Says::Keys(_) | Says::Roots(_) | Says::Fenced(_) => None,
    }
}

fn of_moving(step: MovingStep, moving: &Moving) -> Next {
    match step {
        MovingStep::Waits => Next::Waits,
        MovingStep::Asks => Next::Asks,
        MovingStep::Brings(keys) => Next::Brings(keys),
        MovingStep::Done => Next::Moved(moving.group(), moving.voters().epoch()),
    }
}

pub(super) fn about(
    id: u64,
    key: &Key,
    questions: Vec<Question<NameRecord>>,
) -> Vec<VoterQuestion> {
    let question = |Question { to, tag, stamp, ask }| VoterQuestion {
        to,
        asker: Asker { id, tag },
        stamp,
        about: About::Register(key.clone(), ask),
    };
    questions.into_iter().map(question).collect()
}

impl From<Step> for Next {
    fn from(step: Step) -> Next {
        match step {
            // Whoever has something to check has said what.
            Step::Waits | Step::Checks => Next::Waits,
            Step::Asks => Next::Asks,
            Step::Lost => Next::Lost,
            Step::NeedsMap(epoch) => Next::NeedsMap(epoch),
            Step::Untouched(round) => Next::Untouched(round),
            Step::Done(outcome) => Next::Done(NameAnswer::Changed(outcome)),
            Step::Unknown => Next::Done(NameAnswer::Failed(NameFailure::Unknown)),
        }
    }
}

impl From<ReadStep<NameRecord>> for Next {
    fn from(step: ReadStep<NameRecord>) -> Next {
        match step {
            ReadStep::Waits => Next::Waits,
            ReadStep::Asks => Next::Asks,
            ReadStep::Lost => Next::Lost,
            ReadStep::NeedsMap(epoch) => Next::NeedsMap(epoch),
            ReadStep::Done(record) => Next::Done(NameAnswer::Says(record)),
        }
    }
}

impl From<ListingStep> for Next {
    fn from(step: ListingStep) -> Next {
        match step {
            ListingStep::Waits => Next::Waits,
            ListingStep::Asks => Next::Asks,
            ListingStep::Reads(keys) => Next::Reads(keys),
            ListingStep::Fences(keys) => Next::Fences(keys),
            ListingStep::NeedsMap(epoch) => Next::NeedsMap(epoch),
            ListingStep::Done(listed) => Next::Done(NameAnswer::Listed(listed)),
        }
    }
}

impl From<SyncStep> for Next {
    fn from(step: SyncStep) -> Next {
        match step {
            SyncStep::Waits => Next::Waits,
            SyncStep::Asks => Next::Asks,
            SyncStep::Lost => Next::Lost,
            SyncStep::NeedsMap(epoch) => Next::NeedsMap(epoch),
            SyncStep::Done => Next::Done(NameAnswer::Says(None)),
        }
    }
}
