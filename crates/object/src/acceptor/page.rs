//! Pages: which names a voter has in a slot.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::{Acceptor, AcceptorEffect, Pending, RowsOp, Whom};
use crate::code;
use crate::key::Key;
use crate::message::{From, MAX_PAGE, NameRecord, PageAsk, PageRow, PageRows, Says};
use crate::object::Entry;
use crate::register::fence::Stamp;
use crate::register::record::Version;
use crate::register::row::Row;

/// A page ends before it has more bytes of rows than that, but for one row.
const MAX_PAGE_BYTES: usize = 1 << 20;

/// A key on storage, and its value.
type KeyValue = (Vec<u8>, Vec<u8>);

impl Acceptor {
    pub(super) fn ask_page(
        &mut self,
        whom: Whom,
        stamp: Stamp,
        page: PageAsk,
        effects: &mut Vec<AcceptorEffect>,
    ) {
        let first = page.slot.from(&page.prefix);
        let from = match &page.from {
            From::Start => first,
            From::After(name) => page.slot.after(Some(name)).max(first),
            From::At(text) => page.slot.from(text).max(first),
        };
        let before = after_prefix(page.slot.from(&page.prefix)).or_else(|| page.slot.end());
        let before = match (before, page.slot.end()) {
            (Some(before), Some(end)) => Some(before.min(end)),
            (before, end) => before.or(end),
        };
        let scan = RowsOp::Scan { from, before, limit: page.limit.clamp(1, MAX_PAGE) };
        self.start(Pending::Page(whom, stamp, page), scan, effects);
    }

    /// Says what was found. All that this voter has ever answered for was there: it was on stable storage before.
    pub(super) fn scanned(
        &mut self,
        whom: Whom,
        stamp: Stamp,
        ask: &PageAsk,
        (rows, is_all): (&[KeyValue], bool),
        effects: &mut Vec<AcceptorEffect>,
    ) -> bool {
        let says = match self.fence.admit(stamp) {
            Err(why) => Says::Fenced(why),
            Ok(()) => match page(ask, rows, is_all) {
                Some(rows) => Says::Page(rows),
                None => return false,
            },
        };
        self.say(None, whom.answer(says), effects);
        true
    }
}

/// The least text that is greater than all that begin with `prefix`.
fn after_prefix(mut prefix: Vec<u8>) -> Option<Vec<u8>> {
    while let Some(last) = prefix.pop() {
        if last < u8::MAX {
            prefix.push(last + 1);
            return Some(prefix);
        }
    }
    None
}

fn page(ask: &PageAsk, rows: &[KeyValue], is_all: bool) -> Option<PageRows> {
    let (mut page, mut bytes) = (Vec::new(), 0);
    for (key, value) in rows {
        let name = Key::read(key)?.name;
        if bytes > MAX_PAGE_BYTES {
            let up_to = Key::read(&rows[rows.iter().position(|row| row.0 == *key)? - 1].0)?.name;
            return Some(PageRows { rows: page, up_to: Some(up_to) });
        }
        let row: Row<NameRecord> = code::decode(value)?;
        // Of what was only promised nobody was told.
        if let (ballot, Some(record)) = row.accepted() {
            let count = if ask.versions { record.versions.len() } else { 1 };
            let versions: Vec<_> =
                record.versions.iter().take(count).map(Version::without_content).collect();
            bytes += name.as_str().len() + 64 + versions.iter().map(size_of_version).sum::<usize>();
            page.push(PageRow { name, ballot, versions });
        }
    }
    let last = rows.last().filter(|_| !is_all);
    let up_to = match last {
        Some((key, _)) => Some(Key::read(key)?.name),
        None => None,
    };
    Some(PageRows { rows: page, up_to })
}

/// About how many bytes it takes.
fn size_of_version(version: &Version<Entry>) -> usize {
    let object = version.object.as_ref().and_then(Entry::object);
    let text = |map: &BTreeMap<String, String>| -> usize {
        map.iter().map(|(key, value)| key.len() + value.len()).sum()
    };
    96 + object.map_or(0, |object| text(&object.metadata) + text(&object.tags))
}
