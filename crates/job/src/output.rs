//! What makes the effect of a job on an object happen once, however often it is tried.
//!
//! The request that makes an output has a key that follows from the job, the name of the output, the source version and what
//! is done with it. A register answers a request with a key that it knows as it did before, and the lower half of the key is
//! in the identity of the version: so whoever looks at a name sees whether this job has made what it stands for, and of what.

use slotcast_object::{Condition, NameRecord, Outcome, RequestKey, VersionId};

use crate::id::JobId;
use crate::text::{Existing, JobText, Kind};

/// The key of the request that carries out `text` on a source version; of what is deleted, on its name.
pub fn key(job: JobId, text: &JobText, (name, source): (&str, VersionId)) -> RequestKey {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"slotcast job").update(&job.0.to_le_bytes());
    hasher.update(text.kind.name().as_bytes()).update(&[0]);
    match &text.kind {
        Kind::Transform(transform) => drop(hasher.update(&transform.digest())),
        Kind::Copy | Kind::Delete | Kind::Verify => {}
    }
    if text.kind.has_outputs() {
        hasher.update(&source.change.to_le_bytes()).update(&source.salt.to_le_bytes());
    }
    hasher.update(name.as_bytes());
    let mut half = [0; 16];
    half.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    RequestKey(u128::from_le_bytes(half))
}

/// A number that follows from a name and its version.
pub fn digest(name: &str, source: VersionId) -> u64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&source.change.to_le_bytes()).update(&source.salt.to_le_bytes());
    hasher.update(name.as_bytes());
    hasher.finalize().as_bytes().first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// What a name says, as far as a job needs it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Seen {
    /// Its latest version, if that is an object.
    pub latest: Option<VersionId>,
    /// Bytes of that.
    pub size: u64,
    /// Whether the request with the key has been carried out, whatever became of the name after it.
    pub is_made: bool,
}

impl Seen {
    /// What the record of a name says to whoever looks for the request with this key.
    pub fn of(record: Option<&NameRecord>, key: RequestKey) -> Seen {
        let Some(record) = record else { return Seen::default() };
        let head = record.head();
        let object = head.and_then(|head| head.object.as_ref()?.object());
        #[expect(clippy::cast_possible_truncation, reason = "half of it")]
        let salt = key.0 as u64;
        let changed = |(done, outcome): &(RequestKey, Outcome)| {
            *done == key && matches!(outcome, Outcome::Stored(_) | Outcome::Deleted(_))
        };
        let is_made = record.versions.iter().any(|version| version.id.salt == salt)
            || record.recent.iter().any(changed);
        let latest = head.map(|head| head.id);
        Seen { latest, size: object.map_or(0, |object| object.size), is_made }
    }
}

/// What is to be done about an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Nothing: it is made.
    Made,
    /// Nothing: what is there stays.
    Keep,
    /// Make it if this holds.
    Make(Condition),
}

/// What is to be done where this was seen.
pub fn decide(seen: Seen, existing: Existing) -> Decision {
    match (seen, existing) {
        (Seen { is_made: true, .. }, _) => Decision::Made,
        (Seen { latest: None, .. }, _) => Decision::Make(Condition::Absent),
        (Seen { latest: Some(_), .. }, Existing::Keep) => Decision::Keep,
        (Seen { latest: Some(version), .. }, Existing::Replace) => {
            Decision::Make(Condition::Is(version))
        }
    }
}

#[cfg(test)]
mod tests {
    use slotcast_object::{Entry, Object, Operation, Request, Versioning};

    use super::*;
    use crate::text::{Place, Selection};

    fn text(kind: Kind) -> JobText {
        let place = |bucket: &str| Place { bucket: bucket.into(), prefix: "".into() };
        JobText {
            kind,
            from: place("a"),
            select: Selection::All,
            to: Some(place("b")),
            existing: Existing::Replace,
            check: true,
            started: 0,
            by: "".into(),
        }
    }

    const V1: VersionId = VersionId { change: 1, salt: 1 };
    const V2: VersionId = VersionId { change: 2, salt: 2 };

    #[test]
    fn keys_are_of_one_job_output_source_version_and_kind() {
        let copy = text(Kind::Copy);
        let base = key(JobId(1), &copy, ("x", V1));
        assert_eq!(base, key(JobId(1), &copy, ("x", V1)));
        for other in [
            key(JobId(2), &copy, ("x", V1)),
            key(JobId(1), &copy, ("y", V1)),
            key(JobId(1), &copy, ("x", V2)),
            key(JobId(1), &text(Kind::Verify), ("x", V1)),
        ] {
            assert_ne!(base, other);
        }
        let delete = text(Kind::Delete);
        assert_eq!(key(JobId(1), &delete, ("x", V1)), key(JobId(1), &delete, ("x", V2)));
    }

    #[test]
    fn what_was_made_is_seen_also_after_others_have_changed_it() {
        let key = RequestKey(7 << 64 | 9);
        let put = |key| Request {
            key,
            operation: Operation::Put(Entry::Object(Object { size: 5, ..Object::default() })),
            condition: Condition::Always,
            versioning: Versioning::Off,
            permit: slotcast_object::Permit::default(),
        };
        let after =
            |record: Option<&NameRecord>, request: Request<Entry>| match request.decide(record) {
                slotcast_object::Decision::Write(record, _) => record,
                slotcast_object::Decision::Answer(outcome) => panic!("{outcome:?}"),
            };
        assert_eq!(Seen::of(None, key), Seen::default());
        let made = after(None, put(key));
        let seen = Seen::of(Some(&made), key);
        assert!(seen.is_made && seen.size == 5 && seen.latest.is_some());
        let replaced = after(Some(&made), put(RequestKey(1)));
        assert!(Seen::of(Some(&replaced), key).is_made);
        assert!(!Seen::of(Some(&replaced), RequestKey(2)).is_made);
        let deletion = Request { operation: Operation::Delete(0), ..put(RequestKey(3)) };
        let deleted = after(Some(&made), deletion);
        let seen = Seen::of(Some(&deleted), key);
        assert!(seen.is_made && seen.latest.is_none());
    }

    #[test]
    fn nothing_is_replaced_but_what_was_seen() {
        let seen = |latest, is_made| Seen { latest, size: 0, is_made };
        assert_eq!(decide(seen(None, false), Existing::Replace), Decision::Make(Condition::Absent));
        let is_v1 = Decision::Make(Condition::Is(V1));
        assert_eq!(decide(seen(Some(V1), false), Existing::Replace), is_v1);
        assert_eq!(decide(seen(Some(V1), false), Existing::Keep), Decision::Keep);
        assert_eq!(decide(seen(Some(V1), true), Existing::Replace), Decision::Made);
    }
}
