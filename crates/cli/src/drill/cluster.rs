//! The cluster of a drill: etcd and five nodes of three folders each, processes on this machine.

use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use slotcast_lab::InputError;
use slotcast_node::cluster::{ClusterMap, MapSource};
use slotcast_node::status::NodeStatus;

use super::asker::{Ask, Asker};
use super::process::{Process, without_settings};
use super::soak::Sample;
use super::trouble::Trouble;
use crate::failure::Failure;
use crate::output::file_failed;

/// Nodes of a drill.
pub(super) const NODES: u32 = 5;

/// Folders of each, a target in each of them.
pub(super) const TARGETS_PER_NODE: u32 = 3;

/// Members of a negotiating group: one of each node.
const GROUP_SIZE: u32 = 5;

/// Ports below those that the system gives to whoever asks for any.
const PORTS: std::ops::Range<u16> = 12_000..32_000;

/// How long to wait between two looks.
const PAUSE: Duration = Duration::from_millis(50);

/// Why drills need etcd, and where it is.
const NO_ETCD: &str =
    "Debian has it in the package etcd-server, others at etcd.io: put `etcd` into the path";

/// A node of the cluster.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) number: u32,
    /// The files of a node have the number of its host, which is never used again.
    host: u32,
    /// Of its datagrams, and of its HTTP.
    port: u16,
    pub(super) targets: Vec<u32>,
    process: Option<Process>,
}

/// All processes of a drill, and their files.
#[derive(Debug)]
pub(super) struct Cluster {
    folder: PathBuf,
    program: PathBuf,
    /// For clients, and for members that it has none of.
    etcd_ports: [u16; 2],
    etcd: Option<Process>,
    /// How many hosts there were.
    hosts: u32,
    /// Those of the cluster map.
    nodes: Vec<Node>,
    asker: Arc<Asker>,
    patience: Duration,
}

/// Refuses a machine without etcd.
pub(super) fn must_have_etcd() -> Result<(), Box<InputError>> {
    let mut asked = Command::new("etcd");
    asked.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match asked.status() {
        Ok(_) => Ok(()),
        Err(error) => {
            let message =
                format!("a drill keeps its cluster map in etcd, which cannot be started: {error}");
            Err(InputError::plain(message).with_help(Some(NO_ETCD.into())))
        }
    }
}

/// A port of the loopback that nobody has, for datagrams and connections, and none of `taken`.
fn free_port(taken: &[u16]) -> Result<u16, Box<InputError>> {
    // Drills beside each other begin at different places.
    let begin = u16::try_from(std::process::id() % 1200).unwrap_or(0) * 16;
    let length = PORTS.end - PORTS.start;
    let mut all = (0..length).map(|n| PORTS.start + (begin + n) % length);
    let is_free = |port: &u16| {
        !taken.contains(port)
            && TcpListener::bind(("127.0.0.1", *port)).is_ok()
            && UdpSocket::bind(("127.0.0.1", *port)).is_ok()
    };
    all.find(is_free).ok_or_else(|| InputError::plain("no port of the loopback is free"))
}

fn new_file(path: &Path, text: &str, mode: u32) -> Result<(), Failure> {
    let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path);
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| file_failed(path, error))
}

