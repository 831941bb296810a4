use alloc::vec;

use super::*;
use crate::key::{BucketId, Name};
use crate::message::{KeysPage, NameRecord};
use crate::object::Object;
use crate::register::ballot::Proposer;
use crate::register::fence::Fence;
use crate::register::record::{Condition, Decision, Operation, Request, RequestKey, Versioning};
use crate::register::row::{Ask, Row};
use crate::{Entry, Permit};

/// Three voters, with their rows in memory.
struct Rows {
    voters: Voters,
    fences: Vec<Fence>,
    rows: Vec<BTreeMap<Key, Row<NameRecord>>>,
}

fn key(n: u32) -> Key {
    Key::of(BucketId(7), 1, Name::new(alloc::format!("name-{n}")).expect("a name"))
}

fn record(operation: Operation<Entry>, before: Option<&NameRecord>) -> NameRecord {
    let (condition, versioning) = (Condition::Always, Versioning::Off);
    let permit = Permit::default();
    let request = Request { key: RequestKey(1), operation, condition, versioning, permit };
    match request.decide(before) {
        Decision::Write(record, _) => record,
        Decision::Answer(outcome) => panic!("{outcome:?}"),
    }
}

/// What is left of a name that was put and deleted.
fn tombstone() -> NameRecord {
    let put = record(Operation::Put(Entry::Object(Object::default())), None);
    let recent = Vec::new();
    record(Operation::Delete(0), Some(&NameRecord { recent, ..put }))
}

fn ballot(round: u64) -> Ballot {
    Ballot { epoch: 1, round, proposer: Proposer(9) }
}

impl Rows {
    fn new() -> Rows {
        let voter = |n| Voter { target: TargetId(n), store: u64::from(n), joined: 1 };
        let voters = Voters::first(1, &[voter(0), voter(1), voter(2)]).expect("three");
        let fences = voters.old().iter().map(|voter| {
            let mut fence = Fence::default();
            let _ = fence.learn(1, &voters, voter.target, voter.store);
            fence
        });
        Rows { fences: fences.collect(), rows: vec![BTreeMap::new(); 3], voters }
    }

    fn learn(&mut self, epoch: u64) {
        for (fence, voter) in self.fences.iter_mut().zip(self.voters.old()) {
            let _ = fence.learn(epoch, &self.voters, voter.target, voter.store);
        }
    }

    /// A voter is asked about a name.
    fn ask(
        &mut self,
        at: usize,
        key: &Key,
        stamp: Stamp,
        ask: &Ask<NameRecord>,
    ) -> Reply<NameRecord> {
        let row = self.rows[at].entry(key.clone()).or_default();
        let reply = row.answer(&mut self.fences[at], stamp, ask);
        row.tidy(&self.fences[at]);
        self.rows[at].retain(|_, row| !row.is_blank());
        reply
    }

    /// These voters accept that a name says this.
    fn accept(&mut self, at: &[usize], n: u32, round: u64, says: &NameRecord) {
        let stamp = Stamp { voters: 1, began: 1, upload: None };
        for at in at {
            self.ask(*at, &key(n), stamp, &Ask::Accept(ballot(round), says.clone()));
        }
    }

    fn promise(&mut self, at: usize, n: u32, round: u64) {
        let stamp = Stamp { voters: 1, began: 1, upload: None };
        self.ask(at, &key(n), stamp, &Ask::Prepare(ballot(round)));
    }

    /// Carries out what is asked until it rests, wants an agreement, or has ended.
    fn run(&mut self, of: &mut Forgetting, mut step: ForgettingStep) -> ForgettingStep {
        while step == ForgettingStep::Asks {
            step = self.run_once(of);
        }
        step
    }

    /// Carries out what is asked now.
    fn run_once(&mut self, of: &mut Forgetting) -> ForgettingStep {
        let mut step = ForgettingStep::Asks;
        for VoterQuestion { to, asker, stamp, about, .. } in of.questions(5) {
            let at = usize::try_from(to.target.0).expect("small");
            let says = match about {
                About::Register(key, ask) => Says::Register(self.ask(at, &key, stamp, &ask)),
                About::Deleted(ask) => {
                    let nothing =
                        |row: &Row<NameRecord>| row.accepted().1.is_none_or(Record::is_tombstone);
                    let from = |key: &Key| key.bytes() >= ask.from;
                    let rows = self.rows[at].iter();
                    let found = rows.filter(|(key, row)| from(key) && nothing(row));
                    let mut keys: Vec<Key> = found.map(|(key, _)| key.clone()).collect();
                    // Pages of two.
                    let next = keys.get(2).map(Key::bytes);
                    keys.truncate(2);
                    Says::Keys(KeysPage { keys, next })
                }
                other => panic!("{other:?}"),
            };
            match of.answered(to, asker.tag, says) {
                ForgettingStep::Waits => {}
                next => step = next,
            }
        }
        step
    }

    fn held(&self, n: u32) -> usize {
        self.rows.iter().filter(|rows| rows.contains_key(&key(n))).count()
    }
}

