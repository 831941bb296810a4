//! `slotcast tune`: what it finds, that it goes on where it was stopped, and what it refuses.
#![allow(clippy::disallowed_methods, reason = "tests read and write files")]

mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use support::{Finished, SMALL, command, file, scratch, slotcast};

/// The disks are the limit: more of them is better, and how many puts are in flight decides the latency.
const TUNE: &str = r#"
[tune]
maximise = "chunks_per_s"
constraints = ["latency_us.mean <= 2ms"]
evaluations = 10
fresh_seeds = 4

[[knob]]
key = "workload.window"
min = 1
max = 16
scale = "log"

[[knob]]
key = "replicast.bid_multiplier"
min = "100%"
max = "400%"

[[knob]]
key = "replicast.ties"
"#;

fn folder(name: &str) -> PathBuf {
    let folder = scratch(name);
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

fn tune(file: &Path, folder: &Path, more: &[&str]) -> Finished {
    let mut arguments = vec!["tune", text(file), "--out", text(folder)];
    arguments.extend(more);
    slotcast(&arguments)
}

fn json(file: &Path, folder: &Path, more: &[&str]) -> Value {
    let run = tune(file, folder, &[&["--json", "-"], more].concat());
    assert_eq!(run.status, 0, "{}", run.stderr);
    serde_json::from_str(&run.stdout).expect("stdout holds JSON and nothing else")
}

fn number(value: &Value, path: &str) -> f64 {
    value.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("no {path} in {value}"))
}

/// With eight puts in flight each waits for the others: with one it does not.
const HASTE: &str = r#"
[workload]
window = 8

[tune]
minimise = "latency_us.mean"
constraints = ["chunks_per_s >= 5_000"]
evaluations = 10
fresh_seeds = 4

[[knob]]
key = "workload.window"
min = 1
max = 16
scale = "log"

[[knob]]
key = "replicast.bid_multiplier"
min = "100%"
max = "400%"

[[knob]]
key = "replicast.ties"
"#;

#[test]
fn the_best_settings_are_measured_again_and_better_than_the_files_own() {
    let file = file("found.toml", &format!("{SMALL}{HASTE}"));
    let found = json(&file, &folder("found"), &[]);
    assert_eq!(found["goal"], "minimise latency_us.mean");
    let trials = found["trials"].as_array().expect("a list");
    assert_eq!(trials.len(), 10);
    let mut settings: Vec<String> =
        trials.iter().map(|trial| trial["settings"].to_string()).collect();
    settings.sort();
    settings.dedup();
    assert_eq!(settings.len(), 10, "no settings are evaluated twice");
    for trial in trials {
        let window: u64 = trial["settings"]["workload.window"].as_str().unwrap().parse().unwrap();
        assert!((1..=16).contains(&window));
        let rate = number(trial, "/metrics/chunks_per_s/value");
        assert_eq!(trial["keeps_limits"], rate >= 5000.0, "{trial}");
    }

    let best = number(&found, "/best/metrics/latency_us/mean/value");
    let own = number(&found, "/own/metrics/latency_us/mean/value");
    assert!(best < own / 2.0, "{best} {own}");
    assert_eq!(found["best"]["settings"]["workload.window"], "1");
    assert_eq!(
        (&found["own_is_best"], &found["best"]["keeps_limits"]),
        (&false.into(), &true.into())
    );
    assert_eq!(found["comparison"]["certain"], true);
    assert!(number(&found, "/comparison/gain_pct/value") < -50.0);
    // Three seeds of the search, four to choose among finalists, four that neither has seen.
    assert_eq!(found["seeds"], serde_json::json!([1, 2, 3]));
    assert_eq!(found["best"]["seeds"], serde_json::json!([8, 9, 10, 11]));

    // The command that is told gives the figures that are told.
    let told = found["command"].as_str().expect("a command");
    let words: Vec<&str> = told.split(' ').skip(1).collect();
    let more = ["--set", "seeds.first=8", "--set", "seeds.count=4", "--json", "-"];
    let again = slotcast(&[&words[..], &more].concat());
    assert_eq!(again.status, 0, "{}", again.stderr);
    let again: Value = serde_json::from_str(&again.stdout).expect("JSON");
    assert_eq!(number(&again, "/metrics/latency_us/mean/value"), best);
}

