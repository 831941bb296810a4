//! What goes to stdout, to stderr and to files; pipes that close early.

mod support;

use std::io::Read;
use std::process::Stdio;

use support::{SMALL, command, file, scratch, slotcast};

#[test]
fn nothing_is_written_to_stderr_when_all_is_well() {
    let path = file("quiet.toml", SMALL);
    let run = slotcast(&["sim", path.to_str().expect("a plain path")]);
    assert_eq!((run.status, run.stderr.as_str()), (0, ""));
    assert!(run.stdout.contains("trace hash"));
}

#[test]
fn a_reader_that_stops_early_is_no_error() {
    let mut child = command(&["sim", "--list"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    drop(child.stdout.take());
    let mut said = String::new();
    child.stderr.take().expect("piped").read_to_string(&mut said).expect("UTF-8");
    assert!(child.wait().expect("it ends").success());
    assert_eq!(said, "");
}

#[test]
fn events_have_a_header_and_ordered_lines() {
    let path = file("events.toml", SMALL);
    let events = scratch("events.txt");
    let run = slotcast(&[
        "sim",
        path.to_str().expect("a plain path"),
        "--seeds",
        "1",
        "--events",
        events.to_str().expect("a plain path"),
    ]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    #[allow(clippy::disallowed_methods, reason = "a test reads what was written")]
    let text = std::fs::read_to_string(events).expect("the file is there");
    let mut lines = text.lines();
    let header: Vec<_> = lines.next().expect("a header").split_whitespace().collect();
    assert_eq!(header, ["time_us", "sequence", "place", "kind", "request", "detail"]);
    let mut last = 0.0;
    let mut count = 0;
    for line in lines {
        let time: f64 = line[..14].trim().parse().expect("a time");
        let _: u64 = line[15..25].trim().parse().expect("a number");
        assert!(time >= last, "events are in order: {line}");
        last = time;
        count += 1;
    }
    assert!(count > 100, "{count} events");
}

#[test]
fn a_trace_is_json_and_keeps_to_its_span() {
    let path = file("trace.toml", SMALL);
    let arguments = |more: &[&str]| {
        let sim = ["sim", path.to_str().expect("a plain path"), "--seeds", "1", "--trace", "-"];
        let run = slotcast(&[&sim, more].concat());
        assert_eq!((run.status, run.stderr.as_str()), (0, ""));
        serde_json::from_str::<serde_json::Value>(&run.stdout).expect("JSON and nothing else")
    };
    let slices = |trace: &serde_json::Value| {
        let events = trace["traceEvents"].as_array().expect("a list").clone();
        events.into_iter().filter(|event| event["ph"] == "X").collect::<Vec<_>>()
    };
    let (whole, part) = (arguments(&[]), arguments(&["--trace-span", "1.5ms..2ms"]));
    let (whole, part) = (slices(&whole), slices(&part));
    assert!(part.len() > 100 && whole.len() > 3 * part.len(), "{} of {}", part.len(), whole.len());
    for slice in part {
        let ts = slice["ts"].as_f64().expect("a time");
        let end = ts + slice["dur"].as_f64().expect("a time");
        assert!(ts < 2000.0 && end > 1500.0, "{slice}");
    }
}

#[test]
fn a_file_that_cannot_be_written_is_named_before_anything_runs() {
    let path = file("unwritable.toml", SMALL);
    let path = path.to_str().expect("a plain path");
    let run = slotcast(&["sim", path, "--json", "/no/such/folder/x.json"]);
    assert_eq!((run.status, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.contains("/no/such/folder/x.json"), "{}", run.stderr);
}

#[test]
fn the_version_is_told() {
    let run = slotcast(&["--version"]);
    assert_eq!(run.stdout.trim(), format!("slotcast {}", env!("CARGO_PKG_VERSION")));
}
