//! Which content a voter's registers name, for whoever looks for what nothing names.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::keys::after;
use super::page::KeyValue;
use super::{Acceptor, AcceptorEffect, FENCE, Loaded, Pending, Whom};
use crate::code;
use crate::garbage::Root;
use crate::key::Key;
use crate::message::{KeysAsk, NameRecord, RootsPage, RootsRow, Says};
use crate::register::fence::Stamp;
use crate::register::record::Record;
use crate::register::row::Row;

impl Acceptor {
    /// Asked with an epoch in which a round of collection has begun, it knows of that round when it answers: new content
    /// that it accepts after that was touched in that round or the one before.
    pub(super) fn ask_roots(
        &mut self,
        whom: Whom,
        stamp: Stamp,
        ask: KeysAsk,
        effects: &mut Vec<AcceptorEffect>,
    ) {
        // What is being written may not be found, or as it was before.
        let writing = self.writing.iter().flat_map(|writing| &writing.keys);
        let mut written = Vec::new();
        for key in self.changed.iter().chain(writing).filter(|key| key.bytes() >= ask.from) {
            if let Some(Loaded::Here(row, _)) = self.rows.get(key) {
                written.extend(row_of(key, row));
            }
        }
        self.scan(whom, stamp, (ask, Pending::Roots(whom, stamp, written)), effects);
    }

    pub(super) fn roots_scanned(
        &mut self,
        whom: Whom,
        stamp: Stamp,
        written: Vec<RootsRow>,
        (rows, is_all): (&[KeyValue], bool),
        effects: &mut Vec<AcceptorEffect>,
    ) -> bool {
        if let Err(why) = self.fence.admit(stamp) {
            self.say(None, whom.answer(Says::Fenced(why)), effects);
            return true;
        }
        let next = after(rows.last().filter(|_| !is_all));
        let mut all = BTreeMap::new();
        for (bytes, value) in rows {
            // The fence is no register.
            if bytes == FENCE {
                continue;
            }
            let row = code::decode::<Row<NameRecord>>(value);
            let (Some(key), Some(row)) = (Key::read(bytes), row) else { return false };
            all.extend(row_of(&key, &row).map(|row| (bytes.clone(), row)));
        }
        let is_in = |bytes: &Vec<u8>| next.as_ref().is_none_or(|next| bytes < next);
        let written = written.into_iter().map(|row| (row.key.bytes(), row));
        all.extend(written.filter(|(bytes, _)| is_in(bytes)));
        let page = RootsPage { rows: all.into_values().collect(), next };
        self.say_of_all(whom.answer(Says::Roots(page)), effects);
        true
    }
}

/// The content that a row names, as it is on stable storage; none if it cannot be read.
pub fn roots_of(key: &[u8], value: &[u8]) -> Option<Vec<Root>> {
    // The fence is no register.
    if key == FENCE {
        return Some(Vec::new());
    }
    let row = row_of(&Key::read(key)?, &code::decode::<Row<NameRecord>>(value)?);
    Some(row.map(|row| row.roots).unwrap_or_default())
}

/// What a register names; none if nothing was accepted.
fn row_of(key: &Key, row: &Row<NameRecord>) -> Option<RootsRow> {
    let (ballot, Some(record)) = row.accepted() else { return None };
    Some(RootsRow { key: key.clone(), ballot, roots: named(record) })
}

/// The content of all versions of a record.
pub(crate) fn named(record: &NameRecord) -> Vec<Root> {
    let Record { versions, .. } = record;
    versions.iter().filter_map(|version| Root::of(version.object.as_ref()?)).collect()
}
