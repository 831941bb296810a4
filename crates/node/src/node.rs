//! A node, as the rest of the program sees it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use crossbeam_channel::bounded;
use slotcast_member::{
    Holders, Links, Member, MemberConfig, QueueRule, TargetSetup, TargetStatus, Times,
    timing as network_timing,
};
use slotcast_protocol::{
    Backpressure, CalendarRules, Choosy, ChunkId, Delivery, DiskForecast, GetRules, GroupMap,
    IdleExtension, InitiatorConfig, InitiatorId, LayoutError, MAX_REPLICAS, OfferRule, PutRules,
    RepairRules, TargetConfig, TargetId, Timing, WindowRule,
    selection::{SequenceRule, Ties},
};
use slotcast_store::Content;
use slotcast_units::{Rate, Share, Size, Span, Time};
use tokio::sync::oneshot::{self, Receiver};

use crate::admission::{Opened as OpenedFolders, PlacedTarget, RegisteredTargets};
use crate::buffers::Buffers;
use crate::clock::Clock;
use crate::cluster::{MapSource, NodeFile, TargetFolder};
use crate::disk::{Disk, READERS, Report};
use crate::folder::{Folder, FolderError, Refusal};
use crate::journal::Journal;
use crate::label::{ClusterId, Seat};
use crate::limits::{Limits, Serving};
use crate::mailbox::Mailbox;
use crate::map_keeper::MapKeeper;
use crate::network::{Listener, MAX_CHUNK, Network, NetworkConfig, SocketCounters};
use crate::open_files::{self, Needs, OpenFiles, TooFewFiles};
use crate::reactor::{Event, GetResult, PutResult, Reactor, Recorded};
use crate::register::RegisterError;
use crate::status::Snapshot;

/// What a node needs to know.
#[derive(Debug, Clone)]
pub struct NodeConfig {
    /// Folders of its targets, in the order of their numbers.
    pub folders: Vec<PathBuf>,
    /// Where it keeps which target is in which folder. Without it a folder is taken for what its number says,
    /// and an empty one is formatted.
    pub register: Option<PathBuf>,
    /// Targets in a negotiating group.
    pub group_size: u32,
    /// Replicas of every chunk.
    pub replicas: u8,
    /// Size of a segment in bytes, for folders that are new.
    pub segment_size: u64,
    /// How fast its disks and links may be.
    pub limits: Limits,
}

/// The machines of a whole cluster, configured by somebody else: a simulation, for one.
#[derive(Debug, Clone)]
pub struct Machines {
    /// The negotiating groups.
    pub groups: GroupMap,
    /// Of each target, in the order of their numbers.
    pub targets: Vec<TargetConfig>,
    /// Of the initiator.
    pub initiator: InitiatorConfig,
}

/// How a node hosts machines.
#[derive(Debug, Clone)]
pub struct Hosting {
    /// Folders of its targets, in the order of their numbers.
    pub folders: Vec<PathBuf>,
    /// Size of a segment in bytes, for folders that are new.
    pub segment_size: u64,
    /// How fast its disks and links may be.
    pub limits: Limits,
    /// Disks with a limit of their own.
    pub disk_rates: BTreeMap<TargetId, Rate>,
    /// When targets ask to be waited for.
    pub queue: QueueRule,
    /// Keep what the machines hear and do, for [`Node::recorded`].
    pub records: bool,
    /// Whether targets walk over their chunks when something changed, as after the start. Walks read, and
    /// take a part of slow disks that somebody may want for something else.
    pub repairs: bool,
}

