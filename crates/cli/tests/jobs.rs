//! Jobs as people start them at the command line: what is selected, what comes out, what fails and what is said then.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it has processes and files"
)]

#[allow(dead_code, reason = "each test file uses its own part")]
mod served;

use std::fs;
use std::path::Path;

use serde_json::Value;
use served::{Served, said};

/// A store with a bucket `a` of a hundred objects.
fn store(folder: &Path, more: &[&str]) -> Served {
    let served = Served::start(
        &folder.join("data"),
        &[&["--targets", "3", "--replicas", "2"], more].concat(),
    );
    served.says(&["mb", "slot://a"]);
    served.says(&["mb", "slot://b"]);
    let files = folder.join("files");
    fs::create_dir_all(&files).expect("room");
    for n in 0..100 {
        fs::write(files.join(format!("shard-{n:03}.txt")), format!("object {n}\n")).expect("room");
    }
    served.says(&["cp", "-r", &files.display().to_string(), "slot://a/in/"]);
    served
}

/// Starts a job and waits until it is over; how it stands then, and whether the command says that all is well.
fn run(served: &Served, arguments: &[&str]) -> (Value, bool) {
    let output = served.run(&[&["job", "start"], arguments, &["--watch", "--json"]].concat());
    let text = String::from_utf8(output.stdout.clone()).expect("text");
    let last = text.lines().last().unwrap_or_else(|| panic!("{arguments:?}: {output:?}"));
    let job = serde_json::from_str(last).unwrap_or_else(|_| panic!("{arguments:?}: {output:?}"));
    (job, output.status.success())
}

fn count(served: &Served, place: &str) -> usize {
    served.says(&["ls", "-r", place]).lines().filter(|line| !line.is_empty()).count()
}

fn verified(served: &Served, arguments: &[&str], objects: u64) -> Value {
    let (job, is_well) = run(served, arguments);
    assert_eq!(job["status"], "verified", "{arguments:?}: {job}");
    assert!(is_well, "{arguments:?}");
    assert_eq!(job["work"]["objects"], objects, "{arguments:?}: {job}");
    job
}

#[test]
fn what_is_selected_is_copied_and_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let served = store(folder.path(), &[]);
    verified(&served, &["copy", "slot://a/in/", "slot://b/all/"], 100);
    assert_eq!(count(&served, "slot://b/all/"), 100);
    assert_eq!(served.says(&["cat", "slot://b/all/shard-042.txt"]), "object 42");
    verified(&served, &["copy", "slot://a/in/shard-0[0-2]?.txt", "slot://b/some/"], 30);
    assert_eq!(count(&served, "slot://b/some/"), 30);
    let range = ["--range", "shard-{010..019}.txt"];
    verified(&served, &[&["copy", "slot://a/in/", "slot://b/range/"], &range[..]].concat(), 10);
    assert_eq!(count(&served, "slot://b/range/"), 10);
    let list = folder.path().join("list").display().to_string();
    let names: Vec<String> = (0..70).map(|n| format!("shard-{n:03}.txt")).collect();
    fs::write(&list, names.join("\n")).expect("room");
    verified(&served, &["copy", "slot://a/in/", "slot://b/list/", "--list", &list], 70);
    assert_eq!(count(&served, "slot://b/list/"), 70);

    // What is there already is replaced, or stays.
    let file = folder.path().join("other").display().to_string();
    fs::write(&file, "other").expect("room");
    for place in ["kept", "replaced"] {
        served.says(&["cp", &file, &format!("slot://b/{place}/shard-001.txt")]);
    }
    let kept =
        verified(&served, &["copy", "slot://a/in/", "slot://b/kept/", "--existing", "keep"], 100);
    assert_eq!((&kept["work"]["kept"], &kept["check"]["kept"]), (&1.into(), &1.into()), "{kept}");
    assert_eq!(served.says(&["cat", "slot://b/kept/shard-001.txt"]), "other");
    verified(&served, &["copy", "slot://a/in/", "slot://b/replaced/"], 100);
    assert_eq!(served.says(&["cat", "slot://b/replaced/shard-001.txt"]), "object 1");

    // Whoever does not want it compared is not told that it is verified.
    let (job, _) = run(&served, &["copy", "slot://a/in/", "slot://b/plain/", "--no-check"]);
    assert_eq!((&job["status"], &job["units_checked"]), (&"finished".into(), &0.into()), "{job}");
    verified(&served, &["verify", "slot://b"], 510);
    verified(&served, &["copy", "slot://a/nothing/", "slot://b/nothing/"], 0);
}

#[test]
fn what_is_deleted_is_gone_and_the_rest_is_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let served = store(folder.path(), &[]);
    verified(&served, &["verify", "slot://a"], 100);
    verified(&served, &["delete", "slot://a/in/shard-00*"], 10);
    assert_eq!(count(&served, "slot://a"), 90);
    verified(&served, &["delete", "slot://a/in/"], 90);
    assert_eq!(count(&served, "slot://a"), 0);
}

