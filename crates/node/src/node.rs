//! A node, as the rest of the program sees it.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use crossbeam_channel::{Sender, bounded, unbounded};
use slotcast_protocol::{
    Backpressure, CalendarRules, Choosy, ChunkId, Delivery, DiskForecast, GetRules, GroupMap,
    IdleExtension, Initiator, InitiatorConfig, InitiatorId, LayoutError, Membership, OfferRule,
    PutRules, Repair, RepairRules, TargetConfig, TargetId, Timing, WindowRule,
    selection::SequenceRule,
};
use slotcast_store::Content;
use slotcast_units::{Rate, Size, Span};
use tokio::sync::oneshot::{self, Receiver};

use crate::buffers::Buffers;
use crate::clock::Clock;
use crate::cluster::{MapSource, NodeFile};
use crate::disk::{Disk, Report};
use crate::folder::{Folder, FolderError};
use crate::map_keeper::MapKeeper;
use crate::network::{Network, NetworkConfig, Shared, timing as network_timing};
use crate::reactor::{Event, GetResult, PutResult, Reactor, TargetStatus};
use crate::remote::Remote;
use crate::target::TargetHost;

/// What a node needs to know.
#[derive(Debug, Clone)]
pub struct NodeConfig {
    /// Folders of its targets, in the order of their numbers.
    pub folders: Vec<PathBuf>,
    /// Targets in a negotiating group.
    pub group_size: u32,
    /// Replicas of every chunk.
    pub replicas: u8,
    /// Size of a segment in bytes, for folders that are new.
    pub segment_size: u64,
}

/// Why a node does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A folder cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The targets do not fit together.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// The system gives no threads.
    #[error("cannot start a thread: {0}")]
    Thread(#[from] io::Error),
    /// The sockets of a cluster cannot be opened.
    #[error("cannot use UDP at {0}: {1}")]
    Network(SocketAddr, io::Error),
}

/// A running node. Dropping it stops it, after what was acknowledged is on disk.
#[derive(Debug)]
pub struct Node {
    events: Sender<Event>,
    reactor: Option<JoinHandle<()>>,
    network: Option<Arc<Shared>>,
    keeper: Option<MapKeeper>,
}

/// What the machines of a node are made of.
struct Parts<'a> {
    targets: Vec<(TargetId, &'a Path)>,
    groups: GroupMap,
    timing: Timing,
    delivery: Delivery,
    replicas: u8,
    segment_size: u64,
    initiator: InitiatorId,
    first_serial: u32,
    patience: Patience,
    membership: Membership,
}

/// How long an initiator waits, and how often it asks.
#[derive(Clone, Copy)]
struct Patience {
    answers: Span,
    acks: Span,
    rounds: u8,
}

/// Where nothing is lost and nobody is away.
const ALONE: Patience =
    Patience { answers: Span::from_ms(50), acks: Span::from_secs(10), rounds: 32 };

/// In a cluster a member may be silent, and while it is waited for, the windows that the others have bid
/// pass. So answers are not awaited for long, and more rounds are asked.
fn patience_in_cluster(trip: Span) -> Patience {
    let answers = (trip * 20).max(Span::from_ms(3));
    Patience { answers, acks: Span::from_secs(3), rounds: 255 }
}

/// A whole cluster in this process: control messages and chunks pass by reference, so the times of the
/// network are those of memory.
fn timing() -> Timing {
    Timing {
        control: Span::from_ns(500),
        trip: Span::from_us(1),
        data_rate: Rate::from_bytes_per_s(8_000_000_000),
        frame: Size::from_kib(64),
    }
}

impl Node {
    /// Opens the folders and starts the machines; returns when every target is open, or known to be
    /// unusable.
    ///
    /// # Errors
    /// If a folder cannot be used at all, or there are too few for a group.
    pub fn start(config: &NodeConfig) -> Result<Node, StartError> {
        let count = u32::try_from(config.folders.len()).unwrap_or(u32::MAX);
        let parts = Parts {
            targets: (0..).map(TargetId).zip(config.folders.iter().map(PathBuf::as_path)).collect(),
            groups: GroupMap::new(count, config.group_size, 1)?,
            timing: timing(),
            delivery: Delivery::Multicast,
            replicas: config.replicas,
            segment_size: config.segment_size,
            initiator: InitiatorId(0),
            first_serial: 0,
            patience: ALONE,
            membership: Membership::Active,
        };
        Node::run(Clock::start(), parts, |_| Ok(None))
    }

