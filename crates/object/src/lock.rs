//! Object lock: versions that have to be kept, until a time or until that is taken back.
//!
//! The register of a name decides it, from the time that a request says that it is: so it holds for whoever asks a node, over
//! whatever protocol.

use minicbor::{Decode, Encode};

use crate::object::{Bucket, Entry, Object};
use crate::register::record::Versioning;

/// Milliseconds of a day.
pub const DAY_MS: u64 = 24 * 3600 * 1000;

/// How a version is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub enum LockMode {
    /// Whoever may bypass it can delete the version all the same, or shorten the time.
    #[n(0)]
    Governance,
    /// Nobody can; the time can only be made longer.
    #[n(1)]
    Compliance,
}

/// A version is kept until a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct Retention {
    /// How.
    #[n(0)]
    pub mode: LockMode,
    /// In milliseconds since 1970.
    #[n(1)]
    pub until: u64,
}

/// How long new versions of a bucket are kept if nothing else is said of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct DefaultRetention {
    /// How.
    #[n(0)]
    pub mode: LockMode,
    /// The period, in years or in days.
    #[n(1)]
    pub period: Period,
}

/// How long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub enum Period {
    /// So many days.
    #[n(0)]
    Days(#[n(0)] u32),
    /// So many years of 365 days.
    #[n(1)]
    Years(#[n(0)] u32),
}

/// Object lock of a bucket that has it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct BucketLock {
    /// Of new versions.
    #[n(0)]
    pub default: Option<DefaultRetention>,
}

/// What a request may do with versions that are kept, and what time it is. The default may do nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Permit {
    /// The time, in milliseconds since 1970.
    pub at: u64,
    /// Whoever asks may bypass [`LockMode::Governance`], and wants to.
    pub bypasses: bool,
}

impl Permit {
    /// At this time.
    pub fn at(at: u64) -> Permit {
        Permit { at, bypasses: false }
    }
}

/// What the register of a name asks of what it keeps.
pub trait Lock {
    /// Whether it must stay as it is: it may be neither removed nor, where that weakens its lock, become `becomes`.
    fn refuses(&self, _becomes: Option<&Self>, _permit: Permit) -> bool {
        false
    }
}

impl Period {
    fn ms(self) -> u64 {
        let days = match self {
            Period::Days(days) => u64::from(days),
            Period::Years(years) => u64::from(years) * 365,
        };
        days * DAY_MS
    }
}

impl Retention {
    /// Whether it binds whoever has this permit.
    fn binds(self, permit: Permit) -> bool {
        let is_bypassed = self.mode == LockMode::Governance && permit.bypasses;
        self.until > permit.at && !is_bypassed
    }

    /// Whether this says less than `before`.
    fn is_weaker_than(self, before: Retention) -> bool {
        self.until < before.until || self.mode != before.mode
    }
}

impl Lock for Object {
    fn refuses(&self, becomes: Option<&Object>, permit: Permit) -> bool {
        let bound = self.retention.filter(|retention| retention.binds(permit));
        match becomes {
            None => self.legal_hold || bound.is_some(),
            Some(other) if other.body.hash() != self.body.hash() => {
                self.legal_hold || bound.is_some()
            }
            Some(other) => bound.is_some_and(|before| {
                other.retention.is_none_or(|after| after.is_weaker_than(before))
            }),
        }
    }
}

impl Lock for Entry {
    fn refuses(&self, becomes: Option<&Entry>, permit: Permit) -> bool {
        match (self, becomes) {
            (Entry::Object(object), None) => object.refuses(None, permit),
            (Entry::Object(object), Some(Entry::Object(other))) => {
                object.refuses(Some(other), permit)
            }
            (Entry::Object(object), Some(Entry::Bucket(_))) => object.refuses(None, permit),
            // What is said of a bucket is a new version each time: see `Bucket::may_become`.
            (Entry::Bucket(_), _) => false,
        }
    }
}

/// Letters and texts stand for objects in examples; nothing keeps them.
impl Lock for char {}
impl Lock for &str {}

impl Bucket {
    /// Whether this may be said of it instead: a bucket with object lock has it for ever, and keeps all versions.
    pub fn may_become(&self, other: &Bucket) -> bool {
        let keeps = other.settings.lock.is_some() && other.versioning == Versioning::On;
        self.settings.lock.is_none() || keeps
    }

