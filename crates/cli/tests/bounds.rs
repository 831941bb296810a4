//! Inputs that are too large are refused before they run: files without end, and clusters that would take
//! more memory or time than anybody meant.

mod support;

use support::{SMALL, file, slotcast};

#[track_caller]
fn refused(arguments: &[&str], parts: &[&str]) {
    let run = slotcast(arguments);
    assert_eq!((run.status, run.stdout.as_str()), (2, ""), "{arguments:?} {}", run.stderr);
    for part in parts {
        assert!(run.stderr.contains(part), "`{part}` is not in:\n{}", run.stderr);
    }
}

#[cfg(unix)]
#[test]
fn a_file_without_end_is_left() {
    for command in ["sim", "plan", "sweep"] {
        refused(&[command, "/dev/zero"], &["cannot read `/dev/zero`", "more than 4 MiB"]);
    }
    refused(&["compare", "/dev/zero", "/dev/zero"], &["/dev/zero"]);
}

#[test]
fn a_million_nodes_by_a_million_are_refused_with_an_estimate() {
    let path = file("huge.toml", "[cluster]\ninitiators = 1_000_000\ntargets = 1_000_000\n");
    let path = path.to_str().expect("a plain path");
    let parts = ["10 runs would take about", "GiB of memory and", "--force"];
    refused(&["sim", path], &parts);
    let many = ["sim", path, "--set", "protocol.kind=uch-ccp", "--set", "run.length=1s"];
    refused(&many, &["GiB of memory and"]);
    let sweep = ["sweep", path, "--axis", "workload.window=1,2"];
    refused(&sweep, &["20 runs would take about", "--force"]);
    let windows = ["sim", path, "--set", "cluster.targets=90", "--set", "workload.window=65536"];
    refused(&windows, &["GiB of memory and"]);
}

#[test]
fn a_run_of_an_hour_is_refused_until_it_is_forced() {
    let path = file("long.toml", SMALL);
    let path = path.to_str().expect("a plain path");
    let long = ["sim", path, "--set", "run.length=1h", "--set", "cluster.targets=900"];
    refused(
        &[&long[..], &["--set", "cluster.initiators=900"]].concat(),
        &["3 runs would take about", "--force"],
    );
    let reproduce = ["reproduce", "replicast", "--seeds", "100000", "--set", "network.trip=2us"];
    refused(&reproduce, &["1800000 runs would take about", "--force"]);
    // What is estimated to be quick needs no force, and takes it.
    let run = slotcast(&["sim", path, "--seeds", "1", "--force"]);
    assert_eq!(run.status, 0, "{}", run.stderr);
}
