//! Ordered rows that forget what was not flushed, and fail and hang when told.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::mem;
use core::ops::Bound::{Excluded, Included, Unbounded};

use slotcast_object::{MAX_SCAN, RowsError, RowsOp, RowsOpId, RowsOutput};
use slotcast_random::{Stream, Streams};

use crate::disk_faults::{Hang, released};
use crate::rows_faults::RowsFaults;

/// The most bytes of a key.
const MAX_KEY: usize = u16::MAX as usize;

type Result = core::result::Result<RowsOutput, RowsError>;

/// A store and its rows, as somebody sees them.
#[derive(Debug, Clone, Default)]
struct Content {
    identity: Option<u64>,
    rows: BTreeMap<Vec<u8>, Vec<u8>>,
}

/// Something that is there whole or not at all after a crash.
#[derive(Debug, Clone)]
enum Change {
    Made(u64),
    Written(Vec<(Vec<u8>, Option<Vec<u8>>)>),
    Cleared,
}

impl Content {
    fn change(&mut self, change: &Change) {
        match change {
            Change::Made(identity) => {
                *self = Content { identity: Some(*identity), rows: BTreeMap::new() };
            }
            Change::Written(writes) => {
                for (key, value) in writes {
                    match value {
                        Some(value) => self.rows.insert(key.clone(), value.clone()),
                        None => self.rows.remove(key),
                    };
                }
            }
            Change::Cleared => self.rows.clear(),
        }
    }

    fn scan(&self, from: Vec<u8>, before: Option<Vec<u8>>, limit: u32) -> RowsOutput {
        if before.as_ref().is_some_and(|before| *before <= from) {
            return RowsOutput::Scanned(Vec::new(), true);
        }
        let before = before.map_or(Unbounded, Excluded);
        let mut rows = self.rows.range((Included(from), before));
        let (mut found, mut bytes) = (Vec::new(), 0);
        while found.len() < limit as usize && bytes < MAX_SCAN {
            let Some((key, value)) = rows.next() else {
                return RowsOutput::Scanned(found, true);
            };
            bytes += key.len() + value.len();
            found.push((key.clone(), value.clone()));
        }
        RowsOutput::Scanned(found, rows.next().is_none())
    }
}

/// An operation that was asked for and not answered yet.
#[derive(Debug, Clone)]
struct Pending {
    id: RowsOpId,
    op: RowsOp,
    hang: Option<Hang>,
    /// Carried out before one that was asked for later.
    result: Option<Result>,
}

impl Pending {
    fn is_read(&self) -> bool {
        matches!(self.op, RowsOp::Get(_) | RowsOp::Scan { .. })
    }
}

/// Simulated rows of one target: the same stream of choices, the same rows.
#[derive(Debug, Clone)]
pub struct SimulatedRows {
    /// What readers see.
    cached: Content,
    /// What is certain to be there after a crash.
    flushed: Content,
    /// Changes between the two. A crash leaves the first few.
    unflushed: Vec<Change>,
    is_open: bool,
    pending: Vec<Pending>,
    chance: Stream,
    /// Rows that it has room for. A write that would make more of them fails.
    pub room: usize,
    /// It says that there is little room left.
    pub is_nearly_full: bool,
    /// It says that it has flushed, and has not.
    pub lies: bool,
    /// What goes wrong, by kind of operation.
    pub faults: RowsFaults,
}

impl SimulatedRows {
    /// All keys and values, as readers see them.
    pub fn all(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.cached.rows.iter().map(|(key, value)| (&key[..], &value[..]))
    }

    /// No store yet, without faults; draws from `seed`.
    pub fn new(seed: u64) -> SimulatedRows {
        SimulatedRows {
            cached: Content::default(),
            flushed: Content::default(),
            unflushed: Vec::new(),
            is_open: false,
            pending: Vec::new(),
            chance: Streams::new(seed).stream("rows", 0),
            room: usize::MAX,
            is_nearly_full: false,
            lies: false,
            faults: RowsFaults::default(),
        }
    }

    /// Takes an operation, to be carried out later. One that changes anything waits for those before it, and hangs with
    /// them.
    pub fn ask(&mut self, id: RowsOpId, op: RowsOp) {
        let mut pending = Pending { id, hang: self.faults.of(&op).hang, op, result: None };
        if !pending.is_read() {
            let before = self.pending.iter().filter(|pending| !pending.is_read());
            pending.hang = before.map(|before| before.hang).fold(pending.hang, longer);
        }
        self.pending.push(pending);
    }

    /// Carries out one of the operations that were asked for and do not hang: any read, or the first of the others.
    pub fn step(&mut self) -> Option<(RowsOpId, Result)> {
        let first = self.pending.iter().position(|pending| !pending.is_read());
        let is_ready = |(place, pending): &(usize, &Pending)| {
            pending.hang.is_none() && (pending.is_read() || Some(*place) == first)
        };
        let ready = || self.pending.iter().enumerate().filter(is_ready);
        let count = ready().count() as u64;
        if count == 0 {
            return None;
        }
        let draw = usize::try_from(self.chance.below(count)).expect("fewer than there are");
        let id = ready().nth(draw)?.1.id;
        self.finish(id).map(|result| (id, result))
    }

    /// Carries out the operation `id`, and if it changes anything, those before it that do; none if it hangs, was never
    /// asked for, or the power has failed since.
    pub fn finish(&mut self, id: RowsOpId) -> Option<Result> {
        let is_ready = |pending: &Pending| pending.id == id && pending.hang.is_none();
        let which = self.pending.iter().position(is_ready)?;
        if !self.pending[which].is_read() {
            for place in 0..which {
                let before = &self.pending[place];
                if !before.is_read() && before.result.is_none() {
                    let op = before.op.clone();
                    self.pending[place].result = Some(self.attempt(op));
                }
            }
        }
        let Pending { op, result, .. } = self.pending.remove(which);
        Some(result.unwrap_or_else(|| self.attempt(op)))
    }

