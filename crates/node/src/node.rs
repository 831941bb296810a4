//! A node, as the rest of the program sees it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use crossbeam_channel::{Sender, bounded, unbounded};
use slotcast_protocol::{
    Backpressure, CalendarRules, Choosy, ChunkId, Delivery, DiskForecast, GetRules, GroupMap,
    IdleExtension, Initiator, InitiatorConfig, InitiatorId, LayoutError, OfferRule, PutRules,
    TargetConfig, TargetId, Timing, WindowRule, selection::SequenceRule,
};
use slotcast_store::Content;
use slotcast_units::{Rate, Size, Span};
use tokio::sync::oneshot::{self, Receiver};

use crate::clock::Clock;
use crate::disk::{Disk, Report};
use crate::folder::{Folder, FolderError};
use crate::reactor::{Event, GetResult, PutResult, Reactor, TargetStatus};
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
}

/// A running node. Dropping it stops it, after what was acknowledged is on disk.
#[derive(Debug)]
pub struct Node {
    events: Sender<Event>,
    reactor: Option<JoinHandle<()>>,
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
        let clock = Clock::start();
        let count = u32::try_from(config.folders.len()).unwrap_or(u32::MAX);
        let groups = GroupMap::new(count, config.group_size, 1)?;
        let (events, inbox) = unbounded();
        let timing = timing();
        let mut targets = Vec::new();
        for (number, path) in (0..).zip(&config.folders) {
            targets.push(open_target(TargetId(number), path, config, &groups, timing, &events)?);
        }
        let initiator = Initiator::new(initiator_config(config, timing));
        let (tell, opened) = bounded(1);
        let reactor = Reactor::new(clock, inbox, groups, targets, initiator, tell);
        let reactor = thread::Builder::new().name("reactor".into()).spawn(|| reactor.run())?;
        let _ = opened.recv();
        Ok(Node { events, reactor: Some(reactor) })
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

const ANSWER_TIMEOUT: Span = Span::from_ms(50);
const ACK_TIMEOUT: Span = Span::from_secs(10);
const HORIZON: Span = Span::from_secs(10);

fn open_target(
    id: TargetId,
    path: &Path,
    config: &NodeConfig,
    groups: &GroupMap,
    timing: Timing,
    events: &Sender<Event>,
) -> Result<TargetHost, StartError> {
    let folder = Folder::open(path, config.segment_size)?;
    let store = folder.config();
    let events = events.clone();
    let report: Report = Arc::new(move |op, result| {
        let _ = events.send(Event::Disk(id, op, result));
    });
    let disk = Disk::start(folder, 2, &report)?;
    let (group, position) = groups.seat(id);
    let target = TargetConfig {
        group,
        position,
        timing,
        window_rule: WindowRule::published(Delivery::Multicast),
        idle_extension: IdleExtension::TwoTransfers,
        calendar: CalendarRules {
            offer: OfferRule::FirstFit,
            gap: Span::ZERO,
            grace: ACK_TIMEOUT,
            hold: ANSWER_TIMEOUT * 4,
            horizon: HORIZON,
            capacity: 256,
        },
        disk: DiskForecast::new(FIRST_DISK_RATE, QUEUE_LIMIT, Backpressure::KeepRoom),
    };
    Ok(TargetHost::new(id, path.to_path_buf(), target, store, disk))
}

fn initiator_config(config: &NodeConfig, timing: Timing) -> InitiatorConfig {
    InitiatorConfig {
        id: InitiatorId(0),
        timing,
        put: PutRules {
            replicas: config.replicas,
            window_rule: WindowRule::published(Delivery::Multicast),
            sequence: SequenceRule::revised(&timing),
            double_booking: false,
            proxied: false,
            consecutive_only: false,
            abandon_without_window: false,
            choosy: Some(Choosy { first_patience: timing.round_trip() * 3 }),
        },
        get: GetRules { window_rule: WindowRule::published(Delivery::Unicast) },
        answer_timeout: ANSWER_TIMEOUT,
        ack_timeout: ACK_TIMEOUT,
        max_rounds: 32,
        horizon: HORIZON,
    }
}
