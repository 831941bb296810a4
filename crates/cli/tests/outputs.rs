//! No output option destroys an input or a file of somebody else, and an earlier result stays until a new
//! one is complete.
#![allow(clippy::disallowed_methods, reason = "tests read and write files")]

mod support;

use std::fs;
use std::path::PathBuf;

use support::{SMALL, scratch, slotcast};

/// An empty folder of a test's own, with an experiment in it.
fn folder(name: &str) -> (PathBuf, String) {
    let folder = scratch(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("in.toml");
    fs::write(&file, SMALL.replace("count = 3", "count = 1")).expect("a file");
    (folder, file.to_str().expect("a plain path").into())
}

/// Runs a command that must be refused before anything runs, and returns what it said.
#[track_caller]
fn refused(arguments: &[&str]) -> String {
    let run = slotcast(arguments);
    assert_eq!((run.status, run.stdout.as_str()), (2, ""), "{arguments:?}\n{}", run.stderr);
    assert!(run.stderr.contains("would write over"), "{arguments:?}\n{}", run.stderr);
    run.stderr
}

#[test]
fn an_input_is_never_an_output() {
    let (folder, file) = folder("inputs");
    let json = folder.join("a.json").to_str().expect("a plain path").to_string();
    assert_eq!(slotcast(&["sim", &file, "--json", &json]).status, 0);
    let result = fs::read_to_string(&json).expect("a result");
    let plan = folder.join("plan.toml").to_str().expect("a plain path").to_string();
    fs::write(&plan, slotcast(&["plan", "--template"]).stdout).expect("a file");
    let sweep = ["sweep", &file, "--axis", "workload.window=1,2", "--json", &file];
    for (input, arguments) in [
        (&file, &["sim", &file, "--json", &file][..]),
        (&file, &["sim", &file, "--trace", &file]),
        (&file, &["sim", &file, "--events", &file]),
        (&plan, &["plan", &plan, "--quick", "--json", &plan]),
        (&plan, &["plan", &plan, "--experiment", &plan]),
        (&file, &sweep),
        (&json, &["compare", &json, &json, "--json", &json]),
    ] {
        let before = fs::read_to_string(input).expect("a file");
        let said = refused(arguments);
        assert!(said.contains("it is an input") && said.contains(input), "{said}");
        assert_eq!(fs::read_to_string(input).expect("a file"), before);
    }
    assert_eq!(fs::read_to_string(&json).expect("a result"), result);
}

#[test]
fn a_file_that_this_program_has_not_written_stays() {
    let (folder, file) = folder("foreign");
    let notes = folder.join("notes.txt");
    let path = notes.to_str().expect("a plain path");
    fs::write(&notes, "my notes").expect("a file");
    let (report, results) = (folder.join("report"), folder.join("results"));
    let results = results.to_str().expect("a plain path");
    for arguments in [
        &["sim", &file, "--json", path][..],
        &["sim", &file, "--trace", path],
        &["sim", &file, "--events", path],
        &["plan", "small", "--quick", "--json", path],
        &["plan", "small", "--experiment", path],
        &["sweep", &file, "--axis", "workload.window=1,2", "--out", results, "--json", path],
        &["reproduce", "stripes", "--json", path],
    ] {
        let said = refused(arguments);
        assert!(said.contains("it is there already") && said.contains("move it away"), "{said}");
        assert_eq!(fs::read_to_string(&notes).expect("a file"), "my notes", "{arguments:?}");
    }
    fs::create_dir(&report).expect("a folder");
    fs::write(report.join("index.html"), "my page").expect("a file");
    for command in [&["sim", &file][..], &["reproduce", "stripes"]] {
        let to = ["--report", report.to_str().expect("a plain path")];
        let run = slotcast(&[command, &to].concat());
        assert_eq!((run.status, run.stdout.as_str()), (2, ""), "{}", run.stderr);
        assert_eq!(fs::read_to_string(report.join("index.html")).expect("a file"), "my page");
    }
}

#[test]
fn two_outputs_have_two_places() {
    let (folder, file) = folder("twice");
    let out = folder.join("out");
    let out = out.to_str().expect("a plain path");
    let dotted = folder.join(".").join("out");
    let dotted = dotted.to_str().expect("a plain path");
    let said = refused(&["sim", &file, "--json", out, "--trace", dotted]);
    assert!(said.contains("it is the place of --json"), "{said}");
    let inside = format!("{out}/index.html");
    refused(&["sim", &file, "--report", out, "--json", &inside]);
    refused(&["reproduce", "stripes", "--report", out, "--json", &inside]);
    let runs = folder.join("in.sweep");
    fs::create_dir(&runs).expect("a folder");
    let runs = runs.join("runs.jsonl");
    fs::write(&runs, "").expect("a file");
    let runs = runs.to_str().expect("a plain path");
    let said = refused(&["sweep", &file, "--axis", "workload.window=1,2", "--json", runs]);
    assert!(said.contains("finished runs"), "{said}");
}

#[test]
fn an_earlier_result_stays_until_a_new_one_is_complete() {
    let (folder, file) = folder("again");
    let json = folder.join("a.json");
    let path = json.to_str().expect("a plain path");
    assert_eq!(slotcast(&["sim", &file, "--json", path]).status, 0);
    let first = fs::read_to_string(&json).expect("a result");
    // Both are found to be wrong after the place was opened: nothing is lost by that.
    let to_stdout = slotcast(&["sim", &file, "--json", path, "--trace", "/no/such/folder/x"]);
    assert_eq!(to_stdout.status, 2);
    let span = ["--trace", "-", "--trace-span", "4ms..5ms"];
    assert_eq!(slotcast(&[&["sim", &file, "--json", path][..], &span].concat()).status, 2);
    assert_eq!(fs::read_to_string(&json).expect("a result"), first);
    // A new one replaces it, and nothing else is left in the folder.
    assert_eq!(slotcast(&["sim", &file, "--seeds", "2", "--json", path]).status, 0);
    assert_ne!(fs::read_to_string(&json).expect("a result"), first);
    let left = fs::read_dir(&folder).expect("a folder").count();
    assert_eq!(left, 2, "the experiment and its result");
}
