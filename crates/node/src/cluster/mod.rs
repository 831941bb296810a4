//! The cluster map, and what one node of it is told: from files.
//!
//! [`ClusterMap`] is a value with an epoch. It is read from a file now; whatever else keeps it can give the
//! same value.

mod error;
mod map;
mod map_file;
mod node_file;

pub use error::FileError;
pub use map::{ClusterMap, FailureDomain, MapNode};
pub use node_file::{NodeFile, TargetFolder};
