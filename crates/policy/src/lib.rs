//! Policies: documents that say who may do what, and what they decide about a request.
//!
//! The documents have the form of AWS. Of that form the common subset is understood; a document with anything else is
//! refused when it is read, since a condition that is ignored would allow what its author meant to forbid.
//!
//! ```
//! use slotcast_policy::*;
//!
//! let policy = Policy::of_user(r#"{
//!     "Version": "2012-10-17",
//!     "Statement": [
//!         {"Effect": "Allow", "Action": "s3:Get*", "Resource": "arn:aws:s3:::photos/*"},
//!         {"Effect": "Deny", "Action": "s3:*", "Resource": "arn:aws:s3:::photos/private/*"}
//!     ]
//! }"#)?;
//! let asks = |resource| Request {
//!     who: Who::User("ann"),
//!     action: "s3:GetObject",
//!     resource,
//!     context: Context::default(),
//! };
//! assert_eq!(decide([&policy], &asks("arn:aws:s3:::photos/a")), Decision::Allowed);
//! assert_eq!(decide([&policy], &asks("arn:aws:s3:::photos/private/a")), Decision::Denied);
//! assert_eq!(decide([&policy], &asks("arn:aws:s3:::videos/a")), Decision::NotAllowed);
//! # Ok::<(), PolicyError>(())
//! ```
#![no_std]

extern crate alloc;

mod actions;
mod address;
mod canned;
mod condition;
mod decide;
mod document;
mod pattern;
mod policy;

pub use actions::{ACTIONS, is_action};
pub use canned::{CANNED, canned};
pub use decide::{Context, Decision, Request, Who, decide};
pub use policy::{BUCKET_ARN, MAX_DOCUMENT, NODE_ARN, Policy, PolicyError, USER_ARN};
