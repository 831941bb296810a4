//! A voter on a disk with little room left: it takes no more content, and what is there can be deleted.

mod one_voter;

use bytes::Bytes;
use one_voter::{Host, key};
use slotcast_object::{
    About, AcceptorEffect, Ask, Ballot, Body, Entry, Object, Proposer, RowsOp, RowsOutput, Version,
    VersionId,
};

fn version(length: usize) -> Vec<Version<Entry>> {
    let body = Body::inline(Bytes::from(vec![7; length]));
    let object = Some(Entry::Object(Object { size: length as u64, body, ..Object::default() }));
    let id = VersionId { change: 1, salt: 1 };
    vec![Version { id, is_null: true, object, deleted_at: None }]
}

/// Carries out what it wants of its storage, which has room or not. Gives how many answers there were.
fn settle(host: &mut Host, is_nearly_full: bool) -> usize {
    let mut answers = 0;
    loop {
        let of = |effect: &&AcceptorEffect| matches!(effect, AcceptorEffect::Answer(..));
        answers += host.effects.iter().filter(of).count();
        let begun = host.begun();
        if begun.is_empty() {
            return answers;
        }
        for (id, op) in begun {
            let output = match op {
                RowsOp::Get(_) => RowsOutput::Got(None),
                RowsOp::Write(_) if is_nearly_full => RowsOutput::NearlyFull,
                _ => RowsOutput::Done,
            };
            host.end(id.0, output);
        }
    }
}

#[test]
fn a_disk_that_is_nearly_full_takes_deletions_and_no_content() {
    let mut host = Host::new();
    host.accept_in(1, "first", version(12_000));
    assert_eq!(settle(&mut host, true), 1, "it was not known before");
    host.accept_in(1, "second", version(12_000));
    assert_eq!(settle(&mut host, true), 0);
    // Promises, what does not get longer, and what is deleted.
    let ballot = Ballot { epoch: 1, round: 2, proposer: Proposer(4) };
    host.ask(1, About::Register(key("second"), Ask::Prepare(ballot)));
    assert_eq!(settle(&mut host, true), 1);
    host.accept_in(2, "first", version(12_000));
    assert_eq!(settle(&mut host, true), 1);
    host.accept_in(3, "first", Vec::new());
    assert_eq!(settle(&mut host, true), 1);
    // Whoever asks finds out that there is room again, and is answered when it asks once more.
    host.accept_in(3, "second", version(12_000));
    assert_eq!(settle(&mut host, false), 0);
    host.accept_in(3, "second", version(12_000));
    assert_eq!(settle(&mut host, false), 1);
}
