//! What nodes log, as programs read it: the state that changed, and the fields that say whose and why.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it has processes, files and sockets"
)]

#[allow(dead_code, reason = "each test file uses its own part")]
mod cluster;

use std::fs;
use std::process::Command;

use cluster::{Cluster, Plan, content, get, loopback_hosts, put};

fn plan(nodes: u32, targets_per_node: u32, settings: &str) -> Plan {
    Plan { nodes, targets_per_node, settings: settings.into(), hosts: loopback_hosts(nodes) }
}

#[test]
fn a_peer_that_goes_down_is_logged_with_its_number_and_address() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut cluster = Cluster::new(folder.path(), plan(3, 1, "data_rate = \"2Gbps\""));
    cluster.start_all();
    let start = &cluster.logged(0, "starting")[0];
    assert_eq!((&start["node"], &start["nodes"]), (&0.into(), &3.into()), "{start}");
    assert_eq!(start["version"], env!("CARGO_PKG_VERSION"));
    let ups = cluster.logged(0, "peer up");
    assert_eq!(ups.len(), 2, "{ups:?}");
    assert!(cluster.logged(0, "peer down").is_empty());

    cluster.kill(2);
    cluster.wait("node 0 logs that node 2 is down", || !cluster.logged(0, "peer down").is_empty());
    let down = &cluster.logged(0, "peer down")[0];
    assert_eq!(down["level"], "WARN", "{down}");
    assert_eq!(down["node"], 2, "{down}");
    assert_eq!(down["address"], cluster.hosts[2].udp.as_str(), "{down}");
    assert_eq!(down["gone_after_ms"], 600_000, "{down}");

    cluster.start(2);
    cluster.wait("node 0 logs that node 2 is up", || cluster.logged(0, "peer up").len() == 3);
    let again = &cluster.logged(0, "peer up")[2];
    assert_eq!((&again["level"], &again["node"]), (&"INFO".into(), &2.into()), "{again}");
    cluster.signal(1, "-TERM");
    cluster.wait("node 1 says that it stops", || !cluster.logged(1, "stopped").is_empty());
}

#[test]
fn a_folder_that_disappears_is_logged_with_its_path_and_what_is_done_about_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = "data_rate = \"2Gbps\"\nreplicas = 2\nfailure_domain = \"target\"";
    let mut cluster = Cluster::new(folder.path(), plan(2, 2, settings));
    cluster.start_all();
    let address = put(&cluster, 0, &content(3_000_000, 1)).expect("it is stored");
    assert!(cluster.logged(0, "target open").iter().all(|line| line["chunks"] == 0));
    fs::rename(folder.path().join("target-000"), folder.path().join("away")).expect("it moves");
    let message = "target gone: others make up for it";
    cluster.wait("node 0 logs it", || !cluster.logged(0, message).is_empty());
    let gone = &cluster.logged(0, message)[0];
    assert_eq!((&gone["level"], &gone["target"]), (&"ERROR".into(), &0.into()), "{gone}");
    assert_eq!(gone["cause"], "the disk is gone", "{gone}");
    let path = gone["folder"].as_str().expect("a path");
    assert!(path.ends_with("target-000"), "{gone}");

    cluster.wait("target 1 logs the scan that follows", || {
        let ended = cluster.logged(0, "repair scan ended");
        ended.iter().any(|line| line["target"] == 1 && line["visited_chunks"].as_u64() > Some(0))
    });
    assert!(get(&cluster, 1, &address) == content(3_000_000, 1));
}

#[test]
fn what_is_logged_is_chosen_by_an_option_and_by_the_environment() {
    let folder = tempfile::tempdir().expect("a folder");
    let serve = |arguments: &[&str], environment: &str| {
        let data = folder.path().join("data");
        let mut process = Command::new(env!("CARGO_BIN_EXE_slotcast"))
            .args(["serve", "--s3", "off", "--listen", "127.0.0.1:0", "--targets", "3", "--data"])
            .arg(data)
            .args(arguments)
            .env("SLOTCAST_LOG", environment)
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut line = String::new();
        let out = process.stdout.take().expect("a pipe");
        std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).expect("text");
        let node = line.trim().rsplit("http://").next().expect("an address").to_owned();
        let status = Command::new(env!("CARGO_BIN_EXE_slotcast"))
            .args(["status", "--node", &node])
            .output()
            .expect("it runs");
        let id = process.id().to_string();
        let sent = Command::new("kill").args(["-TERM", &id]).status().expect("it runs");
        assert!(status.status.success() && sent.success());
        let output = process.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).expect("text")
    };
    let text = serve(&[], "info");
    assert!(text.contains("INFO slotcast_node::journal: target open target=0 folder="), "{text}");
    assert!(text.contains("signal=\"SIGTERM\"") && text.contains("stopped"), "{text}");
    assert!(!text.contains("http request") && !text.contains('\u{1b}'), "{text}");
    assert_eq!(serve(&[], "warn"), "");
    assert_eq!(serve(&["--log", "off"], "debug"), "", "the option goes before the environment");

    let json = serve(&["--log", "warn,slotcast_node::http=debug", "--log-format", "json"], "off");
    let lines: Vec<serde_json::Value> =
        json.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let mut requests = lines.iter().filter(|line| line["fields"]["message"] == "http request");
    let request = requests.next().expect("one");
    let fields = &request["fields"];
    assert_eq!((&fields["method"], &fields["path"]), (&"GET".into(), &"/v1/status".into()));
    assert!(fields["status"] == 200 && fields["elapsed_us"].is_u64(), "{request}");
    assert!(request["timestamp"].is_string() && request["level"] == "DEBUG", "{request}");

    let wrong = Command::new(env!("CARGO_BIN_EXE_slotcast"))
        .args(["serve", "--log", "inof"])
        .output()
        .expect("it runs");
    let told = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(wrong.status.code() == Some(2) && told.contains("`inof` is no level"), "{told}");
}
