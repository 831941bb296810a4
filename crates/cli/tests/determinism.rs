//! The same seed gives the same run, whatever the number of threads.

mod support;

use serde_json::Value;
use support::{SMALL, file, slotcast};

/// Every protocol; UCH-AIMD changes its rate with every frame, so it needs them all.
fn swept() -> String {
    let sweep = r#"
[[sweep]]
protocol.kind = ["replicast-m", "replicast-h", "uch-ccp", "uch-aimd"]
run.fidelity = ["flow", "frame", "flow", "frame"]
"#;
    format!("{SMALL}{sweep}")
}

/// Every (seed, trace hash) of every point.
fn hashes(path: &str, threads: &str) -> Vec<(u64, String)> {
    let run = slotcast(&["sim", path, "--threads", threads, "--json", "-"]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let json: Value = serde_json::from_str(&run.stdout).expect("JSON");
    let points = json["points"].as_array().expect("a list").iter();
    points
        .flat_map(|point| point["runs"].as_array().expect("a list"))
        .map(|run| {
            let hash = run["trace_hash"].as_str().expect("a text").to_string();
            (run["seed"].as_u64().expect("a number"), hash)
        })
        .collect()
}

#[test]
fn one_thread_and_two_give_the_same_trace_hashes() {
    let path = file("threads.toml", &swept());
    let path = path.to_str().expect("a plain path");
    let one = hashes(path, "1");
    assert_eq!(one.len(), 12);
    assert_eq!(one, hashes(path, "2"));

    let mut distinct: Vec<_> = one.iter().map(|(_, hash)| hash).collect();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), one.len(), "different seeds and protocols are different runs");
}

#[test]
fn check_determinism_says_what_it_compared() {
    let path = file("check.toml", &swept());
    let run = slotcast(&["sim", path.to_str().expect("a plain path"), "--check-determinism"]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert!(run.stdout.contains("deterministic: 12 runs"), "{}", run.stdout);
}