    /// Ends [`Hang::UntilReleased`]. Returns the operations that hung so, which can be carried out now, in the order in
    /// which they were asked for.
    pub fn release(&mut self) -> Vec<RowsOpId> {
        self.faults.release();
        released(self.pending.iter_mut().map(|pending| (pending.id, &mut pending.hang)))
    }

    fn attempt(&mut self, op: RowsOp) -> Result {
        if !self.is_open && op != RowsOp::Open {
            return Err(RowsError);
        }
        let faults = *self.faults.of(&op);
        let is_unlucky = |one_in| self.chance.below(one_in) == 0;
        if !faults.lasting && !faults.one_in.is_some_and(is_unlucky) {
            return self.carry_out(op);
        }
        // What has failed may be there after all, when it is read anew.
        if self.chance.below(2) == 0 {
            let change = self.change_of(op);
            self.unflushed.extend(change);
        }
        self.is_open = false;
        Err(RowsError)
    }

    /// What an operation changes.
    fn change_of(&mut self, op: RowsOp) -> Option<Change> {
        match op {
            RowsOp::Open if self.identity_to_be().is_some() => None,
            RowsOp::Open => Some(Change::Made(self.chance.next_u64().max(1))),
            RowsOp::Write(writes) => Some(Change::Written(writes)),
            RowsOp::Clear => Some(Change::Cleared),
            RowsOp::Get(_) | RowsOp::Scan { .. } => None,
        }
    }

    /// The identity that the store has if all of its changes are there.
    fn identity_to_be(&self) -> Option<u64> {
        let made = |change: &Change| match change {
            Change::Made(identity) => Some(*identity),
            _ => None,
        };
        self.unflushed.iter().rev().find_map(made).or(self.flushed.identity)
    }

    fn carry_out(&mut self, op: RowsOp) -> Result {
        match op {
            RowsOp::Get(key) => return Ok(RowsOutput::Got(self.cached.rows.get(&key).cloned())),
            RowsOp::Scan { from, before, limit } => {
                return Ok(self.cached.scan(from, before, limit));
            }
            RowsOp::Open => {
                let made = self.change_of(RowsOp::Open);
                self.unflushed.extend(made);
                // What it had kept of changes that failed is there from now on.
                self.read_anew();
                self.is_open = true;
                self.flush();
                return self.cached.identity.map(RowsOutput::Opened).ok_or(RowsError);
            }
            RowsOp::Write(writes) if !self.takes(&writes) => {
                self.is_open = false;
                return Err(RowsError);
            }
            op => {
                let change = self.change_of(op);
                if let Some(change) = change {
                    self.cached.change(&change);
                    self.unflushed.push(change);
                }
                self.flush();
            }
        }
        Ok(if self.is_nearly_full { RowsOutput::NearlyFull } else { RowsOutput::Done })
    }

    /// Whether there is room for them, and their keys are possible.
    fn takes(&self, writes: &[(Vec<u8>, Option<Vec<u8>>)]) -> bool {
        let is_new = |(key, value): &&(Vec<u8>, Option<Vec<u8>>)| {
            value.is_some() && !self.cached.rows.contains_key(key)
        };
        let count = self.cached.rows.len() + writes.iter().filter(is_new).count();
        count <= self.room && writes.iter().all(|(key, _)| (1..=MAX_KEY).contains(&key.len()))
    }

    fn flush(&mut self) {
        if !self.lies {
            self.unflushed.drain(..).for_each(|change| self.flushed.change(&change));
        }
    }

    fn read_anew(&mut self) {
        self.cached = self.flushed.clone();
        self.unflushed.iter().for_each(|change| self.cached.change(change));
    }

    /// The power fails: of all changes that were not flushed, or were under way, the first few are there.
    pub fn crash(&mut self) {
        self.is_open = false;
        for Pending { op, result, .. } in mem::take(&mut self.pending) {
            if result.is_none() {
                let change = self.change_of(op);
                self.unflushed.extend(change);
            }
        }
        let kept = self.chance.below(self.unflushed.len() as u64 + 1);
        let kept = usize::try_from(kept).expect("fewer than there are");
        self.unflushed.drain(..kept).for_each(|change| self.flushed.change(&change));
        self.unflushed.clear();
        self.cached = self.flushed.clone();
    }

    /// Everything on it is gone: who opens it finds another store.
    pub fn wipe(&mut self) {
        (self.cached, self.flushed) = (Content::default(), Content::default());
        self.unflushed.clear();
        self.pending.clear();
        self.is_open = false;
    }

    /// All rows are gone, and the identity of the store stays: no store does that, a test may.
    pub fn wipe_rows(&mut self) {
        let identity = self.flushed.identity;
        self.wipe();
        (self.cached.identity, self.flushed.identity) = (identity, identity);
    }

    /// The identity that the store would have after a power failure, if it has one.
    pub fn identity(&self) -> Option<u64> {
        self.flushed.identity
    }

    /// The value of a key that would be there after a power failure.
    pub fn flushed(&self, key: &[u8]) -> Option<&[u8]> {
        self.flushed.rows.get(key).map(Vec::as_slice)
    }
}

/// Of two hangs the one that lasts longer.
fn longer(one: Option<Hang>, other: Option<Hang>) -> Option<Hang> {
    match (one, other) {
        (Some(Hang::UntilCrash), _) | (_, Some(Hang::UntilCrash)) => Some(Hang::UntilCrash),
        (one, other) => one.or(other),
    }
}
