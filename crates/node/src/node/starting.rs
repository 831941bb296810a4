//! How a node starts.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, OnceLock};

use crossbeam_channel::bounded;
use slotcast_member::identity::{Layout, Seat};
use slotcast_member::{CollectionRules, Links, MemberConfig, NamesConfig, QueueRule, Rules, Times};
use slotcast_object::Rosters;
use slotcast_protocol::{GroupMap, InitiatorConfig, LayoutError, TargetConfig, TargetId, Timing};
use slotcast_transport::Versions;
use slotcast_units::{Rate, Size};

use super::Node;
use super::opening::{Opened, open_targets};
use crate::admission::{Opened as OpenedFolders, PlacedTarget, RegisteredTargets};
use crate::browsers::HostNames;
use crate::clock::Clock;
use crate::cluster::{NodeFile, TargetFolder};
use crate::folder::{Folder, FolderError};
use crate::journal::Journal;
use crate::limits::Limits;
use crate::mailbox::Mailbox;
use crate::map_keeper::MapKeeper;
use crate::network::{Listener, MAX_CHUNK, Network, NetworkConfig};
use crate::open_files::{Needs, OpenFiles, TooFewFiles};
use crate::reactor::{Hands, Reactor};
use crate::register::RegisterError;
use crate::rosters::{self, RostersError};

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

#[cfg(test)]
impl NodeConfig {
    /// Three targets in folders under `base`, which are a group, and two replicas.
    pub(crate) fn of_three(base: &Path) -> NodeConfig {
        NodeConfig {
            register: Some(base.join("targets.toml")),
            folders: (0..3).map(|n| base.join(n.to_string())).collect(),
            group_size: 3,
            replicas: 2,
            segment_size: 1 << 20,
            limits: Limits::default(),
        }
    }
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
    /// Whether targets scan their chunks when something changed, as after the start. Scans read, and
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
    /// Who votes on names cannot be read.
    #[error(transparent)]
    Rosters(#[from] RostersError),
    /// The sockets of a cluster cannot be opened.
    #[error("cannot use UDP at {0}: {1}")]
    Network(SocketAddr, io::Error),
}

/// What the machines of a node are made of.
pub(super) struct Parts<'a> {
    pub(super) targets: Vec<(TargetId, &'a Path, TargetConfig)>,
    pub(super) folders: Vec<Result<Folder, FolderError>>,
    pub(super) register: Option<File>,
    pub(super) groups: GroupMap,
    pub(super) initiator: InitiatorConfig,
    pub(super) first_serial: u32,
    pub(super) segment_size: u64,
    pub(super) limits: Limits,
    pub(super) disk_rates: BTreeMap<TargetId, Rate>,
    pub(super) rules: Rules,
    pub(super) links: Option<Links>,
    pub(super) files: OpenFiles,
    pub(super) records: bool,
    /// Whether all that its member hears and does is kept.
    is_taped: bool,
    pub(super) repairs: bool,
    /// Bytes of content that its targets keep in memory.
    cache_memory: u64,
    /// Where it is kept who votes on names; none of a node without names.
    names: Option<Voting>,
}

/// Where it is kept who votes on names.
enum Voting {
    /// In a file of a cluster in one process.
    File(PathBuf),
    /// In the cluster map.
    Map,
}

impl Parts<'_> {
    /// Whether its targets keep names.
    pub(super) fn has_names(&self) -> bool {
        self.names.is_some()
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
        let digest = groups.digest(&[], |_| 0);
        let layout = Layout { epoch: 0, groups: groups.groups(), digest };
        Ok(Some(RegisteredTargets { register, cluster: None, layout, targets }))
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
            cluster: Some(self.keys.id().clone()),
            layout: Layout {
                epoch: self.map.epoch,
                groups: groups.groups(),
                digest: self.map.digest()?,
            },
            targets: targets.map(|of| placed(&groups, of.target, &of.folder)).collect(),
        })
    }
}

/// Divides the open files, before any is opened for good.
fn reserve_files(
    targets: usize,
    (has_names, has_network): (bool, bool),
    limits: &Limits,
) -> Result<OpenFiles, TooFewFiles> {
    let connections = limits.connections.and_then(|n| usize::try_from(n).ok());
    OpenFiles::reserve(Needs { targets, has_names, has_network, connections })
}

