//! Lifecycle: which versions of a name go when, by rules of its bucket.
//!
//! Pure: the time comes as a number, and so does the length of a day, so that tests need not wait for one. What is due is
//! said with the condition on which it may go, so that whoever carries it out later takes nothing that came meanwhile.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use minicbor::{Decode, Encode};

use crate::key::Name;
use crate::object::{Entry, Object};
use crate::register::record::{Condition, Version, VersionId};

/// One rule.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct LifecycleRule {
    /// What it is called.
    #[n(0)]
    pub id: String,
    /// Whether it counts.
    #[n(1)]
    pub is_enabled: bool,
    /// What it is about.
    #[n(2)]
    pub filter: LifecycleFilter,
    /// How its filter was written, to be given back so.
    #[n(3)]
    pub form: FilterForm,
    /// When the latest version goes.
    #[n(4)]
    pub expiration: Option<Expiration>,
    /// When earlier versions go.
    #[n(5)]
    pub noncurrent: Option<NoncurrentExpiration>,
    /// After how many days uploads in parts go that are not completed.
    #[n(6)]
    pub abort_days: Option<u32>,
}

/// What a rule is about: all of this must fit.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct LifecycleFilter {
    /// Names that begin so.
    #[n(0)]
    pub prefix: Option<String>,
    /// Objects with all of these tags.
    #[n(1)]
    pub tags: BTreeMap<String, String>,
    /// Objects of more bytes.
    #[n(2)]
    pub larger_than: Option<u64>,
    /// Objects of less bytes.
    #[n(3)]
    pub smaller_than: Option<u64>,
}

/// How a filter was written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub enum FilterForm {
    /// As a prefix of the rule, or not at all.
    #[default]
    #[n(0)]
    Prefix,
    /// As one condition, or none.
    #[n(1)]
    One,
    /// As several that must all hold.
    #[n(2)]
    And,
}

/// When the latest version goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub enum Expiration {
    /// So many days after it was put.
    #[n(0)]
    Days(#[n(0)] u32),
    /// At this time, in milliseconds since 1970, and from then on.
    #[n(1)]
    At(#[n(0)] u64),
    /// When it is a marker of deletion and nothing else is left; `false` was said, and means nothing.
    #[n(2)]
    Markers(#[n(0)] bool),
}

/// When earlier versions go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct NoncurrentExpiration {
    /// So many days after a later one came.
    #[n(0)]
    pub days: u32,
    /// But so many of them stay, the newest.
    #[n(1)]
    pub newer: Option<u32>,
}

/// Something that is to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Due {
    /// This version; without one the name is deleted, as its bucket says.
    pub version: Option<VersionId>,
    /// If this holds by then.
    pub condition: Condition,
}

/// The time that is `days` after `from`: days end at midnight, so what is left of the last one counts, too.
fn after(from: u64, days: u32, day: u64) -> u64 {
    let day = day.max(1);
    from.saturating_add(u64::from(days).saturating_mul(day)).div_ceil(day).saturating_mul(day)
}

impl LifecycleFilter {
    fn has_name(&self, name: &str) -> bool {
        self.prefix.as_deref().is_none_or(|prefix| name.starts_with(prefix))
    }

    /// Whether it is about objects of all tags and sizes.
    pub fn is_of_names_only(&self) -> bool {
        self.tags.is_empty() && self.larger_than.is_none() && self.smaller_than.is_none()
    }

    /// Whether it is about this object.
    fn has(&self, name: &str, object: &Object) -> bool {
        self.has_name(name)
            && self.tags.iter().all(|(key, value)| object.tags.get(key) == Some(value))
            && self.larger_than.is_none_or(|size| object.size > size)
            && self.smaller_than.is_none_or(|size| object.size < size)
    }
}

/// When the latest version of a name goes that is this object, and by which rule: the first one that is due.
pub fn expires<'a>(
    rules: &'a [LifecycleRule],
    name: &str,
    object: &Object,
    day: u64,
) -> Option<(u64, &'a LifecycleRule)> {
    let of = |rule: &'a LifecycleRule| {
        let at = match rule.expiration? {
            Expiration::Days(days) => after(object.modified, days, day),
            Expiration::At(at) => at,
            Expiration::Markers(_) => return None,
        };
        (rule.is_enabled && rule.filter.has(name, object)).then_some((at, rule))
    };
    rules.iter().filter_map(of).min_by_key(|(at, _)| *at)
}

