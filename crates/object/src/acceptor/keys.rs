//! Which registers a voter keeps, for whoever brings them to others.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use super::page::KeyValue;
use super::{Acceptor, AcceptorEffect, Pending, RowsOp, Whom};
use crate::key::Key;
use crate::message::{KeysAsk, KeysPage, MAX_PAGE, Says};
use crate::register::fence::Stamp;

impl Acceptor {
    pub(super) fn ask_keys(
        &mut self,
        whom: Whom,
        stamp: Stamp,
        ask: KeysAsk,
        effects: &mut Vec<AcceptorEffect>,
    ) {
        // What is being written may not be found, and may have been accepted of somebody who does not know both sets.
        let writing = self.writing.iter().flat_map(|writing| &writing.keys);
        let written = self.changed.iter().chain(writing);
        let written = written.filter(|key| key.bytes() >= ask.from).cloned().collect();
        self.scan(whom, stamp, (ask, Pending::Keys(whom, stamp, written)), effects);
    }

    /// Looks at rows for somebody, if that is believed.
    pub(super) fn scan(
        &mut self,
        whom: Whom,
        stamp: Stamp,
        (ask, pending): (KeysAsk, Pending),
        effects: &mut Vec<AcceptorEffect>,
    ) {
        if let Err(why) = self.fence.admit(stamp) {
            return self.say(None, whom.answer(Says::Fenced(why)), effects);
        }
        let limit = ask.limit.clamp(1, MAX_PAGE);
        self.start(pending, RowsOp::Scan { from: ask.from, before: None, limit }, effects);
    }

    pub(super) fn keys_scanned(
        &mut self,
        whom: Whom,
        stamp: Stamp,
        written: BTreeSet<Key>,
        (rows, is_all): (&[KeyValue], bool),
        effects: &mut Vec<AcceptorEffect>,
    ) -> bool {
        if let Err(why) = self.fence.admit(stamp) {
            self.say(None, whom.answer(Says::Fenced(why)), effects);
            return true;
        }
        let next = after(rows.last().filter(|_| !is_all));
        // The fence is no register.
        let found = rows.iter().filter_map(|(key, _)| Key::read(key));
        let keys = found.chain(written).collect();
        self.say(None, whom.answer(Says::Keys(KeysPage { keys, next })), effects);
        true
    }
}

/// Where what follows this row begins: nothing is between a key and the same with a byte of zero.
pub(super) fn after(row: Option<&KeyValue>) -> Option<Vec<u8>> {
    row.map(|(key, _)| [&key[..], &[0]].concat())
}