    /// The same for one node of a cluster, which speaks with the others by UDP. It does not wait for them.
    ///
    /// # Errors
    /// If a folder cannot be used at all, or the address is not to be had.
    pub fn join(file: &NodeFile, segment_size: u64) -> Result<Node, StartError> {
        Node::join_with(Clock::start_at_date(), file, segment_size)
    }

    fn join_with(clock: Clock, file: &NodeFile, segment_size: u64) -> Result<Node, StartError> {
        let map = &file.map;
        let folders = file.targets.iter().map(|target| (target.target, target.folder.as_path()));
        let groups = map.groups()?;
        let parts = Parts {
            targets: folders.collect(),
            groups: groups.clone(),
            timing: network_timing(map),
            delivery: map.delivery,
            replicas: map.replicas,
            segment_size,
            initiator: InitiatorId(file.node),
            // In units of 65 microseconds since 1970, which wrap after three days: no life of this node
            // begins where one before is still remembered.
            first_serial: (clock.began().as_ns() >> 16) as u32,
            patience: patience_in_cluster(map.trip),
            membership: map.node(file.node).map_or(Membership::Active, |node| node.membership),
        };
        let mut node = Node::run(clock, parts, |events| {
            let config = NetworkConfig {
                map,
                groups: &groups,
                node: file.node,
                listen: file.listen,
                secret: &file.secret,
                clock,
            };
            let network = Network::start(&config, events);
            let network = network.map_err(|error| StartError::Network(file.listen, error))?;
            let times = (patience_in_cluster(map.trip).answers, file.gone_after);
            let nodes = map.node_of_targets();
            Ok(Some(Remote::new(file.node, network, &groups, &nodes, times)))
        })?;
        if let Some(shared) = &node.network {
            node.keeper = Some(MapKeeper::start(file, shared.clone(), node.events.clone())?);
        }
        Ok(node)
    }

    /// Reads the file of the cluster map again, and takes it if that is possible.
    pub(crate) fn read_map_again(&self) {
        if let Some(keeper) = &self.keeper {
            keeper.read_again();
        }
    }

    /// Where its cluster map is kept; none of a cluster in one process.
    pub(crate) fn map_source(&self) -> Option<&MapSource> {
        self.keeper.as_ref().map(MapKeeper::source)
    }

    fn run(
        clock: Clock,
        parts: Parts<'_>,
        network: impl FnOnce(&Sender<Event>) -> Result<Option<Remote>, StartError>,
    ) -> Result<Node, StartError> {
        let (events, inbox) = unbounded();
        let buffers = Arc::default();
        let mut targets = Vec::new();
        for (target, path) in &parts.targets {
            targets.push(open_target(*target, path, &parts, clock, &events, &buffers)?);
        }
        let initiator = Initiator::new(initiator_config(&parts)).counting_from(parts.first_serial);
        let (tell, opened) = bounded(1);
        let remote = network(&events)?.map(Box::new);
        let shared = remote.as_ref().map(|remote| remote.shared().clone());
        let reactor = Reactor::new(clock, inbox, parts.groups, targets, initiator, tell, remote);
        let reactor = thread::Builder::new().name("reactor".into()).spawn(|| reactor.run())?;
        let _ = opened.recv();
        Ok(Node { events, reactor: Some(reactor), network: shared, keeper: None })
    }

    /// Its network; none of a cluster in one process.
    pub(crate) fn network(&self) -> Option<&Shared> {
        self.network.as_deref()
    }

    /// Stores a chunk; the result comes when it is on stable storage at enough targets.
    ///
    /// # Panics
    /// For an empty chunk.
    pub fn put(&self, content: Content) -> Receiver<PutResult> {
        assert!(!content.bytes().is_empty(), "an empty chunk is never sent");
        let (reply, result) = oneshot::channel();
        let _ = self.events.send(Event::Put(content, reply));
        result
    }