/// Why a node does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A folder cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The register of the targets cannot be used.
    #[error(transparent)]
    Register(#[from] RegisterError),
    /// The targets do not fit together.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// The system gives no threads.
    #[error("cannot start a thread: {0}")]
    Thread(#[from] io::Error),
    /// The process may not open as many files as its disks and clients need.
    #[error(transparent)]
    OpenFiles(#[from] TooFewFiles),
    /// The sockets of a cluster cannot be opened.
    #[error("cannot use UDP at {0}: {1}")]
    Network(SocketAddr, io::Error),
}

/// A running node. Dropping it stops it, after what was acknowledged is on disk.
#[derive(Debug)]
pub struct Node {
    pub(crate) mailbox: Mailbox,
    reactor: Option<JoinHandle<()>>,
    sockets: Option<Arc<SocketCounters>>,
    folders: BTreeMap<TargetId, (PathBuf, Option<Refusal>)>,
    keeper: Option<MapKeeper>,
    /// The lock of the register of its targets.
    _register: Option<File>,
    serving: Serving,
}

/// What the machines of a node are made of.
struct Parts<'a> {
    targets: Vec<(TargetId, &'a Path, TargetConfig)>,
    folders: Vec<Result<Folder, FolderError>>,
    register: Option<File>,
    groups: GroupMap,
    initiator: InitiatorConfig,
    first_serial: u32,
    segment_size: u64,
    limits: Limits,
    disk_rates: BTreeMap<TargetId, Rate>,
    queue: QueueRule,
    links: Option<Links>,
    files: OpenFiles,
    records: bool,
    repairs: bool,
    replicas: u8,
}

/// What the nodes of a cluster agree on.
#[derive(Clone, Copy)]
struct Agreed {
    timing: Timing,
    delivery: Delivery,
    replicas: u8,
    patience: Patience,
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
    Patience { answers: answer_timeout(trip), acks: Span::from_secs(3), rounds: 255 }
}

/// How long members on other nodes are waited for in a round.
fn answer_timeout(trip: Span) -> Span {
    (trip * 20).max(Span::from_ms(3))
}

/// A whole cluster in this process: control messages and chunks pass by reference, so the times of the
/// network are those of memory. Over limited links, 90 % are for chunks, as in the Replicast paper.
fn timing(link_rate: Option<Rate>) -> Timing {
    let memory = Rate::from_bytes_per_s(8_000_000_000);
    Timing {
        control: Span::from_ns(500),
        trip: Span::from_us(1),
        data_rate: link_rate.map_or(memory, |rate| rate.share(Share::from_percent(90)).min(memory)),
        frame: Size::from_kib(64),
    }
}

impl NodeConfig {
    /// Its targets, if there is a register of them.
    ///
    /// # Errors
    /// If there are too few for a group.
    pub fn registered_targets(&self) -> Result<Option<RegisteredTargets>, LayoutError> {
        let Some(register) = self.register.clone() else { return Ok(None) };
        let groups = self.groups()?;
        let targets = (0..).map(TargetId).zip(&self.folders);
        let targets = targets.map(|(target, folder)| placed(&groups, target, folder)).collect();
        Ok(Some(RegisteredTargets { register, cluster: None, targets }))
    }

    fn groups(&self) -> Result<GroupMap, LayoutError> {
        let count = u32::try_from(self.folders.len()).unwrap_or(u32::MAX);
        GroupMap::new(count, self.group_size, 1)
    }
}

impl NodeFile {
    /// Its targets.
    ///
    /// # Errors
    /// If there are too few for a group, or one has no seat.
    pub fn registered_targets(&self) -> Result<RegisteredTargets, LayoutError> {
        let groups = self.map.groups()?;
        let targets = self.targets.iter();
        Ok(RegisteredTargets {
            register: self.register.clone(),
            cluster: Some(ClusterId::of_key(&self.secret)),
            targets: targets.map(|of| placed(&groups, of.target, &of.folder)).collect(),
        })
    }
}

/// Divides the open files, before any is opened for good.
fn reserve_files(
    targets: usize,
    has_network: bool,
    limits: &Limits,
) -> Result<OpenFiles, TooFewFiles> {
    let connections = limits.connections.and_then(|n| usize::try_from(n).ok());
    OpenFiles::reserve(Needs { targets, has_network, connections })
}

fn placed(groups: &GroupMap, target: TargetId, folder: &Path) -> PlacedTarget {
    let (group, position) = groups.seat(target);
    PlacedTarget { target, folder: folder.to_path_buf(), seat: Seat { group, position } }
}

impl Node {
    /// Opens the folders and starts the machines; returns when every target is open, or known to be
    /// unusable.
    ///
    /// # Errors
    /// If no folder can be used, one is used by another process, the register cannot be used, or there are too
    /// few targets for a group.
    pub fn start(config: &NodeConfig) -> Result<Node, StartError> {
        let groups = config.groups()?;
        let files = reserve_files(config.folders.len(), false, &config.limits)?;
        let opened = config.registered_targets()?.map(|targets| targets.open(config.segment_size));
        let agreed = Agreed {
            timing: timing(config.limits.link_rate),
            delivery: Delivery::Multicast,
            replicas: config.replicas,
            patience: ALONE,
        };
        let first_rate = config.limits.disk_rate.unwrap_or(FIRST_DISK_RATE);
        let targets = (0..).map(TargetId).zip(&config.folders);
        let machines = Machines {
            targets: targets
                .map(|(target, _)| target_config(&agreed, &groups, target, first_rate))
                .collect(),
            initiator: initiator_config(&agreed, InitiatorId(0)),
            groups,
        };
        let hosting = Hosting {
            folders: config.folders.clone(),
            segment_size: config.segment_size,
            limits: config.limits,
            disk_rates: BTreeMap::new(),
            queue: QUEUE,
            records: false,
            repairs: true,
        };
        Node::host_in((files, opened.transpose()?), &hosting, machines)
    }

    /// Hosts the machines of a whole cluster in this process.
    ///
    /// # Errors
    /// If a folder cannot be used at all.
    ///
    /// # Panics
    /// If there are not as many folders as targets.
    pub fn host(hosting: &Hosting, machines: Machines) -> Result<Node, StartError> {
        let files = reserve_files(hosting.folders.len(), false, &hosting.limits)?;
        Node::host_in((files, None), hosting, machines)
    }

    fn host_in(
        (files, opened): (OpenFiles, Option<OpenedFolders>),
        hosting: &Hosting,
        machines: Machines,
    ) -> Result<Node, StartError> {
        let Machines { groups, targets, initiator } = machines;
        assert_eq!(hosting.folders.len(), targets.len(), "a folder for each target");
        let Timing { data_rate, trip, .. } = initiator.timing;
        let links = |rate| Links::new(rate, data_rate, trip, targets.len());
        let links = hosting.limits.link_rate.map(links);
        let replicas = initiator.put.replicas;
        let (folders, register) = match opened {
            Some(OpenedFolders { folders, register }) => (folders, Some(register)),
            None => {
                let open = |path: &PathBuf| Folder::open(path, hosting.segment_size);
                (hosting.folders.iter().map(open).collect(), None)
            }
        };
        let targets = (0..).zip(hosting.folders.iter().zip(targets));
        let parts = Parts {
            targets: targets.map(|(n, (path, config))| (TargetId(n), &**path, config)).collect(),
            folders,
            register,
            groups,
            initiator,
            first_serial: 0,
            segment_size: hosting.segment_size,
            limits: hosting.limits,
            disk_rates: hosting.disk_rates.clone(),
            queue: hosting.queue,
            links,
            files,
            records: hosting.records,
            repairs: hosting.repairs,
            replicas,
        };
        Node::run(Clock::start(), parts, None)
    }

    /// The same for one node of a cluster, which speaks with the others by UDP. It does not wait for them.
    ///
    /// # Errors
    /// As for [`Node::start`], or if the address is not to be had.
    pub fn join(file: &NodeFile, segment_size: u64) -> Result<Node, StartError> {
        Node::join_with(Clock::start_at_date(), file, segment_size)
    }

    fn join_with(clock: Clock, file: &NodeFile, segment_size: u64) -> Result<Node, StartError> {
        let map = &file.map;
        let groups = map.groups()?;
        let agreed = Agreed {
            timing: network_timing(map),
            delivery: map.delivery,
            replicas: map.replicas,
            patience: patience_in_cluster(map.trip),
        };
        let first_rate = file.limits.disk_rate.unwrap_or(FIRST_DISK_RATE);
        let targets = file.targets.iter().map(|TargetFolder { target, folder }| {
            (*target, folder.as_path(), target_config(&agreed, &groups, *target, first_rate))
        });
        let files = reserve_files(file.targets.len(), true, &file.limits)?;
        let OpenedFolders { folders, register } = file.registered_targets()?.open(segment_size)?;
        // In units of 65 microseconds since 1970, which wrap after three days: no incarnation of this node
        // begins where one before is still remembered.
        let first_serial = (clock.began().as_ns() >> 16) as u32;
        let parts = Parts {
            targets: targets.collect(),
            folders,
            register: Some(register),
            groups: groups.clone(),
            initiator: initiator_config(&agreed, InitiatorId(file.node)),
            first_serial,
            segment_size,
            limits: file.limits,
            disk_rates: BTreeMap::new(),
            queue: QUEUE,
            links: None,
            files,
            records: false,
            repairs: true,
            replicas: map.replicas,
        };
        Node::run(clock, parts, Some(file))
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
        mut parts: Parts<'_>,
        file: Option<&NodeFile>,
    ) -> Result<Node, StartError> {
        let files = parts.files;
        let serving = parts.limits.serving(files.connections);
        let mailbox = Mailbox::new(clock);
        let Opened { setups, disks, folders } = open_targets(&mut parts, &mailbox)?;
        let listener: Arc<dyn Listener> = Arc::new(mailbox.clone());
        let network = file.map(|file| {
            let config = NetworkConfig {
                map: &file.map,
                groups: &parts.groups,
                node: file.node,
                listen: file.listen,
                secret: &file.secret,
                clock,
                link_rate: file.limits.link_rate,
            };
            Network::start(&config, &listener)
                .map_err(|error| StartError::Network(file.listen, error))
        });
        let network = network.transpose()?;
        let sockets = network.as_ref().map(Network::counters);
        let Parts { groups, initiator, first_serial, links, repairs, register, .. } = parts;
        let config = MemberConfig {
            node: initiator.id.0,
            began: clock.began(),
            groups,
            times: Times::production(initiator.answer_timeout),
            initiator,
            first_serial,
            targets: setups,
            links,
            network: file.map(|file| slotcast_member::NetworkConfig {
                map: file.map.clone(),
                gone_after: file.gone_after,
                max_chunk: MAX_CHUNK,
            }),
            repairs,
            mistake: None,
        };
        let (open, opened) = bounded(1);
        let map_to_keep = Arc::default();
        let paths = folders.iter().map(|(target, (path, _))| (*target, path.clone()));
        let journal = Journal::new(paths.collect());
        let hands = (disks, network);
        let reactor = Reactor::new(clock, config, hands, journal, open, Arc::clone(&map_to_keep));
        let reactor = mailbox.start(reactor)?;
        let _ = opened.recv();
        let mut node = Node {
            mailbox,
            reactor: Some(reactor),
            sockets,
            folders,
            keeper: None,
            serving,
            _register: register,
        };
        if let Some(file) = file {
            node.keeper = Some(MapKeeper::start(file, node.mailbox.clone(), map_to_keep)?);
        }
        Ok(node)
    }

    /// How its HTTP connections are served.
    pub(crate) fn serving(&self) -> Serving {
        self.serving
    }

    /// Ends when one of its machines has panicked: it answers nothing any more.
    pub(crate) fn failed(&self) -> impl Future<Output = ()> + use<> {
        self.mailbox.failed()
    }

    /// Stores a chunk on as many targets as the cluster's number says; the result comes when it is on stable
    /// storage there.
    ///
    /// # Panics
    /// For an empty chunk.
    pub fn put(&self, content: Content) -> Receiver<PutResult> {
        self.put_on(content, None)
    }

    /// The same on so many targets, if the number is given. Of those for which the chunk is stored already the
    /// highest number stays.
    ///
    /// # Panics
    /// For an empty chunk, or a number that is not between 1 and 8.
    pub fn put_on(&self, content: Content, replicas: Option<u8>) -> Receiver<PutResult> {
        assert!(!content.bytes().is_empty(), "an empty chunk is never sent");
        let is_possible = |n: u8| (1..=MAX_REPLICAS).contains(&usize::from(n));
        assert!(replicas.is_none_or(is_possible), "between one and eight replicas");
        let (reply, result) = oneshot::channel();
        self.mailbox.put(Event::Put(content, replicas, reply));
        result
    }

    /// The most targets on which any chunk can be: failure domains of the smallest group, at most 8.
    pub fn most_replicas(&self) -> Receiver<usize> {
        self.look(|member, _| member.groups().most_replicas())
    }

    /// What `look` finds, when it is its turn.
    fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&mut Member, Time) -> T + Send + 'static,
    ) -> Receiver<T> {
        let (reply, result) = oneshot::channel();
        let look = move |member: &mut Member, now| drop(reply.send(look(member, now)));
        self.mailbox.put(Event::Look(Box::new(look)));
        result
    }

    /// Fetches a chunk.
    pub fn get(&self, chunk: ChunkId) -> Receiver<GetResult> {
        let (reply, result) = oneshot::channel();
        self.mailbox.put(Event::Get(chunk, reply));
        result
    }

    /// Which targets of the whole cluster hold a chunk, as far as they answer within 700 ms.
    pub fn holders(&self, chunk: ChunkId) -> Receiver<Holders> {
        let (reply, result) = oneshot::channel();
        self.mailbox.put(Event::Holders(chunk, reply));
        result
    }

    /// What its machines heard and did since this was last asked, if it records.
    pub fn recorded(&self) -> Receiver<Recorded> {
        self.look(|member, _| {
            let (targets, initiator) = member.take_tapes();
            Recorded { targets, initiator }
        })
    }

    /// How its targets are.
    pub fn status(&self) -> Receiver<Vec<TargetStatus>> {
        self.look(|member, now| member.target_status(now))
    }

    /// How its link to the other nodes is; none of a cluster in one process.
    pub(crate) fn network(&self) -> Receiver<Option<Snapshot>> {
        let (sockets, source) = (self.sockets.clone(), self.map_source().map(MapSource::to_string));
        let problem = self.keeper.as_ref().and_then(MapKeeper::problem);
        self.look(move |member, now| {
            let (link, membership) = (member.link()?, member.membership_status()?);
            Some(Snapshot {
                node: member.node(),
                peers: link.peers(now),
                counters: link.counters(),
                sockets: sockets?,
                source: source.unwrap_or_default(),
                problem: problem.or_else(|| membership.problem.clone()),
                membership,
            })
        })
    }

    /// The folder of a target, and why it is not taken for it, if that is so.
    pub(crate) fn folder(&self, target: TargetId) -> Option<&(PathBuf, Option<Refusal>)> {
        self.folders.get(&target)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // Its thread notices that soon, and is not waited for.
        drop(self.keeper.take());
        self.mailbox.stop();
        if let Some(reactor) = self.reactor.take() {
            let _ = reactor.join();
            tracing::info!("stopped");
        }
    }
}

