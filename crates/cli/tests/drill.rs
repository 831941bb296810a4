//! `slotcast drill`: a round of each kind ends with nothing lost and nothing left running, what others change at the
//! destination is found, and Ctrl-C stops all processes.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it has clocks, processes, sockets and files"
)]

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

/// Longer than a busy machine takes.
const PATIENCE: Duration = Duration::from_secs(180);

/// Six processes of one drill are enough for a small machine.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Whether there is an etcd; where tests must have one, that there is none is a failure. Drills wait for each other.
fn turn() -> Option<MutexGuard<'static, ()>> {
    let tried = Command::new("etcd").arg("--version").stdout(Stdio::null()).status();
    if tried.is_err() {
        let required = std::env::var_os("SLOTCAST_TEST_ETCD").is_some();
        assert!(!required, "etcd is not installed, and SLOTCAST_TEST_ETCD requires it");
        eprintln!("skipped: there is no etcd here; Debian has it in the package etcd-server");
        return None;
    }
    Some(ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner))
}

/// A small drill of this kind with its files in `folder`.
fn command(kind: &str, folder: &Path, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_slotcast"));
    command
        .args(["drill", kind, "--objects", "60", "--size", "40KiB", "--folder"])
        .arg(folder)
        .args(more)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Processes that were told of a folder, as their command lines say.
fn processes_of(folder: &Path) -> Vec<String> {
    let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    let folder = folder.display().to_string();
    let all = fs::read_dir("/proc").expect("it is there").flatten();
    let lines = all.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    let lines = lines.map(|line| text(&line).replace('\0', " "));
    // The drill itself has ended, or is one of them.
    lines.filter(|line| line.contains(&format!("{folder}/"))).collect()
}

fn wait_for<T>(what: &str, holds: impl Fn() -> Option<T>) -> T {
    let since = Instant::now();
    loop {
        if let Some(found) = holds() {
            return found;
        }
        assert!(since.elapsed() < PATIENCE, "not in time: {what}");
        sleep(Duration::from_millis(20));
    }
}

/// A round with a copy of all objects and a fault, after which nothing runs and the folder is as it was.
fn passes(kind: &str, fault: &str) {
    let Some(_turn) = turn() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let (work, json) = (folder.path().join("work"), folder.path().join("drill.json"));
    let more = ["--seed", "11", "--within", "500ms", "--json", json.to_str().expect("UTF-8")];
    let output: Output = command(kind, &work, &more).output().expect("it runs");
    let (told, errors) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{told}\n{errors}");
    assert!(told.contains("60 objects copied and compared: none lost, none wrong"), "{told}");
    assert!(told.contains("objects/s at the destination"), "{told}");
    assert!(told.contains("seed 11;"), "{told}");
    assert_eq!(processes_of(folder.path()), Vec::<String>::new());
    assert!(!work.exists(), "it was made for the drill");
    let report: Value = serde_json::from_slice(&fs::read(json).expect("written")).expect("JSON");
    let round = &report["rounds"][0];
    assert_eq!(round["objects"], serde_json::json!([60, 60]), "{round}");
    assert!(round["fault"].as_str().expect("a text").contains(fault), "{round}");
    assert_eq!(round["bytes"][0], round["bytes"][1], "{round}");
    let samples = round["samples"].as_array().expect("samples");
    assert_eq!(samples.last().expect("one")["objects"], 60, "{round}");
    assert_eq!(report["seed"], 11);
}

#[test]
fn a_copy_outlives_a_node() {
    passes("cp-rmnode", "node ");
}

#[test]
fn a_copy_outlives_a_disk() {
    passes("cp-rmdisk", "target ");
}

#[test]
fn a_copy_outlives_all_processes() {
    passes("cp-kill-all", "all killed");
}

#[test]
fn a_soak_compares_what_it_reads_and_counts_what_is_held() {
    let Some(_turn) = turn() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let (work, json) = (folder.path().join("work"), folder.path().join("soak.json"));
    let more = ["--lasts", "4s", "--rate", "100", "--json", json.to_str().expect("UTF-8")];
    let output: Output = command("soak", &work, &more).output().expect("it runs");
    let (told, errors) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{told}\n{errors}");
    assert!(told.contains("none wrong; 20 minutes at least say what grows"), "{told}");
    assert_eq!(processes_of(folder.path()), Vec::<String>::new());
    let report: Value = serde_json::from_slice(&fs::read(json).expect("written")).expect("JSON");
    let soak = &report["soak"];
    assert_eq!(soak["replicas"][0], soak["replicas"][1], "{soak}");
    let last = soak["samples"].as_array().expect("samples").last().expect("one").clone();
    for what in ["requests", "memory_bytes", "open_files", "threads", "replicas", "segments"] {
        assert!(last[what].as_u64().is_some_and(|value| value > 4), "{what}: {last}");
    }
}

#[test]
fn a_soak_finds_what_another_has_put() {
    let Some(_turn) = turn() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let work = folder.path().join("work");
    let more = ["--lasts", "4s", "--rate", "100", "--patience", "30s"];
    let mut drill = command("soak", &work, &more).spawn().expect("it runs");
    wait_for("an object is put", || {
        let http = http_in(&work)?;
        let status = ask(&http, "PUT /v2/soak/stranger", &"x".repeat(40_000))?;
        (status < 300).then_some(())
    });
    let (told, errors) = wait_with_output(&mut drill);
    assert_eq!(drill.wait().expect("it ended").code(), Some(1), "{told}\n{errors}");
    assert!(told.contains(" replicas are held, and not "), "{told}\n{errors}");
    assert_eq!(processes_of(folder.path()), Vec::<String>::new());
}

/// Where the first node of a drill serves HTTP, once its file is there.
fn http_in(folder: &Path) -> Option<String> {
    let file = fs::read_to_string(folder.join("host-0.toml")).ok()?;
    let line = file.lines().find_map(|line| line.strip_prefix("http = "))?;
    Some(line.trim_matches('"').to_owned())
}

/// The status of the answer to a request.
fn ask(http: &str, head: &str, body: &str) -> Option<u16> {
    let mut stream = TcpStream::connect(http).ok()?;
    let length = body.len();
    let request = format!(
        "{head} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok()?;
    text(&answer).split(' ').nth(1)?.parse().ok()
}

#[test]
fn what_is_changed_deleted_and_added_at_the_destination_is_found() {
    let Some(_turn) = turn() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let work = folder.path().join("work");
    // With this seed the fault comes after seven seconds, and only then both ends are compared: long after all was copied.
    let more = ["--seed", "17", "--within", "10s", "--patience", "120s"];
    let mut drill = command("cp-kill-all", &work, &more).spawn().expect("it runs");
    let there = |name: &str| {
        let http = http_in(&work)?;
        let status = ask(&http, &format!("GET /v2/dst-1/object-{name}"), "")?;
        (status == 200).then_some(http)
    };
    for name in ["000003", "000007"] {
        wait_for("it is copied", || there(name));
    }
    let http = http_in(&work).expect("it is there");
    let changed = ask(&http, "PUT /v2/dst-1/object-000003", "another content");
    let deleted = ask(&http, "DELETE /v2/dst-1/object-000007", "");
    let added = ask(&http, "PUT /v2/dst-1/stranger", "one too many");
    for status in [changed, deleted, added] {
        assert!(status.is_some_and(|status| status < 300), "{changed:?} {deleted:?} {added:?}");
    }
    let (told, errors) = wait_with_output(&mut drill);
    assert_eq!(drill.wait().expect("it ended").code(), Some(1), "{told}\n{errors}");
    for wrong in [
        "slot://dst-1/object-000003 has 15 bytes, 15 in the listing, and not ",
        "slot://dst-1/object-000007 is not listed",
        "slot://dst-1/stranger is one too many",
    ] {
        assert!(errors.contains(wrong), "{wrong}: {errors}");
    }
    assert!(told.contains("3 lost or wrong"), "{told}");
    assert!(!errors.contains("src-1"), "{errors}");
    assert_eq!(processes_of(folder.path()), Vec::<String>::new());
    assert!(work.join("host-0.log").exists(), "its files are kept");
}

#[test]
fn ctrl_c_stops_all_processes() {
    let Some(_turn) = turn() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let work = folder.path().join("work");
    let more = ["--rounds", "0", "--within", "1s"];
    let mut drill = command("cp-rmdisk", &work, &more).spawn().expect("it runs");
    // While the second round goes on.
    wait_for("the second round", || {
        let http = http_in(&work)?;
        (ask(&http, "GET /v2/dst-2", "")? == 200).then_some(())
    });
    assert!(processes_of(&work).len() >= 6, "{:?}", processes_of(&work));
    let sent = Command::new("kill").args(["-INT", &drill.id().to_string()]).status();
    assert!(sent.expect("kill is there").success());
    let (told, errors) = wait_with_output(&mut drill);
    assert_eq!(drill.wait().expect("it ended").code(), Some(130), "{told}\n{errors}");
    assert!(told.contains("1 round, 60 objects copied and compared"), "{told}\n{errors}");
    assert_eq!(processes_of(folder.path()), Vec::<String>::new());
    assert!(!work.exists());
}

/// What a drill says until it has ended.
fn wait_with_output(drill: &mut Child) -> (String, String) {
    let mut out = drill.stdout.take().expect("a pipe");
    let mut told = Vec::new();
    out.read_to_end(&mut told).expect("it can be read");
    let mut errors = Vec::new();
    let mut from = drill.stderr.take().expect("a pipe");
    from.read_to_end(&mut errors).expect("it can be read");
    (text(&told), text(&errors))
}

#[test]
fn a_folder_with_anything_in_it_is_refused_and_left_alone() {
    let Some(_turn) = turn() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let file: PathBuf = folder.path().join("mine");
    fs::write(&file, "mine").expect("room");
    let output = command("cp-rmnode", folder.path(), &[]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("is not empty"), "{}", text(&output.stderr));
    assert_eq!(fs::read_to_string(&file).expect("it is there"), "mine");
    assert_eq!(fs::read_dir(folder.path()).expect("it is there").count(), 1);
}

#[test]
fn without_etcd_it_says_where_to_get_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let work = folder.path().join("work");
    let output = command("cp-rmnode", &work, &[]).env("PATH", folder.path()).output();
    let output = output.expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("etcd-server"), "{}", text(&output.stderr));
    assert!(!work.exists());
}
