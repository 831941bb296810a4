//! A whole node of a cluster, without IO.
//!
//! A [`Member`] is everything that a node decides: what its targets answer, how the requests of its clients
//! are carried out, which peers are waited for, when a chunk is repeated, what is replaced when somebody is
//! gone, and when it may leave the cluster. It owns the machines of `slotcast-protocol`, `slotcast-store` and
//! `slotcast-transport` and joins them. A host has sockets, disks, threads and a clock, and decides nothing:
//!
//! ```text
//!              +--------------------------- Member ----------------------------+
//!  requests -->|  Initiator ---+                      +--- StorageTarget 0 ----|--> disk operations
//!  answers  <--|  Finder ------+---- mail (Outbox) ---+--- StorageTarget 1 ----|<-- their results
//!              |               |                      +--- ...                 |
//!              |               +------- Link ---------+                        |
//!              +-------------------------|-------------------------------------+
//!                                    datagrams
//! ```
//!
//! * [`Member::handle`] takes one [`Input`] at a time and appends [`Effect`]s, to be carried out in order. The
//!   member asks to be woken at [`Member::wakes_at`].
//! * [`StorageTarget`] is one target: its negotiator, its chunk store, the repair of what it holds, its meters.
//! * [`Link`] is all that is said to the other nodes and heard from them: whom to believe, who is there, on
//!   which clock they speak, which pieces of a chunk to send again.
//! * [`ClusterMap`] is what all nodes agree on; [`map::change`] knows the changes that lose nothing.
//!
//! The node of `slotcast-node` runs a member on UDP, files and threads; fault simulations run many of them on
//! networks and disks that fail in every way. Neither decides anything that the other would have to repeat.
#![no_std]

extern crate alloc;

mod config;
mod content_cache;
mod effect;
mod garbage;
pub mod identity;
mod input;
mod link;
mod links;
pub mod map;
mod member;
mod mistake;
mod naming;
mod outbox;
mod rules;
mod status;
mod tape;
mod target;
mod timers;

pub use config::{CollectionRules, MemberConfig, NamesConfig, NetworkConfig, TargetSetup, Times};
pub use content_cache::CacheStatistics;
pub use effect::{Answer, Effect, Holders, Note, Pass};
pub use input::{ChangeRequest, Input, Request, RequestNumber};
pub use link::{Counters, Link, LinkEvent, PeerRefusal, PeerStatus};
pub use links::Links;
pub use map::{ClusterMap, FailureDomain, MapNode};
pub use member::Member;
#[doc(hidden)]
pub use mistake::Mistake;
pub use outbox::{Mail, Outbox, Want};
pub use rules::Rules;
pub use status::{CollectionEnd, CollectionStatus, MembershipStatus, TargetStatus};
pub use tape::{Difference, Tape};
pub use target::{
    Circumstances, QueueRule, StorageTarget, TargetInput, TargetLoad, WindowEvent, WindowState,
};