/// What a disk is taken for until it has been measured.
const FIRST_DISK_RATE: Rate = Rate::from_bytes_per_s(400 << 20);

/// A target asks initiators to wait when its disk is behind by so much: some batches of a fast disk, and not
/// so long that a slow one makes everybody wait who stores there.
const QUEUE: QueueRule = QueueRule { time: Span::from_ms(50), most: Size::from_mib(32) };

/// For how long a request is tried that too few members are available for: longer than a member is taken for
/// silent that is only busy, and so short that a client hears of it within a second.
const REFUSE_AFTER: Span = Span::from_ms(700);

/// How long after its window an accepted transfer may come, and how long a bid is kept.
const GRACE: Span = Span::from_secs(10);
const HOLD: Span = Span::from_ms(200);
const HORIZON: Span = Span::from_secs(10);

/// Of a disk, for all targets on it. What is missing is written at about the pace at which it is read, so that
/// healing takes about half of the disks' time, and a scrub a tenth.
const REPAIR: RepairRules = RepairRules {
    at_once: 4,
    heal_share: Share::from_percent(25),
    scrub_share: Share::from_percent(10),
    least_pause: Span::from_ms(5),
    most_pause: Span::from_secs(30),
    period: Span::from_secs(7 * 24 * 3600),
    scrub_period: Span::from_secs(7 * 24 * 3600),
    first_scrub: Span::from_secs(24 * 3600),
    retry: Span::from_secs(30),
};