fn begin(rows: &Rows) -> Forgetting {
    begin_in(rows, 1)
}

fn begin_in(rows: &Rows, epoch: u64) -> Forgetting {
    Forgetting::new(GroupId(0), rows.voters.clone(), rows.voters.old()[0], epoch)
}

const ALL: [usize; 3] = [0, 1, 2];

#[test]
fn what_all_hold_as_deleted_is_forgotten_and_nothing_else() {
    let mut rows = Rows::new();
    (0..5).for_each(|n| rows.accept(&ALL, n, 1, &tombstone()));
    let put = record(Operation::Put(Entry::Object(Object::default())), None);
    rows.accept(&ALL, 5, 1, &put);
    // One voter has not heard of the deletion.
    rows.accept(&ALL, 6, 1, &put);
    rows.accept(&[0, 1], 6, 2, &tombstone());
    let mut forgetting = begin(&rows);
    assert_eq!(rows.run(&mut forgetting, ForgettingStep::Asks), ForgettingStep::Rests);
    assert_eq!(forgetting.go_on(1), ForgettingStep::Waits, "it may have begun before");
    rows.learn(2);
    let next = forgetting.go_on(2);
    assert_eq!(rows.run(&mut forgetting, next), ForgettingStep::Agrees(vec![key(6)]));
    assert_eq!(forgetting.was_agreed(&key(6)), ForgettingStep::Ends);
    assert_eq!((0..5).map(|n| rows.held(n)).sum::<usize>(), 0);
    assert_eq!((rows.held(5), rows.held(6)), (3, 3));
    // What began before is not believed.
    let stamp = Stamp { voters: 1, began: 1, upload: None };
    let reply = rows.ask(0, &key(0), stamp, &Ask::Accept(ballot(1), put));
    assert_eq!(reply, Reply::Fenced(Fenced::TooOld(2)));
}

#[test]
fn what_was_promised_to_somebody_is_agreed_on_before_it_is_forgotten() {
    let mut rows = Rows::new();
    rows.accept(&ALL, 1, 1, &tombstone());
    rows.promise(2, 1, 7);
    rows.learn(2);
    let mut forgetting = begin_in(&rows, 2);
    assert_eq!(rows.run(&mut forgetting, ForgettingStep::Asks), ForgettingStep::Rests);
    rows.learn(3);
    let next = forgetting.go_on(3);
    let next = rows.run(&mut forgetting, next);
    assert_eq!(next, ForgettingStep::Agrees(vec![key(1)]));
    assert!(forgetting.agrees());
    let next = forgetting.was_agreed(&key(1));
    assert_eq!(rows.run(&mut forgetting, next), ForgettingStep::Ends);
    assert!(rows.held(1) > 0, "it is forgotten another time");
}

/// Of names that not all voters say the same of: one of them has not heard of the deletion, of the name at all, or of the
/// ballot in which it was read.
fn uneven() -> Rows {
    let mut rows = Rows::new();
    let put = record(Operation::Put(Entry::Object(Object::default())), None);
    rows.accept(&ALL, 1, 1, &put);
    rows.accept(&[0, 1], 1, 2, &tombstone());
    rows.accept(&[0, 1], 2, 1, &tombstone());
    rows.accept(&ALL, 3, 1, &tombstone());
    rows.accept(&[0, 1], 3, 2, &tombstone());
    rows.accept(&ALL, 4, 1, &tombstone());
    rows
}

#[test]
fn what_some_voters_have_missed_is_agreed_on_before_it_is_forgotten() {
    let mut rows = uneven();
    let mut forgetting = begin(&rows);
    assert_eq!(rows.run(&mut forgetting, ForgettingStep::Asks), ForgettingStep::Rests);
    rows.learn(2);
    let next = forgetting.go_on(2);
    let step = rows.run(&mut forgetting, next);
    assert_eq!(step, ForgettingStep::Agrees(vec![key(1), key(2), key(3)]));
    for n in 1..4 {
        rows.voters.old().iter().for_each(|voter| {
            let stamp = Stamp { voters: 1, began: 2, upload: None };
            let ask = Ask::Accept(Ballot { epoch: 2, ..ballot(1) }, tombstone());
            let at = usize::try_from(voter.target.0).expect("small");
            let row = rows.rows[at].entry(key(n)).or_default();
            row.answer(&mut rows.fences[at], stamp, &ask);
        });
        let next = forgetting.was_agreed(&key(n));
        assert_eq!(next, if n == 3 { ForgettingStep::Ends } else { ForgettingStep::Waits });
    }
    assert_eq!([1, 2, 3, 4].map(|n| rows.held(n)), [3, 3, 3, 0]);
    let mut forgetting = begin_in(&rows, 2);
    assert_eq!(rows.run(&mut forgetting, ForgettingStep::Asks), ForgettingStep::Rests);
    rows.learn(3);
    let next = forgetting.go_on(3);
    assert_eq!(rows.run(&mut forgetting, next), ForgettingStep::Ends);
    assert_eq!([1, 2, 3].map(|n| rows.held(n)), [0, 0, 0]);
}