impl Cluster {
    /// Starts etcd and all nodes, with their files in `folder`, and waits until they serve.
    ///
    /// # Errors
    /// If they do not in `patience`, or cannot be started.
    pub(super) fn start(
        folder: &Path,
        asker: Arc<Asker>,
        patience: Duration,
    ) -> Result<Cluster, Trouble> {
        let program = std::env::current_exe().map_err(|error| {
            Failure::from(InputError::plain(format!("this program is not found: {error}")))
        })?;
        let mut ports = Vec::new();
        for _ in 0..NODES + 2 {
            ports.push(free_port(&ports).map_err(Failure::from)?);
        }
        let (etcd_ports, ports) = ([ports[0], ports[1]], &ports[2..]);
        let mut cluster = Cluster {
            folder: folder.to_owned(),
            program,
            etcd_ports,
            etcd: None,
            hosts: 0,
            nodes: Vec::new(),
            asker,
            patience,
        };
        let mut map =
            format!("epoch = 1\nreplicas = 3\ngroup_size = {GROUP_SIZE}\ndata_rate = \"2Gbps\"\n");
        for (number, port) in (0..NODES).zip(ports) {
            let first = number * TARGETS_PER_NODE;
            let targets: Vec<u32> = (first..first + TARGETS_PER_NODE).collect();
            // Writing to a string does not fail.
            let _ = write!(
                map,
                "\n[[node]]\nnumber = {number}\naddress = \"127.0.0.1:{port}\"\ntargets = {targets:?}\n"
            );
            cluster.add(number, *port, targets)?;
        }
        new_file(&folder.join("cluster.toml"), &map, 0o644)?;
        let key = cluster.command(&["key"])?;
        new_file(&folder.join("cluster.key"), &key, 0o600)?;
        cluster.start_etcd()?;
        let file = folder.join("cluster.toml").display().to_string();
        let source = cluster.map_address();
        cluster.command(&["cluster", "init", &file, "--map", &source])?;
        (0..cluster.nodes.len()).try_for_each(|place| cluster.start_node(place))?;
        cluster.wait_until_whole()?;
        Ok(cluster)
    }

    /// Where the map is.
    fn map_address(&self) -> String {
        format!("etcd://127.0.0.1:{}/slotcast/drill", self.etcd_ports[0])
    }

    fn file_of(&self, node: &Node, what: &str) -> PathBuf {
        self.folder.join(format!("host-{}.{what}", node.host))
    }

    pub(super) fn folder_of(&self, target: u32) -> PathBuf {
        self.folder.join(format!("target-{target:03}"))
    }

    pub(super) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Writes the file of a node that is in the map.
    fn add(&mut self, number: u32, port: u16, targets: Vec<u32>) -> Result<(), Trouble> {
        let mut file = format!(
            "name = \"node {number}\"\nnode = {number}\nhttp = \"127.0.0.1:{port}\"\ncluster = \"{}\"\nkey = \"cluster.key\"\ncollect_every = \"1min\"\n",
            self.map_address()
        );
        for target in &targets {
            let folder = format!("target-{target:03}");
            let _ = write!(file, "\n[[target]]\nnumber = {target}\nfolder = \"{folder}\"\n");
        }
        let node = Node { number, host: self.hosts, port, targets, process: None };
        self.hosts += 1;
        new_file(&self.file_of(&node, "toml"), &file, 0o644)?;
        self.nodes.push(node);
        Ok(())
    }

    fn start_etcd(&mut self) -> Result<(), Trouble> {
        let [client, peer] = self.etcd_ports.map(|port| format!("http://127.0.0.1:{port}"));
        let data = self.folder.join("etcd").display().to_string();
        let cluster = format!("default={peer}");
        let arguments = [
            ("--data-dir", &data),
            ("--listen-client-urls", &client),
            ("--advertise-client-urls", &client),
            ("--listen-peer-urls", &peer),
            ("--initial-advertise-peer-urls", &peer),
            ("--initial-cluster", &cluster),
        ];
        let arguments = arguments.iter().flat_map(|(option, value)| [*option, &value[..]]);
        let log = self.folder.join("etcd.log");
        let started = Process::start(Path::new("etcd"), arguments, &log);
        self.etcd = Some(started.map_err(|error| file_failed(&log, error))?);
        let port = self.etcd_ports[0];
        let health = Ask::get("/health");
        self.wait("etcd answers", |cluster| {
            let answer = cluster.asker.once(port, &health).ok();
            Ok(answer.is_some_and(|answer| answer.status == 200).then_some(()))
        })
    }

    /// Starts the node at this place of the list, and waits for nothing.
    fn start_node(&mut self, place: usize) -> Result<(), Trouble> {
        let node = &self.nodes[place];
        let config = self.file_of(node, "toml").display().to_string();
        let log = self.file_of(node, "log");
        let arguments = ["serve", "--s3", "off", "--config", &config];
        let started = Process::start(&self.program, arguments, &log);
        let started = started.map_err(|error| file_failed(&log, error))?;
        self.nodes[place].process = Some(started);
        self.asker.set_nodes(self.nodes.iter().map(|node| node.port).collect());
        Ok(())
    }

