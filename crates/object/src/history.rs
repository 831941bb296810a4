//! What clients asked of one name and were told: could a name that is kept in one place have told them so?
//!
//! A history is linearizable (M. Herlihy, J. Wing, "Linearizability: A Correctness Condition for Concurrent Objects", 1990)
//! if each request that was answered can be given one moment between its beginning and its end, and each that
//! was not some moment after its beginning or none, so that requests which are carried out at these moments get these
//! answers. Changes in place ([`Replace`](crate::Operation::Replace)) are not judged: two states with the same versions are
//! taken for one.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use slotcast_units::Time;

use crate::lock::{Lock, Permit};
use crate::register::record::{
    Condition, Decision, Operation, Outcome, Record, Request, Version, VersionId,
};

/// One request about a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked<O> {
    /// When it was asked.
    pub began: Time,
    /// When it was answered; [`Time::NEVER`] if it was not, or nobody knows what became of it.
    pub ended: Time,
    /// What was asked, and told.
    pub what: What<O>,
}

/// A request, and what it was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What<O> {
    /// A change; what came of it, if anybody was told.
    Change(Request<O>, Option<Outcome>),
    /// A read; the latest version, if the name says anything and that is no marker of deletion.
    Read(Option<Version<O>>),
}

/// The most requests of a history.
pub const MAX_ASKED: usize = 128;

/// The most states that are looked at: some hundred megabytes.
pub const MAX_STATES: usize = 1 << 18;

/// There are more ways to explain a history than can be looked at: it is not judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("more than {MAX_STATES} states to look at")]
pub struct TooManyStates;

/// Whether what was asked of one name can be explained. `first` is what the name said before. Exponential in how many changes
/// are under way at a time, those that nobody answered among them unless they are alike; linear in all else. Requests of
/// which it is known that they changed nothing should be left out. No two have the same key, and the name has one life: its
/// changes are counted on, as they are unless a tombstone is forgotten ([`is_explained_with_lives`]).
///
/// # Errors
/// If that takes too long.
///
/// # Panics
/// If there are more than [`MAX_ASKED`].
pub fn is_explained<O: Clone + PartialEq + Lock>(
    first: Option<&Record<O>>,
    asked: &[Asked<O>],
) -> Result<bool, TooManyStates> {
    explained(first, asked, false)
}

/// The same of a name that may be forgotten at any time while it is a tombstone: it has several lives then. It takes longer.
///
/// # Errors
/// As for [`is_explained`].
///
/// # Panics
/// As for [`is_explained`].
pub fn is_explained_with_lives<O: Clone + PartialEq + Lock>(
    first: Option<&Record<O>>,
    asked: &[Asked<O>],
) -> Result<bool, TooManyStates> {
    explained(first, asked, true)
}

fn explained<O: Clone + PartialEq + Lock>(
    first: Option<&Record<O>>,
    asked: &[Asked<O>],
    has_lives: bool,
) -> Result<bool, TooManyStates> {
    assert!(asked.len() <= MAX_ASKED, "{} requests", asked.len());
    let mut order: Vec<&Asked<O>> = asked.iter().collect();
    order.sort_by_key(|asked| asked.began);
    let earlier = earlier_alike(first, &order);
    let mut seen = BTreeSet::new();
    let mut open = alloc::vec![(0_u128, first.cloned())];
    while let Some((done, state)) = open.pop() {
        let done = with_what_changes_nothing(&order, done, state.as_ref());
        let has_passed = !has_lives && has_passed(&order, done, state.as_ref());
        if !seen.insert((done, says(state.as_ref()))) || has_passed {
            continue;
        }
        if has_lives && state.as_ref().is_some_and(Record::is_tombstone) {
            open.push((done, None));
        }
        if seen.len() > MAX_STATES {
            return Err(TooManyStates);
        }
        // Those that were never answered need not be carried out.
        let must_end = must_end(&order, done);
        if must_end == Time::NEVER {
            return Ok(true);
        }
        // Whatever is next began before any other has ended. Those that were answered are tried first.
        let next = left(&order, done).take_while(|(_, asked)| asked.began <= must_end);
        let (unanswered, answered): (Vec<_>, Vec<_>) =
            next.partition(|(_, asked)| asked.ended == Time::NEVER);
        for (place, asked) in unanswered.into_iter().chain(answered) {
            if earlier[place] & !done != 0 {
                continue;
            }
            if let Some(Carried::Changed(mut next)) = carry_out(state.as_ref(), &asked.what) {
                // Each request is there once, so that nobody asks for what was answered before.
                next.recent.clear();
                open.push((done | 1 << place, Some(next)));
            }
        }
    }
    Ok(false)
}

