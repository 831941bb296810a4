//! The real host: runs a member of `slotcast-member` on clocks, threads, files and sockets.
//!
//! * [`Node`] is a node as the rest of the program sees it: puts, gets, status.
//! * [`RegisteredTargets`] sees to it that a folder is taken only for the target that it holds.
//! * [`Folder`] is where a target keeps its segments, [`Disk`] carries out what its store asks for.
//! * [`http`] serves content, which it cuts into chunks and puts together.
//! * [`cluster`] is the map of a cluster of several processes, which speak by UDP.
//! * One thread at a time works the member; what takes time happens in others. It decides everything.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this is the host: it has clocks, threads and files"
)]

mod address;
mod admission;
mod body_memory;
mod buffers;
mod clock;
pub mod cluster;
mod conditional;
mod connections;
mod content_read;
mod content_stream;
mod direct;
mod disk;
mod folder;
pub mod http;
mod http_metrics;
mod journal;
mod label;
mod limits;
pub mod list;
mod mailbox;
mod map_keeper;
mod metrics;
mod network;
mod node;
mod open_files;
mod open_segments;
mod patient;
mod reactor;
mod register;
mod serving;
pub mod status;
mod walk;
mod whole_file;

pub use address::{Address, NoAddress};
pub use admission::{
    FolderState, ListedTarget, PlacedTarget, RegisteredTargets, folder_in, register_in, targets_in,
};
pub use buffers::Buffers;
pub use clock::Clock;
pub use disk::{Disk, DiskResult, Report};
pub use folder::{Folder, FolderError, Refusal};
pub use limits::{BODY_MEMORY, BODY_SIZES, HEADER_SIZES, LEAST_RATE, LEAST_TIMEOUT, Limits};
pub use network::measure;
pub use node::{Hosting, Machines, Node, NodeConfig, StartError};
pub use open_files::TooFewFiles;
pub use reactor::{GetResult, PutResult, Recorded};
pub use register::RegisterError;
pub use slotcast_member::identity::{ClusterId, Seat};
pub use slotcast_member::{Holders, QueueRule, TargetLoad, TargetStatus};