    /// Runs a command of this program; gives what it says.
    pub(super) fn command(&self, arguments: &[&str]) -> Result<String, Trouble> {
        let output = without_settings(&mut Command::new(&self.program))
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| Failure::Output(self.program.display().to_string(), error))?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        match output.status.success() {
            true => Ok(text(&output.stdout) + "\n"),
            // A process that is started without a group of its own is stopped by Ctrl-C, too.
            false if self.asker.is_stopped() => Err(Trouble::Interrupted),
            false => {
                let command = arguments.join(" ");
                let error = text(&output.stderr);
                Err(Trouble::Stuck(format!("slotcast {command}: {}: {error}", output.status)))
            }
        }
    }

    /// Waits until `holds` gives something.
    ///
    /// # Errors
    /// If it does not in time, the drill is stopped, or a process has ended that should run.
    pub(super) fn wait<T>(
        &mut self,
        what: &str,
        holds: impl Fn(&Cluster) -> Result<Option<T>, Trouble>,
    ) -> Result<T, Trouble> {
        let since = Instant::now();
        loop {
            if self.asker.is_stopped() {
                return Err(Trouble::Interrupted);
            }
            self.must_run()?;
            if let Some(found) = holds(self)? {
                return Ok(found);
            }
            if since.elapsed() > self.patience {
                let patience = self.patience.as_secs();
                return Err(Trouble::Stuck(format!("not within {patience} s: {what}")));
            }
            sleep(PAUSE);
        }
    }

    /// Whether all processes run that were started and not killed.
    pub(super) fn must_run(&mut self) -> Result<(), Trouble> {
        let etcd = self.etcd.as_mut().map(|process| ("etcd".to_owned(), process));
        let nodes = self
            .nodes
            .iter_mut()
            .filter_map(|node| Some((format!("node {}", node.number), node.process.as_mut()?)));
        for (name, process) in etcd.into_iter().chain(nodes) {
            if let Some(why) = process.ended() {
                return Err(Trouble::Stuck(format!("{name} has ended by itself, {why}")));
            }
        }
        Ok(())
    }

    /// Waits until all nodes of the map serve with all their targets, hear each other, and nothing is left to repair.
    pub(super) fn wait_until_whole(&mut self) -> Result<(), Trouble> {
        let since = Instant::now();
        self.wait("the cluster is whole", |cluster| {
            let lacks = cluster.nodes.iter().find_map(|node| cluster.lack(node));
            match lacks {
                None => Ok(Some(())),
                // What is missing is told, and not only that something is.
                Some(lacks) if since.elapsed() + PAUSE * 4 > cluster.patience => {
                    let patience = cluster.patience.as_secs();
                    Err(Trouble::Stuck(format!("not whole again within {patience} s: {lacks}")))
                }
                Some(_) => Ok(None),
            }
        })
    }

    /// What a node lacks so that the next fault can be borne.
    fn lack(&self, node: &Node) -> Option<String> {
        let told = |what: String| Some(format!("node {}: {what}", node.number));
        let status = self.asker.once(node.port, &Ask::get("/v1/status"));
        let status: NodeStatus = match status.and_then(|answer| answer.json()) {
            Ok(status) => status,
            Err(error) => return told(error),
        };
        if let Some(target) = status.targets.iter().find(|target| target.state != "open") {
            return told(format!("target {} is {}", target.target, target.state));
        }
        let Some(network) = status.network else { return told("it has no peers".into()) };
        let up = network.peers.iter().filter(|peer| peer.state == "up").count();
        if up + 1 != self.nodes.len() || network.peers.len() != up {
            return told(format!("it hears {up} of {} others", self.nodes.len() - 1));
        }
        if network.map.state != "active" {
            return told(format!("it is {}", network.map.state));
        }
        match status.under_replicated_chunks {
            Some(0) => {}
            Some(count) => return told(format!("{count} chunks have too few replicas")),
            None => return told("whether chunks have too few replicas is not known".into()),
        }
        let metrics = self.asker.once(node.port, &Ask::get("/metrics"));
        let text = metrics.map(|answer| String::from_utf8_lossy(&answer.body).into_owned());
        match text {
            Ok(text) => voters_lack(&text).and_then(told),
            Err(error) => told(error),
        }
    }

    /// The cluster map.
    fn map(&self) -> Result<ClusterMap, Trouble> {
        let address = self.map_address();
        let source = MapSource::parse(&address, Path::new(""));
        let source = source.map_err(|error| Trouble::Stuck(format!("{address} {error}")))?;
        let found = source.load().map_err(crate::node::cluster::wrong_file);
        Ok(found.map_err(Failure::from)?.map)
    }

    /// Frees what was deleted: otherwise each round has more to repair than the one before.
    pub(super) fn collect_garbage(&self) -> Result<(), Trouble> {
        let Some(node) = self.nodes.first() else { return Ok(()) };
        let (node, patience) = (format!("127.0.0.1:{}", node.port), self.patience.as_secs());
        let timeout = format!("{}s", patience.max(1));
        self.command(&["gc", "run", "--timeout", &timeout, "--node", &node]).map(drop)
    }

    /// Kills node `number`, and takes it out of the map.
    pub(super) fn lose_node(&mut self, number: u32) -> Result<(), Trouble> {
        // It is no node of ours any more, and killed by being dropped.
        let Some(place) = self.nodes.iter().position(|node| node.number == number) else {
            return Ok(());
        };
        drop(self.nodes.remove(place));
        self.asker.set_nodes(self.nodes.iter().map(|node| node.port).collect());
        let (node, map) = (number.to_string(), self.map_address());
        self.command(&["cluster", "remove", &node, "--lost", "--map", &map]).map(drop)
    }

    /// Lets a new node join in place of one that was lost, whose folders are removed.
    pub(super) fn replace_node(&mut self, lost: &[u32]) -> Result<(), Trouble> {
        for target in lost {
            let folder = self.folder_of(*target);
            fs::remove_dir_all(&folder).map_err(|error| file_failed(&folder, error))?;
        }
        let taken = self.nodes.iter().map(|node| node.port).chain(self.etcd_ports);
        let port = free_port(&taken.collect::<Vec<_>>()).map_err(Failure::from)?;
        let (address, targets) = (format!("127.0.0.1:{port}"), TARGETS_PER_NODE.to_string());
        let map = self.map_address();
        let arguments = ["--address", &address, "--targets", &targets, "--map", &map];
        self.command(&[&["cluster", "join"], &arguments[..]].concat())?;
        let map = self.map()?;
        let node = map.nodes.iter().find(|node| node.address.port() == port);
        let node = node.ok_or_else(|| Trouble::Stuck(format!("{address} is not in the map")))?;
        let targets = node.targets.iter().map(|target| target.0).collect();
        self.add(node.number, port, targets)?;
        self.start_node(self.nodes.len() - 1)
    }

    /// Takes away the folder of a target while its node runs; when the node knows, stops it, replaces the target, and starts
    /// the node.
    pub(super) fn lose_folder(&mut self, number: u32, target: u32) -> Result<(), Trouble> {
        let Some(place) = self.nodes.iter().position(|node| node.number == number) else {
            return Ok(());
        };
        let (folder, away) = (self.folder_of(target), self.folder.join("taken-away"));
        let moved = fs::rename(&folder, &away).and_then(|()| fs::remove_dir_all(&away));
        moved.map_err(|error| file_failed(&folder, error))?;
        let port = self.nodes[place].port;
        let what = format!("node {number} says that target {target} is gone");
        self.wait(&what, |cluster| {
            let status = cluster.asker.once(port, &Ask::get("/v1/status"));
            let status = status.and_then(|answer| answer.json::<NodeStatus>());
            let is_gone = |status: NodeStatus| {
                let mut targets = status.targets.into_iter();
                targets.any(|of| of.target == target && of.state != "open")
            };
            Ok(status.is_ok_and(is_gone).then_some(()))
        })?;
        if let Some(process) = self.nodes[place].process.take() {
            process.stop();
        }
        let config = self.file_of(&self.nodes[place], "toml").display().to_string();
        let target = target.to_string();
        self.command(&["target", "replace", "--config", &config, "--target", &target])?;
        self.start_node(place)
    }

    /// What all nodes have in hand at present.
    ///
    /// # Errors
    /// If the system or a node does not say.
    pub(super) fn in_hand(&self) -> Result<Sample, Trouble> {
        let mut sum = Sample::default();
        for node in &self.nodes {
            let Some(process) = &node.process else { continue };
            let [memory, files, threads] = process.in_hand().map_err(|error| {
                Trouble::Stuck(format!("what node {} has in hand: {error}", node.number))
            })?;
            let [replicas, segments] = self.stored(node).map_err(Trouble::Stuck)?;
            sum.memory_bytes += memory;
            sum.open_files += files;
            sum.threads += threads;
            sum.replicas += replicas;
            sum.segments += segments;
        }
        Ok(sum)
    }

    /// Chunks and segments of the targets of a node.
    fn stored(&self, node: &Node) -> Result<[u64; 2], String> {
        let status = self.asker.once(node.port, &Ask::get("/v1/status"))?;
        let targets = status.json::<NodeStatus>()?.targets;
        let chunks = targets.iter().map(|target| target.chunks).sum();
        Ok([chunks, targets.iter().map(|target| u64::from(target.segments)).sum()])
    }

    /// Waits until all targets hold so many chunks together; gives how many they hold if they do not in time.
    pub(super) fn settles_at(&mut self, count: u64) -> Result<u64, Trouble> {
        let since = Instant::now();
        self.wait("all targets say what they hold", |cluster| {
            let stored = cluster.nodes.iter().map(|node| cluster.stored(node).map(|of| of[0]));
            let held = stored.sum::<Result<u64, String>>();
            let is_last = since.elapsed() + PAUSE * 4 > cluster.patience;
            Ok(held.ok().filter(|held| *held == count || is_last))
        })
    }

    /// Kills all processes, etcd too, and starts them again.
    pub(super) fn lose_power(&mut self) -> Result<(), Trouble> {
        // All are killed before one is waited for.
        let nodes = self.nodes.iter_mut().filter_map(|node| node.process.take());
        let mut all: Vec<Process> = nodes.chain(self.etcd.take()).collect();
        all.iter_mut().for_each(Process::kill);
        drop(all);
        self.start_etcd()?;
        (0..self.nodes.len()).try_for_each(|place| self.start_node(place))
    }
}

