use alloc::vec::Vec;

use slotcast_protocol::TargetId;

use super::{Step, Update};
use crate::register::ballot::Proposer;
use crate::register::fence::Fence;
use crate::register::mistake::Mistake;
use crate::register::record::{
    Condition, MAX_RECENT, Operation, Outcome, Record, Request, RequestKey, Versioning,
};
use crate::register::row::Row;
use crate::register::voters::{Voter, Voters};

/// The voters of a name.
struct Register {
    voters: Voters,
    rows: Vec<(Fence, Row<Record<char>>)>,
    mistake: Option<Mistake>,
}

const ALL: [usize; 3] = [0, 1, 2];

impl Register {
    fn new(number: u32) -> Register {
        let voter = |n| Voter { target: TargetId(n), store: u64::from(n), joined: 1 };
        let all: Vec<Voter> = (0..number).map(voter).collect();
        let voters = Voters::alone(1, &all).expect("a few");
        let rows = all.iter().map(|voter| {
            let mut fence = Fence::default();
            let _ = fence.learn(1, &voters, voter.target, voter.store);
            (fence, Row::default())
        });
        Register { rows: rows.collect(), voters, mistake: None }
    }

    fn update(&self, key: u128, operation: Operation<char>, condition: Condition) -> Update<char> {
        let (versioning, permit) = (Versioning::Off, crate::Permit::default());
        let request = Request { key: RequestKey(key), operation, condition, versioning, permit };
        let proposer = Proposer(u64::try_from(key).expect("small"));
        Update::new(request, self.voters.clone(), 1, proposer)
    }

    /// What `update` is about to ask arrives at these voters; and what it makes of their answers, if they arrive.
    fn ask(&mut self, update: &mut Update<char>, at: &[usize], is_heard: bool) -> Step {
        let mut step = Step::Waits;
        for question in update.questions() {
            let to = usize::try_from(question.to.target.0).expect("small");
            if !at.contains(&to) {
                continue;
            }
            let (fence, row) = &mut self.rows[to];
            let reply = row.answer(fence, question.stamp, &question.ask);
            if is_heard && step == Step::Waits {
                step = update.handle_with(question.to, question.tag, reply, self.mistake);
            }
        }
        step
    }

    /// Its next attempt, up to what it makes of what these voters hold.
    fn retry(&mut self, update: &mut Update<char>, at: &[usize]) -> Step {
        loop {
            update.retry();
            match self.ask(update, at, true) {
                Step::Lost | Step::Waits => {}
                step => return step,
            }
        }
    }

    fn carry_out(&mut self, key: u128, operation: Operation<char>, at: &[usize]) -> Outcome {
        let mut update = self.update(key, operation, Condition::Always);
        let mut step = self.ask(&mut update, at, true);
        loop {
            step = match step {
                Step::Done(outcome) => return outcome,
                Step::Lost | Step::Waits => self.retry(&mut update, at),
                Step::Asks => self.ask(&mut update, at, true),
                other => panic!("{other:?}"),
            };
        }
    }

    fn says(&self, at: usize) -> Option<char> {
        self.rows[at].1.accepted().1.and_then(Record::head).and_then(|version| version.object)
    }
}

const PUT: fn(char) -> Operation<char> = Operation::Put;

#[test]
fn what_an_attempt_after_the_first_may_have_done_is_not_done_again() {
    let mut name = Register::new(1);
    // The first attempt would make the name, and does not arrive: another one makes it.
    let mut put = name.update(1, PUT('a'), Condition::Always);
    assert_eq!(name.ask(&mut put, &ALL, true), Step::Asks);
    name.carry_out(2, PUT('b'), &ALL);
    // The second takes effect, unheard, and is not remembered: so much comes after it.
    assert_eq!(name.retry(&mut put, &ALL), Step::Asks);
    name.ask(&mut put, &ALL, false);
    assert_eq!(name.says(0), Some('a'));
    for key in (3..).take(MAX_RECENT) {
        name.carry_out(key, PUT('c'), &ALL);
    }
    assert_eq!(name.retry(&mut put, &ALL), Step::Unknown);
    assert_eq!(name.says(0), Some('c'));
}

/// What is told to whoever replaces something that only one voter has heard of, and asks again where nothing is; and what one
/// then finds to delete who hears of both.
fn of_nothing(mistake: Option<Mistake>) -> (Outcome, Outcome) {
    let mut name = Register::new(3);
    name.mistake = mistake;
    let mut first = name.update(1, PUT('a'), Condition::Always);
    assert_eq!(name.ask(&mut first, &[0, 1], true), Step::Asks);
    name.ask(&mut first, &[0], true);
    let mut replaces = name.update(2, PUT('b'), Condition::Present);
    assert_eq!(name.ask(&mut replaces, &[0, 1], true), Step::Asks);
    name.ask(&mut replaces, &[0], true);
    let told = told(&mut name, &mut replaces);
    (told, name.carry_out(9, Operation::Delete(0), &[0, 1]))
}

/// The same of one who creates what only one voter has heard that it is deleted, and asks again where it is not.
fn of_something(mistake: Option<Mistake>) -> (Outcome, Option<char>) {
    let mut name = Register::new(3);
    name.mistake = mistake;
    name.carry_out(1, PUT('a'), &ALL);
    let mut deletes = name.update(2, Operation::Delete(0), Condition::Always);
    assert_eq!(name.retry(&mut deletes, &[0, 1]), Step::Asks);
    name.ask(&mut deletes, &[0], true);
    let mut creates = name.update(3, PUT('b'), Condition::Absent);
    assert_eq!(name.retry(&mut creates, &[0, 1]), Step::Asks);
    name.ask(&mut creates, &[0], true);
    let told = told(&mut name, &mut creates);
    // Whoever deletes a version that never was agrees on what is there.
    let none = crate::VersionId { change: 0, salt: 0 };
    name.carry_out(9, Operation::DeleteVersion(none), &[0, 1]);
    (told, name.says(0))
}

fn told(name: &mut Register, update: &mut Update<char>) -> Outcome {
    let mut step = name.retry(update, &[1, 2]);
    while step == Step::Asks {
        step = name.ask(update, &[1, 2], true);
    }
    match step {
        Step::Done(outcome) => outcome,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_was_refused_does_not_take_effect_later() {
    let (told, deleted) = of_nothing(None);
    assert_eq!((told, deleted), (Outcome::ConditionFailed(None), Outcome::NothingToDelete));
    let (told, there) = of_something(None);
    assert!(matches!(told, Outcome::ConditionFailed(Some(_))));
    assert_eq!(there, Some('a'));
    // And with the mistake it does.
    let mistake = Some(Mistake::RefusesBesideItsAttempt);
    let (told, deleted) = of_nothing(mistake);
    assert_eq!((told, deleted), (Outcome::ConditionFailed(None), Outcome::Deleted(None)));
    let (told, there) = of_something(mistake);
    assert!(matches!(told, Outcome::ConditionFailed(Some(_))));
    assert_eq!(there, Some('b'));
}
