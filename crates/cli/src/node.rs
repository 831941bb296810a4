//! The commands that run and use a store.

mod client;
pub(crate) mod get;
pub(crate) mod put;
pub(crate) mod serve;
pub(crate) mod stat;
pub(crate) mod status;
