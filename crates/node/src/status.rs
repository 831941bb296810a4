//! How a node is, as people and programs read it.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use slotcast_member::map::name_of;
use slotcast_member::{CacheStatistics, Counters, MembershipStatus, PeerStatus, TargetStatus};
use slotcast_protocol::Membership;
use slotcast_store::{DiskError, StoreStatus};
use slotcast_units::{Rate, Span};

use crate::folder::Refusal;
use crate::network::{SocketCounters, all_counters, by_key, refusals};
use crate::node::Node;
pub use crate::notifications::{NotificationStatus, WebhookStatus};
pub use crate::operations::{OperationCounts, RequestCounts};

/// How a node's link to the others was at a moment.
#[derive(Debug, Clone)]
pub(crate) struct Snapshot {
    pub(crate) node: u32,
    pub(crate) peers: Vec<PeerStatus>,
    pub(crate) counters: Counters,
    pub(crate) sockets: Arc<SocketCounters>,
    pub(crate) membership: MembershipStatus,
    /// Where the map is kept.
    pub(crate) source: String,
    /// Why the newest map is not known or not followed.
    pub(crate) problem: Option<String>,
}

/// Voters on the names of a group at a moment.
#[derive(Debug, Clone)]
pub(crate) struct Quorum {
    pub(crate) group: u32,
    pub(crate) voters: usize,
    /// Those whose node is heard, and whose target has not failed as far as this node knows.
    pub(crate) heard: usize,
    /// Whether they are enough.
    pub(crate) is_quorum: bool,
}

/// One node.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NodeStatus {
    /// Version of the program.
    pub version: String,
    /// Chunks that have too few replicas, as far as the targets of all nodes know: each counts for every target that knows it
    /// to be short. None while one of them has still to look, does not serve, or is not heard.
    #[serde(default)]
    pub under_replicated_chunks: Option<u64>,
    /// Its targets, in order.
    pub targets: Vec<Target>,
    /// Content that they keep in memory together.
    #[serde(default)]
    pub cache: Cache,
    /// Whom it tells what happens to objects; none of a node without webhooks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notifications: Option<NotificationStatus>,
    /// Puts and gets over HTTP, of all clients of this node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<RequestCounts>,
    /// Its part in a cluster of several processes; none of one in one process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkStatus>,
}

/// Content in the memory of a node.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Cache {
    /// Bytes at present.
    pub bytes: u64,
    /// Gets of chunks from the targets here that were answered from memory, since the start.
    pub hits: u64,
    /// Gets for which a disk was read.
    pub misses: u64,
}

/// The other nodes, and what was said to them and heard.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NetworkStatus {
    /// The node's number.
    pub node: u32,
    /// Version of its cluster map.
    pub epoch: u32,
    /// How the node stands to its cluster map.
    #[serde(default)]
    pub map: MapStatus,
    /// The other nodes of the map.
    pub peers: Vec<Peer>,
    /// Datagrams, pieces and chunks since the start, by what became of them.
    pub counters: BTreeMap<String, u64>,
    /// Datagrams that came and were dropped, by reason.
    pub refused: BTreeMap<String, u64>,
    /// Keys of the cluster that the node knows, that which it sends with first.
    #[serde(default)]
    pub keys: Vec<KeyStatus>,
}

/// A key of the cluster.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct KeyStatus {
    /// Its number.
    pub number: u32,
    /// Datagrams with it that were believed since the start.
    pub heard: u64,
}

/// How a node stands to its cluster map.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct MapStatus {
    /// The file, or where in etcd.
    pub source: String,
    /// What the node is in it: `joining`, `active`, `draining` or `drained`.
    pub state: String,
    /// Whether a node that leaves has nothing that others do not hold in the wanted number.
    pub may_be_stopped: bool,
    /// Why the newest map is not known or not taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// Another node.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Peer {
    /// Its number.
    pub node: u32,
    /// Its address.
    pub address: String,
    /// `up` if it is heard, or `down`.
    pub state: String,
    /// Why it is not believed if it is heard: `layout` or `version`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// The same in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What to do about that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
    /// The version of datagrams in which both speak, if it is known.
    #[serde(default)]
    pub version: Option<u8>,
    /// By how many nanoseconds its clock is ahead of this node's.
    pub clock_ahead_ns: Option<i64>,
    /// By how many that may be wrong.
    pub clock_doubt_ns: Option<u64>,
    /// Its negotiating groups that this node's multicast reaches.
    pub multicast_groups: u32,
}

/// The states in which a target can be.
pub(crate) const TARGET_STATES: [&str; 6] =
    ["open", "full", "read-only", "gone", "opening", "failed"];

