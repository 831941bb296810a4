//! `--report DIR`: what is written, and what is said when it cannot be.
#![allow(clippy::disallowed_methods, reason = "tests read and write files")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use support::{SMALL, file, root, scratch, slotcast};

/// A folder for one test, empty.
fn folder(name: &str) -> PathBuf {
    let path = scratch(name);
    if path.exists() {
        fs::remove_dir_all(&path).expect("what an earlier test left");
    }
    path
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

fn sim(name: &str, experiment: &str, arguments: &[&str]) -> PathBuf {
    let (experiment, folder) = (file(&format!("{name}.toml"), experiment), folder(name));
    let mut all = vec!["sim", text(&experiment), "--report", text(&folder)];
    all.extend(arguments);
    let run = slotcast(&all);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert!(run.stdout.ends_with(&format!("report: {}\n", folder.join("index.html").display())));
    folder
}

fn has(folder: &Path, kind: &str, names: &[&str]) {
    for name in names {
        let path = folder.join(kind).join(name);
        let size = fs::metadata(&path).map(|about| about.len()).unwrap_or_default();
        assert!(size > 100, "{}: {size} bytes", path.display());
    }
}

#[test]
fn an_experiment_gets_a_page_with_pictures_and_data() {
    let folder = sim("point", SMALL, &[]);
    let names =
        ["latency", "latency-sorted", "latency-cdf", "utilisation", "queue-length", "reservations"];
    for name in names {
        has(&folder, "figures", &[&format!("{name}.svg"), &format!("{name}.png")]);
        has(&folder, "data", &[&format!("{name}.csv"), &format!("{name}.parquet")]);
    }
    has(&folder, "data", &["runs.csv", "metrics.parquet"]);
    let page = fs::read_to_string(folder.join("index.html")).expect("a page");
    assert!(page.contains("The cluster completes") && page.contains("chunks/s"));
    assert!(page.contains("cluster.initiators"), "what was simulated is told");
    let list: Value =
        serde_json::from_slice(&fs::read(folder.join("report.json")).expect("a list"))
            .expect("JSON");
    for name in list["files"].as_array().expect("a list") {
        assert!(folder.join(name.as_str().expect("a name")).is_file(), "{name}");
    }
}

#[test]
fn the_latencies_are_those_of_the_first_seed() {
    let folder = sim("latencies", SMALL, &["--seeds", "2"]);
    let rows = fs::read_to_string(folder.join("data/latency-sorted.csv")).expect("data");
    let mut lines = rows.lines();
    assert_eq!(lines.next(), Some("series,request_number_by_latency,latency_us"));
    let latencies: Vec<f64> =
        lines.map(|line| line.rsplit(',').next().unwrap().parse().unwrap()).collect();
    let runs = fs::read_to_string(folder.join("data/runs.csv")).expect("data");
    let first: Vec<&str> = runs.lines().nth(1).expect("a run").split(',').collect();
    let mean = latencies.iter().sum::<f64>() / latencies.len() as f64;
    let told: f64 = first[4].parse().expect("a number");
    assert!((mean / told - 1.0).abs() < 1e-9, "{mean} and {told}");
}

#[test]
fn a_sweep_gets_lines_and_a_map_over_its_numbers() {
    let sweep = "[[sweep]]\nworkload.chunk_size = [\"16KiB\", \"64KiB\", \"128KiB\"]\n\
                 [[sweep]]\ndisk.rate = [\"400MiB/s\", \"1000MiB/s\"]\n";
    let folder = sim("sweep", &format!("{SMALL}\n{sweep}"), &["--seeds", "2"]);
    for metric in ["throughput", "mean-latency", "p99-latency"] {
        has(&folder, "figures", &[&format!("{metric}.svg"), &format!("{metric}-map.png")]);
    }
    has(&folder, "figures", &["latency-cdf.svg"]);
    let rows = fs::read_to_string(folder.join("data/throughput.csv")).expect("data");
    let names = rows.lines().next().expect("names");
    assert_eq!(
        names,
        "series,workload_chunk_size_kib,throughput_chunks_per_s,ci95_throughput_chunks_per_s"
    );
    assert_eq!(rows.lines().count(), 1 + 6);
}

#[test]
fn a_sweep_over_words_gets_bars() {
    let sweep = "[[sweep]]\nprotocol.kind = [\"replicast-m\", \"uch-ccp\"]\n";
    let folder = sim("words", &format!("{SMALL}\n{sweep}"), &["--seeds", "2"]);
    let rows = fs::read_to_string(folder.join("data/mean-latency.csv")).expect("data");
    assert!(rows.lines().nth(1).expect("a bar").starts_with("mean latency,replicast-m,"), "{rows}");
    assert_eq!(rows.lines().count(), 1 + 2);
    let page = fs::read_to_string(folder.join("index.html")).expect("a page");
    assert!(page.contains("Of 2 points, the highest throughput is"));
}

#[test]
fn nothing_runs_if_the_report_cannot_be_written() {
    let experiment = file("blocked.toml", SMALL);
    let blocked = file("blocked", "a file");
    let run = slotcast(&["sim", text(&experiment), "--report", text(&blocked)]);
    assert_eq!((run.status, run.stdout.as_str()), (2, ""));
    assert!(
        run.stderr.contains("cannot write") && run.stderr.contains("blocked"),
        "{}",
        run.stderr
    );

    let foreign = folder("foreign");
    fs::create_dir_all(&foreign).expect("a folder");
    fs::write(foreign.join("index.html"), "mine").expect("a file");
    let run = slotcast(&["reproduce", "--report", text(&foreign)]);
    assert_eq!((run.status, run.stdout.as_str()), (2, ""));
    assert!(
        run.stderr.contains("index.html") && run.stderr.contains("empty folder"),
        "{}",
        run.stderr
    );
    assert_eq!(fs::read_to_string(foreign.join("index.html")).expect("a file"), "mine");
}

/// The disk is full as soon as a file has 2 MiB: the page has more, the rest has less.
#[test]
#[cfg(unix)]
fn a_full_disk_leaves_no_half_page() {
    let (experiment, folder) = (file("full.toml", SMALL), folder("full"));
    let script = "trap '' XFSZ; ulimit -f 4096; exec \"$0\" sim \"$1\" --report \"$2\"";
    let arguments = [env!("CARGO_BIN_EXE_slotcast"), text(&experiment), text(&folder)];
    let run = Command::new("sh")
        .args(["-c", script])
        .args(arguments)
        .current_dir(root())
        .output()
        .expect("a shell");
    let stderr = String::from_utf8(run.stderr).expect("UTF-8");
    assert_eq!(run.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("cannot write") && stderr.contains("index.html"), "{stderr}");
    let stdout = String::from_utf8(run.stdout).expect("UTF-8");
    assert!(stdout.contains("trace hash"), "what was measured is told all the same");
    let left: Vec<String> = fs::read_dir(&folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
        .collect();
    assert!(!left.iter().any(|name| name.contains("index.html")), "{left:?}");

    // With room again the same folder takes the whole report.
    let run = slotcast(&["sim", text(&experiment), "--report", text(&folder)]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert!(folder.join("index.html").is_file());
}