#[test]
fn a_transform_stores_what_a_command_makes_and_says_what_fails() {
    let folder = tempfile::tempdir().expect("a folder");
    let served = store(folder.path(), &["--transforms", "2"]);
    let upper = ["--command", "tr a-z A-Z", "--suffix", ".upper"];
    verified(&served, &[&["transform", "slot://a/in/", "slot://b/up/"], &upper[..]].concat(), 100);
    assert_eq!(served.says(&["cat", "slot://b/up/shard-007.txt.upper"]), "OBJECT 7");

    let picky = ["--command", "grep -v 'object 7$' || { echo it is a seven >&2; exit 4; }"];
    let (job, is_well) =
        run(&served, &[&["transform", "slot://a/in/", "slot://b/picky/"], &picky[..]].concat());
    assert_eq!(job["status"], "failed", "{job}");
    assert!(!is_well);
    assert_eq!((&job["work"]["failed"], &job["work"]["outputs"]), (&1.into(), &99.into()), "{job}");
    assert!(job["reason"].as_str().is_some_and(|of| of.contains("1 of 100")), "{job}");
    assert_eq!(count(&served, "slot://b/picky/"), 99);
    let number = job["job"].as_str().expect("a number");
    let log = served.says(&["job", "log", number]);
    assert!(log.contains("in/shard-007.txt  (3 attempts"), "{log}");
    assert!(log.contains("exit status: 4: it is a seven"), "{log}");
    let shown = served.says(&["job", "show", number]);
    assert!(
        shown.contains("failed: 1 of 100 objects failed") && shown.contains("job log"),
        "{shown}"
    );
}

#[test]
fn a_job_whose_source_bucket_was_removed_has_failed() {
    let folder = tempfile::tempdir().expect("a folder");
    let served = store(folder.path(), &["--transforms", "1"]);
    let slow = ["transform", "slot://a/in/", "slot://b/slow/", "--command", "sleep 0.2; cat"];
    let job = served.says(&[&["job", "start"], &slow[..]].concat());
    assert!(served.says(&["job", "pause", &job]).ends_with("is paused"));
    served.says(&["rb", "--force", "slot://a"]);
    assert!(served.says(&["job", "resume", &job]).ends_with("is running"));
    let begun = std::time::Instant::now();
    let shown = loop {
        let shown = served.says(&["job", "show", &job, "--json"]);
        let shown: Value = serde_json::from_str(&shown).expect("JSON");
        if shown["status"] != "running" {
            break shown;
        }
        assert!(begun.elapsed() < served::PATIENCE, "it asks for ever: {shown}");
        std::thread::sleep(std::time::Duration::from_millis(50));
    };
    assert_eq!(shown["status"], "failed", "{shown}");
    assert!(
        shown["reason"].as_str().is_some_and(|why| why.contains("there is no bucket")),
        "{shown}"
    );
}

#[test]
fn a_job_is_paused_resumed_aborted_and_forgotten() {
    let folder = tempfile::tempdir().expect("a folder");
    let served = store(folder.path(), &["--transforms", "1"]);
    let slow = ["--command", "sleep 0.2; cat"];
    let start = |to: &str| {
        served.says(&[&["job", "start", "transform", "slot://a/in/", to], &slow[..]].concat())
    };
    let job = start("slot://b/slow/");
    let shown = |job: &str| -> Value {
        serde_json::from_str(&served.says(&["job", "show", job, "--json"])).expect("JSON")
    };
    assert!(served.says(&["job", "pause", &job]).ends_with("is paused"));
    // Who holds a unit gives it back, with what it has counted.
    let begun = std::time::Instant::now();
    while !shown(&job)["nodes"].as_array().is_some_and(Vec::is_empty) {
        assert!(begun.elapsed() < served::PATIENCE, "nobody gives it back");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let before = count(&served, "slot://b/slow/");
    assert!(before < 100, "{before}");
    assert_eq!(shown(&job)["status"], "paused");
    let refused = served.run(&["job", "rm", &job]);
    assert!(!refused.status.success() && said(&refused).contains("abort it first"), "{refused:?}");
    assert!(served.says(&["job", "resume", &job]).ends_with("is running"));
    assert!(served.says(&["job", "abort", &job]).ends_with("is aborted"));
    let refused = served.run(&["job", "resume", &job]);
    assert!(!refused.status.success() && said(&refused).contains("it is over"), "{refused:?}");
    assert!(served.says(&["job", "ls"]).contains(&job));
    assert_eq!(served.says(&["job", "rm", &job]), format!("removed {job}"));
    assert!(served.says(&["job", "ls"]).starts_with("no jobs"));
    let gone = served.run(&["job", "show", &job]);
    assert!(!gone.status.success() && said(&gone).contains("slotcast job ls"), "{gone:?}");
}

#[test]
fn what_makes_no_job_is_refused_with_what_helps() {
    let folder = tempfile::tempdir().expect("a folder");
    let served = store(folder.path(), &[]);
    let refused = |arguments: &[&str]| {
        let output = served.run(&[&["job", "start"], arguments].concat());
        assert!(!output.status.success(), "{arguments:?}: {output:?}");
        said(&output)
    };
    assert!(refused(&["copy", "slot://a"]).contains("needs a place for its outputs"));
    assert!(refused(&["delete", "slot://a", "slot://b"]).contains("no outputs"));
    assert!(refused(&["copy", "slot://a", "slot://a/x"]).contains("taken for what is selected"));
    assert!(refused(&["copy", "a", "slot://b"]).contains("slot://bucket/name"));
    assert!(refused(&["copy", "slot://a", "slot://b", "--range", "x"]).contains("{0001..0999}"));
    assert!(refused(&["transform", "slot://a", "slot://b"]).contains("--command"));
    assert!(refused(&["copy", "slot://a", "slot://b", "--command", "cat"]).contains("no effect"));
    let command = ["transform", "slot://a", "slot://b", "--command", "cat"];
    assert!(refused(&command).contains("slotcast serve --transforms"));
    for places in [["slot://a", "slot://nowhere"], ["slot://nowhere", "slot://a"]] {
        let said = refused(&[&["copy"], &places[..]].concat());
        assert!(said.contains("slotcast mb"), "{said}");
    }
    assert!(served.says(&["job", "ls"]).starts_with("no jobs"));
}
