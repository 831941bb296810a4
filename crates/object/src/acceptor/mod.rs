//! What one target keeps of names: the rows of all registers that it is a voter of.
//!
//! Rows are on stable storage in the order of their keys ([`RowsOp`]); a few are in memory, those that are being asked
//! about. What follows from a row is said when that row is on stable storage: all that has changed while one write was
//! under way is in the next one, so that a flush is shared by all who wait.

pub(crate) mod deleted;
mod keys;
mod page;
pub(crate) mod roots;
mod storage;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use slotcast_protocol::TargetId;

use crate::code;
use crate::key::Key;
use crate::message::{
    About, Asker, NameRecord, PageAsk, RootsRow, Says, VoterAnswer, VoterQuestion,
};
use crate::register::fence::{Fence, Stamp};
use crate::register::row::{Ask, Row};
use crate::register::voters::{Voter, Voters};

/// Numbers the operations of one acceptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowsOpId(pub u64);

/// An operation on the rows of one target. Those that change anything are carried out in the order in which they were
/// asked for. What is read has all that was reported before the reading was asked for, and of what was under way the
/// first few operations, each of them whole or not at all; so what is read later is never older.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowsOp {
    /// Opens the rows, or makes them.
    Open,
    /// The value of a key.
    Get(Vec<u8>),
    /// These keys, of 1 to 65,535 bytes, have these values from now on, or none: all of them or nothing, and on stable
    /// storage. Of one that is named twice the later value counts.
    Write(Vec<(Vec<u8>, Option<Vec<u8>>)>),
    /// The first so many keys from one on and before another, with their values, in order.
    Scan {
        /// The first key that counts.
        from: Vec<u8>,
        /// The first that does not, if any.
        before: Option<Vec<u8>>,
        /// At most so many; fewer, but one at least, where they have [`MAX_SCAN`] bytes already.
        limit: u32,
    },
    /// All keys are gone, on stable storage; the identity of the store stays.
    Clear,
}

/// Bytes of keys and values with which a scan ends.
pub const MAX_SCAN: usize = 4 << 20;

/// What came of a [`RowsOp`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowsOutput {
    /// They are open: the identity of the store, which was drawn when it was made.
    Opened(u64),
    /// The value, if there is one.
    Got(Option<Vec<u8>>),
    /// It is done, on stable storage.
    Done,
    /// The same; and there is little more room left than deletions need.
    NearlyFull,
    /// Keys and values, and whether these are all that there are.
    Scanned(Vec<(Vec<u8>, Vec<u8>)>, bool),
}

/// The rows cannot be read or written. Whatever the storage holds then, nobody relies on it before it was opened anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowsError;

/// What an acceptor wants of whoever hosts it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AcceptorEffect {
    /// Carry this out, and report it.
    Rows(RowsOpId, RowsOp),
    /// Say this to a node.
    Answer(u32, VoterAnswer),
    /// It is open, or known not to open, or has failed.
    Changed,
}

/// On a disk that is nearly full a record may become so many bytes longer: a deletion leaves a marker. Content in a record is
/// longer, but for little.
const MAX_GROWTH: usize = 4 << 10;

/// Where the fence is kept: no row has so short a key.
const FENCE: &[u8] = b"f";

/// Rows that are kept in memory though nobody asks about them.
const CACHED: usize = 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Opening,
    /// The fence is read.
    Reading(u64),
    Open(u64),
    Failed,
}

/// A question about a register.
#[derive(Debug)]
struct Asked {
    whom: Whom,
    stamp: Stamp,
    ask: Ask<NameRecord>,
}

/// Who asks whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Whom {
    node: u32,
    asker: Asker,
    /// This acceptor, as the asker knows it.
    to: Voter,
}

impl Whom {
    fn answer(self, says: Says) -> (u32, VoterAnswer) {
        (self.node, VoterAnswer { from: self.to, asker: self.asker, says })
    }
}