/// What the voters lack, as the metrics of a node say.
fn voters_lack(metrics: &str) -> Option<String> {
    let values = |name: &str| -> Vec<u32> {
        let begin = format!("slotcast_{name}{{");
        let lines = metrics.lines().filter(|line| line.starts_with(&begin));
        lines.filter_map(|line| line.rsplit(' ').next()?.parse().ok()).collect()
    };
    let (voters, heard) = (values("names_voters"), values("names_voters_heard"));
    let groups = (NODES * TARGETS_PER_NODE / GROUP_SIZE) as usize;
    let is_whole = |of: &[u32]| of.len() == groups && of.iter().all(|count| *count == NODES);
    match is_whole(&voters) && is_whole(&heard) {
        true => None,
        false => Some(format!("of voters {voters:?} on names {heard:?} are heard")),
    }
}

/// Removes what is in `folder`.
pub(super) fn clear(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => fs::remove_dir_all(entry.path())?,
            false => fs::remove_file(entry.path())?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn voters_are_whole_if_all_groups_have_five_that_are_heard() {
        let metrics = |voters: u32, heard: u32| {
            let line = |name: &str, group: u32, value: u32| {
                format!("slotcast_names_{name}{{group=\"{group}\"}} {value}\n")
            };
            let voters: String = (0..3).map(|group| line("voters", group, voters)).collect();
            let heard: String = (0..3).map(|group| line("voters_heard", group, heard)).collect();
            voters + &heard
        };
        assert_eq!(voters_lack(&metrics(5, 5)), None);
        assert!(voters_lack(&metrics(5, 4)).is_some());
        assert!(voters_lack(&metrics(6, 6)).is_some());
        assert!(voters_lack("").is_some());
    }

    #[test]
    fn ports_are_not_given_twice() {
        let one = free_port(&[]).expect("a port");
        assert_ne!(free_port(&[one]).expect("another port"), one);
    }
}
