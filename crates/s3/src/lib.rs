//! An S3 gateway: the buckets and objects of a node, as S3 clients use them.
//!
//! ```text
//!   HTTP (of slotcast-node: connections, limits) --> door --> s3s: signatures, XML --> Gateway --> Objects (of slotcast-node)
//! ```
//!
//! * `door` is what a request passes first and an answer last: refusals that `s3s` does not make, request ids.
//! * `gateway` has a method for each operation; what is not there answers `NotImplemented` with its name.
//! * `post` takes forms of browsers, `cors` tells them what pages of other sites may do, `hosts` finds buckets in hosts.
//! * `settings`, and files of their own, say what is set of buckets; `slotcast-object` decides what locks and rules mean.
//! * `access` asks `slotcast-node` who signs a request, and whether they may do what `actions` says that it does.
//!
//! Nothing is kept here: all state is in the registers of names, so that every node of a cluster can serve every request.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this is a part of the host: it has clocks, files and the types of s3s"
)]
#![allow(
    clippy::field_reassign_with_default,
    reason = "answers of S3 have dozens of fields, of which each operation fills some"
)]

mod access;
mod acl;
mod actions;
mod algorithm;
mod attributes;
mod bucket_encryption;
mod bucket_policy;
mod buckets;
mod checksums;
mod chunks;
mod conditions;
mod copy;
mod cors;
mod delete;
mod description;
mod door;
mod encryption;
mod errors;
mod form;
mod form_policy;
mod gateway;
mod get;
mod hosts;
mod lifecycle;
mod listing;
mod multipart;
mod names;
mod notification;
mod object_lock;
mod parts;
mod post;
mod put;
mod refusals;
mod settings;
mod tagging;
mod unset;
mod versions;

pub use door::{GatewayConfig, gateway};
pub use names::{NoBucketName, bucket_for_s3};
