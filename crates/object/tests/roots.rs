//! What a voter says to a round of collection: which content its registers name.

mod one_voter;

use one_voter::{Host, key};
use slotcast_object::garbage::Root;
use slotcast_object::{
    About, AcceptorEffect, Body, Entry, KeysAsk, Object, RowsOp, RowsOpId, RowsOutput, Says,
    Version, VersionId,
};
use slotcast_protocol::ChunkId;

fn names_chunk(byte: u8) -> Vec<Version<Entry>> {
    let body = Body::Chunk(ChunkId([byte; 32]));
    let object = Some(Entry::Object(Object { body, ..Object::default() }));
    let id = VersionId { change: u64::from(byte), salt: 0 };
    vec![Version { id, is_null: false, object, deleted_at: None }]
}

/// The only operation that has begun since this was asked, if any.
fn op(host: &mut Host) -> Option<(RowsOpId, RowsOp)> {
    let mut begun = host.begun();
    assert!(begun.len() < 2, "{begun:?}");
    begun.pop()
}

/// The voter names other content from here on, and is asked what it names; the operations are the write of that and the
/// scan.
fn asked(host: &mut Host) -> (u64, u64) {
    host.accept_in(1, "a", Vec::new());
    let Some((RowsOpId(read), RowsOp::Get(_))) = op(host) else { panic!("the row is read") };
    host.end(read, RowsOutput::Got(None));
    let Some((RowsOpId(write), RowsOp::Write(_))) = op(host) else { panic!("it is written") };
    host.end(write, RowsOutput::Done);
    host.effects.clear();

    host.accept_in(2, "a", names_chunk(1));
    let Some((RowsOpId(write), RowsOp::Write(_))) = op(host) else { panic!("it is written") };
    host.ask(1, About::Roots(KeysAsk { from: Vec::new(), limit: 10 }));
    let Some((RowsOpId(scan), RowsOp::Scan { .. })) = op(host) else { panic!("rows are read") };
    (write, scan)
}

/// The content of the name that the voter says it names, if it says anything.
fn said(host: &mut Host) -> Option<Vec<Root>> {
    host.effects.drain(..).find_map(|effect| {
        let AcceptorEffect::Answer(_, answer) = effect else { return None };
        let Says::Roots(page) = answer.says else { return None };
        let of_name = page.rows.into_iter().filter(|row| row.key == key("a"));
        Some(of_name.flat_map(|row| row.roots).collect())
    })
}

fn root(byte: u8) -> Vec<Root> {
    vec![Root { chunk: ChunkId([byte; 32]), is_list: false }]
}

/// Otherwise the power fails, the row names again what it named before, and that was removed.
#[test]
fn what_a_row_named_is_named_until_what_follows_is_on_storage() {
    let mut host = Host::new();
    let (write, scan) = asked(&mut host);
    host.end(scan, RowsOutput::Scanned(Vec::new(), true));
    assert_eq!(said(&mut host), None, "the row may still be what it was");
    host.end(write, RowsOutput::Done);
    assert_eq!(said(&mut host), Some(root(1)));
}

#[test]
fn what_changes_beside_a_write_is_waited_for_too() {
    let mut host = Host::new();
    let (write, scan) = asked(&mut host);
    host.accept_in(3, "a", names_chunk(2));
    host.end(scan, RowsOutput::Scanned(Vec::new(), true));
    host.end(write, RowsOutput::Done);
    let mut effects = core::mem::take(&mut host.effects);
    let next = effects.iter().find_map(|effect| match effect {
        AcceptorEffect::Rows(RowsOpId(id), RowsOp::Write(_)) => Some(*id),
        _ => None,
    });
    host.effects.append(&mut effects);
    assert_eq!(said(&mut host), None, "what was accepted meanwhile is being written");
    host.end(next.expect("it is written"), RowsOutput::Done);
    assert_eq!(said(&mut host), Some(root(1)), "as it was when it was asked");
}

#[test]
fn an_idle_voter_answers_at_once() {
    let mut host = Host::new();
    let (write, scan) = asked(&mut host);
    host.end(write, RowsOutput::Done);
    host.effects.clear();
    host.end(scan, RowsOutput::Scanned(Vec::new(), true));
    assert_eq!(said(&mut host), Some(root(1)));
}