/// The rules for one of `targets` on the same device.
fn repair_rules(targets: u32) -> RepairRules {
    let part = |share: Share| Share::from_ppm(share.as_ppm() / targets.max(1));
    let (heal_share, scrub_share) = (part(REPAIR.heal_share), part(REPAIR.scrub_share));
    RepairRules { heal_share, scrub_share, ..REPAIR }
}

/// The device that a folder is on, or will be on when it has been made.
fn device(folder: &Path) -> Option<u64> {
    let there = folder.ancestors().find_map(|path| std::fs::metadata(path).ok());
    there.map(|metadata| metadata.dev())
}

/// Targets with their disks.
struct Opened {
    setups: Vec<TargetSetup>,
    disks: BTreeMap<TargetId, Disk>,
    folders: BTreeMap<TargetId, (PathBuf, Option<Refusal>)>,
}

/// Starts the disks of all targets. A node goes on with those whose folders can be used; without any there is
/// most likely a slip in what it was told.
fn open_targets(parts: &mut Parts<'_>, mailbox: &Mailbox) -> Result<Opened, StartError> {
    let buffers = Arc::default();
    let mut opened =
        Opened { setups: Vec::new(), disks: BTreeMap::new(), folders: BTreeMap::new() };
    let mut unusable = Vec::new();
    let devices: Vec<_> = parts.targets.iter().map(|(_, path, _)| device(path)).collect();
    let folders = std::mem::take(&mut parts.folders);
    for (((id, path, config), own), folder) in parts.targets.iter().zip(&devices).zip(folders) {
        let on_device = devices.iter().filter(|device| *device == own).count();
        let rules = repair_rules(u32::try_from(on_device).unwrap_or(u32::MAX));
        let (store, disk, error) = open_disk((*id, path, folder), parts, mailbox, &buffers)?;
        opened.setups.push(TargetSetup {
            id: *id,
            target: config.clone(),
            store,
            repair: rules,
            queue: Some(parts.queue),
            records: parts.records,
        });
        opened.disks.insert(*id, disk);
        let refusal = match &error {
            Some(FolderError::Refused(refusal)) => Some((**refusal).clone()),
            _ => None,
        };
        opened.folders.insert(*id, (path.to_path_buf(), refusal));
        unusable.extend(error);
    }
    if unusable.len() == opened.setups.len()
        && let Some(error) = unusable.into_iter().next()
    {
        return Err(error.into());
    }
    Ok(opened)
}

