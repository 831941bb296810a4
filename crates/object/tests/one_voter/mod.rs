//! A voter whose storage answers when it is told to.

use slotcast_object::{
    About, Acceptor, AcceptorEffect, Ask, Asker, Ballot, BucketId, Entry, Key, Name, NameRecord,
    Proposer, Record, RequestKey, RowsOp, RowsOpId, RowsOutput, Stamp, Tag, Version, Voter,
    VoterQuestion, Voters,
};
use slotcast_protocol::TargetId;

const STORE: u64 = 9;

pub(crate) fn voter(target: u32) -> Voter {
    Voter { target: TargetId(target), store: STORE, joined: 1 }
}

pub(crate) fn key(name: &str) -> Key {
    Key::of(BucketId(3), 1, Name::new(name).expect("a name"))
}

/// A voter, and what it wants.
pub(crate) struct Host {
    pub(crate) acceptor: Acceptor,
    pub(crate) effects: Vec<AcceptorEffect>,
}

impl Host {
    pub(crate) fn new() -> Host {
        let mut effects = Vec::new();
        let acceptor = Acceptor::open(TargetId(0), &mut effects);
        let mut host = Host { acceptor, effects };
        host.end(0, RowsOutput::Opened(STORE));
        let voters = Voters::alone(1, &[voter(0), voter(1), voter(2)]).expect("three");
        host.end(1, RowsOutput::Got(None));
        host.acceptor.learn((1, 0), &voters, &mut host.effects);
        // The rows of no term are dropped, and the fence is kept.
        host.end(2, RowsOutput::Done);
        host.end(3, RowsOutput::Done);
        host.effects.clear();
        host
    }

    pub(crate) fn end(&mut self, op: u64, output: RowsOutput) {
        self.acceptor.ended(RowsOpId(op), Ok(output), &mut self.effects);
    }

    pub(crate) fn ask(&mut self, epoch: u64, about: About) {
        let asker = Asker { id: 5, tag: Tag(0) };
        let stamp = Stamp { voters: epoch, began: epoch, upload: None };
        let question = VoterQuestion { to: voter(0), asker, stamp, about };
        self.acceptor.ask(1, question, &mut self.effects);
    }

    /// It is to accept that nothing is left of a name.
    #[allow(dead_code, reason = "each test file uses its own part")]
    pub(crate) fn accept(&mut self, name: &str) {
        self.accept_in(1, name, Vec::new());
    }

    pub(crate) fn accept_in(&mut self, round: u64, name: &str, versions: Vec<Version<Entry>>) {
        let record: NameRecord =
            Record { born: RequestKey(7), change: 1, versions, recent: Vec::new() };
        let ballot = Ballot { epoch: 1, round, proposer: Proposer(4) };
        self.ask(1, About::Register(key(name), Ask::Accept(ballot, record)));
    }

    /// What it has begun on storage since this was asked.
    pub(crate) fn begun(&mut self) -> Vec<(RowsOpId, RowsOp)> {
        let rows = |effect| match effect {
            AcceptorEffect::Rows(id, op) => Some((id, op)),
            _ => None,
        };
        self.effects.drain(..).filter_map(rows).collect()
    }
}