/// What is being written, and what follows from it.
#[derive(Debug)]
struct Writing {
    keys: BTreeSet<Key>,
    has_fence: bool,
    answers: Vec<(u32, VoterAnswer)>,
}

/// A row in memory.
#[derive(Debug)]
enum Loaded {
    /// It is being read by this operation; these wait for it.
    Reading(RowsOpId, Vec<Asked>),
    /// When it was last asked about.
    Here(Row<NameRecord>, u64),
}

/// What an operation was for.
#[derive(Debug)]
enum Pending {
    Open,
    Fence,
    Row(Key),
    Write,
    /// Whether there is room again.
    Room,
    Clear,
    Page(Whom, Stamp, PageAsk),
    /// With the registers that were being written when it was asked for.
    Keys(Whom, Stamp, BTreeSet<Key>),
    /// Of deleted names.
    Deleted(Whom, Stamp),
    /// With what was being written.
    Roots(Whom, Stamp, Vec<RootsRow>),
}

/// The rows of one target, of all registers that it is a voter of. A host that loses what was not on stable storage makes another
/// one.
#[derive(Debug)]
pub struct Acceptor {
    target: TargetId,
    state: State,
    fence: Fence,
    /// What the cluster map of an epoch says: of the round of collection, and of its group.
    voters: Option<((u64, u64), Voters)>,
    is_fence_new: bool,
    /// Rows of an earlier term are being dropped: nothing is answered meanwhile.
    is_clearing: bool,
    /// There is little room left: whoever asks it to accept much is not answered.
    is_nearly_full: bool,
    rows: BTreeMap<Key, Loaded>,
    /// Rows in memory by when they were last asked about.
    used: BTreeMap<u64, Key>,
    uses: u64,
    /// Rows that have changed since the write under way began.
    changed: BTreeSet<Key>,
    /// What follows from them.
    answers: Vec<(u32, VoterAnswer)>,
    writing: Option<Writing>,
    ops: BTreeMap<RowsOpId, Pending>,
    next: u64,
}

impl Acceptor {
    /// The acceptor of a target; it opens its rows.
    pub fn open(target: TargetId, effects: &mut Vec<AcceptorEffect>) -> Acceptor {
        let mut acceptor = Acceptor {
            target,
            state: State::Opening,
            fence: Fence::default(),
            voters: None,
            is_fence_new: false,
            is_clearing: false,
            is_nearly_full: false,
            rows: BTreeMap::new(),
            used: BTreeMap::new(),
            uses: 0,
            changed: BTreeSet::new(),
            answers: Vec::new(),
            writing: None,
            ops: BTreeMap::new(),
            next: 0,
        };
        acceptor.start(Pending::Open, RowsOp::Open, effects);
        acceptor
    }

    /// The identity of its store, once that is known. A store that has failed has none.
    pub fn store(&self) -> Option<u64> {
        match self.state {
            State::Reading(store) | State::Open(store) => Some(store),
            State::Opening | State::Failed => None,
        }
    }

    /// Whether it is not known yet whether its rows can be read and written.
    pub fn is_opening(&self) -> bool {
        matches!(self.state, State::Opening | State::Reading(_))
    }

    /// Whether its rows can be read and written, as far as is known.
    pub fn is_open(&self) -> bool {
        matches!(self.state, State::Open(_))
    }

    /// What it knows of the cluster map.
    pub fn fence(&self) -> Fence {
        self.fence
    }

    /// In the cluster map of an epoch, with that round of collection, these vote in its group.
    pub fn learn(
        &mut self,
        (epoch, round): (u64, u64),
        voters: &Voters,
        effects: &mut Vec<AcceptorEffect>,
    ) {
        if self.voters.as_ref().is_none_or(|((known, _), _)| *known < epoch) {
            self.voters = Some(((epoch, round), voters.clone()));
        }
        self.follow(effects);
        self.flush(effects);
    }

