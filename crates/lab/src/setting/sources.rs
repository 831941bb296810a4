//! Where the defaults of the cluster's settings come from.

pub(super) const PAPER: &str = "Replicast paper IV";
pub(super) const SURGE: &str = "SURGE d92018f";
pub(super) const OURS: &str = "our choice";
pub(super) const RFC8257: &str = "RFC 8257";
pub(super) const SIGCOMM: &str = "Data Center TCP, SIGCOMM 2010";
pub(super) const CHOOSY: &str = "Choosy Initiator, storagetarget.com";
