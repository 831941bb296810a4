//! Which registers a voter says that it keeps.

mod one_voter;

use one_voter::{Host, key, voter};
use slotcast_object::{About, AcceptorEffect, KeysAsk, RowsOp, RowsOutput, Says, Voters};

/// What is being written when two sets begin to vote was accepted of somebody who knew one: it may be decided, and nobody
/// else may know of it. A scan of what is on storage may not find it.
#[test]
fn a_register_that_is_being_written_is_among_them() {
    let mut host = Host::new();
    host.accept("written");
    let (id, _) = host.begun().pop().expect("it reads the row");
    host.end(id.0, RowsOutput::Got(None));
    let (write, op) = host.begun().pop().expect("it writes the row");
    assert!(matches!(op, RowsOp::Write(_)));
    // That write is under way when the next change comes, and the voter learns of the other set.
    host.accept("changed");
    let (id, _) = host.begun().pop().expect("it reads the row");
    host.end(id.0, RowsOutput::Got(None));
    let voters = Voters::alone(1, &[voter(0), voter(1), voter(2)]).expect("three");
    let joint = voters.joint(2, &[voter(0), voter(1), voter(3)]).expect("three others");
    host.acceptor.learn((2, 0), &joint, &mut host.effects);
    host.ask(2, About::Keys(KeysAsk { from: Vec::new(), limit: 10 }));
    let (scan, op) = host.begun().pop().expect("it looks at its rows");
    assert!(matches!(op, RowsOp::Scan { .. }));
    host.end(scan.0, RowsOutput::Scanned(Vec::new(), true));
    assert!(host.effects.is_empty(), "it says nothing before what it knows is on storage");
    host.end(write.0, RowsOutput::Done);
    let answers = host.effects.iter().filter(|of| matches!(of, AcceptorEffect::Answer(..)));
    assert_eq!(answers.count(), 1, "that the first was accepted");
    let (second, _) = host.begun().pop().expect("it writes the other row, and the fence");
    host.end(second.0, RowsOutput::Done);
    let keys = host.effects.iter().find_map(|effect| match effect {
        AcceptorEffect::Answer(1, answer) => match &answer.says {
            Says::Keys(page) => Some(page.clone()),
            _ => None,
        },
        _ => None,
    });
    let keys = keys.expect("its keys");
    assert_eq!((keys.keys, keys.next), (vec![key("changed"), key("written")], None));
}

#[test]
fn who_knows_one_set_alone_hears_of_no_keys() {
    let mut host = Host::new();
    let voters = Voters::alone(1, &[voter(0), voter(1), voter(2)]).expect("three");
    let joint = voters.joint(2, &[voter(0), voter(1), voter(3)]).expect("three others");
    host.acceptor.learn((2, 0), &joint, &mut host.effects);
    let (write, _) = host.begun().pop().expect("it writes the fence");
    host.end(write.0, RowsOutput::Done);
    host.ask(1, About::Keys(KeysAsk { from: Vec::new(), limit: 10 }));
    let says = host.effects.iter().find_map(|effect| match effect {
        AcceptorEffect::Answer(_, answer) => Some(answer.says.clone()),
        _ => None,
    });
    assert!(matches!(says, Some(Says::Fenced(_))), "{says:?}");
}
