//! The files in `operate`: alert rules and a dashboard ask for metrics that a node has, and the tools that read such files
//! find nothing wrong with them.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it has clocks, processes and files"
)]

#[allow(dead_code, reason = "each test file uses its own part")]
mod cluster;
#[allow(dead_code, reason = "each test file uses its own part")]
mod served;
mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::{Command, Stdio};
use std::time::Instant;

use cluster::Cluster;
use cluster::etcd::Etcd;
use serde_json::Value;
use served::{PATIENCE, Served, content};
use support::root;

fn read(path: &str) -> String {
    let path = root().join("operate").join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn dashboard() -> Value {
    serde_json::from_str(&read("grafana/slotcast.json")).expect("the dashboard is JSON")
}

/// Metrics with the names of their labels.
type Metrics = BTreeMap<String, BTreeSet<String>>;

const PREFIX: &str = "slotcast_";

/// What the lines of an exposition have.
fn exposed(text: &str, metrics: &mut Metrics) {
    for line in text.lines().filter(|line| line.starts_with(PREFIX)) {
        let (name, rest) = line.split_at(line.find(['{', ' ']).unwrap_or(line.len()));
        let labels = rest.strip_prefix('{').and_then(|rest| rest.split_once('}'));
        let known = metrics.entry(name.to_owned()).or_default();
        known.extend(keys(labels.map_or("", |(labels, _)| labels)));
    }
}

/// The names of labels in `a="x",b!~"y, z"`.
fn keys(text: &str) -> impl Iterator<Item = String> {
    // What is outside of quotes: names and operators.
    let outside = text.split('"').step_by(2);
    let name =
        |part: &str| part.trim_matches(|c: char| !c.is_alphanumeric() && c != '_').to_owned();
    outside.map(name).filter(|name| !name.is_empty()).collect::<Vec<_>>().into_iter()
}

/// The metrics that an expression names, with the labels that it selects by.
fn named(expression: &str) -> Vec<(String, Vec<String>)> {
    let starts = expression.match_indices(PREFIX).map(|(at, _)| &expression[at..]);
    let metric = |text: &str| {
        let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let (name, rest) = text.split_at(end.unwrap_or(text.len()));
        let labels = rest.strip_prefix('{').and_then(|rest| rest.split_once('}'));
        (name.to_owned(), keys(labels.map_or("", |(labels, _)| labels)).collect())
    };
    starts.map(metric).collect()
}

/// What is wrong with the expressions in a file, where a node exposes `metrics`. Labels of the scrape are no node's.
fn unknown(file: &str, text: &str, metrics: &Metrics) -> Vec<String> {
    let mut found = Vec::new();
    for (name, labels) in named(text) {
        let Some(known) = metrics.get(&name) else {
            found.push(format!("{file}: no node exposes {name}"));
            continue;
        };
        let others = labels.iter().filter(|label| !["job", "instance"].contains(&label.as_str()));
        for label in others.filter(|label| !known.contains(*label)) {
            found.push(format!("{file}: {name} has no label {label}"));
        }
    }
    found
}

/// All expressions of a dashboard.
fn expressions(dashboard: &Value) -> Vec<String> {
    match dashboard {
        Value::Array(all) => all.iter().flat_map(expressions).collect(),
        Value::Object(all) => all
            .iter()
            .flat_map(|(key, value)| match (key.as_str(), value.as_str()) {
                ("expr" | "query", Some(text)) => vec![text.to_owned()],
                _ => expressions(value),
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// What a node says that is a whole cluster, when it has conducted a round of the collection and knows its jobs.
fn of_one_process(metrics: &mut Metrics) {
    let folder = tempfile::tempdir().expect("a folder");
    let webhook = ["--webhook", "hook=http://127.0.0.1:9/"];
    let served = Served::start(&folder.path().join("data"), &webhook);
    served.says(&["mb", "slot://b"]);
    assert_eq!(served.ask("PUT /v2/b/x", "", &content(5000, 1)).status(), 200);
    served.says(&["gc", "run"]);
    let awaited = ["slotcast_jobs", "slotcast_garbage_last_round", "slotcast_http_requests_total"];
    let begun = Instant::now();
    while awaited.iter().any(|name| !metrics.contains_key(*name)) {
        assert!(begun.elapsed() < PATIENCE, "not all of {awaited:?} are in {metrics:?}");
        let text = served.ask("GET /metrics", "", b"").body;
        exposed(&String::from_utf8(text).expect("text"), metrics);
    }
}

/// What a node says of its peers and of the voters on names, where etcd is installed.
fn of_a_cluster(metrics: &mut Metrics) -> Option<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let etcd = Etcd::start(folder.path())?;
    let cluster = Cluster::of_three(folder.path(), Some(&etcd));
    cluster.wait("all voters are heard", || {
        cluster.metrics(0).contains("\nslotcast_names_voters_heard{group=\"0\"} 3")
    });
    exposed(&cluster.metrics(0), metrics);
    Some(())
}

#[test]
fn alerts_and_dashboard_ask_for_what_a_node_exposes() {
    let mut metrics = Metrics::new();
    if of_a_cluster(&mut metrics).is_none() {
        eprintln!("skipped: without etcd nobody tells of peers and voters");
        return;
    }
    of_one_process(&mut metrics);
    let dashboard = expressions(&dashboard());
    assert!(dashboard.len() > 30, "only {} expressions", dashboard.len());
    let mut found = unknown("slotcast.json", &dashboard.join("\n"), &metrics);
    for file in ["prometheus/slotcast.rules.yml", "prometheus/slotcast.test.yml"] {
        let text = read(file);
        assert!(named(&text).len() > 20, "only {} metrics in {file}", named(&text).len());
        found.extend(unknown(file, &text, &metrics));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn what_no_node_exposes_is_found() {
    let mut metrics = Metrics::new();
    exposed(
        "# HELP slotcast_a Help.\nslotcast_a{x=\"1, 2\",le=\"+Inf\"} 1\nslotcast_b 2\n",
        &mut metrics,
    );
    let text =
        "rate(slotcast_a{job=\"$job\", x=~\"a{1}|b\"}[5m]) + slotcast_b{y!=\"\"} / slotcast_bb";
    let expected =
        ["f: slotcast_b has no label y", "f: no node exposes slotcast_bb"].map(str::to_owned);
    assert_eq!(unknown("f", text, &metrics), expected);
}

#[test]
fn the_dashboard_fits_grafana() {
    let dashboard = dashboard();
    let panels = dashboard["panels"].as_array().expect("panels");
    let mut ids = BTreeSet::new();
    for panel in panels {
        let title = panel["title"].as_str().expect("a title");
        assert!(ids.insert(panel["id"].as_u64().expect("a number")), "{title}: its id is taken");
        let place = |key: &str| panel["gridPos"][key].as_u64().expect("a place");
        assert!(place("x") + place("w") <= 24, "{title}: Grafana has 24 columns");
        for target in panel["targets"].as_array().into_iter().flatten() {
            assert_eq!(target["datasource"]["uid"], "${datasource}", "{title}");
        }
    }
}

/// Whether a program is here; says so if not.
fn has(program: &str, package: &str) -> bool {
    let tried = Command::new(program).arg("--version").stdout(Stdio::null()).status();
    if tried.is_err() {
        eprintln!("skipped: there is no {program} here; Debian has it in the package {package}");
    }
    tried.is_ok()
}

/// Runs a program in a folder of `operate`; it has to be content.
fn is_content(folder: &str, program: &str, arguments: &[&str]) {
    let folder = root().join("operate").join(folder);
    let output = Command::new(program).args(arguments).current_dir(folder).output();
    let output = output.expect("it runs");
    assert!(output.status.success(), "{program} {arguments:?}: {output:?}");
}

#[test]
fn promtool_finds_the_rules_right_and_they_say_what_they_should() {
    if !has("promtool", "prometheus") {
        return;
    }
    is_content("prometheus", "promtool", &["check", "rules", "slotcast.rules.yml"]);
    is_content("prometheus", "promtool", &["check", "config", "--syntax-only", "prometheus.yml"]);
    is_content("prometheus", "promtool", &["test", "rules", "slotcast.test.yml"]);
}

/// `systemd-analyze verify` and `security` on the unit, with the program under test in it.
#[test]
fn systemd_finds_the_unit_right_and_little_exposed() {
    if !has("systemd-analyze", "systemd") {
        return;
    }
    let unit = read("systemd/slotcast.service");
    let installed = "/usr/local/bin/slotcast";
    assert!(unit.contains(installed), "{unit}");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("slotcast.service");
    fs::write(&path, unit.replace(installed, env!("CARGO_BIN_EXE_slotcast"))).expect("room");
    let path = path.to_str().expect("UTF-8");
    // What it warns of it writes, and ends well.
    let verified = Command::new("systemd-analyze").args(["verify", "--man=no", path]).output();
    let verified = verified.expect("it runs");
    let said = String::from_utf8_lossy(&verified.stderr);
    assert!(verified.status.success() && !said.contains("slotcast.service"), "{said}");
    // Debian's systemd has this from version 252 on.
    let secure = ["security", "--offline=true", "--threshold=20", "--no-pager", path];
    is_content("systemd", "systemd-analyze", &secure);
}

/// The words in the brackets of an instruction: `CMD ["serve"]`.
fn instruction(file: &str, name: &str) -> Vec<String> {
    let line = file.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
    let line = line.unwrap_or_else(|| panic!("no {name}"));
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{name} {line}: {error}"))
}

/// The program takes what the image starts it with.
#[test]
fn the_image_starts_the_program_as_it_can_be_started() {
    let file = read("container/Containerfile");
    let toolchain = fs::read_to_string(root().join("rust-toolchain.toml")).expect("it is there");
    let channel = toolchain.split("channel = \"").nth(1).and_then(|rest| rest.split('"').next());
    let (minor, _) = channel.and_then(|of| of.rsplit_once('.')).expect("a version of Rust");
    assert!(file.contains(&format!("/rust:{minor}-alpine ")), "it builds with another Rust");
    assert_eq!(instruction(&file, "ENTRYPOINT"), ["/slotcast"]);
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data").display().to_string();
    // Ports of this machine may be taken; all else is as it says.
    let free = |word: String| match word.strip_prefix("0.0.0.0:") {
        Some(_) => "0.0.0.0:0".to_owned(),
        None if word == "/data" => data.clone(),
        None => word,
    };
    let arguments: Vec<String> = instruction(&file, "CMD").into_iter().map(free).collect();
    let Some(("serve", more)) = arguments.split_first().map(|(word, rest)| (&word[..], rest))
    else {
        panic!("{arguments:?}")
    };
    let more: Vec<&str> =
        more.iter().map(String::as_str).filter(|word| !["--data", &data].contains(word)).collect();
    let keys = [("SLOTCAST_ACCESS_KEY", "root"), ("SLOTCAST_SECRET_KEY", "choose-a-long-one")];
    let served = Served::start_with(&folder.path().join("data"), &more, &keys);
    let node = served.node.rsplit(':').next().expect("a port");
    served.says(&["status", "--node", &format!("127.0.0.1:{node}")]);
}