/// Those that are not carried out yet, with their places.
fn left<'a, O>(order: &'a [&Asked<O>], done: u128) -> impl Iterator<Item = (usize, &'a Asked<O>)> {
    order.iter().enumerate().filter(move |(place, _)| done >> place & 1 == 0).map(|(n, a)| (n, *a))
}

/// For each request, those before it that might as well be carried out in its stead: nobody was told of either, or of the
/// version that it makes, and they do the same. Of such only the first that is left needs to be tried, which has begun
/// before the others and is as much in nobody's way.
fn earlier_alike<O: PartialEq + Lock>(first: Option<&Record<O>>, order: &[&Asked<O>]) -> Vec<u128> {
    let told_of = told_of(order);
    let versions = first.map_or(&[][..], |record| &record.versions);
    let was_put = order.iter().filter_map(|asked| match &asked.what {
        What::Change(Request { operation: Operation::Put(object), .. }, _) => Some(object),
        _ => None,
    });
    let mut objects = versions.iter().filter_map(|version| version.object.as_ref()).chain(was_put);
    let is_replaced = order.iter().any(|asked| {
        matches!(&asked.what, What::Change(request, _) if matches!(request.operation, Operation::Replace(..)))
    });
    // What may be done with a locked version differs from one request to the other.
    let has_locks = is_replaced || objects.any(|object| object.refuses(None, Permit::default()));
    let free = |asked: &Asked<O>| match &asked.what {
        What::Change(request, None) if asked.ended == Time::NEVER && !has_locks => {
            !told_of.contains(&salt_of(request))
        }
        _ => false,
    };
    let of = |place: usize, asked: &Asked<O>| {
        let before = order[..place].iter().enumerate();
        let alike = before.filter(|(_, other)| free(other) && are_alike(&asked.what, &other.what));
        if free(asked) { alike.fold(0, |bits, (n, _)| bits | 1 << n) } else { 0 }
    };
    order.iter().enumerate().map(|(place, asked)| of(place, asked)).collect()
}

/// What tells the version that a request makes from those of others.
#[expect(clippy::cast_possible_truncation, reason = "half of it, as in versions")]
fn salt_of<O>(request: &Request<O>) -> u64 {
    request.key.0 as u64
}

/// Whether two changes do the same, but for the version that they make.
fn are_alike<O: PartialEq>(one: &What<O>, other: &What<O>) -> bool {
    let (What::Change(one, _), What::Change(other, _)) = (one, other) else { return false };
    let is_same = match (&one.operation, &other.operation) {
        (Operation::Put(_), Operation::Put(_)) | (Operation::Delete(_), Operation::Delete(_)) => {
            true
        }
        (Operation::DeleteVersion(one), Operation::DeleteVersion(other)) => one == other,
        _ => false,
    };
    is_same && one.condition == other.condition && one.versioning == other.versioning
}

