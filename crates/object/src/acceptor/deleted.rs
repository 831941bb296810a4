//! Which registers need not be kept for long, for whoever forgets them.

use alloc::vec::Vec;

use super::keys::after;
use super::page::KeyValue;
use super::{Acceptor, AcceptorEffect, Whom};
use crate::code;
use crate::key::Key;
use crate::message::{KeysPage, NameRecord, Says};
use crate::register::fence::Stamp;
use crate::register::record::Record;
use crate::register::row::Row;

impl Acceptor {
    /// Says what was found. It may be otherwise by now: whoever asks looks again at each of them.
    pub(super) fn deleted_scanned(
        &mut self,
        whom: Whom,
        stamp: Stamp,
        (rows, is_all): (&[KeyValue], bool),
        effects: &mut Vec<AcceptorEffect>,
    ) -> bool {
        let says = match (self.fence.admit(stamp), deleted(rows)) {
            (Err(why), _) => Says::Fenced(why),
            (Ok(()), Some(keys)) => {
                Says::Keys(KeysPage { keys, next: after(rows.last().filter(|_| !is_all)) })
            }
            (Ok(()), None) => return false,
        };
        self.say(None, whom.answer(says), effects);
        true
    }
}

/// The registers that are tombstones, or of which nothing was accepted; none if one cannot be read.
fn deleted(rows: &[KeyValue]) -> Option<Vec<Key>> {
    let mut keys = Vec::new();
    for (bytes, value) in rows {
        // The fence is no register.
        let Some(key) = Key::read(bytes) else { continue };
        if says_nothing(&code::decode(value)?) {
            keys.push(key);
        }
    }
    Some(keys)
}

fn says_nothing(row: &Row<NameRecord>) -> bool {
    row.accepted().1.is_none_or(Record::is_tombstone)
}

/// Whether a row on stable storage says nothing any more, or nothing yet; false for what is no row.
pub fn is_deleted(key: &[u8], value: &[u8]) -> bool {
    Key::read(key).is_some() && code::decode(value).is_some_and(|row| says_nothing(&row))
}
