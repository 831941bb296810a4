//! What a register of a name says, and how an operation changes it.

use alloc::boxed::Box;
use alloc::vec::Vec;
use minicbor::{Decode, Encode};

use crate::lock::{Lock, Permit};
use crate::register::mistake::Mistake;

#[cfg(test)]
mod tests;

/// Requests whose answers a record keeps: those that changed it. A client that asks again after more changes of the name
/// than that is answered as if it asked for the first time.
pub const MAX_RECENT: usize = 16;

/// The most versions that a name keeps, markers of deletion among them: all are in its record, which each change writes
/// anew.
pub const MAX_VERSIONS: usize = 1000;

/// One request of a client, over all its retries. Each half is unique, as 64 random bits are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct RequestKey(
    #[n(0)]
    #[cbor(with = "crate::code::u128")]
    pub u128,
);

/// A version of a name: never used again, also after the name was deleted and made anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct VersionId {
    /// The change that made it, counted from 1 for each name.
    #[n(0)]
    pub change: u64,
    /// The lower half of the key of the request that made it: two lives of one name have no version in common.
    #[n(1)]
    pub salt: u64,
}

/// One version.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct Version<O> {
    /// Its identity.
    #[n(0)]
    pub id: VersionId,
    /// Whether it was made while the bucket kept no versions: there is at most one such, and the next one
    /// replaces it. (S3 calls its id "null".)
    #[n(1)]
    pub is_null: bool,
    /// The object; none for a marker that says that the name was deleted.
    #[n(2)]
    pub object: Option<O>,
    /// Of a marker: when the deletion was asked for, in milliseconds since 1970 on the clock of a node. None of an object,
    /// and of markers that were made before it was kept. It decides nothing.
    #[n(3)]
    pub deleted_at: Option<u64>,
}

/// What a register of a name says.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct Record<O> {
    /// The request that made it. Another life of the same name, after a deletion that was forgotten, has another one.
    #[n(0)]
    pub born: RequestKey,
    /// Changes so far.
    #[n(1)]
    pub change: u64,
    /// Newest first; empty after a deletion that left nothing.
    #[n(2)]
    pub versions: Vec<Version<O>>,
    /// The latest requests that changed it, oldest first, with their answers.
    #[n(3)]
    pub recent: Vec<(RequestKey, Outcome)>,
}

impl<O> Record<O> {
    /// The latest version, if that is not a marker of deletion.
    pub fn head(&self) -> Option<&Version<O>> {
        self.versions.first().filter(|version| version.object.is_some())
    }

    /// Whether nothing is left of the name but the knowledge that it was deleted.
    pub fn is_tombstone(&self) -> bool {
        self.versions.is_empty()
    }
}

/// What must hold of a name for an operation to be carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Condition {
    /// Nothing.
    Always,
    /// It names no object (`If-None-Match: *`).
    Absent,
    /// It names an object (`If-Match: *`).
    Present,
    /// Its latest version is this one (`If-Match`).
    Is(VersionId),
}

/// What a bucket keeps of earlier versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub enum Versioning {
    /// Nothing, and it never has.
    #[n(0)]
    Off,
    /// Everything.
    #[n(1)]
    On,
    /// What was made while it was on.
    #[n(2)]
    Suspended,
}

/// A change of a name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation<O> {
    /// It names this object from now on.
    Put(O),
    /// It names no object from now on; earlier versions stay where the bucket keeps them. Asked for at this time, as
    /// [`Version::deleted_at`] has it.
    Delete(u64),
    /// This version is no more; what was before it is the latest if it was.
    DeleteVersion(VersionId),
    /// This version says the latter of its object, and keeps its identity, if it said the former: what is said beside the
    /// content changes in place. Of two who change it at the same time one is told that it says something else now.
    Replace(VersionId, Box<(O, O)>),
}

/// What became of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub enum Outcome {
    /// It names the object, in this version.
    #[n(0)]
    Stored(#[n(0)] VersionId),
    /// It was deleted; where the bucket keeps versions, with this marker.
    #[n(1)]
    Deleted(#[n(0)] Option<VersionId>),
    /// There was nothing to delete.
    #[n(2)]
    NothingToDelete,
    /// The condition does not hold: this is the latest version, if it names an object.
    #[n(3)]
    ConditionFailed(#[n(0)] Option<VersionId>),
    /// The name has [`MAX_VERSIONS`] already: nothing was changed.
    #[n(4)]
    TooManyVersions,
    /// A version that would go, or whose lock would be weakened, has to be kept: nothing was changed.
    #[n(5)]
    Locked,
}

/// A request to change a name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Request<O> {
    /// The same in each retry.
    pub key: RequestKey,
    /// What is wanted.
    pub operation: Operation<O>,
    /// If this holds.
    pub condition: Condition,
    /// What the bucket keeps.
    pub versioning: Versioning,
    /// When it is asked for, and what may be done with versions that have to be kept.
    pub permit: Permit,
}

/// What a request makes of a register.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision<O> {
    /// The register is to say this; then the request is answered so.
    Write(Record<O>, Outcome),
    /// Nothing changes, and this is the answer.
    Answer(Outcome),
}

