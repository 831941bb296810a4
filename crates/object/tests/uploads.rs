//! Changes that name content whose chunks may have been collected, and voters that know of the collection.

use slotcast_object::{
    Condition, Fence, Operation, Outcome, Proposer, Question, Record, Request, RequestKey, Row,
    Step, Update, Versioning, Voter, Voters,
};
use slotcast_protocol::TargetId;

fn voter(n: u32) -> Voter {
    Voter { target: TargetId(n), store: u64::from(n), joined: 1 }
}

/// Three voters that know of a round of collection.
struct Host {
    rows: [Row<Record<&'static str>>; 3],
    fences: [Fence; 3],
}

impl Host {
    fn new(round: u64) -> Host {
        let fence = Fence { epoch: 1, voters: 1, joined: 1, floor: 0, round };
        Host { rows: Default::default(), fences: [fence; 3] }
    }

    /// Asks those that `hear` what is to be asked until it waits or ends.
    fn run(&mut self, update: &mut Update<&'static str>, hear: &[usize]) -> Step {
        loop {
            let mut next = Step::Waits;
            for Question { to, tag, stamp, ask } in update.questions() {
                let n = to.target.0 as usize;
                if !hear.contains(&n) {
                    continue;
                }
                let reply = self.rows[n].answer(&mut self.fences[n], stamp, &ask);
                match update.handle(to, tag, reply) {
                    Step::Waits => {}
                    step => next = step,
                }
            }
            if next != Step::Asks {
                return next;
            }
        }
    }
}

fn put(key: u128, object: &'static str, since: Option<u64>) -> Update<&'static str> {
    let voters = Voters::alone(1, &[voter(0), voter(1), voter(2)]).expect("three");
    let request = Request {
        key: RequestKey(key),
        operation: Operation::Put(object),
        condition: Condition::Always,
        versioning: Versioning::Off,
        permit: slotcast_object::Permit::default(),
    };
    Update::new(request, voters, 1, Proposer(key as u64)).of_upload(since)
}

#[test]
fn what_was_stored_two_rounds_ago_is_touched_before_it_is_named() {
    let all = [0, 1, 2];
    for (since, is_named) in
        [(None, true), (Some(7), true), (Some(6), true), (Some(5), false), (Some(0), false)]
    {
        let mut host = Host::new(7);
        let mut update = put(3, "content", since);
        let step = host.run(&mut update, &all);
        assert_eq!(matches!(step, Step::Done(Outcome::Stored(_))), is_named, "{since:?}: {step:?}");
        if !is_named {
            assert_eq!(step, Step::Untouched(7));
            let accepted = host.rows.iter().filter(|row| row.accepted().1.is_some()).count();
            assert_eq!(accepted, 0, "no voter has it");
            assert_eq!(update.touched(6), Step::Asks);
            let step = host.run(&mut update, &all);
            assert!(matches!(step, Step::Done(Outcome::Stored(_))), "{step:?}");
        }
    }
}

/// A change was accepted by one voter only. Others may bring it to an end after any number of rounds: that voter names it,
/// and so it is marked.
#[test]
fn what_one_voter_has_accepted_may_be_brought_to_an_end_later() {
    let mut host = Host::new(7);
    let mut old = put(3, "old", Some(7));
    // It is prepared with all, and accepted by the first.
    for Question { to, tag, stamp, ask } in old.questions() {
        let n = to.target.0 as usize;
        let reply = host.rows[n].answer(&mut host.fences[n], stamp, &ask);
        old.handle(to, tag, reply);
    }
    assert_eq!(host.run(&mut old, &[0]), Step::Waits);
    for fence in &mut host.fences {
        fence.round = 12;
    }
    assert_eq!(host.run(&mut old, &[1]), Step::Untouched(12), "it cannot go on by itself");
    let mut new = put(4, "new", Some(12));
    let step = host.run(&mut new, &[0, 1]);
    // Ballots of later attempts are higher.
    let step = if step == Step::Lost { new.retry() } else { step };
    let step = if step == Step::Asks { host.run(&mut new, &[0, 1]) } else { step };
    assert!(matches!(step, Step::Done(Outcome::Stored(_))), "{step:?}");
    let record = host.rows[1].accepted().1.expect("it says something");
    assert!(record.recent.iter().any(|(key, _)| *key == RequestKey(3)), "{record:?}");
}