/// One target.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Target {
    /// Its number.
    pub target: u32,
    /// Its folder.
    pub folder: String,
    /// `open`, `full`, `read-only`, `gone`, `opening` or `failed`.
    pub state: String,
    /// Why it is not open, if it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What its folder should hold, if it holds something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// What to do about that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
    /// Chunks that it holds.
    pub chunks: u64,
    /// Their content in bytes.
    pub content_bytes: u64,
    /// Bytes of removed chunks that await compaction.
    pub void_bytes: u64,
    /// Its segments.
    pub segments: u32,
    /// Chunks whose content turned out to be wrong since the start, and then.
    pub lost_chunks: u64,
    /// Chunks that the disk could not read when that was last tried: they do not count as stored here.
    pub unreadable_chunks: u64,
    /// Segments that could not be read at the start.
    pub unreadable_segments: u32,
    /// Segments that compaction has freed since the start.
    pub compacted_segments: u64,
    /// Batches that were flushed since the start.
    pub flushed_batches: u64,
    /// Windows that it has promised or bid, in and out.
    pub windows: u32,
    /// Chunks that wait for its disk or are there.
    pub chunks_at_disk: u32,
    /// Content that came in since the start.
    pub received_bytes: u64,
    /// Content that went out since the start.
    pub sent_bytes: u64,
    /// Nanoseconds since the start in which its disk had something to do for a request.
    pub disk_busy_ns: u64,
    /// Bytes per second that its disk puts on stable storage, once that was measured.
    #[serde(default)]
    pub disk_rate_bytes_per_s: Option<u64>,
    /// Bytes per second at which chunks come in over its link, once that was measured.
    #[serde(default)]
    pub link_rate_bytes_per_s: Option<u64>,
    /// Bytes that are free on its file system, if that can be told.
    pub free_bytes: Option<u64>,
    /// Bytes of its file system, if that can be told.
    #[serde(default)]
    pub capacity_bytes: Option<u64>,
    /// A number of its file system: targets with the same one share what is free. None if that cannot be told.
    #[serde(default)]
    pub file_system: Option<u64>,
    /// What it does so that its chunks have all their replicas.
    #[serde(default)]
    pub repair: Repair,
}

/// The repair of one target.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Repair {
    /// Chunks known to have too few replicas at present.
    pub under_replicated_chunks: u64,
    /// Chunks that had too few, and have enough now, since the start.
    pub healed_chunks: u64,
    /// Attempts that failed since the start.
    pub failed_attempts: u64,
    /// Chunks visited since the start, each once in every scan.
    pub visited_chunks: u64,
    /// Scans of all chunks that have ended since the start; `walks` in the first version of this answer.
    #[serde(rename = "walks")]
    pub scans: u64,
    /// Chunks that scrubs have read since the start, each once in every scrub.
    #[serde(default)]
    pub scrubbed_chunks: u64,
    /// Scrubs that have ended since the start.
    #[serde(default)]
    pub scrubs: u64,
    /// The scan under way, if one is.
    #[serde(rename = "walk", default, skip_serializing_if = "Option::is_none")]
    pub scan: Option<Scan>,
    /// The scrub under way, if one is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scrub: Option<Scrub>,
}

/// A scrub: all chunks of a target are read.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Scrub {
    /// Chunks read in it.
    pub read_chunks: u64,
    /// Seconds that it will still take at its pace of late; unknown at first.
    pub remaining_seconds: Option<f64>,
}

/// A scan of all chunks of a target.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Scan {
    /// Chunks visited in it.
    pub visited_chunks: u64,
    /// Chunks healed in it, per second of late.
    pub healed_per_second: f64,
    /// Seconds that it will still take at its pace of late; unknown at first.
    pub remaining_seconds: Option<f64>,
}

impl NodeStatus {
    /// Of `node`; none if it has stopped.
    pub async fn of(node: &Node) -> Option<NodeStatus> {
        let targets = node.status().await.ok()?;
        let network = node.network().await.ok()?;
        let under_replicated_chunks = node.under_replicated().await.ok()?;
        let CacheStatistics { bytes, hits, misses } = node.cache().await.ok()?;
        Some(NodeStatus {
            cache: Cache { bytes, hits, misses },
            version: env!("CARGO_PKG_VERSION").into(),
            under_replicated_chunks,
            targets: targets.iter().map(|of| Target::new(of, node.folder(of.target))).collect(),
            notifications: node
                .notifications()
                .map(|notifications| notifications.status())
                .filter(|status| !status.webhooks.is_empty()),
            requests: None,
            network: network.map(NetworkStatus::new),
        })
    }
}