    /// Says of a new version of one of its names how long it is kept, where nothing is said of that.
    pub fn retain(&self, object: &mut Object) {
        if let Some(DefaultRetention { mode, period }) =
            self.settings.lock.and_then(|lock| lock.default)
            && object.retention.is_none()
        {
            let until = object.modified.saturating_add(period.ms());
            object.retention = Some(Retention { mode, until });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::register::record::{
        Condition, Decision, Operation, Outcome, Record, Request, RequestKey,
    };

    fn object(retention: Option<(LockMode, u64)>, legal_hold: bool) -> Object {
        let retention = retention.map(|(mode, until)| Retention { mode, until });
        Object { retention, legal_hold, ..Object::default() }
    }

    fn permit(at: u64, bypasses: bool) -> Permit {
        Permit { at, bypasses }
    }

    const GOVERNANCE: LockMode = LockMode::Governance;
    const COMPLIANCE: LockMode = LockMode::Compliance;

    #[test]
    fn versions_are_kept_until_their_time_unless_that_may_be_bypassed() {
        for (kept, at, bypasses, is_refused) in [
            (object(None, false), 0, false, false),
            (object(Some((GOVERNANCE, 10)), false), 9, false, true),
            (object(Some((GOVERNANCE, 10)), false), 10, false, false),
            (object(Some((GOVERNANCE, 10)), false), 9, true, false),
            (object(Some((COMPLIANCE, 10)), false), 9, true, true),
            (object(Some((COMPLIANCE, 10)), false), 10, false, false),
            (object(None, true), 99, true, true),
        ] {
            assert_eq!(kept.refuses(None, permit(at, bypasses)), is_refused, "{kept:?} at {at}");
        }
    }

    #[test]
    fn a_lock_is_made_stronger_by_everybody_and_weaker_by_whoever_may() {
        let becomes = |before, after, bypasses| {
            !object(before, false).refuses(Some(&object(after, false)), permit(5, bypasses))
        };
        let (short, long) = (Some((GOVERNANCE, 10)), Some((GOVERNANCE, 20)));
        assert!(becomes(None, short, false) && becomes(short, long, false));
        assert!(!becomes(long, short, false) && becomes(long, short, true));
        assert!(!becomes(short, None, false) && becomes(short, None, true));
        let (strict, longer) = (Some((COMPLIANCE, 10)), Some((COMPLIANCE, 20)));
        assert!(!becomes(short, strict, false) && becomes(short, strict, true));
        assert!(becomes(strict, longer, false) && !becomes(longer, strict, true));
        assert!(!becomes(strict, short, true) && !becomes(strict, None, true));
        // What is over binds nobody.
        assert!(becomes(Some((COMPLIANCE, 5)), None, false));
        // A hold is taken back by a change, and what is held is deleted by none.
        assert!(!object(None, true).refuses(Some(&object(None, false)), permit(0, false)));
    }

    #[test]
    fn a_bucket_keeps_its_lock_and_its_versions() {
        let plain = Bucket { versioning: Versioning::On, ..Bucket::ROOT };
        let mut locked = plain.clone();
        locked.settings.lock = Some(BucketLock::default());
        assert!(plain.may_become(&locked) && !locked.may_become(&plain));
        let suspended = Bucket { versioning: Versioning::Suspended, ..locked.clone() };
        assert!(!locked.may_become(&suspended) && locked.may_become(&locked.clone()));
        let period = Period::Years(2);
        let default = Some(DefaultRetention { mode: COMPLIANCE, period });
        locked.settings.lock = Some(BucketLock { default });
        let mut object = Object { modified: 7, ..Object::default() };
        locked.retain(&mut object);
        let until = 7 + 730 * DAY_MS;
        assert_eq!(object.retention, Some(Retention { mode: COMPLIANCE, until }));
    }

    #[test]
    fn the_register_keeps_what_is_locked_whatever_is_asked_of_it() {
        let kept = Entry::Object(object(Some((GOVERNANCE, 10)), false));
        let request = |key, operation, versioning, bypasses| Request {
            key: RequestKey(key),
            operation,
            condition: Condition::Always,
            versioning,
            permit: permit(5, bypasses),
        };
        let put = Operation::Put(kept.clone());
        let Decision::Write(record, Outcome::Stored(id)) =
            request(1, put, Versioning::Off, false).decide(None)
        else {
            panic!("it is stored");
        };
        let other = || Operation::Put(Entry::Object(Object::default()));
        let weaker = || {
            let says = Entry::Object(Object::default());
            Operation::Replace(id, alloc::boxed::Box::new((kept.clone(), says)))
        };
        for operation in [Operation::Delete(0), Operation::DeleteVersion(id), other(), weaker()] {
            let decide = |bypasses| {
                request(2, operation.clone(), Versioning::Off, bypasses).decide(Some(&record))
            };
            assert_eq!(decide(false), Decision::Answer(Outcome::Locked), "{operation:?}");
            assert!(matches!(decide(true), Decision::Write(..)), "{operation:?}");
        }
        // Where all versions are kept, one more takes nothing away.
        for operation in [Operation::Delete(0), other()] {
            let decided = request(3, operation, Versioning::On, false).decide(Some(&record));
            let is_there = |record: &Record<Entry>| record.versions.iter().any(|v| v.id == id);
            assert!(matches!(decided, Decision::Write(record, _) if is_there(&record)));
        }
    }
}
