//! What settings of the cluster have an effect with: a key without what it needs is refused.

use super::schema::{MORE_THAN_0, Only};

pub(super) const REPLICAST: &[Only] =
    &[("protocol.kind", &["replicast-m", "replicast-h", "replicast-proxy"])];
pub(super) const BIDS: &[Only] = &[("protocol.kind", &["replicast-m", "replicast-h"])];
pub(super) const MULTICAST: &[Only] = &[("protocol.kind", &["replicast-m"])];
pub(super) const SEQUENCES: &[Only] = &[("protocol.kind", &["replicast-h"])];
pub(super) const UNICAST: &[Only] = &[("protocol.kind", &["uch-ccp", "uch-aimd", "uch-dctcp"])];
pub(super) const PRECISION: &[Only] = &[("statistics.precision", MORE_THAN_0)];
pub(super) const OUTAGE: &[Only] = &[("faults.targets_down", MORE_THAN_0)];
pub(super) const PROXY: &[Only] = &[("protocol.kind", &["replicast-proxy"])];
pub(super) const DCTCP: &[Only] = &[("protocol.kind", &["uch-dctcp"])];
pub(super) const CLOSED: &[Only] = &[("workload.load", &["closed"])];

pub(super) const CHARGED: &[Only] =
    &[("protocol.kind", &["replicast-m", "replicast-h", "replicast-proxy", "uch-ccp", "uch-aimd"])];
pub(super) const RATES: &[Only] = &[("protocol.kind", &["uch-ccp", "uch-aimd"])];
pub(super) const CCP: &[Only] = &[("protocol.kind", &["uch-ccp"])];
pub(super) const AIMD: &[Only] = &[("protocol.kind", &["uch-aimd"])];
pub(super) const RING: &[Only] = &[
    ("protocol.kind", &["uch-ccp", "uch-aimd", "uch-dctcp"]),
    ("unicast.target_choice", &["ring"]),
];
pub(super) const CHOOSY_BIDS: &[Only] =
    &[("protocol.kind", &["replicast-m", "replicast-h"]), ("replicast.choosy", &["true"])];
pub(super) const CHOOSY_SEQUENCES: &[Only] =
    &[("protocol.kind", &["replicast-h"]), ("replicast.choosy", &["true"])];
pub(super) const PAPER_SEQUENCES: &[Only] =
    &[("protocol.kind", &["replicast-h"]), ("replicast.sequence", &["paper"])];
pub(super) const LONG_EXTENSIONS: &[Only] =
    &[("protocol.kind", &["replicast-h"]), ("replicast.idle_extension", &["two-transfers"])];
pub(super) const OPEN: &[Only] = &[("workload.load", &["open"])];
pub(super) const GETS: &[Only] = &[("workload.get_share", MORE_THAN_0)];
pub(super) const SLOW_DISKS: &[Only] = &[("faults.slow_disks", MORE_THAN_0)];
