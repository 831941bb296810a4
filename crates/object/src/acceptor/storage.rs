//! What a voter writes and reads, and what it says when that has ended.

use alloc::vec::Vec;

use super::{
    Acceptor, AcceptorEffect, CACHED, FENCE, Loaded, Pending, RowsError, RowsOp, RowsOpId,
    RowsOutput, State, Writing,
};
use crate::code;
use crate::key::Key;
use crate::message::{NameRecord, VoterAnswer};
use crate::register::row::Row;

impl Acceptor {
    /// Says something that follows from a row, and from the fence, when both are on stable storage.
    pub(super) fn say(
        &mut self,
        key: Option<&Key>,
        answer: (u32, VoterAnswer),
        effects: &mut Vec<AcceptorEffect>,
    ) {
        let is_changed = key.is_some_and(|key| self.changed.contains(key));
        if self.is_fence_new || is_changed || self.is_clearing {
            return self.answers.push(answer);
        }
        let is_in = |writing: &Writing| {
            writing.has_fence || key.is_some_and(|key| writing.keys.contains(key))
        };
        match self.writing.as_mut().filter(|writing| is_in(writing)) {
            Some(writing) => writing.answers.push(answer),
            None => effects.push(AcceptorEffect::Answer(answer.0, answer.1)),
        }
    }

    /// Says something that follows from many rows, when all that has changed is on stable storage: a row that is lost with
    /// the power says again what it said before.
    pub(super) fn say_of_all(
        &mut self,
        answer: (u32, VoterAnswer),
        effects: &mut Vec<AcceptorEffect>,
    ) {
        match &mut self.writing {
            _ if !self.changed.is_empty() => self.answers.push(answer),
            Some(writing) => writing.answers.push(answer),
            None => self.say(None, answer, effects),
        }
    }

    /// Writes what has changed. What was written while rows were dropped is of their time.
    pub(super) fn flush(&mut self, effects: &mut Vec<AcceptorEffect>) {
        if self.writing.is_some() || self.is_clearing || !self.is_open() {
            return;
        }
        let has_fence = core::mem::take(&mut self.is_fence_new);
        let keys = core::mem::take(&mut self.changed);
        if !has_fence && keys.is_empty() {
            return self.forget_unused();
        }
        let mut writes = Vec::with_capacity(keys.len() + 1);
        if has_fence {
            writes.push((FENCE.to_vec(), Some(code::encode(&self.fence))));
        }
        for key in &keys {
            if let Some(Loaded::Here(row, _)) = self.rows.get(key) {
                let value = (!row.is_blank()).then(|| code::encode(row));
                writes.push((key.bytes(), value));
            }
        }
        let answers = core::mem::take(&mut self.answers);
        self.writing = Some(Writing { keys, has_fence, answers });
        self.start(Pending::Write, RowsOp::Write(writes), effects);
        self.forget_unused();
    }

    pub(super) fn forget_unused(&mut self) {
        while self.used.len() > CACHED {
            let is_idle = |key: &&Key| {
                let is_writing =
                    self.writing.as_ref().is_some_and(|writing| writing.keys.contains(*key));
                !self.changed.contains(*key) && !is_writing
            };
            let Some((used, key)) = self.used.iter().find(|(_, key)| is_idle(key)) else { return };
            let (used, key) = (*used, key.clone());
            self.used.remove(&used);
            self.rows.remove(&key);
        }
    }

    pub(super) fn start(
        &mut self,
        pending: Pending,
        op: RowsOp,
        effects: &mut Vec<AcceptorEffect>,
    ) -> RowsOpId {
        let id = RowsOpId(self.next);
        self.next += 1;
        self.ops.insert(id, pending);
        effects.push(AcceptorEffect::Rows(id, op));
        id
    }

