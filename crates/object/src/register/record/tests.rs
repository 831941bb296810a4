//! What a record says after some requests, held against a plain list of versions.

use alloc::boxed::Box;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::{
    Condition, Decision, MAX_RECENT, MAX_VERSIONS, Operation, Outcome, Record, Request, RequestKey,
    Version, VersionId, Versioning,
};
use crate::code;
use crate::lock::Permit;

fn request(key: u128, operation: Operation<char>) -> Request<char> {
    Request {
        key: RequestKey(key),
        operation,
        condition: Condition::Always,
        versioning: Versioning::Off,
        permit: Permit::default(),
    }
}

/// Carries a request out.
fn carry_out(record: &mut Option<Record<char>>, request: &Request<char>) -> Outcome {
    match request.decide(record.as_ref()) {
        Decision::Write(next, outcome) => {
            *record = Some(next);
            outcome
        }
        Decision::Answer(outcome) => outcome,
    }
}

fn letters(record: Option<&Record<char>>) -> Vec<Option<char>> {
    let versions = record.map_or(&[][..], |record| &record.versions);
    versions.iter().map(|version| version.object).collect()
}

#[test]
fn a_retry_has_the_first_answer_whatever_came_between() {
    let mut record = None;
    let create = Request { condition: Condition::Absent, ..request(1, Operation::Put('a')) };
    let first = carry_out(&mut record, &create);
    carry_out(&mut record, &request(2, Operation::Put('b')));
    let before = record.clone();
    assert_eq!(carry_out(&mut record, &create), first);
    assert_eq!(record, before, "a retry changes nothing");
    // A deletion is remembered, too, also where it left nothing.
    let delete = request(3, Operation::Delete(0));
    assert_eq!(carry_out(&mut record, &delete), Outcome::Deleted(None));
    assert_eq!(carry_out(&mut record, &delete), Outcome::Deleted(None));
    assert_eq!(carry_out(&mut record, &request(4, Operation::Delete(0))), Outcome::NothingToDelete);
}

#[test]
fn a_record_does_not_grow_with_what_is_forgotten() {
    let mut record = None;
    for key in 0..100 {
        carry_out(&mut record, &request(key, Operation::Put('a')));
    }
    let record = record.expect("it was put");
    assert_eq!((record.recent.len(), record.versions.len(), record.change), (MAX_RECENT, 1, 100));
}

#[test]
fn a_name_keeps_so_many_versions_and_no_more() {
    let mut record = None;
    let on = |key, operation| Request { versioning: Versioning::On, ..request(key, operation) };
    let most = MAX_VERSIONS as u128;
    for key in 0..most {
        assert!(matches!(
            carry_out(&mut record, &on(key, Operation::Put('a'))),
            Outcome::Stored(_)
        ));
    }
    let before = record.clone();
    for operation in [Operation::Put('b'), Operation::Delete(0)] {
        assert_eq!(carry_out(&mut record, &on(most, operation)), Outcome::TooManyVersions);
    }
    assert_eq!(record, before);
    // What is no further version is changed, and one that is deleted makes room.
    let first = record.as_ref().expect("versions").versions[MAX_VERSIONS - 1].id;
    let replace = on(most + 1, Operation::Replace(first, Box::new(('a', 'b'))));
    assert_eq!(carry_out(&mut record, &replace), Outcome::Stored(first));
    let delete = on(most + 2, Operation::DeleteVersion(first));
    assert_eq!(carry_out(&mut record, &delete), Outcome::Deleted(None));
    assert!(matches!(carry_out(&mut record, &on(most, Operation::Put('b'))), Outcome::Stored(_)));
}

#[test]
fn what_a_version_says_changes_in_place_for_one_of_two() {
    let mut record = None;
    let on = |key, operation| Request { versioning: Versioning::On, ..request(key, operation) };
    let stored = |outcome| match outcome {
        Outcome::Stored(version) => version,
        other => panic!("{other:?}"),
    };
    let first = stored(carry_out(&mut record, &on(1, Operation::Put('a'))));
    let second = stored(carry_out(&mut record, &on(2, Operation::Put('b'))));
    let replace = |key, says| on(key, Operation::Replace(first, Box::new(('a', says))));
    assert_eq!(carry_out(&mut record, &replace(3, 'c')), Outcome::Stored(first));
    assert_eq!(letters(record.as_ref()), [Some('b'), Some('c')]);
    assert_eq!(record.as_ref().and_then(|r| r.head()).map(|v| v.id), Some(second));
    let failed = Outcome::ConditionFailed(Some(second));
    assert_eq!(carry_out(&mut record, &replace(4, 'd')), failed, "it does not say that any more");
    assert_eq!(carry_out(&mut record, &replace(3, 'c')), Outcome::Stored(first), "it was the one");
    let marker = VersionId { change: 9, salt: 9 };
    let nobody = on(5, Operation::Replace(marker, Box::new(('a', 'd'))));
    assert_eq!(carry_out(&mut record, &nobody), failed, "there is no such version");
}