/// How it keeps names, and the file of who votes, of a cluster in one process.
fn names_config(parts: &Parts<'_>) -> Result<(Option<NamesConfig>, Option<PathBuf>), StartError> {
    let Some(voting) = &parts.names else { return Ok((None, None)) };
    let (rosters, file) = match voting {
        Voting::File(path) => (rosters::read(path, parts.groups.groups())?, Some(path.clone())),
        Voting::Map => (Rosters::default(), None),
    };
    let mut salt = [0; 8];
    getrandom::fill(&mut salt).map_err(|error| StartError::Thread(io::Error::other(error)))?;
    let times = parts.rules.names();
    let every = parts.limits.collect_every.or(CollectionRules::PRODUCTION.every);
    let collection = CollectionRules { every, ..CollectionRules::PRODUCTION };
    let salt = u64::from_le_bytes(salt);
    Ok((Some(NamesConfig { times, salt, rosters, collection }), file))
}

fn placed(groups: &GroupMap, target: TargetId, folder: &Path) -> PlacedTarget {
    let (group, position) = groups.seat(target);
    PlacedTarget { target, folder: folder.to_path_buf(), seat: Seat { group, position } }
}

impl Node {
    /// Opens the folders and starts the machines; returns when every target is open, or known to be
    /// unusable, or its disk has not answered for ten seconds.
    ///
    /// # Errors
    /// If no folder can be used, one is used by another process, the register cannot be used, or there are too
    /// few targets for a group.
    pub fn start(config: &NodeConfig) -> Result<Node, StartError> {
        let groups = config.groups()?;
        let has_names = config.register.is_some();
        let files = reserve_files(config.folders.len(), (has_names, false), &config.limits)?;
        let opened = config.registered_targets()?.map(|targets| targets.open(config.segment_size));
        let rules = Rules::of_process(config.limits.link_rate, config.replicas);
        let targets = (0..).map(TargetId).zip(&config.folders);
        let target = |(id, _)| rules.target(&groups, id, config.limits.disk_rate);
        let machines = Machines {
            targets: targets.map(target).collect(),
            initiator: rules.initiator(0),
            groups,
        };
        let hosting = Hosting {
            folders: config.folders.clone(),
            segment_size: config.segment_size,
            limits: Limits {
                cache_memory: Some(Size::from_bytes(config.limits.cache_memory())),
                ..config.limits
            },
            disk_rates: BTreeMap::new(),
            queue: rules.queue,
            records: false,
            repairs: true,
        };
        let names =
            config.register.as_deref().map(|register| Voting::File(rosters::beside(register)));
        Node::host_in((files, opened.transpose()?, names), &hosting, machines)
    }

    /// Hosts the machines of a whole cluster in this process.
    ///
    /// # Errors
    /// If a folder cannot be used at all.
    ///
    /// # Panics
    /// If there are not as many folders as targets.
    pub fn host(hosting: &Hosting, machines: Machines) -> Result<Node, StartError> {
        let files = reserve_files(hosting.folders.len(), (false, false), &hosting.limits)?;
        Node::host_in((files, None, None), hosting, machines)
    }