    /// An operation has ended.
    pub fn ended(
        &mut self,
        id: RowsOpId,
        result: Result<RowsOutput, RowsError>,
        effects: &mut Vec<AcceptorEffect>,
    ) {
        let Some(pending) = self.ops.remove(&id) else { return };
        if self.state == State::Failed {
            return;
        }
        if let (Pending::Write | Pending::Room, Ok(output)) = (&pending, &result) {
            self.is_nearly_full = *output == RowsOutput::NearlyFull;
        }
        let is_done = match (pending, result) {
            (Pending::Room, Ok(RowsOutput::Done | RowsOutput::NearlyFull)) => true,
            (Pending::Open, Ok(RowsOutput::Opened(store))) => {
                self.state = State::Reading(store);
                self.start(Pending::Fence, RowsOp::Get(FENCE.to_vec()), effects);
                true
            }
            (Pending::Fence, Ok(RowsOutput::Got(value))) => self.opened(value.as_deref(), effects),
            (Pending::Row(key), Ok(RowsOutput::Got(value))) => {
                self.read(&key, id, value.as_deref(), effects)
            }
            (Pending::Write, Ok(RowsOutput::Done | RowsOutput::NearlyFull)) => {
                let answers =
                    self.writing.take().map(|writing| writing.answers).unwrap_or_default();
                let answers = answers.into_iter();
                effects.extend(answers.map(|(node, answer)| AcceptorEffect::Answer(node, answer)));
                true
            }
            (Pending::Clear, Ok(RowsOutput::Done | RowsOutput::NearlyFull)) => {
                self.is_clearing = false;
                // The map may have changed again.
                self.follow(effects);
                true
            }
            (Pending::Page(whom, stamp, ask), Ok(RowsOutput::Scanned(rows, is_all))) => {
                self.scanned(whom, stamp, &ask, (&rows, is_all), effects)
            }
            (Pending::Keys(whom, stamp, written), Ok(RowsOutput::Scanned(rows, is_all))) => {
                self.keys_scanned(whom, stamp, written, (&rows, is_all), effects)
            }
            (Pending::Deleted(whom, stamp), Ok(RowsOutput::Scanned(rows, is_all))) => {
                self.deleted_scanned(whom, stamp, (&rows, is_all), effects)
            }
            (Pending::Roots(whom, stamp, written), Ok(RowsOutput::Scanned(rows, is_all))) => {
                self.roots_scanned(whom, stamp, written, (&rows, is_all), effects)
            }
            _ => false,
        };
        if !is_done {
            // What is in memory may be ahead of what is on storage, and nobody may hear of it.
            self.state = State::Failed;
            self.rows.clear();
            self.answers.clear();
            self.writing = None;
            effects.push(AcceptorEffect::Changed);
            return;
        }
        self.flush(effects);
    }

    pub(super) fn opened(
        &mut self,
        fence: Option<&[u8]>,
        effects: &mut Vec<AcceptorEffect>,
    ) -> bool {
        let State::Reading(store) = self.state else { return false };
        match fence.map(code::decode) {
            Some(Some(fence)) => self.fence = fence,
            Some(None) => return false,
            None => {}
        }
        self.state = State::Open(store);
        effects.push(AcceptorEffect::Changed);
        self.follow(effects);
        true
    }

    /// A row was read for those who wait for it.
    pub(super) fn read(
        &mut self,
        key: &Key,
        id: RowsOpId,
        value: Option<&[u8]>,
        effects: &mut Vec<AcceptorEffect>,
    ) -> bool {
        let row = match value.map(code::decode::<Row<NameRecord>>) {
            Some(Some(row)) => row,
            Some(None) => return false,
            None => Row::default(),
        };
        // What was being read when all rows were dropped is nobody's.
        match self.rows.get(key) {
            Some(Loaded::Reading(op, _)) if *op == id => {}
            _ => return true,
        }
        self.uses += 1;
        self.used.insert(self.uses, key.clone());
        let before = self.rows.insert(key.clone(), Loaded::Here(row, self.uses));
        if let Some(Loaded::Reading(_, waiting)) = before {
            waiting.into_iter().for_each(|asked| self.answer(key, asked, effects));
        }
        true
    }
}
