//! One register, changed by compare-and-swap on a set of voters.

pub(crate) mod attempts;
pub(crate) mod ballot;
pub(crate) mod fence;
pub(crate) mod forget;
pub(crate) mod mistake;
pub(crate) mod proposal;
pub(crate) mod read;
pub(crate) mod record;
pub(crate) mod row;
pub(crate) mod sync;
pub(crate) mod update;
pub(crate) mod voters;
