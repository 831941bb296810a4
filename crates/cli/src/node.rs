//! The commands that run and use a store.

pub(crate) mod bench;
pub(crate) mod cat;
pub(crate) mod client;
pub(crate) mod cluster;
pub(crate) mod cp;
pub(crate) mod get;
mod hearing;
mod http_options;
pub(crate) mod key;
mod log;
pub(crate) mod ls;
pub(crate) mod mb;
mod names;
mod place;
pub(crate) mod put;
pub(crate) mod rm;
pub(crate) mod serve;
pub(crate) mod stat;
pub(crate) mod status;
pub(crate) mod target;
pub(crate) mod top;
