//! Names, without IO: a register for each name, changed by compare-and-swap on a set of voters.
//!
//! A *name* is mutable and agreed on; all that it names is immutable and hashed. What a name says is a [`Record`]: its
//! versions, and the latest requests with their answers. It is kept by three or five [`Voter`]s, each of which
//! has a [`Row`] for it on stable storage, and changed as in CASPaxos (D. Rystsov, arXiv 1802.07000): no leader, no
//! log, no lease, no clock.
//!
//! ```text
//!  Update ---Prepare(ballot)---> voters        nothing older is accepted any more
//!         <--what they hold----- (majority)
//!    decide: does the condition hold? what is the record to say?
//!         ---Accept(ballot, record)-> voters
//!         <--Accepted----------- (majority)    done
//! ```
//!
//! * [`Update`] is one request to change a name, over all its attempts; [`Request::decide`] is what it does to the record.
//! * [`Read`] returns what a name says: in one round trip, where a majority agrees.
//! * [`Proposal`] is one attempt of either, with a [`Ballot`] of its own.
//! * [`Voters`] change from one set by way of both to the other, and [`Sync`] brings each register to the new one.
//! * [`Fence`] is what a voter knows of the cluster map: whom it believes.
//! * [`Forget`] gives up the tombstone of a name that was deleted.
//!
//! # What it promises
//!
//! Requests for one name are linearizable: each takes effect at one moment between its beginning and its end, whatever
//! voters crash, messages are lost, late or repeated, and voters change. An [`Update`] takes effect once, over all its
//! attempts; a client that asks again with the same key has its first answer, if that changed the name and fewer than
//! [`MAX_RECENT`] changes came between. A condition is decided at the moment at which the request takes effect. Nobody is
//! told "not found" or "exists already" because a minority said so.
//!
//! # What it needs
//!
//! * Row and fence are on stable storage before an answer is sent that follows from them ([`Row::answer`]).
//! * A store that lost them comes back as another [`Voter`]; rows of an earlier term of a voter are dropped ([`Fence::learn`]).
//! * No two machines have the same [`Proposer`].
//! * The answer to a [`Question`] is handed to the machine with the tag of that question.
//!
//! # A conditional put
//!
//! ```
//! use slotcast_object::*;
//! use slotcast_protocol::TargetId;
//!
//! let voter = |n| Voter { target: TargetId(n), store: u64::from(n), joined: 1 };
//! let voters = Voters::alone(1, &[voter(0), voter(1), voter(2)]).unwrap();
//! let mut rows: [Row<Record<&str>>; 3] = Default::default();
//! let mut fences = [Fence { epoch: 1, voters: 1, joined: 1, floor: 0, round: 0 }; 3];
//!
//! let mut create = |key, object, proposer| {
//!     let request = Request {
//!         key: RequestKey(key),
//!         operation: Operation::Put(object),
//!         condition: Condition::Absent,
//!         versioning: Versioning::Off,
//!         permit: Permit::default(),
//!     };
//!     let mut update = Update::new(request, voters.clone(), 1, Proposer(proposer));
//!     loop {
//!         // The third voter does not answer.
//!         for question in update.questions().into_iter().filter(|q| q.to.target.0 < 2) {
//!             let Question { to, tag, stamp, ask } = question;
//!             let n = to.target.0 as usize;
//!             let reply = rows[n].answer(&mut fences[n], stamp, &ask);
//!             match update.handle(to, tag, reply) {
//!                 Step::Done(outcome) => return outcome,
//!                 Step::Lost => drop(update.retry()),
//!                 _ => {}
//!             }
//!         }
//!     }
//! };
//! let Outcome::Stored(version) = create(7, "first", 1) else { panic!() };
//! assert_eq!(create(8, "second", 2), Outcome::ConditionFailed(Some(version)));
//! // Whoever lost the answer and asks again is told that it was the one.
//! assert_eq!(create(7, "first", 3), Outcome::Stored(version));
//! ```
#![no_std]

extern crate alloc;

mod acceptor;
mod address;
pub mod client;
mod code;
pub mod garbage;
pub mod history;
mod key;
pub mod lifecycle;
pub mod list;
mod lock;
mod message;
mod names;
pub mod notification;
mod object;
mod register;
mod roster;
mod settings;
mod system;
mod upload;

pub use acceptor::{Acceptor, AcceptorEffect, MAX_SCAN, RowsError, RowsOp, RowsOpId, RowsOutput};
pub use address::{Address, NoAddress};
pub use key::{BucketId, Key, MAX_NAME, MAX_SLOTS, Name, NoName, SlotId};
pub use lock::{BucketLock, DAY_MS, DefaultRetention, Lock, LockMode, Period, Permit, Retention};
pub use message::{
    About, Asker, From, KeysAsk, KeysPage, MAX_PAGE, Message, NameRecord, PageAsk, PageRow,
    PageRows, RootsPage, RootsRow, Says, Store, VoterAnswer, VoterQuestion,
};
pub use names::{
    Guard, ListRequest, Listed, ListedName, NameAnswer, NameFailure, NameRequest, NameTimes, Names,
    NamesEffect, NamesMistake, Roots, RootsRequest,
};
pub use object::{Body, Bucket, Checksums, Entry, MAX_INLINE, MAX_METADATA, Object};
pub use register::ballot::{Ballot, Proposer};
pub use register::fence::{Fence, Fenced, Stamp};
pub use register::forget::{Forget, ForgetStep};
pub use register::proposal::{Prepared, Progress, Proposal};
pub use register::read::{Read, ReadStep};
pub use register::record::{
    Condition, Decision, MAX_RECENT, MAX_VERSIONS, Operation, Outcome, Record, Request, RequestKey,
    Version, VersionId, Versioning,
};
pub use register::row::{Ask, Held, Question, Reply, Row, Tag};
pub use register::sync::{Sync, SyncStep};
pub use register::update::{Step, Update};
pub use register::voters::{MAX_VOTERS, Voter, Voters, VotersError};
pub use roster::{Collection, RosterChange, Rosters};
pub use settings::{CorsRule, PublicAccess, Settings};
pub use upload::{MAX_PARTS, part_name, part_number};

#[cfg(test)]
#[path = "../tests/explore/mod.rs"]
mod explore;