impl NetworkStatus {
    fn new(snapshot: Snapshot) -> NetworkStatus {
        let owned = |(name, value): (&str, u64)| (name.to_owned(), value);
        let peer = |peer: PeerStatus| Peer {
            node: peer.node,
            address: peer.address.to_string(),
            state: if peer.is_up { "up" } else { "down" }.into(),
            refused: peer.refusal.map(|refusal| refusal.reason().into()),
            reason: peer.refusal.map(|refusal| refusal.to_string()),
            remedy: peer.refusal.map(|refusal| refusal.remedy()),
            version: peer.version,
            clock_ahead_ns: peer.clock.map(|(ahead, _)| ahead),
            clock_doubt_ns: peer.clock.map(|(_, doubt)| doubt.as_ns()),
            multicast_groups: peer.multicast_groups,
        };
        let Snapshot { node, peers, counters, sockets, membership, .. } = snapshot;
        let map = MapStatus {
            source: snapshot.source,
            state: name_of(membership.membership).into(),
            may_be_stopped: membership.membership == Membership::Drained
                || membership.has_handed_over,
            problem: snapshot.problem,
        };
        NetworkStatus {
            map,
            node,
            epoch: membership.epoch,
            peers: peers.into_iter().map(peer).collect(),
            counters: all_counters(&sockets, &counters).map(owned).into(),
            refused: refusals(&sockets, &counters).map(owned).into(),
            keys: by_key(&sockets)
                .into_iter()
                .map(|(number, heard)| KeyStatus { number, heard })
                .collect(),
        }
    }
}

impl Target {
    fn new(status: &TargetStatus, folder: Option<&(PathBuf, Option<Refusal>)>) -> Target {
        let path = folder.map_or(Path::new(""), |(path, _)| path);
        let (state, reason) = match status.store {
            StoreStatus::Opening => ("opening", None),
            StoreStatus::Open => ("open", None),
            StoreStatus::Full => ("full", None),
            StoreStatus::ReadOnly(error @ DiskError::Gone) => ("gone", Some(error.to_string())),
            StoreStatus::ReadOnly(error) => ("read-only", Some(error.to_string())),
            StoreStatus::Failed(error) => ("failed", Some(error.to_string())),
        };
        let (numbers, room) = (&status.statistics, room(path));
        let refusal = folder.and_then(|(_, refusal)| refusal.as_ref());
        Target {
            target: status.target.0,
            folder: path.display().to_string(),
            state: state.into(),
            reason: refusal.map(|refusal| refusal.found.clone()).or(reason),
            expected: refusal.map(|refusal| refusal.expected.clone()),
            remedy: refusal.map(|refusal| refusal.remedy.clone()),
            chunks: numbers.chunks,
            content_bytes: numbers.content_bytes,
            void_bytes: numbers.void_bytes,
            segments: numbers.segments,
            lost_chunks: numbers.lost,
            unreadable_chunks: numbers.unreadable_chunks,
            unreadable_segments: numbers.unreadable_segments,
            compacted_segments: numbers.compacted,
            flushed_batches: numbers.batches,
            windows: status.load.windows,
            chunks_at_disk: status.load.at_disk,
            received_bytes: status.load.received_bytes,
            sent_bytes: status.load.sent_bytes,
            disk_busy_ns: status.load.disk_busy.as_ns(),
            disk_rate_bytes_per_s: status.load.disk_rate.map(bytes_per_s),
            link_rate_bytes_per_s: status.load.link_rate.map(bytes_per_s),
            free_bytes: room.map(|(free, _)| free),
            capacity_bytes: room.map(|(_, all)| all),
            file_system: std::fs::metadata(path).ok().map(|of| of.dev()),
            repair: Repair::new(status),
        }
    }
}

impl Repair {
    fn new(status: &TargetStatus) -> Repair {
        let numbers = &status.repair;
        let seconds = |span: Span| span.as_ns() as f64 / 1e9;
        let held = status.statistics.chunks;
        let scan = status.scan.map(|scan| {
            let (healed, time) = (scan.pace.healed as f64, seconds(scan.pace.span));
            Scan {
                visited_chunks: scan.visited,
                healed_per_second: if time > 0.0 { healed / time } else { 0.0 },
                remaining_seconds: scan.remaining(held).map(seconds),
            }
        });
        let scrub = status.scrub.map(|scrub| Scrub {
            read_chunks: scrub.visited,
            remaining_seconds: scrub.remaining(held).map(seconds),
        });
        Repair {
            under_replicated_chunks: numbers.under_replicated,
            healed_chunks: numbers.healed,
            failed_attempts: numbers.failed,
            visited_chunks: numbers.visited,
            scans: numbers.scans,
            scrubbed_chunks: numbers.scrubbed,
            scrubs: numbers.scrubs,
            scan,
            scrub,
        }
    }
}

fn bytes_per_s(rate: Rate) -> u64 {
    rate.as_bps() / 8
}

/// What an ordinary user may still write there, and how large the file system is.
fn room(folder: &Path) -> Option<(u64, u64)> {
    let file_system = rustix::fs::statvfs(folder).ok()?;
    let bytes = |blocks: u64| blocks.saturating_mul(file_system.f_frsize);
    Some((bytes(file_system.f_bavail), bytes(file_system.f_blocks)))
}
