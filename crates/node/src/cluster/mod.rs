//! The cluster map, and what one node of it is told: from files or from etcd.
//!
//! [`ClusterMap`] is a value with an epoch. [`MapSource`] says where it is kept, and changes it;
//! [`change`] knows the changes that lose nothing.

pub mod change;
mod error;
mod etcd;
mod map;
mod map_file;
mod map_source;
mod node_file;

pub use error::FileError;
pub use etcd::{Etcd, EtcdAddress, EtcdError, Stored};
pub use map::{ClusterMap, FailureDomain, MapNode};
pub(crate) use map_file::name_of;
pub use map_source::{FoundMap, MapSource};
pub use node_file::{NodeFile, TargetFolder};