/// Of which versions somebody was told, or knew before.
fn told_of<O>(order: &[&Asked<O>]) -> BTreeSet<u64> {
    let mut salts = BTreeSet::new();
    for asked in order {
        match &asked.what {
            What::Read(told) => salts.extend(told.as_ref().map(|version| version.id.salt)),
            What::Change(request, told) => {
                if let Condition::Is(version) = request.condition {
                    salts.insert(version.salt);
                }
                if let Operation::DeleteVersion(version) | Operation::Replace(version, _) =
                    &request.operation
                {
                    salts.insert(version.salt);
                }
                if let Some(
                    Outcome::Stored(version)
                    | Outcome::Deleted(Some(version))
                    | Outcome::ConditionFailed(Some(version)),
                ) = told
                {
                    salts.insert(version.salt);
                }
            }
        }
    }
    salts
}

/// When the first of them has ended.
fn must_end<O>(order: &[&Asked<O>], done: u128) -> Time {
    left(order, done).map(|(_, asked)| asked.ended).min().unwrap_or(Time::NEVER)
}

/// What was answered so in this state and changes nothing may as well be carried out at once: it is in nobody's way.
fn with_what_changes_nothing<O: Clone + PartialEq + Lock>(
    order: &[&Asked<O>],
    mut done: u128,
    state: Option<&Record<O>>,
) -> u128 {
    loop {
        let must_end = must_end(order, done);
        let next = left(order, done).take_while(|(_, asked)| asked.began <= must_end);
        let is_one = |asked: &Asked<O>| {
            asked.ended != Time::NEVER
                && matches!(carry_out(state, &asked.what), Some(Carried::Same))
        };
        let found = next.filter(|(_, asked)| is_one(asked)).fold(0, |bits, (n, _)| bits | 1 << n);
        if found == 0 {
            return done;
        }
        done |= found;
    }
}

/// Whether some change should have been carried out before: its version says as which one.
fn has_passed<O>(order: &[&Asked<O>], done: u128, state: Option<&Record<O>>) -> bool {
    let change = state.map_or(0, |record| record.change);
    left(order, done).any(|(_, asked)| match asked.what {
        What::Change(_, Some(Outcome::Stored(version) | Outcome::Deleted(Some(version)))) => {
            version.change <= change
        }
        _ => false,
    })
}

/// All that makes a difference in a record.
fn says<O>(record: Option<&Record<O>>) -> Option<(u64, Vec<VersionId>)> {
    record.map(|record| (record.change, record.versions.iter().map(|v| v.id).collect()))
}

/// What comes of a request.
enum Carried<O> {
    /// The name says the same as before.
    Same,
    Changed(Record<O>),
}