/// A limit that the fastest settings break is kept.
#[test]
fn a_limit_is_kept_where_that_costs() {
    let text = HASTE.replace("chunks_per_s >= 5_000", "disk_queue_length >= 2");
    let file = file("limit.toml", &format!("{SMALL}{text}"));
    let found = json(&file, &folder("limit"), &["--set", "run.length=20ms"]);
    let limit = |trial: &Value| number(trial, "/metrics/disk_queue_length/value") >= 2.0;
    let trials = found["trials"].as_array().expect("a list");
    let mean = |trial: &Value| number(trial, "/metrics/latency_us/mean/value");
    let fastest = trials.iter().min_by(|a, b| mean(a).total_cmp(&mean(b))).expect("some");
    assert!(!limit(fastest), "the limit costs nothing: {fastest}");
    assert!(trials.iter().any(limit), "none keeps it");
    assert!(number(&found, "/best/metrics/disk_queue_length/value") > 1.9);
    assert!(number(&found, "/best/metrics/latency_us/mean/value") > mean(fastest));
}

#[test]
fn what_is_said_is_narrow_and_names_the_command() {
    let file = file("said.toml", &format!("{SMALL}{TUNE}"));
    let run = tune(&file, &folder("said"), &["--evaluations", "4", "--method", "random"]);
    assert_eq!((run.status, run.stderr.as_str()), (0, ""));
    let said = &run.stdout;
    for line in
        said.lines().filter(|line| !line.starts_with("  slotcast") && !line.starts_with("kept"))
    {
        assert!(line.trim_end().chars().count() <= 80, "{line}");
    }
    for part in [
        "maximise chunks_per_s",
        "latency_us.mean <= 2ms",
        "replicast.ties",
        "by random",
        "To run it:",
    ] {
        assert!(said.contains(part), "`{part}` is not in:\n{said}");
    }
}

#[test]
fn every_method_gives_the_same_with_any_number_of_threads() {
    let file = file("threads.toml", &format!("{SMALL}{TUNE}"));
    for method in ["networks", "random", "latin-hypercube", "cma-es", "gaussian-process"] {
        let with = |threads: &str| {
            let more =
                ["--method", method, "--threads", threads, "--seeds", "1", "--evaluations", "14"];
            json(&file, &folder("threads"), &more).to_string()
        };
        assert_eq!(with("1"), with("3"), "{method}");
    }
}