impl<O: Clone + PartialEq + Lock> Request<O> {
    /// What this makes of a register that says `record`, or nothing yet. A request that has changed it before gets the
    /// answer that it had.
    pub fn decide(&self, record: Option<&Record<O>>) -> Decision<O> {
        self.decide_with(record, None)
    }

    /// The same with a planted mistake.
    pub(crate) fn decide_with(
        &self,
        record: Option<&Record<O>>,
        mistake: Option<Mistake>,
    ) -> Decision<O> {
        let recent = record.map_or(&[][..], |record| &record.recent);
        let done = recent.iter().find(|(key, _)| *key == self.key);
        if let Some((_, outcome)) = done.filter(|_| mistake != Some(Mistake::ForgetsRequests)) {
            return Decision::Answer(*outcome);
        }
        let head = record.and_then(Record::head);
        let latest = head.map(|version| version.id);
        let holds = match self.condition {
            Condition::Always => true,
            Condition::Absent => latest.is_none(),
            Condition::Present => latest.is_some(),
            Condition::Is(version) => latest == Some(version),
        };
        if !holds {
            return Decision::Answer(Outcome::ConditionFailed(latest));
        }
        let change = record.map_or(0, |record| record.change) + 1;
        #[expect(clippy::cast_possible_truncation, reason = "half of it")]
        let mut id = VersionId { change, salt: self.key.0 as u64 };
        if mistake == Some(Mistake::NamesVersionsByContent) {
            // The requests of the test have the hash of their content as half of their key.
            id.change = 0;
        }
        let before = record.map_or(&[][..], |record| &record.versions);
        let (versions, outcome) = match &self.operation {
            Operation::Put(object) => {
                let versions = self.on_top(before, id, (Some(object.clone()), None));
                (versions, Outcome::Stored(id))
            }
            Operation::Delete(at) => match self.versioning {
                Versioning::Off if before.is_empty() => {
                    return Decision::Answer(Outcome::NothingToDelete);
                }
                // Whoever has not heard yet that the bucket keeps versions destroys none.
                Versioning::Off if before.iter().all(|version| version.is_null) => {
                    (Vec::new(), Outcome::Deleted(None))
                }
                _ => {
                    let marker = (None, Some(*at));
                    (self.on_top(before, id, marker), Outcome::Deleted(Some(id)))
                }
            },
            Operation::DeleteVersion(version) => {
                let left: Vec<_> = before.iter().filter(|v| v.id != *version).cloned().collect();
                if left.len() == before.len() {
                    return Decision::Answer(Outcome::NothingToDelete);
                }
                (left, Outcome::Deleted(None))
            }
            Operation::Replace(version, change) => {
                let (said, says) = &**change;
                let says_it =
                    |v: &&mut Version<O>| v.id == *version && v.object.as_ref() == Some(said);
                let mut versions = before.to_vec();
                match versions.iter_mut().find(says_it) {
                    Some(found) => found.object = Some(says.clone()),
                    None => return Decision::Answer(Outcome::ConditionFailed(latest)),
                }
                (versions, Outcome::Stored(*version))
            }
        };
        if versions.len() > before.len().max(MAX_VERSIONS) {
            return Decision::Answer(Outcome::TooManyVersions);
        }
        if self.breaks_a_lock(before, &versions) {
            return Decision::Answer(Outcome::Locked);
        }
        let first = (recent.len() + 1).saturating_sub(MAX_RECENT);
        let mut recent = recent[first..].to_vec();
        recent.push((self.key, outcome));
        let born = record.map_or(self.key, |record| record.born);
        Decision::Write(Record { born, change, versions, recent }, outcome)
    }

    /// Whether a version of `before` that has to be kept is not among `versions` as it must be.
    fn breaks_a_lock(&self, before: &[Version<O>], versions: &[Version<O>]) -> bool {
        let kept = before.iter().filter_map(|version| {
            let object = version.object.as_ref()?;
            object.refuses(None, self.permit).then_some((version.id, object))
        });
        kept.into_iter().any(|(id, object)| {
            let becomes = versions.iter().find(|version| version.id == id);
            object.refuses(becomes.and_then(|version| version.object.as_ref()), self.permit)
        })
    }

    /// The versions `before` with a new one, which replaces the null version unless the bucket keeps all.
    fn on_top(
        &self,
        before: &[Version<O>],
        id: VersionId,
        (object, deleted_at): (Option<O>, Option<u64>),
    ) -> Vec<Version<O>> {
        let is_null = self.versioning != Versioning::On;
        let mut versions = alloc::vec![Version { id, is_null, object, deleted_at }];
        versions.extend(before.iter().filter(|v| !(is_null && v.is_null)).cloned());
        versions
    }
}
