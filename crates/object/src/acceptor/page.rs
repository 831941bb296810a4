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
pub(super) type KeyValue = (Vec<u8>, Vec<u8>);

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
        let before = page.slot.past(&page.prefix);
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

fn page(ask: &PageAsk, rows: &[KeyValue], is_all: bool) -> Option<PageRows> {
    let (mut page, mut bytes, mut last) = (Vec::new(), 0, None);
    for (key, value) in rows {
        if bytes > MAX_PAGE_BYTES {
            return Some(PageRows { rows: page, up_to: last, promises: ask.promises });
        }
        let name = Key::read(key)?.name;
        last = Some(name.clone());
        let row: Row<NameRecord> = code::decode(value)?;
        let (ballot, record) = row.accepted();
        let is_promised = ask.promises && row.promised() > ballot;
        // Of what was only promised nobody was told.
        if record.is_some() || is_promised {
            let all = record.map_or(&[][..], |record| &record.versions);
            let count = if ask.versions { all.len() } else { 1 };
            let versions: Vec<_> = all.iter().take(count).map(Version::without_content).collect();
            bytes += name.as_str().len() + 64 + versions.iter().map(size_of_version).sum::<usize>();
            page.push(PageRow { name, ballot, versions, is_promised });
        }
    }
    let up_to = last.filter(|_| !is_all);
    Some(PageRows { rows: page, up_to, promises: ask.promises })
}

/// About how many bytes it takes.
fn size_of_version(version: &Version<Entry>) -> usize {
    let object = version.object.as_ref().and_then(Entry::object);
    let text = |map: &BTreeMap<String, String>| -> usize {
        map.iter().map(|(key, value)| key.len() + value.len()).sum()
    };
    96 + object.map_or(0, |object| text(&object.metadata) + text(&object.tags))
}
