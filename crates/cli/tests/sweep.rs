//! Sweeps keep what is finished, go on where they were stopped, and name the knee.
#![allow(clippy::disallowed_methods, reason = "tests read, write and damage files")]

mod support;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use support::{Finished, SMALL, command, file, root, scratch, slotcast};

/// 24 runs that take a while each, so that a signal finds one under way.
const SLOW: &str = r#"
name = "slow"
[cluster]
initiators = 36
targets = 36
[run]
length = "150ms"
warmup = "30ms"
[seeds]
count = 4
[[sweep]]
workload.window = [1, 2, 3]
[[sweep]]
disk.rate = ["400MiB/s", "1GB/s"]
"#;
const RUNS: usize = 24;

/// A folder for results, empty.
fn folder(name: &str) -> PathBuf {
    let folder = scratch(name);
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

/// The whole lines in the results.
fn lines(folder: &Path) -> usize {
    let text = std::fs::read(folder.join("runs.jsonl")).unwrap_or_default();
    text.iter().filter(|&&byte| byte == b'\n').count()
}

fn sweep(file: &Path, folder: &Path, more: &[&str]) -> Finished {
    let mut arguments = vec!["sweep", text(file), "--out", text(folder)];
    arguments.extend(more);
    slotcast(&arguments)
}

/// The JSON of a sweep that goes well.
fn json(file: &Path, folder: &Path, more: &[&str]) -> Value {
    let run = sweep(file, folder, &[&["--json", "-"], more].concat());
    assert_eq!(run.status, 0, "{}", run.stderr);
    serde_json::from_str(&run.stdout).expect("stdout holds JSON and nothing else")
}

/// The same without the times that runs took, which no two machines share.
fn without_times(mut value: Value) -> Value {
    match &mut value {
        Value::Object(fields) => {
            fields.retain(|name, _| name != "wall_time_s" && name != "events_per_s");
            fields.values_mut().for_each(|field| *field = without_times(field.take()));
        }
        Value::Array(items) => {
            items.iter_mut().for_each(|item| *item = without_times(item.take()));
        }
        _ => {}
    }
    value
}

/// Starts a sweep, and waits until it has finished `wanted` runs.
fn start(file: &Path, folder: &Path, wanted: usize) -> Child {
    let mut child = command(&["sweep", text(file), "--out", text(folder), "--threads", "1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    while lines(folder) < wanted {
        assert_eq!(child.try_wait().expect("a child"), None, "it ended too early");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    child
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([name, &child.id().to_string()]).status();
    assert!(sent.expect("kill is there").success());
}

#[test]
fn a_sweep_that_was_stopped_ends_as_one_that_was_not() {
    let file = file("slow.toml", SLOW);
    let whole = folder("whole");
    let expected = json(&file, &whole, &[]);
    assert_eq!(lines(&whole), RUNS);

    let stopped = folder("stopped");
    let child = start(&file, &stopped, 2);
    signal(&child, "-INT");
    let end = child.wait_with_output().expect("it ends");
    let said = String::from_utf8(end.stderr).expect("UTF-8");
    assert_eq!(end.status.code(), Some(130), "{said}");
    assert!(said.contains(&format!("of {RUNS} runs are kept in")), "{said}");
    assert!(said.contains("The same command goes on from there"), "{said}");
    assert_eq!(end.stdout, b"", "nothing half is told");
    let kept = lines(&stopped);
    assert!((2..RUNS).contains(&kept), "{kept}");
    let before = std::fs::read(stopped.join("runs.jsonl")).expect("the results");

    let resumed = json(&file, &stopped, &[]);
    assert_eq!(without_times(resumed.clone()).to_string(), without_times(expected).to_string());
    let after = std::fs::read(stopped.join("runs.jsonl")).expect("the results");
    assert!(after.starts_with(&before), "what was done is not done again");
    assert_eq!(lines(&stopped), RUNS);

    // With nothing left to do even the times are the same.
    assert_eq!(json(&file, &stopped, &[]).to_string(), resumed.to_string());
    let told = sweep(&file, &stopped, &[]);
    assert!(told.stdout.contains("24 runs, 24 of them kept from before"), "{}", told.stdout);
    assert_eq!(told.stderr, "");
}

#[test]
fn a_sweep_that_was_killed_goes_on() {
    let file = file("killed.toml", SLOW);
    let results = folder("killed");
    let mut child = start(&file, &results, 2);
    signal(&child, "-KILL");
    child.wait().expect("it ends");
    assert_eq!(json(&file, &results, &[])["points"].as_array().map(Vec::len), Some(6));
    assert_eq!(lines(&results), RUNS);
}

const SWEPT: &str = "\n[[sweep]]\ncluster.replicas = [1, 2]\n";

#[test]
fn a_torn_line_is_cut_and_its_run_done_again() {
    let file = file("torn.toml", &format!("{SMALL}{SWEPT}"));
    let results = folder("torn");
    let expected = without_times(json(&file, &results, &[]));
    let path = results.join("runs.jsonl");
    let whole = std::fs::read(&path).expect("the results");
    std::fs::write(&path, &whole[..whole.len() - 100]).expect("a torn file");
    let run = sweep(&file, &results, &["--json", "-"]);
    assert!(run.stderr.contains("was torn, and is cut; its run is done again"), "{}", run.stderr);
    let found: Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!(without_times(found), expected);
    assert_eq!(lines(&results), 6);
}

#[test]
fn other_settings_and_seeds_do_not_mix() {
    let file = file("foreign.toml", &format!("{SMALL}{SWEPT}"));
    let results = folder("foreign");
    let first = without_times(json(&file, &results, &[]));
    let other = sweep(&file, &results, &["--set", "disk.rate=1GB/s", "--json", "-"]);
    assert!(other.stderr.contains("6 runs in"), "{}", other.stderr);
    assert!(other.stderr.contains("kept, not used"), "{}", other.stderr);
    let other: Value = serde_json::from_str(&other.stdout).expect("JSON");
    assert_ne!(without_times(other)["trace_hash"], first["trace_hash"]);
    assert_eq!(lines(&results), 12);
    assert_eq!(without_times(json(&file, &results, &[])), first, "the first ones are still there");

    let more = sweep(&file, &results, &["--seeds", "5"]);
    assert!(more.stdout.contains("10 runs, 6 of them kept from before"), "{}", more.stdout);
}

/// A write beyond the limit fails as one to a full disk does.
#[test]
fn a_full_disk_costs_nothing_that_was_finished() {
    let file = file("full.toml", &format!("{SMALL}{SWEPT}"));
    let results = folder("full");
    let expected = without_times(json(&file, &folder("roomy"), &[]));
    // Three lines of about 950 bytes, in blocks of 1024.
    let script = format!(
        "trap '' XFSZ; ulimit -f 3; exec {} sweep {} --out {} --threads 1",
        env!("CARGO_BIN_EXE_slotcast"),
        text(&file),
        text(&results)
    );
    let limited = Command::new("bash").args(["-c", &script]).current_dir(root()).output();
    let limited = limited.expect("bash is there");
    let said = String::from_utf8(limited.stderr).expect("UTF-8");
    assert_eq!(limited.status.code(), Some(2), "{said}");
    assert!(said.contains("cannot keep a finished run in"), "{said}");
    let kept = lines(&results);
    assert!((1..6).contains(&kept), "{kept}");
    assert!(said.contains(&format!("{kept} of 6 runs are kept; make room")), "{said}");

    let run = sweep(&file, &results, &["--json", "-"]);
    assert_eq!((run.status, run.stderr.as_str()), (0, ""), "nothing was left torn");
    let found: Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!(without_times(found), expected);
}

#[test]
fn two_processes_do_not_share_results() {
    let file = file("lock.toml", SLOW);
    let results = folder("lock");
    let mut first = start(&file, &results, 1);
    let second = sweep(&file, &results, &[]);
    signal(&first, "-KILL");
    first.wait().expect("it ends");
    assert_eq!((second.status, second.stdout.as_str()), (2, ""));
    assert!(
        second.stderr.contains("another process is at work on the results"),
        "{}",
        second.stderr
    );
    assert!(second.stderr.contains("--out"), "{}", second.stderr);
}

#[test]
fn results_lie_beside_the_experiment_if_nothing_is_said() {
    let file = file("beside.toml", &format!("{SMALL}{SWEPT}"));
    let folder = folder("beside.sweep");
    let run = slotcast(&["sweep", text(&file), "--seeds", "1"]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert_eq!(lines(&folder), 2);
}

#[test]
fn axes_of_the_command_line_cross_those_of_the_file() {
    let file = file("axes.toml", &format!("{SMALL}{SWEPT}"));
    let axes = ["--axis", "workload.window=1..4*2", "--axis", "disk.rate=400MiB/s,1GB/s"];
    let found = json(&file, &folder("axes"), &[&axes[..], &["--seeds", "1"]].concat());
    assert_eq!(found["points"].as_array().map(Vec::len), Some(12));
    let last = &found["points"][11]["sweep"];
    assert_eq!(last["workload.window"], "4");
    assert_eq!(last["cluster.replicas"], "2");
    let keys: Vec<_> =
        found["axes"].as_array().expect("axes").iter().map(|a| &a["keys"][0]).collect();
    assert_eq!(keys, ["cluster.replicas", "workload.window", "disk.rate"]);
    // A swept key is swept as the command line says.
    let run = sweep(&file, &folder("again"), &["--axis", "cluster.replicas=3", "--seeds", "1"]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert!(run.stdout.contains("1 run;"), "{}", run.stdout);
}

#[test]
fn a_wrong_axis_is_shown() {
    let file = file("wrong.toml", SMALL);
    let said = |axis: &str| {
        let run = sweep(&file, &folder("wrong"), &["--axis", axis]);
        assert_eq!((run.status, run.stdout.as_str()), (2, ""));
        assert!(run.stderr.contains("--axis"), "{}", run.stderr);
        run.stderr
    };
    assert!(said("workload.windw=1,2").contains("did you mean `workload.window`?"));
    assert!(said("workload.window=1,x").contains("`x` is not a whole number"));
    assert!(said("workload.window=8..1").contains("ends before it begins"));
    assert!(said("disk.rate=1GB/s..2GB/s").contains("range without a step"));
    assert!(said("protocol.kind=uch-cpp").contains("did you mean `uch-ccp`?"));
    assert!(said("seeds.count=1,2").contains("seeds cannot be swept"));
    assert!(said("workload.window").contains("expected `key=value,value,...`"));
    assert!(said("cluster.targets=18,3").contains("do not fill one negotiating group"));
    let nothing = sweep(&file, &folder("wrong"), &[]);
    assert_eq!(nothing.status, 2);
    assert!(nothing.stderr.contains("sweeps nothing"), "{}", nothing.stderr);
    assert!(nothing.stderr.contains("--axis workload.window="), "{}", nothing.stderr);
}

/// Six initiators and eighteen disks: the disks are the limit from a load on that can be computed.
#[test]
fn the_knee_is_where_the_disks_are_full() {
    let open = r#"
name = "knee"
[cluster]
initiators = 18
targets = 18
[workload]
load = "open"
window = 8
[run]
length = "300ms"
warmup = "100ms"
[seeds]
count = 3
"#;
    // 18 disks of 400 MiB/s, three copies of 128 KiB: 19200 chunks per second.
    let file = file("knee.toml", open);
    let axis = ["--axis", "workload.arrivals_per_s=4_000..28_000+4_000"];
    let found = json(&file, &folder("knee"), &axis);
    let knees = found["knees"].as_array().expect("a list");
    let of = |what: &str| knees.iter().find(|knee| knee["of"] == what).expect("both are asked");
    let throughput = of("throughput")["verdict"]["at"].as_str().expect("a knee").to_string();
    assert!(["16000", "20000"].contains(&throughput.as_str()), "{knees:?}");
    let told = sweep(&file, &folder("knee"), &axis);
    let sentence = format!("workload.arrivals_per_s: throughput stops growing at {throughput}");
    assert!(told.stdout.contains(&sentence), "{}", told.stdout);
    assert!(told.stdout.contains("chunks_per_s (1/s)\n") && told.stdout.contains('█'));
}
