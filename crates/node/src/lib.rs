//! A node on real clocks, threads, files and sockets: the host of a member of `slotcast-member`.
//!
//! The member decides everything; this crate carries its effects out, tells it what came of them, and serves
//! content over HTTP. It runs a whole cluster in one process, or one node of several that exchange datagrams
//! over UDP.
//!
//! ```text
//!    HTTP --- http, content_stream ---> Node --> mailbox --> Member (one thread at a time works it)
//!      chunks, lists of chunks                      ^          |-- disk operations --> Disk (threads), Folder
//!                                                   |          |-- datagrams --------> network (UDP, pacing)
//!                                                   |          +-- proposals --------> map_keeper (etcd or a file)
//!                                                   +-- results, datagrams, new maps
//! ```
//!
//! * [`Node`] is a node as the rest of the program sees it: [`Node::start`] and [`Node::join`], puts, gets,
//!   status.
//! * [`RegisteredTargets`] makes sure that a folder is used only for the target whose identity it carries.
//! * [`Folder`] is where a target keeps its segments; [`Disk`] carries out what its store asks for.
//! * [`http::serve`] cuts content into chunks and puts it together; [`list`] is the list of the chunks of
//!   something long.
//! * [`jobs`] is work on many objects that the cluster does by itself.
//! * [`access`] is who may do what: users with their keys and policies, and policies of buckets.
//! * [`cluster`] reads and changes the cluster map, in a file or in etcd.
//! * [`Limits`] bounds connections, memory, time and rates; [`status`] is what people and programs are told.
//!
//! ```
//! use slotcast_node::{Limits, Node, NodeConfig};
//! use slotcast_store::Content;
//!
//! let base = tempfile::tempdir()?;
//! let config = NodeConfig {
//!     folders: (0..9).map(|n| base.path().join(format!("target-{n}"))).collect(),
//!     register: None,
//!     group_size: 9,
//!     replicas: 3,
//!     segment_size: 4 << 20,
//!     limits: Limits::default(),
//! };
//! let content = Content::of("a chunk".into());
//!
//! let node = Node::start(&config)?;
//! assert_eq!(node.put(content.clone()).blocking_recv()?, Ok(()));
//! drop(node);
//!
//! // What was acknowledged is on disk, and there after a start anew.
//! let node = Node::start(&config)?;
//! assert_eq!(node.get(content.chunk()).blocking_recv()?, Ok(content));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A put is acknowledged when it is on stable storage on as many targets as was asked for. A get that is
//! answered has content whose hash is its name. Both may fail, with a reason, and no request waits without a
//! bound. Who may do what is found out by [`access`]; datagrams are sealed and not encrypted.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this is the host: it has clocks, threads and files"
)]

pub mod access;
mod admission;
pub mod audit;
mod body_memory;
mod browsers;
mod buffers;
mod clock;
pub mod cluster;
mod cluster_metrics;
mod collection_http;
mod conditional;
mod connections;
mod content_hash;
mod content_read;
mod content_stream;
mod digests;
mod direct;
mod disk;
mod door;
mod encryption;
mod events_http;
mod file_stamp;
mod folder;
mod free_space;
mod health_http;
pub mod http;
mod http_metrics;
pub mod jobs;
mod journal;
mod label;
mod lifecycle;
mod limits;
mod mailbox;
mod map_http;
mod map_keeper;
mod metrics;
mod network;
mod node;
mod notifications;
mod objects;
mod objects_http;
mod open_files;
mod open_segments;
mod operations;
mod page_http;
mod patient;
mod reactor;
mod register;
mod rosters;
mod rows;
mod serving;
pub mod status;
pub mod tls;
mod walk;
mod whole_file;
mod wire;

pub use admission::{
    FolderState, ListedTarget, PlacedTarget, RegisteredTargets, folder_in, register_in, targets_in,
};
pub use buffers::Buffers;
pub use clock::Clock;
pub use content_hash::ContentHash;
pub use content_stream::ContentError;
pub use digests::{Checksum, Digests};
pub use disk::{Disk, DiskResult, Done, Report};
pub use encryption::{CustomerKey, Encrypt, Encryption, EncryptionError};
pub use folder::{Folder, FolderError, Refusal};
pub use limits::{
    BODY_MEMORY, BODY_SIZES, CACHE_MEMORY, HEADER_SIZES, Limits, MIN_RATE, MIN_TIMEOUT,
};
pub use network::measure;
pub use node::{Hosting, Machines, Node, NodeConfig, StartError};
pub use notifications::{Cause, Webhook, WebhookConfig, WebhookError};
pub use objects::{
    Change, CopyFrom, FoundBucket, FoundObject, FoundPart, FoundUpload, Incoming, Listing,
    NewBucket, NewPart, ObjectError, Objects, PutObject, Seal, Sealed, StoredObject, Whole,
    entity_tag, new_key, now_ms, text_of, version_of,
};
pub use open_files::{TooFewFiles, check_open_files};
pub use reactor::{GetResult, NamedResult, PutResult, Recorded};
pub use register::RegisterError;
pub use rosters::RostersError;
pub use rows::{Rows, RowsReport, RowsResult};
pub use slotcast_member::identity::{ClusterId, Seat};
pub use slotcast_member::{CacheStatistics, Holders, QueueRule, TargetLoad, TargetStatus};
pub use slotcast_object::{Address, NoAddress, list};
