use alloc::string::String;
use alloc::vec;

use super::*;
use crate::lock::Permit;
use crate::register::record::{Condition, Decision, Operation, Record, Request, Versioning};

fn rule(events: &[&str], prefix: &str, suffix: &str) -> NotificationRule {
    let some = |text: &str| (!text.is_empty()).then(|| text.to_string());
    NotificationRule {
        id: "r".into(),
        webhook: "w".into(),
        events: events.iter().map(|event| (*event).into()).collect(),
        prefix: some(prefix),
        suffix: some(suffix),
        ..NotificationRule::default()
    }
}

fn name(text: &str) -> Name {
    Name::new(text).expect("a name")
}

fn announced(kind: EventKind, key: u128) -> Announcement {
    Announcement {
        name: name("a b"),
        key: RequestKey(key),
        version: None,
        kind,
        at: 1_700_000_000_000,
        recipients: Announcement::recipients(
            &[rule(&["s3:ObjectCreated:*"], "", "")],
            kind,
            &name("a b"),
        ),
        writer: Writer { node: 3, start: u64::MAX - 5 },
        user: "me".into(),
        address: String::new(),
        request: "R".into(),
        became: None,
    }
}

fn tag(object: &Object) -> String {
    alloc::format!("tag of {}", object.size)
}

#[test]
fn patterns_mean_events() {
    let meant =
        |pattern: &str| EventKind::ALL.into_iter().filter(|kind| kind.is_meant_by(pattern)).count();
    assert_eq!(meant("s3:ObjectCreated:*"), 4);
    assert_eq!(meant("s3:ObjectCreated:Put"), 1);
    assert_eq!(meant("s3:ObjectRemoved:*"), 2);
    assert_eq!(meant("s3:LifecycleExpiration:DeleteMarkerCreated"), 1);
    for none in [
        "s3:*",
        "*",
        "ObjectCreated:*",
        "s3:ObjectCreated*",
        "s3:ObjectAcl:Put",
        "s3:ObjectCreated:P*",
        "",
    ] {
        assert_eq!(meant(none), 0, "{none}");
    }
    for kind in EventKind::ALL {
        assert_eq!(EventKind::of_name(kind.name()), Some(kind));
        assert!(kind.possible().contains(&kind) && kind.possible().contains(&kind.with_marker()));
    }
}

#[test]
fn rules_are_about_names_and_overlap_where_both_ends_do() {
    let of = rule(&["s3:ObjectCreated:*"], "logs/", ".gz");
    assert!(of.is_about(EventKind::CreatedCopy, &name("logs/a.gz")));
    assert!(!of.is_about(EventKind::CreatedCopy, &name("logs/a.txt")));
    assert!(!of.is_about(EventKind::CreatedCopy, &name("log/a.gz")));
    assert!(!of.is_about(EventKind::TaggingPut, &name("logs/a.gz")));
    let put = |prefix, suffix| rule(&["s3:ObjectCreated:Put"], prefix, suffix);
    for (other, overlaps) in [
        (put("logs/2", ".gz"), true),
        (put("", ""), true),
        (put("other/", ".gz"), false),
        (put("logs/", ".txt"), false),
        (put("logs/", "r.gz"), true),
        (rule(&["s3:ObjectRemoved:*"], "logs/", ".gz"), false),
    ] {
        assert_eq!(of.overlaps(&other), overlaps, "{other:?}");
        assert_eq!(other.overlaps(&of), overlaps, "{other:?}");
    }
}

#[test]
fn an_announcement_is_read_as_it_is_kept() {
    let mut all = announced(EventKind::CreatedPut, 7);
    assert_eq!(all.recipients.len(), 1);
    assert_eq!(Announcement::read(&all.object()), Some(all.clone()));
    all.version = Some(VersionId { change: 1, salt: 2 });
    all.became = Some(Happened {
        kind: EventKind::RemovedMarker,
        change: 9,
        version: Some(VersionId { change: 9, salt: 2 }),
        content: Some((5, "t".into())),
    });
    assert_eq!(Announcement::read(&all.object()), Some(all));
    assert_eq!(Announcement::read(&Object::default()), None);
}

/// A record after these requests.
fn after(all: &[(u128, Operation<Entry>)], versioning: Versioning) -> Option<NameRecord> {
    let mut record: Option<Record<Entry>> = None;
    for (key, operation) in all {
        let (condition, permit) = (Condition::Always, Permit::default());
        let (key, operation) = (RequestKey(*key), operation.clone());
        let request = Request { key, operation, condition, versioning, permit };
        if let Decision::Write(next, _) = request.decide(record.as_ref()) {
            record = Some(next);
        }
    }
    record
}

fn put(size: u64) -> Operation<Entry> {
    Operation::Put(Entry::Object(Object { size, ..Object::default() }))
}

#[test]
fn the_record_says_what_became_of_a_change() {
    let of =
        |kind, key, record: &Option<NameRecord>| announced(kind, key).became(record.as_ref(), tag);
    let happened = |kind, change, version: Option<VersionId>, content: Option<(u64, &str)>| {
        let content = content.map(|(size, tag)| (size, tag.into()));
        Became::Happened(Happened { kind, change, version, content })
    };
    use EventKind::{CreatedPut, RemovedDelete, RemovedMarker};
    assert_eq!(of(CreatedPut, 1, &None), Became::Nothing);
    let record = after(&[(1, put(5)), (2, put(6))], Versioning::Off);
    // It was overwritten: that it was there is known, and not how long it was.
    assert_eq!(
        of(CreatedPut, 1, &record),
        happened(CreatedPut, 1, Some(VersionId { change: 1, salt: 1 }), None)
    );
    assert_eq!(of(CreatedPut, 2, &record), happened(CreatedPut, 2, None, Some((6, "tag of 6"))));
    assert_eq!(of(CreatedPut, 3, &record), Became::Nothing);
    let record = after(&[(1, put(5)), (2, Operation::Delete(0)), (3, put(7))], Versioning::Off);
    assert_eq!(of(RemovedDelete, 2, &record), happened(RemovedDelete, 2, None, None));
    let record = after(&[(1, put(5)), (2, Operation::Delete(0))], Versioning::On);
    let id = |change, salt| Some(VersionId { change, salt });
    assert_eq!(
        of(CreatedPut, 1, &record),
        happened(CreatedPut, 1, id(1, 1), Some((5, "tag of 5")))
    );
    assert_eq!(of(RemovedDelete, 2, &record), happened(RemovedMarker, 2, id(2, 2), None));
}

#[test]
fn what_a_record_has_forgotten_may_have_happened() {
    let many = |first: u128, count: u128| (first..first + count).map(|key| (key, put(1)));
    let of = |key, record: &Option<NameRecord>| {
        announced(EventKind::CreatedPut, key).became(record.as_ref(), tag)
    };
    let all: vec::Vec<_> = many(1, 40).collect();
    let record = after(&all, Versioning::Off);
    assert!(matches!(of(1, &record), Became::Unknown(_)));
    assert!(matches!(of(40, &record), Became::Happened(Happened { change: 40, .. })));
    assert!(matches!(of(30, &record), Became::Happened(Happened { change: 30, .. })));
    // A version that is there says so by itself.
    let record = after(&all, Versioning::On);
    assert!(matches!(
        of(1, &record),
        Became::Happened(Happened { change: 1, content: Some(_), .. })
    ));
    // Fewer changes than a record keeps: all are known.
    let record = after(&all[..15], Versioning::Off);
    assert_eq!(of(99, &record), Became::Nothing);
}