/// The disk of a target, and what its store is told: or if the folder cannot be used, one that fails, and why.
fn open_disk(
    (id, path, folder): (TargetId, &Path, Result<Folder, FolderError>),
    parts: &Parts<'_>,
    mailbox: &Mailbox,
    buffers: &Arc<Buffers>,
) -> Result<(slotcast_store::Config, Disk, Option<FolderError>), StartError> {
    let mailbox = mailbox.clone();
    let report: Report = Arc::new(move |op, result| mailbox.put(Event::Disk(id, op, result)));
    let rate = parts.disk_rates.get(&id).copied().or(parts.limits.disk_rate);
    let max_open = parts.files.segment_files;
    let error = match folder {
        Ok(folder) => {
            let store = slotcast_store::Config { replicas: parts.replicas, ..folder.config() };
            let disk = Disk::start(folder, READERS, buffers.clone(), max_open, rate, &report)?;
            return Ok((store, disk, None));
        }
        Err(error @ FolderError::Locked(_)) => return Err(error.into()),
        Err(error) => error,
    };
    // The system is out of something: no fault of the folder, and there at another start.
    if let FolderError::Io { error: cause, .. } = &error
        && open_files::is_shortage(cause)
    {
        return Err(error.into());
    }
    tracing::error!(target = id.0, folder = %path.display(), cause = %error, "folder unusable");
    let store = slotcast_store::Config {
        segment_size: parts.segment_size,
        replicas: parts.replicas,
        ..slotcast_store::Config::new(slotcast_store::Identity([0; 32]))
    };
    Ok((store, Disk::unusable(&error, report), Some(error)))
}