    fn host_in(
        (files, opened, names): (OpenFiles, Option<OpenedFolders>, Option<Voting>),
        hosting: &Hosting,
        machines: Machines,
    ) -> Result<Node, StartError> {
        let Machines { groups, targets, initiator } = machines;
        assert_eq!(hosting.folders.len(), targets.len(), "a folder for each target");
        let Timing { data_rate, trip, .. } = initiator.timing;
        let links = |rate| Links::new(rate, data_rate, trip, targets.len());
        let links = hosting.limits.link_rate.map(links);
        let rules = Rules {
            queue: hosting.queue,
            times: Times::production(initiator.answer_timeout),
            ..Rules::of_process(hosting.limits.link_rate, initiator.put.replicas)
        };
        let (folders, register) = match opened {
            Some(OpenedFolders { folders, register }) => (folders, Some(register)),
            None => {
                let open = |path: &PathBuf| Folder::open(path, hosting.segment_size);
                (hosting.folders.iter().map(open).collect(), None)
            }
        };
        let cache_memory = hosting.limits.cache_memory.map_or(0, Size::as_bytes);
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
            rules,
            links,
            files,
            records: hosting.records,
            is_taped: false,
            repairs: hosting.repairs,
            cache_memory,
            names,
        };
        Node::run(Clock::start(), parts, None)
    }

    /// The same for one node of a cluster, which speaks with the others by UDP. It does not wait for them.
    ///
    /// # Errors
    /// As for [`Node::start`], or if the address is not to be had.
    pub fn join(file: &NodeFile, segment_size: u64) -> Result<Node, StartError> {
        Node::join_with(Clock::start_at_date(), file, segment_size, false)
    }

    /// The same, and all that its member hears and does is kept, for [`Node::tape`]. That takes memory without bound.
    ///
    /// # Errors
    /// As for [`Node::join`].
    pub fn join_taped(file: &NodeFile, segment_size: u64) -> Result<Node, StartError> {
        Node::join_with(Clock::start_at_date(), file, segment_size, true)
    }

    pub(super) fn join_with(
        clock: Clock,
        file: &NodeFile,
        segment_size: u64,
        is_taped: bool,
    ) -> Result<Node, StartError> {
        let map = &file.map;
        let groups = map.groups()?;
        let rules = Rules::of_cluster(map);
        let targets = file.targets.iter().map(|TargetFolder { target, folder }| {
            (*target, folder.as_path(), rules.target(&groups, *target, file.limits.disk_rate))
        });
        let files = reserve_files(file.targets.len(), (true, true), &file.limits)?;
        let OpenedFolders { folders, register } = file.registered_targets()?.open(segment_size)?;
        // In units of 65 microseconds since 1970, which wrap after three days: no incarnation of this node
        // begins where one before is still remembered.
        let first_serial = (clock.began().as_ns() >> 16) as u32;
        let parts = Parts {
            targets: targets.collect(),
            folders,
            register: Some(register),
            initiator: rules.initiator(file.node),
            groups: groups.clone(),
            first_serial,
            segment_size,
            limits: file.limits,
            disk_rates: BTreeMap::new(),
            rules,
            links: None,
            files,
            records: false,
            is_taped,
            repairs: true,
            cache_memory: file.limits.cache_memory(),
            names: Some(Voting::Map),
        };
        Node::run(clock, parts, Some(file))
    }

    fn run(
        clock: Clock,
        mut parts: Parts<'_>,
        file: Option<&NodeFile>,
    ) -> Result<Node, StartError> {
        let (files, is_taped) = (parts.files, parts.is_taped);
        let serving = parts.limits.serving(files.connections);
        let mailbox = Mailbox::new(clock);
        let Opened { setups, disks, rows, folders } = open_targets(&mut parts, &mailbox)?;
        let (names, rosters) = names_config(&parts)?;
        let listener: Arc<dyn Listener> = Arc::new(mailbox.clone());
        let network = file.map(|file| {
            let config = NetworkConfig {
                map: &file.map,
                groups: &parts.groups,
                node: file.node,
                listen: file.listen,
                keys: &file.keys,
                key_file: Some(&file.key_file),
                encryption: file.encryption,
                clock,
                link_rate: file.limits.link_rate,
            };
            Network::start(&config, &listener)
                .map_err(|error| StartError::Network(file.listen, error))
        });
        let network = network.transpose()?;
        let sockets = network.as_ref().map(Network::counters);
        let Parts { groups, initiator, first_serial, links, repairs, register, rules, .. } = parts;
        let cache_memory = parts.cache_memory;
        let config = MemberConfig {
            node: initiator.id.0,
            began: clock.began(),
            groups,
            times: rules.times,
            initiator,
            first_serial,
            targets: setups,
            links,
            network: file.map(|file| slotcast_member::NetworkConfig {
                map: file.map.clone(),
                gone_after: file.gone_after,
                max_chunk: MAX_CHUNK,
                versions: Versions::ALL,
            }),
            names,
            repairs,
            cache_memory,
            mistake: None,
        };
        let (open, opened) = bounded(1);
        let map_to_keep = Arc::default();
        let paths = folders.iter().map(|(target, (path, _))| (*target, path.clone()));
        let journal = Journal::new(paths.collect());
        let hands = Hands { disks, rows, rosters, network };
        let reactor =
            Reactor::new(clock, (config, is_taped), hands, journal, open, Arc::clone(&map_to_keep));
        let reactor = mailbox.start(reactor)?;
        let _ = opened.recv();
        let mut node = Node {
            mailbox,
            reactor: Some(reactor),
            sockets,
            folders,
            keeper: None,
            serving,
            uploads: AtomicU64::new(0),
            host_names: HostNames::new(&[]),
            believed: Mutex::default(),
            master_keys: OnceLock::new(),
            notifications: OnceLock::new(),
            _register: register,
        };
        if let Some(file) = file {
            node.keeper = Some(MapKeeper::start(file, node.mailbox.clone(), map_to_keep)?);
        }
        Ok(node)
    }
}