/// Whether an upload of a name that began at this time is to be aborted.
pub fn is_upload_due(rules: &[LifecycleRule], name: &str, began: u64, now: u64, day: u64) -> bool {
    let is_due = |rule: &LifecycleRule| {
        rule.abort_days.is_some_and(|days| after(began, days, day) <= now)
            && rule.is_enabled
            && rule.filter.is_of_names_only()
            && rule.filter.has_name(name)
    };
    rules.iter().any(is_due)
}

/// When a version was made.
fn made(version: &Version<Entry>) -> u64 {
    let object = version.object.as_ref().and_then(Entry::object);
    object.map_or(version.deleted_at.unwrap_or(u64::MAX), |object| object.modified)
}

/// What of a name is to go now, the latest version last. `versions` are all that it has, newest first.
pub fn due(
    rules: &[LifecycleRule],
    name: &Name,
    versions: &[Version<Entry>],
    (now, day): (u64, u64),
) -> Vec<Due> {
    let Some(latest) = versions.first() else { return Vec::new() };
    let name = name.as_str();
    let of = |version: &'_ Version<Entry>| version.object.as_ref().and_then(Entry::object).cloned();
    let condition = match latest.object {
        Some(_) => Condition::Is(latest.id),
        None => Condition::Absent,
    };
    let mut due: Vec<Due> = Vec::new();
    for (place, pair) in versions.windows(2).enumerate() {
        let [newer, version] = pair else { continue };
        let object = of(version);
        let goes = rules.iter().filter(|rule| rule.is_enabled).any(|rule| {
            let Some(NoncurrentExpiration { days, newer: stays }) = rule.noncurrent else {
                return false;
            };
            let is_meant = match &object {
                Some(object) => rule.filter.has(name, object),
                None => rule.filter.is_of_names_only() && rule.filter.has_name(name),
            };
            is_meant
                && stays.is_none_or(|stays| place >= stays as usize)
                && after(made(newer), days, day) <= now
        });
        if goes {
            due.push(Due { version: Some(version.id), condition });
        }
    }
    match of(latest) {
        Some(object) if expires(rules, name, &object, day).is_some_and(|(at, _)| at <= now) => {
            due.push(Due { version: None, condition });
        }
        // Only once nothing else is there: an earlier version that is due may have to be kept, and would be the latest again.
        None if versions.len() == 1 => {
            let goes = rules.iter().filter(|rule| rule.is_enabled).any(|rule| {
                let is_meant = rule.filter.is_of_names_only() && rule.filter.has_name(name);
                is_meant
                    && match rule.expiration {
                        Some(Expiration::Markers(is_so)) => is_so,
                        Some(Expiration::Days(days)) => after(made(latest), days, day) <= now,
                        Some(Expiration::At(at)) => at <= now,
                        None => false,
                    }
            });
            if goes {
                due.push(Due { version: Some(latest.id), condition });
            }
        }
        Some(_) | None => {}
    }
    due
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    const DAY: u64 = 100;

    fn id(change: u64) -> VersionId {
        VersionId { change, salt: 1 }
    }

    fn object(change: u64, modified: u64, size: u64) -> Version<Entry> {
        let tags = [("a".into(), "b".into())].into();
        let object = Object { modified, size, tags, ..Object::default() };
        Version {
            id: id(change),
            is_null: false,
            object: Some(Entry::Object(object)),
            deleted_at: None,
        }
    }

    fn marker(change: u64, at: u64) -> Version<Entry> {
        Version { id: id(change), is_null: false, object: None, deleted_at: Some(at) }
    }

    fn rule(expiration: Option<Expiration>) -> LifecycleRule {
        LifecycleRule { is_enabled: true, expiration, ..LifecycleRule::default() }
    }

    fn gone(rules: &[LifecycleRule], versions: &[Version<Entry>], now: u64) -> Vec<Option<u64>> {
        let name = Name::new("logs/a").expect("a name");
        let due = due(rules, &name, versions, (now, DAY));
        due.iter().map(|due| due.version.map(|version| version.change)).collect()
    }

    #[test]
    fn days_end_at_midnight() {
        assert_eq!(after(1, 1, DAY), 200);
        assert_eq!(after(100, 1, DAY), 200);
        assert_eq!(after(199, 2, DAY), 400);
        assert!(after(u64::MAX, 2, DAY) > u64::MAX - DAY);
    }

    #[test]
    fn the_latest_goes_by_the_first_rule_that_is_due() {
        let there = [object(2, 150, 5), object(1, 50, 5)];
        let days = [rule(Some(Expiration::Days(1)))];
        assert_eq!(gone(&days, &there, 299), []);
        assert_eq!(gone(&days, &there, 300), [None]);
        assert_eq!(gone(&[rule(Some(Expiration::At(160)))], &there, 160), [None]);
        let both = [rule(Some(Expiration::Days(9))), rule(Some(Expiration::At(700)))];
        let Some(Entry::Object(latest)) = &there[0].object else { panic!("an object") };
        assert_eq!(expires(&both, "x", latest, DAY).map(|(at, _)| at), Some(700));
        let off = LifecycleRule { is_enabled: false, ..days[0].clone() };
        assert_eq!(gone(&[off], &there, 900), []);
    }

    #[test]
    fn filters_hold_together() {
        let there = [object(1, 0, 5)];
        let goes = |filter: LifecycleFilter| {
            let rule = LifecycleRule { filter, ..rule(Some(Expiration::Days(1))) };
            !gone(&[rule], &there, 900).is_empty()
        };
        let any = LifecycleFilter::default;
        let prefix = |text: &str| LifecycleFilter { prefix: Some(text.into()), ..any() };
        assert!(goes(any()) && goes(prefix("logs/")) && !goes(prefix("other")));
        let tags = |pairs: &[(&str, &str)]| LifecycleFilter {
            tags: pairs.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect(),
            ..any()
        };
        assert!(goes(tags(&[("a", "b")])) && !goes(tags(&[("a", "c")])));
        assert!(!goes(tags(&[("a", "b"), ("c", "d")])));
        assert!(goes(LifecycleFilter { larger_than: Some(4), ..any() }));
        assert!(!goes(LifecycleFilter { larger_than: Some(5), ..any() }));
        assert!(!goes(LifecycleFilter { smaller_than: Some(5), ..any() }));
        assert!(goes(LifecycleFilter { smaller_than: Some(6), ..prefix("logs") }));
    }

    #[test]
    fn earlier_versions_go_after_a_later_one_came() {
        let there = [object(4, 300, 5), object(3, 200, 5), marker(2, 100), object(1, 0, 5)];
        let noncurrent = |days, newer| LifecycleRule {
            noncurrent: Some(NoncurrentExpiration { days, newer }),
            ..rule(None)
        };
        assert_eq!(gone(&[noncurrent(1, None)], &there, 200), [Some(1)]);
        assert_eq!(gone(&[noncurrent(1, None)], &there, 400), [Some(3), Some(2), Some(1)]);
        assert_eq!(gone(&[noncurrent(1, Some(2))], &there, 400), [Some(1)]);
        let name = Name::new("logs/a").expect("a name");
        let due = due(&[noncurrent(1, None)], &name, &there, (400, DAY));
        // What becomes the latest meanwhile stays.
        assert!(due.iter().all(|due| due.condition == Condition::Is(id(4))));
    }

    #[test]
    fn a_marker_goes_when_nothing_else_is_left() {
        let markers = [rule(Some(Expiration::Markers(true)))];
        assert_eq!(gone(&markers, &[marker(2, 100)], 101), [Some(2)]);
        assert_eq!(gone(&markers, &[marker(2, 100), object(1, 0, 5)], 900), []);
        assert_eq!(gone(&[rule(Some(Expiration::Markers(false)))], &[marker(2, 100)], 101), []);
        let days = [rule(Some(Expiration::Days(2)))];
        assert_eq!(gone(&days, &[marker(2, 100)], 299), []);
        assert_eq!(gone(&days, &[marker(2, 100)], 300), [Some(2)]);
        // What was put anew in between is not deleted with the marker.
        let name = Name::new("a").expect("a name");
        let due = due(&markers, &name, &[marker(2, 100)], (900, DAY));
        assert_eq!(due[0].condition, Condition::Absent);
        let both = vec![
            LifecycleRule {
                noncurrent: Some(NoncurrentExpiration { days: 1, newer: None }),
                ..rule(None)
            },
            markers[0].clone(),
        ];
        // The earlier version may be locked.
        assert_eq!(gone(&both, &[marker(2, 100), object(1, 0, 5)], 900), [Some(1)]);
        assert_eq!(gone(&both, &[marker(2, 100)], 900), [Some(2)]);
    }

    #[test]
    fn uploads_are_aborted_by_rules_about_names() {
        let abort = LifecycleRule { abort_days: Some(2), ..rule(None) };
        assert!(!is_upload_due(core::slice::from_ref(&abort), "a", 1, 299, DAY));
        assert!(is_upload_due(core::slice::from_ref(&abort), "a", 1, 300, DAY));
        let filter = LifecycleFilter { prefix: Some("b".into()), ..LifecycleFilter::default() };
        assert!(!is_upload_due(&[LifecycleRule { filter, ..abort }], "a", 1, 900, DAY));
    }
}