    fn follow(&mut self, effects: &mut Vec<AcceptorEffect>) {
        let (State::Open(store), false) = (self.state, self.is_clearing) else { return };
        let Some(((epoch, round), voters)) = &self.voters else { return };
        if *epoch <= self.fence.epoch {
            return;
        }
        let drops_rows = self.fence.learn(*epoch, voters, self.target, store);
        self.fence.round = self.fence.round.max(*round);
        self.is_fence_new = true;
        // An empty store has none to drop; but which rows there are is not known in memory.
        if drops_rows {
            self.is_clearing = true;
            self.rows.clear();
            self.used.clear();
            self.changed.clear();
            self.answers.clear();
            if let Some(writing) = &mut self.writing {
                writing.keys.clear();
                writing.answers.clear();
            }
            self.start(Pending::Clear, RowsOp::Clear, effects);
        }
    }

    /// `node` asks. Whoever is not answered asks again.
    pub fn ask(&mut self, node: u32, question: VoterQuestion, effects: &mut Vec<AcceptorEffect>) {
        let VoterQuestion { to, asker, stamp, about } = question;
        let State::Open(store) = self.state else { return };
        if (to.target, to.store) != (self.target, store) || self.is_clearing {
            return;
        }
        let whom = Whom { node, asker, to };
        match about {
            About::Register(key, ask) => {
                self.ask_register(key, Asked { whom, stamp, ask }, effects);
            }
            About::Page(page) => self.ask_page(whom, stamp, page, effects),
            About::Keys(keys) => self.ask_keys(whom, stamp, keys, effects),
            About::Roots(keys) => self.ask_roots(whom, stamp, keys, effects),
            About::Deleted(keys) => {
                self.scan(whom, stamp, (keys, Pending::Deleted(whom, stamp)), effects);
            }
        }
        self.flush(effects);
    }

    fn ask_register(&mut self, key: Key, asked: Asked, effects: &mut Vec<AcceptorEffect>) {
        match self.rows.get_mut(&key) {
            Some(Loaded::Here(..)) => self.answer(&key, asked, effects),
            Some(Loaded::Reading(_, waiting)) => {
                // Who asks again has not gone away, and one answer is enough.
                match waiting.iter_mut().find(|other| other.whom == asked.whom) {
                    Some(other) => *other = asked,
                    None => waiting.push(asked),
                }
            }
            None => {
                let op = self.start(Pending::Row(key.clone()), RowsOp::Get(key.bytes()), effects);
                self.rows.insert(key, Loaded::Reading(op, [asked].into()));
            }
        }
    }

    fn answer(&mut self, key: &Key, asked: Asked, effects: &mut Vec<AcceptorEffect>) {
        let Asked { whom, stamp, ask } = asked;
        let Some(Loaded::Here(row, used)) = self.rows.get_mut(key) else { return };
        if self.is_nearly_full && grows(row, &ask) {
            return self.look_for_room(effects);
        }
        self.used.remove(used);
        self.uses += 1;
        *used = self.uses;
        self.used.insert(self.uses, key.clone());
        let before = (row.promised(), row.accepted().0, self.fence);
        let reply = row.answer(&mut self.fence, stamp, &ask);
        row.tidy(&self.fence);
        let is_changed = (before.0, before.1) != (row.promised(), row.accepted().0);
        if before.2 != self.fence {
            self.is_fence_new = true;
        }
        if is_changed {
            self.changed.insert(key.clone());
        }
        self.say(Some(key), whom.answer(Says::Register(reply)), effects);
    }

    /// Writes nothing, which tells whether there is room by now.
    fn look_for_room(&mut self, effects: &mut Vec<AcceptorEffect>) {
        if !self.ops.values().any(|pending| matches!(pending, Pending::Room)) {
            self.start(Pending::Room, RowsOp::Write(Vec::new()), effects);
        }
    }
}

/// Whether a row would become much longer.
fn grows(row: &Row<NameRecord>, ask: &Ask<NameRecord>) -> bool {
    let Ask::Accept(_, record) = ask else { return false };
    let before = row.accepted().1.map_or(0, |record| code::encode(record).len());
    code::encode(record).len() > before + MAX_GROWTH
}
