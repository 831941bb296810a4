//! A cluster of real processes.

pub(crate) mod etcd;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write as _};
use std::net::{TcpStream, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// What a test says about its cluster.
pub(crate) struct Plan {
    pub(crate) nodes: u32,
    pub(crate) targets_per_node: u32,
    /// Further lines of `cluster.toml`.
    pub(crate) settings: String,
    /// The addresses of the nodes, and the commands that wrap their processes.
    pub(crate) hosts: Vec<Host>,
}

#[derive(Clone)]
pub(crate) struct Host {
    pub(crate) udp: String,
    pub(crate) http: String,
    /// Put before every command: to run it in another network namespace.
    pub(crate) wrapper: Vec<String>,
}

pub(crate) struct Cluster {
    pub(crate) folder: PathBuf,
    pub(crate) hosts: Vec<Host>,
    nodes: Vec<Option<Node>>,
    /// Programs of nodes that are not the one under test.
    binaries: BTreeMap<usize, PathBuf>,
    /// Further arguments of nodes.
    arguments: BTreeMap<usize, Vec<String>>,
}

struct Node {
    process: Child,
    http: String,
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Ports of the loopback that were free a moment ago.
pub(crate) fn loopback_hosts(nodes: u32) -> Vec<Host> {
    let sockets: Vec<_> =
        (0..nodes).map(|_| UdpSocket::bind("127.0.0.1:0").expect("a free port")).collect();
    let host = |socket: &UdpSocket| Host {
        udp: socket.local_addr().expect("an address").to_string(),
        http: "127.0.0.1:0".into(),
        wrapper: Vec::new(),
    };
    sockets.iter().map(host).collect()
}

impl Cluster {
    /// Writes the files of the cluster into `folder`, and starts nothing.
    pub(crate) fn new(folder: &Path, plan: Plan) -> Cluster {
        let Plan { nodes, targets_per_node, settings, hosts } = plan;
        let mut map = format!("epoch = 1\n{settings}\n");
        for (number, host) in (0..nodes).zip(&hosts) {
            let first = number * targets_per_node;
            let targets: Vec<_> = (first..first + targets_per_node).collect();
            let udp = &host.udp;
            let _ = write!(
                map,
                "\n[[node]]\nnumber = {number}\naddress = \"{udp}\"\ntargets = {targets:?}\n"
            );
            let mut file = format!(
                "node = {number}\nhttp = \"{}\"\ncluster = \"cluster.toml\"\nkey = \"cluster.key\"\n",
                host.http
            );
            for target in targets {
                let _ = write!(
                    file,
                    "\n[[target]]\nnumber = {target}\nfolder = \"target-{target:03}\"\n"
                );
            }
            fs::write(folder.join(format!("node-{number}.toml")), file).expect("room");
        }
        fs::write(folder.join("cluster.toml"), map).expect("room");
        let key =
            Command::new(env!("CARGO_BIN_EXE_slotcast")).arg("key").output().expect("it runs");
        let path = folder.join("cluster.key");
        fs::write(&path, key.stdout).expect("room");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("it is ours");
        let nodes = hosts.iter().map(|_| None).collect();
        let (binaries, arguments) = (BTreeMap::new(), BTreeMap::new());
        Cluster { folder: folder.to_path_buf(), hosts, nodes, binaries, arguments }
    }

    /// Three running nodes with a target each, and two replicas; with their map in etcd, if it is given.
    pub(crate) fn of_three(folder: &Path, etcd: Option<&etcd::Etcd>) -> Cluster {
        Cluster::of_three_on(folder, etcd, loopback_hosts(3))
    }

    /// The same on these hosts.
    pub(crate) fn of_three_on(
        folder: &Path,
        etcd: Option<&etcd::Etcd>,
        hosts: Vec<Host>,
    ) -> Cluster {
        let settings = "data_rate = \"2Gbps\"\nreplicas = 2\n".into();
        let mut cluster =
            Cluster::new(folder, Plan { nodes: 3, targets_per_node: 1, settings, hosts });
        if let Some(etcd) = etcd {
            let file = folder.join("cluster.toml");
            let mut init = Command::new(env!("CARGO_BIN_EXE_slotcast"));
            let init = init.args(["cluster", "init"]).arg(&file).args(["--map", &etcd.map()]);
            assert!(init.status().expect("it runs").success());
            for node in 0..3 {
                let path = folder.join(format!("node-{node}.toml"));
                let text = fs::read_to_string(&path).expect("it is there");
                fs::write(path, text.replace("cluster.toml", &etcd.map())).expect("room");
            }
        }
        cluster.start_all();
        cluster
    }

    fn command(&self, node: usize) -> Command {
        let tested = Path::new(env!("CARGO_BIN_EXE_slotcast"));
        let binary = self.binaries.get(&node).map_or(tested, PathBuf::as_path);
        match &self.hosts[node].wrapper[..] {
            [] => Command::new(binary),
            [program, arguments @ ..] => {
                let mut command = Command::new(program);
                command.args(arguments).arg(binary);
                command
            }
        }
    }

    pub(crate) fn start(&mut self, node: usize) {
        let path = self.log_of(node);
        let log = fs::File::options().create(true).append(true).open(path).expect("room");
        let mut process = self
            .command(node)
            .args(["serve", "--config"])
            .arg(self.folder.join(format!("node-{node}.toml")))
            .args(["--log-format", "json"])
            .args(self.arguments.get(&node).into_iter().flatten())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .expect("it starts");
        let mut line = String::new();
        let out = process.stdout.take().expect("a pipe");
        BufReader::new(out).read_line(&mut line).expect("it says where it listens");
        let http = line.trim().rsplit("http://").next().expect("an address").to_owned();
        assert!(!http.is_empty(), "node {node} says {line:?}");
        self.nodes[node] = Some(Node { process, http });
    }

    pub(crate) fn start_all(&mut self) {
        (0..self.hosts.len()).for_each(|node| self.start(node));
        (0..self.hosts.len()).for_each(|node| self.wait_for_peers(node, self.hosts.len() - 1));
    }

    /// Lets `node` have further arguments from its next start on.
    pub(crate) fn serve_with(&mut self, node: usize, arguments: &[&str]) {
        let arguments = arguments.iter().map(|one| (*one).to_owned()).collect();
        self.arguments.insert(node, arguments);
    }

    /// Lets `node` be of another program from its next start on, or of the one under test.
    pub(crate) fn set_binary(&mut self, node: usize, binary: Option<&Path>) {
        match binary {
            Some(binary) => drop(self.binaries.insert(node, binary.to_path_buf())),
            None => drop(self.binaries.remove(&node)),
        }
    }

    /// The files of another node, which starts as those before.
    pub(crate) fn add(&mut self, host: Host, file: &str) {
        let number = self.hosts.len();
        fs::write(self.folder.join(format!("node-{number}.toml")), file).expect("room");
        self.hosts.push(host);
        self.nodes.push(None);
    }

    /// Where `node` serves HTTP.
    pub(crate) fn http(&self, node: usize) -> String {
        self.running(node).http.clone()
    }

    fn log_of(&self, node: usize) -> PathBuf {
        self.folder.join(format!("node-{node}.log"))
    }

    /// The fields of what `node` has logged with this message, and its level.
    pub(crate) fn logged(&self, node: usize, message: &str) -> Vec<serde_json::Value> {
        let log = fs::read_to_string(self.log_of(node)).expect("it is there");
        let lines = log.lines().map(|line| serde_json::from_str(line).expect("a line of JSON"));
        let fields = |mut line: serde_json::Value| {
            let mut fields = line["fields"].take();
            fields["level"] = line["level"].take();
            fields
        };
        lines.map(fields).filter(|fields| fields["message"] == message).collect()
    }

    fn running(&self, node: usize) -> &Node {
        self.nodes[node].as_ref().expect("it runs")
    }

    /// Runs a command against a node.
    pub(crate) fn run(&self, node: usize, arguments: &[&str]) -> Output {
        self.command(node)
            .args(arguments)
            .env("SLOTCAST_NODE", &self.running(node).http)
            .stdin(Stdio::null())
            .output()
            .expect("it runs")
    }

    pub(crate) fn says(&self, node: usize, arguments: &[&str]) -> String {
        let output = self.run(node, arguments);
        assert!(output.status.success(), "node {node}, {arguments:?}: {output:?}");
        String::from_utf8(output.stdout).expect("text").trim().to_owned()
    }

    pub(crate) fn status(&self, node: usize) -> serde_json::Value {
        serde_json::from_str(&self.says(node, &["status", "--json"])).expect("JSON")
    }

    /// How many chunks the targets of `node` hold.
    pub(crate) fn held(&self, node: usize) -> u64 {
        let status = self.status(node);
        let targets = status["targets"].as_array().expect("targets");
        targets.iter().map(|target| target["chunks"].as_u64().expect("a number")).sum()
    }

    /// What `node` tells Prometheus.
    pub(crate) fn metrics(&self, node: usize) -> String {
        let mut stream = TcpStream::connect(&self.running(node).http).expect("it listens");
        write!(stream, "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            .expect("it takes requests");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("text");
        answer
    }

    /// Waits until `node` hears so many others.
    pub(crate) fn wait_for_peers(&self, node: usize, count: usize) {
        self.wait(&format!("node {node} hears {count} others"), || {
            let status = self.status(node);
            let peers = status["network"]["peers"].as_array().expect("peers");
            peers.iter().filter(|peer| peer["state"] == "up").count() == count
        });
    }

    /// Waits until something holds; it may take long on a busy machine.
    pub(crate) fn wait(&self, what: &str, holds: impl Fn() -> bool) {
        let start = Instant::now();
        while !holds() {
            assert!(start.elapsed() < Duration::from_secs(60), "not within a minute: {what}");
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Of all running nodes together, what one of the network's counters says.
    pub(crate) fn counted(&self, counter: &str) -> u64 {
        let running = (0..self.nodes.len()).filter(|node| self.nodes[*node].is_some());
        running
            .map(|node| {
                let network = &self.status(node)["network"];
                network["counters"][counter].as_u64().or(network["refused"][counter].as_u64())
            })
            .map(|n| n.expect("such a counter"))
            .sum()
    }

    /// Ends a node as a power failure would.
    pub(crate) fn kill(&mut self, node: usize) {
        self.nodes[node] = None;
    }

    pub(crate) fn signal(&self, node: usize, signal: &str) {
        let id = self.running(node).process.id().to_string();
        let sent = Command::new("kill").args([signal, &id]).status().expect("it runs");
        assert!(sent.success(), "{signal} to {id}");
    }
}

/// Puts a file through one node; gives its address, if it was acknowledged.
pub(crate) fn put(cluster: &Cluster, node: usize, content: &[u8]) -> Option<String> {
    let name = cluster.folder.join(format!("in-{node}"));
    fs::write(&name, content).expect("room");
    let output = cluster.run(node, &["put", &name.display().to_string()]);
    let address = String::from_utf8(output.stdout).expect("text");
    if !output.status.success() {
        eprintln!("a put through node {node}: {}", String::from_utf8_lossy(&output.stderr));
    }
    output.status.success().then(|| address.trim().to_owned())
}

pub(crate) fn get(cluster: &Cluster, node: usize, address: &str) -> Vec<u8> {
    let out = cluster.folder.join(format!("out-{node}"));
    cluster.says(node, &["get", address, "-o", &out.display().to_string()]);
    fs::read(out).expect("it is there")
}

/// Puts through two of four nodes while one of the others is killed and the other is stopped for a while.
/// Every acknowledged file is there afterwards, at every node; and all but those that were put while two
/// nodes were away are acknowledged.
pub(crate) fn survives_a_kill_and_a_pause(cluster: &mut Cluster) {
    let mut stored: Vec<(String, Vec<u8>)> = Vec::new();
    let file = |n: usize| content(600_000 + n * 40_000, u32::try_from(n).expect("few"));
    let store = |cluster: &Cluster, n: usize| {
        let content = file(n);
        put(cluster, n % 2, &content).map(|address| (address, content))
    };
    stored.extend((0..6).map(|n| store(cluster, n).expect("all nodes are there")));
    cluster.kill(3);
    stored.extend((6..12).map(|n| store(cluster, n).expect("three of four are enough")));
    cluster.signal(2, "-STOP");
    let while_away = thread::scope(|scope| {
        let cluster = &*cluster;
        let puts = [12, 13].map(|n| scope.spawn(move || store(cluster, n)));
        thread::sleep(Duration::from_millis(1500));
        cluster.signal(2, "-CONT");
        puts.map(|put| put.join().expect("it ends"))
    });
    stored.extend(while_away.into_iter().flatten());
    (0..3).for_each(|node| cluster.wait_for_peers(node, 2));
    stored.extend((14..20).map(|n| store(cluster, n).expect("three of four are there again")));
    for (address, content) in &stored {
        for node in 0..3 {
            assert!(get(cluster, node, address) == *content, "{address} at node {node}");
        }
    }
    cluster.start(3);
    cluster.wait_for_peers(3, 3);
    for (address, content) in &stored {
        assert!(get(cluster, 3, address) == *content, "{address} at node 3, started anew");
    }
}

/// Content that does not repeat, and is different for every seed.
pub(crate) fn content(length: usize, seed: u32) -> Vec<u8> {
    let mut state = seed.wrapping_mul(2_654_435_761) | 1;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_le_bytes()[3]
    };
    (0..length).map(|_| next()).collect()
}