/// What some have forgotten already is not there any more after the rest; nor is what was agreed on as it was.
#[test]
fn what_others_forget_or_agree_on_meanwhile_is_left_to_them() {
    let mut rows = uneven();
    let mut forgetting = begin(&rows);
    assert_eq!(rows.run(&mut forgetting, ForgettingStep::Asks), ForgettingStep::Rests);
    rows.accept(&[0, 1], 1, 9, &tombstone());
    rows.rows.iter_mut().for_each(|rows| drop(rows.remove(&key(2))));
    rows.accept(&ALL, 3, 9, &tombstone());
    rows.learn(2);
    let next = forgetting.go_on(2);
    assert_eq!(rows.run(&mut forgetting, next), ForgettingStep::Ends);
    assert_eq!([1, 2, 3, 4].map(|n| rows.held(n)), [3, 0, 3, 0]);
}

#[test]
fn what_was_promised_since_is_left_to_whoever_asked() {
    let mut rows = Rows::new();
    rows.accept(&ALL, 1, 1, &tombstone());
    let mut forgetting = begin(&rows);
    assert_eq!(rows.run(&mut forgetting, ForgettingStep::Asks), ForgettingStep::Rests);
    rows.learn(2);
    // Another one that forgets has agreed on it anew.
    let stamp = Stamp { voters: 1, began: 2, upload: None };
    let later = Ballot { epoch: 2, ..ballot(1) };
    ALL.iter().for_each(|at| drop(rows.ask(*at, &key(1), stamp, &Ask::Prepare(later))));
    let next = forgetting.go_on(2);
    assert_eq!(rows.run(&mut forgetting, next), ForgettingStep::Ends);
    assert_eq!(rows.held(1), 3);
}

/// In the epoch in which it has looked, too: whether it was before or after that nobody can say.
#[test]
fn what_was_promised_while_it_looked_is_left_to_whoever_asked() {
    let mut rows = Rows::new();
    rows.accept(&ALL, 1, 1, &tombstone());
    let mut forgetting = begin(&rows);
    assert_eq!(rows.run(&mut forgetting, ForgettingStep::Asks), ForgettingStep::Rests);
    rows.promise(2, 1, 7);
    rows.learn(2);
    let next = forgetting.go_on(2);
    assert_eq!(rows.run(&mut forgetting, next), ForgettingStep::Ends);
    assert_eq!(rows.held(1), 1, "the voter that has promised keeps it");
}

#[test]
fn promises_of_what_was_never_there_go_when_the_floor_is_above_them() {
    let mut rows = Rows::new();
    ALL.iter().for_each(|at| rows.promise(*at, 3, 4));
    let mut forgetting = begin(&rows);
    assert_eq!(rows.run(&mut forgetting, ForgettingStep::Asks), ForgettingStep::Rests);
    rows.learn(2);
    let next = forgetting.go_on(2);
    assert_eq!(rows.run(&mut forgetting, next), ForgettingStep::Ends);
    assert_eq!(rows.held(3), 3, "nobody has looked at it since");
    rows.learn(3);
    let mut forgetting = begin(&rows);
    forgetting.began = 3;
    rows.run(&mut forgetting, ForgettingStep::Asks);
    assert_eq!(rows.held(3), 0);
}

/// One of them finds nothing to forget any more, and agrees on nothing.
#[test]
fn two_may_forget_the_same() {
    let mut rows = Rows::new();
    (1..4).for_each(|n| rows.accept(&ALL, n, 1, &tombstone()));
    let mut both = [begin(&rows), begin(&rows)];
    for forgetting in &mut both {
        assert_eq!(rows.run(forgetting, ForgettingStep::Asks), ForgettingStep::Rests);
    }
    rows.learn(2);
    for forgetting in &mut both {
        let next = forgetting.go_on(2);
        assert_eq!(rows.run(forgetting, next), ForgettingStep::Ends);
    }
    assert_eq!([1, 2, 3].map(|n| rows.held(n)), [0, 0, 0]);
}

#[test]
fn what_was_found_before_a_voter_was_silent_is_forgotten() {
    let mut rows = Rows::new();
    (1..4).for_each(|n| rows.accept(&ALL, n, 1, &tombstone()));
    let mut forgetting = begin(&rows);
    assert_eq!(forgetting.gave_up(), ForgettingStep::Ends, "nothing was found yet");
    // Of two pages of names one was read.
    let mut forgetting = begin(&rows);
    let mut step = ForgettingStep::Asks;
    while forgetting.found.is_empty() {
        assert_eq!(step, ForgettingStep::Asks);
        step = rows.run_once(&mut forgetting);
    }
    let found = forgetting.found.len();
    assert!(found < 3, "{found} of 3");
    assert_eq!(forgetting.gave_up(), ForgettingStep::Rests);
    rows.learn(2);
    let next = forgetting.go_on(2);
    assert_eq!(rows.run(&mut forgetting, next), ForgettingStep::Ends);
    assert_eq!((1..4).filter(|n| rows.held(*n) == 0).count(), found);
}