fn target_config(
    agreed: &Agreed,
    groups: &GroupMap,
    id: TargetId,
    disk_rate: Rate,
) -> TargetConfig {
    let (group, position) = groups.seat(id);
    TargetConfig {
        group,
        position,
        timing: agreed.timing,
        window_rule: WindowRule::published(agreed.delivery),
        idle_extension: IdleExtension::TwoTransfers,
        calendar: CalendarRules {
            offer: OfferRule::FirstFit,
            gap: Span::ZERO,
            grace: GRACE,
            expected: agreed.timing.trip,
            hold: HOLD,
            horizon: HORIZON,
            capacity: 256,
        },
        // The limit of the queue follows the measured rate.
        disk: DiskForecast::new(disk_rate, QUEUE.most, Backpressure::KeepRoom),
    }
}

fn initiator_config(agreed: &Agreed, id: InitiatorId) -> InitiatorConfig {
    let Agreed { timing, delivery, replicas, patience } = *agreed;
    InitiatorConfig {
        id,
        timing,
        put: PutRules {
            replicas,
            window_rule: WindowRule::published(delivery),
            // A flush takes longer than everything else, and in one process all windows start at once.
            ties: Ties::ByBacklog,
            sequence: SequenceRule::revised(&timing),
            double_booking: false,
            proxied: false,
            consecutive_only: false,
            abandon_without_window: false,
            choosy: Some(Choosy { first_patience: timing.round_trip() * 3 }),
        },
        get: GetRules { window_rule: WindowRule::published(Delivery::Unicast) },
        answer_timeout: patience.answers,
        ack_timeout: patience.acks,
        max_rounds: patience.rounds,
        refuse_after: Some(REFUSE_AFTER),
        horizon: HORIZON,
    }
}

#[cfg(test)]
mod tests;
