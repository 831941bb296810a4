//! The cluster map, and what one node of it is told: from files or from etcd.
//!
//! What a [`ClusterMap`] says, and which changes of it lose nothing, is in `slotcast-member`; here are its text,
//! and where that is kept ([`MapSource`]).

#[cfg(test)]
mod change_tests;
mod changing;
mod error;
mod etcd;
mod etcd_address;
mod etcd_session;
mod key_file;
mod map_file;
mod map_source;
mod map_voters;
mod node_file;

pub(crate) use self::etcd_session::{SYSTEM_CERTIFICATES, certificates};
pub use changing::ChangeError;
pub use error::FileError;
pub use etcd::{Etcd, EtcdError, Stored};
pub use etcd_address::{EtcdAddress, EtcdTls};
pub use key_file::{ClusterKeys, Encryption, KeysError, MAX_KEYS};
pub use map_file::{map_text, parse_map};
pub use map_source::{FoundMap, MapSource};
pub(crate) use map_voters::{
    CollectionEntry, NamesEntry, VotersWrong, voters_of, write_collection, write_voters,
};
pub use node_file::{NodeFile, TargetFolder};
pub use slotcast_member::map::{ClusterMap, FailureDomain, MapNode, change};
