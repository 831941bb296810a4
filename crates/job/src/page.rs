//! Pages: what of a unit is done next.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use slotcast_object::VersionId;

use crate::record::{Cursor, Range};
use crate::text::JobText;

/// An object of a unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Its name.
    pub name: String,
    /// What the name stands for; none if it stands for nothing.
    pub source: Option<Source>,
}

/// A source version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Source {
    /// Which.
    pub version: VersionId,
    /// Its bytes.
    pub size: u64,
}

/// Some objects of a unit, and where it goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// In order.
    pub items: Vec<Item>,
    /// Where the unit is when all of these are done.
    pub cursor: Cursor,
}

/// The name after which a range of names goes on.
pub fn begins_after<'a>(range: &'a Range, cursor: &'a Cursor) -> Option<&'a str> {
    match (cursor, range) {
        (Cursor::After(name), _) => Some(name),
        (_, Range::Names { after, .. }) => after.as_deref(),
        _ => None,
    }
}

/// The page that a listing makes, in which names were listed from where the unit goes on, all of them if not `has_more`.
pub fn of_listing(text: &JobText, range: &Range, listed: Vec<Item>, has_more: bool) -> Page {
    let upto = match range {
        Range::Names { upto, .. } => upto.as_deref(),
        _ => None,
    };
    let is_in = |item: &Item| upto.is_none_or(|upto| &item.name[..] <= upto);
    let count = listed.len();
    let mut items: Vec<Item> = listed.into_iter().take_while(is_in).collect();
    let last = items.last().map(|item| item.name.to_string());
    let is_end = items.len() < count || !has_more || (upto.is_some() && last.as_deref() == upto);
    let cursor = match (is_end, last) {
        (false, Some(last)) => Cursor::After(last),
        _ => Cursor::End,
    };
    items.retain(|item| text.selects(&item.name));
    Page { items, cursor }
}

/// Which of so many names of a list or a template are next, counted from the first of the unit, and where it goes on then.
pub fn of_numbers(cursor: &Cursor, count: u64, limit: u64) -> (core::ops::Range<u64>, Cursor) {
    let begin = match cursor {
        Cursor::Count(count) => *count,
        Cursor::End => count,
        Cursor::Start | Cursor::After(_) => 0,
    };
    let end = begin.saturating_add(limit).min(count);
    let cursor = if end >= count { Cursor::End } else { Cursor::Count(end) };
    (begin.min(end)..end, cursor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{Existing, Kind, Place, Selection};

    fn text(select: Selection) -> JobText {
        JobText {
            kind: Kind::Verify,
            from: Place { bucket: "a".into(), prefix: "".into() },
            select,
            to: None,
            existing: Existing::Replace,
            check: true,
            started: 0,
            by: "".into(),
        }
    }

    fn page(
        select: Selection,
        upto: Option<&str>,
        names: &str,
        has_more: bool,
    ) -> (String, Cursor) {
        let item = |name: &str| Item { name: name.into(), source: None };
        let listed = names.split(' ').filter(|name| !name.is_empty()).map(item).collect();
        let range = Range::Names { after: None, upto: upto.map(Into::into) };
        let Page { items, cursor } = of_listing(&text(select), &range, listed, has_more);
        (items.iter().map(|item| &item.name[..]).collect::<Vec<_>>().join(" "), cursor)
    }

    #[test]
    fn a_listing_goes_on_until_its_range_ends() {
        let all = |upto, names, more| page(Selection::All, upto, names, more);
        assert_eq!(all(None, "a b", true), ("a b".into(), Cursor::After("b".into())));
        assert_eq!(all(None, "a b", false), ("a b".into(), Cursor::End));
        assert_eq!(all(Some("b"), "a b c", true), ("a b".into(), Cursor::End));
        assert_eq!(all(Some("b"), "a b", true), ("a b".into(), Cursor::End));
        assert_eq!(all(Some("bb"), "a c", true), ("a".into(), Cursor::End));
        assert_eq!(all(Some("z"), "", false), ("".into(), Cursor::End));
        // What is passed over moves the cursor all the same.
        let globbed = page(Selection::Glob("*.x".into()), None, "a.x b.y", true);
        assert_eq!(globbed, ("a.x".into(), Cursor::After("b.y".into())));
    }

    #[test]
    fn what_is_counted_goes_on_until_its_end() {
        assert_eq!(of_numbers(&Cursor::Start, 5, 2), (0..2, Cursor::Count(2)));
        assert_eq!(of_numbers(&Cursor::Count(4), 5, 2), (4..5, Cursor::End));
        assert_eq!(of_numbers(&Cursor::Start, 0, 2), (0..0, Cursor::End));
        assert_eq!(of_numbers(&Cursor::End, 5, 2), (5..5, Cursor::End));
    }
}
