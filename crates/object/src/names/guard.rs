//! Changes that rely on what another name says.
//!
//! All names of a bucket are changed as its own register says: where they are kept, what is kept of earlier versions,
//! whether the bucket is there at all. To read that register before each change and once more after it costs two round
//! trips. Instead a node believes what it has read some time ago, and says so: the change has a [`Guard`], the version that
//! it believes in. Each attempt of the change reads the guard *after* a majority has promised and *before* anything is
//! proposed (or answered without that), and ends there if it says something else. So nothing is written by what was
//! believed wrongly, and where the chunk of an object is on its way meanwhile, the read costs nothing but work.
//!
//! # Why a bucket is removed only when it is empty
//!
//! Whoever removes a bucket *seals* it: its register says so, in a version of its own. Then all its slots are listed with
//! [`fences`](super::ListRequest::fences), and only if nothing is in any of them the register is deleted, on condition that it still
//! has that version. A put that is acknowledged has relied on a version that is not sealed (whoever finds it sealed
//! opens it first, in a further version). Take the attempt of it that was acknowledged: a majority of the voters of its
//! name had promised, and then its guard was read.
//!
//! * The seal came before that read. Then the register had another version by then, so that the deletion which belongs
//!   to that seal does not take place.
//! * The seal came after it. Then the listing began after those promises, and of the majority that answers it some voter
//!   had promised. Either that voter has accepted something in this ballot or a later one, and lists it; or it says that
//!   it has promised. Then the listing reads the register with a later ballot, to which a majority promises, and that finds
//!   what a majority has accepted before. What had not been accepted by a majority never is in that ballot: either the read
//!   finds it with one voter and writes it for all, and lists it; or the attempt is lost. Others that the request makes
//!   have promises, and read the guard, anew. One that finds the value of an earlier attempt, be it chosen, does not
//!   answer before its own guard was read either.
//!
//! A set of voters that changes in between changes nothing of that: a listing is answered by majorities of all sets that
//! vote then, and who has answered in a later epoch accepts nothing of an earlier one.

use crate::key::Key;
use crate::message::NameRecord;
use crate::register::record::VersionId;

/// What a change relies on: that the latest version of another name is this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guard {
    /// The other name.
    pub key: Key,
    /// Its latest version, which is no marker of deletion.
    pub version: VersionId,
}

impl Guard {
    /// Whether a register that says `record` is as it should be.
    pub(super) fn holds(&self, record: Option<&NameRecord>) -> bool {
        let head = record.and_then(|record| record.head());
        head.is_some_and(|version| version.id == self.version)
    }
}

/// A mistake in requests about names, which a fault simulation plants to see that its checks find it.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamesMistake {
    /// Guards are read before voters have promised.
    ReadBeforePromises,
    /// Guards are read in the first attempt only.
    ReadOnce,
    /// Listings do not look at promises.
    ListedWithoutPromises,
    /// Deleted names are never forgotten.
    KeepsDeleted,
    /// Deleted names are forgotten that one voter holds so, whatever others hold.
    ForgetsWhatOneHolds,
}