#[test]
fn conditions_are_those_of_the_latest_version() {
    let mut record = None;
    let put = |condition, key| Request { condition, ..request(key, Operation::Put('a')) };
    let none = Outcome::ConditionFailed(None);
    assert_eq!(carry_out(&mut record, &put(Condition::Present, 1)), none);
    let Outcome::Stored(first) = carry_out(&mut record, &put(Condition::Absent, 2)) else {
        panic!("nothing was there");
    };
    let failed = Outcome::ConditionFailed(Some(first));
    assert_eq!(carry_out(&mut record, &put(Condition::Absent, 3)), failed);
    let other = VersionId { salt: 77, ..first };
    assert_eq!(carry_out(&mut record, &put(Condition::Is(other), 4)), failed);
    assert!(matches!(carry_out(&mut record, &put(Condition::Is(first), 5)), Outcome::Stored(_)));
    assert!(matches!(
        carry_out(&mut record, &put(Condition::Is(first), 6)),
        Outcome::ConditionFailed(Some(_))
    ));
    // A marker of deletion names no object.
    let delete = Request { versioning: Versioning::On, ..request(7, Operation::Delete(0)) };
    assert!(matches!(carry_out(&mut record, &delete), Outcome::Deleted(Some(_))));
    assert_eq!(carry_out(&mut record, &put(Condition::Present, 8)), none);
}

/// What a version was made as: whether without versioning, and what it names.
type Made = (bool, Option<char>);

/// The same as a plain list, by the rules of S3 for buckets that keep versions, do not, or have stopped to.
fn model(versions: &mut Vec<Made>, versioning: Versioning, put: Option<char>) {
    if versioning != Versioning::On {
        versions.retain(|(is_null, _)| !is_null);
    }
    if put.is_some() || versioning != Versioning::Off {
        versions.insert(0, (versioning != Versioning::On, put));
    }
}

proptest! {
    #[test]
    fn versions_are_kept_as_the_bucket_says(
        before in prop::collection::vec((any::<bool>(), any::<bool>()), 0..12),
        steps in prop::collection::vec((0u8..3, prop::option::of(prop::char::range('a', 'z'))), 0..12),
        off in any::<bool>(),
    ) {
        let mut record = None;
        let mut versions: Vec<Made> = Vec::new();
        // A bucket that keeps no versions never did.
        let first = if off { Vec::new() } else { before };
        let wishes = first.into_iter().map(|(on, puts)| (if on { 1 } else { 2 }, puts.then_some('x')));
        let steps = wishes.chain(steps.into_iter().map(|(v, put)| (if off { 0 } else { v.max(1) }, put)));
        for (key, (versioning, put)) in (1..).zip(steps) {
            let versioning = [Versioning::Off, Versioning::On, Versioning::Suspended][usize::from(versioning)];
            let operation = put.map_or(Operation::Delete(0), Operation::Put);
            carry_out(&mut record, &Request { versioning, ..request(key, operation) });
            if !(versioning == Versioning::Off && put.is_none() && versions.is_empty()) {
                model(&mut versions, versioning, put);
            }
            let expected: Vec<_> = versions.iter().map(|(_, object)| *object).collect();
            prop_assert_eq!(letters(record.as_ref()), expected);
        }
    }

    /// Whatever is deleted, the other versions stay in their order, and the latest of them is what the name names.
    #[test]
    fn any_version_can_be_deleted(count in 1usize..10, delete in any::<prop::sample::Index>()) {
        let mut record = None;
        for key in 0..count as u128 {
            carry_out(&mut record, &Request { versioning: Versioning::On, ..request(key, Operation::Put('a')) });
        }
        let ids: Vec<VersionId> = record.iter().flat_map(|r| &r.versions).map(|v| v.id).collect();
        let deleted = ids[delete.index(count)];
        let delete = request(1000, Operation::DeleteVersion(deleted));
        prop_assert_eq!(carry_out(&mut record, &delete), Outcome::Deleted(None));
        let left: Vec<_> = ids.into_iter().filter(|id| *id != deleted).collect();
        let record = record.expect("there was something");
        prop_assert_eq!(record.head().map(|version| version.id), left.first().copied());
        prop_assert_eq!(record.versions.iter().map(|v| v.id).collect::<Vec<_>>(), left);
        let again = request(1001, Operation::DeleteVersion(deleted));
        prop_assert_eq!(carry_out(&mut Some(record), &again), Outcome::NothingToDelete);
    }
}

#[test]
fn a_marker_says_when_and_one_of_before_says_nothing() {
    let mut record = None;
    carry_out(&mut record, &request(1, Operation::Put('a')));
    let delete = Request { versioning: Versioning::On, ..request(2, Operation::Delete(77)) };
    carry_out(&mut record, &delete);
    let times: Vec<_> =
        record.iter().flat_map(|record| &record.versions).map(|v| v.deleted_at).collect();
    assert_eq!(times, [Some(77), None]);
    // As it was written before there was a time: three fields.
    let before = code::encode(&(VersionId { change: 1, salt: 2 }, true, None::<u8>));
    let read = code::decode::<Version<u8>>(&before).expect("it is read");
    assert_eq!((read.object, read.deleted_at), (None, None));
}