#[test]
fn a_search_that_was_stopped_ends_as_one_that_was_not() {
    let slow = SMALL.replace("4ms", "120ms");
    let file = file("stopped.toml", &format!("{slow}{TUNE}"));
    let expected = json(&file, &folder("whole"), &[]);

    let results = folder("stopped");
    let lines = || {
        let text = std::fs::read(results.join("runs.jsonl")).unwrap_or_default();
        text.iter().filter(|&&byte| byte == b'\n').count()
    };
    let mut child = command(&["tune", text(&file), "--out", text(&results), "--threads", "1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    while lines() < 5 {
        assert_eq!(child.try_wait().expect("a child"), None, "it ended too early");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(sent.expect("kill is there").success());
    let end = child.wait_with_output().expect("it ends");
    let said = String::from_utf8(end.stderr).expect("UTF-8");
    assert_eq!((end.status.code(), end.stdout.as_slice()), (Some(130), &b""[..]), "{said}");
    assert!(said.contains("of 10 settings are evaluated"), "{said}");
    assert!(said.contains("same command goes on from there"), "{said}");

    let kept = lines();
    assert_eq!(json(&file, &results, &[]).to_string(), expected.to_string());
    assert!(lines() > kept, "what was missing was done");
    let told = tune(&file, &results, &[]).stdout;
    let told: Vec<&str> = told.split_whitespace().collect();
    assert!(told.join(" ").contains("of them kept from before"), "{told:?}");
}

#[test]
fn settings_that_cannot_be_run_are_told_and_do_no_harm() {
    let knob = "\n[[knob]]\nkey = \"cluster.group_size\"\nvalues = [2, 6, 9, 40]\n";
    let tune = "\n[tune]\nmaximise = \"chunks_per_s\"\nevaluations = 4\nfresh_seeds = 2\n";
    let file = file("impossible.toml", &format!("{SMALL}{tune}{knob}"));
    let found = json(&file, &folder("impossible"), &["--method", "random"]);
    let trials = found["trials"].as_array().expect("a list");
    assert_eq!(trials.len(), 4, "there are no more different settings");
    let why = |group: &str| {
        let trial = trials.iter().find(|trial| trial["settings"]["cluster.group_size"] == group);
        trial.expect("all were tried")["impossible"].as_str().unwrap_or_default().to_string()
    };
    assert!(why("40").contains("negotiating group") && why("9").is_empty(), "{found}");
}

/// What `text` beside a small experiment is refused for.
#[track_caller]
fn refused(text: &str, parts: &[&str]) {
    let file = file("bad.toml", &format!("{SMALL}{text}"));
    let run = tune(&file, &folder("bad"), &[]);
    assert_eq!((run.status, run.stdout.as_str()), (2, ""), "{text}");
    for part in parts {
        assert!(run.stderr.contains(part), "`{part}` is not in:\n{}", run.stderr);
    }
}

#[test]
fn a_bad_file_is_shown_with_its_line_and_the_remedy() {
    const KNOB: &str = "\n[[knob]]\nkey = \"workload.window\"\nmin = 1\nmax = 8\n";
    let goal = |text: &str| format!("\n[tune]\n{text}\n{KNOB}");
    let knob = |text: &str| format!("\n[tune]\nmaximise = \"chunks_per_s\"\n[[knob]]\n{text}\n");
    refused(KNOB, &["there is no `[tune]` section", "maximise = "]);
    refused("\n[tune]\nmaximise = \"chunks_per_s\"\n", &["nothing may vary", "[[knob]]"]);
    refused(&goal(""), &["nothing says what is to become best"]);
    refused(&goal("maximise = \"chunks\""), &["there is no metric `chunks`", "bad.toml:14:12"]);
    refused(&goal("minimise = \"latency.p99\""), &["did you mean `latency_us.p99`?"]);
    refused(
        &goal("maximise = \"latency_us.p99\""),
        &["the better the lower", "expected `minimise`"],
    );
    refused(&goal("maximise = \"chunks_per_s\"\nminimise = \"latency_us.p99\""), &["one goal"]);
    refused(&goal("maximize = \"chunks_per_s\""), &["`tune.maximize`", "did you mean `maximise`?"]);
    let with = |text: &str| goal(&format!("maximise = \"chunks_per_s\"\n{text}"));
    refused(&with("constraints = [\"latency_us.p99 < 1ms\"]"), &["is no limit", "<= 5ms"]);
    refused(&with("constraints = \"latency_us.p99 <= 1ms\""), &["expected a list"]);
    refused(&with("evaluations = 0"), &["tune.evaluations", "2 to 100000"]);
    refused(&with("method = \"gaussian\""), &["tune.method", "`gaussian-process`"]);
    refused(
        &knob("key = \"workload.windw\"\nmin = 1\nmax = 2"),
        &["did you mean `workload.window`?"],
    );
    refused(&knob("min = 1\nmax = 2"), &["a knob without a key"]);
    refused(&knob("key = \"workload.window\"\nmin = 1"), &["has no range", "`min` and `max`"]);
    refused(&knob("key = \"workload.window\"\nmin = 4\nmax = 4"), &["ends where it begins"]);
    refused(&knob("key = \"workload.window\"\nmin = 1\nmax = \"x\""), &["expected a whole number"]);
    refused(
        &knob("key = \"workload.window\"\nmin = 1\nmax = 8\nscale = \"x\""),
        &["`linear` or `log`"],
    );
    refused(&knob("key = \"workload.window\"\nmin = 1\nmax = 8\nstep = 1"), &["`knob.step`"]);
    refused(
        &knob("key = \"replicast.ties\"\nvalues = [\"backlok\"]"),
        &["did you mean `backlog`?"],
    );
    refused(&knob("key = \"replicast.ties\"\nvalues = [\"name\", \"name\"]"), &["a value twice"]);
    refused(&knob("key = \"seeds.count\"\nmin = 1\nmax = 8"), &["`seeds.count` cannot vary"]);
    refused(&knob("key = \"dctcp.gain\"\nmin = \"1%\"\nmax = \"9%\""), &["has no effect without"]);
    refused(&format!("{}{KNOB}", with("")), &["is a knob twice"]);
    refused(
        &format!("{}\n[[sweep]]\ncluster.replicas = [1, 2]\n", with("")),
        &["chooses its points itself"],
    );

    let file = file("method.toml", &format!("{SMALL}{}", with("")));
    let run = tune(&file, &folder("method"), &["--method", "cma"]);
    assert_eq!(run.status, 2);
    assert!(run.stderr.contains("there is no method `cma`"), "{}", run.stderr);
}

#[test]
fn sim_runs_the_files_own_settings() {
    let file = file("own.toml", &format!("{SMALL}{TUNE}"));
    let run = slotcast(&["sim", text(&file)]);
    assert_eq!((run.status, run.stderr.as_str()), (0, ""), "{}", run.stdout);
}