    /// Fetches a chunk.
    pub fn get(&self, chunk: ChunkId) -> Receiver<GetResult> {
        let (reply, result) = oneshot::channel();
        let _ = self.events.send(Event::Get(chunk, reply));
        result
    }

    /// Which targets of this node hold a chunk.
    pub fn holders(&self, chunk: ChunkId) -> Receiver<Vec<TargetId>> {
        let (reply, result) = oneshot::channel();
        let _ = self.events.send(Event::Holders(chunk, reply));
        result
    }

    /// How its targets are.
    pub fn status(&self) -> Receiver<Vec<TargetStatus>> {
        let (reply, result) = oneshot::channel();
        let _ = self.events.send(Event::Status(reply));
        result
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // Its thread notices that soon, and is not waited for.
        drop(self.keeper.take());
        let _ = self.events.send(Event::Stop);
        if let Some(reactor) = self.reactor.take() {
            let _ = reactor.join();
        }
    }
}

/// What a disk is taken for until it has been measured.
const FIRST_DISK_RATE: Rate = Rate::from_bytes_per_s(400 << 20);

/// Backlog from which a target asks initiators to wait: a few batches.
const QUEUE_LIMIT: Size = Size::from_mib(32);

/// How long after its window an accepted transfer may come, and how long a bid is kept.
const GRACE: Span = Span::from_secs(10);
const HOLD: Span = Span::from_ms(200);
const HORIZON: Span = Span::from_secs(10);

/// A chunk of 1 MiB every 10 ms is 100 MiB/s of reads at a target: a quarter of a slow disk.
const REPAIR: RepairRules = RepairRules {
    at_once: 4,
    pause: Span::from_ms(10),
    period: Span::from_secs(7 * 24 * 3600),
    retry: Span::from_secs(30),
};

fn open_target(
    id: TargetId,
    path: &Path,
    parts: &Parts<'_>,
    clock: Clock,
    events: &Sender<Event>,
    buffers: &Arc<Buffers>,
) -> Result<TargetHost, StartError> {
    let folder = Folder::open(path, parts.segment_size)?;
    let store = folder.config();
    let events = events.clone();
    let report: Report = Arc::new(move |op, result| {
        let _ = events.send(Event::Disk(id, op, result));
    });
    let disk = Disk::start(folder, 2, buffers.clone(), &report)?;
    let (group, position) = parts.groups.seat(id);
    let target = TargetConfig {
        group,
        position,
        timing: parts.timing,
        window_rule: WindowRule::published(parts.delivery),
        idle_extension: IdleExtension::TwoTransfers,
        calendar: CalendarRules {
            offer: OfferRule::FirstFit,
            gap: Span::ZERO,
            grace: GRACE,
            hold: HOLD,
            horizon: HORIZON,
            capacity: 256,
        },
        disk: DiskForecast::new(FIRST_DISK_RATE, QUEUE_LIMIT, Backpressure::KeepRoom),
    };
    let repair = Repair::new(REPAIR, position, parts.groups.members(group).len());
    let repair = (repair, parts.membership);
    Ok(TargetHost::new(clock.now(), id, path.to_path_buf(), target, store, disk, repair))
}

fn initiator_config(parts: &Parts<'_>) -> InitiatorConfig {
    let timing = parts.timing;
    InitiatorConfig {
        id: parts.initiator,
        timing,
        put: PutRules {
            replicas: parts.replicas,
            window_rule: WindowRule::published(parts.delivery),
            sequence: SequenceRule::revised(&timing),
            double_booking: false,
            proxied: false,
            consecutive_only: false,
            abandon_without_window: false,
            choosy: Some(Choosy { first_patience: timing.round_trip() * 3 }),
        },
        get: GetRules { window_rule: WindowRule::published(Delivery::Unicast) },
        answer_timeout: parts.patience.answers,
        ack_timeout: parts.patience.acks,
        max_rounds: parts.patience.rounds,
        horizon: HORIZON,
    }
}

#[cfg(test)]
mod tests;