/// Carries it out; none if it would have been answered otherwise.
fn carry_out<O: Clone + PartialEq + Lock>(
    state: Option<&Record<O>>,
    what: &What<O>,
) -> Option<Carried<O>> {
    match what {
        What::Read(told) => {
            let says = state.and_then(|record| record.versions.first());
            let says = says.filter(|version| version.object.is_some());
            (says == told.as_ref()).then_some(Carried::Same)
        }
        What::Change(request, told) => {
            let (carried, outcome) = match request.decide(state) {
                Decision::Write(record, outcome) => (Carried::Changed(record), outcome),
                Decision::Answer(outcome) => (Carried::Same, outcome),
            };
            told.is_none_or(|told| told == outcome).then_some(carried)
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use slotcast_units::Time;

    use super::{Asked, What, is_explained};
    use crate::{
        Condition, Operation, Outcome, Permit, Request, RequestKey, Version, VersionId, Versioning,
    };

    fn put(key: u128, condition: Condition) -> Request<char> {
        let versioning = Versioning::Off;
        let (key, operation) = (RequestKey(key), Operation::Put('a'));
        Request { key, operation, condition, versioning, permit: Permit::default() }
    }

    fn asked(began: u64, ended: u64, what: What<char>) -> Asked<char> {
        Asked { began: Time::from_ns(began), ended: Time::from_ns(ended), what }
    }

    fn stored(change: u64, salt: u64) -> Outcome {
        Outcome::Stored(VersionId { change, salt })
    }

    #[test]
    fn of_two_who_create_a_name_one_succeeds() {
        let both = |second| {
            [
                asked(0, 5, What::Change(put(7, Condition::Absent), Some(stored(1, 7)))),
                asked(1, 4, What::Change(put(8, Condition::Absent), Some(second))),
            ]
        };
        let lost = Outcome::ConditionFailed(Some(VersionId { change: 1, salt: 7 }));
        assert_eq!(is_explained(None, &both(lost)), Ok(true));
        assert_eq!(is_explained(None, &both(stored(1, 8))), Ok(false));
        assert_eq!(is_explained(None, &both(stored(2, 8))), Ok(false));
    }

    #[test]
    fn what_was_read_is_not_taken_back() {
        let version = Version {
            id: VersionId { change: 1, salt: 7 },
            is_null: true,
            object: Some('a'),
            deleted_at: None,
        };
        let unanswered = asked(0, u64::MAX, What::Change(put(7, Condition::Always), None));
        let seen = asked(1, 2, What::Read(Some(version)));
        let not_seen = |began, ended| asked(began, ended, What::Read(None));
        assert_eq!(
            is_explained(None, &[unanswered.clone(), seen.clone(), not_seen(1, 2)]),
            Ok(true)
        );
        assert_eq!(
            is_explained(None, &[unanswered.clone(), not_seen(1, 2), not_seen(3, 4)]),
            Ok(true)
        );
        assert_eq!(is_explained(None, &[unanswered, seen.clone(), not_seen(3, 4)]), Ok(false));
        // Nobody put it.
        assert_eq!(is_explained(None, &[seen]), Ok(false));
    }

    #[test]
    fn what_nobody_was_told_of_is_tried_once_for_all_that_are_alike() {
        let unanswered = |n: u64| {
            let condition =
                if n.is_multiple_of(2) { Condition::Always } else { Condition::Present };
            asked(n, u64::MAX, What::Change(put(u128::from(n), condition), None))
        };
        let with = |change: u64| {
            let mut all: Vec<_> = (1..=40).map(unanswered).collect();
            let answered = What::Change(put(99, Condition::Always), Some(stored(change, 99)));
            all.push(asked(50, 60, answered));
            is_explained(None, &all)
        };
        assert_eq!(with(1), Ok(true));
        assert_eq!(with(41), Ok(true));
        assert_eq!(with(42), Ok(false));
        // One that was read is not any of them.
        let version = |change| Version {
            id: VersionId { change, salt: 40 },
            is_null: true,
            object: Some('a'),
            deleted_at: None,
        };
        let read = |change| {
            let mut all: Vec<_> = (1..=40).map(unanswered).collect();
            all.push(asked(50, 60, What::Read(Some(version(change)))));
            is_explained(None, &all)
        };
        assert_eq!(read(40), Ok(true));
        assert_eq!(read(41), Ok(false));
    }

    #[test]
    fn what_takes_too_long_is_not_judged() {
        let unanswered = |n: u64| {
            let request = Request {
                operation: Operation::Put('a'),
                versioning: Versioning::On,
                ..put(u128::from(n), Condition::Is(VersionId { change: n, salt: n - 1 }))
            };
            asked(n, u64::MAX, What::Change(request, None))
        };
        let mut all: Vec<_> = (1..=40).map(unanswered).collect();
        all.extend((41..=80).map(|n| {
            let request = Request { versioning: Versioning::On, ..put(n, Condition::Always) };
            asked(1, u64::MAX, What::Change(request, None))
        }));
        all.extend((41..=80).map(|n| {
            let request = Request {
                operation: Operation::DeleteVersion(VersionId { change: 1, salt: n }),
                ..put(u128::from(n) + 100, Condition::Always)
            };
            asked(1, u64::MAX, What::Change(request, None))
        }));
        all.push(asked(90, 91, What::Change(put(999, Condition::Always), Some(stored(120, 999)))));
        assert_eq!(is_explained(None, &all), Err(super::TooManyStates));
    }
}
